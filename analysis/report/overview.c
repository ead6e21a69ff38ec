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

enum { MOST_STEP_JOBS = 1000 }; // whose steps are told apart

struct chosen_job {
    uint32_t job;
    double gpu_s; // of the steps it executed
};

// What is counted of every job on the way, and which are kept: a trace may train millions.
struct passage {
    struct sand_rowset *rows;
    struct sand_overview *overview;
    struct chosen_job chosen[2 * MOST_STEP_JOBS]; // first by GPU time, in the end by number
    size_t n_chosen, n_trained;
    int some;
    uint32_t first_replication; // of the rows so far
};

static int compare_numbers(const void *a, const void *b)
{
    const struct chosen_job *x = a, *y = b;
    return (x->job > y->job) - (x->job < y->job);
}

static int is_chosen(const struct passage *passage, uint32_t job)
{
    const struct chosen_job wanted = {.job = job};
    return bsearch(&wanted, passage->chosen, passage->n_chosen, sizeof wanted, compare_numbers) !=
           NULL;
}

static double stepping_gpu_s(const struct sand_jobs_row *job)
{
    return (double)(job->steps_done + job->steps_lost) * job->step_s * (double)job->gpus;
}

static int more_gpu_time(const void *a, const void *b)
{
    const struct chosen_job *x = a, *y = b;
    if (x->gpu_s != y->gpu_s)
        return x->gpu_s > y->gpu_s ? -1 : 1;
    return compare_numbers(x, y);
}

static void keep_largest(struct passage *passage)
{
    qsort(passage->chosen, passage->n_chosen, sizeof *passage->chosen, more_gpu_time);
    if (passage->n_chosen > MOST_STEP_JOBS)
        passage->n_chosen = MOST_STEP_JOBS;
}

// Of the first replication the training jobs with most GPU time; none is kept as a row.
static int choose_job(void *self, const void *row)
{
    struct passage *const passage = self;
    const struct sand_jobs_row *const job = row;
    if (!passage->some)
        passage->first_replication = job->replication;
    passage->some = 1;
    if (job->replication != passage->first_replication ||
        !(isfinite(job->mfu) || isfinite(job->hfu)))
        return 0;
    const double gpu_s = stepping_gpu_s(job);
    passage->n_trained++;
    passage->chosen[passage->n_chosen++] =
        (struct chosen_job){job->job, isfinite(gpu_s) ? gpu_s : 0};
    if (passage->n_chosen == 2 * MOST_STEP_JOBS)
        keep_largest(passage);
    return 0;
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
    const double gpu_s = stepping_gpu_s(job);
    if (isfinite(job->hfu) && isfinite(gpu_s)) {
        window->hfu_gpu_s += gpu_s * job->hfu;
        window->stepping_gpu_s += gpu_s;
    }
    overview->mean_jobs += 1.0 / (double)passage->rows->n_replications;
    overview->mean_gpus += (double)job->gpus / (double)passage->rows->n_replications;
}

static int keep_job(void *self, const void *row)
{
    struct passage *const passage = self;
    const struct sand_jobs_row *const job = row;
    count_job(passage, job);
    return job->checkpoints > 0 || is_chosen(passage, job->job);
}

static int keep_attempt(void *self, const void *row)
{
    return is_chosen(self, ((const struct sand_attempts_row *)row)->job);
}

static int keep_step(void *self, const void *row)
{
    return is_chosen(self, ((const struct sand_steps_row *)row)->job);
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
    LOAD(cluster);
    LOAD(groups);
    LOAD(degradations);
#undef LOAD
    return SAND_OK;
}

static enum sand_rc open_windows(struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_diag *diag)
{
    const size_t n = rows->n_replications;
    rows->windows = sand_arena_alloc(arena, n + 1, sizeof *rows->windows);
    if (rows->windows == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory for a summary");
    for (size_t i = 0; i < n; i++)
        rows->windows[i] = (struct sand_run_window){.first_ns = INT64_MAX, .last_ns = -1};
    return SAND_OK;
}

static enum sand_rc pass_by(struct sand_results *results, struct passage *passage,
                            struct sand_diag *diag)
{
    struct sand_rowset *const rows = passage->rows;
    const void *data;
#define PICK(table, keep)                                                                          \
    SAND_TRY(sand_results_pick(results, SAND_TABLE_##table, keep, passage, &data,                  \
                               &rows->n_##table, diag));                                           \
    rows->table = data
    PICK(jobs, choose_job);
    keep_largest(passage);
    qsort(passage->chosen, passage->n_chosen, sizeof *passage->chosen, compare_numbers);
    passage->overview->n_untold = passage->n_trained - passage->n_chosen;
    passage->some = 0;
    PICK(jobs, keep_job);
    PICK(steps, keep_step);
    PICK(attempts, keep_attempt);
#undef PICK
    return SAND_OK;
}

static enum sand_rc load(struct sand_results *results, struct sand_arena *arena,
                         struct sand_rowset *rows, struct sand_overview *overview,
                         struct sand_diag *diag)
{
    SAND_TRY(load_small(results, rows, diag));
    SAND_TRY(open_windows(rows, arena, diag));
    struct passage *const passage = sand_arena_alloc(arena, 1, sizeof *passage);
    if (passage == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory for a summary");
    passage->rows = rows;
    passage->overview = overview;
    return pass_by(results, passage, diag);
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
    RUN_TRANSFERS,
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
        [RUN_TRANSFERS] = run->transfers_gpu_s,
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
        [RUN_TRANSFERS] = &overview->transfers_gpu_s,
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

static enum sand_rc summarise_hfu(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview)
{
    const size_t n = rows->n_replications;
    double *const values = sand_arena_alloc(arena, n + 1, sizeof *values);
    if (values == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct sand_run_window *const run = &rows->windows[i];
        values[i] = run->stepping_gpu_s > 0.0 ? run->hfu_gpu_s / run->stepping_gpu_s : (double)NAN;
    }
    overview->hfu = sand_summarise(values, n);
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
