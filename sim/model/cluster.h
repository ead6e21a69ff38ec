// A cluster: groups of nodes, the fabric that joins them, storage, places.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_CLUSTER_H
#define SAND_SIM_MODEL_CLUSTER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hardware.h"

// How a fabric is wired; one XML element each.
enum sand_fabric_kind {
    SAND_FABRIC_FAT_TREE,       // NICs in order, leaf after leaf
    SAND_FABRIC_RAIL_OPTIMISED, // NIC j of every node of a scalable unit on leaf j; spines above
    SAND_FABRIC_RAIL_ONLY,      // every rail a network of its own
    SAND_FABRIC_DRAGONFLY_PLUS, // groups of leaves and spines; spines join all groups
    SAND_FABRIC_DRAGONFLY,      // groups of routers, all joined, all groups joined
    SAND_FABRIC_TORUS,          // every NIC a router of a 2D or 3D torus
    SAND_FABRIC_WIRED           // any switches and cables, each written down
};

// Of a switch that is written down.
enum sand_switch_tier {
    SAND_SWITCH_FOUND, // a leaf if NICs hang from it, else by its distance from such
    SAND_SWITCH_LEAF,
    SAND_SWITCH_SPINE,
    SAND_SWITCH_CORE
};

enum { SAND_SWITCH_ID = 25 }; // bytes of a switch's name, its NUL included

struct sand_wired_switch {
    const char *id;
    enum sand_switch_tier tier;
    uint32_t pod;
};

// NICs nic to nic + n_nics - 1 of nodes first to first + n_nodes - 1. A NIC's k-th port is in plane
// k.
struct sand_wired_port {
    const char *to;
    uint32_t first, n_nodes, nic, n_nics;
};

// All cables between two switches, or some of them.
struct sand_wired_cable {
    const char *from, *to;
    uint32_t n_cables;
    double capacity_Bps; // of all of them, one way; 0: n_cables of the fabric's link
    double length_m;     // of each; 0: as the fabric's others
};

enum sand_spreading {
    SAND_SPREAD_EVEN,     // equal-cost paths form one aggregate link
    SAND_SPREAD_STATIC,   // destination-based: the destination's index picks the spine and the core
    SAND_SPREAD_ADAPTIVE, // as even, at a given efficiency
    SAND_SPREAD_HASH      // every queue pair of a flow takes the path that a hash picks
};

// What latency a way through the network has.
enum sand_latency {
    SAND_LATENCY_LINK, // what its NICs' link type says, wherever it goes
    SAND_LATENCY_ROUTE // beyond that, every switch after the first and every metre of cable
};

// How traffic between two rails goes.
enum sand_cross_rail {
    SAND_CROSS_RAIL_SCALEUP, // over the sender's scale-up domain to the receiver's rail (NCCL: PXN)
    SAND_CROSS_RAIL_SPINE
};

// Leaves (of rails: units, one leaf for every rail) that serve fewer nodes than they are wired for.
struct sand_leaf_group {
    uint32_t n_nodes;  // below each
    uint32_t n_leaves; // so many in a row
};

// A fabric. Oversubscription at a tier is the NIC bandwidth of all endpoints below it divided by
// the capacity of its uplinks (cumulative, as operators state it); below 1 means more uplink than
// NIC bandwidth.
struct sand_fabric_spec {
    enum sand_fabric_kind kind;
    uint32_t n_tiers;            // 2 (leaf, spine) or 3 (leaf, spine, core); rail only: 1 or 2
    uint32_t radix;              // ports of every switch; 0: unlimited (chassis)
    uint32_t endpoints_per_leaf; // fat tree: NIC ports per leaf
    uint32_t nodes_per_unit;     // rails: nodes below one leaf of every rail
    // Irregular leaves of a tree, in order; none: all are full but the last.
    const struct sand_leaf_group *leaf_groups;
    size_t n_leaf_groups;
    double leaf_oversubscription;
    uint32_t leaves_per_pod;     // fat tree of 3 tiers
    uint32_t units_per_pod;      // rail-optimised, 3 tiers
    double pod_oversubscription; // 3 tiers
    uint32_t spines;   // 2 tiers: in all; 3 tiers: per pod; rail only: per rail. 0: from the radix
    uint32_t cores;    // 3 tiers. 0: from the radix
    uint32_t breakout; // NIC ports that share a switch port; 0: those of planes that fit, else one
    uint32_t planes;   // copies of the tree; a NIC has 1/planes of its rate in each. 0: 1
    enum sand_cross_rail cross_rail;
    enum sand_spreading spreading;
    double adaptive_efficiency; // of the switch-to-switch capacity, SAND_SPREAD_ADAPTIVE
    uint32_t hash_seed, queue_pairs;
    int hash_polarised;   // all tiers hash alike
    int sharp;            // trees: the switches reduce (sand_fabric_reduction_tree)
    double convergence_s; // from a failure to routes that avoid it; below 0: not given
    // Dragonfly: groups of `routers` with `endpoints_per_router` NICs and `global_links` each.
    uint32_t groups, routers, endpoints_per_router, global_links;
    // Dragonfly+: groups of `leaves_per_pod` leaves and `spines` spines with `global_links` each;
    // cables between a leaf and a spine.
    uint32_t leaf_links;
    double nonminimal; // dragonflies: share of the flows (queue pairs) that cross a third group
    // Torus: NICs in x, then y, then z; cubes of block^3, one after
    // another (0: none).
    uint32_t size[3], block;
    int twisted;        // torus, or what circuits make of cubes, where its shape allows it
    int circuits;       // cubes are joined by circuit switches, not by cables
    double switching_s; // until another cube's circuits carry traffic; below 0: not given
    // Wired.
    const struct sand_wired_switch *switches;
    const struct sand_wired_port *ports;
    const struct sand_wired_cable *cables;
    size_t n_switches, n_ports, n_cables;
    int rails;          // NIC j of every node is of rail j: see cross_rail
    double loss;        // packets lost on every network link, 0..1
    double loss_window; // packets in flight of a flow: rate x round trip / packet size
    // Metres of a cable: NIC to switch; between leaf and spine, in a group or cube; above. 0: not
    // given.
    double node_cable_m, leaf_cable_m, core_cable_m;
    enum sand_latency latency;
    double spine_latency_s, core_latency_s; // beyond that of a switch of the link: deep buffers
    const struct sand_link_type *link;      // switch-to-switch ports
};

