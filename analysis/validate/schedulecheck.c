// The rows of a schedule as recorded jobs of an experiment made in memory, run by the real replay.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "schedulecheck.h"

#include <math.h>

#include "replay.h"
#include "results.h"
#include "units.h"

// ---- the experiment -----------------------------------------------------------------------------

// Servers that do nothing but hold GPUs; nothing of them reaches a start time.
static const struct sand_gpu_type any_gpu = {.id = "any"};
static const struct sand_link_type any_link = {.id = "any", .rate_Bps = 1e9};

static uint32_t gpus_per_node(const struct sand_schedule_check *check)
{
    return check->gpus_per_node > 0 ? check->gpus_per_node : 1;
}

static struct sand_node_type make_node(const struct sand_schedule_check *check)
{
    return (struct sand_node_type){.id = "any",
                                   .gpu = &any_gpu,
                                   .n_gpus = gpus_per_node(check),
                                   .n_nics = 1,
                                   .nic = &any_link};
}

static struct sand_experiment make_experiment(const struct sand_schedule_check *check,
                                              const struct sand_node_type *node)
{
    return (struct sand_experiment){.name = "schedule",
                                    .replications = 1,
                                    .schedule = check->policy,
                                    .place.type = check->place ? check->place : "place/first-fit",
                                    .recover.type = "recover/wait",
                                    .events = check->events,
                                    .allocation = check->gpus_per_node > 1 ? SAND_ALLOCATE_GPUS
                                                                           : SAND_ALLOCATE_NODES,
                                    .cluster = {.name = "schedule",
                                                .node_type = node,
                                                .n_nodes = check->n_nodes,
                                                .pue = 1,
                                                .fabric = {.n_tiers = 2,
                                                           .endpoints_per_leaf = check->n_nodes,
                                                           .leaf_oversubscription = 1,
                                                           .spines = 1,
                                                           .link = &any_link}}};
}

static struct sand_job_spec make_job(const struct sand_schedule_row *row, uint32_t per_node)
{
    return (struct sand_job_spec){.id = row->id,
                                  .kind = SAND_JOB_RECORDED,
                                  .n_nodes = (row->nodes - 1) / per_node + 1,
                                  .n_gpus = row->nodes,
                                  .submit_ns = row->submit_ns,
                                  .work_s = sand_s_from_ns(row->run_ns),
                                  .walltime_s =
                                      row->request_ns > 0 ? sand_s_from_ns(row->request_ns) : 0};
}

// A policy that never leaves the whole machine idle while a job waits is done when all jobs could
// have run one after the other.
static enum sand_rc set_duration(const struct sand_schedule_trace *trace, int64_t *duration_ns,
                                 struct sand_diag *diag)
{
    int64_t sum = SAND_NS_PER_S;
    int overflow = 0;
    for (size_t i = 0; i < trace->n; i++)
        overflow |= __builtin_add_overflow(sum, trace->rows[i].run_ns, &sum);
    if (trace->n > 0)
        overflow |= __builtin_add_overflow(sum, trace->rows[trace->n - 1].submit_ns, &sum);
    *duration_ns = sum;
    return overflow ? sand_fail(diag, SAND_ERR_INPUT,
                                "the run times add up to more than 292 years; split the file")
                    : SAND_OK;
}

// ---- the run ------------------------------------------------------------------------------------

static enum sand_rc keep_start(void *self, enum sand_table table, const void *row)
{
    const struct sand_jobs_row *job = row;
    int64_t *starts_ns = self;
    if (table == SAND_TABLE_jobs)
        starts_ns[job->job] = job->start_ns;
    return SAND_OK;
}

static enum sand_rc replay(const struct sand_schedule_trace *trace,
                           const struct sand_schedule_check *check, struct sand_job_spec *jobs,
                           int64_t *starts_ns, struct sand_diag *diag)
{
    const struct sand_node_type node = make_node(check);
    struct sand_experiment experiment = make_experiment(check, &node);
    const struct sand_replay_options options = {0};
    const struct sand_sink sink = {starts_ns, keep_start};
    for (size_t i = 0; i < trace->n; i++) {
        jobs[i] = make_job(&trace->rows[i], gpus_per_node(check));
        starts_ns[i] = -1;
    }
    experiment.jobs = jobs;
    experiment.n_jobs = trace->n;
    SAND_TRY(set_duration(trace, &experiment.duration_ns, diag));
    return sand_replay_run(&experiment, NULL, &options, &sink, diag);
}

// ---- the comparison -----------------------------------------------------------------------------

static void compare(const struct sand_schedule_trace *trace, const int64_t *starts_ns,
                    double tolerance_s, struct sand_schedule_report *report)
{
    for (size_t i = 0; i < trace->n; i++) {
        const struct sand_schedule_row *row = &trace->rows[i];
        const double start_s =
            starts_ns[i] >= 0 ? trace->first_submit_s + sand_s_from_ns(starts_ns[i]) : (double)NAN;
        const double submit_s = trace->first_submit_s + sand_s_from_ns(row->submit_ns);
        report->mean_wait_s += (start_s - submit_s) / (double)trace->n;
        report->file_mean_wait_s += (row->start_s - submit_s) / (double)trace->n;
        if (fabs(start_s - row->start_s) <= tolerance_s)
            continue;
        if (report->n_differ < SAND_SCHEDULE_FIRST)
            report->first[report->n_differ] = (struct sand_schedule_difference){row, start_s};
        report->n_differ++;
    }
}

enum sand_rc sand_schedule_compare(const struct sand_schedule_trace *trace,
                                   const struct sand_schedule_check *check,
                                   struct sand_schedule_report *report, struct sand_diag *diag)
{
    *report = (struct sand_schedule_report){0};
    struct sand_job_spec *jobs = sand_calloc(trace->n, sizeof *jobs);
    int64_t *starts_ns = sand_calloc(trace->n, sizeof *starts_ns);
    enum sand_rc rc = jobs && starts_ns
                          ? replay(trace, check, jobs, starts_ns, diag)
                          : sand_fail(diag, SAND_ERR_NOMEM, "%zu jobs: out of memory", trace->n);
    if (rc == SAND_OK)
        compare(trace, starts_ns, check->tolerance_s, report);
    sand_free(jobs);
    sand_free(starts_ns);
    return rc;
}
