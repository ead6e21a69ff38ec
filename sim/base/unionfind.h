// Union-find on plain arrays: what belongs together, numbered by its first member.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_UNIONFIND_H
#define SAND_SIM_BASE_UNIONFIND_H

#include <stdint.h>

// In `up` every member names one of its set that is not after it; at first itself. The root of `s`
// is the first of its set; paths are halved on the way, so that it is near O(1) on average.
static inline uint32_t sand_union_root(uint32_t *up, uint32_t s)
{
    while (up[s] != s)
        s = up[s] = up[up[s]];
    return s;
}

// Makes the sets of a and b one.
static inline void sand_union_join(uint32_t *up, uint32_t a, uint32_t b)
{
    a = sand_union_root(up, a);
    b = sand_union_root(up, b);
    if (a < b)
        up[b] = a;
    else
        up[a] = b;
}

#endif
