// The step on SimGrid: one pump plays the pipeline schedule of every actor, flows take their time
// from max-min sharing, latency and compute are dates of an agenda.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include "ids.h"
#include "runplan.h"
#include "skeleton.h"
#include "train.h"

static struct run_input *input_of(const struct step_run *run, uint32_t a, uint32_t backward,
                                  uint32_t chunk, uint32_t micro_batch)
{
    const struct step_header *h = &run->problem->header;
    return &run->inputs[((size_t)(a * 2 + backward) * h->chunks + chunk) * h->micro_batches +
                        micro_batch];
}

// Whether the operation's input comes from the actor itself: the first forward, the last backward.
static int is_source(const struct step_run *run, uint32_t stage, const struct sand_stage_op *op)
{
    const struct step_header *h = &run->problem->header;
    if (op->weights)
        return 1;
    return op->backward ? stage + 1 == h->pp && op->chunk + 1u == h->chunks
                        : stage == 0 && op->chunk == 0;
}

// Books the time an actor stood still since `ready`: until `due` for others (bubble), from then on
// for traffic.
static void book_wait(struct step_run *run, uint32_t a, int64_t due, double *traffic_s)
{
    struct run_actor *actor = &run->actors[a];
    const int64_t cut = due < actor->ready       ? actor->ready
                        : due > run->engine->now ? run->engine->now
                                                 : due;
    actor->bubble_s += run_seconds(cut - actor->ready);
    *traffic_s += run_seconds(run->engine->now - cut);
    actor->ready = run->engine->now;
}

// ---- for a skeleton
// ---------------------------------------------------------------------------------

// An actor comes to where it needs n collectives.
static enum sand_rc note_wait(struct step_run *run, uint32_t a, enum run_purpose purpose,
                              uint32_t index, uint32_t n)
{
    for (uint32_t i = 0; run->recorder != NULL && i < n; i++)
        SAND_TRY(step_record_wait(run->recorder, a, purpose, index + i));
    return SAND_OK;
}

static void note_go_on(struct step_run *run, uint32_t a)
{
    if (run->recorder != NULL)
        step_record_go_on(run->recorder, a);
}

static enum sand_rc note_join(struct step_run *run, uint32_t a, enum run_purpose purpose,
                              uint32_t index)
{
    return run->recorder == NULL ? SAND_OK : step_record_join(run->recorder, a, purpose, index);
}

// A message that is no collective; part of an input, or waited for by its sender (SAND_NONE).
static enum sand_rc put_send(struct step_run *run, uint32_t a, uint32_t f, double bytes,
                             double latency_s, enum run_purpose purpose, uint32_t subject)
{
    const uint32_t input = purpose == RUN_SEND ? subject : SAND_NONE;
    if (run->recorder != NULL)
        SAND_TRY(step_record_send(run->recorder, a, f, bytes, latency_s, input));
    return run_flow_put(run, f, bytes, latency_s, purpose, subject);
}

// ---- data-parallel collectives
// ----------------------------------------------------------------------

static enum sand_rc collective_done(struct step_run *run, enum run_purpose purpose, uint32_t index);

// The first or next leg of a collective of a stage sets out, if one is left.
static enum sand_rc collective_leg(struct step_run *run, enum run_purpose purpose, uint32_t index)
{
    struct run_collective *c = &run_list(run, purpose)[index];
    SAND_TRY(run_leg(run, c->stage, &c->legs, purpose, index, &c->pending));
    return c->pending == 0 ? collective_done(run, purpose, index) : SAND_OK;
}

static enum sand_rc collective_begin(struct step_run *run, enum run_purpose purpose, uint32_t index)
{
    run_list(run, purpose)[index].joined_at = run->engine->now;
    return collective_leg(run, purpose, index);
}

// An actor is ready for its part of a collective; the last of the stage's actors starts it.
static enum sand_rc join(struct step_run *run, uint32_t a, enum run_purpose purpose, uint32_t index)
{
    struct run_collective *c = &run_list(run, purpose)[index];
    SAND_TRY(note_join(run, a, purpose, index));
    if (c->done || ++c->joined < run->problem->stages[c->stage].n_actors)
        return SAND_OK;
    return collective_begin(run, purpose, index);
}

