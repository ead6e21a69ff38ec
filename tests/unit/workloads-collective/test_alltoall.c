// All-to-all loads against a walk over all pairs of ranks; where tokens get to against
// draws counted one by one. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "alltoall.h"
#include "rng.h"

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
            const struct sand_alltoall all = {
                (enum sand_alltoall_kind)kind, shapes[i][0], shapes[i][1], 1e9, 1, 1};
            const struct sand_alltoall_load got = sand_alltoall_load(&all);
            const struct sand_alltoall_load want = walk(all.kind, all.ranks, all.domain_ranks, 1e9);
            cr_assert_float_eq(got.network_B, want.network_B, 1, "%u over %u", all.ranks,
                               all.domain_ranks);
            cr_assert_float_eq(got.scaleup_B, want.scaleup_B, 1);
            cr_assert_eq(got.network_messages, want.network_messages);
            cr_assert_eq(got.scaleup_messages, want.scaleup_messages);
        }
}

// Hierarchical: each remote domain gets a token once, and each rank, behind a scale-up port.
Test(alltoall, hierarchical_sends_copies_once)
{
    const struct sand_alltoall all = {SAND_ALLTOALL_HIERARCHICAL, 64, 8, 64e6, 0.5, 0.75};
    const struct sand_alltoall_load load = sand_alltoall_load(&all);
    cr_assert_float_eq(load.network_B, 28e6, 1e-3);
    cr_assert_float_eq(load.scaleup_B, 42e6, 1e-3);
    cr_assert_eq(load.network_messages, 7u);
}

// Two experts of four, two domains of two: of the six pairs of experts four reach both domains and
// two reach one.
Test(alltoall, reach_is_that_of_counted_draws)
{
    const struct sand_routing two = {4, 2, 0, 0}, one = {4, 1, 1, 1}, all = {256, 8, 1, 1};
    cr_assert_float_eq(sand_routing_reach(&two, 2), 10.0 / 6.0, 1e-12);
    cr_assert_float_eq(sand_routing_reach(&one, 2), 1.0, 1e-12);
    cr_assert_float_eq(sand_routing_reach(&all, 1), 1.0, 1e-12);
    cr_assert_float_eq(sand_routing_reach(&all, 256), 8.0, 1e-9);
    // One group of two, two experts in each: its two experts, in one half of all.
    const struct sand_routing narrow = {4, 2, 2, 1};
    cr_assert_float_eq(sand_routing_reach(&narrow, 2), 1.0, 1e-12);
    cr_assert_float_eq(sand_routing_reach(&narrow, 4), 2.0, 1e-12);
}

// Draws `k` of the numbers of `list` by swapping them to its front.
static void draw(uint64_t *drawn, uint32_t *list, uint32_t n, uint32_t k)
{
    const struct sand_rng rng = {.seed = 11};
    for (uint32_t i = 0; i < k; i++) {
        const double u = sand_rng_uniform(rng, SAND_STREAM_TEST, 0, (*drawn)++);
        const uint32_t j = i + (uint32_t)(u * (n - i)), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

// Parts that one token reaches: groups are drawn, then experts of theirs.
static uint32_t reached(uint64_t *drawn, const struct sand_routing *r, uint32_t parts)
{
    uint32_t groups[64], experts[512], n = 0, hit = 0;
    uint8_t seen[512] = {0};
    const uint32_t size = r->experts / r->groups;
    for (uint32_t g = 0; g < r->groups; g++)
        groups[g] = g;
    draw(drawn, groups, r->groups, r->groups_per_token);
    for (uint32_t g = 0; g < r->groups_per_token; g++)
        for (uint32_t e = 0; e < size; e++)
            experts[n++] = groups[g] * size + e;
    draw(drawn, experts, n, r->top_k);
    for (uint32_t i = 0; i < r->top_k; i++) {
        const uint32_t part = experts[i] / (r->experts / parts);
        hit += !seen[part];
        seen[part] = 1;
    }
    return hit;
}

// Parts inside groups, of whole groups, and across their borders: the closed form is the mean of
// random tokens within four standard errors.
Test(alltoall, reach_is_the_mean_of_random_tokens)
{
    static const struct {
        struct sand_routing routing;
        uint32_t parts;
    } cases[] = {
        {{256, 8, 8, 4}, 8},  {{256, 8, 8, 4}, 64}, {{256, 8, 8, 4}, 4}, {{160, 6, 8, 3}, 20},
        {{120, 5, 8, 3}, 12}, {{120, 5, 5, 2}, 8},  {{96, 4, 6, 4}, 4},  {{128, 8, 1, 1}, 8},
        {{384, 8, 1, 1}, 32}, {{16, 2, 4, 1}, 2},
    };
    enum { TOKENS = 20000 };
    uint64_t drawn = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double sum = 0, squares = 0;
        for (int t = 0; t < TOKENS; t++) {
            const double hit = reached(&drawn, &cases[i].routing, cases[i].parts);
            sum += hit;
            squares += hit * hit;
        }
        const double mean = sum / TOKENS, variance = squares / TOKENS - mean * mean;
        const double want = sand_routing_reach(&cases[i].routing, cases[i].parts);
        cr_assert_leq(fabs(mean - want), 4 * sqrt(variance / TOKENS) + 1e-9,
                      "case %zu: drawn %.4f, closed form %.4f", i, mean, want);
    }
}

Test(alltoall, one_rank_sends_nothing)
{
    const struct sand_alltoall none = {SAND_ALLTOALL_PAIRWISE, 1, 1, 1, 1, 1};
    cr_assert_eq(sand_alltoall_load(&none).network_B, 0.0);
    cr_assert_eq(sand_alltoall_load(&none).scaleup_B, 0.0);
}
