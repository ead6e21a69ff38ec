// All-to-all as bytes and messages through each rank's scale-up port and NIC.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_COLLECTIVE_ALLTOALL_H
#define SAND_WORKLOADS_COLLECTIVE_ALLTOALL_H

#include <stdint.h>

enum sand_alltoall_kind {
    SAND_ALLTOALL_PAIRWISE, // every rank sends to every other by itself
    SAND_ALLTOALL_PXN, // what leaves the domain first goes over NVLink to the GPU on the receiver's
                       // rail, which sends one message per remote domain (NCCL, PXN)
    SAND_ALLTOALL_HIERARCHICAL // what several ranks of a remote domain want goes there once and is
                               // spread over its scale-up links, to each rank once (DeepEP's normal
                               // kernels)
};

// How a token finds its experts: `top_k` of them, evenly drawn without repetition from
// `groups_per_token` of the `groups` equal groups that follow each other in their numbers
// (DeepSeek-V3 report, arXiv:2412.19437, section 2.1.2: node-limited routing, 4 of 8). One group,
// or none: from all experts.
struct sand_routing {
    uint32_t experts, top_k;
    uint32_t groups, groups_per_token;
};

// Of `parts` equal shares of the experts, consecutive ones in each, how many a token reaches in the
// mean. `parts` and `groups` divide the experts, and the chosen groups have `top_k`.
// O(unlike parts x groups x top_k).
double sand_routing_reach(const struct sand_routing *routing, uint32_t parts);

// One all-to-all over `ranks` ranks, `domain_ranks` of them in each scale-up domain (a divisor; 1:
// no scale-up). `bytes`: what one rank sends to all ranks together, its own share included, as in
// nccl-tests: tokens x top_k x hidden x element for experts. Hierarchical only: which part of the
// copies is no second one for its domain, for its rank (1: no duplicates); of routed tokens
// sand_routing_reach over top_k.
struct sand_alltoall {
    enum sand_alltoall_kind kind;
    uint32_t ranks, domain_ranks;
    double bytes;
    double per_domain, per_rank;
};

// Per rank, in each direction.
struct sand_alltoall_load {
    double scaleup_B, network_B;                 // through the scale-up port, through the NIC
    uint32_t scaleup_messages, network_messages; // one after the other at the sender
};
struct sand_alltoall_load sand_alltoall_load(const struct sand_alltoall *all);

#endif
