// The end of a replication: one row per job, one for all, and what has to be said about it.
// Steps "that survived" are those no fault has undone: durable ones, and at the end of the
// experiment also those since the last checkpoint (the ledger keeps these at risk).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "units.h"

// ---- jobs ---------------------------------------------------------------------------------------

const char *sand_job_state_name(const struct sand_world_job *j)
{
    static const char *const endings[] = {[SAND_ENDS_FINISHED] = "finished",
                                          [SAND_ENDS_FAILED] = "ended failed",
                                          [SAND_ENDS_CANCELLED] = "ended cancelled",
                                          [SAND_ENDS_KILLED] = "ended killed"};
    if (j->phase == SAND_PHASE_ENDED)
        return endings[j->spec->ending];
    if (j->start_ns < 0)
        return "waiting";
    return j->total == SAND_NO_LIMIT ? "running at the end" : "unfinished";
}

static int64_t end_of(const struct sand_world *w, const struct sand_world_job *j)
{
    return j->end_ns >= 0 ? j->end_ns : w->end_ns;
}

static int64_t survived_ns(const struct sand_world_job *j)
{
    return j->durable_ns + sand_spent_since(&j->progress.spent, &j->durable_spent).time_ns;
}

static double goodput_mfu(const struct sand_world_job *j)
{
    const double gpu_s = sand_gpu_s(j->held_gpu_ns);
    return (double)j->done * j->step_flops / (gpu_s * j->peak_flops / (double)j->gpus);
}

static double ratio(double numerator, double denominator)
{
    return denominator > 0 ? numerator / denominator : NAN;
}

static void fill_started(const struct sand_world *w, const struct sand_world_job *j,
                         struct sand_jobs_row *row)
{
    const double survived_s = sand_s_from_ns(survived_ns(j));
    row->step_s = ratio(sand_s_from_ns(j->executed_ns), (double)j->executed);
    row->healthy_step_s = sand_s_from_ns(j->rate.healthy_ns);
    row->mfu = ratio(j->executed_flops, j->executed_peak_s);
    row->hfu = ratio(j->executed_hw_flops, j->executed_peak_s);
    row->goodput_mfu = goodput_mfu(j);
    row->ettr_run = ratio(survived_s, sand_s_from_ns(end_of(w, j) - j->start_ns));
    row->ettr_total = ratio(survived_s, sand_s_from_ns(end_of(w, j) - j->spec->submit_ns));
    row->tokens = (double)j->done * j->step_tokens;
    row->checkpoint_interval_s = ratio(j->plans_s, (double)j->plans);
    row->checkpoint_stall_s = ratio(sand_s_from_ns(j->stall_ns), (double)j->stalls);
}

static void fill_not_started(struct sand_jobs_row *row)
{
    row->step_s = row->healthy_step_s = row->mfu = row->hfu = row->goodput_mfu = NAN;
    row->ettr_run = row->ettr_total = row->tokens = NAN;
    row->checkpoint_interval_s = row->checkpoint_stall_s = NAN;
}

// Rows of one run by their numbers, which differ.
static int compare_rows(const void *a, const void *b)
{
    const struct sand_jobs_row *x = a, *y = b;
    return (x->job > y->job) - (x->job < y->job);
}

enum sand_rc sand_summary_open(struct sand_world *w)
{
    SAND_TRY(sand_groups_open(w));
    return sand_sorter_open(sizeof(struct sand_jobs_row), compare_rows, w->options->scratch,
                            &w->job_rows);
}

static enum sand_rc add_row(struct sand_world *w, const struct sand_world_job *j)
{
    struct sand_jobs_row row = {.replication = w->options->replication,
                                .job = j->index,
                                .nodes = j->spec->n_nodes,
                                .gpus = (uint32_t)j->gpus,
                                .submit_ns = j->spec->submit_ns,
                                .start_ns = j->start_ns,
                                .end_ns = end_of(w, j),
                                .steps_done = j->done,
                                .steps_lost = j->steps_lost,
                                .incidents = j->incidents,
                                .planned_incidents = j->planned,
                                .checkpoints = j->checkpoints};
    sand_cell_set(&row.id, j->spec->id);
    sand_cell_set(&row.state, sand_job_state_name(j));
    if (j->start_ns >= 0)
        fill_started(w, j, &row);
    else
        fill_not_started(&row);
    return sand_sorter_add(w->job_rows, &row, w->diag);
}

static enum sand_rc emit_rows(struct sand_world *w)
{
    const void *row;
    for (;;) {
        SAND_TRY(sand_sorter_next(w->job_rows, &row, w->diag));
        if (!row)
            return SAND_OK;
        SAND_TRY(sand_emit_row(w, SAND_TABLE_jobs, row));
    }
}

// ---- the replication ----------------------------------------------------------------------------

static void add_job(struct sand_world *w, const struct sand_world_job *j)
{
    struct sand_world_totals *t = &w->totals;
    t->incidents += j->incidents;
    t->planned += j->planned;
    if (j->start_ns < 0)
        return;
    if (t->last_ns == 0 || j->start_ns < t->first_ns)
        t->first_ns = j->start_ns;
    if (end_of(w, j) > t->last_ns)
        t->last_ns = end_of(w, j);
    const double gpus = (double)j->gpus;
    const double neighbours_s = sand_s_from_ns(j->neighbours_ns);
    const double transfers_s = sand_s_from_ns(j->transfers_ns);
    t->neighbours_gpu_s += gpus * neighbours_s;
    t->transfers_gpu_s += gpus * transfers_s;
    t->survived += gpus * sand_s_from_ns(survived_ns(j));
    t->run += gpus * sand_s_from_ns(end_of(w, j) - j->start_ns);
    t->total += gpus * sand_s_from_ns(end_of(w, j) - j->spec->submit_ns);
    if (isfinite(j->step_flops) && isfinite(j->peak_flops)) {
        t->flops += j->executed_flops;
        t->peak_s += j->executed_peak_s;
        t->shared_peak_s += (neighbours_s + transfers_s) * j->peak_flops;
        t->good_flops += (double)j->done * j->step_flops;
        t->held_peak_s += sand_gpu_s(j->held_gpu_ns) * j->peak_flops / gpus;
    }
    if (isfinite(j->step_tokens)) {
        t->tokens += (double)j->done * j->step_tokens;
        t->n_tokens++;
    }
}

