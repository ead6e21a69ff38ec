// Rows of attempts, checkpoints, step profiles, decisions and incidents.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "units.h"

enum sand_rc sand_emit_row(struct sand_world *w, enum sand_table table, const void *row)
{
    return w->sink->row(w->sink->self, table, row);
}

static int64_t mean_step_ns(const struct sand_progress *p)
{
    const int changed = p->n_changes > 0 && p->spent.steps > 0;
    return changed ? p->spent.time_ns / (int64_t)p->spent.steps : p->rate.step_ns;
}

enum sand_rc sand_emit_attempt(struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_spent *spent = &j->progress.spent;
    const struct sand_spent *survived = j->attempt_lost > 0 ? &j->durable_spent : spent;
    const struct sand_attempts_row row = {.replication = w->options->replication,
                                          .job = j->index,
                                          .attempt = j->attempt,
                                          .begin_ns = j->attempt_ns,
                                          .end_ns = w->now_ns,
                                          .first_step = j->attempt_first,
                                          .steps = spent->steps,
                                          .profile = j->profile_number,
                                          .step_s = sand_s_from_ns(mean_step_ns(&j->progress)),
                                          .steps_ns = spent->time_ns,
                                          .steps_lost = j->attempt_lost,
                                          .lost_ns = spent->time_ns - survived->time_ns,
                                          .placement_ns = survived->by_ns[SAND_SLOW_PLACEMENT],
                                          .neighbours_ns = survived->by_ns[SAND_SLOW_NEIGHBOURS],
                                          .faults_ns = survived->by_ns[SAND_SLOW_FAULTS],
                                          .transfers_ns = survived->by_ns[SAND_SLOW_TRANSFERS]};
    return sand_emit_row(w, SAND_TABLE_attempts, &row);
}

enum sand_rc sand_emit_checkpoint(struct sand_world *w, const struct sand_world_job *j,
                                  int64_t resume_ns, int64_t durable_ns)
{
    const struct sand_checkpoints_row row = {.replication = w->options->replication,
                                             .job = j->index,
                                             .step = j->save.step,
                                             .begin_ns = j->save.begin_ns,
                                             .resume_ns = resume_ns,
                                             .durable_ns = durable_ns,
                                             .bytes = j->bytes > 0 ? j->bytes : NAN};
    return sand_emit_row(w, SAND_TABLE_checkpoints, &row);
}

// ---- step profiles ------------------------------------------------------------------------------

static enum sand_rc emit_link(struct sand_world *w, const struct sand_step_answer *answer, int c)
{
    struct sand_links_row row = {.replication = w->options->replication,
                                 .profile = answer->number,
                                 .step_B = answer->profile.link_B[c],
                                 .utilisation = answer->profile.link_utilisation[c]};
    sand_cell_set(&row.link_class, sand_link_class_name((enum sand_link_class)c));
    return sand_emit_row(w, SAND_TABLE_links, &row);
}

// Classes that carry nothing have no row.
enum sand_rc sand_emit_profile(struct sand_world *w, const struct sand_step_answer *answer)
{
    const struct sand_step_profile *p = &answer->profile;
    const struct sand_steps_row row = {.replication = w->options->replication,
                                       .profile = answer->number,
                                       .job = answer->job,
                                       .step_s = p->step_s,
                                       .compute_s = p->compute_s,
                                       .exposed_tp_s = p->exposed_tp_s,
                                       .exposed_cp_s = p->exposed_cp_s,
                                       .exposed_pp_s = p->exposed_pp_s,
                                       .exposed_dp_s = p->exposed_dp_s,
                                       .bubble_s = p->bubble_s,
                                       .data_stall_s = p->data_stall_s,
                                       .tokens_per_s = p->tokens_per_s,
                                       .mfu = p->mfu,
                                       .hfu = p->hfu,
                                       .memory_B = p->memory.total_B};
    SAND_TRY(sand_emit_row(w, SAND_TABLE_steps, &row));
    for (int c = 0; c < SAND_LINK_CLASSES; c++) {
        if (p->link_B[c] > 0)
            SAND_TRY(emit_link(w, answer, c));
    }
    return SAND_OK;
}

// ---- decisions and incidents --------------------------------------------------------------------

enum sand_rc sand_emit_decision(struct sand_world *w, const struct sand_glue *glue,
                                const char *action, uint32_t job, uint32_t node, double value)
{
    struct sand_decisions_row row = {.replication = w->options->replication,
                                     .date_ns = w->now_ns,
                                     .job = job,
                                     .node = node,
                                     .value = value};
    sand_cell_set(&row.policy, glue->policy.type);
    sand_cell_set(&row.action, action);
    return sand_emit_row(w, SAND_TABLE_decisions, &row);
}

static double part_s(const struct sand_incident *i, enum sand_incident_part part)
{
    return sand_s_from_ns(i->parts_ns[part]);
}

// An incident still open at the end has the parts booked so far.
static enum sand_rc emit_incident(struct sand_world *w, uint32_t number)
{
    const struct sand_incident *i = &w->incidents[number];
    const struct sand_fault_class *class = sand_incident_class(w, i);
    const int64_t recovery_ns = sand_incident_recovery_ns(i);
    const int64_t lost_ns = sand_incident_lost_ns(i);
    struct sand_incidents_row row = {.replication = w->options->replication,
                                     .incident = number,
                                     .parent = i->parent,
                                     .job = i->job,
                                     .planned = class->planned != 0,
                                     .node = i->fault.node,
                                     .component = i->fault.component,
                                     .fault_ns = i->fault_ns,
                                     .recovered_ns = i->recovered_ns,
                                     .steps_lost = i->steps_lost,
                                     .partial_step_s = sand_s_from_ns(i->partial_ns),
                                     .recovery_s = sand_s_from_ns(recovery_ns),
                                     .detect_s = part_s(i, SAND_PART_DETECT),
                                     .diagnose_s = part_s(i, SAND_PART_DIAGNOSE),
                                     .wait_nodes_s = part_s(i, SAND_PART_WAIT),
                                     .restart_s = part_s(i, SAND_PART_RESTART),
                                     .restore_s = part_s(i, SAND_PART_RESTORE),
                                     .recompute_s = part_s(i, SAND_PART_RECOMPUTE),
                                     .catch_up_s = part_s(i, SAND_PART_CATCH_UP),
                                     .repair_s = sand_s_from_ns(i->repair_ns),
                                     .replacement = i->replacement,
                                     .lost_gpu_s = sand_s_from_ns(lost_ns) * (double)i->gpus};
    sand_cell_set(&row.fault_class, class->id);
    sand_cell_set(&row.cause, class->cause);
    return sand_emit_row(w, SAND_TABLE_incidents, &row);
}

enum sand_rc sand_emit_incidents(struct sand_world *w)
{
    for (uint32_t i = 0; i < w->n_incidents; i++)
        SAND_TRY(emit_incident(w, i));
    return SAND_OK;
}
