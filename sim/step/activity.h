// Which flows are on their way together: distinct maximal sets. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_ACTIVITY_H
#define SAND_SIM_STEP_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "step.h"

struct step_activity {
    uint64_t *now;  // the set as it is, `words` words
    uint64_t *sets; // those seen, maximal ones only after pruning
    uint32_t words;
    size_t n_sets, most; // sets kept, and at most before they are pruned
    int changed, lost;   // now differs from what was last noted; too many to keep
};

enum sand_rc step_activity_open(struct step_activity *activity, size_t n_flows);
void step_activity_close(struct step_activity *activity);

void step_activity_start(struct step_activity *activity, uint32_t flow);
void step_activity_end(struct step_activity *activity, uint32_t flow);

// Notes the present set, if it grew since the last note. O(sets) now and then, else O(words).
void step_activity_note(struct step_activity *activity);

// Copies the maximal sets into the solution, or none if they do not fit.
void step_activity_write(struct step_activity *activity, struct sand_step_solution *solution);

#endif
