// What the files that call igraph share. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPHIGRAPH_H
#define SAND_PLATFORMS_GRAPH_GRAPHIGRAPH_H

#include <igraph/igraph.h>

#include "diag.h"

// igraph's default handler aborts on every error; return codes are enough. Its random generator is
// never used: nothing here draws.
void graph_tame_igraph(void);

enum sand_rc graph_igraph_failed(igraph_error_t error, struct sand_diag *diag);

#endif
