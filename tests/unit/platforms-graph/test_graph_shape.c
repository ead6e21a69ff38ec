// Distances, paths, pieces, weak points and losses, against closed forms and brute force.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "faultdomain.h"
#include "graph_fixture.h"
#include "hotlinks.h"

// Pairs by distance of a full 8-ary tree: 4 in a leaf, 16 in a pod, 128 in all; 1, 3, 5 switches.
Test(graph_shape, distance_classes_of_a_fat_tree)
{
    struct plant p;
    plant_set(&p, 128, 4, 4);
    p.cluster.fabric.radix = 8;
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_distances d;
    cr_assert_eq(sand_graph_distances(g, &d, NULL), SAND_OK);
    cr_expect_eq(d.pairs[0], 0);
    cr_expect_eq(d.pairs[1], 128 * 3);
    cr_expect_eq(d.pairs[3], 128 * 12);
    cr_expect_eq(d.pairs[5], 128 * 112);
    cr_expect_eq(d.diameter, 5);
    cr_expect_eq(d.n_searches, 8, "one search per pod, not per leaf");
    sand_graph_free(g);
}

// One search stands for all routers of a torus, twisted or not, because a step in each dimension
// maps it onto itself: the same classes as of a search from every router. A dead cable breaks it.
Test(graph_shape, distances_of_tori_by_symmetry)
{
    static const struct {
        uint32_t size[3];
        int twisted, broken;
        uint32_t searches;
    } rows[] = {
        {{4, 3, 2}, 0, 0, 1}, {{4, 4, 8}, 1, 0, 1}, {{5, 5, 1}, 0, 0, 1}, {{4, 4, 4}, 0, 1, 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plant p;
        const struct sand_impaired cable = {.part = "nic0 x+", .speed = 0};
        plant_set(&p, rows[i].size[0] * rows[i].size[1] * rows[i].size[2], 1, 0);
        p.cluster.fabric =
            (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                      .size = {rows[i].size[0], rows[i].size[1], rows[i].size[2]},
                                      .twisted = rows[i].twisted,
                                      .spreading = SAND_SPREAD_STATIC,
                                      .link = &p.port};
        p.cluster.impaired = &cable;
        p.cluster.n_impaired = rows[i].broken ? 1 : 0;
        struct sand_graph *g = plant_graph(&p);
        struct sand_graph_distances by_symmetry, one_by_one;
        cr_assert_eq(sand_graph_distances(g, &by_symmetry, NULL), SAND_OK);
        g->n_symmetries = 0;
        cr_assert_eq(sand_graph_distances(g, &one_by_one, NULL), SAND_OK);
        cr_expect_leq(by_symmetry.n_searches, rows[i].searches);
        cr_expect_arr_eq(by_symmetry.pairs, one_by_one.pairs, sizeof by_symmetry.pairs);
        cr_expect_eq(by_symmetry.diameter, one_by_one.diameter);
        cr_expect_gt(one_by_one.n_searches, 1);
        sand_graph_free(g);
    }
}

// Random trees: the classes together are all ordered pairs, and hops of every pair agree with the
// path search of igraph.
Test(graph_shape, distances_agree_with_paths)
{
    for (uint64_t draw = 0; draw < 40; draw++) {
        struct plant p;
        plant_random(&p, draw);
        struct sand_graph *g = NULL;
        if (sand_graph_build(&p.cluster, &g, NULL) != SAND_OK)
            continue;
        struct sand_graph_distances d;
        cr_assert_eq(sand_graph_distances(g, &d, NULL), SAND_OK);
        uint64_t pairs[SAND_GRAPH_MAX_HOPS + 1] = {0};
        for (uint32_t a = 0; a < g->n_endpoints; a++)
            for (uint32_t b = 0; b < g->n_endpoints; b++) {
                struct sand_graph_paths paths;
                if (a == b)
                    continue;
                cr_assert_eq(sand_graph_paths(g, g->leaf_of[a], g->leaf_of[b], &paths, NULL),
                             SAND_OK);
                pairs[paths.hops]++;
            }
        cr_expect_arr_eq(d.pairs, pairs, sizeof pairs, "draw %d", (int)draw);
        sand_graph_free(g);
    }
}

// Between pods of an 8-ary tree: 16 shortest paths, one per core; 4 disjoint, one per spine.
Test(graph_shape, path_diversity)
{
    struct plant p;
    plant_set(&p, 128, 4, 4);
    p.cluster.fabric.radix = 8;
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_paths far, near;
    cr_assert_eq(sand_graph_paths(g, 0, 31, &far, NULL), SAND_OK);
    cr_assert_eq(sand_graph_paths(g, 0, 1, &near, NULL), SAND_OK);
    cr_expect(far.hops == 5 && far.shortest == 16 && far.disjoint == 4);
    cr_expect(near.hops == 3 && near.shortest == 4 && near.disjoint == 4);
    sand_graph_free(g);
}

// A switch is an articulation point exactly if the others fall into more pieces without it.
Test(graph_shape, weak_points_by_removal)
{
    for (uint64_t draw = 0; draw < 60; draw++) {
        struct plant p;
        plant_random(&p, draw);
        struct sand_graph *g = NULL;
        if (sand_graph_build(&p.cluster, &g, NULL) != SAND_OK)
            continue;
        uint32_t *weak, part[64], n_before, n_after;
        size_t n_weak, n_bridges, at = 0;
        cr_assert_leq(g->n_switches, 64);
        cr_assert_eq(sand_graph_weak_points(g, &weak, &n_weak, &n_bridges, NULL), SAND_OK);
        cr_assert_eq(sand_graph_parts(g, NULL, part, &n_before, NULL), SAND_OK);
        for (uint32_t s = 0; s < g->n_switches; s++) {
            uint8_t dead[64] = {0};
            dead[s] = 1;
            struct sand_graph_loss loss = {dead, NULL};
            cr_assert_eq(sand_graph_parts(g, &loss, part, &n_after, NULL), SAND_OK);
            int is_weak = at < n_weak && weak[at] == s;
            at += is_weak ? 1 : 0;
            cr_expect_eq(n_after > n_before, is_weak, "draw %d, switch %u", (int)draw, s);
        }
        cr_expect_eq(at, n_weak);
        sand_free(weak);
        sand_graph_free(g);
    }
}

static struct sand_fault_domain lose(const struct plant *p, const struct sand_graph *g,
                                     const char *name)
{
    struct sand_fault_domain domain = {0};
    cr_assert_eq(sand_fault_domain_find(g, &p->cluster, name, &domain, NULL), SAND_OK, "%s", name);
    return domain;
}

// 64 nodes, 4 per leaf and rack, 4 leaves and 4 spines per pod, two racks a row: by hand.
Test(graph_shape, losses_by_hand)
{
    struct plant p;
    plant_set(&p, 64, 4, 4);
    p.cluster.fabric.radix = 8;
    p.cluster.nodes_per_rack = 4;
    p.cluster.racks_per_row = 4;
    struct sand_graph *g = plant_graph(&p);
    double full = 32 * 50e9;
    struct sand_fault_domain leaf = lose(&p, g, "leaf3"), spine = lose(&p, g, "pod0-spine1");
    cr_expect(leaf.effect.nodes_cut == 4 && leaf.effect.nodes_dead == 0);
    cr_expect_float_eq(leaf.effect.bisection_Bps / full, 28 / 32.0, 1e-12);
    cr_expect_eq(spine.effect.nodes_cut, 0);
    cr_expect_float_eq(spine.effect.bisection_Bps / full, 28 / 32.0, 1e-12, "a quarter of one pod");
    struct sand_fault_domain rack = lose(&p, g, "rack0"), row = lose(&p, g, "row1");
    cr_expect(rack.effect.nodes_dead == 4 && rack.n_switches == 1 && rack.effect.nodes_cut == 0);
    cr_expect(row.effect.nodes_dead == 16 && row.n_switches == 8, "4 leaves and their 4 spines");
    cr_expect_float_eq(row.effect.bisection_Bps / full, 0.5, 1e-12);
    struct sand_fault_domain core = lose(&p, g, "core0"), hall = lose(&p, g, "hall0");
    cr_expect_eq(core.effect.nodes_cut, 0);
    cr_expect_lt(core.effect.bisection_Bps, full);
    cr_expect(hall.effect.nodes_dead == 64 && hall.effect.bisection_Bps == 0);
    struct sand_fault_domain none;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_fault_domain_find(g, &p.cluster, "rack99", &none, &diag), SAND_ERR_USAGE);
    cr_expect_not_null(strstr(diag.messages[0].text, "rack0 to rack15"));
    sand_diag_clear(&diag);
    sand_graph_free(g);
}

