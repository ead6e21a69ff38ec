// When gradients set out. As in Megatron-Core (megatron/core/pipeline_parallel/schedules.py): a
// bucket is reduced while its stage goes on backwards only where that stage is the first, which
// ends the step; the other stages of a plain pipeline do it in the bubble behind their last
// backward. Chunks of an interleaved pipeline are reduced in all stages at the same time, as
// reductions slow down what is computed beside them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "runplan.h"

int run_needs_gather(const struct step_run *run, const struct sand_stage_op *op)
{
    const struct step_header *h = &run->problem->header;
    if (h->sharded)
        return !op->backward || h->gather_backward;
    return !op->backward && h->overlap_gather && op->micro_batch == 0;
}

// Whether an operation makes gradients of weights.
static int makes_gradients(const struct step_header *h, const struct sand_stage_op *op)
{
    return op->backward && (op->weights || !h->split_backward);
}

// Stage s reaches the last backward of a chunk s operations before the first stage does: so many
// backwards later all have.
static uint32_t aligned(const struct step_run *run, uint32_t stage, uint32_t chunk)
{
    const struct step_header *h = &run->problem->header;
    const struct sand_stage_op *ops = &run->problem->ops[stage * run->ops_per_stage];
    uint32_t behind = 0;
    int is_through = 0;
    for (uint32_t pc = 0; pc < run->ops_per_stage; pc++) {
        if (!makes_gradients(h, &ops[pc]))
            continue;
        if (is_through)
            behind++;
        is_through |= ops[pc].chunk == chunk && ops[pc].micro_batch + 1 == h->micro_batches;
        if (is_through && behind == stage)
            return pc;
    }
    return SAND_NONE;
}

void run_plan_reductions(struct step_run *run)
{
    const struct step_header *h = &run->problem->header;
    for (uint32_t s = 0; s < h->pp; s++)
        for (uint32_t c = 0; c < h->chunks; c++) {
            uint32_t *behind = &run->reduce_behind[s * h->chunks + c];
            *behind = SAND_NONE;
            if (h->sharded || (h->overlap_reduce && h->chunks == 1 && s == 0))
                *behind = RUN_BY_PIECE;
            else if (h->overlap_reduce && h->chunks > 1)
                *behind = aligned(run, s, c);
        }
}

int run_reduces_by_piece(const struct step_run *run, uint32_t stage, const struct sand_stage_op *op)
{
    const struct step_header *h = &run->problem->header;
    return makes_gradients(h, op) && h->overlap_reduce &&
           run->reduce_behind[stage * h->chunks + op->chunk] == RUN_BY_PIECE &&
           (h->sharded || op->micro_batch + 1 == h->micro_batches);
}

uint32_t run_reduced_behind(const struct step_run *run, uint32_t stage, uint32_t pc)
{
    const uint32_t chunks = run->problem->header.chunks;
    for (uint32_t c = 0; chunks > 1 && c < chunks; c++)
        if (run->reduce_behind[stage * chunks + c] == pc)
            return c;
    return SAND_NONE;
}

uint32_t run_pieces(const struct step_run *run, uint32_t stage, const struct sand_stage_op *op)
{
    return run_reduces_by_piece(run, stage, op) || run_needs_gather(run, op)
               ? run_chunk(run, stage, op->chunk)->pieces
               : 1;
}

uint32_t run_collective_index(const struct step_run *run, uint32_t a, uint32_t pc, uint32_t piece)
{
    const uint32_t stage = run->problem->actors[a].stage;
    const size_t op = stage * run->ops_per_stage + pc;
    const size_t row = run->problem->header.sharded
                           ? op
                           : stage * run->problem->header.chunks + run->problem->ops[op].chunk;
    return run->stages[stage].first_collective + run->first_piece[row] + piece;
}
