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
    double steps; // weight
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
    split.gpu_s /= runs;
    return split;
}

// The jobs with a profile, each once however many runs there are, by number.
struct split_jobs {
    uint32_t *numbers;
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum sand_rc list_jobs(const struct sand_rowset *rows, struct sand_arena *arena,
                              struct split_jobs *jobs)
{
    jobs->n = 0;
    jobs->numbers = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *jobs->numbers);
    if (jobs->numbers == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < rows->n_jobs; i++)
        jobs->numbers[i] = rows->jobs[i].job;
    qsort(jobs->numbers, rows->n_jobs, sizeof *jobs->numbers, by_number);
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (jobs->n == 0 || jobs->numbers[jobs->n - 1] != jobs->numbers[i])
            jobs->numbers[jobs->n++] = jobs->numbers[i];
    return SAND_OK;
}

// The place of a job among the sums; NULL for one that a damaged file does not list.
static struct split_sum *sum_of(const struct split_jobs *jobs, struct split_sum *sums, uint32_t job)
{
    const uint32_t *const found =
        bsearch(&job, jobs->numbers, jobs->n, sizeof *jobs->numbers, by_number);
    return found != NULL ? &sums[found - jobs->numbers] : NULL;
}

// Weighs every profile with the steps that were executed under it.
static void weigh_attempts(const struct sand_rowset *rows, const struct split_jobs *jobs,
                           const struct sand_steps_row *const *profiles, struct split_sum *sums)
{
    for (size_t i = 0; i < rows->n_attempts; i++) {
        const struct sand_attempts_row *const attempt = &rows->attempts[i];
        const struct sand_steps_row key = {.replication = attempt->replication,
                                           .profile = attempt->profile};
        const struct sand_steps_row *const wanted = &key;
        const struct sand_steps_row *const *const found =
            bsearch(&wanted, profiles, rows->n_steps, sizeof *profiles, by_profile);
        struct split_sum *const sum = sum_of(jobs, sums, attempt->job);
        if (found != NULL && sum != NULL)
            add_profile(sum, *found, (double)attempt->steps);
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

static void name_splits(const struct sand_rowset *rows, const struct split_jobs *jobs,
                        struct split_sum *sums)
{
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const struct sand_jobs_row *const job = &rows->jobs[i];
        struct sand_step_split *const split = &sum_of(jobs, sums, job->job)->split;
        const double gpu_s =
            (double)(job->steps_done + job->steps_lost) * job->step_s * (double)job->gpus;
        split->job = job->id.text;
        split->healthy_step_s = job->healthy_step_s;
        split->gpu_s += isfinite(gpu_s) ? gpu_s : 0.0;
    }
}

enum sand_rc sand_overview_steps(const struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_overview *overview)
{
    const struct sand_steps_row **const profiles = sorted_profiles(rows, arena);
    struct split_sum *const sums = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *sums);
    overview->splits = sand_arena_alloc(arena, rows->n_jobs + 1, sizeof *overview->splits);
    struct split_jobs jobs;
    if (profiles == NULL || sums == NULL || overview->splits == NULL)
        return SAND_ERR_NOMEM;
    SAND_TRY(list_jobs(rows, arena, &jobs));
    weigh_attempts(rows, &jobs, profiles, sums);
    name_splits(rows, &jobs, sums);
    for (size_t i = 0; i < jobs.n; i++)
        if (sums[i].steps > 0.0 && sums[i].split.job != NULL)
            overview->splits[overview->n_splits++] = mean_split(&sums[i], (double)overview->n_runs);
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
