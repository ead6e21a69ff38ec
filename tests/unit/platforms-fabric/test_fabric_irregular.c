// Clusters as they grew: leaves of any number of nodes, nodes of several generations.
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

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static uint32_t sum(const struct sand_leaf_group *groups, size_t n)
{
    uint32_t nodes = 0;
    for (size_t i = 0; i < n; i++)
        nodes += groups[i].n_leaves * groups[i].n_nodes;
    return nodes;
}

// Random leaves of 1 to 11 nodes, as fat trees and as rails, of every spreading: each node is below
// the leaf its group says, and a way joins any two NICs.
Test(fabric_irregular, leaves_of_1_to_11_nodes)
{
    uint32_t state = 3, links[SAND_ROUTE_MAX];
    for (int trial = 0; trial < 24; trial++) {
        struct fixture f;
        struct sand_leaf_group groups[9];
        const size_t n = 2 + draw(&state, 8);
        for (size_t i = 0; i < n; i++)
            groups[i] = (struct sand_leaf_group){1 + draw(&state, 11), 1 + draw(&state, 2)};
        fixture_set(&f);
        const int rails = trial % 2;
        f.cluster.n_nodes = sum(groups, n);
        f.cluster.fabric.kind = rails ? SAND_FABRIC_RAIL_OPTIMISED : SAND_FABRIC_FAT_TREE;
        f.cluster.fabric.radix = 0;
        f.cluster.fabric.endpoints_per_leaf = 88;
        f.cluster.fabric.nodes_per_unit = 11;
        f.cluster.fabric.spines = 11;
        f.cluster.fabric.spreading = (enum sand_spreading)draw(&state, 4);
        f.cluster.fabric.adaptive_efficiency = 0.9;
        f.cluster.fabric.queue_pairs = 2;
        f.cluster.fabric.leaf_groups = groups;
        f.cluster.fabric.n_leaf_groups = n;
        struct sand_fabric *fabric = build(&f);
        uint32_t node = 0, leaf = 0;
        for (size_t i = 0; i < n; i++)
            for (uint32_t l = 0; l < groups[i].n_leaves; l++, leaf += rails ? 8 : 1)
                for (uint32_t k = 0; k < groups[i].n_nodes; k++)
                    cr_assert_eq(sand_fabric_leaf_of_node(fabric, node++), leaf);
        cr_expect_eq(fabric->n_leaves, leaf);
        for (int pair = 0; pair < 200; pair++) {
            const uint32_t from = draw(&state, fabric->n_endpoints);
            const uint32_t to = draw(&state, fabric->n_endpoints);
            if (from != to)
                walk_route(fabric, from, to, links, sand_fabric_route(fabric, from, to, links));
        }
        sand_fabric_free(fabric);
    }
}

// A leaf with few nodes keeps the uplinks of a full one: 11 nodes of 8 NICs of 50 GB/s.
Test(fabric_irregular, leaves_are_wired_in_full)
{
    struct fixture f;
    static const struct sand_leaf_group groups[] = {{1, 1}, {11, 1}, {4, 2}};
    fixture_set(&f);
    f.cluster.n_nodes = 20;
    f.cluster.fabric.radix = 0;
    f.cluster.fabric.endpoints_per_leaf = 88;
    f.cluster.fabric.leaf_groups = groups;
    f.cluster.fabric.n_leaf_groups = 3;
    struct sand_fabric *fabric = build(&f);
    struct sand_fabric_counts counts;
    sand_fabric_count(fabric, &counts);
    cr_expect_eq(counts.leaves, 4);
    cr_expect_eq(counts.endpoint_cables, 160);
    for (uint32_t leaf = 0; leaf < 4; leaf++)
        cr_expect_float_eq(fabric->links[fabric->first[SAND_LINK_LEAF_UP] + leaf].capacity_Bps,
                           88 * 50e9, 1);
    sand_fabric_free(fabric);
}

static void expect_refused(struct fixture *f, const char *word)
{
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_fabric_build(&f->cluster, &fabric, &diag), SAND_ERR_INPUT, "%s", word);
    int said = 0;
    for (size_t i = 0; i < diag.n_messages; i++)
        said |= strstr(diag.messages[i].text, word) != NULL;
    cr_expect(said, "\"%s\" is not said", word);
    sand_diag_clear(&diag);
}

// Too many nodes for a leaf, none at all, more or fewer than the cluster has.
Test(fabric_irregular, refusals)
{
    struct fixture f;
    struct sand_leaf_group groups[] = {{5, 1}, {4, 63}};
    fixture_set(&f);
    f.cluster.n_nodes = 257;
    f.cluster.fabric.leaf_groups = groups;
    f.cluster.fabric.n_leaf_groups = 2;
    expect_refused(&f, "wired for 1 to 4"); // 32 ports, 8 a node
    groups[0].n_nodes = 0;
    expect_refused(&f, "0 nodes");
    groups[0].n_nodes = 4;
    expect_refused(&f, "256 nodes, the cluster 257");
}

// Nodes of a group have ports of their own rates; counts must be equal, domains whole.
Test(fabric_irregular, generations)
{
    struct fixture f;
    struct sand_link_type old_nic = {.id = "nic200", .rate_Bps = 25e9};
    struct sand_link_type old_scaleup = {.id = "nvlink3", .rate_Bps = 300e9};
    fixture_set(&f);
    struct sand_node_type old = f.node;
    old.id = "old";
    old.nic = &old_nic;
    old.scaleup_link = &old_scaleup;
    struct sand_node_group groups[] = {{"new", 100, &f.node}, {"old", 56, &old}};
    f.cluster.groups = groups;
    f.cluster.n_groups = 2;
    struct sand_fabric *fabric = build(&f);
    for (uint32_t node = 0; node < 256; node++) {
        const int is_old = node >= 100 && node < 156;
        const uint32_t nic = sand_fabric_nic_of_gpu(fabric, node, 3);
        cr_expect_float_eq(fabric->links[fabric->first[SAND_LINK_NIC_UP] + nic].capacity_Bps,
                           is_old ? 25e9 : 50e9, 1);
        cr_expect_float_eq(fabric->links[sand_fabric_scaleup_in(fabric, node, 7)].capacity_Bps,
                           is_old ? 300e9 : 450e9, 1);
        cr_expect_eq(sand_cluster_type_of(&f.cluster, node), is_old ? &old : &f.node);
    }
    sand_fabric_free(fabric);
    old.n_nics = 4;
    expect_refused(&f, "must be equal");
    old.n_nics = 8;
    groups[1].n_nodes = 200;
    expect_refused(&f, "300 nodes, the cluster 256");
    f.node.scaleup_nodes = old.scaleup_nodes = 18;
    expect_refused(&f, "scale-up domains of 18");
}
