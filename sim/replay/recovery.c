// From a fault to the next attempt: detect, diagnose, replace or wait, restart, restore.
// A fault during recovery begins again with detection, drawn for the new fault; when its diagnosis
// ends, the remedies of all faults so far are applied in the order in which they struck.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "mem.h"
#include "units.h"

static struct sand_incident *newest(const struct sand_world *w, const struct sand_world_job *j)
{
    return &w->incidents[j->last_open];
}

// Begins a phase of a given length.
static enum sand_rc timed_phase(struct sand_world *w, struct sand_world_job *j,
                                enum sand_job_phase phase, int64_t length_ns)
{
    sand_life_phase(w, j, phase);
    return sand_world_put(w, sand_world_later(w->now_ns, length_ns), SAND_RANK_TIMER,
                          SAND_EVENT_JOB, j->slot, &j->token);
}

static uint32_t rank_of(const struct sand_world_job *j, uint32_t node)
{
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++) {
        if (j->nodes[rank] == node)
            return rank;
    }
    return SAND_NONE; // gone already: struck twice before the first diagnosis ended
}

// ---- the fault ----------------------------------------------------------------------------------

// Everything since the last durable checkpoint is undone. Returns the whole steps lost.
static uint64_t lose_work(struct sand_world *w, struct sand_world_job *j, int64_t partial_ns)
{
    const struct sand_spent lost = sand_spent_since(&j->progress.spent, &j->durable_spent);
    const sand_gpu_ns lost_ns = (sand_gpu_ns)lost.time_ns + partial_ns;
    sand_ledger_settle(w->ledger, w->now_ns);
    if (lost_ns > 0)
        sand_ledger_rebook(w->ledger, SAND_GPU_AT_RISK, SAND_GPU_LOST,
                           lost_ns * (sand_gpu_ns)j->gpus);
    j->steps_lost += lost.steps;
    j->attempt_lost = lost.steps;
    return lost.steps;
}

static int64_t part_done(const struct sand_world *w, const struct sand_world_job *j)
{
    const int cut = j->spec->kind == SAND_JOB_RECORDED && j->phase == SAND_PHASE_STEPPING;
    return cut ? sand_progress_part_ns(&j->progress, w->now_ns) : 0;
}

// A degradation that stops a job has been noticed, by somebody or by its transport.
static int64_t detect_ns(const struct sand_world *w, const struct sand_fault *fault)
{
    const int kills = fault->class_index < w->experiment->faults.n_classes;
    return kills ? sand_fault_detect_ns(w->faults, fault) : 0;
}

enum sand_rc sand_recovery_interrupt(struct sand_world *w, struct sand_world_job *j,
                                     const struct sand_fault *fault)
{
    sand_life_settle(w, j);
    SAND_TRY(sand_ailing_credit(w, j));
    SAND_TRY(sand_neighbours_credit(w, j));
    const int64_t part_ns = part_done(w, j);
    const int64_t partial_ns = j->phase == SAND_PHASE_STEPPING ? sand_life_pause(w, j) : 0;
    const uint64_t steps = lose_work(w, j, partial_ns);
    if (part_ns > j->highest_part_ns)
        j->highest_part_ns = part_ns;
    SAND_TRY(sand_save_abort(w, j));
    SAND_TRY(sand_save_cancel_flow(w, j)); // of a restore
    SAND_TRY(sand_life_close_attempt(w, j));
    SAND_TRY(sand_ailing_rest(w, j));
    SAND_TRY(timed_phase(w, j, SAND_PHASE_DETECTING, detect_ns(w, fault)));
    j->done = j->durable;
    j->progress.spent = j->durable_spent;
    return sand_incident_open(w, j, fault, steps, partial_ns);
}

// ---- planned interruptions ----------------------------------------------------------------------

static int can_save(const struct sand_world_job *j)
{
    return j->checkpoint && j->plan.save &&
           (j->phase == SAND_PHASE_STEPPING || j->phase == SAND_PHASE_SAVING);
}

// The job saves at the next step boundary and is stopped when that is durable; a save being written
// comes first.
static enum sand_rc announce(struct sand_world *w, struct sand_world_job *j,
                             const struct sand_fault *fault)
{
    void *announced = j->announced;
    SAND_TRY(
        sand_grow(&announced, &j->announced_capacity, j->n_announced + 1, sizeof *j->announced));
    j->announced = announced;
    j->announced[j->n_announced++] = *fault;
    if (j->phase != SAND_PHASE_STEPPING)
        return SAND_OK;
    sand_life_settle(w, j);
    return sand_life_plan(w, j);
}

