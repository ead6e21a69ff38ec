// Interruptions by cause and by class, and how long recovery took.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "overview.h"

const char *const sand_recovery_part_names[SAND_RECOVERY_PARTS] = {
    "detect", "diagnose", "wait for nodes", "restart", "restore", "recompute", "catch up"};

static int is_child(const struct sand_incidents_row *incident)
{
    return incident->parent != UINT32_MAX;
}

// ---- groups
// -----------------------------------------------------------------------------------------

static const char *cause_of(const struct sand_incidents_row *incident)
{
    return incident->cause.text;
}

static const char *class_of(const struct sand_incidents_row *incident)
{
    return incident->fault_class.text;
}

static int by_loss(const void *a, const void *b)
{
    const struct sand_fault_group *const x = a;
    const struct sand_fault_group *const y = b;
    if (x->lost_gpu_s != y->lost_gpu_s)
        return x->lost_gpu_s > y->lost_gpu_s ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct groups {
    struct sand_fault_group *items;
    size_t n, capacity;
};

static enum sand_rc find_group(struct groups *groups, const char *name, int planned,
                               struct sand_fault_group **group)
{
    for (size_t i = 0; i < groups->n; i++) {
        if (strcmp(groups->items[i].name, name) == 0) {
            *group = &groups->items[i];
            return SAND_OK;
        }
    }
    SAND_TRY(sand_grow((void **)&groups->items, &groups->capacity, groups->n + 1,
                       sizeof *groups->items));
    *group = &groups->items[groups->n++];
    **group = (struct sand_fault_group){.name = name, .planned = planned};
    return SAND_OK;
}

static enum sand_rc gather(const struct sand_rowset *rows, struct groups *groups,
                           const char *(*name_of)(const struct sand_incidents_row *))
{
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *const incident = &rows->incidents[i];
        const int planned = incident->planned != 0;
        struct sand_fault_group *group;
        SAND_TRY(find_group(groups, name_of(incident), planned, &group));
        group->n++;
        if (group->planned != planned)
            group->planned = -1;
        if (!is_child(incident) && isfinite(incident->lost_gpu_s))
            group->lost_gpu_s += incident->lost_gpu_s;
    }
    return SAND_OK;
}

static enum sand_rc group_by(const struct sand_rowset *rows, struct sand_arena *arena,
                             const char *(*name_of)(const struct sand_incidents_row *),
                             struct sand_fault_group **out, size_t *n)
{
    struct groups groups = {0};
    enum sand_rc rc = gather(rows, &groups, name_of);
    *out = sand_arena_alloc(arena, groups.n + 1, sizeof **out);
    if (rc == SAND_OK && *out == NULL)
        rc = SAND_ERR_NOMEM;
    if (rc == SAND_OK && groups.n > 0) {
        memcpy(*out, groups.items, groups.n * sizeof **out);
        qsort(*out, groups.n, sizeof **out, by_loss);
        *n = groups.n;
    }
    sand_free(groups.items);
    return rc;
}

// ---- recovery
// ---------------------------------------------------------------------------------------

static void add_parts(struct sand_recovery_times *times, const struct sand_incidents_row *incident)
{
    const double parts[SAND_RECOVERY_PARTS] = {
        incident->detect_s,  incident->diagnose_s,  incident->wait_nodes_s, incident->restart_s,
        incident->restore_s, incident->recompute_s, incident->catch_up_s};
    for (size_t i = 0; i < SAND_RECOVERY_PARTS; i++)
        times->parts_s[i] += parts[i];
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void finish(struct sand_recovery_times *times, double *values)
{
    const struct sand_summary summary = sand_summarise(values, times->n);
    qsort(values, times->n, sizeof *values, by_value);
    times->mean_s = summary.mean;
    times->median_s = sand_quantile_sorted(values, times->n, 0.5);
    times->p95_s = sand_quantile_sorted(values, times->n, 0.95);
    for (size_t i = 0; i < SAND_RECOVERY_PARTS; i++)
        times->parts_s[i] = times->n > 0 ? times->parts_s[i] / (double)times->n : (double)NAN;
}

// `values` has room for every incident.
static void time_recoveries(const struct sand_rowset *rows, int planned, double *values,
                            struct sand_recovery_times *times)
{
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *const incident = &rows->incidents[i];
        if ((incident->planned != 0) != planned)
            continue;
        if (is_child(incident)) {
            times->n_children++;
        } else if (incident->recovered_ns < 0 || !isfinite(incident->recovery_s)) {
            times->n_open++;
        } else {
            values[times->n++] = incident->recovery_s;
            add_parts(times, incident);
        }
    }
    finish(times, values);
}

enum sand_rc sand_overview_faults(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview)
{
    double *const values = sand_arena_alloc(arena, rows->n_incidents + 1, sizeof *values);
    if (values == NULL)
        return SAND_ERR_NOMEM;
    for (int planned = 0; planned < 2; planned++)
        time_recoveries(rows, planned, values, &overview->recovery[planned]);
    SAND_TRY(group_by(rows, arena, cause_of, &overview->causes, &overview->n_causes));
    return group_by(rows, arena, class_of, &overview->fault_classes, &overview->n_fault_classes);
}
