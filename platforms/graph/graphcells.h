// Vertices of a weighted graph sorted into cells of equal standing. Private to the room: the cells
// of routes (fabriccells.c) need cable by cable what cuts need in sum alone, and are finer.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPHCELLS_H
#define SAND_PLATFORMS_GRAPH_GRAPHCELLS_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

// Undirected: every edge stands at both its ends. Arcs of v: first[v] to first[v + 1] - 1.
struct graph_arcs {
    uint32_t n, *first, *to;
    double *weight; // whole numbers above 0, all of them together below 2^53: sums are exact
};

// Members of cell c: order[begin[c]] to order[begin[c] + size[c] - 1].
struct graph_cells {
    uint32_t n;
    uint32_t *of; // [vertices]
    uint32_t *order, *begin, *size;
};

// The coarsest equitable partition that is finer than `colour` (compared by bytes, `width` each):
// all vertices of a cell have equal colours and, cell by cell, the same sum of weights to it.
// Refinement by splitters, of which all but the largest part of a cell count (Hopcroft 1971;
// Cardon and Crochemore 1982). O(arcs x log vertices), up to the sorting of what a splitter
// touches.
enum sand_rc graph_cells_find(const struct graph_arcs *arcs, const void *colour, size_t width,
                              struct graph_cells *cells);

// Every vertex a cell of its own.
enum sand_rc graph_cells_apart(uint32_t n, struct graph_cells *cells);
void graph_cells_free(struct graph_cells *cells);

#endif
