// Names of the values that GraphML files of fabrics have. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTGRAPHMLWORDS_H
#define SAND_PLATFORMS_IMPORT_IMPORTGRAPHMLWORDS_H

// A value by name, whatever the key is called in the file.
enum word {
    W_TIER,
    W_ENDPOINTS,
    W_KIND,
    W_LABEL,    // of nodes
    W_CAPACITY, // of edges
    W_NAME,
    W_NODES,
    W_NICS,
    W_NODE_TYPE,
    W_NIC_RATE,
    W_PORT_RATE,
    W_SPREADING,
    W_RADIX, // of graphs
    W_LEAF_RATIO,
    W_FABRIC,
    W_LINK,
    W_POD_RATIO,
    W_PER_RACK,
    W_PER_ROW,
    W_PER_HALL,
    W_POD, // of nodes
    W_FIRST_NIC,
    W_N_NICS, // of edges
    W_GROUPS, // of graphs: dragonfly
    W_ROUTERS,
    W_PER_ROUTER,
    W_GLOBAL_LINKS,
    W_LEAVES, // dragonfly+
    W_SPINES,
    W_PER_LEAF,
    W_LEAF_LINKS,
    W_X, // torus
    W_Y,
    W_Z,
    W_BLOCK,
    W_LEFT,    // of nodes and edges
    W_IGNORED, // understood, and of no use here
    N_WORDS
};

// What the XML has under the same name is word N_WORDS + index: first of the fabric, then of the
// cluster.
enum {
    N_FABRIC_EXTRAS = 20,
    N_CLUSTER_EXTRAS = 6,
    N_VALUES = N_WORDS + N_FABRIC_EXTRAS + N_CLUSTER_EXTRAS
};

// The word of a name on a graph, node or edge ("all" or NULL: on any of them); N_VALUES if there is
// none.
unsigned import_graphml_word(const char *name, const char *of);

const char *import_graphml_extra(unsigned index);

#endif
