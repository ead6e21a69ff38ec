// The simulation behind a joint question. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_JOINTPROBLEM_H
#define SAND_SIM_STEP_JOINTPROBLEM_H

#include "joint.h"
#include "stepproblem.h"

struct joint_use { // of a coupled link
    uint32_t link, streams;
};

struct joint_transfer {
    double stream_Bps;
    uint32_t first, n; // into uses
};

struct sand_joint_problem {
    uint32_t n, pipelines, n_steps, n_offsets;
    uint32_t together;                                // all in one engine at the same time
    struct sand_step_problem *parts[SAND_JOINT_JOBS]; // owned, by digest
    uint32_t asked;                                   // the part that is asked for; n: all
    uint32_t place[SAND_JOINT_JOBS];                  // of the question's jobs; not packed
    double *link_Bps;                                 // of the coupled links, background taken off
    size_t n_links;
    struct joint_transfer *transfers; // in the order of the question
    struct joint_use *uses;
    size_t n_transfers, n_uses;
};

#endif
