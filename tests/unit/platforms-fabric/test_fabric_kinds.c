// Every way of wiring: counts as published or by formula, places, relays, planes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "fabric_walk.h"
#include "mem.h"

static struct sand_fabric *build(struct fixture *f)
{
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    enum sand_rc rc = sand_fabric_build(&f->cluster, &fabric, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
    return fabric;
}

static struct sand_fabric_counts counts_of(struct fixture *f)
{
    struct sand_fabric_counts counts;
    struct sand_fabric *fabric = build(f);
    sand_fabric_count(fabric, &counts);
    sand_fabric_free(fabric);
    return counts;
}

static void set_rails(struct fixture *f, uint32_t nodes, uint32_t tiers, uint32_t per_unit)
{
    fixture_set(f);
    f->cluster.n_nodes = nodes;
    f->cluster.fabric.kind = SAND_FABRIC_RAIL_OPTIMISED;
    f->cluster.fabric.n_tiers = tiers;
    f->cluster.fabric.nodes_per_unit = per_unit;
    f->cluster.fabric.endpoints_per_leaf = 0;
    f->cluster.fabric.units_per_pod = tiers == 3 ? 4 : 0;
    f->cluster.fabric.pod_oversubscription = 1;
}

// NVIDIA DGX SuperPOD H100, RA-11333-001 v11, tables 3 and 4: 32 nodes a unit, eight rails. Table 4
// counts four more node cables per pod for the fabric manager; 16 units and more have pods of four.
Test(fabric_kinds, superpod_tables_by_rails)
{
    static const uint32_t rows[][6] = {
        {31, 2, 8, 4, 0, 256},          {63, 2, 16, 8, 0, 512},
        {95, 2, 24, 16, 0, 768},        {127, 2, 32, 16, 0, 1024},
        {128, 2, 32, 16, 0, 1024},      {256, 2, 64, 32, 0, 2048},
        {512, 3, 128, 128, 64, 4096},   {1024, 3, 256, 256, 128, 8192},
        {2048, 3, 512, 512, 256, 16384}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        set_rails(&f, rows[i][0], rows[i][1], 32);
        struct sand_fabric_counts c = counts_of(&f);
        cr_expect(c.leaves == rows[i][2] && c.spines == rows[i][3] && c.cores == rows[i][4] &&
                      c.leaf_spine_cables == rows[i][5],
                  "%u nodes: %lu %lu %lu", rows[i][0], (unsigned long)c.leaves,
                  (unsigned long)c.spines, (unsigned long)c.cores);
        cr_expect_eq(c.endpoint_cables, 8 * (uint64_t)rows[i][0]);
    }
}

// Alibaba HPN, SIGCOMM 2024: a node's eight 400 Gb/s NICs have a 200 Gb/s port in each of two
// planes; segments of 128 nodes and 8 spare, 15 of them, 60 aggregation switches per plane, 51.2
// Tb/s switches (128 ports of 400 Gb/s): 240 leaves, 120 spines.
Test(fabric_kinds, hpn_dual_plane)
{
    struct fixture f;
    set_rails(&f, 15 * 136, 2, 136);
    f.cluster.fabric.radix = 128;
    f.cluster.fabric.planes = 2;
    f.cluster.fabric.spines = 60;
    f.cluster.fabric.leaf_oversubscription = 136 * 25e9 / (60 * 50e9);
    struct sand_fabric_counts c = counts_of(&f);
    cr_expect_eq(c.leaves, 240);
    cr_expect_eq(c.spines, 120);
    cr_expect_eq(c.leaf_spine_cables, 240 * 60);
    cr_expect_eq(c.endpoint_cables, 2 * 8 * 15 * 136);
}

// Microsoft and OpenAI, multi-plane: 131,072 endpoints in 8 planes of 100 Gb/s, 512 leaves of 256
// endpoints a plane.
Test(fabric_kinds, multi_plane_of_eight)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 16384;
    f.nic.rate_Bps = 100e9;
    f.port.rate_Bps = 12.5e9;
    f.cluster.fabric.radix = 512;
    f.cluster.fabric.planes = 8;
    f.cluster.fabric.endpoints_per_leaf = 256;
    struct sand_fabric_counts c = counts_of(&f);
    cr_expect_eq(c.leaves, 8 * 512);
    cr_expect_eq(c.spines, 8 * 256);
    cr_expect_eq(c.endpoint_cables, 8 * 131072);
}

