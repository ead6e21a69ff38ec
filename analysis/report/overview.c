// The figures of a summary: what was run, and the means over runs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

size_t sand_run_index(const struct sand_rowset *rows, uint32_t replication)
{
    const size_t n = rows->n_replications;
    if (n == 0)
        return n;
    const size_t guess = (size_t)replication - rows->replications[0].replication;
    if (guess < n && rows->replications[guess].replication == replication)
        return guess;
    for (size_t i = 0; i < n; i++)
        if (rows->replications[i].replication == replication)
            return i;
    return n;
}

// ---- loading ------------------------------------------------------------------------------------

// What is counted of every job on the way, and which are kept.
struct passage {
    struct sand_rowset *rows;
    struct sand_overview *overview;
    uint32_t *profiled; // numbers of jobs that have a step profile, ascending
    size_t n_profiled;
    int some;
    uint32_t first_replication; // of the rows so far
};

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int is_profiled(const struct passage *passage, uint32_t job)
{
    return bsearch(&job, passage->profiled, passage->n_profiled, sizeof job, compare_numbers) !=
           NULL;
}

static void count_state(struct sand_job_states *states, const char *state)
{
    if (strcmp(state, "finished") == 0)
        states->finished++;
    else if (strcmp(state, "ended failed") == 0)
        states->ended_failed++;
    else if (strcmp(state, "ended cancelled") == 0)
        states->ended_cancelled++;
    else if (strcmp(state, "ended killed") == 0)
        states->ended_killed++;
    else if (strcmp(state, "running at the end") == 0 || strcmp(state, "running") == 0)
        states->running++;
    else if (strcmp(state, "unfinished") == 0)
        states->unfinished++;
    else if (strcmp(state, "waiting") == 0)
        states->waiting++;
    else if (strcmp(state, "failed") == 0)
        states->failed++;
    else
        states->other++;
}

// A mix draws other jobs in each run.
static void count_job(struct passage *passage, const struct sand_jobs_row *job)
{
    struct sand_overview *const overview = passage->overview;
    const size_t run = sand_run_index(passage->rows, job->replication);
    if (!passage->some)
        passage->first_replication = job->replication;
    passage->some = 1;
    count_state(&overview->states, job->state.text);
    if (job->replication == passage->first_replication) {
        overview->n_jobs++;
        overview->gpus_asked += job->gpus;
    }
    if (run == passage->rows->n_replications)
        return;
    struct sand_run_window *const window = &passage->rows->windows[run];
    if (job->submit_ns < window->first_ns)
        window->first_ns = job->submit_ns;
    if (job->end_ns > window->last_ns)
        window->last_ns = job->end_ns;
    window->n_jobs++;
    overview->mean_jobs += 1.0 / (double)passage->rows->n_replications;
    overview->mean_gpus += (double)job->gpus / (double)passage->rows->n_replications;
}

static int keep_job(void *self, const void *row)
{
    struct passage *const passage = self;
    const struct sand_jobs_row *const job = row;
    count_job(passage, job);
    return isfinite(job->mfu) || isfinite(job->hfu) || job->checkpoints > 0 ||
           isfinite(job->checkpoint_interval_s) || is_profiled(passage, job->job);
}

static int keep_attempt(void *self, const void *row)
{
    return is_profiled(self, ((const struct sand_attempts_row *)row)->job);
}

