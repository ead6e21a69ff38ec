// The figures of one replication, from the tables of its results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "comparisonfigures.h"

#include <math.h>
#include <string.h>

enum sand_rc sand_compared_side_load(struct sand_compared_side *side, struct sand_diag *diag)
{
    const void *rows;
    side->meta = sand_results_meta(side->results);
#define LOAD(table, member)                                                                        \
    SAND_TRY(                                                                                      \
        sand_results_table(side->results, SAND_TABLE_##table, &rows, &side->n_##member, diag));    \
    side->member = rows
    LOAD(replications, runs);
    LOAD(groups, groups);
    LOAD(cluster, cluster);
    LOAD(jobs, jobs);
    LOAD(incidents, incidents);
    LOAD(degradations, degradations);
#undef LOAD
    return SAND_OK;
}

static double scaled(const void *row, const struct sand_compared_figure *figure)
{
    double value;
    memcpy(&value, (const char *)row + figure->offset, sizeof value);
    return figure->scale > 0 ? value * figure->scale : value;
}

static double of_run(const struct sand_compared_side *side, size_t run,
                     const struct sand_compared_figure *figure)
{
    return scaled(&side->runs[run], figure);
}

static double interruptions(const struct sand_compared_side *side, size_t run,
                            const struct sand_compared_figure *figure)
{
    (void)figure;
    return (double)side->runs[run].incidents;
}

static double planned_interruptions(const struct sand_compared_side *side, size_t run,
                                    const struct sand_compared_figure *figure)
{
    (void)figure;
    return (double)side->runs[run].planned_incidents;
}

static double energy_per_token(const struct sand_compared_side *side, size_t run,
                               const struct sand_compared_figure *figure)
{
    (void)figure;
    const struct sand_replications_row *row = &side->runs[run];
    return row->tokens > 0 ? row->energy_J / row->tokens : (double)NAN;
}

// ---- jobs ---------------------------------------------------------------------------------------

double sand_figure_of_finished(const struct sand_compared_side *side, size_t run,
                               const struct sand_compared_figure *figure)
{
    for (size_t i = 0; i < side->n_groups; i++) {
        const struct sand_groups_row *row = &side->groups[i];
        if (row->replication == side->runs[run].replication &&
            strcmp(row->by.text, figure->by) == 0 && strcmp(row->name.text, figure->group) == 0 &&
            strcmp(row->ending.text, "finished") == 0)
            return scaled(row, figure);
    }
    return NAN;
}

static double finished_jobs(const struct sand_compared_side *side, size_t run,
                            const struct sand_compared_figure *figure)
{
    double n = 0;
    for (size_t i = 0; i < side->n_groups; i++)
        if (side->groups[i].replication == side->runs[run].replication &&
            strcmp(side->groups[i].by.text, figure->by) == 0 &&
            strcmp(side->groups[i].ending.text, "finished") == 0)
            n += (double)side->groups[i].jobs;
    return n;
}

// ---- GPU time -----------------------------------------------------------------------------------

// A ledger class over all; NULL: what jobs held.
static double share_of(const struct sand_compared_side *side, size_t run,
                       const struct sand_compared_figure *figure)
{
    double part = 0, whole = 0;
    const uint32_t replication = side->runs[run].replication;
    for (size_t i = 0; i < side->n_cluster; i++) {
        if (side->cluster[i].replication != replication)
            continue;
        whole += side->cluster[i].gpu_s;
        if (figure->group && strcmp(side->cluster[i].gpu_class.text, figure->group) == 0)
            part += side->cluster[i].gpu_s;
    }
    for (size_t i = 0; !figure->group && i < side->n_groups; i++)
        if (side->groups[i].replication == replication &&
            strcmp(side->groups[i].by.text, "all") == 0)
            part += side->groups[i].gpu_s;
    return part / whole;
}

// ---- faults -------------------------------------------------------------------------------------

// Mean over the unexpected interruptions that struck no recovery and are over, as `show` has it.
static double of_recoveries(const struct sand_compared_side *side, size_t run,
                            const struct sand_compared_figure *figure)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < side->n_incidents; i++) {
        const struct sand_incidents_row *row = &side->incidents[i];
        if (row->replication != side->runs[run].replication || row->planned != 0 ||
            row->parent != UINT32_MAX || row->recovered_ns < 0 || !isfinite(row->recovery_s))
            continue;
        sum += scaled(row, figure);
        n++;
    }
    return n > 0 ? sum / n : (double)NAN;
}

