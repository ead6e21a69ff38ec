// A pool of child processes, one run unit each.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_POOL_H
#define SAND_SIM_SWEEP_POOL_H

#include <stdint.h>
#include <sys/types.h>

#include "diag.h"
#include "unitpipe.h"

enum sand_unit_state { SAND_UNIT_PENDING, SAND_UNIT_RUNNING, SAND_UNIT_DONE, SAND_UNIT_FAILED };

struct sand_unit {
    uint32_t number;
    enum sand_unit_state state; // set DONE beforehand to skip a unit
    enum sand_rc rc;
    pid_t pid;
    struct sand_unit_inbox inbox;
};

struct sand_pool {
    struct sand_unit *units;
    uint32_t n_units;
    uint32_t jobs; // children at a time, >= 1
    // Runs in the child; what it adds to `diag` reaches the unit's inbox, and so does the answer.
    void (*body)(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                 struct sand_unit_answer *answer, struct sand_diag *diag);
    // Runs here when a unit has answered SAND_OK; a failure makes the unit fail.
    enum sand_rc (*commit)(void *self, const struct sand_unit *unit, struct sand_diag *diag);
    // Runs here whenever something moved; may be NULL.
    void (*progress)(void *self, const struct sand_pool *pool);
    void *self; // of all three
    // Policies in the children that are foreign code (plugins.h); NULL or empty: none is.
    const char *plugins;
    int keeps_going; // after a unit's SAND_ERR_INPUT too: units have inputs of their own
    int interrupted;
};

// Runs every pending unit. On SIGINT or SIGTERM (unless ignored by this process) all children are
// killed and `interrupted` is set. Returns when no child is left; SAND_OK even if units failed:
// their state, rc and inbox.diag tell. A child that dies is SAND_ERR_UNIT with its signal named;
// with foreign code in it SAND_ERR_PLUGIN, and that is named too, but for SIGKILL, which comes from
// outside.
// After a unit failed with SAND_ERR_INPUT no further one is started.
enum sand_rc sand_pool_run(struct sand_pool *pool, struct sand_diag *diag);

#endif