// Storage of 8 servers with two ports of 25 GB/s on four of sixteen leaves, 0, 4, 8 and 12: each
// has a quarter. A row takes four leaves, one of them with storage; at the top a core has an equal
// part.
Test(graph_shape, storage_ports_by_hand)
{
    struct plant p;
    plant_set(&p, 64, 4, 4);
    p.cluster.fabric.radix = 12; // of which 8 without storage, as in an 8-ary tree
    p.cluster.fabric.spines = 4;
    p.cluster.fabric.cores = 16;
    p.cluster.nodes_per_rack = 4;
    p.cluster.racks_per_row = 4;
    struct sand_graph *g = plant_graph(&p);
    cr_expect(g->storage_Bps == NULL && lose(&p, g, "leaf0").effect.storage_Bps == 0);
    sand_graph_free(g);
    p.cluster.storage = (struct sand_storage_spec){.n_servers = 8};
    p.cluster.storage_ports = (struct sand_storage_ports){2, 25e9, SAND_STORAGE_AT_LEAVES, 4};
    g = plant_graph(&p);
    const double full = sand_graph_storage_Bps(g);
    cr_expect_float_eq(full, 400e9, 1);
    cr_expect_float_eq(lose(&p, g, "leaf0").effect.storage_Bps, 0.75 * full, 1);
    cr_expect_float_eq(lose(&p, g, "leaf1").effect.storage_Bps, full, 1);
    cr_expect_float_eq(lose(&p, g, "row1").effect.storage_Bps, 0.75 * full, 1);
    cr_expect_float_eq(lose(&p, g, "pod0-spine0").effect.storage_Bps, full, 1);
    struct sand_fault_domain *groups = NULL;
    size_t n = 0, leaves = 0;
    cr_assert_eq(sand_fault_domains(g, &p.cluster, &groups, &n, NULL), SAND_OK);
    for (size_t i = 0; i < n; i++)
        leaves += groups[i].kind == SAND_DOMAIN_LEAF;
    cr_expect_eq(leaves, 4, "with and without storage, on either side of the bisection");
    sand_free(groups);
    sand_graph_free(g);
    p.cluster.storage_ports.at = SAND_STORAGE_AT_SPINES;
    g = plant_graph(&p);
    cr_expect_float_eq(lose(&p, g, "leaf0").effect.storage_Bps, full, 1);
    cr_expect_float_eq(lose(&p, g, "core0").effect.storage_Bps,
                       full * (g->n_tier[SAND_TIER_CORE] - 1) / g->n_tier[SAND_TIER_CORE], 1);
    sand_graph_free(g);
}

