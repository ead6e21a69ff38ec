// Where the GPU time went: ledger classes, the split of a step, saves.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "overview.h"
#include "units.h"

// ---- ledger classes
// ---------------------------------------------------------------------------------

// The ledger's classes in its order (sim/ledger/ledger.h; a test compares the names). A class of a
// newer program that is not here comes last and counts as not allocated.
static const struct {
    const char *name;
    int allocated;
} known[] = {
    {"useful", 1},
    {"slowdown", 1},
    {"at risk", 1},
    {"lost", 1},
    {"checkpoint stall", 1},
    {"data stall", 1},
    {"detecting", 1},
    {"diagnosing", 1},
    {"restarting", 1},
    {"restoring", 1},
    {"waiting for nodes", 1},
    {"held", 0},
    {"spare", 0},
    {"idle", 0},
    {"fragment", 0},
    {"drained", 0},
    {"down", 0},
    {"undelivered", 0},
};
enum { N_KNOWN = sizeof known / sizeof known[0], MAX_CLASSES = 64 };

static struct sand_time_class *find_class(struct sand_overview *overview, const char *name)
{
    for (size_t i = 0; i < overview->n_classes; i++)
        if (strcmp(overview->classes[i].name, name) == 0)
            return &overview->classes[i];
    if (overview->n_classes == MAX_CLASSES)
        return &overview->classes[MAX_CLASSES - 1];
    struct sand_time_class *const made = &overview->classes[overview->n_classes++];
    made->name = name;
    return made;
}

// Drops the classes in which nothing was booked.
static void drop_empty(struct sand_overview *overview)
{
    size_t kept = 0;
    for (size_t i = 0; i < overview->n_classes; i++)
        if (overview->classes[i].gpu_s != 0.0)
            overview->classes[kept++] = overview->classes[i];
    overview->n_classes = kept;
}

static void scale_classes(struct sand_overview *overview)
{
    const double runs = (double)overview->n_runs;
    for (size_t i = 0; i < overview->n_classes; i++) {
        struct sand_time_class *const class = &overview->classes[i];
        class->gpu_s /= runs;
        class->power_W /= runs * overview->duration_s;
        overview->capacity_gpu_s += class->gpu_s;
        if (class->allocated)
            overview->allocated_gpu_s += class->gpu_s;
    }
    overview->capacity_gpus = overview->capacity_gpu_s / overview->duration_s;
}

enum sand_rc sand_overview_time(const struct sand_rowset *rows, struct sand_arena *arena,
                                struct sand_overview *overview)
{
    overview->classes = sand_arena_alloc(arena, MAX_CLASSES, sizeof *overview->classes);
    if (overview->classes == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < N_KNOWN; i++)
        find_class(overview, known[i].name)->allocated = known[i].allocated;
    for (size_t i = 0; i < rows->n_cluster; i++) {
        const struct sand_cluster_row *const row = &rows->cluster[i];
        struct sand_time_class *const class = find_class(overview, row->gpu_class.text);
        class->gpu_s += row->gpu_s;
        class->power_W += row->power_W * sand_s_from_ns(row->end_ns - row->begin_ns);
    }
    drop_empty(overview);
    scale_classes(overview);
    return SAND_OK;
}

// ---- steps
// ------------------------------------------------------------------------------------------

static int by_profile(const void *a, const void *b)
{
    const struct sand_steps_row *const x = *(const struct sand_steps_row *const *)a;
    const struct sand_steps_row *const y = *(const struct sand_steps_row *const *)b;
    if (x->replication != y->replication)
        return x->replication < y->replication ? -1 : 1;
    return (x->profile > y->profile) - (x->profile < y->profile);
}