// When sharded, the weights of the next piece set out as this one begins: one piece ahead, as
// PyTorch's FSDP prefetches.
static enum sand_rc gather_ahead(struct step_run *run, uint32_t a)
{
    const struct run_actor *actor = &run->actors[a];
    uint32_t pc = actor->pc, piece = actor->piece + 1;
    if (!run->problem->header.sharded)
        return SAND_OK;
    if (piece == run_pieces(run, run->problem->actors[a].stage, run_current_op(run, a))) {
        pc++;
        piece = 0;
    }
    if (pc == run->ops_per_stage)
        return SAND_OK;
    return join(run, a, RUN_GATHER, run_collective_index(run, a, pc, piece));
}

// The reduction of the piece before sets out: behind the weights, which are wanted sooner.
static enum sand_rc pay_reduction(struct step_run *run, uint32_t a)
{
    const uint32_t index = run->actors[a].owed;
    if (index == SAND_NONE)
        return SAND_OK;
    run->actors[a].owed = SAND_NONE;
    return join(run, a, RUN_REDUCE, index);
}

// The first collective of a chunk that is not sharded.
static uint32_t first_of_chunk(const struct step_run *run, uint32_t stage, uint32_t chunk)
{
    return run->stages[stage].first_collective +
           run->first_piece[stage * run->problem->header.chunks + chunk];
}

// All gradients of a chunk set out.
static enum sand_rc reduce_chunk(struct step_run *run, uint32_t a, uint32_t chunk)
{
    const uint32_t stage = run->problem->actors[a].stage;
    const uint32_t first = first_of_chunk(run, stage, chunk);
    for (uint32_t i = 0; i < run_chunk(run, stage, chunk)->pieces; i++)
        SAND_TRY(join(run, a, RUN_REDUCE, first + i));
    return SAND_OK;
}

// ---- pieces of work
// ---------------------------------------------------------------------------------

static enum sand_rc begin_piece(struct step_run *run, uint32_t a)
{
    const struct step_actor *what = &run->problem->actors[a];
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    const struct step_chunk *chunk = run_chunk(run, what->stage, op->chunk);
    const uint32_t pieces = run_pieces(run, what->stage, op);
    const double work_s = (op->weights    ? chunk->weights_s
                           : op->backward ? chunk->backward_s
                                          : chunk->forward_s) *
                          what->slowness / pieces;
    actor->compute_s += work_s;
    if (op->backward && !op->weights)
        actor->recompute_s += chunk->recompute_s * what->slowness / pieces;
    actor->state = RUN_WORKING;
    SAND_TRY(gather_ahead(run, a));
    SAND_TRY(pay_reduction(run, a));
    return run_timer(run, work_s, TIMER_WORK, a);
}

// Starts the next piece of the current operation if its input and its parameters are there.
static enum sand_rc try_piece(struct step_run *run, uint32_t a)
{
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    if (actor->piece == 0 && actor->state != RUN_WAIT_GATHER && !is_source(run, stage, op)) {
        const struct run_input *input = input_of(run, a, op->backward, op->chunk, op->micro_batch);
        const uint32_t index = (uint32_t)(input - run->inputs);
        actor->state = RUN_WAIT_INPUT;
        if (run->recorder != NULL)
            step_record_want(run->recorder, index);
        if (!input->arrived)
            return SAND_OK;
        book_wait(run, a, input->sent, &actor->pp_s);
        if (run->recorder != NULL)
            SAND_TRY(step_record_take(run->recorder, a, index));
    }
    if (run_needs_gather(run, op)) {
        const uint32_t index = run_collective_index(run, a, actor->pc, actor->piece);
        if (actor->state != RUN_WAIT_GATHER) {
            SAND_TRY(note_wait(run, a, RUN_GATHER, index, 1));
            SAND_TRY(note_wait(run, a, RUN_LATE_GATHER, index, 1));
            SAND_TRY(join(run, a, RUN_LATE_GATHER, index));
        }
        actor->state = RUN_WAIT_GATHER;
        if (!run_list(run, RUN_GATHER)[index].done || !run_list(run, RUN_LATE_GATHER)[index].done)
            return SAND_OK;
        note_go_on(run, a);
        book_wait(run, a, 0, &actor->dp_s);
    }
    return begin_piece(run, a);
}

