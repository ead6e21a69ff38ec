// What a run unit's process tells its parent: progress, messages, and its answer, as frames on a
// pipe. Both ends are the same program image, so frames hold plain structs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_UNITPIPE_H
#define SAND_SIM_SWEEP_UNITPIPE_H

#include <stddef.h>

#include "diag.h"
#include "oracle.h"

// The last thing a unit says.
struct sand_unit_answer {
    enum sand_rc rc;
    struct sand_oracle_counters counters;
    char shard[65]; // SHA-256 of the committed shard
};

// ---- the child's end
// ------------------------------------------------------------------------------

struct sand_unit_outbox {
    int fd;
    double told; // progress last told
};

// Tells the share done, at most once per half per cent.
void sand_unit_tell_progress(struct sand_unit_outbox *outbox, double done);
// Tells every message of `diag`, then the answer.
void sand_unit_tell_answer(struct sand_unit_outbox *outbox, const struct sand_diag *diag,
                           const struct sand_unit_answer *answer);

// ---- the parent's end
// -----------------------------------------------------------------------------

// Zero-initialise, set fd; clear to end (which closes fd).
struct sand_unit_inbox {
    int fd; // non-blocking
    char *bytes;
    size_t n, capacity;
    double done;
    struct sand_diag diag;
    int answered;
    struct sand_unit_answer answer;
};

// Reads what is there now. SAND_ERR_NOMEM, or SAND_ERR_INTERNAL for a frame that no child writes.
enum sand_rc sand_unit_listen(struct sand_unit_inbox *inbox);
void sand_unit_inbox_clear(struct sand_unit_inbox *inbox);

#endif