static const struct sand_steps_row **sorted_profiles(const struct sand_rowset *rows,
                                                     struct sand_arena *arena)
{
    const struct sand_steps_row **const profiles =
        sand_arena_alloc(arena, rows->n_steps + 1, sizeof(struct sand_steps_row *));
    if (profiles == NULL)
        return NULL;
    for (size_t i = 0; i < rows->n_steps; i++)
        profiles[i] = &rows->steps[i];
    qsort(profiles, rows->n_steps, sizeof *profiles, by_profile);
    return profiles;
}

struct split_sum {
    double steps;          // weight
    double observed_steps; // executed, as the jobs' rows say
    struct sand_step_split split;
};

static void add_profile(struct split_sum *sum, const struct sand_steps_row *profile, double steps)
{
    struct sand_step_split *const split = &sum->split;
    sum->steps += steps;
    split->step_s += steps * profile->step_s;
    split->compute_s += steps * profile->compute_s;
    split->exposed_tp_s += steps * profile->exposed_tp_s;
    split->exposed_cp_s += steps * profile->exposed_cp_s;
    split->exposed_pp_s += steps * profile->exposed_pp_s;
    split->exposed_dp_s += steps * profile->exposed_dp_s;
    split->bubble_s += steps * profile->bubble_s;
    split->data_stall_s += steps * profile->data_stall_s;
    if (profile->memory_B > split->memory_B)
        split->memory_B = profile->memory_B;
}

static struct sand_step_split mean_split(const struct split_sum *sum, double runs)
{
    struct sand_step_split split = sum->split;
    double *const parts[] = {&split.step_s,       &split.compute_s,    &split.exposed_tp_s,
                             &split.exposed_cp_s, &split.exposed_pp_s, &split.exposed_dp_s,
                             &split.bubble_s,     &split.data_stall_s};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] /= sum->steps;
    split.observed_step_s /= sum->observed_steps;
    split.gpu_s /= runs;
    return split;
}

// A job number and whose sums belong to it: the same job of all runs, or, where another one bears
// the number in some run (a mix draws its jobs anew in each), that of the first run alone.
struct split_job {
    uint32_t number;
    size_t n;                        // runs that have the number
    int differs;                     // they do not mean the same job
    const struct sand_jobs_row *row; // of the first run that has it
    struct split_sum sum;
};

struct split_jobs {
    struct split_job *jobs; // by number
    size_t n, n_runs;
    uint32_t first; // replication
};

static int by_number(const void *a, const void *b)
{
    const struct split_job *const x = a, *const y = b;
    return (x->number > y->number) - (x->number < y->number);
}

// NULL for a job that a damaged file does not list.
static struct split_job *job_of(const struct split_jobs *jobs, uint32_t number)
{
    const struct split_job key = {.number = number};
    return bsearch(&key, jobs->jobs, jobs->n, sizeof key, by_number);
}

// The jobs of a mix are numbered anew in each run under the same ids; their dates tell them apart.
static int same_job(const struct sand_jobs_row *a, const struct sand_jobs_row *b)
{
    return strcmp(a->id.text, b->id.text) == 0 && a->submit_ns == b->submit_ns &&
           a->nodes == b->nodes && a->gpus == b->gpus;
}

static int is_merged(const struct split_jobs *jobs, const struct split_job *job)
{
    return !job->differs && job->n == jobs->n_runs;
}

static int counts(const struct split_jobs *jobs, const struct split_job *job, uint32_t replication)
{
    return is_merged(jobs, job) || replication == jobs->first;
}

static enum sand_rc list_jobs(const struct sand_rowset *rows, struct sand_arena *arena,
                              struct split_jobs *jobs)
{
    *jobs = (struct split_jobs){.n_runs = rows->n_replications};
    jobs->first = rows->n_replications > 0 ? rows->replications[0].replication : 0;
    jobs->jobs = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *jobs->jobs);
    if (jobs->jobs == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < rows->n_jobs; i++)
        jobs->jobs[i] = (struct split_job){.number = rows->jobs[i].job};
    qsort(jobs->jobs, rows->n_jobs, sizeof *jobs->jobs, by_number);
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (jobs->n == 0 || jobs->jobs[jobs->n - 1].number != jobs->jobs[i].number)
            jobs->jobs[jobs->n++] = jobs->jobs[i];
    for (size_t i = 0; i < rows->n_jobs; i++) {
        struct split_job *const job = job_of(jobs, rows->jobs[i].job);
        job->n++;
        if (job->row == NULL)
            job->row = &rows->jobs[i];
        job->differs |= !same_job(job->row, &rows->jobs[i]);
    }
    return SAND_OK;
}