// TPU v4, ISCA 2023: 4,096 chips in 64 cubes of 4x4x4, 48 circuit switches with two ports a cube.
Test(fabric_kinds, tpu_v4_cubes)
{
    struct fixture f;
    fixture_set(&f);
    f.node.n_gpus = f.node.n_nics = 4;
    f.node.scaleup = SAND_SCALEUP_NONE;
    f.cluster.n_nodes = 1024;
    f.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                 .size = {16, 16, 16},
                                                 .block = 4,
                                                 .circuits = 1,
                                                 .spreading = SAND_SPREAD_STATIC,
                                                 .link = &f.port};
    struct sand_fabric_counts c = counts_of(&f);
    cr_expect_eq(c.circuit_switches, 48);
    cr_expect_eq(c.optical_cables, 64 * 96);
    cr_expect_eq(c.optical_cables / c.circuit_switches, 2 * 64);
    cr_expect_eq(2 * c.torus_cables + c.optical_cables, 4096 * 6);
    struct sand_fabric *fabric = build(&f);
    cr_expect_eq(sand_fabric_pod_of_node(fabric, 0), 0);
    cr_expect_eq(sand_fabric_pod_of_node(fabric, 15), 0);
    cr_expect_eq(sand_fabric_pod_of_node(fabric, 16), 1); // cube after cube
    sand_fabric_free(fabric);
}

// Kim et al. 2008: h = 4 balanced has 33 groups, 8 routers a group, 4 endpoints a router: 1,056.
Test(fabric_kinds, balanced_dragonfly)
{
    struct fixture f;
    fixture_set(&f);
    f.node.n_gpus = f.node.n_nics = 1;
    f.node.scaleup = SAND_SCALEUP_NONE;
    f.cluster.n_nodes = 1056;
    f.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY,
                                                 .groups = 33,
                                                 .routers = 8,
                                                 .endpoints_per_router = 4,
                                                 .global_links = 4,
                                                 .radix = 15,
                                                 .spreading = SAND_SPREAD_STATIC,
                                                 .link = &f.port};
    struct sand_fabric_counts c = counts_of(&f);
    cr_expect_eq(c.routers, 264);
    cr_expect_eq(c.local_cables, 33 * 28);
    cr_expect_eq(c.global_cables, 33 * 32 / 2);
    f.cluster.fabric.groups = 34;
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_ERR_INPUT);
    cr_expect(strstr(diag.messages[0].text, "reach at most 32 others") != NULL);
    sand_diag_clear(&diag);
}

// NIC j of every node of a unit meets NIC j of the others in one switch; another rail is reached
// over the scale-up domain, or over a spine when so wanted.
Test(fabric_kinds, rails_are_one_hop)
{
    struct fixture f;
    set_rails(&f, 64, 2, 32);
    struct sand_fabric *fabric = build(&f);
    uint32_t links[SAND_ROUTE_MAX];
    cr_expect_eq(sand_fabric_route(fabric, 8 * 3 + 5, 8 * 31 + 5, links), 2);
    cr_expect_eq(sand_fabric_route(fabric, 8 * 3 + 5, 8 * 32 + 5, links), 4); // the other unit
    uint32_t n = sand_fabric_route(fabric, 8 * 3 + 5, 8 * 31 + 2, links);
    cr_expect_eq(n, 4);
    cr_expect_eq(links[0], sand_fabric_scaleup_out(fabric, 3, 5));
    cr_expect_eq(links[1], sand_fabric_scaleup_in(fabric, 3, 2));
    walk_route(fabric, 8 * 3 + 5, 8 * 31 + 2, links, n);
    n = sand_fabric_route(fabric, 8 * 3 + 5, 8 * 3 + 2, links);
    cr_expect_eq(n, 2);
    sand_fabric_free(fabric);
    f.cluster.fabric.cross_rail = SAND_CROSS_RAIL_SPINE;
    fabric = build(&f);
    n = sand_fabric_route(fabric, 8 * 3 + 5, 8 * 31 + 2, links);
    cr_expect_eq(n, 4);
    cr_expect_eq(fabric->links[links[1]].link_class, SAND_LINK_LEAF_UP);
    sand_fabric_free(fabric);
}

