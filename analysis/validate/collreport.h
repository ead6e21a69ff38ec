// What came out of predicting measured collectives: tables for people, CSV for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_COLLREPORT_H
#define SAND_ANALYSIS_VALIDATE_COLLREPORT_H

#include <stdio.h>

#include "collcase.h"
#include "predictedrows.h"
#include "predictedtable.h"

struct sand_coll_results {
    const struct sand_coll_model *model;
    const struct sand_coll_case *cases;
    const struct sand_coll_terms *terms; // time_s 0: no prediction
    size_t n;
};

// They as rows of any kind: errors, figures and lines about them.
struct sand_predicted_rows sand_coll_predicted(const struct sand_coll_results *results);
int sand_coll_is_scored(const struct sand_coll_results *results, size_t i);

// By message size, source, machine and collective: count, median, mean, bias, rows within 5 and
// 10 %, the noise floor (spread of rows equal in every input); the worst rows; rows listed without
// score; rows skipped, by reason. The last line is "overall: N rows, median X %, mean Y %, bias
// Z %", or "overall: 0 rows". SAND_ERR_NOMEM.
enum sand_rc sand_coll_report_print(const struct sand_coll_results *results, FILE *out);

// One row per row of the file, with its terms; group `collectives` of an HDF5 file.
struct sand_predicted_table sand_coll_table(const struct sand_coll_results *results);

#endif
