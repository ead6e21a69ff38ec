// Dragonfly+: counts, minimal and non-minimal ways, loads of all-to-all, aggregates that lose
// spines. SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "fabric_walk.h"
#include "mem.h"

TestSuite(fabric_dragonfly_plus, .timeout = 60);

static struct sand_fabric *build(struct fixture *f)
{
    struct sand_fabric *fabric;
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    return fabric;
}

// Single-NIC nodes: `groups` of l leaves with p NICs and s spines with h global links.
static void set(struct fixture *f, uint32_t groups, uint32_t l, uint32_t p, uint32_t s, uint32_t h)
{
    fixture_set(f);
    f->node.n_gpus = f->node.n_nics = 1;
    f->node.scaleup = SAND_SCALEUP_NONE;
    f->cluster.n_nodes = groups * l * p;
    f->cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                                  .groups = groups,
                                                  .leaves_per_pod = l,
                                                  .spines = s,
                                                  .endpoints_per_leaf = p,
                                                  .global_links = h,
                                                  .leaf_links = 1,
                                                  .spreading = SAND_SPREAD_STATIC,
                                                  .link = &f->port};
}

// Shpiner et al. 2017: of switches with k ports (k/2)^2 ((k/2)^2 + 1) hosts: 105,300 with k = 36, a
// cable between any two of 325 groups.
Test(fabric_dragonfly_plus, the_largest_of_36_ports)
{
    struct fixture f;
    struct sand_fabric_counts c;
    set(&f, 325, 18, 18, 18, 18);
    f.cluster.fabric.radix = 36;
    struct sand_fabric *fabric = build(&f);
    sand_fabric_count(fabric, &c);
    cr_expect_eq(fabric->n_endpoints, 105300);
    cr_expect(c.leaves == 325 * 18 && c.spines == 325 * 18 && c.routers == 0);
    cr_expect_eq(c.leaf_spine_cables, 325 * 18 * 18);
    cr_expect_eq(c.global_cables, 325 * 324 / 2);
    cr_expect_eq(fabric->group_links, 1);
    sand_fabric_free(fabric);
}

Test(fabric_dragonfly_plus, refuses_by_name)
{
    static const struct {
        uint32_t groups, h, radix;
        double nonminimal;
        enum sand_spreading spreading;
        const char *said;
    } rows[] = {
        {10, 4, 0, 0, SAND_SPREAD_STATIC, "reach at most 8 others"},
        {9, 4, 5, 0, SAND_SPREAD_STATIC, "a leaf needs 4 ports and a spine 6, but the radix is 5"},
        {9, 4, 0, 2, SAND_SPREAD_STATIC, "a share 2 of the traffic"},
        {9, 4, 0, 0.5, SAND_SPREAD_EVEN, "no flow goes over a third group"},
        {9, 0, 0, 0, SAND_SPREAD_EVEN, "reach at most 0 others"},
        {2, 70000, 0, 0, SAND_SPREAD_EVEN, "70000 global links"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        struct sand_fabric *fabric = NULL;
        struct sand_diag diag = {0};
        set(&f, rows[i].groups, 2, 2, 2, rows[i].h);
        f.cluster.fabric.radix = rows[i].radix;
        f.cluster.fabric.nonminimal = rows[i].nonminimal;
        f.cluster.fabric.spreading = rows[i].spreading;
        cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_ERR_INPUT);
        cr_assert(diag.n_messages == 1 && strstr(diag.messages[0].text, rows[i].said), "%s: %s",
                  rows[i].said, diag.n_messages ? diag.messages[0].text : "nothing");
        sand_diag_clear(&diag);
    }
}

// Leaf, spine, spine, leaf: five cables with those of the NICs; three in a group, two at a leaf.
Test(fabric_dragonfly_plus, minimal_ways)
{
    struct fixture f;
    set(&f, 5, 3, 4, 4, 2);
    struct sand_fabric *fabric = build(&f);
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t from = 0; from < fabric->n_endpoints; from++)
        for (uint32_t to = 0; to < fabric->n_endpoints; to++) {
            if (from == to)
                continue;
            const uint32_t n = sand_fabric_route(fabric, from, to, links);
            walk_route(fabric, from, to, links, n);
            cr_assert_eq(n, from / 4 == to / 4 ? 2 : from / 12 == to / 12 ? 4 : 5);
        }
    sand_fabric_free(fabric);
}

static uint32_t globals_on(const struct sand_fabric *f, const uint32_t *links, uint32_t n)
{
    uint32_t globals = 0;
    for (uint32_t i = 0; i < n; i++)
        globals += f->links[links[i]].link_class == SAND_LINK_GLOBAL;
    return globals;
}

