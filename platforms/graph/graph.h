// The fabric as a graph of switches: endpoints collapsed to their leaf, cables between the same two
// switches to one edge. Cuts, distances and losses are asked of it; igraph does the flows.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPH_H
#define SAND_PLATFORMS_GRAPH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"

enum sand_tier { SAND_TIER_LEAF, SAND_TIER_SPINE, SAND_TIER_CORE, SAND_TIERS };

// A switch, or a router of a dragonfly or torus (then of the tier of leaves).
struct sand_graph_switch {
    enum sand_tier tier;
    uint32_t plane;
    uint32_t pod;   // of a tree, or group of a dragonfly; SAND_NONE: in none (cores)
    uint32_t index; // leaves and cores: in their tier and plane; spines and routers: in the pod
    uint32_t n_endpoints; // NICs attached
};

// All cables between two switches; the capacity is that of one direction, at line rate, impaired
// speeds included (what packets lost cost is not).
struct sand_graph_edge {
    uint32_t a, b; // a is the lower tier, or the lower number
    double capacity_Bps;
};

struct sand_graph {
    enum sand_fabric_kind kind;
    uint32_t n_switches;
    struct sand_graph_switch *switches;
    char (*names)[SAND_SWITCH_ID]; // of a wired fabric; NULL: by tier and number
    uint32_t n_edges;
    struct sand_graph_edge *edges;
    uint32_t n_tier[SAND_TIERS], n_planes, n_pods;
    uint32_t n_nodes, nics_per_node, n_endpoints;
    double port_Bps; // of a NIC in one plane
    int is_relayed;  // nodes pass traffic from one rail to another over their scale-up domain
    // Switch of NIC e in plane p: leaf_of[e * n_planes + p]; NIC = node * nics_per_node + number.
    uint32_t *leaf_of;
    double *nic_Bps;     // rate of that port, impaired speeds included; 0: it is down
    double *storage_Bps; // what storage sends through a switch; NULL: it has a network of its own
    uint32_t *node_half; // what the bisection sorts nodes by: pod, or leaf, or node
    uint32_t n_halves;   // node_half < n_halves
    // Neighbours of switch s: near[first[s]] to near[first[s + 1] - 1], ascending; via[i] is the
    // edge to near[i].
    uint32_t *first, *near, *via;
    // Symmetries, each a permutation of the switches that keeps edges, capacities and NICs, as
    // checked edge by edge: switch s goes to symmetry[k * n_switches + s].
    uint32_t *symmetry, n_symmetries;
};

// The switch graph of a cluster, every cable bundle at its own two switches whatever the spreading
// is. Refuses what sand_fabric_build refuses. O(links).
enum sand_rc sand_graph_build(const struct sand_cluster *cluster, struct sand_graph **graph,
                              struct sand_diag *diag);
void sand_graph_free(struct sand_graph *graph); // NULL is fine

// Ports of the storage's servers on the fabric, all together; 0: it has a network of its own.
double sand_graph_storage_Bps(const struct sand_graph *graph);

// "leaf3", "spine1" (two tiers), "pod0-spine1", "core7", "group4-router1", "router9", before them
// "plane1-" if there are planes; 48 bytes hold every name. Returns buffer.
char *sand_graph_name(const struct sand_graph *graph, uint32_t which, char *buffer, size_t size);

// The switch of that name, or SAND_NONE.
uint32_t sand_graph_find(const struct sand_graph *graph, const char *name);

const char *sand_tier_name(enum sand_tier tier); // "leaf", ...

// ---- losses ----

// What is dead. Either array may be NULL: nothing of the kind.
struct sand_graph_loss {
    const uint8_t *switches; // [n_switches], 1 = dead
    const uint8_t *nodes;    // [n_nodes]
};

struct sand_graph_effect {
    uint32_t nodes_dead; // lost themselves
    uint32_t nodes_cut;  // alive, but no NIC reaches the largest living part of the fabric any more
    uint32_t nodes_slow; // connected, with fewer NICs than before
    double bisection_Bps;
    double storage_Bps; // what the largest living part still reaches of the storage's ports
};

// ---- cuts ----

enum sand_side { SAND_SIDE_NONE, SAND_SIDE_A, SAND_SIDE_B };

