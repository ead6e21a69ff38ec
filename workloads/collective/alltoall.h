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
                               // spread over its scale-up links (DeepEP's normal kernels)
};

// One all-to-all over `ranks` ranks, `domain_ranks` of them in each scale-up domain (a divisor; 1:
// no scale-up). `bytes`: what one rank sends to all ranks together, its own share included, as in
// nccl-tests: tokens x top_k x hidden x element for experts. `distinct`: hierarchical only, the
// fraction of the bytes for a remote domain that is not a second copy (1: no duplicates); see
// sand_alltoall_distinct.
struct sand_alltoall {
    enum sand_alltoall_kind kind;
    uint32_t ranks, domain_ranks;
    double bytes;
    double distinct;
};

// Per rank, in each direction.
struct sand_alltoall_load {
    double scaleup_B, network_B;                 // through the scale-up port, through the NIC
    uint32_t scaleup_messages, network_messages; // one after the other at the sender
};
struct sand_alltoall_load sand_alltoall_load(const struct sand_alltoall *all);

// Fraction of the copies for one remote domain that stay when each token goes there once: tokens
// go to `top_k` of `ranks * experts_per_rank` experts drawn evenly without replacement, so a domain
// of `domain_ranks` ranks gets top_k * p / n copies of a token and holds at least one with
// probability 1 - C(E - E_d, k) / C(E, k), E_d its experts. `most_domains` > 0 caps how many
// domains a token may reach (DeepSeek-V3: four).
double sand_alltoall_distinct(uint32_t ranks, uint32_t domain_ranks, uint32_t experts_per_rank,
                              uint32_t top_k, uint32_t most_domains);

#endif
