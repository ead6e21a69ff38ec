// The step on SimGrid: one pump plays the pipeline schedule of every actor, flows take their time
// from max-min sharing, latency and compute are dates of an agenda.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <math.h>

#include "ids.h"
#include "mem.h"
#include "train.h"

enum timer_kind { TIMER_WORK, TIMER_LATENCY, TIMER_DELAY, TIMER_TAIL };

static double seconds(int64_t ticks)
{
    return (double)ticks / STEP_TICKS_PER_S;
}

static int64_t ticks(double s)
{
    return (int64_t)llround(s * STEP_TICKS_PER_S);
}

static enum sand_rc timer(struct step_run *run, double delay_s, enum timer_kind kind,
                          uint64_t subject)
{
    const struct sand_agenda_entry entry = {
        .date = run->now + ticks(delay_s), .kind = kind, .subject = subject};
    return sand_agenda_put(&run->agenda, entry, NULL);
}

// ---- flows: one message at a time, others queue
// -----------------------------------------------------

// The latency is over: the bytes of the first message in the queue set out.
static enum sand_rc flow_bytes(struct step_run *run, uint32_t f)
{
    const struct step_flow *what = &run->problem->flows[f];
    const struct run_message *message = &run->messages[run->flows[f].head];
    run->flows[f].begun = run->now;
    step_activity_start(&run->activity, f);
    run->n_events++;
    if (message->bytes <= 0)
        return timer(run, 0, TIMER_DELAY, f);
    if (what->n_links == 0)
        return timer(run, message->bytes / what->upper_Bps, TIMER_DELAY, f);
    uint32_t handle = 0;
    SAND_TRY(sand_bridge_flow_start(run->bridge, run->problem->route + what->first_link,
                                    what->n_links, message->bytes, &handle));
    run->flow_of_handle[handle] = f;
    run->n_live++;
    return SAND_OK;
}

static enum sand_rc flow_begin(struct step_run *run, uint32_t f)
{
    run->flows[f].busy = 1;
    const double latency_s = run->messages[run->flows[f].head].latency_s;
    return latency_s > 0 ? timer(run, latency_s, TIMER_LATENCY, f) : flow_bytes(run, f);
}

// Queues a message on a flow; it takes its latency, then its bytes' time. `purpose` and `subject`
// say what its arrival means.
static enum sand_rc flow_put(struct step_run *run, uint32_t f, double bytes, double latency_s,
                             enum run_purpose purpose, uint32_t subject)
{
    uint32_t slot = run->free_message;
    if (slot != SAND_NONE) {
        run->free_message = run->messages[slot].next;
    } else {
        SAND_TRY(sand_grow((void **)&run->messages, &run->message_capacity, run->n_messages + 1,
                           sizeof *run->messages));
        slot = run->n_messages++;
    }
    run->messages[slot] = (struct run_message){.bytes = bytes,
                                               .latency_s = latency_s,
                                               .purpose = purpose,
                                               .subject = subject,
                                               .next = SAND_NONE};
    struct run_flow *flow = &run->flows[f];
    if (flow->head == SAND_NONE)
        flow->head = slot;
    else
        run->messages[flow->tail].next = slot;
    flow->tail = slot;
    return flow->busy ? SAND_OK : flow_begin(run, f);
}

// ---- actors
// -----------------------------------------------------------------------------------------

static const struct sand_stage_op *current_op(const struct step_run *run, uint32_t a)
{
    const struct step_actor *actor = &run->problem->actors[a];
    return &run->problem->ops[actor->stage * run->ops_per_stage + run->actors[a].pc];
}

static const struct step_chunk *chunk_of(const struct step_run *run, uint32_t stage, uint32_t chunk)
{
    return &run->problem->chunks[stage * run->problem->header.chunks + chunk];
}

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
    return op->backward ? stage + 1 == h->pp && op->chunk + 1u == h->chunks
                        : stage == 0 && op->chunk == 0;
}

// Pieces an operation is cut into so that data-parallel collectives overlap with it.
static uint32_t pieces_of(const struct step_run *run, uint32_t stage,
                          const struct sand_stage_op *op)
{
    const struct step_header *h = &run->problem->header;
    const int reduces =
        op->backward && h->overlap_reduce && op->micro_batch + 1 == h->micro_batches;
    const int gathers = !op->backward && h->overlap_gather && op->micro_batch == 0;
    return reduces || gathers ? chunk_of(run, stage, op->chunk)->pieces : 1;
}