static enum sand_rc load_small(struct sand_results *results, struct sand_rowset *rows,
                               struct sand_diag *diag)
{
    const void *data;
#define LOAD(table)                                                                                \
    SAND_TRY(sand_results_table(results, SAND_TABLE_##table, &data, &rows->n_##table, diag));      \
    rows->table = data
    LOAD(replications);
    LOAD(incidents);
    LOAD(checkpoints);
    LOAD(steps);
    LOAD(cluster);
    LOAD(groups);
    LOAD(degradations);
#undef LOAD
    return SAND_OK;
}

static enum sand_rc open_passage(struct sand_rowset *rows, struct sand_arena *arena,
                                 struct passage *passage)
{
    const size_t n = rows->n_replications;
    rows->windows = sand_arena_alloc(arena, n + 1, sizeof *rows->windows);
    passage->profiled = sand_arena_alloc(arena, rows->n_steps + 1, sizeof *passage->profiled);
    if (rows->windows == NULL || passage->profiled == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        rows->windows[i] = (struct sand_run_window){INT64_MAX, -1, 0};
    for (size_t i = 0; i < rows->n_steps; i++)
        passage->profiled[passage->n_profiled++] = rows->steps[i].job;
    qsort(passage->profiled, passage->n_profiled, sizeof *passage->profiled, compare_numbers);
    return SAND_OK;
}

static enum sand_rc load(struct sand_results *results, struct sand_arena *arena,
                         struct sand_rowset *rows, struct sand_overview *overview,
                         struct sand_diag *diag)
{
    struct passage passage = {.rows = rows, .overview = overview};
    const void *data;
    SAND_TRY(load_small(results, rows, diag));
    if (open_passage(rows, arena, &passage) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory for a summary");
    SAND_TRY(sand_results_pick(results, SAND_TABLE_jobs, keep_job, &passage, &data, &rows->n_jobs,
                               diag));
    rows->jobs = data;
    SAND_TRY(sand_results_pick(results, SAND_TABLE_attempts, keep_attempt, &passage, &data,
                               &rows->n_attempts, diag));
    rows->attempts = data;
    return SAND_OK;
}

// ---- one figure per run
// -----------------------------------------------------------------------------

enum run_figure {
    RUN_MFU,
    RUN_MFU_ALONE,
    RUN_GOODPUT,
    RUN_ETTR_RUN,
    RUN_ETTR_TOTAL,
    RUN_UNEXPECTED,
    RUN_PLANNED,
    RUN_DISPERSION,
    RUN_LOST,
    RUN_TOKENS,
    RUN_ENERGY,
    RUN_POWER,
    RUN_TOKEN_ENERGY,
    RUN_NEIGHBOURS,
    RUN_JOINT_QUESTIONS,
    RUN_JOINT_KNOWN,
    RUN_JOINT_JOBS,
    RUN_FIGURES
};

static double run_figure(const struct sand_replications_row *run, enum run_figure figure,
                         double duration_s)
{
    const double figures[RUN_FIGURES] = {
        [RUN_MFU] = run->mfu,
        [RUN_MFU_ALONE] = run->mfu_alone,
        [RUN_NEIGHBOURS] = run->neighbours_gpu_s,
        [RUN_JOINT_QUESTIONS] = (double)run->joint_questions,
        [RUN_JOINT_KNOWN] = (double)run->joint_known,
        [RUN_JOINT_JOBS] = (double)run->joint_jobs,
        [RUN_GOODPUT] = run->goodput_mfu,
        [RUN_ETTR_RUN] = run->ettr_run,
        [RUN_ETTR_TOTAL] = run->ettr_total,
        [RUN_UNEXPECTED] = (double)run->incidents,
        [RUN_PLANNED] = (double)run->planned_incidents,
        [RUN_DISPERSION] = run->dispersion,
        [RUN_LOST] = run->lost_gpu_s,
        [RUN_TOKENS] = run->tokens,
        [RUN_ENERGY] = run->energy_J,
        [RUN_POWER] = run->energy_J / duration_s,
        [RUN_TOKEN_ENERGY] = run->tokens > 0.0 ? run->energy_J / run->tokens : (double)NAN,
    };
    return figures[figure];
}

static enum sand_rc summarise_runs(const struct sand_rowset *rows, struct sand_arena *arena,
                                   struct sand_overview *overview)
{
    struct sand_summary *const targets[RUN_FIGURES] = {
        [RUN_MFU] = &overview->mfu,
        [RUN_MFU_ALONE] = &overview->mfu_alone,
        [RUN_NEIGHBOURS] = &overview->neighbours_gpu_s,
        [RUN_JOINT_QUESTIONS] = &overview->joint_questions,
        [RUN_JOINT_KNOWN] = &overview->joint_known,
        [RUN_JOINT_JOBS] = &overview->joint_jobs,
        [RUN_GOODPUT] = &overview->goodput_mfu,
        [RUN_ETTR_RUN] = &overview->ettr_run,
        [RUN_ETTR_TOTAL] = &overview->ettr_total,
        [RUN_UNEXPECTED] = &overview->unexpected,
        [RUN_PLANNED] = &overview->planned,
        [RUN_DISPERSION] = &overview->dispersion,
        [RUN_LOST] = &overview->lost_gpu_s,
        [RUN_TOKENS] = &overview->tokens,
        [RUN_ENERGY] = &overview->energy_J,
        [RUN_POWER] = &overview->power_W,
        [RUN_TOKEN_ENERGY] = &overview->token_energy_J,
    };
    double *const values = sand_arena_alloc(arena, rows->n_replications + 1, sizeof *values);
    if (values == NULL)
        return SAND_ERR_NOMEM;
    for (int figure = 0; figure < RUN_FIGURES; figure++) {
        for (size_t i = 0; i < rows->n_replications; i++)
            values[i] =
                run_figure(&rows->replications[i], (enum run_figure)figure, overview->duration_s);
        *targets[figure] = sand_summarise(values, rows->n_replications);
    }
    return SAND_OK;
}

// ---- jobs
// -------------------------------------------------------------------------------------------

// HFU of a run: of its jobs, weighted by the GPU time of the steps they executed, as MFU is.
static enum sand_rc summarise_hfu(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview)
{
    const size_t n = rows->n_replications;
    double *const sums = sand_arena_alloc(arena, n + 1, sizeof *sums);
    double *const weights = sand_arena_alloc(arena, n + 1, sizeof *weights);
    if (sums == NULL || weights == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const struct sand_jobs_row *const job = &rows->jobs[i];
        const size_t run = sand_run_index(rows, job->replication);
        const double weight =
            (double)(job->steps_done + job->steps_lost) * job->step_s * (double)job->gpus;
        if (run == n || !isfinite(job->hfu) || !isfinite(weight))
            continue;
        sums[run] += weight * job->hfu;
        weights[run] += weight;
    }
    for (size_t i = 0; i < n; i++)
        sums[i] = weights[i] > 0.0 ? sums[i] / weights[i] : (double)NAN;
    overview->hfu = sand_summarise(sums, n);
    return SAND_OK;
}

static void count_runs(const struct sand_rowset *rows, struct sand_overview *overview)
{
    overview->first_run = rows->n_replications > 0 ? rows->replications[0].replication : 0;
    for (size_t i = 0; i < rows->n_replications; i++) {
        const size_t n = rows->windows[i].n_jobs;
        if (i == 0 || n < overview->fewest_jobs)
            overview->fewest_jobs = n;
        if (n > overview->most_jobs)
            overview->most_jobs = n;
    }
}

static enum sand_rc make(const struct sand_rowset *rows, struct sand_arena *arena,
                         struct sand_overview *overview)
{
    SAND_TRY(summarise_runs(rows, arena, overview));
    SAND_TRY(summarise_hfu(rows, arena, overview));
    SAND_TRY(sand_overview_time(rows, arena, overview));
    SAND_TRY(sand_overview_steps(rows, arena, overview));
    SAND_TRY(sand_overview_saves(rows, arena, overview));
    SAND_TRY(sand_overview_groups(rows, arena, overview));
    SAND_TRY(sand_overview_degradations(rows, arena, overview));
    return sand_overview_faults(rows, arena, overview);
}

enum sand_rc sand_overview_make(struct sand_results *results, struct sand_arena *arena,
                                struct sand_overview *overview, struct sand_diag *diag)
{
    struct sand_rowset rows = {0};
    *overview = (struct sand_overview){.meta = sand_results_meta(results)};
    SAND_TRY(load(results, arena, &rows, overview, diag));
    overview->duration_s = sand_s_from_ns(overview->meta->duration_ns);
    overview->n_runs = rows.n_replications;
    overview->shares_nodes = strstr(overview->meta->canonical, " allocation=\"gpus\"") != NULL;
    count_runs(&rows, overview);
    const enum sand_rc rc = make(&rows, arena, overview);
    if (rc == SAND_ERR_NOMEM)
        return sand_fail(diag, rc, "out of memory for the summary of \"%s\"", overview->meta->name);
    return rc;
}
