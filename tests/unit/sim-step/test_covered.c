// Links that others cover are dropped, and only those: max-min shares stay what they were.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "covered.h"
#include "ids.h"

enum { LINKS = 40, FLOWS = 6 };

static struct link_use uses[LINKS * FLOWS];
static struct shared_link links[LINKS];

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
    return (uint32_t)(state >> 33) % below;
}

// Some flows on each link, few weights, so that links cover each other often.
static void make(uint64_t seed)
{
    uint32_t n = 0;
    state = seed;
    for (uint32_t l = 0; l < LINKS; l++) {
        links[l] = (struct shared_link){
            .capacity_Bps = 1 + draw(3), .first = n, .coupled = SAND_NONE, .kept = 1};
        for (uint32_t f = 0; f < FLOWS; f++)
            if (draw(2) == 0)
                uses[n++] = (struct link_use){l, f, 1 + draw(4)};
        links[l].n = n - links[l].first;
        links[l].kept = links[l].n > 0;
    }
}

// Water-filling over the links kept and the flows under way.
static void fill(const uint8_t *active, double *rate)
{
    uint8_t fixed[FLOWS];
    for (uint32_t f = 0; f < FLOWS; f++)
        fixed[f] = !active[f];
    memset(rate, 0, FLOWS * sizeof *rate);
    for (;;) {
        double least = INFINITY;
        uint32_t fullest = 0;
        for (uint32_t l = 0; l < LINKS; l++) {
            double left = links[l].capacity_Bps, weight = 0;
            for (uint32_t i = 0; links[l].kept && i < links[l].n; i++) {
                const struct link_use *use = &uses[links[l].first + i];
                left -= use->weight * rate[use->flow];
                weight += fixed[use->flow] ? 0 : use->weight;
            }
            if (weight > 0 && left / weight < least) {
                least = left / weight;
                fullest = l;
            }
        }
        if (isinf(least))
            return;
        for (uint32_t i = 0; i < links[fullest].n; i++) {
            const uint32_t f = uses[links[fullest].first + i].flow;
            if (!fixed[f])
                rate[f] = least;
            fixed[f] = 1;
        }
    }
}

Test(covered, shares_stay_whoever_is_under_way)
{
    uint32_t dropped = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        double before[1 << FLOWS][FLOWS], after[FLOWS];
        uint8_t active[FLOWS];
        make(seed);
        for (int pass = 0; pass < 2; pass++) {
            for (uint32_t set = 0; set < 1 << FLOWS; set++) {
                for (uint32_t f = 0; f < FLOWS; f++)
                    active[f] = set >> f & 1;
                fill(active, pass == 0 ? before[set] : after);
                for (uint32_t f = 0; pass == 1 && f < FLOWS; f++)
                    cr_assert_float_eq(after[f], before[set][f], 1e-12);
            }
            if (pass == 0)
                cr_assert_eq(step_covered_drop(uses, links, LINKS, FLOWS), SAND_OK);
        }
        for (uint32_t l = 0; l < LINKS; l++)
            dropped += links[l].n > 0 && !links[l].kept;
    }
    cr_expect_gt(dropped, 50 * LINKS / 3); // else the test shows nothing
}

// By hand: half the capacity at the same weights covers; another flow, or coupling, keeps a link.
Test(covered, by_hand)
{
    const struct link_use by_hand[] = {{0, 0, 1}, {0, 1, 2}, {1, 0, 1}, {1, 1, 2},
                                       {2, 0, 1}, {2, 2, 1}, {3, 0, 1}};
    struct shared_link four[] = {
        {2, 0, 2, SAND_NONE, 1}, {1, 2, 2, SAND_NONE, 1}, {9, 4, 2, SAND_NONE, 1}, {5, 6, 1, 7, 1}};
    cr_assert_eq(step_covered_drop(by_hand, four, 4, 3), SAND_OK);
    cr_expect_eq(four[0].kept, 0);
    cr_expect_eq(four[1].kept, 1);
    cr_expect_eq(four[2].kept, 1);
    cr_expect_eq(four[3].kept, 1);
}
