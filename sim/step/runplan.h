// Which operations of a running step need data-parallel collectives, and where gradients set out.
// Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_RUNPLAN_H
#define SAND_SIM_STEP_RUNPLAN_H

#include <stdint.h>

#include "ids.h"
#include "run.h"
#include "train.h"

static inline const struct sand_stage_op *run_current_op(const struct step_run *run, uint32_t a)
{
    const struct step_actor *actor = &run->problem->actors[a];
    return &run->problem->ops[actor->stage * run->ops_per_stage + run->actors[a].pc];
}

static inline const struct step_chunk *run_chunk(const struct step_run *run, uint32_t stage,
                                                 uint32_t chunk)
{
    return &run->problem->chunks[stage * run->problem->header.chunks + chunk];
}

// Whether an operation waits for weights.
int run_needs_gather(const struct step_run *run, const struct sand_stage_op *op);

// Where the gradients of a chunk set out, in run->reduce_behind: piece by piece within its last
// backward; all of them behind that operation of the stage; or at the stage's end (SAND_NONE).
#define RUN_BY_PIECE (SAND_NONE - 1)

// Fills reduce_behind. O(chunks x operations).
void run_plan_reductions(struct step_run *run);

// Whether the gradients of an operation set out piece by piece while it goes on.
int run_reduces_by_piece(const struct step_run *run, uint32_t stage,
                         const struct sand_stage_op *op);

// The chunk whose gradients set out behind operation pc as a whole; SAND_NONE: none. O(chunks).
uint32_t run_reduced_behind(const struct step_run *run, uint32_t stage, uint32_t pc);

// Pieces an operation is cut into so that data-parallel collectives overlap with it.
uint32_t run_pieces(const struct step_run *run, uint32_t stage, const struct sand_stage_op *op);

// Index of the collectives of an actor's piece, in the lists of its stage.
uint32_t run_collective_index(const struct step_run *run, uint32_t a, uint32_t pc, uint32_t piece);

#endif
