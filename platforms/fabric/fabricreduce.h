// The tree of switches that reduces what a group of NICs sends.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICREDUCE_H
#define SAND_PLATFORMS_FABRIC_FABRICREDUCE_H

#include "fabric.h"

// Every switch of the tree passes one reduced buffer on and hands the result back (Graham et al.,
// "Scalable Hierarchical Aggregation Protocol", COMHPC 2016): an all-reduce loads each link of the
// tree once with the whole buffer, and its reverse (sand_fabric_reverse) once with the result,
// however many NICs there are. A reduce-scatter loads the links alike, its way back only the NICs'
// own shares.
struct sand_reduction_tree {
    uint32_t *links; // towards the root, every cable of the tree once, ascending; owned
    size_t n_links;
    uint32_t root;   // vertex (sand_fabric_ends) where the ways of all NICs have met
    uint32_t height; // switches between a NIC and the root, the root included, at most
};

// The tree of `n` different NICs; `tree` picks spine and core among equals, as a destination does
// under static spreading. Refuses fabrics whose switches do not reduce, fewer than two NICs, NICs
// that only a scale-up domain joins (give each rail a tree of its own) and NICs that are cut off.
// O(n x route).
enum sand_rc sand_fabric_reduction_tree(const struct sand_fabric *fabric, const uint32_t *nics,
                                        uint32_t n, uint32_t tree,
                                        struct sand_reduction_tree *result, struct sand_diag *diag);
void sand_reduction_tree_free(struct sand_reduction_tree *tree);

#endif
