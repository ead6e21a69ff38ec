// Rings of data parallelism: who is in them, what goes round, and their hops. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEPRINGS_H
#define SAND_SIM_STEP_STEPRINGS_H

#include <stdint.h>

#include "collective.h"
#include "ringshape.h"
#include "traffic.h"

// How one kind of parameters is exchanged. A ring that is STEP_RINGS is not used.
struct step_exchange {
    enum step_ring reduce;                  // gradients are summed up here,
    enum sand_collective_kind how;          // by all-reduce, or by reduce-scatter where
    enum step_ring across;                  // the shards may have to be summed up here too
    enum step_ring gather;                  // shards are put together here
    enum sand_collective_kind put_together; // by all-gather, or by broadcasts of their owners
    uint32_t shards;                        // over which the parameters are cut
};

// FSDP and HSDP reduce-scatter in the shard group, then all-reduce over the groups (PyTorch,
// torch/distributed/fsdp, HYBRID_SHARD). A sharded optimizer in groups all-reduces over all copies
// and gathers in the group (InternEvo, hybrid zero). `experts`: of parameters of experts.
struct step_exchange step_exchange_of(const struct sand_split *split,
                                      enum sand_state_shards state_shards, int experts);

// Whether experts are on other copies than all else.
int step_experts_apart(const struct sand_transformer *model, const struct sand_split *split);

// Pieces that the collectives of a chunk of so many layers are cut into.
uint32_t step_pieces(const struct sand_split *split, uint32_t layers);

// Fills the shapes of the rings that the split needs. O(actors x divisors), but for those that are
// `placed` as far as their algorithm; NULL: none is.
void step_rings_shape(struct step_traffic *traffic, const struct step_ring_shape *placed);

// Routes all hops of one kind of rings of a stage and rail, as one flow.
enum sand_rc step_rings_edges(struct step_traffic *traffic, enum step_ring ring, uint32_t stage,
                              uint32_t rail);

#endif
