// Latency of ways by hand: cables given or from the floor plan, switches, tiers.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabric_walk.h"
#include "fabricparts.h"

static struct sand_fabric *build(struct fixture *f)
{
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    return fabric;
}

static double way_s(const struct sand_fabric *fabric, uint32_t from, uint32_t to)
{
    uint32_t links[SAND_ROUTE_MAX];
    const uint32_t n = sand_fabric_route(fabric, from, to, links);
    return sand_fabric_latency_s(fabric, links, n);
}

static void set(struct fixture *f, enum sand_spreading spreading)
{
    fixture_set(f);
    f->port.switch_latency_s = 150e-9;
    f->port.metre_latency_s = 5e-9;
    f->cluster.fabric.latency = SAND_LATENCY_ROUTE;
    f->cluster.fabric.spreading = spreading;
    f->cluster.fabric.adaptive_efficiency = 0.9;
    f->cluster.fabric.queue_pairs = 1;
    f->cluster.fabric.node_cable_m = 2;
    f->cluster.fabric.leaf_cable_m = 30;
}

// One leaf: two cables of 2 m. Two leaves: two of 30 m and two more switches; a slow spine once.
Test(fabric_latency, given_cables)
{
    for (int spreading = SAND_SPREAD_EVEN; spreading <= SAND_SPREAD_HASH; spreading++) {
        struct fixture f;
        set(&f, (enum sand_spreading)spreading);
        struct sand_fabric *fabric = build(&f);
        cr_expect_float_eq(way_s(fabric, 0, 1), 4 * 5e-9, 1e-15);
        cr_expect_float_eq(way_s(fabric, 0, 2000), 64 * 5e-9 + 300e-9, 1e-15);
        sand_fabric_free(fabric);
        f.cluster.fabric.spine_latency_s = 12e-6;
        fabric = build(&f);
        cr_expect_float_eq(way_s(fabric, 0, 1), 4 * 5e-9, 1e-15);
        cr_expect_float_eq(way_s(fabric, 0, 2000), 64 * 5e-9 + 300e-9 + 12e-6, 1e-15);
        sand_fabric_free(fabric);
        f.cluster.fabric.latency = SAND_LATENCY_LINK;
        fabric = build(&f);
        cr_expect_float_eq(way_s(fabric, 0, 2000), 12e-6, 1e-15);
        sand_fabric_free(fabric);
    }
}

// Four nodes a rack and leaf, eight racks a row: leaves stand in their rack, the spine in the
// middle of all 64 racks, 3.5 racks along and 3.5 rows across.
Test(fabric_latency, from_the_floor)
{
    struct fixture f;
    struct sand_fabric_parts parts;
    set(&f, SAND_SPREAD_EVEN);
    f.cluster.fabric.node_cable_m = f.cluster.fabric.leaf_cable_m = 0;
    f.cluster.nodes_per_rack = 4;
    f.cluster.racks_per_row = 8;
    f.cluster.rows_per_hall = 8;
    f.cluster.rack_pitch_m = 0.6;
    f.cluster.row_pitch_m = 3;
    f.cluster.cable_slack_m = 4;
    struct sand_fabric *fabric = build(&f);
    // From rack 0 of row 0 to rack 7 of row 7.
    const double leaf_m = 3.5 * 0.6 + 3.5 * 3 + 4;
    cr_expect_float_eq(way_s(fabric, 0, 2047), (4 + 4 + 2 * leaf_m) * 5e-9 + 300e-9, 1e-14);
    // The mean distance of 0..7 from 3.5 is 2.
    sand_fabric_parts_list(fabric, &f.cluster, &parts);
    cr_expect_float_eq(parts.runs[SAND_CABLE_NODE].length_m, 4, 1e-9);
    cr_expect_float_eq(parts.runs[SAND_CABLE_LEAF].length_m, 2 * 0.6 + 2 * 3 + 4, 1e-9);
    sand_fabric_free(fabric);
}

// Half of the nodes in a second hall, 100 m off.
Test(fabric_latency, halls)
{
    struct fixture f;
    set(&f, SAND_SPREAD_STATIC);
    f.cluster.fabric.node_cable_m = f.cluster.fabric.leaf_cable_m = 0;
    f.cluster.nodes_per_rack = 4;
    f.cluster.racks_per_row = 32;
    f.cluster.rows_per_hall = 1;
    f.cluster.hall_pitch_m = 100;
    struct sand_fabric *fabric = build(&f);
    cr_expect_float_eq(way_s(fabric, 0, 2047), 100 * 5e-9 + 300e-9, 1e-14);
    cr_expect_float_eq(way_s(fabric, 0, 512), 100 * 5e-9 + 300e-9, 1e-14, "over the middle");
    sand_fabric_free(fabric);
}
