// Ring collectives against a message-by-message walk of the ring and NCCL's latency formula.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "collective.h"

// NCCL, src/graph/tuning.cc, ring, protocol Simple.
static const struct sand_link_type nvlink = {
    .rate_Bps = 450e9, .base_latency_s = 8.4e-6, .step_latency_s = 3.4e-6, .p2p_latency_s = 5e-6};
static const struct sand_link_type network = {
    .rate_Bps = 50e9, .base_latency_s = 8.4e-6, .step_latency_s = 14e-6, .p2p_latency_s = 15e-6};

static struct sand_collective make(enum sand_collective_kind kind, uint32_t ranks, double bytes)
{
    return (struct sand_collective){kind, ranks, bytes};
}

// Plays a ring reduce-scatter and all-gather chunk by chunk and counts what the hop 0 -> 1 carries.
static double walked_hop_B(enum sand_collective_kind kind, uint32_t n, double bytes)
{
    double carried = 0.0;
    const uint32_t rounds = kind == SAND_ALL_REDUCE ? 2 : 1;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t step = 0; step + 1 < n; step++)
            carried += bytes / n;
    return carried;
}

Test(collective, hop_bytes_are_those_of_the_ring)
{
    static const enum sand_collective_kind kinds[] = {SAND_ALL_REDUCE, SAND_ALL_GATHER,
                                                      SAND_REDUCE_SCATTER};
    for (int k = 0; k < 3; k++)
        for (uint32_t n = 2; n <= 4096; n = n * 2 + 1) {
            const struct sand_collective c = make(kinds[k], n, 1e9);
            cr_assert_float_eq(sand_collective_hop_B(&c), walked_hop_B(kinds[k], n, 1e9), 1e-3,
                               "kind %d, %u ranks", k, n);
        }
    // nccl-tests: bus bandwidth = algorithm bandwidth * 2(n-1)/n; 8 ranks: 1.75.
    const struct sand_collective eight = make(SAND_ALL_REDUCE, 8, 1.0);
    cr_assert_float_eq(sand_collective_hop_B(&eight), 1.75, 1e-15);
}

Test(collective, reduce_scatter_and_all_gather_make_an_all_reduce)
{
    for (uint32_t n = 2; n < 300; n += 7) {
        const struct sand_collective all = make(SAND_ALL_REDUCE, n, 5e8);
        const struct sand_collective scatter = make(SAND_REDUCE_SCATTER, n, 5e8);
        const struct sand_collective gather = make(SAND_ALL_GATHER, n, 5e8);
        cr_assert_float_eq(sand_collective_hop_B(&all),
                           sand_collective_hop_B(&scatter) + sand_collective_hop_B(&gather), 1e-6);
        cr_assert_eq(sand_collective_steps(&all),
                     sand_collective_steps(&scatter) + sand_collective_steps(&gather));
    }
}

Test(collective, one_rank_says_nothing)
{
    static const enum sand_collective_kind kinds[] = {SAND_ALL_REDUCE, SAND_ALL_GATHER,
                                                      SAND_REDUCE_SCATTER, SAND_SEND};
    for (int k = 0; k < 4; k++) {
        const struct sand_collective c = make(kinds[k], 1, 1e9);
        cr_assert_eq(sand_collective_hop_B(&c), 0.0);
        cr_assert_eq(sand_collective_steps(&c), 0u);
        cr_assert_eq(sand_collective_latency_s(&c, NULL, NULL, 0), 0.0);
        cr_assert_eq(sand_collective_bound_s(&c, 1e9), 0.0);
    }
}

Test(collective, latency_is_nccls_ring)
{
    // One node of 8: 8.4 + 14 * 3.4 = 56.0 us; gather: 8.4 + 7 * 3.4 = 32.2 us.
    const struct sand_collective all = make(SAND_ALL_REDUCE, 8, 1.0);
    const struct sand_collective gather = make(SAND_ALL_GATHER, 8, 1.0);
    cr_assert_float_eq(sand_collective_latency_s(&all, &nvlink, NULL, 0), 56.0e-6, 1e-12);
    cr_assert_float_eq(sand_collective_latency_s(&gather, &nvlink, NULL, 0), 32.2e-6, 1e-12);
    // 16 ranks on 2 nodes: 30 steps, 2 of them on the network: 8.4 + 28 * 3.4 + 2 * 14 = 131.6 us.
    const struct sand_collective two = make(SAND_ALL_REDUCE, 16, 1.0);
    cr_assert_float_eq(sand_collective_latency_s(&two, &nvlink, &network, 2), 131.6e-6, 1e-12);
    // 128 replicas, one rank per node: 8.4 + 127 * 14 = 1786.4 us; no scale-up link needed.
    const struct sand_collective dp = make(SAND_REDUCE_SCATTER, 128, 1.0);
    cr_assert_float_eq(sand_collective_latency_s(&dp, NULL, &network, 127), 1786.4e-6, 1e-12);
    // More network steps than steps: all of them.
    cr_assert_float_eq(sand_collective_latency_s(&dp, NULL, &network, 999), 1786.4e-6, 1e-12);
}

Test(collective, a_send_has_one_message_latency)
{
    const struct sand_collective send = make(SAND_SEND, 2, 1e6);
    cr_assert_eq(sand_collective_steps(&send), 1u);
    cr_assert_eq(sand_collective_hop_B(&send), 1e6);
    cr_assert_eq(sand_collective_latency_s(&send, &nvlink, NULL, 0), 5e-6);
    cr_assert_eq(sand_collective_latency_s(&send, NULL, &network, 1), 15e-6);
}

Test(collective, larger_base_of_the_two_links_counts_once)
{
    struct sand_link_type slow = network;
    slow.base_latency_s = 20e-6;
    const struct sand_collective gather = make(SAND_ALL_GATHER, 4, 1.0);
    cr_assert_float_eq(sand_collective_latency_s(&gather, &nvlink, &slow, 1),
                       20e-6 + 6.8e-6 + 14e-6, 1e-12);
}

Test(collective, latency_grows_with_ranks_and_bound_falls_with_rate)
{
    double before = 0.0;
    for (uint32_t n = 2; n <= 1024; n *= 2) {
        const struct sand_collective c = make(SAND_ALL_REDUCE, n, 1e9);
        const double latency = sand_collective_latency_s(&c, &nvlink, &network, n / 8);
        cr_assert_gt(latency, before, "%u ranks", n);
        before = latency;
        cr_assert_float_eq(sand_collective_bound_s(&c, 50e9),
                           2.0 * sand_collective_bound_s(&c, 100e9), 1e-12);
    }
}
