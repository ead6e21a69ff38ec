// Texts as numbers: each different text gets the next number, and is kept once.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_NAMES_H
#define SAND_SIM_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "mem.h"

// Zero-initialise to start, clear to end.
struct sand_names {
    struct sand_arena arena;
    const char **texts; // by number
    size_t n, capacity;
    uint32_t *slots; // number + 1, 0: free; a power of two of them
    size_t n_slots;
};

// The number of a text, a new one if it was not there. O(length) amortised.
enum sand_rc sand_names_add(struct sand_names *names, const char *text, uint32_t *number);

// Stays where it is until the names are cleared.
const char *sand_names_text(const struct sand_names *names, uint32_t number);

void sand_names_clear(struct sand_names *names);

#endif
