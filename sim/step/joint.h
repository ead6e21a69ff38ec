// Several jobs whose steps share links: the mean of their steps over how they happen to start.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_JOINT_H
#define SAND_SIM_STEP_JOINT_H

#include <stddef.h>
#include <stdint.h>

#include "step.h"
#include "transfer.h"

// In one question, at most.
enum { SAND_JOINT_JOBS = 64, SAND_JOINT_TRANSFERS = 64, SAND_JOINT_OFFSETS = 64 };
// So many are played together; of more, each against what the others put on the links (fluid.c).
// Of more than the second, if the step of one alone is wanted and it loses little.
enum { SAND_JOINT_TOGETHER = 8, SAND_JOINT_ALWAYS_TOGETHER = 4 };
// What slows a neighbour elsewhere moves a job by about the product of the shares of their steps
// that the two lose; below this share it is not asked for.
#define SAND_JOINT_SECOND_ORDER 0.002

// A transfer that goes on all the time, beside the steps.
struct sand_joint_transfer {
    const struct sand_stream_link *links; // ascending; those that are not the question's are not
    size_t n_links;                       // looked at
    double stream_Bps;                    // the most a stream gets from everything else
};

struct sand_joint_question {
    const struct sand_step_question
        *steps; // up to SAND_JOINT_JOBS jobs on one fabric, coupled unset
    size_t n;   // 0: transfers alone
    const struct sand_joint_transfer *transfers;
    size_t n_transfers;
    const uint32_t *links; // the shared links that may bind, ascending
    size_t n_links;
    const double *background_Bps; // taken off such a link; NULL: nothing
    int together;   // play all together, however many: the twin of that; always with transfers
    uint32_t asked; // 1 + number of the only job whose step is wanted: the others' are not to be
                    // looked at; 0: all of them
    int pipelines;  // play whole pipelines: the twin of playing their skeletons (skeleton.h)
    uint32_t n_steps, n_offsets; // of each job, start offsets: so many; 0: see sand_joint_solve
};

// What a question comes to. The parts are in an order of their own (see sand_joint_place).
struct sand_joint_problem;

struct sand_joint_part {
    double step_s;        // mean over start offsets
    double low_s, high_s; // 5 and 95 % of the offsets' means
};
struct sand_joint_solution {
    uint32_t n;
    uint32_t n_offsets; // played; of the fixed point rounds, of one job of it its steps
    double error;       // relative: how far the last doubling of these moved a mean, at most
    uint64_t n_events;  // of all played
    uint32_t n_transfers, reserved;
    double stream_Bps[SAND_JOINT_TRANSFERS]; // what a stream of each gets, in the mean
    struct sand_joint_part parts[SAND_JOINT_JOBS];
};

// Settles each job's step alone (solver as in sand_step_ask) with the shared links kept. Equal jobs
// on equal shares of the same links give equal problems, whatever the order of the question.
enum sand_rc sand_joint_prepare(const struct sand_joint_question *question,
                                sand_step_solver *solver, void *self,
                                struct sand_joint_problem **problem, struct sand_diag *diag);
void sand_joint_problem_free(struct sand_joint_problem *problem);

// Where the question's i-th job is among the parts.
uint32_t sand_joint_place(const struct sand_joint_problem *problem, size_t i);

// As for a step problem (step.h).
void sand_joint_digest(const struct sand_joint_problem *problem, uint8_t digest[32]);
enum sand_rc sand_joint_pack(const struct sand_joint_problem *problem, void **bytes, size_t *size);
enum sand_rc sand_joint_unpack(const void *bytes, size_t size, struct sand_joint_problem **problem);

// Runs it on SimGrid, at most once per process: 4 start offsets of each job against the others
// (spread with low discrepancy), from each 8 steps of the job with the shortest period and as long
// of the others, but 4 of each; then twice as many offsets until no mean moves by more than 0.5 %,
// or there are 64. All jobs run until all have their steps. One job of more than are always played
// together: by time lines (jointfluid.c), without a band, or, if it loses much, together with the
// others until its own mean stands still: from 8 offsets on, the others with 2 steps at least. All
// of more than are played together: the fixed point of jointfluid.c, without bands.
enum sand_rc sand_joint_solve(const struct sand_joint_problem *problem,
                              struct sand_joint_solution *solution, struct sand_diag *diag);

#endif
