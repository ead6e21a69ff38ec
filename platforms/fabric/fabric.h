// The fabric as plain arrays: directed links, and the route between any two NICs.
// Built from a fat-tree description; the step and replay levels read it, SimGrid never sees it whole.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRIC_H
#define SAND_PLATFORMS_FABRIC_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"
#include "stepprofile.h"

enum { SAND_ROUTE_MAX = 6 }; // NIC up, leaf up, spine up, spine down, leaf down, NIC down

// One direction of a cable, or of a bundle of cables (spreading "even"), or of a GPU's scale-up port.
struct sand_fabric_link {
    double capacity_Bps; // nominal
    double speed;        // health: 1 = as new, 0.5 = half rate; > 0
    uint8_t link_class;  // enum sand_link_class
};

struct sand_fabric {
    uint32_t n_nodes, gpus_per_node, nics_per_node;
    uint32_t n_endpoints; // NICs, numbered node * nics_per_node + nic
    uint32_t n_leaves, n_pods, spines_per_pod, n_spines, n_cores;
    uint32_t endpoints_per_leaf, leaves_per_pod;
    uint32_t n_tiers;
    enum sand_spreading spreading;
    struct sand_fabric_link *links;
    uint32_t n_links;
    // Index of the first link of each class; see fabric.c for the order within a class.
    uint32_t first[SAND_LINK_CLASSES];
};

// Builds the arrays. Refuses, with everything that is wrong: more leaves than the radix allows,
// port counts that no switch has, zero sizes, an endpoint count the tree cannot hold. O(links).
enum sand_rc sand_fabric_build(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                               struct sand_diag *diag);
void sand_fabric_free(struct sand_fabric *fabric);

// Links from NIC `from` to NIC `to` (different), in order; returns how many (2, 4 or 6). Two NICs
// of one leaf meet in the leaf. Deterministic; with static spreading the destination picks the
// spine and the core. O(1).
uint32_t sand_fabric_route(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                           uint32_t links[SAND_ROUTE_MAX]);

// The NIC that GPU `gpu` of `node` uses.
uint32_t sand_fabric_nic_of_gpu(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);

// The outgoing and incoming scale-up port of a GPU; SAND_NONE without scale-up.
uint32_t sand_fabric_scaleup_out(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);
uint32_t sand_fabric_scaleup_in(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);

// Fabric place of a node: the leaf and pod of its first NIC.
uint32_t sand_fabric_leaf_of_node(const struct sand_fabric *fabric, uint32_t node);
uint32_t sand_fabric_pod_of_node(const struct sand_fabric *fabric, uint32_t node);

// Switch, cable and port counts of the physical fabric (bundles opened up).
struct sand_fabric_counts {
    uint64_t leaves, spines, cores, endpoint_cables, leaf_spine_cables, spine_core_cables;
};
void sand_fabric_count(const struct sand_fabric *fabric, const struct sand_cluster *cluster,
                       struct sand_fabric_counts *counts);

#endif
