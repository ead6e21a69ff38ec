// Sets of nodes as bits, word by word.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "nodeset.h"

size_t sand_nodeset_count(const uint64_t *set, size_t n_words)
{
    size_t n = 0;
    for (size_t i = 0; i < n_words; i++)
        n += (size_t)__builtin_popcountll(set[i]);
    return n;
}

void sand_nodeset_keep_lowest(uint64_t *set, size_t n_words, size_t n)
{
    for (size_t i = 0; i < n_words; i++) {
        uint64_t kept = 0;
        for (uint64_t left = set[i]; left != 0 && n > 0; left &= left - 1, n--)
            kept |= left & (~left + 1);
        set[i] = kept;
    }
}

size_t sand_nodeset_list(const uint64_t *set, size_t n_words, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < n_words; i++) {
        for (uint64_t left = set[i]; left != 0; left &= left - 1)
            out[n++] = (uint32_t)(64 * i + (size_t)__builtin_ctzll(left));
    }
    return n;
}
