// Answers by the digest of their problem. Internal to sim/oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_MEMO_H
#define SAND_SIM_ORACLE_MEMO_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "step.h"

// Zero-initialise to start, clear to end.
struct sand_memo_entry;
struct sand_memo {
    struct sand_memo_entry *table;
};

// Copies the solution kept under `digest`; returns 0 if there is none. O(1).
int sand_memo_find(const struct sand_memo *memo, const uint8_t digest[32],
                   struct sand_step_solution *solution);

// Keeps a solution, only as many words of activity as it has; `digest` must be new. SAND_ERR_NOMEM
// leaves the memo as it was. O(1).
enum sand_rc sand_memo_keep(struct sand_memo *memo, const uint8_t digest[32],
                            const struct sand_step_solution *solution);

// Bytes of a solution in use: all but the words of activity it does not have.
size_t sand_solution_size(const struct sand_step_solution *solution);

void sand_memo_clear(struct sand_memo *memo);

#endif
