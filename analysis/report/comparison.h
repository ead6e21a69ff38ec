// Two results files with the same jobs and faults: paired differences, replication by replication.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_COMPARISON_H
#define SAND_ANALYSIS_REPORT_COMPARISON_H

#include <stdio.h>

#include "diag.h"
#include "mem.h"
#include "stats.h"
#include "store.h"
#include "summary.h"

// Shares 0..1, s, numbers, GPU s, J.
enum sand_compared_kind {
    SAND_COMPARED_SHARE,
    SAND_COMPARED_TIME,
    SAND_COMPARED_NUMBER,
    SAND_COMPARED_GPU_TIME,
    SAND_COMPARED_ENERGY
};

// A figure of both files. Replications in which either has none are left out of all three.
struct sand_compared {
    const char *name;
    enum sand_compared_kind kind;
    struct sand_summary first, second, difference; // second - first
};

struct sand_comparison {
    const struct sand_meta *first, *second;
    struct sand_compared *figures;
    size_t n_figures, n_pairs;
    size_t jobs_least, jobs_most; // of a replication
};

// Refuses files that are no pairs: other seeds, replications, durations, or jobs. Texts live in the
// arena or in the results. O(rows log rows).
enum sand_rc sand_comparison_make(struct sand_results *first, struct sand_results *second,
                                  struct sand_arena *arena, struct sand_comparison *comparison,
                                  struct sand_diag *diag);

// At most 100 columns. SAND_ERR_IO when `out` has failed.
enum sand_rc sand_comparison_print(const struct sand_comparison *comparison, enum sand_style style,
                                   FILE *out, struct sand_diag *diag);
// One JSON object: SI units, shares 0..1, null for unknown.
enum sand_rc sand_comparison_json(const struct sand_comparison *comparison, FILE *out,
                                  struct sand_diag *diag);

#endif
