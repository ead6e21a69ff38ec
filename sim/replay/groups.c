// Wait, completion time and slowdown by class, user and size of job, each kind of end apart.
// wait = first start - submit; completion = end - submit; bounded slowdown = max(1, completion /
// max(completion - wait, 10 s)) (Feitelson and Rudolph, "Metrics and Benchmarking for Parallel Job
// Scheduling", JSSPP 1998). Percentiles are by nearest rank.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "units.h"

static const double slowdown_bound_s = 10;

enum by { BY_ALL, BY_CLASS, BY_USER, BY_SIZE, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"all", "class", "user", "size"};

struct item {
    const char *name, *state;
    const struct sand_world_job *job;
};

struct groups {
    struct sand_world *w;
    struct item *items;
    double *values; // scratch
    size_t n;
};

// ---- names --------------------------------------------------------------------------------------

// Text order is order of size.
static const char *size_name(uint64_t gpus)
{
    static const struct {
        uint64_t most;
        const char *name;
    } sizes[] = {{1, "1 GPU"}, {8, "2-8 GPUs"}, {64, "9-64 GPUs"}, {512, "65-512 GPUs"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (gpus <= sizes[i].most)
            return sizes[i].name;
    return "above 512 GPUs";
}

static const char *name_of(const struct sand_world_job *j, enum by by)
{
    switch (by) {
    case BY_CLASS:
        return j->spec->job_class;
    case BY_USER:
        return j->spec->user;
    case BY_SIZE:
        return size_name(j->gpus);
    default:
        return "all";
    }
}

static int compare_items(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order == 0)
        order = strcmp(left->state, right->state);
    if (order == 0)
        order = (left->job->index > right->job->index) - (left->job->index < right->job->index);
    return order;
}

// ---- figures ------------------------------------------------------------------------------------

enum figure { FIGURE_WAIT, FIGURE_COMPLETION, FIGURE_SLOWDOWN };

static double figure_of(const struct sand_world_job *j, enum figure figure)
{
    const double wait_s = sand_s_from_ns(j->start_ns - j->spec->submit_ns);
    if (j->start_ns < 0)
        return NAN;
    if (figure == FIGURE_WAIT)
        return wait_s;
    if (j->end_ns < 0)
        return NAN;
    const double completion_s = sand_s_from_ns(j->end_ns - j->spec->submit_ns);
    if (figure == FIGURE_COMPLETION)
        return completion_s;
    return fmax(1.0, completion_s / fmax(completion_s - wait_s, slowdown_bound_s));
}

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rank_of(const double *sorted, size_t n, double share)
{
    const size_t rank = (size_t)ceil(share * (double)n);
    return sorted[rank > 0 ? rank - 1 : 0];
}

// All NaN for ends at which the figure does not exist.
static void measure(const struct groups *g, const struct item *items, size_t n, enum figure figure,
                    double out[4])
{
    double sum = 0;
    out[0] = out[1] = out[2] = out[3] = NAN;
    for (size_t i = 0; i < n; i++) {
        g->values[i] = figure_of(items[i].job, figure);
        if (isnan(g->values[i]))
            return;
        sum += g->values[i];
    }
    qsort(g->values, n, sizeof *g->values, compare_values);
    out[0] = sum / (double)n;
    out[1] = rank_of(g->values, n, 0.5);
    out[2] = rank_of(g->values, n, 0.95);
    out[3] = g->values[n - 1];
}

static enum sand_rc emit(const struct groups *g, enum by by, const struct item *items, size_t n)
{
    double wait[4], completion[4], slowdown[4], gpu_s = 0;
    measure(g, items, n, FIGURE_WAIT, wait);
    measure(g, items, n, FIGURE_COMPLETION, completion);
    measure(g, items, n, FIGURE_SLOWDOWN, slowdown);
    for (size_t i = 0; i < n; i++)
        gpu_s += sand_gpu_s(items[i].job->held_gpu_ns);
    struct sand_groups_row row = {.replication = g->w->options->replication,
                                  .jobs = n,
                                  .gpu_s = gpu_s,
                                  .wait_mean_s = wait[0],
                                  .wait_p50_s = wait[1],
                                  .wait_p95_s = wait[2],
                                  .wait_max_s = wait[3],
                                  .completion_mean_s = completion[0],
                                  .completion_p50_s = completion[1],
                                  .completion_p95_s = completion[2],
                                  .slowdown_mean = slowdown[0],
                                  .slowdown_p50 = slowdown[1],
                                  .slowdown_p95 = slowdown[2]};
    sand_cell_set(&row.by, by_names[by]);
    sand_cell_set(&row.name, items[0].name);
    sand_cell_set(&row.ending, items[0].state);
    return sand_emit_row(g->w, SAND_TABLE_groups, &row);
}

// ---- groups -------------------------------------------------------------------------------------

static void gather(struct groups *g, enum by by)
{
    g->n = 0;
    for (size_t i = 0; i < g->w->experiment->n_jobs; i++) {
        const struct sand_world_job *j = &g->w->jobs[i];
        const char *name = name_of(j, by);
        if (name)
            g->items[g->n++] = (struct item){name, sand_job_state_name(j), j};
    }
    qsort(g->items, g->n, sizeof *g->items, compare_items);
}

static enum sand_rc emit_by(struct groups *g, enum by by)
{
    gather(g, by);
    for (size_t first = 0, end; first < g->n; first = end) {
        const struct item *items = &g->items[first];
        end = first + 1;
        while (end < g->n && strcmp(g->items[end].name, items->name) == 0 &&
               strcmp(g->items[end].state, items->state) == 0)
            end++;
        SAND_TRY(emit(g, by, items, end - first));
    }
    return SAND_OK;
}

enum sand_rc sand_groups_emit(struct sand_world *w)
{
    struct groups g = {.w = w};
    g.items = sand_calloc(w->experiment->n_jobs, sizeof *g.items);
    g.values = sand_calloc(w->experiment->n_jobs, sizeof *g.values);
    enum sand_rc rc = g.items && g.values ? SAND_OK : SAND_ERR_NOMEM;
    for (int by = 0; rc == SAND_OK && by < BY_COUNT; by++)
        rc = emit_by(&g, (enum by)by);
    sand_free(g.items);
    sand_free(g.values);
    return rc;
}
