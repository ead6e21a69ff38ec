// A set of 128-bit keys with the line each was first seen on (private to workloads/import).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACESET_H
#define SAND_WORKLOADS_IMPORT_TRACESET_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

struct trace_key {
    uint64_t a, b;
};

struct trace_set_slot {
    struct trace_key key;
    uint32_t age; // equal to the set's: in use
};

// Zero-initialise to start, clear to end. uthash is not used because the set is emptied at every
// new submit time, which must not cost a pass over it.
struct trace_set {
    struct trace_set_slot *slots;
    size_t n, capacity; // a power of two
    uint32_t age;
};

// A key of a block of bytes: two independent 64-bit lanes, so that unequal rows of one trace do not
// collide in practice (n rows: n^2 / 2^129).
struct trace_key trace_key_of(const void *data, size_t size);

// *present tells whether the key was there before. O(1) amortised.
enum sand_rc trace_set_add(struct trace_set *set, struct trace_key key, int *present);
void trace_set_empty(struct trace_set *set); // O(1)
void trace_set_clear(struct trace_set *set);

#endif
