// One training step of one job on the fabric -> step profile.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEP_H
#define SAND_SIM_STEP_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"
#include "fabric.h"
#include "hardware.h"
#include "stepprofile.h"
#include "workload.h"

enum sand_folding {
    SAND_FOLD,   // exact quotient: one of each class of equal actors, flows and links
    SAND_NO_FOLD // everything: the twin
};

struct sand_step_question {
    const struct sand_cluster *cluster;
    const struct sand_kernel_costs *kernels;
    const struct sand_fabric *fabric; // link speeds included
    const struct sand_job_spec *job;  // kind SAND_JOB_TRAIN
    const uint32_t *nodes;  // job->n_nodes ids in rank order: ranks 0..g-1 on nodes[0], ...
    const float *gpu_speed; // per GPU of the cluster (node * gpus_per_node + gpu), NULL: all 1
    enum sand_folding folding;
};

// The simulation to run: actors, flows and links after folding. Plain arrays, owned.
struct sand_step_problem;

// Routes every flow, folds, reduces. No engine needed. O((flows + links) x rounds).
enum sand_rc sand_step_prepare(const struct sand_step_question *question,
                               struct sand_step_problem **problem, struct sand_diag *diag);

// SHA-256 over everything the answer depends on: equal digests, equal answers.
void sand_step_digest(const struct sand_step_problem *problem, uint8_t digest[32]);

// Runs it on SimGrid: at most once per process (see bridge.h).
enum sand_rc sand_step_solve(const struct sand_step_problem *problem,
                             struct sand_step_profile *profile, struct sand_diag *diag);

void sand_step_problem_free(struct sand_step_problem *problem);

// A problem as bytes and back, for another process of the same build. *bytes: sand_free it. Unpack
// refuses bytes that are no problem (SAND_ERR_INTERNAL).
enum sand_rc sand_step_pack(const struct sand_step_problem *problem, void **bytes, size_t *size);
enum sand_rc sand_step_unpack(const void *bytes, size_t size, struct sand_step_problem **problem);

// Warnings about the question that are no errors (tensor parallelism leaves the scale-up domain,
// ...).
void sand_step_warn(const struct sand_step_question *question, struct sand_diag *diag);

#endif