static enum sand_rc begin_tail(struct step_run *run, uint32_t a);

static enum sand_rc next_op(struct step_run *run, uint32_t a)
{
    struct run_actor *actor = &run->actors[a];
    actor->ready = run->engine->now;
    actor->piece = 0;
    actor->state = RUN_WORKING;
    if (actor->pc < run->ops_per_stage)
        return try_piece(run, a);
    return begin_tail(run, a);
}

// ---- after the last operation: gradients, optimizer, parameters
// -------------------------------------

static enum sand_rc try_optimizer(struct step_run *run, uint32_t a)
{
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_actor *actor = &run->actors[a];
    actor->state = RUN_WAIT_REDUCE;
    if (run->stages[stage].reduces_left > 0)
        return SAND_OK;
    book_wait(run, a, run->stages[stage].last_joined, &actor->dp_s);
    note_go_on(run, a);
    actor->state = RUN_OPTIMIZER;
    const double tail_s =
        run->problem->stages[stage].optimizer_s * run->problem->actors[a].slowness +
        run->problem->header.overhead_s;
    actor->compute_s += tail_s;
    return run_timer(run, tail_s, TIMER_TAIL, a);
}

static enum sand_rc begin_tail(struct step_run *run, uint32_t a)
{
    const struct step_header *h = &run->problem->header;
    const uint32_t stage = run->problem->actors[a].stage;
    const struct run_stage *st = &run->stages[stage];
    run->actors[a].state = RUN_WAIT_REDUCE;
    SAND_TRY(pay_reduction(run, a));
    for (uint32_t c = 0; st->n_reduces > 0 && c < h->chunks; c++)
        if (run->reduce_behind[stage * h->chunks + c] == SAND_NONE)
            SAND_TRY(reduce_chunk(run, a, c));
    SAND_TRY(note_wait(run, a, RUN_REDUCE, st->first_collective, st->n_reduces));
    return try_optimizer(run, a);
}

static enum sand_rc finish_actor(struct step_run *run, uint32_t a)
{
    run->actors[a].state = RUN_DONE;
    run->actors[a].end = run->engine->now;
    if (++run->n_done < run->problem->n_actors)
        return SAND_OK;
    return run_timer(run, 0, TIMER_STEP_END, 0);
}

// Parameters that are not gathered behind the next forward are gathered here.
static enum sand_rc tail_done(struct step_run *run, uint32_t a)
{
    const struct step_header *h = &run->problem->header;
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_stage *st = &run->stages[stage];
    run->actors[a].ready = run->engine->now;
    if (!h->gathers || h->overlap_gather)
        return finish_actor(run, a);
    run->actors[a].state = RUN_WAIT_LAST_GATHER;
    for (uint32_t i = 0; i < st->n_gathers; i++)
        SAND_TRY(note_join(run, a, RUN_GATHER, st->first_collective + i));
    SAND_TRY(note_wait(run, a, RUN_GATHER, st->first_collective, st->n_gathers));
    if (++st->gather_joined < run->problem->stages[stage].n_actors)
        return SAND_OK;
    st->last_joined = run->engine->now;
    for (uint32_t i = 0; i < st->n_gathers; i++)
        SAND_TRY(collective_begin(run, RUN_GATHER, st->first_collective + i));
    return SAND_OK;
}

static enum sand_rc end_piece(struct step_run *run, uint32_t a);

static enum sand_rc wake_stage(struct step_run *run, uint32_t stage, enum run_state state)
{
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        if (run->problem->actors[a].stage != stage || run->actors[a].state != state)
            continue;
        if (state == RUN_WAIT_REDUCE) {
            SAND_TRY(try_optimizer(run, a));
        } else if (state == RUN_WAIT_GATHER) {
            SAND_TRY(try_piece(run, a));
        } else if (state == RUN_WAIT_EXPOSED) {
            book_wait(run, a, 0, &run->actors[a].dp_s);
            note_go_on(run, a);
            SAND_TRY(end_piece(run, a));
        } else {
            book_wait(run, a, run->stages[stage].last_joined, &run->actors[a].dp_s);
            note_go_on(run, a);
            SAND_TRY(finish_actor(run, a));
        }
    }
    return SAND_OK;
}

