// Whether results that stand in the way are those of this run.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_FINISHED_H
#define SAND_SIM_SWEEP_FINISHED_H

#include <stddef.h>

#include "diag.h"
#include "experiment.h"

// SAND_OK if the results file at `path` is of this very experiment under this physics version.
// SAND_ERR_USAGE, with what differs and the ways out, if it is of another or no results file.
enum sand_rc sand_finished_check(const char *path, const struct sand_experiment *experiment,
                                 const char *physics, struct sand_diag *diag);

// The first difference of two canonical texts, at most size bytes: `job "a": nodes="4" here,
// nodes="8" there`; empty if there is none. O(bytes).
void sand_finished_difference(const char *mine, const char *theirs, char *text, size_t size);

#endif
