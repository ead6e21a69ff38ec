// Both schedules by class, user and size of the same jobs, each kind of end apart.
// Bounded slowdown: Feitelson and Rudolph, "Metrics and Benchmarking for Parallel Job Scheduling",
// JSSPP 1998.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "backtestgroups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sizegroup.h"
#include "units.h"

static const double slowdown_bound_s = 10;
static const int64_t same_ns = 1000000; // traces have whole seconds, or milliseconds

enum by { BY_CLASS, BY_USER, BY_SIZE, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"class", "user", "size"};

struct item {
    const char *name;
    const struct sand_backtest_job *job;
};

struct work {
    struct sand_backtest *b;
    struct item *items;
    double *values;
    size_t n;
    int64_t first_ns, last_ns; // the window of use
};

// ---- figures of one schedule --------------------------------------------------------------------

static int64_t start_of(const struct sand_backtest_job *job, int recorded)
{
    return recorded ? job->record_ns : job->start_ns;
}

static int64_t end_of(const struct sand_backtest_job *job, int recorded)
{
    return recorded ? job->record_ns + job->run_ns : job->end_ns;
}

static double wait_s(const struct sand_backtest_job *job, int recorded)
{
    return sand_s_from_ns(start_of(job, recorded) - job->submit_ns);
}

static double completion_s(const struct sand_backtest_job *job, int recorded)
{
    return sand_s_from_ns(end_of(job, recorded) - job->submit_ns);
}

static double slowdown(const struct sand_backtest_job *job, int recorded)
{
    const double completion = completion_s(job, recorded);
    return fmax(1.0, completion / fmax(completion - wait_s(job, recorded), slowdown_bound_s));
}

// GPU-seconds that lie in the window.
static double held_s(const struct work *w, const struct sand_backtest_job *job, int recorded)
{
    int64_t from = start_of(job, recorded), to = end_of(job, recorded);
    from = from > w->first_ns ? from : w->first_ns;
    to = to < w->last_ns ? to : w->last_ns;
    return to > from ? (double)job->gpus * sand_s_from_ns(to - from) : 0;
}

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread {
    double mean, p50, p95;
};

static double rank_of(const double *sorted, size_t n, double share)
{
    const size_t rank = (size_t)ceil(share * (double)n);
    return sorted[rank > 0 ? rank - 1 : 0];
}

static struct spread spread_of(struct work *w, const struct item *items, size_t n, int recorded,
                               double (*figure)(const struct sand_backtest_job *, int))
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += w->values[i] = figure(items[i].job, recorded);
    qsort(w->values, n, sizeof *w->values, compare_values);
    return (struct spread){sum / (double)n, rank_of(w->values, n, 0.5),
                           rank_of(w->values, n, 0.95)};
}

static struct sand_backtest_side side_of(struct work *w, const struct item *items, size_t n,
                                         int recorded)
{
    const struct spread wait = spread_of(w, items, n, recorded, wait_s);
    const struct spread completion = spread_of(w, items, n, recorded, completion_s);
    const struct spread slow = spread_of(w, items, n, recorded, slowdown);
    double held = 0;
    for (size_t i = 0; i < n; i++)
        held += held_s(w, items[i].job, recorded);
    return (struct sand_backtest_side){.wait_mean_s = wait.mean,
                                       .wait_p50_s = wait.p50,
                                       .wait_p95_s = wait.p95,
                                       .completion_mean_s = completion.mean,
                                       .completion_p95_s = completion.p95,
                                       .slowdown_mean = slow.mean,
                                       .use = held / (w->b->capacity_gpus * w->b->window_s)};
}

// ---- groups -------------------------------------------------------------------------------------

static struct sand_backtest_group measure(struct work *w, const char *by, const struct item *items,
                                          size_t n)
{
    struct sand_backtest_group group = {.by = by, .name = items[0].name, .jobs = n};
    for (size_t i = 0; i < n; i++) {
        const struct sand_backtest_job *job = items[i].job;
        const int64_t shift = job->start_ns - job->record_ns;
        const int64_t size = shift < 0 ? -shift : shift;
        group.same += size <= same_ns;
        group.shift_s += sand_s_from_ns(size) / (double)n;
        group.gpu_s += (double)job->gpus * sand_s_from_ns(job->end_ns - job->start_ns);
    }
    group.simulated = side_of(w, items, n, 0);
    group.recorded = side_of(w, items, n, 1);
    return group;
}

static const char *name_of(const struct sand_backtest_job *job, enum by by)
{
    switch (by) {
    case BY_CLASS:
        return job->job_class;
    case BY_USER:
        return job->user;
    default:
        return sand_size_group(job->gpus);
    }
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->job->ending, y->job->ending);
    return order != 0 ? order : (x->job > y->job) - (x->job < y->job);
}

static void gather(struct work *w, int by)
{
    w->n = 0;
    for (size_t i = 0; i < w->b->n_jobs; i++) {
        const struct sand_backtest_job *job = &w->b->jobs[i];
        const char *name = by < 0 ? "all" : name_of(job, (enum by)by);
        if (name && sand_backtest_compares(job))
            w->items[w->n++] = (struct item){name, job};
    }
    qsort(w->items, w->n, sizeof *w->items, compare_items);
}

static enum sand_rc add_groups(struct work *w, int by)
{
    struct sand_backtest *b = w->b;
    gather(w, by);
    for (size_t first = 0, end; first < w->n; first = end) {
        const struct item *items = &w->items[first];
        void *groups = b->groups;
        end = first + 1;
        while (end < w->n && strcmp(w->items[end].name, items->name) == 0 &&
               strcmp(w->items[end].job->ending, items->job->ending) == 0)
            end++;
        SAND_TRY(sand_grow(&groups, &b->groups_capacity, b->n_groups + 1, sizeof *b->groups));
        b->groups = groups;
        b->groups[b->n_groups] = measure(w, by < 0 ? "all" : by_names[by], items, end - first);
        b->groups[b->n_groups++].ending = items->job->ending;
    }
    return SAND_OK;
}

static void set_window(struct work *w)
{
    w->first_ns = INT64_MAX;
    w->last_ns = 0;
    for (size_t i = 0; i < w->b->n_jobs; i++) {
        const struct sand_backtest_job *job = &w->b->jobs[i];
        if (!sand_backtest_compares(job))
            continue;
        w->first_ns = job->submit_ns < w->first_ns ? job->submit_ns : w->first_ns;
        w->last_ns = job->submit_ns > w->last_ns ? job->submit_ns : w->last_ns;
    }
    w->b->window_s = sand_s_from_ns(w->last_ns - w->first_ns);
}

enum sand_rc sand_backtest_group(struct sand_backtest *backtest, uint64_t capacity_gpus)
{
    struct work w = {.b = backtest};
    backtest->capacity_gpus = (double)capacity_gpus;
    w.items = sand_calloc(backtest->n_jobs, sizeof *w.items);
    w.values = sand_calloc(backtest->n_jobs, sizeof *w.values);
    enum sand_rc rc = w.items && w.values ? SAND_OK : SAND_ERR_NOMEM;
    if (rc == SAND_OK) {
        set_window(&w);
        gather(&w, -1);
        backtest->whole = measure(&w, "all", w.items, w.n);
    }
    for (int by = -1; rc == SAND_OK && by < BY_COUNT; by++)
        rc = add_groups(&w, by);
    sand_free(w.items);
    sand_free(w.values);
    return rc;
}
