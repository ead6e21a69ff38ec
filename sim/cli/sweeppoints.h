// The points of a sweep: an experiment each, run in a process of its own.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_SWEEPPOINTS_H
#define SAND_SIM_CLI_SWEEPPOINTS_H

#include "clirun.h"
#include "factors.h"
#include "mem.h"
#include "pool.h"

struct sand_sweep_point {
    struct sand_cli_load load; // with the point's settings; its array is the arena's
    const char *name, *dir, *results;
    enum sand_rc rc; // once run
};

struct sand_sweep_points {
    struct sand_sweep_point *points;
    uint32_t n;
    const struct sand_cli_run *run; // its --jobs are of all points together
    int interrupted;
    struct sand_arena arena;
};

// A point for each combination: settings of `load`, then the point's own. Results of a point go to
// a directory of its own in `out_dir`.
enum sand_rc sand_sweep_points_make(const struct sand_factors *factors,
                                    const struct sand_cli_load *load, const char *out_dir,
                                    struct sand_sweep_points *points, struct sand_diag *diag);
void sand_sweep_points_clear(struct sand_sweep_points *points);

// Runs all of them. One that fails does not stop the others, whatever is wrong with it; then the
// result is that of the first that did. Errors name their point, warnings are passed on once.
enum sand_rc sand_sweep_points_run(struct sand_sweep_points *points, struct sand_diag *diag);

#endif
