// The state of a run: its arrays, and the collectives every stage goes through.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "run.h"
#include "runplan.h"
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
                      uint32_t stage, const struct step_ring_load *load, double whole, double late)
{
    const double share[2] = {whole * (1 - late), whole * late};
    for (uint32_t part = 0; part < 2; part++) {
        const struct run_legs legs = {load, share[part], 0};
        run_list(run, (enum run_purpose)(purpose + part))[index] = (struct run_collective){
            .stage = stage, .legs = legs, .done = !run_legs_any(run, stage, &legs, 0)};
    }
}

// Both collectives of one piece; an operation that has none gets them done.
static void list_piece(struct step_run *run, uint32_t index, uint32_t stage,
                       const struct step_chunk *chunk, int gathers, int reduces, double late_reduce)
{
    const struct step_header *h = &run->problem->header;
    const double late_gather = h->overlap_gather ? h->exposed_gather : 0;
    list_part(run, RUN_GATHER, index, stage, &chunk->gather, gathers, late_gather);
    list_part(run, RUN_REDUCE, index, stage, &chunk->reduce, reduces, late_reduce);
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

// Where gradients set out; a row that is an operation has them piece by piece.
static uint32_t reduce_behind(const struct step_run *run, uint32_t stage, size_t row)
{
    const struct step_header *h = &run->problem->header;
    return h->sharded ? RUN_BY_PIECE : run->reduce_behind[stage * h->chunks + row];
}

// Gradients that set out together hold compute up once.
static void merge_late(struct step_run *run, uint32_t first, uint32_t n)
{
    struct run_collective *late = &run_list(run, RUN_LATE_REDUCE)[first];
    for (uint32_t i = 1; i < n; i++) {
        late->legs.share += late[i].legs.share; // pieces of a chunk are equal
        late[i].done = 1;
    }
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
        const uint32_t behind = reduce_behind(run, s, row);
        const double late = p->header.overlap_reduce && behind != SAND_NONE // nothing computes
                                ? p->header.exposed_reduce
                                : 0;
        run->first_piece[s * rows + row] = *n - stage->first_collective;
        for (uint32_t piece = 0; piece < chunk->pieces; piece++, ++*n) {
            list_piece(run, *n, s, chunk, gathers, reduces, late);
            stage->reduces_left += !run_list(run, RUN_REDUCE)[*n].done;
        }
        if (behind != RUN_BY_PIECE)
            merge_late(run, *n - chunk->pieces, chunk->pieces);
    }
    int parallel = 0;
    for (uint32_t ring = 0; ring < STEP_RINGS; ring++)
        parallel |= p->stages[s].n_rings[ring] > 0;
    stage->n_reduces = parallel ? *n - stage->first_collective : 0;
    stage->n_gathers = parallel && p->header.gathers ? stage->n_reduces : 0;
    stage->reduces_left = parallel ? stage->reduces_left : 0;
    stage->gathers_left = stage->n_gathers;
}

static uint32_t count_collectives(const struct step_run *run)
{
    const struct sand_step_problem *p = run->problem;
    const size_t rows = rows_per_stage(run);
    uint32_t n = 0;
    for (uint32_t s = 0; s < p->header.pp; s++)
        for (size_t row = 0; row < rows; row++) {
            int gathers, reduces;
            n += row_of(run, s, row, &gathers, &reduces)->pieces;
        }
    return n;
}

static size_t count_inputs(const struct sand_step_problem *p)
{
    return 2 * p->n_actors * p->header.chunks * p->header.micro_batches;
}

void step_run_close(struct step_run *run)
{
    sand_free(run->actors);
    sand_free(run->flows);
    sand_free(run->messages);
    sand_free(run->inputs);
    sand_free(run->stages);
    for (int i = 0; i < RUN_LISTS; i++)
        sand_free(run->lists[i]);
    sand_free(run->first_piece);
    sand_free(run->reduce_behind);
    sand_free(run->route);
    sand_free(run->coupled);
    step_activity_close(&run->activity);
}

static void set_routes(struct step_run *run, const uint32_t *links)
{
    const struct sand_step_problem *p = run->problem;
    for (size_t i = 0; i < p->n_route; i++)
        run->route[i] = links == NULL ? p->route[i] : links[p->route[i]];
    for (size_t f = 0; f < p->n_flows; f++)
        for (uint32_t i = 0; i < p->flows[f].n_links && !run->coupled[f]; i++)
            run->coupled[f] = p->link_coupled[p->route[p->flows[f].first_link + i]] != SAND_NONE;
}

enum sand_rc step_run_open(struct step_run *run, struct run_engine *engine,
                           const struct sand_step_problem *p, const uint32_t *links)
{
    enum sand_rc rc = SAND_OK;
    *run = (struct step_run){.problem = p, .engine = engine};
    run->ops_per_stage = p->n_ops / p->header.pp;
    run->n_collectives = count_collectives(run);
    run->actors = zeroed(p->n_actors, sizeof *run->actors, &rc);
    run->flows = zeroed(p->n_flows, sizeof *run->flows, &rc);
    run->stages = zeroed(p->header.pp, sizeof *run->stages, &rc);
    run->inputs = zeroed(count_inputs(p), sizeof *run->inputs, &rc);
    run->first_piece = zeroed(p->header.pp * rows_per_stage(run), sizeof *run->first_piece, &rc);
    run->reduce_behind = zeroed(p->header.pp * p->header.chunks, sizeof *run->reduce_behind, &rc);
    for (int i = 0; i < RUN_LISTS; i++)
        run->lists[i] = zeroed(run->n_collectives, sizeof **run->lists, &rc);
    run->route = zeroed(p->n_route, sizeof *run->route, &rc);
    run->coupled = zeroed(p->n_flows, sizeof *run->coupled, &rc);
    if (rc == SAND_OK)
        run_plan_reductions(run);
    if (rc == SAND_OK)
        set_routes(run, links);
    if (rc == SAND_OK)
        rc = step_activity_open(&run->activity, p->n_flows);
    if (rc == SAND_OK)
        step_run_reset(run);
    return rc;
}

void step_run_reset(struct step_run *run)
{
    const struct sand_step_problem *p = run->problem;
    memset(run->actors, 0, p->n_actors * sizeof *run->actors);
    memset(run->stages, 0, p->header.pp * sizeof *run->stages);
    memset(run->inputs, 0, count_inputs(p) * sizeof *run->inputs);
    run->n_done = run->n_messages = 0;
    run->free_message = SAND_NONE;
    for (size_t f = 0; f < p->n_flows; f++)
        run->flows[f] = (struct run_flow){.head = SAND_NONE, .tail = SAND_NONE};
    for (size_t a = 0; a < p->n_actors; a++)
        run->actors[a].owed = SAND_NONE;
    for (uint32_t s = 0, n = 0; s < p->header.pp; s++)
        fill_stage(run, s, &n);
    for (size_t a = 0; a < p->n_actors; a++)
        run->actors[a].ready = run->engine->now;
}
