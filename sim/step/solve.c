// Sets up a run of the step, plays it, and reads the solution off its actors.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "run.h"
#include "step.h"
#include "stepproblem.h"
#include "train.h"

static void *zeroed(size_t n, size_t size, enum sand_rc *rc)
{
    void *block = sand_calloc(n, size);
    if (block == NULL)
        *rc = SAND_ERR_NOMEM;
    return block;
}

// Cuts a collective into the part that runs beside compute and the late part. What has neither
// bytes nor latency is done before it starts.
static void list_part(struct step_run *run, enum run_purpose purpose, uint32_t index,
                      uint32_t stage, double bytes, double latency_s, double late)
{
    const double share[2] = {1 - late, late};
    for (uint32_t part = 0; part < 2; part++)
        run_list(run, (enum run_purpose)(purpose + part))[index] =
            (struct run_collective){.stage = stage,
                                    .bytes = share[part] * bytes,
                                    .latency_s = share[part] * latency_s,
                                    .done = !(share[part] * (bytes + latency_s) > 0)};
}

// Both collectives of one piece; an operation that has none gets them done.
static void list_piece(struct step_run *run, uint32_t index, uint32_t stage,
                       const struct step_chunk *chunk, int gathers, int reduces)
{
    const struct step_header *h = &run->problem->header;
    const double late_gather = h->overlap_gather ? h->exposed_gather : 0;
    const double late_reduce = h->overlap_reduce ? h->exposed_reduce : 0;
    list_part(run, RUN_GATHER, index, stage, gathers ? chunk->gather_B : 0,
              gathers ? chunk->gather_latency_s : 0, late_gather);
    list_part(run, RUN_REDUCE, index, stage, reduces ? chunk->reduce_B : 0,
              reduces ? chunk->reduce_latency_s : 0, late_reduce);
}

// Collectives per row of a stage: its chunks, or its operations when sharded.
static const struct step_chunk *row_of(const struct step_run *run, uint32_t stage, size_t row,
                                       int *gathers, int *reduces)
{
    const struct step_header *h = &run->problem->header;
    const struct step_chunk *chunks = &run->problem->chunks[stage * h->chunks];
    *gathers = *reduces = 1;
    if (!h->sharded)
        return &chunks[row];
    const struct sand_stage_op *op = &run->problem->ops[stage * run->ops_per_stage + row];
    *gathers = !op->backward || h->gather_backward;
    *reduces = op->backward;
    return &chunks[op->chunk];
}

static size_t rows_per_stage(const struct step_run *run)
{
    const struct step_header *h = &run->problem->header;
    return h->sharded ? run->ops_per_stage : h->chunks;
}

// Lists every stage's collectives in the order they become ready: when sharded by operation, else
// by chunk, whose reductions share its numbering (the backward reaches the last chunk first).
static void fill_stage(struct step_run *run, uint32_t s, uint32_t *n)
{
    const struct sand_step_problem *p = run->problem;
    struct run_stage *stage = &run->stages[s];
    const size_t rows = rows_per_stage(run);
    stage->first_collective = *n;
    for (size_t row = 0; row < rows; row++) {
        int gathers, reduces;
        const struct step_chunk *chunk = row_of(run, s, row, &gathers, &reduces);
        run->first_piece[s * rows + row] = *n - stage->first_collective;
        for (uint32_t piece = 0; piece < chunk->pieces; piece++, ++*n) {
            list_piece(run, *n, s, chunk, gathers, reduces);
            stage->reduces_left += !run_list(run, RUN_REDUCE)[*n].done;
        }
    }
    const int parallel = p->stages[s].n_rings > 0;
    stage->n_reduces = parallel ? *n - stage->first_collective : 0;
    stage->n_gathers = parallel && p->header.gathers ? stage->n_reduces : 0;
    stage->reduces_left = parallel ? stage->reduces_left : 0;
    stage->gathers_left = stage->n_gathers;
}

static enum sand_rc list_collectives(struct step_run *run)
{
    const struct sand_step_problem *p = run->problem;
    const size_t rows = rows_per_stage(run);
    enum sand_rc rc = SAND_OK;
    run->first_piece = zeroed(p->header.pp * rows, sizeof *run->first_piece, &rc);
    for (uint32_t s = 0; s < p->header.pp; s++)
        for (size_t row = 0; row < rows; row++) {
            int gathers, reduces;
            run->n_collectives += row_of(run, s, row, &gathers, &reduces)->pieces;
        }
    for (int i = 0; i < RUN_LISTS; i++)
        run->lists[i] = zeroed(run->n_collectives, sizeof **run->lists, &rc);
    uint32_t n = 0;
    for (uint32_t s = 0; rc == SAND_OK && s < p->header.pp; s++)
        fill_stage(run, s, &n);
    return rc;
}

