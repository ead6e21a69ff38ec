// A step question settled: the problem whose solution holds. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_ASK_H
#define SAND_SIM_STEP_ASK_H

#include "step.h"

// The same step (of a question without coupled links) as a problem that keeps the links which other
// jobs use too. Nothing more is solved: alone, the job's step is the same with them.
enum sand_rc step_settle_coupled(const struct sand_step_question *question, const uint32_t *links,
                                 size_t n_links, sand_step_solver *solver, void *self,
                                 struct sand_step_problem **problem, struct sand_diag *diag);

#endif
