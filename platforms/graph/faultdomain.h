// Fault domains: what is lost when a switch, a rack, a power feed, a row or a hall dies.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_FAULTDOMAIN_H
#define SAND_PLATFORMS_GRAPH_FAULTDOMAIN_H

#include "graph.h"

enum sand_domain_kind {
    SAND_DOMAIN_LEAF,
    SAND_DOMAIN_SPINE,
    SAND_DOMAIN_CORE,
    SAND_DOMAIN_NODE,
    SAND_DOMAIN_RACK,
    SAND_DOMAIN_PDU, // a power feed, where racks hang from one alone
    SAND_DOMAIN_ROW,
    SAND_DOMAIN_HALL,
    SAND_DOMAIN_KINDS
};
const char *sand_domain_kind_name(enum sand_domain_kind kind); // "leaf", ..., "hall"

// Where switches stand is not described: a leaf is in a rack, row or hall if every node on it is,
// a spine if every leaf of its pod is; cores are in none.
struct sand_fault_domain {
    enum sand_domain_kind kind;
    uint32_t index;      // switch of the graph, or node, rack, row, hall
    uint32_t n_alike;    // domains of this kind that look alike from outside, this one included
    uint32_t n_switches; // lost with it
    struct sand_graph_effect effect;
};

// The domains of every kind but nodes, one for each group that looks alike: same kind, same numbers
// of nodes, leaves and spines, same uplinks, as many NICs in its pod, on the same side of the
// bisection; the one with most cables to the other side, of equals the first, is evaluated and
// stands for its group. *domains is to be sand_free'd.
enum sand_rc sand_fault_domains(const struct sand_graph *graph, const struct sand_cluster *cluster,
                                struct sand_fault_domain **domains, size_t *n,
                                struct sand_diag *diag);

// One domain by name: "leaf3", "pod0-spine1", "core7", "node12", "rack0", "pdu3",
// "row1", "hall0".
enum sand_rc sand_fault_domain_find(const struct sand_graph *graph,
                                    const struct sand_cluster *cluster, const char *name,
                                    struct sand_fault_domain *domain, struct sand_diag *diag);

char *sand_fault_domain_name(const struct sand_graph *graph, const struct sand_fault_domain *domain,
                             char *buffer, size_t size); // 48 bytes hold every name

#endif
