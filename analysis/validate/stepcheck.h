// Predicts measured rows with the step level, several at a time.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPCHECK_H
#define SAND_ANALYSIS_VALIDATE_STEPCHECK_H

#include "diag.h"
#include "stepcase.h"
#include "stepconstants.h"

struct sand_step_prediction {
    double step_s; // 0: none
    double compute_s, recompute_s, exposed_tp_s, exposed_pp_s, exposed_dp_s, bubble_s;
    char why[SAND_STEP_WHY]; // if there is none: what the step level said
};

// One pass over rows.
struct sand_step_pass {
    const struct sand_step_rules *rules;
    const struct sand_step_case *cases;
    size_t n;
    uint32_t jobs; // processes
    // Other values of the constants, row by row, or NULL; and whether slopes are wanted.
    const struct sand_step_constants *constants;
    const double *log_factors;                 // n x constants->n; NULL: as the catalogue has them
    void (*progress)(void *self, double done); // now and then; may be NULL
    void *self;
};

// Fills one prediction per case (the skipped ones stay zero), in `jobs` processes; each row is
// simulated in a process of its own, as always. Call before this process runs an engine. The
// predictions do not depend on `jobs`. `slopes` (n x constants->n, may be NULL) receives how the
// logarithm of a row's step moves with that of each constant, by differences of the closed form.
// SAND_ERR_INTERNAL if a worker dies.
enum sand_rc sand_step_predict(const struct sand_step_pass *pass,
                               struct sand_step_prediction *predictions, double *slopes,
                               struct sand_diag *diag);

#endif
