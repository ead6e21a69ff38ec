// Collectives as bytes on each hop of a ring. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_COLLECTIVE_COLLECTIVE_H
#define SAND_WORKLOADS_COLLECTIVE_COLLECTIVE_H

#include <stdint.h>

enum sand_collective_kind {
    SAND_ALL_REDUCE,
    SAND_ALL_GATHER,
    SAND_REDUCE_SCATTER,
    SAND_SEND,
    SAND_BROADCAST,
    SAND_REDUCE,
    SAND_ALL_TO_ALL,
    SAND_COLLECTIVES
};
// "all_reduce", "all_gather", ... as nccl-tests calls its programs, without "_perf".
const char *sand_collective_name(enum sand_collective_kind kind);

// One collective over `ranks` ranks in a ring (NVSwitch domains: the ring's traffic on each GPU's
// port). `bytes` as in nccl-tests: total buffer per rank for all-reduce, gathered size for
// all-gather, input size for reduce-scatter, message size for send, buffer size for broadcast and
// reduce, all that a rank sends (its own share too) for all-to-all.
struct sand_collective {
    enum sand_collective_kind kind;
    uint32_t ranks;
    double bytes;
};

// Bytes that every hop of the ring carries: all-reduce 2(n-1)/n, gather and scatter (n-1)/n, send,
// broadcast and reduce 1. All-to-all is no ring: what a rank sends to others, (n-1)/n.
double sand_collective_hop_B(const struct sand_collective *collective);

// Steps of the ring: all-reduce 2(n-1), gather, scatter, broadcast, reduce and the messages of an
// all-to-all n-1, send 1.
uint32_t sand_collective_steps(const struct sand_collective *collective);

// nccl-tests' factor from algorithm bandwidth (bytes over time) to bus bandwidth: all-reduce
// 2(n-1)/n; gather, scatter and all-to-all (n-1)/n; the others 1.
double sand_collective_bus_factor(enum sand_collective_kind kind, uint32_t ranks);

#endif
