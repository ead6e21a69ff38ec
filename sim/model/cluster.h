// A cluster: groups of nodes, the fabric that joins them, storage, places.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_CLUSTER_H
#define SAND_SIM_MODEL_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"

enum sand_spreading {
    SAND_SPREAD_EVEN,  // equal-cost paths form one aggregate link
    SAND_SPREAD_STATIC // destination-based: the destination's index picks the spine and the core
};

// A fat tree of two or three tiers. Oversubscription at a tier is the NIC bandwidth of all
// endpoints below it divided by the capacity of its uplinks (cumulative, as operators state it);
// below 1 means more uplink than NIC bandwidth.
struct sand_fabric_spec {
    uint32_t n_tiers;             // 2 (leaf, spine) or 3 (leaf, spine, core)
    uint32_t radix;               // ports of every switch; 0: unlimited (chassis)
    uint32_t endpoints_per_leaf;  // NIC ports per leaf
    double leaf_oversubscription;
    uint32_t leaves_per_pod;      // 3 tiers
    double pod_oversubscription;  // 3 tiers
    uint32_t spines;              // 2 tiers: in all; 3 tiers: per pod. 0: from the radix
    uint32_t cores;               // 3 tiers. 0: from the radix
    enum sand_spreading spreading;
    const struct sand_link_type *link; // switch-to-switch ports
};

// Parallel storage: servers with a network rate, reached over a separate storage network.
struct sand_storage_spec {
    const char *id;
    struct sand_provenance from;
    uint32_t n_servers;
    double server_write_Bps, server_read_Bps; // sustained, each
};

struct sand_cluster {
    const char *name;
    const struct sand_node_type *node_type;
    uint32_t n_nodes;
    uint32_t nodes_per_rack, racks_per_row, rows_per_hall; // place: node -> rack -> row -> hall
    struct sand_fabric_spec fabric;
    struct sand_storage_spec storage;
    double pue; // facility power / IT power, 1 if not given
};

static inline uint32_t sand_cluster_gpus(const struct sand_cluster *cluster)
{
    return cluster->n_nodes * cluster->node_type->n_gpus;
}

#endif
