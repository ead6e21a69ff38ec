// Where storage hangs from the fabric. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_GRAPHSTORAGE_H
#define SAND_PLATFORMS_GRAPH_GRAPHSTORAGE_H

#include "fabric.h"
#include "graph.h"

// Sets storage_Bps of the switches, whose edges and NICs are there. SAND_ERR_NOMEM, without a
// message.
enum sand_rc graph_seat_storage(struct sand_graph *graph, const struct sand_fabric *fabric,
                                const struct sand_cluster *cluster);

#endif
