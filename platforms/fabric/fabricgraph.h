// The switches and cables of a wired fabric, collapsed to cells where equal-cost ways are one.
// Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICGRAPH_H
#define SAND_PLATFORMS_FABRIC_FABRICGRAPH_H

#include "cluster.h"
#include "diag.h"
#include "stepprofile.h"

// All cables between two cells, one way.
struct fabric_wire {
    uint32_t from, to; // cells
    uint32_t n_cables; // in all
    uint32_t ways;     // how much of the choice among next cells it gets
    double capacity_Bps, length_m;
};

// Switches of equal standing are one cell: where paths are aggregated, the coarsest equitable
// partition of the switches in which those with NICs are alone (but for the same NICs' ports in
// other planes). Every switch of a cell then has equally many cables of equal rates to every other
// cell, so that flows which spread evenly load them equally: what the cell's cables carry together,
// one link carries. Otherwise every switch is a cell.
struct fabric_graph {
    uint32_t n_switches, n_planes;
    char (*ids)[SAND_SWITCH_ID];
    uint8_t *tier;                // 0 leaf, 1 spine, 2 core
    uint32_t *pod, *leaf_number;  // of those with NICs, in order
    uint32_t n_tier[3], *by_tier; // switches, tier after tier
    uint32_t *cell_of, *cell_first, *cell_size, n_cells;
    uint32_t *port;     // [NIC * n_planes + plane]: the switch
    int planes_are_one; // all ports of every NIC end in one cell
    // Wires by class: those up, their other way in the same order; then both ways side by side.
    struct fabric_wire *wires;
    uint32_t n_wires, n_of_class[SAND_LINK_CLASSES];
    uint32_t *near_first, *near;    // wires that leave a cell, as the cables are written
    uint32_t n_targets, *target_of; // cells with NICs; SAND_NONE
    uint8_t *hops;                  // [target * n_cells + cell]; FABRIC_NO_WAY
};
enum { FABRIC_NO_WAY = 255 };

// Reads the description. Refuses, naming it, what does not fit together. O(NICs + cables), and the
// distances: targets x wires.
enum sand_rc fabric_graph_make(const struct sand_cluster *cluster, int aggregate,
                               struct fabric_graph **graph, struct sand_diag *diag);
void fabric_graph_free(struct fabric_graph *graph);

// The steps of fabric_graph_make that stand in files of their own.
struct fabric_pair { // cables between two switches
    uint32_t a, b, n_cables;
    double capacity_Bps, length_m;
};
enum sand_rc fabric_graph_cells(struct fabric_graph *g, const struct fabric_pair *pairs,
                                uint32_t n_pairs, uint32_t n_endpoints, int aggregate);
enum sand_rc fabric_graph_wires(struct fabric_graph *g, const struct fabric_pair *pairs,
                                uint32_t n_pairs);

#endif
