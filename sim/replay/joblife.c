// A job from arrival to end: start, stretches of whole steps, the boundaries that matter.
// A stretch runs from a (re)start or a save to the next; nothing is simulated between the
// boundaries at which something happens.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "units.h"

// X(phase, ledger class, state in the policies' view, 1 if it goes on by itself)
static const struct {
    enum sand_gpu_class gpu_class;
    enum sandtable_job_state state;
    int moving;
} phases[] = {
    [SAND_PHASE_FUTURE] = {SAND_GPU_IDLE, SANDTABLE_JOB_FUTURE, 0},
    [SAND_PHASE_QUEUED] = {SAND_GPU_IDLE, SANDTABLE_JOB_WAITING, 0},
    [SAND_PHASE_STEPPING] = {SAND_GPU_AT_RISK, SANDTABLE_JOB_RUNNING, 1},
    [SAND_PHASE_SAVING] = {SAND_GPU_CHECKPOINT_STALL, SANDTABLE_JOB_RUNNING, 1},
    [SAND_PHASE_DETECTING] = {SAND_GPU_DETECTING, SANDTABLE_JOB_RECOVERING, 1},
    [SAND_PHASE_DIAGNOSING] = {SAND_GPU_DIAGNOSING, SANDTABLE_JOB_RECOVERING, 1},
    [SAND_PHASE_WAITING] = {SAND_GPU_WAITING, SANDTABLE_JOB_RECOVERING, 0},
    [SAND_PHASE_RESTARTING] = {SAND_GPU_RESTARTING, SANDTABLE_JOB_RECOVERING, 1},
    [SAND_PHASE_RESTORING] = {SAND_GPU_RESTORING, SANDTABLE_JOB_RECOVERING, 1},
    [SAND_PHASE_ENDED] = {SAND_GPU_IDLE, SANDTABLE_JOB_ENDED, 0},
};

static void leave_queue(struct sand_world *w, const struct sand_world_job *j)
{
    size_t i = 0;
    while (i < w->n_queue && w->queue[i] != j->index)
        i++;
    if (i == w->n_queue)
        return;
    w->n_queue--;
    memmove(&w->queue[i], &w->queue[i + 1], (w->n_queue - i) * sizeof *w->queue);
}

static void leave_waiters(struct sand_world *w, const struct sand_world_job *j)
{
    size_t i = 0;
    while (i < w->n_waiters && w->waiters[i] != j)
        i++;
    if (i == w->n_waiters)
        return;
    w->n_waiters--;
    memmove(&w->waiters[i], &w->waiters[i + 1], (w->n_waiters - i) * sizeof *w->waiters);
}

// ---- phases -------------------------------------------------------------------------------------

// A recorded job with a recovery under way.
static int was_struck(const struct sand_world_job *j)
{
    return j->spec->kind == SAND_JOB_RECORDED && j->first_open != SAND_NONE;
}

// When a recorded job will have done again what faults cut off: its record is one step, but work
// like any other (docs/decisions/0007).
static int64_t mark_date(const struct sand_world_job *j)
{
    return sand_progress_part_date(&j->progress, j->highest_part_ns);
}

// Whole steps done by now; passing the high-water mark ends the recovery.
static void count_steps(struct sand_world *w, struct sand_world_job *j)
{
    sand_progress_count(&j->progress, w->now_ns);
    j->done = j->progress.first;
    if (j->done <= j->highest && !(was_struck(j) && mark_date(j) <= w->now_ns))
        return;
    j->highest = j->done;
    sand_incident_close_all(w, j);
}

void sand_life_settle(struct sand_world *w, struct sand_world_job *j)
{
    const int64_t elapsed = w->now_ns - j->since_ns;
    if (elapsed > 0) {
        sand_incident_book(w, j);
        const sand_gpu_ns held = (sand_gpu_ns)elapsed * j->n_held * j->node_gpus;
        j->held_gpu_ns += held;
        j->window.held_gpu_ns += held;
        if (j->phase == SAND_PHASE_STEPPING) {
            const int64_t moving_ns = sand_progress_moving_ns(&j->progress, j->since_ns, w->now_ns);
            j->window.stepping_ns += elapsed;
            j->window.flops += (double)moving_ns / (double)j->rate.step_ns * j->step_flops;
        }
        j->since_ns = w->now_ns;
    }
    if (j->phase == SAND_PHASE_STEPPING)
        count_steps(w, j);
}

void sand_life_phase(struct sand_world *w, struct sand_world_job *j, enum sand_job_phase phase)
{
    if (j->phase > SAND_PHASE_QUEUED)
        sand_life_settle(w, j);
    if (j->phase == SAND_PHASE_WAITING && phase != SAND_PHASE_WAITING)
        leave_waiters(w, j);
    if (phase == SAND_PHASE_WAITING && j->phase != SAND_PHASE_WAITING)
        w->waiters[w->n_waiters++] = j; // room since its start
    w->n_moving -= (size_t)phases[j->phase].moving;
    w->n_moving += (size_t)phases[phase].moving;
    j->phase = phase;
    j->view.state = phases[phase].state;
    if (phase > SAND_PHASE_QUEUED)
        sand_ledger_set(w->ledger, j->group, phases[phase].gpu_class, w->now_ns);
    sand_coupling_note(w, j);
    sand_shared_note(w);
}

