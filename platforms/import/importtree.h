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
};

// A graph of switches, from which a tree is read.
struct import_switch {
    const char *name; // for messages
    long line;
    int tier;             // -1: by distance from the leaves; 0 leaf, 1 spine, 2 core
    uint32_t n_endpoints; // NICs attached
};
struct import_cable {
    uint32_t a, b;
    double Bps; // of one direction, all cables together
    long line;
};
struct import_graph {
    struct import_switch *switches;
    size_t n_switches;
    struct import_cable *cables;
    size_t n_cables;
};

// Finds tiers and pods of a graph and fills leaves, pods, tiers and cores of *tree. Refuses fabrics
// in several pieces, without endpoints, or of more than three tiers. O((switches + cables) log).
int import_tree_of_graph(struct import_job *job, struct import_graph *graph,
                         struct import_tree *tree);

// Writes <cluster> with the fat tree nearest to *tree and lists every difference.
int import_tree_write(struct import_job *job, const struct import_tree *tree,
                      const struct import_node *node);

#endif
