// Steps of very many micro-batches, from two shorter ones. Internal to analysis/search.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_LONGSTEP_H
#define SAND_ANALYSIS_SEARCH_LONGSTEP_H

#include "oracle.h"

// Simulates the question's step. Beyond some thousand passes of a stage it simulates two shorter
// steps and goes on in a straight line: a pipeline that is full does the same in every round of pp
// micro-batches. *shortened: whether it did. Within 0.1 % of the whole step (test_search.c).
enum sand_rc long_step(struct sand_oracle *oracle, const struct sand_step_question *question,
                       struct sand_step_profile *profile, int *shortened, struct sand_diag *diag);

#endif