// ---- arrival and start --------------------------------------------------------------------------

enum sand_rc sand_life_arrive(struct sand_world *w)
{
    struct sand_world_job *j;
    void *queue = w->queue;
    SAND_TRY(sand_jobs_arrive(w, &j));
    SAND_TRY(sand_grow(&queue, &w->queue_capacity, w->n_queue + 1, sizeof *w->queue));
    w->queue = queue;
    sand_life_phase(w, j, SAND_PHASE_QUEUED);
    w->queue[w->n_queue++] = j->index;
    return sand_glue_event(w, SANDTABLE_EVENT_JOB_ARRIVED, j->index, SANDTABLE_NONE);
}

enum sand_rc sand_life_start(struct sand_world *w, struct sand_world_job *j, const uint32_t *nodes)
{
    void *waiters = w->waiters;
    SAND_TRY(sand_grow(&waiters, &w->waiters_capacity, w->numbers.n, sizeof *w->waiters));
    w->waiters = waiters;
    j->nodes = sand_calloc(j->spec->n_nodes, sizeof *j->nodes);
    if (!j->nodes)
        return SAND_ERR_NOMEM;
    SAND_TRY(sand_ledger_group(w->ledger, SAND_GPU_IDLE, &j->group));
    SAND_TRY(sand_save_take_links(w, j));
    leave_queue(w, j);
    sand_jobs_activate(w, j);
    j->start_ns = j->since_ns = w->now_ns;
    j->view.start_ns = w->now_ns;
    if (j->view.walltime_ns >= 0)
        j->view.end_ns = sand_world_later(w->now_ns, j->view.walltime_ns);
    memcpy(j->nodes, nodes, j->spec->n_nodes * sizeof *nodes);
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++)
        SAND_TRY(sand_pool_take(w, j, nodes[rank]));
    j->nodes_changed = 1;
    w->started_any = 1;
    SAND_TRY(sand_emit_decision(w, &w->schedule, "start", j->index, SAND_NONE, NAN));
    SAND_TRY(sand_glue_event(w, SANDTABLE_EVENT_JOB_STARTED, j->index, SANDTABLE_NONE));
    return sand_life_attempt(w, j);
}

// ---- stretches of steps -------------------------------------------------------------------------

enum sand_rc sand_life_attempt(struct sand_world *w, struct sand_world_job *j)
{
    SAND_TRY(sand_steptime_ask(w, j));
    SAND_TRY(sand_ailing_attempt(w, j));
    sand_neighbours_attempt(j);
    j->in_attempt = 1;
    j->attempt_ns = w->now_ns;
    j->attempt_first = j->done;
    j->attempt_lost = 0;
    sand_progress_open(&j->progress, j->done, &j->rate);
    j->durable_spent = j->paused_spent = j->progress.spent;
    SAND_TRY(sand_glue_plan(w, j));
    return sand_life_step(w, j);
}

enum sand_rc sand_life_step(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_phase(w, j, SAND_PHASE_STEPPING);
    j->stretch_ns = w->now_ns;
    sand_progress_run(&j->progress, w->now_ns, j->resume_ns);
    return sand_life_plan(w, j);
}

static uint64_t stretch_steps(const struct sand_world_job *j)
{
    return j->progress.spent.steps - j->paused_spent.steps;
}

static int will_save(const struct sand_world_job *j)
{
    return (j->plan.save || j->n_announced > 0) && !j->save.active;
}

// Steps done when a save is due; the stretch has one at least, so that training goes on.
static uint64_t steps_at_save(const struct sand_world *w, const struct sand_world_job *j)
{
    const int64_t due_ns =
        j->n_announced > 0 ? w->now_ns : sand_world_later(j->stretch_ns, j->interval_ns);
    const int64_t from_ns = due_ns > w->now_ns ? due_ns : w->now_ns;
    const uint64_t steps = sand_progress_steps_at(&j->progress, from_ns);
    return steps == j->done && stretch_steps(j) == 0 ? steps + 1 : steps;
}

enum sand_rc sand_life_plan(struct sand_world *w, struct sand_world_job *j)
{
    uint64_t steps = j->total;
    if (will_save(j) && steps_at_save(w, j) < steps)
        steps = steps_at_save(w, j);
    if (j->first_open != SAND_NONE && j->highest + 1 < steps)
        steps = j->highest + 1;
    if (was_struck(j))
        return sand_world_put(w, mark_date(j), SAND_RANK_TIMER, SAND_EVENT_JOB, j->slot, &j->token);
    return sand_world_put(w, sand_progress_date(&j->progress, steps),
                          steps == j->total ? SAND_RANK_JOB_END : SAND_RANK_TIMER, SAND_EVENT_JOB,
                          j->slot, &j->token);
}

