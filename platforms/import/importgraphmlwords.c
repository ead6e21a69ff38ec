// Names of the values that GraphML files of fabrics have.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importgraphmlwords.h"

#include <stddef.h>
#include <string.h>

static const char *const fabric_extras[N_FABRIC_EXTRAS] = {
    "rails",        "nonminimal",          "circuits",    "twisted",     "switching",
    "cross_rail",   "adaptive_efficiency", "hash_seed",   "queue_pairs", "hash_polarised",
    "loss",         "loss_window",         "convergence", "latency",     "spine_latency",
    "core_latency", "node_cable",          "leaf_cable",  "core_cable",  "breakout"};
static const char *const cluster_extras[N_CLUSTER_EXTRAS] = {
    "racks_per_pdu", "rack_pitch", "row_pitch", "hall_pitch", "cable_slack", "pue"};

static const struct {
    const char *name, *of;
    unsigned word;
} words[] = {
    {"tier", "node", W_TIER},
    {"endpoints", "node", W_ENDPOINTS},
    {"kind", "node", W_KIND},
    {"type", "node", W_KIND},
    {"label", "node", W_LABEL},
    {"name", "node", W_LABEL},
    {"pod", "node", W_POD},
    {"plane", "node", W_IGNORED},
    {"left", "node", W_LEFT},
    {"left", "edge", W_LEFT},
    {"capacity", "edge", W_CAPACITY},
    {"bandwidth", "edge", W_CAPACITY},
    {"nic", "edge", W_FIRST_NIC},
    {"nics", "edge", W_N_NICS},
    {"groups", "graph", W_GROUPS},
    {"routers", "graph", W_ROUTERS},
    {"endpoints_per_router", "graph", W_PER_ROUTER},
    {"global_links", "graph", W_GLOBAL_LINKS},
    {"leaves", "graph", W_LEAVES},
    {"spines", "graph", W_SPINES},
    {"endpoints_per_leaf", "graph", W_PER_LEAF},
    {"leaf_links", "graph", W_LEAF_LINKS},
    {"x", "graph", W_X},
    {"y", "graph", W_Y},
    {"z", "graph", W_Z},
    {"block", "graph", W_BLOCK},
    {"fabric", "graph", W_FABRIC},
    {"link", "graph", W_LINK},
    {"nodes", "graph", W_NODES},
    {"nics_per_node", "graph", W_NICS},
    {"node_type", "graph", W_NODE_TYPE},
    {"nic_rate", "graph", W_NIC_RATE},
    {"port_rate", "graph", W_PORT_RATE},
    {"spreading", "graph", W_SPREADING},
    {"radix", "graph", W_RADIX},
    {"leaf_oversubscription", "graph", W_LEAF_RATIO},
    {"pod_oversubscription", "graph", W_POD_RATIO},
    {"nodes_per_rack", "graph", W_PER_RACK},
    {"racks_per_row", "graph", W_PER_ROW},
    {"rows_per_hall", "graph", W_PER_HALL},
};

const char *import_graphml_extra(unsigned index)
{
    return index < N_FABRIC_EXTRAS ? fabric_extras[index] : cluster_extras[index - N_FABRIC_EXTRAS];
}

unsigned import_graphml_word(const char *name, const char *of)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, name) == 0 &&
            (of == NULL || strcmp(of, "all") == 0 || strcmp(of, words[i].of) == 0))
            return words[i].word;
    for (unsigned i = 0; i < N_FABRIC_EXTRAS + N_CLUSTER_EXTRAS && of != NULL; i++)
        if (strcmp(import_graphml_extra(i), name) == 0 && strcmp(of, "graph") == 0)
            return N_WORDS + i;
    return N_VALUES;
}
