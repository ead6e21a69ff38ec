// A picture of a sweep.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_SWEEPPLOT_H
#define SAND_SIM_CLI_SWEEPPLOT_H

#include "diag.h"
#include "factors.h"
#include "swept.h"

struct sand_sweep_view {
    const char *name; // of the experiment
    const struct sand_factors *factors;
    const struct sand_swept *swept;
    size_t figure;
};

// The figure over the values of the first dimension, a line for each combination of the others,
// with intervals. Points without results leave gaps.
enum sand_rc sand_sweep_plot(const struct sand_sweep_view *view, const char *path,
                             struct sand_diag *diag);

#endif
