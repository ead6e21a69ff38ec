// All-to-all loads against a walk over all pairs of ranks; the share of distinct copies against
// draws counted one by one. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "alltoall.h"

// What rank 0 sends, message by message.
static struct sand_alltoall_load walk(enum sand_alltoall_kind kind, uint32_t n, uint32_t p,
                                      double bytes)
{
    struct sand_alltoall_load load = {0};
    for (uint32_t to = 1; to < n; to++) {
        const int same_domain = to / p == 0, same_rail = to % p == 0;
        if (same_domain) {
            load.scaleup_B += bytes / n;
            load.scaleup_messages++;
        } else if (kind == SAND_ALLTOALL_PAIRWISE) {
            load.network_B += bytes / n;
            load.network_messages++;
        } else { // to the GPU on the receiver's rail, which is ourselves on our own
            load.scaleup_B += same_rail ? 0 : bytes / n;
            load.network_messages += same_rail;
        }
    }
    if (kind == SAND_ALLTOALL_PXN) // and what the p GPUs of the domain hand to rank 0's rail
        load.network_B = (double)p * (n / p - 1) * bytes / n;
    return load;
}

Test(alltoall, loads_are_those_of_a_walk)
{
    static const uint32_t shapes[][2] = {{8, 8}, {16, 8}, {64, 8}, {144, 72}, {6, 1}, {2, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int kind = SAND_ALLTOALL_PAIRWISE; kind <= SAND_ALLTOALL_PXN; kind++) {
            const struct sand_alltoall all = {(enum sand_alltoall_kind)kind, shapes[i][0],
                                              shapes[i][1], 1e9, 1};
            const struct sand_alltoall_load got = sand_alltoall_load(&all);
            const struct sand_alltoall_load want = walk(all.kind, all.ranks, all.domain_ranks, 1e9);
            cr_assert_float_eq(got.network_B, want.network_B, 1, "%u over %u", all.ranks,
                               all.domain_ranks);
            cr_assert_float_eq(got.scaleup_B, want.scaleup_B, 1);
            cr_assert_eq(got.network_messages, want.network_messages);
            cr_assert_eq(got.scaleup_messages, want.scaleup_messages);
        }
}

// Hierarchical: each remote domain gets a token once, every copy crosses a scale-up port.
Test(alltoall, hierarchical_sends_copies_once)
{
    const struct sand_alltoall all = {SAND_ALLTOALL_HIERARCHICAL, 64, 8, 64e6, 0.5};
    const struct sand_alltoall_load load = sand_alltoall_load(&all);
    cr_assert_float_eq(load.network_B, 28e6, 1e-3);
    cr_assert_float_eq(load.scaleup_B, 56e6, 1e-3);
    cr_assert_eq(load.network_messages, 7u);
}

// Two experts of four, two domains of two: of the six pairs of experts four reach both domains and
// two reach one, so a token has 10 / 6 distinct domains for 2 copies.
Test(alltoall, distinct_copies_are_counted_draws)
{
    cr_assert_float_eq(sand_alltoall_distinct(4, 2, 1, 2, 0), 10.0 / 12.0, 1e-12);
    cr_assert_float_eq(sand_alltoall_distinct(4, 2, 1, 1, 0), 1.0, 1e-12);
    cr_assert_float_eq(sand_alltoall_distinct(8, 8, 32, 8, 0), 1.0 / 8.0, 1e-12);
    cr_assert_float_eq(sand_alltoall_distinct(64, 8, 4, 8, 4), 4.0 / 8.0, 1e-12);
    cr_assert_float_eq(sand_alltoall_distinct(64, 8, 4, 0, 0), 1.0, 1e-12);
}

Test(alltoall, one_rank_sends_nothing)
{
    const struct sand_alltoall none = {SAND_ALLTOALL_PAIRWISE, 1, 1, 1, 1};
    cr_assert_eq(sand_alltoall_load(&none).network_B, 0.0);
    cr_assert_eq(sand_alltoall_load(&none).scaleup_B, 0.0);
}