// A share of the queue pairs between groups crosses a third one, each of them equally often: within
// four standard deviations of the binomial. Both kinds of dragonfly.
static void check_share(struct fixture *f, double share)
{
    f->cluster.fabric.nonminimal = share;
    f->cluster.fabric.spreading = SAND_SPREAD_HASH;
    f->cluster.fabric.queue_pairs = 4;
    struct sand_fabric *fabric = build(f);
    const uint32_t groups = fabric->groups, per_group = fabric->n_endpoints / groups;
    uint32_t links[SAND_ROUTE_MAX], ends[2], longest = 0;
    double all = 0, over = 0, via[16] = {0};
    for (uint32_t from = 0; from < per_group; from++)
        for (uint32_t to = 2 * per_group; to < 3 * per_group; to++)
            for (uint32_t q = 0; q < 4; q++, all++) {
                const uint32_t n = sand_fabric_route_path(fabric, from, to, q, links);
                walk_route(fabric, from, to, links, n);
                longest = n > longest ? n : longest;
                const uint32_t globals = globals_on(fabric, links, n);
                cr_assert(globals == 1 || globals == 2);
                over += globals == 2;
                for (uint32_t i = 0; globals == 2 && i < n; i++) {
                    if (fabric->links[links[i]].link_class != SAND_LINK_GLOBAL)
                        continue;
                    sand_fabric_ends(fabric, links[i], ends);
                    const struct sand_fabric_owner at =
                        sand_fabric_link_owner(fabric, sand_fabric_reverse(fabric, links[i]));
                    via[at.owner]++;
                    break;
                }
            }
    cr_expect_float_eq(over, share * all, 4 * sqrt(all * share * (1 - share)) + 1e-9);
    const double each = over / (groups - 2);
    for (uint32_t g = 0; g < groups; g++)
        cr_expect_float_eq(via[g], g == 0 || g == 2 ? 0 : each, 4 * sqrt(each));
    // Two cables of NICs, one or two between groups; a router's or (two) a leaf's turn on each side
    // and in the third group.
    cr_expect_eq(longest, share <= 0 ? 5 : fabric->kind == SAND_FABRIC_DRAGONFLY ? 7 : 8);
    sand_fabric_free(fabric);
}

Test(fabric_dragonfly_plus, a_share_goes_over_third_groups)
{
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        set(&f, 9, 4, 8, 4, 2); // two spines apart: the turn of the third group is at a leaf
        check_share(&f, i / 2.0);
        f.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY,
                                                     .groups = 9,
                                                     .routers = 4,
                                                     .endpoints_per_router = 8,
                                                     .global_links = 2,
                                                     .link = &f.port};
        check_share(&f, i / 2.0);
    }
}

static void expect_load(const struct sand_fabric *f, const uint32_t *load, enum sand_link_class c,
                        double expected)
{
    for (uint32_t l = f->first[c]; l < f->n_links && f->links[l].link_class == c; l++)
        cr_assert_float_eq(load[l], expected, 1e-9, "class %d, link %u: %u, not %g", c, l, load[l],
                           expected);
}

// All-to-all of g groups of l leaves with p NICs each: (l p)^2 / m on each of the m cables between
// two groups, p (N - p) / s on each of a leaf's s uplinks, if static routing spreads evenly.
Test(fabric_dragonfly_plus, loads_of_all_to_all)
{
    struct fixture f;
    set(&f, 3, 2, 4, 4, 2); // m = 4, one cable of every spine to either group
    struct sand_fabric *fabric = build(&f);
    uint32_t *load = sand_calloc(fabric->n_links, sizeof *load);
    cr_assert_eq(load_all_pairs(fabric, load), 0);
    cr_expect_eq(fabric->group_links, 4);
    expect_load(fabric, load, SAND_LINK_GLOBAL, 8.0 * 8 / 4);
    expect_load(fabric, load, SAND_LINK_LEAF_UP, 4.0 * (24 - 4) / 4);
    expect_load(fabric, load, SAND_LINK_LEAF_DOWN, 4.0 * (24 - 4) / 4);
    sand_free(load);
    sand_fabric_free(fabric);
}

static double sum_of(const struct sand_fabric *f, enum sand_link_class c)
{
    double sum = 0;
    for (uint32_t l = 0; l < f->n_links; l++)
        if (f->links[l].link_class == c && !f->links[l].is_down)
            sum += f->links[l].capacity_Bps * f->links[l].speed;
    return sum;
}

// Bundles hold what their cables hold, and lose with a spine what it had: whatever of them is left.
Test(fabric_dragonfly_plus, an_aggregate_is_the_sum_of_its_cables)
{
    static const enum sand_link_class classes[] = {SAND_LINK_LEAF_UP, SAND_LINK_LEAF_DOWN,
                                                   SAND_LINK_GLOBAL};
    struct fixture f;
    set(&f, 4, 2, 3, 3, 4);
    f.cluster.fabric.leaf_links = 2;
    struct sand_fabric *cables = build(&f);
    f.cluster.fabric.spreading = SAND_SPREAD_EVEN;
    struct sand_fabric *bundles = build(&f);
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t lost = 0; lost <= 3; lost++) {
        for (int c = 0; c < 3; c++)
            cr_expect_float_eq(sum_of(bundles, classes[c]), sum_of(cables, classes[c]), 1);
        cr_expect_eq(sand_fabric_route(bundles, 3, 0, links) == SAND_NONE, lost == 3);
        cr_expect_eq(sand_fabric_route(cables, 3, 0, links) == SAND_NONE, lost == 3);
        if (lost < 3) {
            cr_assert_eq(sand_fabric_fail_switch(bundles, 1, lost, NULL), SAND_OK);
            cr_assert_eq(sand_fabric_fail_switch(cables, 1, lost, NULL), SAND_OK);
        }
    }
    sand_fabric_free(cables);
    sand_fabric_free(bundles);
}