int64_t sand_life_pause(struct sand_world *w, struct sand_world_job *j)
{
    const struct sand_spent done = sand_spent_since(&j->progress.spent, &j->paused_spent);
    j->executed += done.steps;
    j->executed_ns += done.time_ns;
    j->neighbours_ns += done.by_ns[SAND_SLOW_NEIGHBOURS];
    j->transfers_ns += done.by_ns[SAND_SLOW_TRANSFERS];
    j->executed_flops += (double)done.steps * j->step_flops;
    j->executed_hw_flops += (double)done.steps * j->step_hw_flops;
    j->executed_peak_s += sand_s_from_ns(done.time_ns) * j->peak_flops;
    j->paused_spent = j->progress.spent;
    j->token = SAND_NO_ENTRY;
    return sand_progress_stop(&j->progress, w->now_ns);
}

enum sand_rc sand_life_rate(struct sand_world *w, struct sand_world_job *j,
                            const struct sand_rate *rate)
{
    sand_life_settle(w, j);
    sand_window_weigh(w, j);
    j->rate = *rate;
    if (!j->in_attempt)
        return SAND_OK;
    sand_progress_change(&j->progress, w->now_ns, rate, j->resume_ns);
    return j->phase == SAND_PHASE_STEPPING ? sand_life_plan(w, j) : SAND_OK;
}

enum sand_rc sand_life_slow(struct sand_world *w, struct sand_world_job *j,
                            enum sand_slow_cause cause, int64_t by_ns)
{
    struct sand_rate rate = j->rate;
    rate.step_ns += by_ns - rate.by_ns[cause];
    rate.by_ns[cause] = by_ns;
    return sand_life_rate(w, j, &rate);
}

enum sand_rc sand_life_close_attempt(struct sand_world *w, struct sand_world_job *j)
{
    if (!j->in_attempt)
        return SAND_OK;
    SAND_TRY(sand_emit_attempt(w, j));
    j->in_attempt = 0;
    j->attempt++;
    return SAND_OK;
}

// ---- boundaries and the end ---------------------------------------------------------------------

static void rebook(struct sand_world *w, enum sand_gpu_class to, sand_gpu_ns amount)
{
    if (amount > 0)
        sand_ledger_rebook(w->ledger, SAND_GPU_AT_RISK, to, amount);
}

// A step lost is lost whole; a step that survives is useful up to the healthy step's time.
void sand_life_make_useful(struct sand_world *w, struct sand_world_job *j,
                           const struct sand_spent *spent)
{
    const struct sand_spent safe = sand_spent_since(spent, &j->durable_spent);
    const sand_gpu_ns gpus = (sand_gpu_ns)j->gpus;
    sand_ledger_settle(w->ledger, w->now_ns);
    rebook(w, SAND_GPU_SLOWDOWN, gpus * safe.slow_ns);
    rebook(w, SAND_GPU_DATA_STALL, gpus * safe.data_ns);
    rebook(w, SAND_GPU_USEFUL, gpus * (safe.time_ns - safe.slow_ns - safe.data_ns));
    j->durable += safe.steps;
    j->durable_ns += safe.time_ns;
    j->useful_ns += safe.time_ns - safe.slow_ns - safe.data_ns;
    j->durable_spent = *spent;
}

static enum sand_rc end_job(struct sand_world *w, struct sand_world_job *j)
{
    SAND_TRY(sand_ailing_credit(w, j));
    SAND_TRY(sand_neighbours_credit(w, j));
    SAND_TRY(sand_neighbours_emit(w, j));
    sand_life_pause(w, j);
    sand_life_make_useful(w, j, &j->progress.spent);
    SAND_TRY(sand_save_abort(w, j));
    SAND_TRY(sand_life_close_attempt(w, j));
    SAND_TRY(sand_ailing_rest(w, j));
    sand_life_phase(w, j, SAND_PHASE_ENDED);
    j->end_ns = w->now_ns;
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++)
        SAND_TRY(sand_pool_release(w, j, j->nodes[rank]));
    sand_free(j->nodes);
    j->nodes = NULL;
    sand_ledger_drop(w->ledger, j->group);
    sand_save_give_links(w, j);
    SAND_TRY(sand_jobs_end(w, j));
    return sand_glue_event(w, SANDTABLE_EVENT_JOB_ENDED, j->index, SANDTABLE_NONE);
}

static int save_is_due(const struct sand_world *w, const struct sand_world_job *j)
{
    return will_save(j) && stretch_steps(j) > 0 &&
           (j->n_announced > 0 || w->now_ns - j->stretch_ns >= j->interval_ns);
}

enum sand_rc sand_life_boundary(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_settle(w, j);
    if (j->done >= j->total)
        return end_job(w, j);
    if (save_is_due(w, j))
        return sand_save_begin(w, j);
    return sand_life_plan(w, j);
}
