// A maximum flow that is kept: what a loss takes of it is taken back and led another way. Private
// to the room; see graphkept.c. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPHKEPT_H
#define SAND_PLATFORMS_GRAPH_GRAPHKEPT_H

#include <stdint.h>

#include "graphcells.h"

// What the source can send to a vertex, and the vertex to the sink. Whole numbers.
struct graph_ports {
    double in, out;
};

struct graph_kept;

// A maximum flow through the undirected `arcs`, which have to outlive it.
enum sand_rc graph_kept_make(const struct graph_arcs *arcs, const struct graph_ports *ports,
                             struct graph_kept **kept);
void graph_kept_free(struct graph_kept *kept); // NULL is fine

// The value of a maximum flow when the vertices marked in `dead` (NULL: none) are gone and the
// others have `ports`, none of them above those at the start. What is kept stays as it was. Exact,
// as all numbers are whole and their sums below 2^53.
double graph_kept_after(struct graph_kept *kept, const uint8_t *dead,
                        const struct graph_ports *ports);

#endif
