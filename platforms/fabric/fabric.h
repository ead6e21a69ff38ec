// The fabric as plain arrays: directed links, the route between any two NICs, what fails.
// Built from a description; the step and replay levels read it, SimGrid never sees it whole.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRIC_H
#define SAND_PLATFORMS_FABRIC_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"
#include "stepprofile.h"

// A fat tree needs 6, a relay over the scale-up domain 2 more, a torus of 64 x 64 x 32 places 82.
enum { SAND_ROUTE_MAX = 128 };

// One direction of a cable, or of a bundle of cables (spreading "even", "adaptive"), or of a GPU's
// scale-up port.
struct sand_fabric_link {
    double capacity_Bps; // nominal
    double speed;        // health: 1 = as new, 0.5 = half rate; > 0
    double latency_s;    // beyond what the link types of its ends measure; see enum sand_latency
    double goodput;      // what retransmissions leave of a network link; 1 = no loss
    uint32_t lost;       // bundles: how many of its paths are down
    uint8_t link_class;  // enum sand_link_class
    uint8_t is_down;
};

struct fabric_wiring; // how a kind of fabric routes and names; private to the room
struct sand_fabric_slice;
struct fabric_detour; // what routing around failures needs; private to the room
struct fabric_twist;  // ways of a twisted torus; private to the room
struct fabric_graph;  // switches and cables of a wired fabric; private to the room

struct sand_fabric {
    const struct fabric_wiring *wiring;
    enum sand_fabric_kind kind;
    uint32_t n_nodes, gpus_per_node, nics_per_node;
    uint32_t nodes_per_domain; // nodes that share a scale-up domain
    uint32_t n_endpoints;      // NICs, numbered node * nics_per_node + nic
    uint32_t n_switches;       // vertices of the graph that are no NICs; see sand_fabric_ends
    // Trees, of each plane. Two tiers: one pod, no cores.
    uint32_t n_leaves, n_pods, spines_per_pod, n_spines, n_cores;
    uint32_t endpoints_per_leaf, leaves_per_pod;
    uint32_t *unit_of_node; // leaf, or unit of rails, of irregular trees; NULL: all alike
    uint32_t n_tiers;
    uint32_t n_rails;               // 1 if leaves serve whole nodes
    uint32_t n_planes, link_planes; // link_planes = 1 if the planes are one aggregate
    enum sand_cross_rail cross_rail;
    enum sand_spreading spreading;
    uint32_t hash_seed, n_paths; // n_paths: queue pairs of a flow, each on a path of its own
    int hash_polarised;
    int sharp; // the switches reduce; see sand_fabric_reduction_tree
    // Links per leaf and direction to its spines, and per spine ("even": per pod) to the cores.
    uint32_t leaf_trunks, spine_trunks;
    // Cabled ports: of a NIC (one plane), of a leaf towards its spines, of a spine to the cores.
    uint32_t nic_ports, leaf_up_ports, spine_up_ports;
    // Dragonflies: `group_links` cables join any two groups; of dragonfly+ a group is a pod.
    uint32_t groups, routers, endpoints_per_router, global_links, group_links;
    double nonminimal;               // share of the flows (queue pairs) that cross a third group
    uint32_t size[3], n_dims, block; // torus
    int has_circuits;                // circuit switches join its cubes
    int twisted;                     // wherever the shape allows it
    struct fabric_twist *twist;      // of the torus as described; NULL: not twisted
    const struct sand_fabric_slice *slice; // NULL: joined as described; see fabricslice.h
    double cable_m[3];                     // mean length by enum sand_cable_run; 0: not known
    double longest_m[3];                   // of them
    int has_latency;                       // of some link
    struct sand_fabric_link *links;
    uint32_t n_links;
    // Index of the first link of each class; the order within a class stands in the file of the
    // kind. A class without links starts where the next one does.
    uint32_t first[SAND_LINK_CLASSES];
    struct fabric_detour *detour; // NULL while nothing is down
    struct fabric_graph *graph;   // wired only, else NULL
};

// Builds the arrays. Refuses, naming everything that is wrong: more leaves or pods than the radix
// allows, port counts that no switch has, zero sizes, an endpoint count the fabric cannot hold.
// Warns of what is only odd. How spines and cores are counted when the description leaves them
// out stands in fabricplan.h. O(links).
enum sand_rc sand_fabric_build(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                               struct sand_diag *diag);
void sand_fabric_free(struct sand_fabric *fabric);

// Links from NIC `from` to NIC `to`, in order; returns how many (0 if they are the same NIC), or
// SAND_NONE if nothing that works joins them. Deterministic. Trees: two NICs of one leaf meet in
// the leaf, two of one pod in a spine; with static spreading destination d takes spine d mod S of
// every pod on its way and, of the t cores joined to that spine, number (d / S) mod t: the d-mod-k
// routing of fat trees. Two rails: over the scale-up domain of the sender to its NIC on the
// receiver's rail and on from there (sand_cross_rail); rail only without a scale-up domain:
// SAND_NONE. Dragonflies: minimal, but for a share `nonminimal` that turns in a third group. Torus:
// dimension after dimension, the short way round; over circuits as
// described, or as a slice has them (fabricslice.h), out of which nothing leads; twisted tori by
// shortest ways, see fabrictwist.h. If the route has something on it that is down: the next
// equal-cost one, in a fixed order, else a shortest one. Wired: a shortest way; see fabricwired.c.
// O(1), wired O(hops x ports); with failures at worst O(links).
uint32_t sand_fabric_route(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                           uint32_t links[SAND_ROUTE_MAX]);

