// Whether predictions tell which of two layouts is faster.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPRANK_H
#define SAND_ANALYSIS_VALIDATE_STEPRANK_H

#include <stddef.h>

#include "stepreport.h"

// Pairs of scored rows of one stack and machine that are equal in every input but the layout (TP,
// PP, VP, CP, ZeRO or FSDP, micro-batch, recomputation, sequence parallelism), differ in that, and
// whose measured times differ by more than `threshold` of the shorter one.
struct sand_step_ranking {
    size_t n_pairs, n_right; // right: the faster one is predicted to be faster
};

// Over the pairs of one stack, or of all (NULL). O(n^2) comparisons that mostly end early.
struct sand_step_ranking sand_step_rank(const struct sand_step_results *results,
                                        const struct sand_step_stack *stack, double threshold);

#endif
