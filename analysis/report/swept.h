// The results of a sweep's points side by side: every figure of every replication.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_SWEPT_H
#define SAND_ANALYSIS_REPORT_SWEPT_H

#include <stdint.h>
#include <stdio.h>

#include "diag.h"
#include "mem.h"
#include "stats.h"
#include "store.h"
#include "summary.h"

struct sand_swept_point {
    const char *name;          // as printed
    const char *const *levels; // of the sweep's columns
    const uint32_t *replications;
    size_t n_runs;  // 0: the point has no results
    double *values; // figure f of run r stands at f * n_runs + r; NaN: it has none
};

struct sand_swept {
    const char *const *columns; // what is varied
    size_t n_columns;
    struct sand_swept_point *points;
    size_t n_points;
};

// Figures are numbered from 0 as `compare` lists them. SAND_ERR_USAGE, with the nearest name, for
// one that there is not.
enum sand_rc sand_swept_find(const char *name, size_t *figure, struct sand_diag *diag);
const char *sand_swept_name(size_t figure);
// The figures that people want to see of this sweep if they do not say: of a short list those that
// differ between points, or the first of it. At most `most` of them.
size_t sand_swept_usual(const struct sand_swept *swept, size_t *figures, size_t most);

// Takes what is compared out of `results`, which may be closed afterwards. O(rows) a figure.
enum sand_rc sand_swept_take(struct sand_swept_point *point, struct sand_results *results,
                             struct sand_arena *arena, struct sand_diag *diag);

// Mean and interval of a figure at a point, in the unit in which people read it, which *unit (may
// be NULL) names: percent, h, GPU-hours, MWh.
struct sand_summary sand_swept_summary(const struct sand_swept *swept, size_t point, size_t figure,
                                       const char **unit);

// A table for each figure: its mean at every point, and the paired difference to the first point
// that has results, each with the 95 % interval of Student's t. At most 100 columns.
enum sand_rc sand_swept_print(const struct sand_swept *swept, const size_t *figures, size_t n,
                              enum sand_style style, FILE *out, struct sand_diag *diag);
// One line for every replication of every point: the levels, then all figures in SI units.
enum sand_rc sand_swept_csv(const struct sand_swept *swept, FILE *out, struct sand_diag *diag);

#endif
