// Wired fabrics: the same switches as a tree of rails or planes give the same links and ways; what
// does not fit together is named.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "fabric_walk.h"
#include "rng.h"
#include "wired_twin.h"

static uint64_t draw(uint64_t i, uint64_t index)
{
    return sand_rng_u64((struct sand_rng){.seed = 29}, SAND_STREAM_TEST, i, index);
}

static void draw_tree(struct fixture *f, uint64_t i)
{
    const uint64_t d = draw(i, 0);
    struct sand_fabric_spec *s = &f->cluster.fabric;
    fixture_set(f);
    s->kind = (enum sand_fabric_kind)(d % 3);
    f->cluster.n_nodes = 2 + (uint32_t)(d >> 8) % 14;
    f->node.n_nics = f->node.n_gpus = 1 + (uint32_t)(d >> 16) % 4;
    s->radix = 0;
    s->n_tiers = s->kind == SAND_FABRIC_RAIL_ONLY ? 2 : 2 + (d >> 20) % 2;
    s->endpoints_per_leaf = f->node.n_nics * (1 + (uint32_t)(d >> 24) % 4);
    s->nodes_per_unit = 1 + (uint32_t)(d >> 28) % 4;
    s->leaves_per_pod = 1 + (uint32_t)(d >> 32) % 3;
    s->units_per_pod = 1 + (uint32_t)(d >> 36) % 2;
    s->leaf_oversubscription = 0.25;
    s->pod_oversubscription = 0.25;
    s->spines = 1 + (uint32_t)(d >> 40) % 4;
    s->cores = s->n_tiers == 3 ? s->spines * (1 + (uint32_t)(d >> 44) % 2) : 0;
    s->planes = 1 + (uint32_t)(d >> 48) % 2;
    s->cross_rail = (enum sand_cross_rail)((d >> 52) % 2);
    s->spreading = (d >> 54) % 2 ? SAND_SPREAD_EVEN : SAND_SPREAD_STATIC;
    f->node.scaleup = (d >> 58) % 2 ? SAND_SCALEUP_NVSWITCH : SAND_SCALEUP_NONE;
}

// A way's links, one by one: class and capacity are the twin's, and the same two links there stand
// for it wherever it is used.
static void compare_ways(const struct sand_fabric *a, const struct sand_fabric *b,
                         uint32_t *as_in_b)
{
    uint32_t x[SAND_ROUTE_MAX], y[SAND_ROUTE_MAX];
    for (uint32_t from = 0; from < a->n_endpoints; from++)
        for (uint32_t to = 0; to < a->n_endpoints; to++) {
            const uint32_t n = sand_fabric_route(a, from, to, x);
            cr_assert_eq(sand_fabric_route(b, from, to, y), n, "%u to %u", from, to);
            for (uint32_t i = 0; n != SAND_NONE && i < n; i++) {
                const struct sand_fabric_link *l = &a->links[x[i]], *m = &b->links[y[i]];
                cr_assert_float_eq(l->capacity_Bps, m->capacity_Bps, 1e-12 * l->capacity_Bps);
                cr_assert_eq(l->link_class, m->link_class);
                if (as_in_b[x[i]] == 0)
                    as_in_b[x[i]] = y[i] + 1;
                cr_assert_eq(as_in_b[x[i]], y[i] + 1, "one link there is two here");
            }
        }
}

// Random trees, even and d-mod-k: the same ways over the same links, in number and rate.
Test(fabric_wired, trees_are_the_same_wired, .timeout = 60)
{
    unsigned compared = 0, aggregated = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct fixture f;
        struct wired_twin twin;
        struct sand_fabric *a = NULL, *b = NULL;
        draw_tree(&f, i);
        if (!wired_twin_make(&f.cluster, &twin))
            continue;
        cr_assert_eq(sand_fabric_build(&f.cluster, &a, NULL), SAND_OK);
        cr_assert_eq(sand_fabric_build(&twin.cluster, &b, NULL), SAND_OK);
        uint32_t *as_in_b = calloc(a->n_links, sizeof *as_in_b);
        compare_ways(a, b, as_in_b);
        compared++;
        aggregated += sand_fabric_is_aggregate(a) && b->n_switches < twin.cluster.fabric.n_switches;
        free(as_in_b);
        sand_fabric_free(a);
        sand_fabric_free(b);
        wired_twin_free(&twin);
    }
    cr_expect_gt(compared, 200);
    cr_expect_gt(aggregated, 50);
}

// ---- hand-computed ------------------------------------------------------------------------------