// A node that a recovery has swapped out meanwhile is no longer the job's concern.
enum sand_rc sand_recovery_announced(struct sand_world *w, struct sand_world_job *j)
{
    const size_t n = j->n_announced;
    int stopped = 0;
    j->n_announced = 0;
    for (size_t i = 0; i < n; i++) {
        if (rank_of(j, j->announced[i].node) == SAND_NONE)
            continue;
        SAND_TRY(sand_recovery_interrupt(w, j, &j->announced[i]));
        stopped = 1;
    }
    if (stopped)
        return SAND_OK;
    SAND_TRY(sand_glue_plan(w, j));
    return sand_life_step(w, j);
}

// ---- faults -------------------------------------------------------------------------------------

static enum sand_rc strike_job(struct sand_world *w, struct sand_world_job *j,
                               const struct sand_fault *fault,
                               const struct sand_fault_class *fault_class)
{
    // A job that waits for nodes has no processes that could fail.
    if (j->phase == SAND_PHASE_WAITING && fault_class->component == SAND_COMPONENT_JOB)
        return SAND_OK;
    if (fault_class->planned && can_save(j))
        return announce(w, j, fault);
    return sand_recovery_interrupt(w, j, fault);
}

enum sand_rc sand_recovery_evict(struct sand_world *w, uint32_t node,
                                 const struct sand_fault *fault)
{
    const struct sandtable_tenant *tenants = &w->tenants[(size_t)node * w->most_tenants];
    const struct sand_fault_class *fault_class =
        sand_fault_class_at(&w->experiment->faults, fault->class_index);
    sand_pool_strike(w, node, sand_fault_repair_ns(w->faults, fault));
    for (uint32_t k = 0; k < w->nodes[node].n_tenants; k++)
        SAND_TRY(strike_job(w, sand_jobs_find(w, tenants[k].job), fault, fault_class));
    return SAND_OK;
}

enum sand_rc sand_recovery_strike(struct sand_world *w, uint32_t node)
{
    int64_t next_ns;
    const struct sand_fault fault = sand_fault_take(w->faults, node, &next_ns);
    SAND_TRY(sand_pool_await_fault(w, node, next_ns));
    const struct sand_fault_class *fault_class = &w->experiment->faults.classes[fault.class_index];
    if (fault_class->remedy == SAND_REMEDY_REPLACE)
        sand_pool_strike(w, node, sand_fault_repair_ns(w->faults, &fault));
    const struct sandtable_tenant *tenants = &w->tenants[(size_t)node * w->most_tenants];
    // The GPUs of a node are numbered job after job, the free ones last.
    const uint32_t gpu =
        sand_fault_hits_one_gpu(fault_class) ? sand_fault_gpu(w->faults, &fault) : SAND_NONE;
    uint32_t first_gpu = 0;
    for (uint32_t k = 0; k < w->nodes[node].n_tenants; k++) {
        if (gpu == SAND_NONE || gpu - first_gpu < tenants[k].n_gpus)
            SAND_TRY(strike_job(w, sand_jobs_find(w, tenants[k].job), &fault, fault_class));
        first_gpu += tenants[k].n_gpus;
    }
    return SAND_OK;
}

// ---- remedies -----------------------------------------------------------------------------------

static enum sand_rc install(struct sand_world *w, struct sand_world_job *j, uint32_t rank,
                            uint32_t node)
{
    const int spare = w->node_views[node].state == SANDTABLE_NODE_SPARE;
    SAND_TRY(
        sand_emit_decision(w, &w->recover, spare ? "spare" : "idle node", j->index, node, NAN));
    j->nodes[rank] = node;
    j->nodes_changed = 1;
    return sand_pool_take(w, j, node);
}

// The node can stay: the policy may still swap it.
static enum sand_rc keep_or_swap(struct sand_world *w, struct sand_world_job *j, uint32_t number,
                                 uint32_t rank)
{
    struct sandtable_recover_plan plan;
    const uint32_t node = w->incidents[number].fault.node;
    SAND_TRY(sand_glue_recover(w, j, node, 0, &plan));
    if (plan.action == SANDTABLE_RECOVER_SAME || w->nodes[node].struck) // it leaves anyway
        return sand_emit_decision(w, &w->recover, "restart", j->index, node, NAN);
    w->incidents[number].replacement = plan.node;
    SAND_TRY(sand_pool_release(w, j, node));
    return install(w, j, rank, plan.node);
}

