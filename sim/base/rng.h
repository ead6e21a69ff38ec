// Counter-based random numbers: a draw is a pure function of its address.
// Philox4x64-10 (Salmon et al., SC11) through Random123, whose key and counter hold the whole
// address; inverse-CDF variates only, one uniform a draw, so that two policies see the same faults,
// repairs and arrivals. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_RNG_H
#define SAND_SIM_BASE_RNG_H

#include <stdint.h>

// What is drawn. Append only: a number is an address in every result ever written.
enum sand_stream {
    SAND_STREAM_FAULT_GAP = 1,   // entity = node, index = k-th fault
    SAND_STREAM_FAULT_CLASS = 2, // which class and component the k-th fault of a node has
    SAND_STREAM_DETECT = 3,
    SAND_STREAM_DIAGNOSE = 4,
    SAND_STREAM_RESTART = 5,
    SAND_STREAM_REPAIR = 6,
    SAND_STREAM_ARRIVAL = 7,
    SAND_STREAM_POLICY = 8,
    SAND_STREAM_TEST = 9,
    SAND_STREAM_FAULT_COMPONENT = 10,
    SAND_STREAM_DEGRADATION_GAP = 11, // entity = class, index = k-th of the class
    SAND_STREAM_DEGRADATION_PART = 12,
    SAND_STREAM_FLAP_DOWN = 13, // index = k << 32 | m: the m-th time down of the k-th flapping part
    SAND_STREAM_FLAP_UP = 14,
    SAND_STREAM_FAULT_NODE = 15 // how prone a node is
};

struct sand_rng {
    uint64_t seed;
    uint32_t replication;
};

// 64 random bits at address (seed, replication, stream, entity, index). O(1), no state.
uint64_t sand_rng_u64(struct sand_rng rng, enum sand_stream stream, uint64_t entity,
                      uint64_t index);

// Uniform in the open interval (0, 1): never 0, never 1.
double sand_rng_uniform(struct sand_rng rng, enum sand_stream stream, uint64_t entity,
                        uint64_t index);

#endif
