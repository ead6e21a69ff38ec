// Symmetries that a kind of fabric promises, checked. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPHSYMMETRY_H
#define SAND_PLATFORMS_GRAPH_GRAPHSYMMETRY_H

#include "fabric.h"
#include "graph.h"

// Keeps those that hold: of a torus a step in each dimension, which no failure has broken.
// Neighbours are indexed. O(edges x log of a switch's cables).
enum sand_rc graph_find_symmetries(struct sand_graph *graph, const struct sand_fabric *fabric);

// Leaves of the first plane that symmetries map onto each other: orbit[s] is the first of them; of
// other switches SAND_NONE.
enum sand_rc graph_find_orbits(const struct sand_graph *graph, uint32_t *orbit);

#endif