static struct sand_wired_switch switches[] = {{"a", 0, 0}, {"b", 0, 0}, {"x", 0, 0}, {"y", 0, 0}};
static struct sand_wired_port ports[] = {{"a", 0, 2, 0, 1}, {"b", 2, 2, 0, 1}};
static struct sand_wired_cable cables[] = {
    {"a", "x", 1, 0, 0}, {"x", "b", 1, 0, 0}, {"a", "y", 1, 0, 20}, {"y", "b", 1, 0, 0}};

static void fixture_wire(struct fixture *f)
{
    fixture_set(f);
    f->node.n_nics = f->node.n_gpus = 1;
    f->cluster.n_nodes = 4;
    f->cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_WIRED,
                                                  .link = &f->port,
                                                  .switches = switches,
                                                  .n_switches = 4,
                                                  .ports = ports,
                                                  .n_ports = 2,
                                                  .cables = cables,
                                                  .n_cables = 4};
}

// Two equal spines are one cell: up, across, down over 100 GB/s. One with a thicker cable is not:
// two of three destinations go there.
Test(fabric_wired, equal_switches_are_one_cell)
{
    struct fixture f;
    struct sand_fabric *fabric = NULL;
    uint32_t links[SAND_ROUTE_MAX];
    char name[64];
    fixture_wire(&f);
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    cr_assert_eq(fabric->n_switches, 3);
    cr_assert_eq(sand_fabric_route(fabric, 0, 3, links), 4);
    cr_expect_eq(fabric->links[links[1]].capacity_Bps, 100e9);
    cr_expect_str_eq(sand_fabric_link_name(fabric, links[1], name, sizeof name), "a > x+1");
    cr_expect_eq(sand_fabric_fail_switch(fabric, 1, 1, NULL), SAND_OK);
    cr_expect_eq(fabric->links[links[1]].speed, 0.5, "y takes its half");
    sand_fabric_free(fabric);
    cables[3].n_cables = cables[2].n_cables = 2;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    cr_assert_eq(fabric->n_switches, 4);
    unsigned over_x = 0;
    for (uint32_t to = 2; to < 4; to++) {
        cr_assert_eq(sand_fabric_route(fabric, 0, to, links), 4);
        over_x += fabric->links[links[1]].capacity_Bps < 60e9;
    }
    cr_expect_eq(over_x, 1, "3 mod 3 is the first cable, 2 mod 3 the third");
    sand_fabric_free(fabric);
    cables[3].n_cables = cables[2].n_cables = 1;
}

static void expect_refused(struct fixture *f, const char *part)
{
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, &diag), SAND_ERR_INPUT, "%s", part);
    cr_expect(strstr(diag.messages[diag.n_messages - 1].text, part) != NULL, "%s: %s", part,
              diag.messages[diag.n_messages - 1].text);
    sand_diag_clear(&diag);
}

Test(fabric_wired, what_does_not_fit_is_named)
{
    struct fixture f;
    fixture_wire(&f);
    f.cluster.fabric.n_ports = 1;
    expect_refused(&f, "node2 nic0 has no port");
    fixture_wire(&f);
    cables[0].to = "z";
    expect_refused(&f, "\"z\", but no switch of that name");
    cables[0].to = "a";
    expect_refused(&f, "joins \"a\" to itself");
    cables[0].to = "x";
    switches[3].id = "x";
    expect_refused(&f, "two switches are called \"x\"");
    switches[3].id = "a name with blanks";
    expect_refused(&f, "1 to 24 characters");
    switches[3].id = "y";
    ports[1].n_nodes = 3;
    expect_refused(&f, "3 nodes from node2 on, but the cluster has 4");
    ports[1] = (struct sand_wired_port){"b", 1, 3, 0, 1};
    expect_refused(&f, "node1 nic0 has 2 ports, node0 nic0 1");
    ports[1] = (struct sand_wired_port){"b", 2, 2, 0, 1};
    f.cluster.fabric.radix = 3;
    expect_refused(&f, "switch \"a\": 4 ports are in use, but a switch has 3");
}

// Switches that nothing joins are no error: rails alone are such. Their NICs have no way.
Test(fabric_wired, pieces_have_no_way)
{
    struct fixture f;
    struct sand_fabric *fabric = NULL;
    uint32_t links[SAND_ROUTE_MAX];
    fixture_wire(&f);
    f.cluster.fabric.n_cables = 0;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    cr_expect_eq(sand_fabric_route(fabric, 0, 1, links), 2);
    cr_expect_eq(sand_fabric_route(fabric, 0, 2, links), SAND_NONE);
    sand_fabric_free(fabric);
}
