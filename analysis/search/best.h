// The fastest splits seen so far. Internal to analysis/search.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_BEST_H
#define SAND_ANALYSIS_SEARCH_BEST_H

#include "search.h"

// The `most` fastest of those offered, fastest first; of equally fast ones the first offered. With
// `one_per_shape` at most one of equal tp, cp, pp, dp, ep.
struct best {
    struct sand_search_candidate *list;
    size_t n, most;
    int one_per_shape;
};

enum sand_rc best_open(struct best *best, size_t most, int one_per_shape);
void best_close(struct best *best);

// Of this time and longer ones an offer of the split's shape is not kept. Only ever falls.
double best_ceiling_s(const struct best *best, const struct sand_split *split);

void best_offer(struct best *best, const struct sand_search_candidate *offer);

int best_same_shape(const struct sand_split *a, const struct sand_split *b);

#endif