static enum sand_rc collective_done(struct step_run *run, enum run_purpose purpose, uint32_t index)
{
    struct run_collective *c = &run_list(run, purpose)[index];
    struct run_stage *st = &run->stages[c->stage];
    c->done = 1;
    if (purpose == RUN_LATE_REDUCE)
        return wake_stage(run, c->stage, RUN_WAIT_EXPOSED);
    if (purpose == RUN_GATHER && !run->problem->header.overlap_gather)
        return --st->gathers_left == 0 ? wake_stage(run, c->stage, RUN_WAIT_LAST_GATHER) : SAND_OK;
    if (purpose != RUN_REDUCE)
        return wake_stage(run, c->stage, RUN_WAIT_GATHER);
    if (c->joined_at > st->last_joined)
        st->last_joined = c->joined_at;
    return --st->reduces_left == 0 ? wake_stage(run, c->stage, RUN_WAIT_REDUCE) : SAND_OK;
}

// ---- what follows from an operation's end
// -----------------------------------------------------------

static enum sand_rc send_rails(struct step_run *run, uint32_t input, uint32_t backward)
{
    const struct step_header *h = &run->problem->header;
    struct run_input *in = &run->inputs[input];
    const struct step_actor *from = &run->problem->actors[in->from];
    in->pending = from->n_sends[backward];
    for (uint32_t i = 0; i < from->n_sends[backward]; i++)
        SAND_TRY(put_send(run, in->from, run->problem->sends[from->first_send[backward] + i],
                          h->send_B, h->send_latency_s, RUN_SEND, input));
    return SAND_OK;
}

// Which input of which peer the output of an operation becomes.
static enum sand_rc send_output(struct step_run *run, uint32_t a, const struct sand_stage_op *op)
{
    const struct step_header *h = &run->problem->header;
    const struct step_actor *what = &run->problem->actors[a];
    uint32_t chunk = op->chunk;
    if (!op->backward && what->stage + 1 == h->pp && chunk++ + 1 == h->chunks)
        return SAND_OK;
    if (op->backward && what->stage == 0 && chunk-- == 0)
        return SAND_OK;
    const uint32_t peer = h->pp == 1 ? a : what->peer[op->backward];
    const size_t input =
        (size_t)(input_of(run, peer, op->backward, chunk, op->micro_batch) - run->inputs);
    run->inputs[input].sent = run->engine->now;
    run->inputs[input].from = a;
    run->inputs[input].to = peer;
    if (h->pp == 1) {
        run->inputs[input].arrived = 1;
        return SAND_OK;
    }
    return send_rails(run, (uint32_t)input, op->backward);
}

static enum sand_rc input_arrived(struct step_run *run, uint32_t input)
{
    struct run_input *in = &run->inputs[input];
    if (--in->pending > 0)
        return SAND_OK;
    in->arrived = 1;
    if (run->actors[in->to].state == RUN_WAIT_INPUT)
        return try_piece(run, in->to);
    return SAND_OK;
}

// Everything of a piece that the actor waits for is over.
static enum sand_rc end_piece(struct step_run *run, uint32_t a)
{
    struct run_actor *actor = &run->actors[a];
    const uint32_t stage = run->problem->actors[a].stage;
    const struct sand_stage_op *op = run_current_op(run, a);
    if (run_reduces_by_piece(run, stage, op))
        actor->owed = run_collective_index(run, a, actor->pc, actor->piece);
    if (!run->problem->header.sharded)
        SAND_TRY(pay_reduction(run, a));
    actor->state = RUN_WORKING;
    actor->ready = run->engine->now;
    if (++actor->piece < run_pieces(run, stage, op))
        return try_piece(run, a);
    const uint32_t chunk = run_reduced_behind(run, stage, actor->pc);
    if (chunk != SAND_NONE)
        SAND_TRY(reduce_chunk(run, a, chunk));
    actor->pc++;
    return next_op(run, a);
}

