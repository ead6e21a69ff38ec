// Measured rows beside their predictions: figures and lines that every report of them has.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_PREDICTEDROWS_H
#define SAND_ANALYSIS_VALIDATE_PREDICTEDROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rc.h"

// What a kind of rows answers about row i of `results`. A selection `in` has a byte per row.
struct sand_predicted_kind {
    double (*measured_s)(const void *results, size_t i);
    double (*predicted_s)(const void *results, size_t i); // 0: none
    int (*is_specified)(const void *results, size_t i);   // fully, so that it counts
    // In every input that a predictor may use.
    int (*is_equal)(const void *results, size_t i, size_t j);
    const char *(*id)(const void *results, size_t i);
    const char *(*reason)(const void *results, size_t i); // why it has no prediction; NULL: it has
    void (*print)(const void *results, size_t i, const char *text, FILE *out); // a line
};

struct sand_predicted_rows {
    const struct sand_predicted_kind *kind;
    const void *results;
    size_t n;
};

// (predicted - measured) / measured; NaN if one of the two is missing.
double sand_predicted_error(const struct sand_predicted_rows *rows, size_t i);
// Specified, and predicted.
int sand_predicted_is_scored(const struct sand_predicted_rows *rows, size_t i);

struct sand_error_figures {
    size_t n, within5, within10;
    double median, mean, bias; // of |error|, and of the error; NaN without rows
};

// Over the rows that are `in`. SAND_ERR_NOMEM. O(n log n).
enum sand_rc sand_predicted_figures(const struct sand_predicted_rows *rows, const uint8_t *in,
                                    struct sand_error_figures *figures);

// Spread of the rows `in` that are equal: the mean of |t - m| / m over them, m the mean of their
// equals. n_rows of them in n_groups; NaN without any.
struct sand_noise_floor {
    size_t n_rows, n_groups;
    double mean;
};

// SAND_ERR_NOMEM. O(n^2) comparisons that mostly end early.
enum sand_rc sand_predicted_floor(const struct sand_predicted_rows *rows, const uint8_t *in,
                                  struct sand_noise_floor *floor);

// The head of a table, and one line of it: figures of the rows `in`, their floor beside them; none
// if there is no row. SAND_ERR_NOMEM.
void sand_predicted_heading(const char *what, FILE *out);
enum sand_rc sand_predicted_line(const struct sand_predicted_rows *rows, const char *name,
                                 const uint8_t *in, FILE *out);

// The `n_worst` scored rows that are furthest off, each with text(results, i). SAND_ERR_NOMEM.
enum sand_rc sand_predicted_worst(const struct sand_predicted_rows *rows, size_t n_worst,
                                  const char *(*text)(const void *results, size_t i), FILE *out);
// Counts of rows without prediction by reason, each with the first that has it.
void sand_predicted_skipped(const struct sand_predicted_rows *rows, FILE *out);
// "what: N rows, median X %, mean Y %, bias Z %", or "what: 0 rows".
void sand_predicted_overall(const char *what, const struct sand_error_figures *all, FILE *out);

#endif