static void run_close(struct step_run *run)
{
    sand_free(run->actors);
    sand_free(run->flows);
    sand_free(run->messages);
    sand_free(run->inputs);
    sand_free(run->stages);
    for (int i = 0; i < RUN_LISTS; i++)
        sand_free(run->lists[i]);
    sand_free(run->first_piece);
    sand_free(run->flow_of_handle);
    sand_free(run->ends);
    step_activity_close(&run->activity);
    sand_agenda_clear(&run->agenda);
}

static enum sand_rc run_open(struct step_run *run, const struct sand_step_problem *p)
{
    enum sand_rc rc = SAND_OK;
    *run = (struct step_run){.problem = p, .free_message = SAND_NONE};
    run->ops_per_stage = p->n_ops / p->header.pp;
    run->actors = zeroed(p->n_actors, sizeof *run->actors, &rc);
    run->flows = zeroed(p->n_flows, sizeof *run->flows, &rc);
    run->stages = zeroed(p->header.pp, sizeof *run->stages, &rc);
    run->inputs = zeroed(2 * p->n_actors * p->header.chunks * p->header.micro_batches,
                         sizeof *run->inputs, &rc);
    run->flow_of_handle = zeroed(p->n_flows, sizeof *run->flow_of_handle, &rc);
    run->ends = zeroed(p->n_flows, sizeof *run->ends, &rc);
    if (rc == SAND_OK)
        rc = step_activity_open(&run->activity, p->n_flows);
    if (rc == SAND_OK)
        rc = list_collectives(run);
    for (size_t f = 0; rc == SAND_OK && f < p->n_flows; f++)
        run->flows[f].head = run->flows[f].tail = SAND_NONE;
    for (size_t a = 0; rc == SAND_OK && a < p->n_actors; a++)
        run->actors[a].owed = SAND_NONE;
    return rc;
}

// Adds an actor's times for every group it stands for. From its own end to the step's it waits for
// others.
static void add_times(const struct step_run *run, uint32_t a, int64_t end,
                      struct sand_step_solution *sum)
{
    const struct step_actor *what = &run->problem->actors[a];
    const struct run_actor *actor = &run->actors[a];
    const double n = what->members;
    sum->compute_s += n * actor->compute_s;
    sum->recompute_s += n * actor->recompute_s;
    sum->optimizer_s += n * what->slowness * run->problem->stages[what->stage].optimizer_s;
    sum->exposed_tp_s += n * actor->tp_s;
    sum->exposed_pp_s += n * actor->pp_s;
    sum->exposed_dp_s += n * actor->dp_s;
    sum->bubble_s += n * (actor->bubble_s + (double)(end - actor->end) / STEP_TICKS_PER_S);
}

// The stage that computes longest; the first of equal ones.
static uint32_t busiest_stage(const struct step_run *run)
{
    uint32_t stage = 0;
    double most_s = -1;
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        const uint32_t here = run->problem->actors[a].stage;
        const double compute_s = run->actors[a].compute_s;
        if (compute_s > most_s || (compute_s == most_s && here < stage)) {
            most_s = compute_s;
            stage = here;
        }
    }
    return stage;
}

static void fill_solution(struct step_run *run, struct sand_step_solution *solution)
{
    int64_t end = 0;
    double members = 0;
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        end = run->actors[a].end > end ? run->actors[a].end : end;
        members += run->problem->actors[a].members;
    }
    for (uint32_t a = 0; a < run->problem->n_actors; a++)
        add_times(run, a, end, solution);
    solution->compute_s /= members;
    solution->recompute_s /= members;
    solution->optimizer_s /= members;
    solution->exposed_tp_s /= members;
    solution->exposed_pp_s /= members;
    solution->exposed_dp_s /= members;
    solution->bubble_s /= members;
    solution->overhead_s = run->problem->header.overhead_s;
    solution->critical_stage = busiest_stage(run);
    solution->step_s = (double)end / STEP_TICKS_PER_S;
    solution->n_events = run->n_events;
    step_activity_write(&run->activity, solution);
}

enum sand_rc sand_step_solve(const struct sand_step_problem *problem,
                             struct sand_step_solution *solution, struct sand_diag *diag)
{
    struct step_run run;
    enum sand_rc rc = run_open(&run, problem);
    if (rc == SAND_OK)
        rc = step_run_pump(&run, diag);
    else
        sand_fail(diag, rc, "step: %s", sand_rc_text(rc));
    if (rc == SAND_OK) {
        memset(solution, 0, sizeof *solution);
        fill_solution(&run, solution);
    }
    run_close(&run);
    return rc;
}