struct sand_graph_cut {
    double value_Bps;           // least capacity, one direction, whose removal parts the two sides
    double injection_Bps;       // what the NICs of the smaller side can send: no cut is larger
    uint32_t endpoints[2];      // living ones of side A and B
    uint32_t n_cut[SAND_TIERS]; // edges in the cut by the tier of their lower end
    uint32_t n_cut_nics;        // leaves whose own NICs are the cut
};

// Least cut between side A and side B: `sides` holds an enum sand_side for every node, the NICs of
// a leaf count with the rate that impairments leave them. This is the cut between these two halves;
// the least over all halves (minimum bisection) is NP-hard. One maximum flow (Goldberg and Tarjan's
// push-relabel in igraph) over cells of switches of equal standing, which is exact: see graphcut.c.
enum sand_rc sand_graph_cut(const struct sand_graph *graph, const uint8_t *sides,
                            const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                            struct sand_diag *diag);

// The same with every switch a cell of its own: the twin for tests, and slow.
enum sand_rc sand_graph_cut_apart(const struct sand_graph *graph, const uint8_t *sides,
                                  const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                                  struct sand_diag *diag);

// The halves of the bisection: the first half of the pods (or groups, cubes) against the others, of
// the leaves (units of rails) if there is one pod, of the nodes if there is one leaf. Writes
// [n_nodes] sides.
void sand_graph_halves(const struct sand_graph *graph, uint8_t *sides);

// Cut between those halves.
enum sand_rc sand_graph_bisection(const struct sand_graph *graph,
                                  const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                                  struct sand_diag *diag);

// What many losses are compared with, one after the other: a maximum flow between the halves of
// everything that lives, of which a loss takes but a part (graphkept.c).
struct sand_graph_kept;
enum sand_rc sand_graph_keep(const struct sand_graph *graph, struct sand_graph_kept **kept,
                             struct sand_diag *diag);
void sand_graph_kept_free(struct sand_graph_kept *kept); // NULL is fine

// The value of sand_graph_bisection, to the last digit.
double sand_graph_kept_bisection(struct sand_graph_kept *kept, const struct sand_graph_loss *loss);

// What a loss does, with the bisection (between the same halves) that is left. `kept` of this
// graph; NULL: a cut anew.
enum sand_rc sand_graph_lose(const struct sand_graph *graph, struct sand_graph_kept *kept,
                             const struct sand_graph_loss *loss, struct sand_graph_effect *effect,
                             struct sand_diag *diag);

// ---- shape ----

struct sand_graph_paths {
    uint32_t hops;     // switches on a shortest path, both ends counted; 0: none
    uint64_t shortest; // how many shortest paths of switches there are
    uint32_t disjoint; // paths that share no switch-to-switch bundle
};
enum sand_rc sand_graph_paths(const struct sand_graph *graph, uint32_t from, uint32_t to,
                              struct sand_graph_paths *paths, struct sand_diag *diag);

// Distance classes: ordered pairs of different endpoints by the switches between them.
enum { SAND_GRAPH_MAX_HOPS = 128 };
struct sand_graph_distances {
    uint64_t pairs[SAND_GRAPH_MAX_HOPS + 1]; // [hops]; [0]: pairs without a path
    uint32_t diameter;                       // largest hops with pairs
    uint32_t n_searches, n_classes;          // searches made, of how many would make it exact
};
// One plane. Leaves that a symmetry of the graph maps onto each other see the same distances, and
// so do leaves with the same neighbours: one breadth-first search per such class is exact; if that
// is more than 4e8 steps, evenly spaced classes stand for all (n_searches < n_classes, and the
// diameter is a lower bound).
enum sand_rc sand_graph_distances(const struct sand_graph *graph,
                                  struct sand_graph_distances *distances, struct sand_diag *diag);

// Switches whose loss alone parts switches that still live (articulation points) and edges likewise
// (bridges). *switches is to be sand_free'd; ascending.
enum sand_rc sand_graph_weak_points(const struct sand_graph *graph, uint32_t **switches,
                                    size_t *n_switches, size_t *n_bridges, struct sand_diag *diag);

// Pieces the living switches fall into, joined by cables, by NICs with a port in every plane, and
// by living nodes that relay: part[s] numbers them from 0 in order of their first switch, SAND_NONE
// for dead ones. *n_parts may be NULL. O(edges + NICs).
enum sand_rc sand_graph_parts(const struct sand_graph *graph, const struct sand_graph_loss *loss,
                              uint32_t *part, uint32_t *n_parts, struct sand_diag *diag);

#endif
