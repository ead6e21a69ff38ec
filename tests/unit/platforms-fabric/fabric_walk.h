// Walking a route over the fabric's graph.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_FABRIC_WALK_H
#define SAND_TESTS_FABRIC_WALK_H

#include <criterion/criterion.h>

#include "fabric_fixture.h"

// Asserts that the links lead from NIC `from` to NIC `to`, each starting where the last one ended,
// over nothing that is down and no vertex twice; a relay over the scale-up domain of `from` may
// come first.
static inline void walk_route(const struct sand_fabric *f, uint32_t from, uint32_t to,
                              const uint32_t *links, uint32_t n)
{
    uint32_t seen[SAND_ROUTE_MAX + 1], ends[2], at = from, i = 0;
    cr_assert(n > 0 && n <= SAND_ROUTE_MAX);
    if (f->links[links[0]].link_class == SAND_LINK_SCALEUP_OUT) {
        cr_assert(n >= 2 && f->links[links[1]].link_class == SAND_LINK_SCALEUP_IN);
        cr_assert_eq(sand_fabric_link_owner(f, links[0]).owner, from / f->nics_per_node);
        cr_assert_eq(sand_fabric_link_owner(f, links[1]).owner, from / f->nics_per_node);
        i = 2;
        if (n > 2)
            sand_fabric_ends(f, links[2], ends);
        at = n > 2 ? ends[0] : to;
        cr_assert_eq(at / f->nics_per_node, from / f->nics_per_node);
    }
    seen[i] = at;
    for (; i < n; i++) {
        cr_assert_lt(links[i], f->n_links);
        cr_assert_not(f->links[links[i]].is_down);
        sand_fabric_ends(f, links[i], ends);
        cr_assert_eq(ends[0], at);
        at = ends[1];
        for (uint32_t j = n > 0 && f->links[links[0]].link_class <= SAND_LINK_SCALEUP_IN ? 2 : 0;
             j <= i; j++)
            cr_assert_neq(seen[j], at, "a loop");
        seen[i + 1] = at;
    }
    cr_assert_eq(at, to);
}

// Adds 1 to load[l] for every link of every pair's route; returns how many pairs are cut off.
static inline uint32_t load_all_pairs(const struct sand_fabric *f, uint32_t *load)
{
    uint32_t links[SAND_ROUTE_MAX], cut = 0;
    for (uint32_t from = 0; from < f->n_endpoints; from++)
        for (uint32_t to = 0; to < f->n_endpoints; to++) {
            const uint32_t n = sand_fabric_route(f, from, to, links);
            cut += n == SAND_NONE;
            for (uint32_t i = 0; n != SAND_NONE && i < n; i++)
                load[links[i]]++;
        }
    return cut;
}

#endif