static enum sand_rc remedy(struct sand_world *w, struct sand_world_job *j, uint32_t number)
{
    struct sand_incident *incident = &w->incidents[number];
    if (incident->remedied)
        return SAND_OK;
    incident->remedied = 1;
    const uint32_t rank = rank_of(j, incident->fault.node);
    if (rank == SAND_NONE)
        return SAND_OK;
    if (sand_incident_class(w, incident)->remedy == SAND_REMEDY_RESTART)
        return keep_or_swap(w, j, number, rank);
    incident->repair_ns = sand_fault_repair_ns(w->faults, &incident->fault);
    incident->missing_rank = rank;
    j->nodes[rank] = SAND_NONE;
    return sand_pool_release(w, j, incident->fault.node);
}

// One missing node: the recover policy gives another, or says wait.
static enum sand_rc replace(struct sand_world *w, struct sand_world_job *j, uint32_t number)
{
    struct sand_incident *incident = &w->incidents[number];
    struct sandtable_recover_plan plan;
    if (incident->missing_rank == SAND_NONE)
        return SAND_OK;
    SAND_TRY(sand_glue_recover(w, j, incident->fault.node, 1, &plan));
    if (plan.action == SANDTABLE_RECOVER_REPLACE && sand_slices_rule(w, j) &&
        plan.node != incident->fault.node)
        return sand_slices_move(w, j, number, plan.node);
    if (plan.action == SANDTABLE_RECOVER_REPLACE) {
        const uint32_t rank = incident->missing_rank;
        incident->missing_rank = SAND_NONE;
        incident->replacement = plan.node;
        return install(w, j, rank, plan.node);
    }
    if (incident->wait_reported)
        return SAND_OK;
    incident->wait_reported = 1;
    return sand_emit_decision(w, &w->recover, "wait", j->index, incident->fault.node, NAN);
}

// Complete jobs restart, the others wait.
static enum sand_rc gather(struct sand_world *w, struct sand_world_job *j)
{
    for (uint32_t i = j->first_open; i != SAND_NONE; i = w->incidents[i].next_open)
        SAND_TRY(replace(w, j, i));
    if (j->n_held == j->spec->n_nodes) {
        if (j->nodes_changed)
            SAND_TRY(sand_glue_order(w, j));
        const int64_t switching_ns = j->switching_ns;
        j->switching_ns = 0;
        return timed_phase(
            w, j, SAND_PHASE_RESTARTING,
            sand_world_later(sand_fault_restart_ns(w->faults, &newest(w, j)->fault, 0),
                             switching_ns));
    }
    j->token = SAND_NO_ENTRY;
    if (j->phase != SAND_PHASE_WAITING)
        sand_life_phase(w, j, SAND_PHASE_WAITING);
    return SAND_OK;
}

static enum sand_rc remedy_all(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_settle(w, j); // what it holds changes now
    for (uint32_t i = j->first_open; i != SAND_NONE; i = w->incidents[i].next_open)
        SAND_TRY(remedy(w, j, i));
    return gather(w, j);
}

enum sand_rc sand_recovery_retry(struct sand_world *w)
{
    w->nodes_freed = 0;
    for (size_t i = 0; i < w->n_waiters;) {
        struct sand_world_job *j = w->waiters[i];
        sand_life_settle(w, j);
        SAND_TRY(gather(w, j));
        if (i < w->n_waiters && w->waiters[i] == j)
            i++;
    }
    return SAND_OK;
}

// ---- restoring ----------------------------------------------------------------------------------

static enum sand_rc restore(struct sand_world *w, struct sand_world_job *j)
{
    const double given_s = j->spec->checkpoint.restore_s;
    if (j->durable == 0) // from the start: nothing to read
        return sand_life_attempt(w, j);
    if (given_s >= 0)
        return timed_phase(w, j, SAND_PHASE_RESTORING, sand_ns_from_s(given_s));
    sand_life_phase(w, j, SAND_PHASE_RESTORING);
    j->token = SAND_NO_ENTRY;
    return sand_save_flow(w, j, 1);
}

enum sand_rc sand_recovery_advance(struct sand_world *w, struct sand_world_job *j)
{
    switch (j->phase) {
    case SAND_PHASE_DETECTING:
        return timed_phase(w, j, SAND_PHASE_DIAGNOSING,
                           sand_fault_diagnose_ns(w->faults, &newest(w, j)->fault));
    case SAND_PHASE_DIAGNOSING:
        return remedy_all(w, j);
    case SAND_PHASE_RESTARTING:
        return restore(w, j);
    default: // restoring
        return sand_life_attempt(w, j);
    }
}
