// Experiment -> run units in child processes -> shards -> one results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_SWEEP_H
#define SAND_SIM_SWEEP_SWEEP_H

#include <stdint.h>

#include "diag.h"
#include "experiment.h"

struct sand_sweep_options {
    const char *out_dir;   // made if missing; gets results.h5, results.run.json
    uint32_t jobs;         // child processes at a time, >= 1
    uint32_t first_replication, n_replications;
    int force;             // overwrite an existing results.h5
    // Called with the share of all units' simulated time that is done (0..1); may be NULL.
    void (*progress)(void *self, double done, uint32_t units_done, uint32_t units);
    void *progress_self;
};

// Runs every unit, merges, writes. A unit that fails or dies is reported with its replication and
// seed; the others go on; then SAND_ERR_UNIT and no results.h5. Shards live in out_dir/units and
// are reused by a later run of the same digest; they go when the merge is done.
enum sand_rc sand_sweep_run(const struct sand_experiment *experiment,
                            const struct sand_sweep_options *options, struct sand_diag *diag);

#endif
