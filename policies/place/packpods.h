// Which pods hold a job in the fewest leaves: the fewest pods. Internal to place/packed.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_PACKPODS_H
#define SAND_POLICIES_PACKPODS_H

#include <stddef.h>
#include <stdint.h>

struct sand_pack_leaf {
    uint32_t pod;   // place in the list of pods
    uint32_t first; // into the nodes, ascending with pod and leaf id
    uint32_t n_free, used, pod_used;
};

struct sand_pack_pod {
    size_t first, n_leaves; // into the leaves, fullest first
    uint32_t n_free, used;
};

// n_leaves: the fewest leaves that hold the job; size: free nodes of the smallest of the n_leaves
// largest; slack: how many more nodes than the job's these largest hold (< size).
struct sand_pack_problem {
    const struct sand_pack_pod *pods;
    size_t n_pods;
    const struct sand_pack_leaf *leaves;
    uint32_t n_leaves, size, slack;
};

// Writes the fewest pods whose n_leaves largest leaves hold the job (room for n_pods), ascending;
// with equally few, rather the first in the list. Returns 0, or -1 without memory.
// O(pods^2 slack^2) and O(pods^2 slack) memory at worst, O(pods log pods) when whole leaves decide.
int sand_pack_choose_pods(const struct sand_pack_problem *problem, uint32_t *chosen,
                          size_t *n_chosen);

#endif
