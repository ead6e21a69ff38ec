// What is compared of two results files: figures of one replication each.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_COMPARISONFIGURES_H
#define SAND_ANALYSIS_REPORT_COMPARISONFIGURES_H

#include "comparison.h"
#include "textout.h"

// The tables of one file that are compared.
struct sand_compared_side {
    struct sand_results *results;
    const struct sand_meta *meta;
    const struct sand_replications_row *runs;
    const struct sand_groups_row *groups;
    const struct sand_cluster_row *cluster;
    const struct sand_jobs_row *jobs;
    const struct sand_incidents_row *incidents;
    const struct sand_degradations_row *degradations;
    size_t n_runs, n_groups, n_cluster, n_jobs, n_incidents, n_degradations;
    double *values; // of the figure at hand, by run
};

// Reads the tables of `side->results`; they live as long as it does.
enum sand_rc sand_compared_side_load(struct sand_compared_side *side, struct sand_diag *diag);

struct sand_compared_figure;
// NaN: the run has none.
typedef double sand_compared_value(const struct sand_compared_side *side, size_t run,
                                   const struct sand_compared_figure *figure);

struct sand_compared_figure {
    const char *name;
    enum sand_compared_kind kind;
    sand_compared_value *value;
    const char *by, *group; // of the groups table, or a ledger class
    size_t offset;          // of the column
    double scale;           // of the column; 0: 1
};

// The figures that every file has, *n of them.
const struct sand_compared_figure *sand_compared_figures(size_t *n);
// A column of the finished jobs of a group: other ends are never averaged in.
double sand_figure_of_finished(const struct sand_compared_side *side, size_t run,
                               const struct sand_compared_figure *figure);

// A value of a figure: percent, GPU-hours, MWh, a time in its own unit; "-" for NaN.
struct sand_text sand_compared_text(double value, enum sand_compared_kind kind);
// A difference or its half width: rounding noise of the figure is told as 0.
struct sand_text sand_compared_text_of_part(double value, const struct sand_compared *figure);
// Whether the difference is more than its interval and than rounding.
int sand_compared_is_clear(const struct sand_compared *figure);

#endif
