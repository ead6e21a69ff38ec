// What came out of predicting measured rows: tables for people, CSV for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPREPORT_H
#define SAND_ANALYSIS_VALIDATE_STEPREPORT_H

#include <stdio.h>

#include "predictedrows.h"
#include "predictedtable.h"
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

// They as rows of any kind: errors, figures and lines about them.
struct sand_predicted_rows sand_step_predicted(const struct sand_step_results *results);

// Whether the row counts: fully specified, and answered.
int sand_step_is_scored(const struct sand_step_results *results, size_t i);
size_t sand_step_count_scored(const struct sand_step_results *results);

// By source and GPU generation: count, median and mean absolute error, bias, how many rows lie
// within 5 and 10 %, the noise floor; how often the faster of two layouts is predicted; the same
// tables for left-out groups; the worst rows; rows listed without score, rows skipped by
// reason, bad cells. The last line is "overall: N rows, median X %, mean Y %, bias Z %", or
// "overall: 0 rows". SAND_ERR_NOMEM.
enum sand_rc sand_step_report_print(const struct sand_step_results *results, FILE *out);

// One row per row of the file: id, class, stack, machine, measured, predicted, error, parts, why;
// group `steps` of an HDF5 file.
struct sand_predicted_table sand_step_table(const struct sand_step_results *results);

#endif
