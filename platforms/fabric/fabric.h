// The fabric as plain arrays: directed links, and the route between any two NICs.
// Built from a fat-tree description; the step and replay levels read it, SimGrid never sees it
// whole. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRIC_H
#define SAND_PLATFORMS_FABRIC_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"
#include "stepprofile.h"

enum { SAND_ROUTE_MAX = 6 }; // NIC up, leaf up, spine up, spine down, leaf down, NIC down

// One direction of a cable, or of a bundle of cables (spreading "even"), or of a GPU's scale-up
// port.
struct sand_fabric_link {
    double capacity_Bps; // nominal
    double speed;        // health: 1 = as new, 0.5 = half rate; > 0
    uint8_t link_class;  // enum sand_link_class
};

struct sand_fabric {
    uint32_t n_nodes, gpus_per_node, nics_per_node;
    uint32_t
        n_endpoints; // NICs, numbered node * nics_per_node + nic; leaf = NIC / endpoints_per_leaf
    uint32_t n_leaves, n_pods, spines_per_pod, n_spines, n_cores; // two tiers: one pod, no cores
    uint32_t endpoints_per_leaf, leaves_per_pod;
    uint32_t n_tiers;
    enum sand_spreading spreading;
    // Links per leaf and direction to its spines, and per spine ("even": per pod) to the cores.
    uint32_t leaf_trunks, spine_trunks;
    // Cabled ports: of a NIC, of a leaf towards its spines, of a spine towards the cores.
    uint32_t nic_ports, leaf_up_ports, spine_up_ports;
    struct sand_fabric_link *links;
    uint32_t n_links;
    // Index of the first link of each class; see fabric.c for the order within a class. A class
    // without links starts where the next one does.
    uint32_t first[SAND_LINK_CLASSES];
};

// Builds the arrays. Refuses, naming everything that is wrong: more leaves or pods than the radix
// allows, port counts that no switch has, zero sizes, an endpoint count the tree cannot hold.
// Warns of what is only odd. How spines and cores are counted when the description leaves them
// out stands in fabricplan.h. O(links).
enum sand_rc sand_fabric_build(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                               struct sand_diag *diag);
void sand_fabric_free(struct sand_fabric *fabric);

// Links from NIC `from` to NIC `to`, in order; returns how many (2, 4 or 6; 0 if they are the same
// NIC). Two NICs of one leaf meet in the leaf, two of one pod in a spine. Deterministic; with
// static spreading destination d takes spine d mod S of every pod on its way and, of the t cores
// joined to that spine, number (d / S) mod t: the d-mod-k routing of fat trees. O(1).
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

// Where a link belongs: its class, the owner (node for scale-up ports and NICs, leaf, pod), the
// port of the owner (GPU, NIC, or spine of the pod; SAND_NONE for an aggregate) and the core
// (SAND_NONE if it does not end at one, or for an aggregate). O(1).
struct sand_fabric_owner {
    enum sand_link_class link_class;
    uint32_t owner, port, core;
};
struct sand_fabric_owner sand_fabric_link_owner(const struct sand_fabric *fabric, uint32_t link);

// Writes a link's name for messages ("node3 nic1 up", "leaf3 up", "leaf3-spine1 down",
// "pod0-spine1-core7 up"); 48 bytes hold every name. Returns buffer.
char *sand_fabric_link_name(const struct sand_fabric *fabric, uint32_t link, char *buffer,
                            size_t size);

// Switch and cable counts of the physical fabric (bundles opened up). A partly filled leaf or pod
// counts as wired in full: its uplinks are there, waiting for nodes.
struct sand_fabric_counts {
    uint64_t leaves, spines, cores, endpoint_cables, leaf_spine_cables, spine_core_cables;
};
void sand_fabric_count(const struct sand_fabric *fabric, struct sand_fabric_counts *counts);

#endif
