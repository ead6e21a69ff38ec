// Jobs in one engine, each with its pipeline and its skeleton. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_JOINTPLAY_H
#define SAND_SIM_STEP_JOINTPLAY_H

#include "jointproblem.h"
#include "jointtransfer.h"
#include "run.h"
#include "skeleton.h"

struct joint_measured {
    int64_t from, last; // of the steps counted
    uint32_t n, wanted;
    int closed; // no more of its steps count
};

struct joint {
    const struct sand_joint_problem *problem;
    struct run_engine engine;
    struct step_run *full, *bones; // whole pipelines; skeletons
    struct step_run **all;         // of both, as the engine numbers them
    struct step_skeleton *skeletons;
    struct joint_flows flows; // of the transfers
    double *link_Bps;         // of the engine: the coupled links, each part's own, the transfers'
    uint32_t **own_links;     // per part: the engine's link for each of the problem's
    uint32_t n_links, first_own; // first_own: of the transfers
    double *period_s;
    double *means; // [offset * n + part]
    struct joint_measured *measured;
    double *stream_Bps;         // per transfer, summed over offsets
    int64_t all_begun, all_had; // when all were running; when all had their steps
};

// Low-discrepancy points of n - 1 dimensions: the k-th one's share in dimension i, from 1.
double joint_ratio(uint32_t n);
double joint_share(double ratio, uint32_t i, uint32_t k);

// Jobs one by one against what the others are seen to put on the links (fluid.c): all until
// nobody's step changes, or only the one that is asked for. Fills the parts of the solution. Not
// answered: the one loses so much that it is better played together with the others.
enum sand_rc joint_fluid(struct joint *j, struct sand_joint_solution *solution, int *is_answered);

#endif