static double of_degradations(const struct sand_compared_side *side, size_t run,
                              const struct sand_compared_figure *figure)
{
    double sum = 0;
    for (size_t i = 0; i < side->n_degradations; i++)
        if (side->degradations[i].replication == side->runs[run].replication &&
            isfinite(side->degradations[i].lost_gpu_s))
            sum += scaled(&side->degradations[i], figure);
    return sum;
}

// ---- all ----------------------------------------------------------------------------------------

#define RUN(column) .value = of_run, .offset = offsetof(struct sand_replications_row, column)
#define FINISHED(column)                                                                           \
    .value = sand_figure_of_finished, .by = "all", .group = "all",                                 \
    .offset = offsetof(struct sand_groups_row, column)
#define CLASS(name)                                                                                \
    {                                                                                              \
        name, SAND_COMPARED_SHARE, .value = share_of, .group = name                                \
    }
#define RECOVERY(column)                                                                           \
    SAND_COMPARED_TIME, .value = of_recoveries,                                                    \
                        .offset = offsetof(struct sand_incidents_row, column)

static const struct sand_compared_figure figures[] = {
    {"MFU while stepping", SAND_COMPARED_SHARE, RUN(mfu)},
    {"MFU on free links", SAND_COMPARED_SHARE, RUN(mfu_alone)},
    {"goodput MFU", SAND_COMPARED_SHARE, RUN(goodput_mfu)},
    {"ETTR from first start", SAND_COMPARED_SHARE, RUN(ettr_run)},
    {"ETTR from eligible", SAND_COMPARED_SHARE, RUN(ettr_total)},
    {"tokens of surviving steps, billion", SAND_COMPARED_NUMBER, RUN(tokens), .scale = 1e-9},
    {"GPU time held by jobs", SAND_COMPARED_SHARE, .value = share_of},
    CLASS("useful"),
    CLASS("slowdown"),
    CLASS("at risk"),
    CLASS("lost"),
    CLASS("checkpoint stall"),
    CLASS("data stall"),
    CLASS("detecting"),
    CLASS("diagnosing"),
    CLASS("restarting"),
    CLASS("restoring"),
    CLASS("waiting for nodes"),
    CLASS("held"),
    CLASS("spare"),
    CLASS("idle"),
    CLASS("fragment"),
    CLASS("drained"),
    CLASS("down"),
    {"lost to neighbours, GPU-hours", SAND_COMPARED_GPU_TIME, RUN(neighbours_gpu_s)},
    {"lost to saves and data, GPU-hours", SAND_COMPARED_GPU_TIME, RUN(transfers_gpu_s)},
    {"unexpected interruptions", SAND_COMPARED_NUMBER, .value = interruptions},
    {"planned interruptions", SAND_COMPARED_NUMBER, .value = planned_interruptions},
    {"cost of interruptions, GPU-hours", SAND_COMPARED_GPU_TIME, RUN(lost_gpu_s)},
    {"cost of degradations, GPU-hours", SAND_COMPARED_GPU_TIME, .value = of_degradations,
     .offset = offsetof(struct sand_degradations_row, lost_gpu_s)},
    {"recovery, mean", RECOVERY(recovery_s)},
    {"recovery: detect", RECOVERY(detect_s)},
    {"recovery: diagnose", RECOVERY(diagnose_s)},
    {"recovery: wait for nodes", RECOVERY(wait_nodes_s)},
    {"recovery: restart", RECOVERY(restart_s)},
    {"recovery: restore", RECOVERY(restore_s)},
    {"recovery: recompute", RECOVERY(recompute_s)},
    {"recovery: catch up", RECOVERY(catch_up_s)},
    {"facility energy, MWh", SAND_COMPARED_ENERGY, RUN(energy_J)},
    {"energy per token, J", SAND_COMPARED_NUMBER, .value = energy_per_token},
    {"jobs finished", SAND_COMPARED_NUMBER, .value = finished_jobs, .by = "all"},
    {"wait, mean", SAND_COMPARED_TIME, FINISHED(wait_mean_s)},
    {"wait, p95", SAND_COMPARED_TIME, FINISHED(wait_p95_s)},
    {"completion, mean", SAND_COMPARED_TIME, FINISHED(completion_mean_s)},
    {"bounded slowdown, mean", SAND_COMPARED_NUMBER, FINISHED(slowdown_mean)},
};

const struct sand_compared_figure *sand_compared_figures(size_t *n)
{
    *n = sizeof figures / sizeof figures[0];
    return figures;
}