// A part of the fabric that is not as new.
struct sand_impaired {
    const char *part; // "spine3", or a link: "leaf3-spine1 up"
    double speed;     // of its rate; 0: down
    double loss;      // packets lost on it, 0..1
};

// Parallel storage: servers with a network rate, reached over a storage network or the training
// fabric (struct sand_storage_ports).
struct sand_storage_spec {
    const char *id;
    struct sand_provenance from;
    uint32_t n_servers;
    double server_write_Bps, server_read_Bps; // sustained, each
};

enum sand_storage_seat {
    SAND_STORAGE_AT_LEAVES, // beside the nodes: writes come down the leaves' trunks
    SAND_STORAGE_AT_SPINES  // on leaves of their own whose trunks never bind
};

// Ports of the storage servers on the training fabric. n_ports 0: storage has its own network.
struct sand_storage_ports {
    uint32_t n_ports; // of each server
    double port_Bps;  // each
    enum sand_storage_seat at;
    uint32_t n_leaves; // that have servers, spread evenly; 0: all
};

// Nodes of another type, a generation bought before or later. Groups take the cluster's nodes from
// the first on, in order; what they leave is of the cluster's own type.
struct sand_node_group {
    const char *id;
    uint32_t n_nodes;
    const struct sand_node_type *node_type;
};

struct sand_cluster {
    const char *name;
    const struct sand_node_type *node_type; // its counts are those of every group
    uint32_t n_nodes;
    const struct sand_node_group *groups;
    size_t n_groups;
    uint32_t nodes_per_rack, racks_per_row, rows_per_hall; // place: node -> rack -> row -> hall
    uint32_t racks_per_pdu; // consecutive racks of a row that one power feed alone carries; 0: none
    double rack_pitch_m, row_pitch_m, hall_pitch_m; // between middles of neighbours; 0: not given
    double cable_slack_m;                           // of every cable, beyond the way over the floor
    struct sand_fabric_spec fabric;
    const struct sand_impaired *impaired;
    size_t n_impaired;
    struct sand_storage_spec storage;
    struct sand_storage_ports storage_ports;
    double pue;                           // facility power / IT power, 1 if not given
    const struct sand_price_list *prices; // for lists of parts; NULL: none
};

// What node `node` is. O(groups).
static inline const struct sand_node_type *sand_cluster_type_of(const struct sand_cluster *cluster,
                                                                uint32_t node)
{
    for (size_t i = 0; i < cluster->n_groups; i++) {
        if (node < cluster->groups[i].n_nodes)
            return cluster->groups[i].node_type;
        node -= cluster->groups[i].n_nodes;
    }
    return cluster->node_type;
}

// The nodes [*first, *end) of group `id`; of the whole cluster for NULL. Returns whether there is
// such a group.
static inline int sand_cluster_group_nodes(const struct sand_cluster *cluster, const char *id,
                                           uint32_t *first, uint32_t *end)
{
    *first = 0;
    *end = cluster->n_nodes;
    for (size_t i = 0; id && i < cluster->n_groups; i++) {
        *end = *first + cluster->groups[i].n_nodes;
        if (strcmp(cluster->groups[i].id, id) == 0)
            return 1;
        *first = *end;
    }
    return id == NULL;
}

// The type that rules a step on these nodes, which all wait for each other: the one whose GPU
// multiplies matrices most slowly in 16 bits; the first of equals.
static inline const struct sand_node_type *
sand_cluster_slowest_type(const struct sand_cluster *cluster, const uint32_t *nodes, uint32_t n)
{
    const struct sand_node_type *slowest = NULL;
    if (n == 0 || cluster->n_groups == 0)
        return cluster->node_type;
    for (uint32_t i = 0; i < n; i++) {
        const struct sand_node_type *type = sand_cluster_type_of(cluster, nodes[i]);
        if (!slowest || type->gpu->gemm_bf16_flops < slowest->gpu->gemm_bf16_flops)
            slowest = type;
    }
    return slowest;
}

// The GPU with the least memory among these nodes: what fits there fits everywhere.
static inline const struct sand_gpu_type *
sand_cluster_least_memory(const struct sand_cluster *cluster, const uint32_t *nodes, uint32_t n)
{
    const struct sand_gpu_type *least = n > 0 ? NULL : cluster->node_type->gpu;
    for (uint32_t i = 0; i < n; i++) {
        const struct sand_gpu_type *gpu = sand_cluster_type_of(cluster, nodes[i])->gpu;
        if (!least || gpu->hbm_B < least->hbm_B)
            least = gpu;
    }
    return least;
}

static inline uint32_t sand_cluster_gpus(const struct sand_cluster *cluster)
{
    return cluster->n_nodes * cluster->node_type->n_gpus;
}

#endif