// Without spines two rails meet nowhere: over the scale-up domain, or not at all.
Test(fabric_kinds, rail_only_says_what_it_cannot_reach)
{
    for (int scaleup = 0; scaleup < 2; scaleup++)
        for (uint32_t tiers = 1; tiers < 3; tiers++) {
            struct fixture f;
            set_rails(&f, 32, tiers, tiers == 1 ? 32 : 8);
            f.cluster.fabric.kind = SAND_FABRIC_RAIL_ONLY;
            f.node.scaleup = scaleup ? SAND_SCALEUP_NVSWITCH : SAND_SCALEUP_NONE;
            struct sand_fabric *fabric = build(&f);
            uint32_t links[SAND_ROUTE_MAX];
            for (uint32_t to = 1; to < fabric->n_endpoints; to++) {
                uint32_t n = sand_fabric_route(fabric, 0, to, links);
                if (to % 8 != 0 && !scaleup)
                    cr_assert_eq(n, SAND_NONE);
                else
                    walk_route(fabric, 0, to, links, n);
            }
            struct sand_fabric_counts c;
            sand_fabric_count(fabric, &c);
            cr_expect_eq(c.leaves, tiers == 1 ? 8 : 32);
            cr_expect_eq(c.spines == 0, tiers == 1);
            sand_fabric_free(fabric);
        }
    struct fixture f;
    set_rails(&f, 33, 1, 32);
    f.cluster.fabric.kind = SAND_FABRIC_RAIL_ONLY;
    struct sand_fabric *fabric = NULL;
    cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_ERR_INPUT);
}

// Two planes of half the rate: a flow has one of them, all of them sum to the NIC.
Test(fabric_kinds, planes_split_the_rate)
{
    struct fixture f;
    set_rails(&f, 64, 2, 32);
    f.cluster.fabric.planes = 2;
    f.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    f.cluster.fabric.cross_rail = SAND_CROSS_RAIL_SPINE;
    struct sand_fabric *fabric = build(&f);
    uint32_t links[SAND_ROUTE_MAX], planes[2] = {0, 0};
    for (uint32_t to = 8; to < fabric->n_endpoints; to++) {
        uint32_t n = sand_fabric_route(fabric, 0, to, links);
        walk_route(fabric, 0, to, links, n);
        struct sand_fabric_owner first = sand_fabric_link_owner(fabric, links[0]);
        cr_assert_eq(sand_fabric_link_owner(fabric, links[n - 1]).plane, first.plane);
        cr_assert_float_eq(fabric->links[links[0]].capacity_Bps, 25e9, 1);
        planes[first.plane]++;
    }
    cr_expect_lt(abs((int)planes[0] - (int)planes[1]), 10);
    char name[64];
    // To node 63: plane 63 mod 2, and of the plane's 16 x 16 / 64 = 4 spines number 31 mod 4.
    cr_expect_str_eq(sand_fabric_link_name(fabric, links[1], name, sizeof name),
                     "plane1-leaf0-spine3 up");
    sand_fabric_free(fabric);
}

// Every kind: the link's other direction joins the same ends, and its other direction is itself.
Test(fabric_kinds, reverse_links)
{
    for (int kind = 0; kind <= SAND_FABRIC_TORUS; kind++) {
        struct fixture f;
        set_rails(&f, 32, 2, 8);
        f.cluster.fabric.kind = (enum sand_fabric_kind)kind;
        f.cluster.fabric.endpoints_per_leaf = 32;
        f.cluster.fabric.spreading = SAND_SPREAD_STATIC;
        f.cluster.fabric.planes = kind < SAND_FABRIC_DRAGONFLY_PLUS ? 2 : 0;
        f.cluster.fabric.groups = 5;
        f.cluster.fabric.spines = kind == SAND_FABRIC_DRAGONFLY_PLUS ? 3 : 0;
        f.cluster.fabric.leaves_per_pod = kind == SAND_FABRIC_DRAGONFLY_PLUS ? 2 : 0;
        f.cluster.fabric.leaf_links = 2;
        f.cluster.fabric.routers = 4;
        f.cluster.fabric.endpoints_per_router = 13;
        f.cluster.fabric.global_links = 2;
        f.cluster.fabric.size[0] = 4;
        f.cluster.fabric.size[1] = 8;
        f.cluster.fabric.size[2] = 8;
        f.cluster.fabric.radix = 0;
        struct sand_fabric *fabric = build(&f);
        for (uint32_t l = 0; l < fabric->n_links; l++) {
            uint32_t there[2], back[2], other = sand_fabric_reverse(fabric, l);
            cr_assert_eq(sand_fabric_reverse(fabric, other), l);
            cr_assert_neq(other, l);
            sand_fabric_ends(fabric, l, there);
            sand_fabric_ends(fabric, other, back);
            cr_assert(there[0] == back[1] && there[1] == back[0]);
            if (fabric->links[l].link_class > SAND_LINK_SCALEUP_IN)
                cr_assert(there[0] < fabric->n_endpoints + fabric->n_switches &&
                          there[1] < fabric->n_endpoints + fabric->n_switches);
        }
        sand_fabric_free(fabric);
    }
}
