// Dates and flows of a running step: one message at a time on a flow, others queue.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include "ids.h"
#include "mem.h"

enum sand_rc run_timer(struct step_run *run, double delay_s, enum run_timer_kind kind,
                       uint32_t subject)
{
    SAND_TRY(run_check_date(run->engine, run->step_begun, run_seconds(run->engine->now) + delay_s));
    const struct sand_agenda_entry entry = {.date = run->engine->now + run_ticks(delay_s),
                                            .kind = kind,
                                            .subject = (uint64_t)run->index << 32 | subject};
    return sand_agenda_put(&run->engine->agenda, entry, NULL);
}

// ---- flows: one message at a time, others queue
// -----------------------------------------------------

static enum sand_rc put_bytes(struct step_run *run, uint32_t f, double bytes)
{
    const struct step_flow *what = &run->problem->flows[f];
    uint32_t *handle = &run->flows[f].handle;
    SAND_TRY(sand_bridge_flow_start(run->engine->bridge, run->route + what->first_link,
                                    what->n_links, bytes, handle));
    run->engine->handles[*handle] = (struct run_handle){run->index, f};
    return SAND_OK;
}

// The latency is over: the bytes of the first message in the queue set out.
enum sand_rc run_flow_bytes(struct step_run *run, uint32_t f)
{
    const struct step_flow *what = &run->problem->flows[f];
    const struct run_message *message = &run->messages[run->flows[f].head];
    run->flows[f].begun = run->engine->now;
    step_activity_start(&run->activity, f);
    run->engine->n_events++;
    if (message->bytes <= 0)
        return run_timer(run, 0, TIMER_DELAY, f);
    if (what->n_links == 0)
        return run_timer(run, message->bytes / what->upper_Bps, TIMER_DELAY, f);
    double bytes = message->bytes;
    if (run->engine->set_out != NULL && run->coupled[f])
        SAND_TRY(run->engine->set_out(run->engine->self, run, f, &bytes));
    run->engine->n_live++;
    return put_bytes(run, f, bytes);
}

double run_flow_left_B(const struct step_run *run, uint32_t f)
{
    const struct run_handle *handle = &run->engine->handles[run->flows[f].handle];
    if (handle->run != run->index || handle->flow != f)
        return 0;
    return sand_bridge_flow_remaining_B(run->engine->bridge, run->flows[f].handle);
}

enum sand_rc run_flow_replace(struct step_run *run, uint32_t f, double bytes)
{
    SAND_TRY(sand_bridge_flow_cancel(run->engine->bridge, run->flows[f].handle, NULL));
    run->engine->handles[run->flows[f].handle].run = SAND_NONE;
    return put_bytes(run, f, bytes);
}

static enum sand_rc flow_begin(struct step_run *run, uint32_t f)
{
    run->flows[f].busy = 1;
    const double latency_s = run->messages[run->flows[f].head].latency_s;
    return latency_s > 0 ? run_timer(run, latency_s, TIMER_LATENCY, f) : run_flow_bytes(run, f);
}

// Queues a message on a flow; it takes its latency, then its bytes' time. `purpose` and `subject`
// say what its arrival means.
enum sand_rc run_flow_put(struct step_run *run, uint32_t f, double bytes, double latency_s,
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

// A flow's message is through: nothing may be faster than its links allow. The next one begins.
enum sand_rc run_flow_end(struct step_run *run, uint32_t f, struct run_message *message)
{
    struct run_flow *flow = &run->flows[f];
    const uint32_t slot = flow->head;
    *message = run->messages[slot];
    const double took_s = run_seconds(run->engine->now - flow->begun);
    const double bound_s = message->bytes / run->problem->flows[f].upper_Bps;
    const double clock_s = 4e-16 * run_seconds(run->engine->now); // what a double tells apart there
    if (took_s < bound_s * (1 - 1e-9) - 2.0 / STEP_TICKS_PER_S - STEP_CLOCK_GRAIN_S - 2 * clock_s)
        return sand_fail(run->engine->diag, SAND_ERR_INTERNAL,
                         "step: a flow took %.9g s, its links allow no less than %.9g s", took_s,
                         bound_s);
    step_activity_end(&run->activity, f);
    if (run->engine->through != NULL && run->coupled[f] && message->bytes > 0)
        SAND_TRY(run->engine->through(run->engine->self, run, f));
    flow->head = message->next;
    flow->busy = 0;
    run->messages[slot].next = run->free_message;
    run->free_message = slot;
    return flow->head != SAND_NONE ? flow_begin(run, f) : SAND_OK;
}

// ---- collectives, leg by leg --------------------------------------------------------------------

static int leg_exists(const struct step_run *run, uint32_t stage, const struct run_legs *legs,
                      uint32_t ring)
{
    return run->problem->stages[stage].n_rings[ring] > 0 &&
           legs->share * (legs->load->hop_B[ring] + legs->load->latency_s[ring]) > 0;
}

enum sand_rc run_leg(struct step_run *run, uint32_t stage, struct run_legs *legs,
                     enum run_purpose purpose, uint32_t subject, uint32_t *pending)
{
    const struct step_stage *st = &run->problem->stages[stage];
    *pending = 0;
    while (legs->ring < STEP_RINGS && !leg_exists(run, stage, legs, legs->ring))
        legs->ring++;
    if (legs->ring == STEP_RINGS)
        return SAND_OK;
    const uint32_t ring = legs->ring++;
    *pending = st->n_rings[ring];
    for (uint32_t i = 0; i < st->n_rings[ring]; i++)
        SAND_TRY(run_flow_put(run, run->problem->rings[st->first_ring[ring] + i],
                              legs->share * legs->load->hop_B[ring],
                              legs->share * legs->load->latency_s[ring], purpose, subject));
    return SAND_OK;
}

int run_legs_any(const struct step_run *run, uint32_t stage, const struct run_legs *legs,
                 int only_coupled)
{
    const struct step_stage *st = &run->problem->stages[stage];
    for (uint32_t ring = 0; ring < STEP_RINGS; ring++)
        for (uint32_t i = 0; i < st->n_rings[ring] && leg_exists(run, stage, legs, ring); i++)
            if (!only_coupled || run->coupled[run->problem->rings[st->first_ring[ring] + i]])
                return 1;
    return 0;
}
