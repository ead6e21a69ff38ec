// Figures of relative errors, for every report of predictions.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_ERRORFIGURES_H
#define SAND_ANALYSIS_VALIDATE_ERRORFIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

struct sand_error_figures {
    size_t n, within5, within10;
    double median, mean, bias; // of |error|, and of the error; NaN without rows
};

// Over the rows of results[0..n) that are `in`; error(results, i) is that of one. SAND_ERR_NOMEM.
// O(n log n).
enum sand_rc sand_error_figure_out(const void *results, size_t n, const uint8_t *in,
                                   double (*error)(const void *results, size_t i),
                                   struct sand_error_figures *figures);

#endif