// Index of a piece's collective in the stage's list of collectives of one direction.
static uint32_t collective_index(const struct step_run *run, uint32_t stage, uint32_t chunk,
                                 uint32_t piece)
{
    const struct run_stage *st = &run->stages[stage];
    return st->first_collective + run->first_piece[stage * run->problem->header.chunks + chunk] +
           piece;
}

// Books the time an actor stood still since `ready`: until `due` for others (bubble), from then on
// for traffic.
static void book_wait(struct step_run *run, uint32_t a, int64_t due, double *traffic_s)
{
    struct run_actor *actor = &run->actors[a];
    const int64_t cut = due < actor->ready ? actor->ready : due > run->now ? run->now : due;
    actor->bubble_s += seconds(cut - actor->ready);
    *traffic_s += seconds(run->now - cut);
    actor->ready = run->now;
}

static enum sand_rc begin_piece(struct step_run *run, uint32_t a)
{
    const struct step_actor *what = &run->problem->actors[a];
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = current_op(run, a);
    const struct step_chunk *chunk = chunk_of(run, what->stage, op->chunk);
    const uint32_t pieces = pieces_of(run, what->stage, op);
    const double work_s =
        (op->backward ? chunk->backward_s : chunk->forward_s) * what->slowness / pieces;
    actor->compute_s += work_s;
    if (op->backward)
        actor->recompute_s += chunk->recompute_s * what->slowness / pieces;
    actor->state = RUN_WORKING;
    return timer(run, work_s, TIMER_WORK, a);
}

// Starts the next piece of the current operation if its input and its parameters are there.
static enum sand_rc try_piece(struct step_run *run, uint32_t a)
{
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = current_op(run, a);
    if (actor->piece == 0 && actor->state != RUN_WAIT_GATHER && !is_source(run, stage, op)) {
        const struct run_input *input = input_of(run, a, op->backward, op->chunk, op->micro_batch);
        actor->state = RUN_WAIT_INPUT;
        if (!input->arrived)
            return SAND_OK;
        book_wait(run, a, input->sent, &actor->pp_s);
    }
    if (!op->backward && run->problem->header.overlap_gather && op->micro_batch == 0) {
        const uint32_t index = collective_index(run, stage, op->chunk, actor->piece);
        actor->state = RUN_WAIT_GATHER;
        if (!run->gathers[index].done)
            return SAND_OK;
        book_wait(run, a, 0, &actor->dp_s);
    }
    return begin_piece(run, a);
}

static enum sand_rc begin_tail(struct step_run *run, uint32_t a);

static enum sand_rc next_op(struct step_run *run, uint32_t a)
{
    struct run_actor *actor = &run->actors[a];
    actor->ready = run->now;
    actor->piece = 0;
    actor->state = RUN_WORKING;
    if (actor->pc < run->ops_per_stage)
        return try_piece(run, a);
    return begin_tail(run, a);
}

// ---- data-parallel collectives
// ----------------------------------------------------------------------

// Starts a collective of a stage on all its rings.
static enum sand_rc collective_begin(struct step_run *run, struct run_collective *list,
                                     uint32_t index)
{
    struct run_collective *c = &list[index];
    const struct step_stage *stage = &run->problem->stages[c->stage];
    const enum run_purpose purpose = list == run->gathers ? RUN_GATHER : RUN_REDUCE;
    c->joined_at = run->now;
    c->pending = stage->n_rings;
    for (uint32_t i = 0; i < stage->n_rings; i++)
        SAND_TRY(flow_put(run, run->problem->rings[stage->first_ring + i], c->bytes, c->latency_s,
                          purpose, index));
    return SAND_OK;
}

// An actor's part of a gradient reduction is ready; the last of the stage's actors starts it.
static enum sand_rc join_reduce(struct step_run *run, uint32_t stage, uint32_t index)
{
    struct run_collective *c = &run->reduces[index];
    if (++c->joined < run->problem->stages[stage].n_actors)
        return SAND_OK;
    return collective_begin(run, run->reduces, index);
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
    actor->state = RUN_OPTIMIZER;
    const double tail_s =
        run->problem->stages[stage].optimizer_s * run->problem->actors[a].slowness +
        run->problem->header.overhead_s;
    actor->compute_s += tail_s;
    return timer(run, tail_s, TIMER_TAIL, a);
}

static enum sand_rc begin_tail(struct step_run *run, uint32_t a)
{
    const struct step_header *h = &run->problem->header;
    const uint32_t stage = run->problem->actors[a].stage;
    const struct run_stage *st = &run->stages[stage];
    run->actors[a].state = RUN_WAIT_REDUCE;
    if (!h->overlap_reduce)
        for (uint32_t i = 0; i < st->n_reduces; i++)
            SAND_TRY(join_reduce(run, stage, st->first_collective + i));
    return try_optimizer(run, a);
}

