// Answers by the digest of their problem. Internal to sim/oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_MEMO_H
#define SAND_SIM_ORACLE_MEMO_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

// Zero-initialise to start, clear to end.
struct sand_memo_entry;
struct sand_memo {
    struct sand_memo_entry *table;
};

// What is kept under `digest`, NULL if nothing is; *size: its bytes. Valid until the memo is
// cleared. O(1).
const void *sand_memo_find(const struct sand_memo *memo, const uint8_t digest[32], size_t *size);

// Keeps a copy of `size` bytes; `digest` must be new. SAND_ERR_NOMEM leaves the memo as it was.
// O(1).
enum sand_rc sand_memo_keep(struct sand_memo *memo, const uint8_t digest[32], const void *answer,
                            size_t size);

void sand_memo_clear(struct sand_memo *memo);

#endif
