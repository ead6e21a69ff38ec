// Collectives as a library runs them: kernels by algorithm and protocol; and what rows of measured
// collectives mean. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_COLLSPEC_H
#define SAND_SIM_MODEL_COLLSPEC_H

#include <stddef.h>

#include "hardware.h"

enum sand_algorithm {
    SAND_ALG_RING,
    SAND_ALG_TREE,
    SAND_ALG_NVLS,         // reduced and multicast by the scale-up switch
    SAND_ALG_NVLSTREE,     // that inside every domain, a tree over the network
    SAND_ALG_SHARP,        // that inside every domain, reduced by the network's switches
    SAND_ALG_SYMMETRIC,    // kernels on buffers registered at equal addresses, one domain
    SAND_ALG_PAIRWISE,     // point to point, also send and receive
    SAND_ALG_PXN,          // all-to-all over the GPU on the receiver's rail
    SAND_ALG_HIERARCHICAL, // all-to-all by domains
    SAND_ALGORITHMS
};
// "ring", "tree", ...
const char *sand_algorithm_name(enum sand_algorithm algorithm);

enum sand_protocol { SAND_PROTO_LL, SAND_PROTO_LL128, SAND_PROTO_SIMPLE, SAND_PROTOCOLS };
// "LL", "LL128", "Simple"
const char *sand_protocol_name(enum sand_protocol protocol);

// The kernel of one algorithm and protocol.
struct sand_coll_kernel {
    const char *id;
    enum sand_algorithm algorithm;
    enum sand_protocol protocol;
    double base_s;                       // once per collective
    double scaleup_s, pcie_s, network_s; // per hop
    double rate;                         // of the protocol: payload over bytes moved
    double chunk_B;                      // of one channel and rank, until the pipeline runs
    // In a switch that reduces: what a channel loses on each chunk beside a hop, and how large
    // chunks are, of short messages and of long ones. 0: nothing is lost.
    double chunk_s, chunk_least_B, chunk_most_B;
    double network_most_Bps; // that its kernels carry where a network is crossed; 0: no bound
    int on_request;          // of another library: only when it is asked for by name
};

// Rows of measured collectives whose gpu begins with `gpu` and whose platform contains `platform`
// were measured on this node. First match.
struct sand_coll_machine {
    const char *id;
    const char *gpu, *platform, *network;
    const struct sand_node_type *node;
};

// Rows whose network contains `contains` (and platform `platform`) went over this link. First
// match. Count and rate of the ports are taken from the row's text; `ports` where it has none.
struct sand_coll_network {
    const char *id;
    const char *contains, *platform;
    const struct sand_link_type *link;
    uint32_t ports;  // per node; 0: those of the node
    double rate_Bps; // of a port; 0: the link's
};

// Rows that are listed, not scored, and why: by id or by source.
struct sand_coll_flag {
    const char *id, *source, *row, *why;
};

struct sand_collectives {
    const char *id;
    struct sand_provenance from;
    double tier_sharpness; // s of (a^s + b^s)^(1/s), the time of two tiers that a pipeline crosses
    double channels;       // that a collective runs on at most
    double tree_depth;     // share of a tree's network hops that fill the pipeline one by one
    double p2p_rate;       // rate of point to point over that of a ring
    double p2p_channels;   // that ranks of a domain send each other on at most; 0: no bound
    double p2p_part_B;     // of a message on one channel, from which on more channels are taken
    double incast;         // relative loss of a port for every peer that sends to it at a time
    double incast_peers;   // at most
    struct sand_coll_kernel *kernels;
    size_t n_kernels;
};

struct sand_coll_rules {
    const char *id;
    struct sand_provenance from;
    const struct sand_collectives *collectives; // that ran them
    struct sand_coll_machine *machines;
    size_t n_machines;
    struct sand_coll_network *networks;
    size_t n_networks;
    struct sand_coll_flag *flags;
    size_t n_flags;
};

#endif
