// The twin of steps and transfers: whole pipelines and their checkpoints in one engine.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_SAVETWIN_H
#define SAND_TESTS_SAVETWIN_H

#include "jointproblem.h"

enum { TWIN_JOBS = 2, TWIN_OFFSETS = 8 };

// Every job saves when it has done `every` steps more: the problem's transfer of its number, with
// `save_B` a stream. Blocking: it stands still until it is written.
struct save_twin {
    const struct sand_joint_problem *problem;
    uint32_t job[TWIN_JOBS]; // of a part: its number in the question, and its transfer's
    uint32_t every, n_steps;
    double save_B[TWIN_JOBS]; // by number in the question
    int blocking;
};

struct save_twin_seen {                     // [offset][job of the question]
    double job_s[TWIN_OFFSETS][TWIN_JOBS];  // from the first step to the last
    double save_s[TWIN_OFFSETS][TWIN_JOBS]; // mean of a save
};

// A fixture_work_fn. Both jobs run until both have all steps; job 1 of the question begins at one
// of TWIN_OFFSETS evenly spread places in its period and in the interval between two saves, from
// the worst case on: at once with job 0.
enum sand_rc save_twin_run(const void *twin, void *seen, struct sand_diag *diag);

#endif
