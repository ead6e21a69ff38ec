// What came out of predicting measured collectives: tables for people, CSV for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_COLLREPORT_H
#define SAND_ANALYSIS_VALIDATE_COLLREPORT_H

#include <stdio.h>

#include "collcase.h"
#include "errorfigures.h"

struct sand_coll_results {
    const struct sand_coll_model *model;
    const struct sand_coll_case *cases;
    const struct sand_coll_terms *terms; // time_s 0: no prediction
    size_t n;
};

// (predicted - measured) / measured; NaN if one of the two is missing.
double sand_coll_error(const struct sand_coll_results *results, size_t i);
int sand_coll_is_scored(const struct sand_coll_results *results, size_t i);

// A selection's errors.
// SAND_ERR_NOMEM.
enum sand_rc sand_coll_figure_out(const struct sand_coll_results *results, const uint8_t *in,
                                  struct sand_error_figures *figures);

// By message size, source, machine and collective: count, median, mean, bias, rows within 5 and
// 10 %, the noise floor (spread of rows equal in every input); the worst rows; rows listed without
// score; rows skipped, by reason. The last line is "overall: N rows, median X %, mean Y %, bias
// Z %", or "overall: 0 rows". SAND_ERR_NOMEM.
enum sand_rc sand_coll_report_print(const struct sand_coll_results *results, FILE *out);
void sand_coll_report_overall(const struct sand_error_figures *all, FILE *out);

// One line per row of the file, with its terms.
void sand_coll_report_csv(const struct sand_coll_results *results, FILE *out);

// The same columns in the group `collectives` of an HDF5 file; NaN where there is no number.
enum sand_rc sand_coll_report_hdf5(const struct sand_coll_results *results, const char *path,
                                   struct sand_diag *diag);

#endif
