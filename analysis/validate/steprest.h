// What a row leaves open and yet implies: a split that fits, the time behind its FLOP/s.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPREST_H
#define SAND_ANALYSIS_VALIDATE_STEPREST_H

#include "stepcase.h"

// Sets tp, where it is 0, and pp, where it is 0, to the first of 1, 2, 4, ... (tp inside a scale-up
// domain, before pp) that divide model, GPUs and batch and fit into memory; 1 where none does.
void sand_step_rest_split(const struct sand_step_rules *rules, uint32_t gpus, uint32_t domain_gpus,
                          struct sand_step_case *c);

// Seconds of a step at `flops` a second and GPU as the source counts them; 0 if it does not say.
double sand_step_rest_time(const struct sand_step_case *c, uint32_t gpus, double flops);

#endif
