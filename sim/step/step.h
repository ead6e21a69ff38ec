// One training step of one job on the fabric -> step profile.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEP_H
#define SAND_SIM_STEP_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "collspec.h"
#include "diag.h"
#include "fabric.h"
#include "hardware.h"
#include "stepprofile.h"
#include "workload.h"

enum sand_folding {
    SAND_FOLD,   // one of each class of equal actors, flows and links: exact; flows that only a
                 // hash tells apart keep pace
    SAND_NO_FOLD // everything: the twin
};

struct sand_step_question {
    const struct sand_cluster *cluster;
    const struct sand_kernel_costs *kernels;
    const struct sand_collectives *collectives;
    const struct sand_fabric *fabric; // link speeds included
    const struct sand_job_spec *job;  // kind SAND_JOB_TRAIN
    const uint32_t *nodes;   // job->n_nodes ids in rank order: ranks 0..g-1 on nodes[0], ...
    const float *gpu_speed;  // per GPU of the cluster (node * gpus_per_node + gpu), NULL: all 1
    const uint32_t *coupled; // links that other jobs use too, ascending: they stay in the problem
    size_t n_coupled;
    int whole_footprint; // the loads of all shared links are wanted, see sand_step_ask_loads
    enum sand_folding folding;
};

// The simulation to run: actors, flows and links after folding. Plain arrays, owned.
struct sand_step_problem;

enum { SAND_STEP_ACTIVITY_WORDS = 1024 };

// What the engine found: where the time of the GPUs went in the mean (see stepprofile.h), and
// which flows were on their way together (sets of bits, one bit per flow of the problem, `words`
// words a set; only sets that no other contains). n_sets = 0: too many to keep.
struct sand_step_solution {
    double step_s, compute_s, recompute_s, optimizer_s, overhead_s;
    double exposed_tp_s, exposed_cp_s, exposed_pp_s, exposed_dp_s, bubble_s, exposed_ep_s;
    uint32_t critical_stage;
    uint32_t n_sets, words;
    uint32_t reserved;
    uint64_t n_events;
    uint64_t activity[SAND_STEP_ACTIVITY_WORDS];
};

// Somebody who can run an engine: solves the problem (sand_step_solve in a process of its own, or
// remembers the solution of an equal problem).
typedef enum sand_rc sand_step_solver(void *self, const struct sand_step_problem *problem,
                                      struct sand_step_solution *solution, struct sand_diag *diag);

// What a job's step puts on a link that other jobs may use. Capacity: usable bytes per second.
struct sand_link_load {
    uint32_t link; // of the fabric
    double capacity_Bps, mean_Bps;
    double peak_Bps; // the most, were nothing else on it; at most the capacity
    double hops;     // the most that are on it together: connections that share it
};

// Answers a question. Shared links are first left out of the problem unless they must bind; if the
// solution would overload one of them, it is put in and the solver is asked again. A solution that
// overloads nothing is the exact one: it is max-min fair with and without the links left out.
enum sand_rc sand_step_ask(const struct sand_step_question *question, sand_step_solver *solver,
                           void *self, struct sand_step_profile *profile, struct sand_diag *diag);

// The same, and the loads of the links that the job's nodes share with others, ascending; of a
// question with whole_footprint. *loads: sand_free it. O(hops log hops) more.
enum sand_rc sand_step_ask_loads(const struct sand_step_question *question,
                                 sand_step_solver *solver, void *self,
                                 struct sand_step_profile *profile, struct sand_link_load **loads,
                                 size_t *n_loads, struct sand_diag *diag);

// SHA-256 over everything the solution depends on: equal digests, equal solutions.
void sand_step_digest(const struct sand_step_problem *problem, uint8_t digest[32]);

// Runs the problem on SimGrid: at most once per process (see bridge.h).
enum sand_rc sand_step_solve(const struct sand_step_problem *problem,
                             struct sand_step_solution *solution, struct sand_diag *diag);

// A problem as bytes and back, for another process of the same build. *bytes: sand_free it. Unpack
// refuses bytes that are no problem (SAND_ERR_INTERNAL).
enum sand_rc sand_step_pack(const struct sand_step_problem *problem, void **bytes, size_t *size);
enum sand_rc sand_step_unpack(const void *bytes, size_t size, struct sand_step_problem **problem);

// Routes every flow, folds, reduces, without the links of `binding` being left out (n fabric links,
// ascending; sand_step_ask finds them). No engine needed. O((flows + links) x rounds).
enum sand_rc sand_step_prepare(const struct sand_step_question *question, const uint32_t *binding,
                               size_t n_binding, struct sand_step_problem **problem,
                               struct sand_diag *diag);
void sand_step_problem_free(struct sand_step_problem *problem);

// Links of the fabric that the step's traffic crosses, ascending, of every rail. *links: sand_free
// it. SAND_ERR_INPUT: nothing that works joins its nodes. O(hops x route).
enum sand_rc sand_step_links(const struct sand_step_question *question, uint32_t **links, size_t *n,
                             struct sand_diag *diag);

// Warnings about the question that are no errors (tensor parallelism leaves the scale-up domain,
// ...).
void sand_step_warn(const struct sand_step_question *question, struct sand_diag *diag);

#endif