// Weighs every profile with the steps that were executed under it.
static void weigh_attempts(const struct sand_rowset *rows, const struct split_jobs *jobs,
                           const struct sand_steps_row *const *profiles)
{
    for (size_t i = 0; i < rows->n_attempts; i++) {
        const struct sand_attempts_row *const attempt = &rows->attempts[i];
        const struct sand_steps_row key = {.replication = attempt->replication,
                                           .profile = attempt->profile};
        const struct sand_steps_row *const wanted = &key;
        const struct sand_steps_row *const *const found =
            bsearch(&wanted, profiles, rows->n_steps, sizeof *profiles, by_profile);
        struct split_job *const job = job_of(jobs, attempt->job);
        if (found != NULL && job != NULL && counts(jobs, job, attempt->replication))
            add_profile(&job->sum, *found, (double)attempt->steps);
    }
}

static int by_gpu_time(const void *a, const void *b)
{
    const struct sand_step_split *const x = a;
    const struct sand_step_split *const y = b;
    if (x->gpu_s != y->gpu_s)
        return x->gpu_s > y->gpu_s ? -1 : 1;
    return strcmp(x->job, y->job);
}

static void name_splits(const struct sand_rowset *rows, const struct split_jobs *jobs)
{
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const struct sand_jobs_row *const row = &rows->jobs[i];
        struct split_job *const job = job_of(jobs, row->job);
        if (!counts(jobs, job, row->replication))
            continue;
        struct sand_step_split *const split = &job->sum.split;
        const double executed = (double)(row->steps_done + row->steps_lost);
        const double time_s = executed * row->step_s;
        split->job = row->id.text;
        split->alone = is_merged(jobs, job) ? 0 : 1;
        split->healthy_step_s = row->healthy_step_s;
        if (!isfinite(time_s))
            continue;
        split->gpu_s += time_s * (double)row->gpus;
        split->observed_step_s += time_s;
        job->sum.observed_steps += executed;
    }
}

enum sand_rc sand_overview_steps(const struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_overview *overview)
{
    const struct sand_steps_row **const profiles = sorted_profiles(rows, arena);
    overview->splits = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *overview->splits);
    struct split_jobs jobs;
    if (profiles == NULL || overview->splits == NULL)
        return SAND_ERR_NOMEM;
    SAND_TRY(list_jobs(rows, arena, &jobs));
    weigh_attempts(rows, &jobs, profiles);
    name_splits(rows, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        const struct split_sum *const sum = &jobs.jobs[i].sum;
        if (sum->steps > 0.0 && sum->split.job != NULL)
            overview->splits[overview->n_splits++] =
                mean_split(sum, sum->split.alone ? 1.0 : (double)overview->n_runs);
    }
    qsort(overview->splits, overview->n_splits, sizeof *overview->splits, by_gpu_time);
    return SAND_OK;
}

// ---- saves
// ------------------------------------------------------------------------------------------

static double ratio(double numerator, double denominator)
{
    return denominator > 0.0 ? numerator / denominator : (double)NAN;
}

// Mean of a job's figure over all its durable saves.
static double mean_over_saves(const struct sand_rowset *rows,
                              double (*figure)(const struct sand_jobs_row *))
{
    double sum = 0.0, weight = 0.0;
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const double value = figure(&rows->jobs[i]);
        const double saves = (double)rows->jobs[i].checkpoints;
        if (!isfinite(value))
            continue;
        sum += saves * value;
        weight += saves;
    }
    return ratio(sum, weight);
}

