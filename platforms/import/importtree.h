// A fabric as read, and the regular fat tree nearest to it. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTTREE_H
#define SAND_PLATFORMS_IMPORT_IMPORTTREE_H

#include "importjob.h"

struct import_leaf {
    const char *name;
    long line;
    uint32_t n_endpoints; // NICs below it
    uint32_t pod;         // < n_pods
    double up_Bps;        // of all its uplinks; 0: unknown
};

struct import_pod {
    const char *name;
    uint32_t n_spines; // 0: unknown
    double up_Bps;     // of all uplinks of its spines; 0: unknown
};

struct import_extra {
    const char *name, *value;
};

struct import_tree {
    struct import_leaf *leaves;
    size_t n_leaves;
    struct import_pod *pods;
    size_t n_pods;
    uint32_t n_tiers; // 2, 3
    uint32_t n_cores; // 0: unknown
    uint32_t n_nodes, nics_per_node;
    uint32_t n_rails;      // NICs of a node, each on a leaf of its own; 0: leaves take whole nodes
    double nic_Bps;        // 0: that of the node type
    double port_Bps;       // of switch-to-switch ports; 0: unknown
    const char *spreading; // NULL: even
    const char *link;      // id of the catalogue's link of switch ports; NULL: by its rate
    // Exact statements of our own exports; 0: from the capacities. Used if they agree with those.
    double leaf_oversubscription, pod_oversubscription;
    uint32_t radix;       // 0: unknown, written as unlimited
    const char *place[3]; // nodes_per_rack, racks_per_row, rows_per_hall as text; NULL: left out
    // Attributes that the input states as the XML has them.
    const struct import_extra *fabric_extras, *cluster_extras;
    size_t n_fabric_extras, n_cluster_extras;
    int nodes_join;    // pieces that only nodes join are one fabric: rails alone
    int says_rails;    // among them: whether NICs are on rails
    size_t n_odd_nics; // ports of nodes with another rate than the usual
};

// A graph of switches, from which a tree is read.
struct import_switch {
    const char *name; // for messages
    long line;
    int tier;               // -1: by distance from the leaves; 0 leaf, 1 spine, 2 core
    uint32_t n_endpoints;   // NICs attached
    uint32_t pod;           // IMPORT_NO_POD: unknown
    const char *short_name; // for the XML; NULL: `name`
    int is_dead;            // it is there, and does not work
};
enum { IMPORT_NO_POD = UINT32_MAX };
// A node at a switch.
struct import_port {
    uint32_t at, node;
    uint32_t nic, n_nics; // which NICs of the node; n_nics 0: unknown, one port
    double Bps;           // of all of them; 0: unknown
    long line;
    double lost; // share of it that does not work
};
struct import_cable {
    uint32_t a, b;
    double Bps; // of one direction, all cables together
    long line;
    double lost; // share of it that does not work
};
struct import_graph {
    struct import_switch *switches;
    size_t n_switches;
    struct import_cable *cables;
    size_t n_cables;
    // None: n_endpoints of the switches are the NICs of nodes in order.
    struct import_port *ports;
    size_t n_ports;
};

// Finds tiers and pods of a graph and fills leaves, pods, tiers and cores of *tree. Refuses fabrics
// in several pieces, without endpoints, or of more than three tiers. O((switches + cables) log).
int import_tree_of_graph(struct import_job *job, struct import_graph *graph,
                         struct import_tree *tree);

// Writes <cluster> with the fat tree nearest to *tree and lists every difference.
int import_tree_write(struct import_job *job, const struct import_tree *tree,
                      const struct import_node *node);

// Writes <cluster> with every switch and cable of the graph: a fabric of any kind.
int import_wired_write(struct import_job *job, struct import_graph *graph,
                       const struct import_tree *tree, const struct import_node *node);

// Whether every leaf of a pod is joined to every spine of it, all at one rate, and every spine and
// core has as much to the other tier as its like. Tiers and *tree are found.
int import_tree_is_complete(struct import_job *job, const struct import_graph *graph,
                            const struct import_tree *tree);

// Writes the nearest description without a deviation: a regular fat tree if the graph is one, else
// every switch and cable. *tree holds what is known besides the graph.
int import_fabric_write(struct import_job *job, struct import_graph *graph,
                        const struct import_tree *tree, const struct import_node *node);

// Dragonflies and tori, as our exports state them.
struct import_direct {
    uint32_t groups, routers, per_router, global_links;
    uint32_t leaves, spines, per_leaf, leaf_links; // dragonfly+, of a group
    uint32_t size[3], block;
    int twisted; // torus, if its sides are n and 2n
};
// Whether the graph is exactly that: its switches in order, every cable, a NIC after the other.
int import_is_torus(const struct import_graph *graph, const struct import_tree *tree,
                    const struct import_direct *direct);
int import_is_dragonfly(const struct import_graph *graph, const struct import_tree *tree,
                        const struct import_direct *direct);
int import_is_dragonfly_plus(const struct import_graph *graph, const struct import_tree *tree,
                             const struct import_direct *direct);
int import_dragonfly_plus_write(struct import_job *job, const struct import_graph *graph,
                                const struct import_tree *tree, const struct import_direct *direct,
                                const struct import_node *node);
int import_torus_write(struct import_job *job, const struct import_graph *graph,
                       const struct import_tree *tree, const struct import_direct *direct,
                       const struct import_node *node);
int import_dragonfly_write(struct import_job *job, const struct import_graph *graph,
                           const struct import_tree *tree, const struct import_direct *direct,
                           const struct import_node *node);

// What does not work of a graph is written as that: switches by their names in the XML, which may
// be NULL for those of the graph, and NICs. Ends the cluster.
void import_cluster_close(struct import_xml *xml, const struct import_graph *graph,
                          const char *const *names);

// Takes from cables what they have lost, those that have lost all out of the graph, and says so.
// For kinds of fabrics whose cables have no names of their own.
void import_graph_lose(struct import_job *job, struct import_graph *graph);
int import_graph_has_losses(const struct import_graph *graph); // of cables

// Attributes of <cluster> and of its fabric that every kind has.
void import_cluster_open(struct import_job *job, struct import_xml *xml,
                         const struct import_tree *tree, const struct import_node *node,
                         uint32_t n_nodes);
void import_fabric_common(struct import_job *job, struct import_xml *xml,
                          const struct import_tree *tree, const struct import_node *node,
                          double port_Bps);
void import_assume_common(struct import_job *job, const struct import_tree *tree);

#endif
