// Refits the free constants to measured steps.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPFIT_H
#define SAND_ANALYSIS_VALIDATE_STEPFIT_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "stepconstants.h"

// What the constants are fitted to: per row, how far the prediction is off in logarithms
// (log measured - log predicted) and how it moves with the logarithm of each constant.
struct sand_step_fit {
    const struct sand_step_constants *constants;
    const double *residual; // n_rows
    const double *slopes;   // n_rows x constants->n
    const double *weight;   // n_rows; 0: the row is left out
    size_t n_rows;
};

// Whether a row that counts depends on constant k.
int sand_step_fit_speaks(const struct sand_step_fit *fit, size_t k);

// Finds the logarithm of a factor for each constant that minimises
//   sum over rows    weight |residual - slopes x| / 10 %   (from 2 % on; below, squared)
// + sum over constants ((log share + x - mean of its class) / spread of the class)^2
// + sum over classes ((mean - present mean of the constants that rows speak for) / spread)^2.
// So a constant that no row speaks for becomes the mean of its class. Kernel classes, and what is
// alone in its class, stay near their value instead. Spreads: 12 % for GEMM rates, 20 % for
// attention and shares of software (50 % for experts, from all to little of which is hidden), 15 %
// for the time between layers, 10 % for links and kernel classes.
enum sand_rc sand_step_fit_solve(const struct sand_step_fit *fit, double *log_factors);

#endif