// The same for one of a flow's n_paths queue pairs; each carries 1/n_paths of the flow.
uint32_t sand_fabric_route_path(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                                uint32_t path, uint32_t links[SAND_ROUTE_MAX]);

// Equal-cost paths form one aggregate link: no flow meets another that it need not meet.
static inline int sand_fabric_is_aggregate(const struct sand_fabric *fabric)
{
    return fabric->spreading == SAND_SPREAD_EVEN || fabric->spreading == SAND_SPREAD_ADAPTIVE;
}

// What a way takes beyond the latencies of its ends' link types. 0 where nothing is described.
double sand_fabric_latency_s(const struct sand_fabric *fabric, const uint32_t *links, uint32_t n);

// The NIC that GPU `gpu` of `node` uses.
uint32_t sand_fabric_nic_of_gpu(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);

// The outgoing and incoming scale-up port of a GPU; SAND_NONE without scale-up.
uint32_t sand_fabric_scaleup_out(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);
uint32_t sand_fabric_scaleup_in(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu);

// Which scale-up domain a node belongs to.
static inline uint32_t sand_fabric_domain_of_node(const struct sand_fabric *fabric, uint32_t node)
{
    return node / fabric->nodes_per_domain;
}

// Fabric place of a node, of its first NIC: leaf and pod; unit and pod of rails; router and group
// of a dragonfly; leaf and group of a dragonfly+; NIC and 0 in a torus without cubes, else cube.
uint32_t sand_fabric_leaf_of_node(const struct sand_fabric *fabric, uint32_t node);
uint32_t sand_fabric_pod_of_node(const struct sand_fabric *fabric, uint32_t node);

// Where a node of a torus is in the dimension across which its halves have least in common.
uint32_t sand_fabric_torus_order(const struct sand_fabric *fabric, uint32_t node);

// The router that one step from router `router` of a torus leads to.
uint32_t sand_fabric_torus_next(const struct sand_fabric *fabric, uint32_t router, uint32_t dim);

// Where a link belongs: its class, the owner (node for scale-up ports and NICs, leaf, pod, router,
// group; NIC of a torus), the port of the owner (GPU, NIC, or spine of the pod, other router,
// global cable, direction; SAND_NONE for an aggregate), the core (SAND_NONE if it does not end at
// one, or for an aggregate) and the plane. O(1).
struct sand_fabric_owner {
    enum sand_link_class link_class;
    uint32_t owner, port, core, plane;
};
struct sand_fabric_owner sand_fabric_link_owner(const struct sand_fabric *fabric, uint32_t link);

// The vertices a link goes from and to: NIC 0..n_endpoints-1, then switches (trees: of each plane
// leaves, spines, cores; aggregated: leaves, one per pod or group, one for the cores; dragonfly and
// torus: routers). SAND_NONE for a scale-up port. O(1).
void sand_fabric_ends(const struct sand_fabric *fabric, uint32_t link, uint32_t ends[2]);

// The other direction of a link's cable or bundle. O(1).
uint32_t sand_fabric_reverse(const struct sand_fabric *fabric, uint32_t link);

// What a wired fabric was told of physical switch `which`: its name, its tier (0 leaf, 1 spine, 2
// core), its pod. The name lives as long as the fabric.
struct sand_fabric_switch {
    const char *id;
    uint32_t tier, pod;
};
struct sand_fabric_switch sand_fabric_wired_switch(const struct sand_fabric *fabric,
                                                   uint32_t which);

// The link of `bundles` that link `cable` of `cables` is part of: the same fabric built with an
// aggregating and with static spreading. SAND_NONE: none (a cable inside an aggregate).
uint32_t sand_fabric_bundle_of(const struct sand_fabric *bundles, const struct sand_fabric *cables,
                               uint32_t cable);

// Writes a link's name for messages ("node3 nic1 up", "leaf3 up", "leaf3-spine1 down",
// "pod0-spine1-core7 up"); 64 bytes hold every name. Returns buffer.
char *sand_fabric_link_name(const struct sand_fabric *fabric, uint32_t link, char *buffer,
                            size_t size);

// Switch and cable counts of the physical fabric (bundles opened up, all planes). A partly filled
// leaf or pod counts as wired in full: its uplinks are there, waiting for nodes.
struct sand_fabric_counts {
    uint64_t leaves, spines, cores, endpoint_cables, leaf_spine_cables, spine_core_cables;
    uint64_t routers, local_cables, global_cables; // dragonflies
    uint64_t torus_cables, optical_cables;         // torus: inside cubes or without; through them
    uint64_t circuit_switches;                     // torus of cubes
};
void sand_fabric_count(const struct sand_fabric *fabric, struct sand_fabric_counts *counts);

// Takes a link's cable down, both directions (the whole bundle of an aggregate). Routes avoid it
// from now on.
enum sand_rc sand_fabric_fail_link(struct sand_fabric *fabric, uint32_t link,
                                   struct sand_diag *diag);

// Takes a physical switch down: 0 leaves (dragonfly, torus: routers), 1 spines, 2 cores, numbered
// plane after plane. Where paths are aggregated, a spine or core takes its share of the bundles.
enum sand_rc sand_fabric_fail_switch(struct sand_fabric *fabric, uint32_t tier, uint32_t index,
                                     struct sand_diag *diag);

// What an eager sender keeps of a link that loses a fraction `loss` of the packets when every loss
// costs a window of `window` packets (go-back-N without timeouts): (1-p) / (1-p+pW).
double sand_fabric_goodput(double loss, double window);

#endif
