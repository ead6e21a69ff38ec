// A cluster to build fabrics from; tests change what they are about.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_FABRIC_FIXTURE_H
#define SAND_TESTS_FABRIC_FIXTURE_H

#include "fabric.h"
#include "ids.h"

struct fixture {
    struct sand_link_type nic, port, scaleup;
    struct sand_node_type node;
    struct sand_cluster cluster;
};

// 8-GPU nodes with 8 NICs of 50 GB/s, 64-port switches of the same rate, two full tiers; pointers
// go to *f.
static inline void fixture_set(struct fixture *f)
{
    f->nic = (struct sand_link_type){.id = "nic400", .rate_Bps = 50e9};
    f->port = (struct sand_link_type){.id = "port400", .rate_Bps = 50e9};
    f->scaleup = (struct sand_link_type){.id = "nvlink", .rate_Bps = 450e9};
    f->node = (struct sand_node_type){.id = "server",
                                      .n_gpus = 8,
                                      .scaleup = SAND_SCALEUP_NVSWITCH,
                                      .scaleup_link = &f->scaleup,
                                      .n_nics = 8,
                                      .nic = &f->nic};
    f->cluster = (struct sand_cluster){.name = "test",
                                       .node_type = &f->node,
                                       .n_nodes = 256,
                                       .fabric = {.n_tiers = 2,
                                                  .radix = 64,
                                                  .endpoints_per_leaf = 32,
                                                  .leaf_oversubscription = 1,
                                                  .spreading = SAND_SPREAD_EVEN,
                                                  .link = &f->port}};
}

// A full k-ary fat tree of three tiers with one single-GPU node per endpoint: k^3/4 of them.
static inline void fixture_set_kary(struct fixture *f, uint32_t k, uint32_t n_nodes)
{
    fixture_set(f);
    f->node.n_gpus = f->node.n_nics = 1;
    f->node.scaleup = SAND_SCALEUP_NONE;
    f->cluster.n_nodes = n_nodes;
    f->cluster.fabric.n_tiers = 3;
    f->cluster.fabric.radix = k;
    f->cluster.fabric.endpoints_per_leaf = k / 2;
    f->cluster.fabric.leaves_per_pod = k / 2;
    f->cluster.fabric.pod_oversubscription = 1;
    f->cluster.fabric.spreading = SAND_SPREAD_STATIC;
}

#endif
