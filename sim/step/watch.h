// Links left out of a problem, and whether a solution would overload them. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_WATCH_H
#define SAND_SIM_STEP_WATCH_H

#include "fold.h"
#include "step.h"
#include "stepproblem.h"

// Writes the watched links and how often each flow class counts on them. O(hops log hops).
enum sand_rc step_watches_set(const struct step_traffic *traffic,
                              const struct step_classes *classes,
                              struct sand_step_problem *problem);

// Fabric links, ascending, that flows active together could overload even at the rates their kept
// links allow each of them. None: the solution is exact. *links: sand_free it.
enum sand_rc step_watches_check(const struct sand_step_problem *problem,
                                const struct sand_step_solution *solution, uint32_t **links,
                                size_t *n_links);

// What the step puts on every watched link, in the order of the fabric. *loads: sand_free it.
enum sand_rc step_watches_load(const struct sand_step_problem *problem,
                               const struct sand_step_solution *solution,
                               struct sand_link_load **loads, size_t *n_loads);

#endif