// Nodes with one NIC in each of two leaves are slowed, not cut, when one of the leaves dies.
Test(graph_shape, a_second_leaf_keeps_nodes_connected)
{
    struct plant p;
    plant_set(&p, 8, 3, 0);
    p.node.n_nics = 2;
    struct sand_graph *g = plant_graph(&p);
    struct sand_fault_domain leaf = lose(&p, g, "leaf0"); // NICs 0, 1, 2: node 0 and half of node 1
    cr_expect(leaf.effect.nodes_cut == 1 && leaf.effect.nodes_slow == 1);
    sand_graph_free(g);
}

static struct sand_hot_links hot_of(const struct plant *p, enum sand_traffic traffic)
{
    struct sand_fabric *f = NULL;
    struct sand_hot_links hot;
    cr_assert_eq(sand_fabric_build(&p->cluster, &f, NULL), SAND_OK);
    cr_assert_eq(sand_hot_links(f, traffic, &hot, NULL), SAND_OK);
    sand_fabric_free(f);
    return hot;
}

// d-mod-k routing keeps every shift of a full non-blocking tree at load 1 (Zahavi 2012); 3:1
// triples what crosses the leaf; a ring crosses each leaf once.
Test(graph_shape, hot_links)
{
    struct plant p;
    plant_set(&p, 128, 4, 4);
    p.cluster.fabric.radix = 8;
    p.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    struct sand_hot_links all = hot_of(&p, SAND_TRAFFIC_ALL);
    cr_expect_eq(all.n_phases, 64);
    for (unsigned c = SAND_LINK_NIC_UP; c <= SAND_LINK_SPINE_DOWN; c++)
        cr_expect_float_eq(all.classes[c].load, 1, 1e-12, "class %u", c);
    plant_set(&p, 96, 12, 0);
    p.cluster.fabric.leaf_oversubscription = 3;
    struct sand_hot_links half = hot_of(&p, SAND_TRAFFIC_HALF);
    cr_expect_float_eq(half.classes[SAND_LINK_LEAF_UP].load, 3, 1e-12);
    struct sand_hot_links ring = hot_of(&p, SAND_TRAFFIC_RING);
    cr_expect_float_eq(ring.classes[SAND_LINK_LEAF_UP].load, 0.25, 1e-12);
    cr_expect_eq(ring.classes[SAND_LINK_SPINE_UP].hottest, SAND_NONE);
}

