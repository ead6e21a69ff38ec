// The loop: dates from the agenda, transfers from SimGrid, one decision per instant.
// The agenda's integers are the truth. SimGrid's clock is led from date to date; a transfer that
// ends on the way becomes an entry at the nearest nanosecond, never before now and never after the
// date that was being waited for.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "units.h"

// Largest difference between SimGrid's clock and the agenda's date, seconds.
static const double clock_tolerance_s = 1e-6;

// ---- time ---------------------------------------------------------------------------------------

static enum sand_rc note_flow_ends(struct sand_world *w, uint32_t n, int64_t date)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t flow = w->flow_ends[i].flow;
        struct sand_world_job *j = w->flow_jobs[flow];
        if (w->flow_ends[i].failed)
            return sand_fail(w->diag, SAND_ERR_INTERNAL, "job \"%s\": its transfer failed",
                             j->spec->id);
        j->flow = SAND_NONE;
        SAND_TRY(sand_world_put(
            w, date, j->phase == SAND_PHASE_RESTORING ? SAND_RANK_TIMER : SAND_RANK_COMMIT,
            SAND_EVENT_FLOW, j->slot, &j->flow_token));
    }
    return SAND_OK;
}

static int64_t clamp_date(int64_t date, int64_t low, int64_t high)
{
    if (date < low)
        return low;
    return date > high ? high : date;
}

// Lets SimGrid reach the next date, or the first end of a transfer before it.
static enum sand_rc reach(struct sand_world *w, int64_t date)
{
    const double seconds = sand_s_from_ns(date) - sand_bridge_now_s(w->bridge);
    if (date == w->now_ns || seconds <= 0)
        return SAND_OK;
    uint32_t n = 0;
    SAND_TRY(sand_bridge_wait(w->bridge, seconds, w->flow_ends, &n));
    const double now_s = sand_bridge_now_s(w->bridge);
    if (n > 0)
        return note_flow_ends(w, n, clamp_date(sand_ns_from_s(now_s), w->now_ns, date));
    if (fabs(now_s - sand_s_from_ns(date)) > clock_tolerance_s)
        return sand_fail(w->diag, SAND_ERR_INTERNAL,
                         "SimGrid's clock is at %.9f s instead of %.9f s", now_s,
                         sand_s_from_ns(date));
    return SAND_OK;
}

// ---- events -------------------------------------------------------------------------------------

static enum sand_rc job_event(struct sand_world *w, struct sand_world_job *j)
{
    switch (j->phase) {
    case SAND_PHASE_STEPPING:
        return sand_life_boundary(w, j);
    case SAND_PHASE_SAVING:
        return sand_save_stalled(w, j);
    default:
        return sand_recovery_advance(w, j);
    }
}

static enum sand_rc flow_event(struct sand_world *w, struct sand_world_job *j)
{
    j->flow_token = SAND_NO_ENTRY;
    sand_life_settle(w, j);
    sand_shared_note(w);
    if (j->phase == SAND_PHASE_RESTORING)
        return sand_recovery_advance(w, j);
    return sand_save_durable(w, j);
}

static enum sand_rc window_event(struct sand_world *w)
{
    SAND_TRY(sand_window_close(w));
    if (w->options->progress)
        w->options->progress(w->options->progress_self, w->now_ns, w->end_ns);
    const int64_t next = sand_world_later(w->now_ns, w->experiment->mfu_window_ns);
    if (next >= w->end_ns)
        return SAND_OK;
    return sand_world_put(w, next, SAND_RANK_TIMER, SAND_EVENT_WINDOW, 0, NULL);
}

static enum sand_rc wake_event(struct sand_world *w)
{
    w->n_wakes_ahead--;
    w->idle_wakes++;
    return sand_glue_event(w, SANDTABLE_EVENT_TIMER, SANDTABLE_NONE, SANDTABLE_NONE);
}

// The rows of what is under way, the last window.
static enum sand_rc end_event(struct sand_world *w)
{
    w->ended = 1;
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        if (j->phase == SAND_PHASE_ENDED)
            continue;
        sand_life_settle(w, j);
        SAND_TRY(sand_ailing_credit(w, j));
        SAND_TRY(sand_neighbours_credit(w, j));
        SAND_TRY(sand_neighbours_emit(w, j));
        if (j->phase == SAND_PHASE_STEPPING)
            sand_life_pause(w, j);
        SAND_TRY(sand_save_abort(w, j));
        SAND_TRY(sand_save_cancel_flow(w, j));
        SAND_TRY(sand_life_close_attempt(w, j));
        sand_incident_settle(w, j);
    }
    SAND_TRY(sand_ailing_finish(w));
    return sand_window_close(w);
}

static enum sand_rc timeout_event(struct sand_world *w, const struct sand_agenda_entry *entry)
{
    struct sand_world_job *j = w->slots[entry->subject];
    const int waits = j->ailing && j->ailing->cut_by && j->ailing->cut_token == entry->sequence;
    return waits ? sand_ailing_timeout(w, j) : SAND_OK;
}

