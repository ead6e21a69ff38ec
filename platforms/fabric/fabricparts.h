// What a fabric is built of: switches, cables, transceivers, metres, watts, dollars.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICPARTS_H
#define SAND_PLATFORMS_FABRIC_FABRICPARTS_H

#include "fabric.h"

// Cables by where they run: node to switch; leaf to spine, or inside a group or cube; above.
enum sand_cable_run { SAND_CABLE_NODE, SAND_CABLE_LEAF, SAND_CABLE_CORE, SAND_CABLE_RUNS };

struct sand_cable_parts {
    uint64_t cables;
    uint64_t transceivers; // one at each end of an optical cable; none at a circuit switch
    int is_copper;         // its length is given and within the copper reach of the price list
    double length_m;       // of one cable; 0: not given
};

struct sand_fabric_parts {
    struct sand_fabric_counts counts;
    struct sand_cable_parts runs[SAND_CABLE_RUNS];
    // Of storage on the fabric, optical and of no given length: cables of its servers, leaves of
    // its own (as many ports up as down) and their uplinks.
    uint64_t storage_cables, storage_leaves, storage_uplinks;
    uint64_t switches, cables, transceivers; // those of storage among them
    double cable_m;                          // sum of the lengths that are given
    // With a price list only; what it does not price counts nothing.
    double switch_W, transceiver_W;
    double switch_usd, transceiver_usd, cable_usd;
};

// Without a price list every cable is optical.
void sand_fabric_parts_list(const struct sand_fabric *fabric, const struct sand_cluster *cluster,
                            struct sand_fabric_parts *parts);

#endif
