// Predicts measured rows with the step level, several at a time.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPCHECK_H
#define SAND_ANALYSIS_VALIDATE_STEPCHECK_H

#include "diag.h"
#include "stepcase.h"

struct sand_step_prediction {
    double step_s; // 0: none
    double compute_s, recompute_s, exposed_tp_s, exposed_pp_s, exposed_dp_s, bubble_s;
    char why[SAND_STEP_WHY]; // if there is none: what the step level said
};

// Fills one prediction per case (the skipped ones stay zero), in `jobs` processes; each row is
// simulated in a process of its own, as always. Call before this process runs an engine. The
// predictions do not depend on `jobs`. SAND_ERR_INTERNAL if a worker dies.
enum sand_rc sand_step_predict(const struct sand_step_rules *rules,
                               const struct sand_step_case *cases, size_t n, uint32_t jobs,
                               struct sand_step_prediction *predictions, struct sand_diag *diag);

#endif
