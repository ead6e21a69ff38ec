// The best splits of a model over GPUs: the whole space in closed form, the best few simulated.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_SEARCH_H
#define SAND_ANALYSIS_SEARCH_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "collspec.h"
#include "diag.h"
#include "estimate.h"
#include "fabric.h"
#include "oracle.h"
#include "stepprofile.h"
#include "workload.h"

// What is chosen: tp, cp, pp, dp, ep of models with experts, rank order, virtual stages,
// micro-batch, sequence parallelism, recomputation (none, selective, full) and what the replicas
// share out (nothing, optimizer state, gradients, parameters; the latter two also in groups of the
// copies in a scale-up domain, HSDP). All else is the job's: model,
// software, sequence, global batch, precision, attention, overlap, buckets.
struct sand_search_question {
    const struct sand_cluster *cluster;
    const struct sand_kernel_costs *kernels;
    const struct sand_collectives *collectives;
    const struct sand_fabric *fabric;
    const struct sand_job_spec *job; // on the first n_nodes nodes of its group; of its split the
                                     // global batch counts
    size_t simulate;                 // splits that are simulated, at least 1
    int exhaustive;                  // work out also what a floor under its time rules out
};

// A split, what it needs and what the closed form says.
struct sand_search_candidate {
    struct sand_split split;
    struct sand_memory memory;
    struct sand_step_estimate estimate;
};

// One that fits in memory and was simulated.
struct sand_search_hit {
    struct sand_search_candidate of;
    struct sand_step_profile profile;
    uint32_t shape_rank; // 1: the best of all; n: the best of the n-th best tp, cp, pp, dp, ep; 0:
                         // not the best of its shape
};

enum { SAND_SEARCH_REFUSED = 3 };

struct sand_search_result {
    const struct sand_gpu_type *gpu; // the slowest of the nodes
    uint64_t considered;             // splits, of which:
    uint64_t impossible;             // break a rule of sand_split_check
    uint64_t too_big_state;          // exceed the memory, weights, gradients, optimizer the more
    uint64_t too_big_activations;    // exceed the memory, activations and buffers the more
    uint64_t ruled_out;              // by a floor under their time: too slow for any list
    uint64_t estimated;              // worked out, also such as need up to half as much again
    uint64_t layouts;                // placements that were routed
    struct sand_search_hit *hits;    // fastest first
    size_t n_hits, n_shortened;      // the latter: of many micro-batches, from two shorter steps
    // What the closed form has faster than the best, had the GPU up to half as much memory again:
    // fastest first, one a shape.
    struct sand_search_candidate refused[SAND_SEARCH_REFUSED];
    size_t n_refused;
    // Of what exceeds the memory: what needs least; without a closed form.
    struct sand_search_candidate nearest;
};

typedef void sand_search_progress(void *self, double done);

// Searches. SAND_ERR_INPUT with the nearest miss if no split is possible or none fits. The result
// is a function of the question; clear it in any case. O(splits), some microseconds each, and the
// simulations.
enum sand_rc sand_search(const struct sand_search_question *question, struct sand_oracle *oracle,
                         sand_search_progress *progress, void *self,
                         struct sand_search_result *result, struct sand_diag *diag);
void sand_search_result_clear(struct sand_search_result *result);

#endif
