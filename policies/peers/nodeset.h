// Sets of nodes as bits.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_PEERS_NODESET_H
#define SAND_POLICIES_PEERS_NODESET_H

#include <stddef.h>
#include <stdint.h>

static inline size_t sand_nodeset_words(size_t n_nodes)
{
    return (n_nodes + 63) / 64;
}

static inline void sand_nodeset_add(uint64_t *set, size_t node)
{
    set[node / 64] |= (uint64_t)1 << (node % 64);
}

size_t sand_nodeset_count(const uint64_t *set, size_t n_words);

// Keeps the n lowest members, of which there are at least n.
void sand_nodeset_keep_lowest(uint64_t *set, size_t n_words, size_t n);

// Writes the members to `out`, ascending; returns how many.
size_t sand_nodeset_list(const uint64_t *set, size_t n_words, uint32_t *out);

#endif