static enum sand_rc finish_actor(struct step_run *run, uint32_t a)
{
    run->actors[a].state = RUN_DONE;
    run->actors[a].end = run->now;
    run->n_done++;
    return SAND_OK;
}

// Parameters that are not gathered behind the next forward are gathered here.
static enum sand_rc tail_done(struct step_run *run, uint32_t a)
{
    const struct step_header *h = &run->problem->header;
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_stage *st = &run->stages[stage];
    run->actors[a].ready = run->now;
    if (!h->gathers || h->overlap_gather)
        return finish_actor(run, a);
    run->actors[a].state = RUN_WAIT_LAST_GATHER;
    if (++st->gather_joined < run->problem->stages[stage].n_actors)
        return SAND_OK;
    st->last_joined = run->now;
    for (uint32_t i = 0; i < st->n_gathers; i++)
        SAND_TRY(collective_begin(run, run->gathers, st->first_collective + i));
    return SAND_OK;
}

static enum sand_rc wake_stage(struct step_run *run, uint32_t stage, enum run_state state)
{
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        if (run->problem->actors[a].stage != stage || run->actors[a].state != state)
            continue;
        if (state == RUN_WAIT_REDUCE) {
            SAND_TRY(try_optimizer(run, a));
        } else if (state == RUN_WAIT_GATHER) {
            SAND_TRY(try_piece(run, a));
        } else {
            book_wait(run, a, run->stages[stage].last_joined, &run->actors[a].dp_s);
            SAND_TRY(finish_actor(run, a));
        }
    }
    return SAND_OK;
}

static enum sand_rc collective_done(struct step_run *run, struct run_collective *list,
                                    uint32_t index)
{
    struct run_collective *c = &list[index];
    struct run_stage *st = &run->stages[c->stage];
    c->done = 1;
    if (list == run->gathers) {
        if (run->problem->header.overlap_gather)
            return wake_stage(run, c->stage, RUN_WAIT_GATHER);
        return --st->gathers_left == 0 ? wake_stage(run, c->stage, RUN_WAIT_LAST_GATHER) : SAND_OK;
    }
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
        SAND_TRY(flow_put(run, run->problem->sends[from->first_send[backward] + i], h->send_B,
                          h->send_latency_s, RUN_SEND, input));
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
    run->inputs[input].sent = run->now;
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

// Compute and exposed tensor-parallel traffic of a piece are over.
static enum sand_rc piece_done(struct step_run *run, uint32_t a)
{
    const uint32_t stage = run->problem->actors[a].stage;
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = current_op(run, a);
    actor->tp_s += seconds(run->now - actor->tp_begun);
    const struct step_header *h = &run->problem->header;
    if (op->backward && h->overlap_reduce && op->micro_batch + 1 == h->micro_batches)
        SAND_TRY(join_reduce(run, stage, collective_index(run, stage, op->chunk, actor->piece)));
    actor->ready = run->now;
    if (++actor->piece < pieces_of(run, stage, op))
        return try_piece(run, a);
    SAND_TRY(send_output(run, a, op));
    actor->pc++;
    return next_op(run, a);
}

// Compute is over: the exposed part of the tensor-parallel collectives follows.
static enum sand_rc work_done(struct step_run *run, uint32_t a)
{
    const struct step_actor *what = &run->problem->actors[a];
    struct run_actor *actor = &run->actors[a];
    const struct sand_stage_op *op = current_op(run, a);
    const struct step_chunk *chunk = chunk_of(run, what->stage, op->chunk);
    const uint32_t pieces = pieces_of(run, what->stage, op);
    actor->tp_begun = run->now;
    if (what->tp_flow == SAND_NONE || chunk->tp_B[op->backward] <= 0)
        return piece_done(run, a);
    return flow_put(run, what->tp_flow, chunk->tp_B[op->backward] / pieces,
                    chunk->tp_latency_s[op->backward] / pieces, RUN_TP, a);
}

// ---- dispatch
// ---------------------------------------------------------------------------------------

// A flow's message is through: nothing may be faster than its links allow.
static enum sand_rc flow_done(struct step_run *run, uint32_t f)
{
    struct run_flow *flow = &run->flows[f];
    const uint32_t slot = flow->head;
    const struct run_message message = run->messages[slot];
    const double took_s = seconds(run->now - flow->begun);
    const double bound_s = message.bytes / run->problem->flows[f].upper_Bps;
    if (took_s < bound_s * (1 - 1e-9) - 2.0 / STEP_TICKS_PER_S - STEP_CLOCK_GRAIN_S)
        return sand_fail(run->diag, SAND_ERR_INTERNAL,
                         "step: a flow took %.9g s, its links allow no less than %.9g s", took_s,
                         bound_s);
    step_activity_end(&run->activity, f);
    flow->head = message.next;
    flow->busy = 0;
    run->messages[slot].next = run->free_message;
    run->free_message = slot;
    if (flow->head != SAND_NONE)
        SAND_TRY(flow_begin(run, f));
    if (message.purpose == RUN_TP)
        return piece_done(run, message.subject);
    if (message.purpose == RUN_SEND)
        return input_arrived(run, message.subject);
    struct run_collective *list = message.purpose == RUN_GATHER ? run->gathers : run->reduces;
    return --list[message.subject].pending == 0 ? collective_done(run, list, message.subject)
                                                : SAND_OK;
}

static enum sand_rc handle(struct step_run *run, const struct sand_agenda_entry *entry)
{
    run->n_events++;
    const uint32_t subject = (uint32_t)entry->subject;
    switch ((enum timer_kind)entry->kind) {
    case TIMER_WORK:
        return work_done(run, subject);
    case TIMER_LATENCY:
        return flow_bytes(run, subject);
    case TIMER_DELAY:
        return flow_done(run, subject);
    case TIMER_TAIL:
        return tail_done(run, subject);
    }
    return SAND_ERR_INTERNAL;
}

// Names who waits for whom when nothing can happen any more.
static enum sand_rc stuck(struct step_run *run)
{
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        if (run->actors[a].state != RUN_WAIT_INPUT)
            continue;
        const struct sand_stage_op *op = current_op(run, a);
        return sand_fail(
            run->diag, SAND_ERR_INTERNAL,
            "step: stage %u waits for the %s of micro-batch %u, chunk %u, which nobody "
            "sends any more",
            run->problem->actors[a].stage, op->backward ? "backward" : "forward", op->micro_batch,
            op->chunk);
    }
    return sand_fail(run->diag, SAND_ERR_INTERNAL,
                     "step: waiting for a collective that never starts");
}

