// What came out of predicting measured rows: tables for people, CSV for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPREPORT_H
#define SAND_ANALYSIS_VALIDATE_STEPREPORT_H

#include <stdio.h>

#include "stepcheck.h"

struct sand_step_leave;

struct sand_step_results {
    const struct sand_step_rules *rules;
    const struct sand_step_case *cases;
    const struct sand_step_prediction *predictions;
    size_t n;
    // With --leave-out: what was refitted, and the predictions without each row's own group.
    const struct sand_step_leave *leave;
    const struct sand_step_prediction *left_out;
};

// (predicted - measured) / measured; NaN if one of the two is missing.
double sand_step_error(const struct sand_step_results *results, size_t i);

// Whether the row counts: fully specified, and answered.
int sand_step_is_scored(const struct sand_step_results *results, size_t i);
size_t sand_step_count_scored(const struct sand_step_results *results);

// Spread of rows that are equal in every input a predictor may use: the mean of |t - m| / m over
// them, m their mean. n_rows of them in n_groups.
struct sand_step_floor {
    size_t n_rows, n_groups;
    double mean;
};

// By source and GPU generation: count, median and mean absolute error, bias, how many rows lie
// within 5 and 10 %, the noise floor; how often the faster of two layouts is predicted; the same
// tables for left-out groups; the worst rows; rows listed without score, rows skipped by
// reason, bad cells. The last line is "overall: N rows, median X %, mean Y %, bias Z %", or
// "overall: 0 rows". SAND_ERR_NOMEM.
enum sand_rc sand_step_report_print(const struct sand_step_results *results, FILE *out);

// The floor of a stack's scored rows, or of all (NULL); n_rows 0: no two rows are equal.
enum sand_rc sand_step_find_floor(const struct sand_step_results *results,
                                  const struct sand_step_stack *stack,
                                  struct sand_step_floor *floor);

// One line per row of the file: id, class, stack, machine, measured, predicted, error, parts, why.
void sand_step_report_csv(const struct sand_step_results *results, FILE *out);

// The same columns in the group `steps` of an HDF5 file; NaN where there is no number.
enum sand_rc sand_step_report_hdf5(const struct sand_step_results *results, const char *path,
                                   struct sand_diag *diag);

#endif
