// The one place that answers "how long": ask -> memo -> store -> forked child.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_ORACLE_H
#define SAND_SIM_ORACLE_ORACLE_H

#include <stdint.h>

#include "diag.h"
#include "joint.h"
#include "step.h"

struct sand_oracle;
struct sand_cachestore;

struct sand_oracle_counters {
    uint64_t questions;      // asked
    uint64_t problems;       // prepared for them (more than one where shared links bind)
    uint64_t hits, children; // problems known already, problems solved
    uint64_t store_hits;     // problems an earlier or another process had solved
    uint64_t joint_questions, joint_hits; // of several jobs on common links; known already
    double prepare_s, child_s;            // wall time; for the run record, never for results
};

// Starts the server process that forks a child per question. Call before this process runs an
// engine, from a thread that outlives the oracle. The server ends with sand_oracle_close or with
// the parent. One process asks: a fork of it opens its own.
enum sand_rc sand_oracle_open(struct sand_oracle **oracle, struct sand_diag *diag);

// From now on problems are also looked up and kept in `store` (NULL: no store), which stays the
// caller's and outlives the oracle. `versions` names everything else a solution depends on:
// program, physics, libraries. Answers are the same with and without.
void sand_oracle_use_store(struct sand_oracle *oracle, struct sand_cachestore *store,
                           const char *versions);

// Answers a step question: from the memo when an equal problem was solved (some us), from the
// store (some ten us), else in a child (0.8 ms and the simulation). A child that dies is
// SAND_ERR_INTERNAL with its signal named; the next question is asked as usual. *profile is written
// on success only. May be called while the caller's own engine runs.
enum sand_rc sand_oracle_step(struct sand_oracle *oracle, const struct sand_step_question *question,
                              struct sand_step_profile *profile, struct sand_diag *diag);

// The same with the loads of shared links, see sand_step_ask_loads. *loads: sand_free it.
enum sand_rc sand_oracle_loads(struct sand_oracle *oracle,
                               const struct sand_step_question *question,
                               struct sand_step_profile *profile, struct sand_link_load **loads,
                               size_t *n_loads, struct sand_diag *diag);

// Answers for several jobs on common links, the parts in the question's order: from the memo when
// equal jobs shared equal links (what preparing takes: some ms), else in a child (some 10 ms and
// the simulation of some hundred steps).
enum sand_rc sand_oracle_joint(struct sand_oracle *oracle,
                               const struct sand_joint_question *question,
                               struct sand_joint_solution *solution, struct sand_diag *diag);

struct sand_oracle_counters sand_oracle_counters(const struct sand_oracle *oracle);

void sand_oracle_close(struct sand_oracle *oracle);

#endif