// Lets time pass to the next date or the next end of a flow.
static enum sand_rc advance(struct step_run *run)
{
    const struct sand_agenda_entry *next = sand_agenda_peek(&run->agenda);
    double wait_s = INFINITY;
    if (next != NULL)
        wait_s = fmax(0, seconds(next->date) - sand_bridge_now_s(run->bridge));
    uint32_t n = 0;
    SAND_TRY(sand_bridge_wait(run->bridge, wait_s, run->ends, &n));
    if (n == 0 && next != NULL) {
        run->now = next->date;
        return SAND_OK;
    }
    const int64_t clock = ticks(sand_bridge_now_s(run->bridge));
    run->now = next != NULL && clock > next->date ? next->date
               : clock > run->now                 ? clock
                                                  : run->now;
    run->n_live -= n;
    for (uint32_t i = 0; i < n; i++)
        SAND_TRY(flow_done(run, run->flow_of_handle[run->ends[i].flow]));
    return SAND_OK;
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    struct step_run *run = argument;
    run->bridge = bridge;
    if (run->problem->header.overlap_gather)
        for (uint32_t i = 0; i < run->n_collectives; i++)
            SAND_TRY(collective_begin(run, run->gathers, i));
    for (uint32_t a = 0; a < run->problem->n_actors; a++)
        SAND_TRY(next_op(run, a));
    while (run->n_done < run->problem->n_actors) {
        const struct sand_agenda_entry *next = sand_agenda_peek(&run->agenda);
        struct sand_agenda_entry entry;
        if (next == NULL && run->n_live == 0)
            return stuck(run);
        if (next == NULL || next->date > run->now) {
            step_activity_note(&run->activity);
            SAND_TRY(advance(run));
        } else if (sand_agenda_take(&run->agenda, &entry))
            SAND_TRY(handle(run, &entry));
    }
    return SAND_OK;
}

enum sand_rc step_run_pump(struct step_run *run, struct sand_diag *diag)
{
    const struct sand_bridge_platform platform = {.link_Bps = run->problem->link_Bps,
                                                  .n_links = (uint32_t)run->problem->n_links,
                                                  .max_flows = (uint32_t)run->problem->n_flows};
    run->diag = diag;
    return sand_bridge_run(&platform, pump, run, diag);
}
