// Sets up a run of the step, plays it, and reads the solution off its actors.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "run.h"
#include "step.h"
#include "stepproblem.h"

static void *zeroed(size_t n, size_t size, enum sand_rc *rc)
{
    void *block = sand_calloc(n, size);
    if (block == NULL)
        *rc = SAND_ERR_NOMEM;
    return block;
}

// Lists every stage's collectives in the order they become ready: gathers by chunk forwards,
// reductions by chunk of the same numbering (the backward reaches the last chunk first).
static enum sand_rc list_collectives(struct step_run *run)
{
    const struct sand_step_problem *p = run->problem;
    enum sand_rc rc = SAND_OK;
    run->first_piece = zeroed(p->n_chunks, sizeof *run->first_piece, &rc);
    for (size_t i = 0; i < p->n_chunks; i++)
        run->n_collectives += p->chunks[i].pieces;
    run->reduces = zeroed(run->n_collectives, sizeof *run->reduces, &rc);
    run->gathers = zeroed(run->n_collectives, sizeof *run->gathers, &rc);
    if (rc != SAND_OK)
        return rc;
    uint32_t n = 0;
    for (uint32_t s = 0; s < p->header.pp; s++) {
        struct run_stage *stage = &run->stages[s];
        stage->first_collective = n;
        for (uint32_t c = 0; c < p->header.chunks; c++) {
            const struct step_chunk *chunk = &p->chunks[s * p->header.chunks + c];
            run->first_piece[s * p->header.chunks + c] = n - stage->first_collective;
            for (uint32_t piece = 0; piece < chunk->pieces; piece++, n++) {
                run->reduces[n] = (struct run_collective){
                    .stage = s, .bytes = chunk->reduce_B, .latency_s = chunk->reduce_latency_s};
                run->gathers[n] = (struct run_collective){
                    .stage = s, .bytes = chunk->gather_B, .latency_s = chunk->gather_latency_s};
            }
        }
        const int parallel = p->stages[s].n_rings > 0;
        stage->n_reduces = parallel ? n - stage->first_collective : 0;
        stage->n_gathers = parallel && p->header.gathers ? stage->n_reduces : 0;
        stage->reduces_left = stage->n_reduces;
        stage->gathers_left = stage->n_gathers;
    }
    return SAND_OK;
}

static void run_close(struct step_run *run)
{
    sand_free(run->actors);
    sand_free(run->flows);
    sand_free(run->messages);
    sand_free(run->inputs);
    sand_free(run->stages);
    sand_free(run->reduces);
    sand_free(run->gathers);
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
    return rc;
}

static void fill_solution(struct step_run *run, struct sand_step_solution *solution)
{
    const struct run_actor *last = &run->actors[0];
    uint32_t stage = run->problem->actors[0].stage;
    for (uint32_t a = 1; a < run->problem->n_actors; a++)
        if (run->actors[a].end > last->end) {
            last = &run->actors[a];
            stage = run->problem->actors[a].stage;
        }
    solution->critical_stage = stage;
    solution->step_s = (double)last->end / STEP_TICKS_PER_S;
    solution->compute_s = last->compute_s;
    solution->recompute_s = last->recompute_s;
    solution->overhead_s = run->problem->header.overhead_s;
    solution->optimizer_s = run->problem->stages[stage].optimizer_s;
    solution->exposed_tp_s = last->tp_s;
    solution->exposed_pp_s = last->pp_s;
    solution->exposed_dp_s = last->dp_s;
    solution->bubble_s = last->bubble_s;
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