// The late part of the gradients that set out behind the current piece; SAND_NONE: none do.
static uint32_t late_reduction(const struct step_run *run, uint32_t a)
{
    const uint32_t stage = run->problem->actors[a].stage;
    const struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    if (run_reduces_by_piece(run, stage, op))
        return run_collective_index(run, a, actor->pc, actor->piece);
    if (actor->piece + 1 < run_pieces(run, stage, op))
        return SAND_NONE;
    const uint32_t chunk = run_reduced_behind(run, stage, actor->pc);
    return chunk == SAND_NONE ? SAND_NONE : first_of_chunk(run, stage, chunk);
}

// Compute and exposed tensor- and context-parallel traffic of a piece are over.
static enum sand_rc piece_done(struct step_run *run, uint32_t a)
{
    note_go_on(run, a);
    struct run_actor *actor = &run->actors[a];
    actor->tp_s += run_seconds(run->engine->now - actor->tp_begun - actor->cp_ticks);
    actor->cp_s += run_seconds(actor->cp_ticks);
    actor->experts_s += run_seconds(run->engine->now - actor->experts_begun);
    actor->ready = run->engine->now;
    const struct sand_stage_op *op = run_current_op(run, a);
    // The output leaves before the reduction: who waits for it is not held up.
    if (actor->piece + 1 == run_pieces(run, run->problem->actors[a].stage, op) && !op->weights)
        SAND_TRY(send_output(run, a, op));
    const uint32_t index = late_reduction(run, a);
    if (index == SAND_NONE || run_list(run, RUN_LATE_REDUCE)[index].done)
        return end_piece(run, a);
    actor->state = RUN_WAIT_EXPOSED;
    SAND_TRY(note_wait(run, a, RUN_LATE_REDUCE, index, 1));
    return join(run, a, RUN_LATE_REDUCE, index);
}

// The exposed part of the all-to-alls of experts comes last.
static enum sand_rc cp_done(struct step_run *run, uint32_t a)
{
    note_go_on(run, a);
    const struct step_actor *what = &run->problem->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    const struct step_chunk *chunk = run_chunk(run, what->stage, op->chunk);
    const uint32_t pieces = run_pieces(run, what->stage, op);
    const double bytes[2] = {chunk->experts_B[op->backward], chunk->experts_out_B[op->backward]};
    struct run_actor *actor = &run->actors[a];
    actor->cp_ticks = run->engine->now - actor->cp_begun;
    actor->experts_begun = run->engine->now;
    actor->pending =
        (bytes[0] > 0 ? what->n_experts[0] : 0) + (bytes[1] > 0 ? what->n_experts[1] : 0);
    if (actor->pending == 0)
        return piece_done(run, a);
    for (uint32_t outside = 0; outside < 2; outside++)
        for (uint32_t i = 0; bytes[outside] > 0 && i < what->n_experts[outside]; i++)
            SAND_TRY(put_send(run, a, run->problem->sends[what->first_experts[outside] + i],
                              bytes[outside] / pieces,
                              chunk->experts_latency_s[op->backward] / pieces, RUN_EXPERTS, a));
    return SAND_OK;
}

// The exposed part of the ring of keys and values follows that of tensor parallelism.
static enum sand_rc tp_done(struct step_run *run, uint32_t a)
{
    note_go_on(run, a);
    const struct step_actor *what = &run->problem->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    const struct step_chunk *chunk = run_chunk(run, what->stage, op->chunk);
    const uint32_t pieces = run_pieces(run, what->stage, op);
    run->actors[a].cp_begun = run->engine->now;
    if (what->n_cp == 0 || chunk->cp_B[op->backward] <= 0)
        return cp_done(run, a);
    run->actors[a].pending = what->n_cp;
    for (uint32_t i = 0; i < what->n_cp; i++)
        SAND_TRY(put_send(run, a, run->problem->sends[what->first_cp + i],
                          chunk->cp_B[op->backward] / pieces,
                          chunk->cp_latency_s[op->backward] / pieces, RUN_CP, a));
    return SAND_OK;
}

