// A job from arrival to end: start, stretches of whole steps, the boundaries that matter.
// A stretch begins at t0 with `first` steps done and completes step first + k at t0 + k T; nothing
// is simulated between the boundaries at which something happens.
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

static void remove_job(uint32_t *jobs, size_t *n, uint32_t job)
{
    size_t i = 0;
    while (i < *n && jobs[i] != job)
        i++;
    if (i == *n)
        return;
    (*n)--;
    memmove(&jobs[i], &jobs[i + 1], (*n - i) * sizeof *jobs);
}

// ---- phases -------------------------------------------------------------------------------------

// Whole steps done by now; passing the high-water mark ends the recovery.
static void count_steps(struct sand_world *w, struct sand_world_job *j)
{
    j->done = j->first + (uint64_t)((w->now_ns - j->t0_ns) / j->step_ns);
    if (j->done <= j->highest)
        return;
    j->highest = j->done;
    sand_incident_close_all(w, j);
}

void sand_life_settle(struct sand_world *w, struct sand_world_job *j)
{
    const int64_t elapsed = w->now_ns - j->since_ns;
    if (elapsed > 0) {
        sand_incident_book(w, j);
        const sand_gpu_ns held = (sand_gpu_ns)elapsed * j->n_held * w->gpus_per_node;
        j->held_gpu_ns += held;
        j->window.held_gpu_ns += held;
        if (j->phase == SAND_PHASE_STEPPING) {
            j->window.stepping_ns += elapsed;
            j->window.flops += (double)elapsed / (double)j->step_ns * j->step_flops;
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
        remove_job(w->waiters, &w->n_waiters, j->index);
    if (phase == SAND_PHASE_WAITING && j->phase != SAND_PHASE_WAITING)
        w->waiters[w->n_waiters++] = j->index;
    w->n_moving -= (size_t)phases[j->phase].moving;
    w->n_moving += (size_t)phases[phase].moving;
    j->phase = phase;
    w->job_views[j->index].state = phases[phase].state;
    if (phase > SAND_PHASE_QUEUED)
        sand_ledger_set(w->ledger, j->group, phases[phase].gpu_class, w->now_ns);
}

// ---- arrival and start --------------------------------------------------------------------------

enum sand_rc sand_life_arrive(struct sand_world *w, struct sand_world_job *j)
{
    w->n_arrivals_ahead--;
    sand_life_phase(w, j, SAND_PHASE_QUEUED);
    w->queue[w->n_queue++] = j->index;
    return sand_glue_event(w, SANDTABLE_EVENT_JOB_ARRIVED, j->index, SANDTABLE_NONE);
}

enum sand_rc sand_life_start(struct sand_world *w, struct sand_world_job *j, const uint32_t *nodes)
{
    j->nodes = sand_calloc(j->spec->n_nodes, sizeof *j->nodes);
    if (!j->nodes)
        return SAND_ERR_NOMEM;
    SAND_TRY(sand_ledger_group(w->ledger, SAND_GPU_IDLE, &j->group));
    remove_job(w->queue, &w->n_queue, j->index);
    w->active[w->n_active++] = j->index;
    j->live = (uint32_t)w->n_live;
    w->live[w->n_live++] = j->index;
    j->start_ns = j->since_ns = w->now_ns;
    struct sandtable_job *view = &w->job_views[j->index];
    view->start_ns = w->now_ns;
    if (view->walltime_ns >= 0)
        view->end_ns = sand_world_later(w->now_ns, view->walltime_ns);
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
    j->in_attempt = 1;
    j->attempt_ns = w->now_ns;
    j->attempt_first = j->done;
    j->attempt_steps = 0;
    SAND_TRY(sand_glue_plan(w, j));
    return sand_life_step(w, j);
}

enum sand_rc sand_life_step(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_phase(w, j, SAND_PHASE_STEPPING);
    j->t0_ns = w->now_ns;
    j->first = j->done;
    return sand_life_plan(w, j);
}

static uint64_t ceil_steps(int64_t duration_ns, int64_t step_ns)
{
    return (uint64_t)(duration_ns / step_ns) + (duration_ns % step_ns != 0);
}

// Steps of the stretch after which a save is due; one at least, so that training goes on.
static uint64_t steps_until_save(const struct sand_world *w, const struct sand_world_job *j)
{
    uint64_t steps = ceil_steps(j->interval_ns, j->step_ns);
    const uint64_t passed = ceil_steps(w->now_ns - j->t0_ns, j->step_ns);
    if (steps < passed)
        steps = passed;
    return steps > 0 ? steps : 1;
}

static int64_t boundary_date(const struct sand_world_job *j, uint64_t steps)
{
    if (steps > (uint64_t)((INT64_MAX - j->t0_ns) / j->step_ns))
        return INT64_MAX;
    return j->t0_ns + (int64_t)steps * j->step_ns;
}

enum sand_rc sand_life_plan(struct sand_world *w, struct sand_world_job *j)
{
    const uint64_t to_end = j->total == SAND_NO_LIMIT ? SAND_NO_LIMIT : j->total - j->first;
    uint64_t steps = to_end;
    if (j->plan.save && !j->save.active && steps_until_save(w, j) < steps)
        steps = steps_until_save(w, j);
    if (j->first_open != SAND_NONE && j->highest + 1 - j->first < steps)
        steps = j->highest + 1 - j->first;
    return sand_world_put(w, boundary_date(j, steps),
                          steps == to_end ? SAND_RANK_JOB_END : SAND_RANK_TIMER, SAND_EVENT_JOB,
                          j->index, &j->token);
}

int64_t sand_life_pause(struct sand_world *w, struct sand_world_job *j)
{
    const uint64_t steps = j->done - j->first;
    const int64_t whole_ns = (int64_t)steps * j->step_ns;
    j->executed += steps;
    j->executed_ns += whole_ns;
    j->attempt_steps += steps;
    j->executed_flops += (double)steps * j->step_flops;
    j->executed_hw_flops += (double)steps * j->step_hw_flops;
    j->executed_peak_s += sand_s_from_ns(whole_ns) * j->peak_flops;
    j->token = SAND_NO_ENTRY;
    return w->now_ns - j->t0_ns - whole_ns;
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
void sand_life_make_useful(struct sand_world *w, const struct sand_world_job *j, uint64_t steps)
{
    const int64_t slow_ns = j->step_ns > j->healthy_ns ? j->step_ns - j->healthy_ns : 0;
    const int64_t rest_ns = j->step_ns - slow_ns;
    const int64_t data_ns = j->data_stall_ns < rest_ns ? j->data_stall_ns : rest_ns;
    const sand_gpu_ns gpu_steps = (sand_gpu_ns)steps * (sand_gpu_ns)j->gpus;
    sand_ledger_settle(w->ledger, w->now_ns);
    rebook(w, SAND_GPU_SLOWDOWN, gpu_steps * slow_ns);
    rebook(w, SAND_GPU_DATA_STALL, gpu_steps * data_ns);
    rebook(w, SAND_GPU_USEFUL, gpu_steps * (rest_ns - data_ns));
}

static enum sand_rc end_job(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_pause(w, j);
    const uint64_t at_risk = j->done - j->durable;
    sand_life_make_useful(w, j, at_risk);
    j->durable_ns += (int64_t)at_risk * j->step_ns;
    j->durable = j->done;
    SAND_TRY(sand_save_abort(w, j));
    SAND_TRY(sand_life_close_attempt(w, j));
    sand_life_phase(w, j, SAND_PHASE_ENDED);
    j->end_ns = w->now_ns;
    w->live[j->live] = w->live[--w->n_live];
    w->jobs[w->live[j->live]].live = j->live;
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++)
        sand_pool_release(w, j, j->nodes[rank]);
    sand_free(j->nodes);
    j->nodes = NULL;
    sand_ledger_drop(w->ledger, j->group);
    return sand_glue_event(w, SANDTABLE_EVENT_JOB_ENDED, j->index, SANDTABLE_NONE);
}

static int save_is_due(const struct sand_world_job *j)
{
    const uint64_t steps = j->done - j->first;
    return j->plan.save && !j->save.active && steps > 0 &&
           steps >= ceil_steps(j->interval_ns, j->step_ns);
}

enum sand_rc sand_life_boundary(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_settle(w, j);
    if (j->done >= j->total)
        return end_job(w, j);
    if (save_is_due(j))
        return sand_save_begin(w, j);
    return sand_life_plan(w, j);
}
