// Predictions of rows with constants that were refitted without their source or their GPU.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPLEAVE_H
#define SAND_ANALYSIS_VALIDATE_STEPLEAVE_H

#include <stdio.h>

#include "stepreport.h"

enum sand_leave_out { SAND_LEAVE_NOTHING, SAND_LEAVE_SOURCE, SAND_LEAVE_GPU };

// Two rows belong together if their stacks are one, or their GPUs have the same peaks in all
// precisions: one generation.
int sand_step_same_group(enum sand_leave_out by, const struct sand_step_case *a,
                         const struct sand_step_case *b);

// What was done, for the report.
struct sand_step_leave {
    enum sand_leave_out by;
    size_t n_constants, of_class[SAND_CONSTANT_CLASSES];
    size_t n_groups;
    double moved; // the largest change of a constant that other rows speak for, as a logarithm
    double fitted_mean; // mean error of all rows with constants fitted to all rows (linearised)
};

// Refits without each group of `results` in turn (see stepfit.h; `slopes` from sand_step_predict)
// and predicts its rows at flow level with what comes out. Rows of a source with more than 10 weigh
// as 10: they share what is wrong with the source. Fills one prediction per case and the
// description.
enum sand_rc sand_step_leave_out(const struct sand_step_pass *pass,
                                 const struct sand_step_results *results, const double *slopes,
                                 enum sand_leave_out by, struct sand_step_prediction *predictions,
                                 struct sand_step_leave *leave, struct sand_diag *diag);

// Refits the constants to all scored rows, all of one weight: the logarithm of a factor for each.
enum sand_rc sand_step_refit(const struct sand_step_pass *pass,
                             const struct sand_step_results *results, const double *slopes,
                             double *log_factors, struct sand_diag *diag);

// A line per constant: class, attribute, the first entry that has it, its value there and refitted,
// in SI units.
void sand_step_refit_print(const struct sand_step_constants *constants, const double *log_factors,
                           FILE *out);

#endif
