// Transfers between nodes and storage over the training fabric: streams and the links they cross.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_TRANSFER_H
#define SAND_SIM_STEP_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "diag.h"
#include "fabric.h"

// Finds the streams of nodes, and remembers those of every node that has been asked for.
struct sand_stream_router;

// The cluster has storage ports; both outlive the router. O(nodes).
enum sand_rc sand_stream_router_open(const struct sand_cluster *cluster,
                                     const struct sand_fabric *fabric, int reading,
                                     struct sand_stream_router **router);
// The fabric has changed.
void sand_stream_router_forget(struct sand_stream_router *router);
void sand_stream_router_close(struct sand_stream_router *router);

struct sand_stream_link {
    uint32_t link, streams; // of the fabric; that cross it
    double capacity_Bps;    // usable
};

// All streams carry the same and a transfer is over with its last one, so they count as one flow at
// the pace of the slowest: exact for the time it takes alone, one flow instead of thousands.
struct sand_streams {
    struct sand_stream_link *links; // between switches, ascending
    size_t n_links;
    uint32_t n;
    double nic_Bps; // the most a NIC lets a stream have
};

// Nodes that read or write, every one with a stream over each of its first n_nics NICs. Streams are
// connections like the hops of a ring: on a full link all get the same. Stream i of the cluster
// (NIC after NIC) goes to the i-th of the leaves that have storage, in turns. SAND_ERR_INPUT:
// nothing that works joins them. O(links + nodes), and its streams' routes for a node that is new.
enum sand_rc sand_streams_route(struct sand_stream_router *router, const uint32_t *nodes,
                                uint32_t n_nodes, uint32_t n_nics, struct sand_streams *streams,
                                struct sand_diag *diag);
void sand_streams_free(struct sand_streams *streams);

// What a stream gets while nothing else is on the links.
double sand_streams_alone_Bps(const struct sand_streams *streams);

#endif