// Variance over mean of the counts per whole day between the first start and the last end (sample
// variance), for nothing is interrupted on other days; NaN for under two days or no interruption.
static double dispersion(const struct sand_world *w)
{
    const int64_t day_ns = INT64_C(86400) * SAND_NS_PER_S;
    const size_t begin = (size_t)((w->totals.first_ns + day_ns - 1) / day_ns);
    const size_t last = (size_t)(w->totals.last_ns / day_ns);
    const size_t end = last < w->n_days ? last : w->n_days;
    double sum = 0, squares = 0;
    for (size_t i = begin; i < end; i++)
        sum += w->day_counts[i];
    if (end < begin + 2 || sum <= 0)
        return NAN;
    const double n = (double)(end - begin), mean = sum / n;
    for (size_t i = begin; i < end; i++)
        squares += (w->day_counts[i] - mean) * (w->day_counts[i] - mean);
    return squares / (n - 1) / mean;
}

// A child's time lies inside its parent's: roots alone, or it would count twice.
static void sum_roots(const struct sand_world *w, double *recovery_s, double *lost_gpu_s)
{
    double sum_s = 0;
    size_t n = 0;
    *lost_gpu_s = 0;
    for (size_t k = 0; k < w->n_incidents; k++) {
        const struct sand_incident *i = &w->incidents[k];
        if (i->parent != SAND_NONE)
            continue;
        const int64_t recovery_ns = sand_incident_recovery_ns(i);
        *lost_gpu_s += sand_s_from_ns(sand_incident_lost_ns(i)) * (double)i->gpus;
        if (i->recovered_ns < 0)
            continue;
        sum_s += sand_s_from_ns(recovery_ns);
        n++;
    }
    *recovery_s = ratio(sum_s, (double)n);
}

static enum sand_rc emit_replication(struct sand_world *w)
{
    const struct sand_world_totals *t = &w->totals;
    const struct sand_coupling_counts counts = sand_coupling_counts(w);
    struct sand_replications_row row = {.replication = w->options->replication,
                                        .seed = w->experiment->seed,
                                        .incidents = t->incidents,
                                        .planned_incidents = t->planned,
                                        .dispersion = dispersion(w),
                                        .mfu = ratio(t->flops, t->peak_s),
                                        .mfu_alone = ratio(t->flops, t->peak_s - t->shared_peak_s),
                                        .goodput_mfu = ratio(t->good_flops, t->held_peak_s),
                                        .ettr_run = ratio(t->survived, t->run),
                                        .ettr_total = ratio(t->survived, t->total),
                                        .tokens = t->n_tokens > 0 ? t->tokens : NAN,
                                        .energy_J = w->energy_J,
                                        .neighbours_gpu_s = t->neighbours_gpu_s,
                                        .joint_questions = counts.questions,
                                        .joint_known = counts.known,
                                        .joint_jobs = counts.largest,
                                        .transfers_gpu_s = t->transfers_gpu_s};
    sum_roots(w, &row.recovery_s, &row.lost_gpu_s);
    return sand_emit_row(w, SAND_TABLE_replications, &row);
}

// ---- what has to be said ------------------------------------------------------------------------

static void warn_unstarted(const struct sand_world *w)
{
    if (w->n_queue == 0)
        return;
    const struct sand_job_spec *spec = sand_jobs_find(w, w->queue[0])->spec;
    sand_diag_add(w->diag, SAND_WARNING, NULL, 0,
                  "replication %u: %zu jobs never started, the first in the queue is \"%s\" (%u "
                  "nodes, submitted at %.9g s); lengthen the experiment or look at the queue",
                  w->options->replication, w->n_queue, spec->id, spec->n_nodes,
                  sand_s_from_ns(spec->submit_ns));
}

static void warn_waiters(const struct sand_world *w)
{
    if (w->n_waiters == 0)
        return;
    const struct sand_world_job *j = w->waiters[0];
    sand_diag_add(w->diag, SAND_WARNING, NULL, 0,
                  "replication %u: %zu jobs still wait for nodes at the end, the first is \"%s\" "
                  "(%u of %u nodes, struck at %.9g s)",
                  w->options->replication, w->n_waiters, j->spec->id, j->n_held, j->spec->n_nodes,
                  sand_s_from_ns(w->incidents[j->last_open].fault_ns));
}

enum sand_rc sand_summary_job(struct sand_world *w, struct sand_world_job *j)
{
    add_job(w, j);
    SAND_TRY(sand_groups_count(w, j));
    return add_row(w, j);
}

enum sand_rc sand_summary_emit(struct sand_world *w)
{
    warn_unstarted(w);
    warn_waiters(w);
    sand_shared_warn(w);
    SAND_TRY(sand_emit_incidents(w));
    SAND_TRY(sand_jobs_rest(w, sand_summary_job));
    SAND_TRY(emit_rows(w));
    SAND_TRY(emit_replication(w));
    return sand_groups_emit(w);
}
