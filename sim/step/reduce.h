// From classes to the arrays that are simulated. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_REDUCE_H
#define SAND_SIM_STEP_REDUCE_H

#include "fold.h"
#include "stepproblem.h"

// Fills flows, route and link_Bps of the problem. Under SAND_FOLD also merges links with the same
// users (the slowest stays), drops links that cannot bind whatever the others do, and marks flows
// that nobody meets; each of these is exact. O(hops log hops).
enum sand_rc step_reduce(const struct step_traffic *traffic, const struct step_classes *classes,
                         struct sand_step_problem *problem);

#endif