// Compute is over: the exposed part of the tensor-parallel collectives follows.
static enum sand_rc work_done(struct step_run *run, uint32_t a)
{
    const struct step_actor *what = &run->problem->actors[a];
    const struct sand_stage_op *op = run_current_op(run, a);
    const struct step_chunk *chunk = run_chunk(run, what->stage, op->chunk);
    const uint32_t pieces = run_pieces(run, what->stage, op);
    run->actors[a].tp_begun = run->actors[a].experts_begun = run->engine->now;
    run->actors[a].cp_ticks = 0;
    if (op->weights)
        return piece_done(run, a);
    if (what->tp_flow == SAND_NONE || chunk->tp_B[op->backward] <= 0)
        return tp_done(run, a);
    return put_send(run, a, what->tp_flow, chunk->tp_B[op->backward] / pieces,
                    chunk->tp_latency_s[op->backward] / pieces, RUN_TP, a);
}

// ---- dispatch
// ---------------------------------------------------------------------------------------

enum sand_rc step_run_flow_done(struct step_run *run, uint32_t f)
{
    struct run_message message;
    SAND_TRY(run_flow_end(run, f, &message));
    switch (message.purpose) {
    case RUN_TP:
        return tp_done(run, message.subject);
    case RUN_CP:
        return --run->actors[message.subject].pending == 0 ? cp_done(run, message.subject)
                                                           : SAND_OK;
    case RUN_EXPERTS:
        return --run->actors[message.subject].pending == 0 ? piece_done(run, message.subject)
                                                           : SAND_OK;
    case RUN_SEND:
        return input_arrived(run, message.subject);
    case RUN_REPLAYED:
        return step_skeleton_arrived(run, message.subject);
    default:
        return --run_list(run, message.purpose)[message.subject].pending == 0
                   ? collective_leg(run, message.purpose, message.subject)
                   : SAND_OK;
    }
}

enum sand_rc step_run_handle(struct step_run *run, enum run_timer_kind kind, uint32_t subject)
{
    switch (kind) {
    case TIMER_WORK:
        return work_done(run, subject);
    case TIMER_LATENCY:
        return run_flow_bytes(run, subject);
    case TIMER_DELAY:
        return step_run_flow_done(run, subject);
    case TIMER_TAIL:
        return tail_done(run, subject);
    case TIMER_REPLAY:
        return step_skeleton_go_on(run, subject);
    default: // the engine's
        return SAND_ERR_INTERNAL;
    }
}

enum sand_rc step_run_stuck(struct step_run *run)
{
    for (uint32_t a = 0; run->skeleton == NULL && a < run->problem->n_actors; a++) {
        if (run->actors[a].state != RUN_WAIT_INPUT)
            continue;
        const struct sand_stage_op *op = run_current_op(run, a);
        return sand_fail(
            run->engine->diag, SAND_ERR_INTERNAL,
            "step: stage %u waits for the %s of micro-batch %u, chunk %u, which nobody "
            "sends any more",
            run->problem->actors[a].stage, op->backward ? "backward" : "forward", op->micro_batch,
            op->chunk);
    }
    return sand_fail(run->engine->diag, SAND_ERR_INTERNAL,
                     "step: waiting for a collective that never starts");
}

// Nobody is waited for before the weights of the first operations set out.
static enum sand_rc gather_at_once(struct step_run *run, uint32_t index)
{
    const uint32_t stage = run_list(run, RUN_GATHER)[index].stage;
    for (uint32_t a = 0; run->recorder != NULL && a < run->problem->n_actors; a++)
        if (run->problem->actors[a].stage == stage)
            SAND_TRY(note_join(run, a, RUN_GATHER, index));
    return collective_begin(run, RUN_GATHER, index);
}

// Weights that are prefetched set out first, then every actor begins.
enum sand_rc step_run_begin(struct step_run *run)
{
    const struct step_header *h = &run->problem->header;
    run->step_begun = run->engine->now;
    if (run->skeleton != NULL)
        return step_skeleton_begin(run);
    step_run_reset(run);
    if (h->overlap_gather && !h->sharded)
        for (uint32_t i = 0; i < run->n_collectives; i++)
            if (!run_list(run, RUN_GATHER)[i].done)
                SAND_TRY(gather_at_once(run, i));
    for (uint32_t a = 0; h->sharded && a < run->problem->n_actors; a++)
        SAND_TRY(join(run, a, RUN_GATHER, run_collective_index(run, a, 0, 0)));
    for (uint32_t a = 0; a < run->problem->n_actors; a++)
        SAND_TRY(next_op(run, a));
    return SAND_OK;
}
