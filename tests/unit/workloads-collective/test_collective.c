// Ring collectives against a message-by-message walk of the ring.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "collective.h"

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
    }
}

Test(collective, a_send_is_one_message)
{
    const struct sand_collective send = make(SAND_SEND, 2, 1e6);
    cr_assert_eq(sand_collective_steps(&send), 1u);
    cr_assert_eq(sand_collective_hop_B(&send), 1e6);
}