// What every other kind of fabric must look like as a graph, from its closed forms.
Test(graph_shape, rails_planes_dragonfly_and_torus)
{
    struct plant p;
    struct sand_graph_distances d;
    struct sand_graph_cut cut;

    // 4 groups of 3 routers, 2 NICs each: at most router, router, router, router: 4 switches.
    plant_set(&p, 24, 1, 0);
    p.cluster.fabric.kind = SAND_FABRIC_DRAGONFLY;
    p.cluster.fabric.groups = 4;
    p.cluster.fabric.routers = 3;
    p.cluster.fabric.endpoints_per_router = 2;
    p.cluster.fabric.global_links = 1;
    struct sand_graph *g = plant_graph(&p);
    cr_assert_eq(sand_graph_distances(g, &d, NULL), SAND_OK);
    cr_expect(g->n_switches == 12 && g->n_pods == 4);
    cr_expect(d.diameter <= 4 && d.pairs[0] == 0);
    cr_expect_eq(sand_graph_find(g, "group3-router2"), 11);
    sand_graph_free(g);

    // A 4 x 4 torus: 16 routers of 4 cables; the farthest is 2 + 2 hops away, 5 routers counted.
    plant_set(&p, 16, 1, 0);
    p.cluster.fabric.kind = SAND_FABRIC_TORUS;
    p.cluster.fabric.size[0] = p.cluster.fabric.size[1] = 4;
    p.cluster.fabric.size[2] = 1;
    g = plant_graph(&p);
    cr_assert_eq(sand_graph_distances(g, &d, NULL), SAND_OK);
    cr_expect(g->n_switches == 16 && g->n_edges == 32 && d.diameter == 5);
    cr_expect_eq(d.pairs[2], 16 * 4);
    sand_graph_free(g);

    // Two planes: each NIC has half its rate in either, and the bisection is that of one plane.
    plant_set(&p, 64, 8, 0);
    p.cluster.fabric.planes = 2;
    g = plant_graph(&p);
    cr_assert_eq(sand_graph_bisection(g, NULL, &cut, NULL), SAND_OK);
    cr_expect_float_eq(cut.value_Bps / (32 * 50e9), 1, 1e-12);
    uint32_t *part = sand_calloc(g->n_switches, sizeof *part), n_parts;
    cr_assert_eq(sand_graph_parts(g, NULL, part, &n_parts, NULL), SAND_OK);
    cr_expect_eq(n_parts, 1, "NICs join the planes");
    sand_free(part);
    struct sand_fault_domain leaf = lose(&p, g, "plane0-leaf0");
    cr_expect(leaf.effect.nodes_cut == 0 && leaf.effect.nodes_slow == 8);
    sand_graph_free(g);
}
