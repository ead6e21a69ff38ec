// What collisions of a hash cost traffic that crosses the middle of a fabric, over many seeds.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_HASHLOSS_H
#define SAND_PLATFORMS_GRAPH_HASHLOSS_H

#include "fabric.h"

// Shares of the ideal, in which every NIC sends at line rate to the same NIC of the node half the
// cluster further; means over seeds and their standard deviations.
struct sand_hash_loss {
    // Bytes per second that are missing when a queue pair gets its share of the fullest link on its
    // way; speed missing to a ring of all flows, which waits for its slowest queue pair.
    double throughput, throughput_spread, ring, ring_spread;
    double even;      // bytes per second that are missing if every class of links is loaded evenly
    uint32_t n_seeds; // 64, or fewer where NICs x queue pairs x seeds would exceed 2 million
};

// Of a fabric with hash spreading, whose flows have `queue_pairs`; what is oversubscribed is
// lost in every seed, and alone under even spreading. O(seeds x NICs x queue pairs x route).
enum sand_rc sand_hash_loss(const struct sand_fabric *fabric, uint32_t queue_pairs,
                            struct sand_hash_loss *loss, struct sand_diag *diag);

#endif
