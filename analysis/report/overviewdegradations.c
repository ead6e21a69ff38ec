// The figures of a summary: what degraded without killing, and what it cost.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "overview.h"
#include "units.h"

static int compare_rows(const void *a, const void *b)
{
    const struct sand_degradations_row *x = *(const struct sand_degradations_row *const *)a;
    const struct sand_degradations_row *y = *(const struct sand_degradations_row *const *)b;
    const int order = strcmp(x->fault_class.text, y->fault_class.text);
    if (order != 0)
        return order;
    if (x->replication != y->replication)
        return x->replication < y->replication ? -1 : 1;
    if (x->degradation != y->degradation)
        return x->degradation < y->degradation ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
    const struct sand_degradation_group *x = a, *y = b;
    if (x->lost_gpu_s != y->lost_gpu_s)
        return x->lost_gpu_s > y->lost_gpu_s ? -1 : 1;
    return strcmp(x->name, y->name);
}

// A strike has a row for every job that it cost time, or one without a job.
static void add(struct sand_degradation_group *group, const struct sand_degradations_row *row,
                const struct sand_degradations_row *before)
{
    const int same = before != NULL && before->replication == row->replication &&
                     before->degradation == row->degradation;
    group->n += !same;
    group->n_unnoticed += !same && row->noticed_ns < 0;
    if (row->job == UINT32_MAX)
        return;
    group->n_jobs++;
    group->still_s += sand_s_from_ns(row->still_ns);
    group->slow_s += sand_s_from_ns(row->slow_ns);
    group->lost_gpu_s += isfinite(row->lost_gpu_s) ? row->lost_gpu_s : 0;
}

enum sand_rc sand_overview_degradations(const struct sand_rowset *rows, struct sand_arena *arena,
                                        struct sand_overview *overview)
{
    const size_t n = rows->n_degradations;
    const struct sand_degradations_row **sorted = sand_arena_alloc(arena, n + 1, sizeof *sorted);
    overview->degradations = sand_arena_alloc(arena, n + 1, sizeof *overview->degradations);
    if (sorted == NULL || overview->degradations == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &rows->degradations[i];
    qsort(sorted, n, sizeof *sorted, compare_rows);
    struct sand_degradation_group *group = NULL;
    for (size_t i = 0; i < n; i++) {
        if (group == NULL || strcmp(group->name, sorted[i]->fault_class.text) != 0) {
            group = &overview->degradations[overview->n_degradations++];
            *group = (struct sand_degradation_group){.name = sorted[i]->fault_class.text,
                                                     .effect = sorted[i]->effect.text};
        }
        add(group, sorted[i], i > 0 ? sorted[i - 1] : NULL);
    }
    qsort(overview->degradations, overview->n_degradations, sizeof *overview->degradations,
          by_cost);
    return SAND_OK;
}
