// The rings that data parallelism needs in a stage. Internal to sim/step but for the closed form.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_RINGSHAPE_H
#define SAND_SIM_STEP_RINGSHAPE_H

#include <stdint.h>

#include "commshape.h"

// Which copies of a stage exchange with each other, in the order in which one collective goes
// through them: what a shard group has summed up goes on to the other groups.
enum step_ring {
    STEP_RING_ALL,           // all copies
    STEP_RING_SHARDS,        // those of one shard group
    STEP_RING_EXPERTS,       // those that hold the same experts
    STEP_RING_EXPERT_SHARDS, // those that do so in one shard group
    STEP_RING_REPLICAS,      // of every shard group the one at the same place
    STEP_RINGS
};

// Rings of one kind are alike and share out the copies among themselves.
struct step_ring_shape {
    uint32_t members;  // of each ring; below 2: nobody exchanges anything
    uint32_t stride;   // copies from a member to the next
    uint32_t apart;    // GPUs from a member to the next
    uint32_t channels; // rotations of a ring that enters and leaves domains by different NICs
    uint32_t domains;  // that the first ring visits one after another; 0: it stays in one
    enum sand_algorithm reduction; // see step_comm
    uint32_t scaleup_times;
};

static inline struct step_comm step_ring_comm(const struct step_ring_shape *shape)
{
    return (struct step_comm){.ranks = shape->members,
                              .domains = shape->domains < 1 ? 1 : shape->domains,
                              .ports = shape->channels,
                              .stride = shape->apart,
                              .reduction = shape->reduction,
                              .scaleup_times = shape->scaleup_times};
}

#endif
