// Clusters to analyse; tests change what they are about.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_GRAPH_FIXTURE_H
#define SAND_TESTS_GRAPH_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "fabric.h"
#include "graph.h"
#include "ids.h"
#include "mem.h"
#include "rng.h"

struct plant {
    struct sand_link_type nic, port;
    struct sand_node_type node;
    struct sand_cluster cluster;
};

// Single-NIC nodes of 50 GB/s; pointers go to *p. `pods` 0: two tiers.
static inline void plant_set(struct plant *p, uint32_t nodes, uint32_t per_leaf,
                             uint32_t leaves_per_pod)
{
    p->nic = (struct sand_link_type){.id = "nic400", .rate_Bps = 50e9};
    p->port = (struct sand_link_type){.id = "port400", .rate_Bps = 50e9};
    p->node = (struct sand_node_type){.id = "server", .n_gpus = 1, .n_nics = 1, .nic = &p->nic};
    p->cluster = (struct sand_cluster){.name = "test",
                                       .node_type = &p->node,
                                       .n_nodes = nodes,
                                       .nodes_per_rack = 1,
                                       .fabric = {.n_tiers = leaves_per_pod > 0 ? 3 : 2,
                                                  .endpoints_per_leaf = per_leaf,
                                                  .leaves_per_pod = leaves_per_pod,
                                                  .leaf_oversubscription = 1,
                                                  .pod_oversubscription = leaves_per_pod > 0,
                                                  .spreading = SAND_SPREAD_EVEN,
                                                  .link = &p->port}};
}

// Single-NIC nodes on a fabric of any kind, routed by destination.
static inline void plant_spec(struct plant *p, const struct sand_fabric_spec *spec, uint32_t nodes)
{
    plant_set(p, nodes, 1, 0);
    p->cluster.fabric = *spec;
    p->cluster.fabric.link = &p->port;
    p->cluster.fabric.spreading = SAND_SPREAD_STATIC;
}

static inline struct sand_graph *plant_graph(const struct plant *p)
{
    struct sand_diag diag = {0};
    struct sand_graph *graph = NULL;
    enum sand_rc rc = sand_graph_build(&p->cluster, &graph, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    cr_assert_eq(rc, SAND_OK);
    return graph;
}

// A whole number in [low, high], by address.
static inline uint32_t pick(uint64_t entity, uint64_t index, uint32_t low, uint32_t high)
{
    struct sand_rng rng = {5, 0};
    return low + (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, entity, index) % (high - low + 1));
}

// A random small fat tree, two or three tiers, any oversubscription, often partly filled.
static inline void plant_random(struct plant *p, uint64_t draw)
{
    uint32_t per_leaf = pick(draw, 0, 1, 4), pods = pick(draw, 1, 0, 1);
    plant_set(p, pick(draw, 2, 1, 12), per_leaf, pods ? pick(draw, 3, 1, 3) : 0);
    p->cluster.fabric.leaf_oversubscription = pick(draw, 4, 1, 3);
    p->cluster.fabric.spines = pick(draw, 5, 1, per_leaf);
    if (p->cluster.fabric.spines * p->cluster.fabric.leaf_oversubscription > per_leaf)
        p->cluster.fabric.spines = 1;
    if (pods) {
        p->cluster.fabric.pod_oversubscription =
            p->cluster.fabric.leaf_oversubscription * pick(draw, 6, 1, 2);
        p->cluster.fabric.cores = pick(draw, 7, 1, 2) == 1 ? 1 : p->cluster.fabric.spines;
    }
}

#endif