static enum sand_rc dispatch(struct sand_world *w, const struct sand_agenda_entry *entry)
{
    const uint32_t subject = (uint32_t)entry->subject;
    switch ((enum sand_world_event)entry->kind) {
    case SAND_EVENT_JOB:
        return entry->sequence == w->slots[subject]->token ? job_event(w, w->slots[subject])
                                                           : SAND_OK;
    case SAND_EVENT_FLOW:
        return entry->sequence == w->slots[subject]->flow_token ? flow_event(w, w->slots[subject])
                                                                : SAND_OK;
    case SAND_EVENT_REPAIR:
        return sand_pool_repaired(w, subject);
    case SAND_EVENT_FAULT:
        return entry->sequence == w->nodes[subject].fault_token ? sand_recovery_strike(w, subject)
                                                                : SAND_OK;
    case SAND_EVENT_ARRIVAL:
        return sand_life_arrive(w);
    case SAND_EVENT_WAKE:
        return wake_event(w);
    case SAND_EVENT_STRIKE:
        return sand_ailing_strike(w, subject);
    case SAND_EVENT_TOGGLE:
        return sand_ailing_toggle(w, subject, entry->sequence);
    case SAND_EVENT_NOTICED:
        return sand_ailing_noticed(w, subject);
    case SAND_EVENT_HEALED:
        return sand_ailing_healed(w, subject);
    case SAND_EVENT_TIMEOUT:
        return timeout_event(w, entry);
    case SAND_EVENT_FOUND:
        sand_shared_note(w);
        return SAND_OK;
    case SAND_EVENT_WINDOW:
        return window_event(w);
    case SAND_EVENT_END:
        break;
    }
    return end_event(w);
}

// ---- instants -----------------------------------------------------------------------------------

// Nothing is under way that could ever give the one who waits longest what it waits for.
static enum sand_rc check_hope(const struct sand_world *w)
{
    if (w->arrival_ahead || w->n_moving + w->n_repairs_ahead + w->n_wakes_ahead > 0)
        return SAND_OK;
    if (w->n_waiters == 0 && w->n_queue == 0)
        return SAND_OK;
    const struct sand_world_job *j =
        w->n_waiters > 0 ? w->waiters[0] : sand_jobs_find(w, w->queue[0]);
    const uint32_t in_use = w->cluster->n_nodes - w->n_idle - w->n_spares;
    return sand_fail(w->diag, SAND_ERR_UNIT,
                     "replication %u at %.9g s: job \"%s\" waits for %u nodes that can never come: "
                     "of %u nodes %u are idle, %u spares, %u held by waiting jobs, none in repair, "
                     "and policy \"%s\" gives it none; enlarge the cluster, shrink the job or set "
                     "fewer hot spares apart",
                     w->options->replication, sand_s_from_ns(w->now_ns), j->spec->id,
                     j->spec->n_nodes - j->n_held, w->cluster->n_nodes, w->n_idle, w->n_spares,
                     in_use, w->n_waiters > 0 ? w->recover.policy.type : w->schedule.policy.type);
}

// Recovering jobs come before new ones; then one decision.
static enum sand_rc end_instant(struct sand_world *w)
{
    if (w->ended)
        return SAND_OK;
    if (w->nodes_freed)
        SAND_TRY(sand_recovery_retry(w));
    if (!w->something_happened)
        return SAND_OK;
    w->something_happened = 0;
    SAND_TRY(sand_glue_decide(w));
    w->something_happened = 0; // its own starts are no reason to decide again
    return check_hope(w);
}

static enum sand_rc check_after_event(struct sand_world *w)
{
#ifdef SAND_HOSTILE
    return sand_world_check(w);
#else
    (void)w;
    return SAND_OK;
#endif
}

// Everything of one date, in order, then the decision; or a decision after each.
static enum sand_rc run_instant(struct sand_world *w, int64_t date)
{
    if (date < w->now_ns)
        return sand_fail(w->diag, SAND_ERR_INTERNAL, "the agenda goes back from %lld to %lld ns",
                         (long long)w->now_ns, (long long)date);
    w->now_ns = date;
    const struct sand_agenda_entry *next = sand_agenda_peek(&w->agenda);
    while (!w->ended && next && next->date == date) {
        struct sand_agenda_entry entry;
        sand_agenda_take(&w->agenda, &entry);
        SAND_TRY(dispatch(w, &entry));
        SAND_TRY(check_after_event(w));
        if (w->experiment->events == SAND_EVENTS_EACH)
            SAND_TRY(end_instant(w));
        next = sand_agenda_peek(&w->agenda);
    }
    SAND_TRY(end_instant(w));
    if (w->ended)
        return SAND_OK;
    SAND_TRY(sand_coupling_settle(w));
    return sand_shared_settle(w);
}

enum sand_rc sand_pump_run(struct sand_bridge *bridge, void *argument)
{
    struct sand_world *w = argument;
    w->bridge = bridge;
    while (!w->ended) {
        SAND_TRY(reach(w, sand_agenda_peek(&w->agenda)->date));
        SAND_TRY(run_instant(w, sand_agenda_peek(&w->agenda)->date));
    }
    w->bridge = NULL;
    return SAND_OK;
}