static double interval_of(const struct sand_jobs_row *job)
{
    return job->checkpoint_interval_s;
}

static double stall_of(const struct sand_jobs_row *job)
{
    return job->checkpoint_stall_s;
}

static double stall_share(const struct sand_overview *overview)
{
    for (size_t i = 0; i < overview->n_classes; i++)
        if (strcmp(overview->classes[i].name, "checkpoint stall") == 0)
            return ratio(overview->classes[i].gpu_s, overview->allocated_gpu_s);
    return ratio(0.0, overview->allocated_gpu_s);
}

// ---- saves that take longer than their interval ----

struct save_key {
    uint32_t replication, job;
    double delay_s, n;
    const struct sand_jobs_row *row;
};

static int by_job(const void *a, const void *b)
{
    const struct save_key *x = a, *y = b;
    if (x->replication != y->replication)
        return x->replication < y->replication ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

static void find_slow_saves(const struct sand_rowset *rows, struct save_key *keys,
                            struct sand_saves *saves)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        keys[i] = (struct save_key){.replication = rows->jobs[i].replication,
                                    .job = rows->jobs[i].job,
                                    .row = &rows->jobs[i]};
    qsort(keys, rows->n_jobs, sizeof *keys, by_job);
    for (size_t i = 0; i < rows->n_checkpoints; i++) {
        const struct sand_checkpoints_row *const save = &rows->checkpoints[i];
        const struct save_key wanted = {.replication = save->replication, .job = save->job};
        struct save_key *const key = bsearch(&wanted, keys, rows->n_jobs, sizeof *keys, by_job);
        if (key == NULL || save->durable_ns < 0)
            continue;
        key->delay_s += sand_s_from_ns(save->durable_ns - save->begin_ns);
        key->n += 1.0;
    }
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const double delay_s = ratio(keys[i].delay_s, keys[i].n);
        const double interval_s = keys[i].row->checkpoint_interval_s;
        if (!(delay_s >= interval_s * (1 - 1e-9)) ||
            (saves->slow_job &&
             delay_s - interval_s <= saves->slow_durable_s - saves->slow_interval_s))
            continue;
        saves->slow_job = keys[i].row->id.text;
        saves->slow_durable_s = delay_s;
        saves->slow_interval_s = interval_s;
    }
}

enum sand_rc sand_overview_saves(const struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_overview *overview)
{
    const size_t n = rows->n_replications;
    double *const durable = sand_arena_alloc(arena, n + 1, sizeof *durable);
    double *const undurable = sand_arena_alloc(arena, n + 1, sizeof *undurable);
    struct save_key *const keys = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *keys);
    if (durable == NULL || undurable == NULL || keys == NULL)
        return SAND_ERR_NOMEM;
    double delay_s = 0.0, n_delays = 0.0;
    for (size_t i = 0; i < rows->n_checkpoints; i++) {
        const struct sand_checkpoints_row *const save = &rows->checkpoints[i];
        const size_t run = sand_run_index(rows, save->replication);
        (save->durable_ns >= 0 ? durable : undurable)[run] += 1.0;
        if (save->durable_ns >= 0) {
            delay_s += sand_s_from_ns(save->durable_ns - save->begin_ns);
            n_delays += 1.0;
        }
    }
    overview->saves = (struct sand_saves){.durable = sand_summarise(durable, n),
                                          .undurable = sand_summarise(undurable, n),
                                          .interval_s = mean_over_saves(rows, interval_of),
                                          .stall_s = mean_over_saves(rows, stall_of),
                                          .to_durable_s = ratio(delay_s, n_delays),
                                          .share = stall_share(overview)};
    find_slow_saves(rows, keys, &overview->saves);
    return SAND_OK;
}
