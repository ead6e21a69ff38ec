// The figures of a summary: how long jobs waited and took, by group and by how they ended.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static int compare_rows(const void *a, const void *b)
{
    const struct sand_groups_row *left = *(const struct sand_groups_row *const *)a;
    const struct sand_groups_row *right = *(const struct sand_groups_row *const *)b;
    int order = strcmp(left->by.text, right->by.text);
    if (order == 0)
        order = strcmp(left->name.text, right->name.text);
    if (order == 0)
        order = strcmp(left->ending.text, right->ending.text);
    if (order == 0)
        order = (left->replication > right->replication) - (left->replication < right->replication);
    return order;
}

static int same_group(const struct sand_groups_row *a, const struct sand_groups_row *b)
{
    return strcmp(a->by.text, b->by.text) == 0 && strcmp(a->name.text, b->name.text) == 0 &&
           strcmp(a->ending.text, b->ending.text) == 0;
}

// Jobs and GPU time are a mean over all runs, the rest over the runs that have such jobs.
static struct sand_job_group mean_of(const struct sand_groups_row *const *rows, size_t n,
                                     size_t n_runs)
{
    const double runs = (double)n_runs, some = (double)n;
    struct sand_job_group g = {
        .by = rows[0]->by.text, .name = rows[0]->name.text, .ending = rows[0]->ending.text};
    for (size_t i = 0; i < n; i++) {
        g.jobs += (double)rows[i]->jobs / runs;
        g.gpu_s += rows[i]->gpu_s / runs;
        g.asked_gpu_s += rows[i]->asked_gpu_s / runs;
        g.useful_gpu_s += rows[i]->useful_gpu_s / runs;
        g.wait_mean_s += rows[i]->wait_mean_s / some;
        g.wait_p50_s += rows[i]->wait_p50_s / some;
        g.wait_p95_s += rows[i]->wait_p95_s / some;
        g.wait_max_s += rows[i]->wait_max_s / some;
        g.completion_mean_s += rows[i]->completion_mean_s / some;
        g.completion_p50_s += rows[i]->completion_p50_s / some;
        g.completion_p95_s += rows[i]->completion_p95_s / some;
        g.slowdown_mean += rows[i]->slowdown_mean / some;
        g.slowdown_p50 += rows[i]->slowdown_p50 / some;
        g.slowdown_p95 += rows[i]->slowdown_p95 / some;
    }
    return g;
}

// First submit to last end of one run, seconds.
static double window_of(const struct sand_rowset *rows, uint32_t replication)
{
    const struct sand_run_window *window = &rows->windows[sand_run_index(rows, replication)];
    const int64_t first = window->first_ns, last = window->last_ns;
    return last > first ? sand_s_from_ns(last - first) : 0;
}

enum use { USE_HELD, USE_USEFUL, USE_UNASKED, USE_FRAGMENT, USE_JOBLESS, USES };

static void add_groups(const struct sand_rowset *rows, uint32_t replication, double uses[USES])
{
    for (size_t i = 0; i < rows->n_groups; i++) {
        const struct sand_groups_row *group = &rows->groups[i];
        if (group->replication != replication || strcmp(group->by.text, "all") != 0)
            continue;
        uses[USE_HELD] += group->gpu_s;
        uses[USE_USEFUL] += group->useful_gpu_s;
        uses[USE_UNASKED] += fmax(0, group->gpu_s - group->asked_gpu_s); // equal but for rounding
    }
}

// Where jobs are there are fragments: none outside the window.
static void add_fragments(const struct sand_rowset *rows, uint32_t replication, double uses[USES])
{
    for (size_t i = 0; i < rows->n_cluster; i++)
        if (rows->cluster[i].replication == replication &&
            strcmp(rows->cluster[i].gpu_class.text, "fragment") == 0)
            uses[USE_FRAGMENT] += rows->cluster[i].gpu_s;
}

static enum sand_rc summarise_use(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview)
{
    const size_t n = rows->n_replications;
    struct sand_summary *const targets[USES] = {[USE_HELD] = &overview->use,
                                                [USE_USEFUL] = &overview->useful_use,
                                                [USE_UNASKED] = &overview->unasked,
                                                [USE_FRAGMENT] = &overview->fragment,
                                                [USE_JOBLESS] = &overview->jobless};
    double *const shares = sand_arena_alloc(arena, USES * n + 1, sizeof *shares);
    if (!shares)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const uint32_t replication = rows->replications[i].replication;
        const double window_s = window_of(rows, replication);
        const double whole = overview->capacity_gpus * window_s;
        double uses[USES] = {0};
        add_groups(rows, replication, uses);
        add_fragments(rows, replication, uses);
        uses[USE_JOBLESS] = fmax(0, whole - uses[USE_HELD] - uses[USE_FRAGMENT]);
        overview->window_s += window_s / (double)n;
        for (int use = 0; use < USES; use++)
            shares[(size_t)use * n + i] = uses[use] / whole;
    }
    for (int use = 0; use < USES; use++)
        *targets[use] = sand_summarise(shares + (size_t)use * n, n);
    return SAND_OK;
}

// The groups of one kind and name lie together, one for each ending.
static void sum_endings(struct sand_overview *overview)
{
    for (size_t i = 0; i < overview->n_groups; i++) {
        const struct sand_job_group *group = &overview->groups[i];
        struct sand_group_use *use = &overview->uses[overview->n_uses];
        if (i == 0 || strcmp(group[-1].by, group->by) != 0 ||
            strcmp(group[-1].name, group->name) != 0) {
            *use = (struct sand_group_use){.by = group->by,
                                           .name = group->name,
                                           .whole_gpu_s =
                                               overview->capacity_gpus * overview->window_s};
            overview->n_uses++;
        } else {
            use--;
        }
        use->gpu_s += group->gpu_s;
        use->asked_gpu_s += group->asked_gpu_s;
        use->useful_gpu_s += group->useful_gpu_s;
    }
}

enum sand_rc sand_overview_groups(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview)
{
    const size_t n = rows->n_groups;
    const struct sand_groups_row **sorted = sand_arena_alloc(arena, n + 1, sizeof *sorted);
    overview->groups = sand_arena_alloc(arena, n + 1, sizeof *overview->groups);
    overview->uses = sand_arena_alloc(arena, n + 1, sizeof *overview->uses);
    if (!sorted || !overview->groups || !overview->uses)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &rows->groups[i];
    qsort(sorted, n, sizeof *sorted, compare_rows);
    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && same_group(sorted[end], sorted[first]))
            end++;
        overview->groups[overview->n_groups++] =
            mean_of(&sorted[first], end - first, overview->n_runs);
    }
    if (n == 0)
        return SAND_OK;
    SAND_TRY(summarise_use(rows, arena, overview));
    sum_endings(overview);
    return SAND_OK;
}
