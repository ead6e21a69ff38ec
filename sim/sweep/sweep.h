// Experiment -> run units in child processes -> shards -> one results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_SWEEP_H
#define SAND_SIM_SWEEP_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "experiment.h"

struct sand_jobset;

// Raised whenever equal input may give other results; part of every journal line and results file.
#define SAND_PHYSICS_VERSION "6"

// A library and its version, for the run record.
struct sand_library {
    const char *name, *version;
};

struct sand_sweep_options {
    const char *out_dir; // made if missing; gets results.h5, results.run.json
    uint32_t jobs;       // child processes at a time, >= 1
    uint32_t first_replication, n_replications;
    int force;                        // overwrite an existing results.h5, whatever it is
    const struct sand_jobset *jobset; // of the experiment, if it has traces or mixes; else NULL
    const char *program_version;
    const struct sand_library *libraries;
    size_t n_libraries;
    const char *cache;          // directory of the store of solutions; NULL: none
    const char *cache_versions; // what stored solutions depend on, see sand_oracle_use_store
    // Called with the share of all units' simulated time that is done (0..1); may be NULL.
    void (*progress)(void *self, double done, uint32_t units_done, uint32_t units);
    void *progress_self;
};

struct sand_sweep_report {
    uint32_t units, done, reused; // done counts the reused ones
    int interrupted; // by SIGINT or SIGTERM: a later run goes on where this one stopped
    int finished;    // before this call: results.h5 was there already
};

// Runs every unit, merges, writes results.h5 (whole or not at all) and results.run.json. Shards and
// their journal live in out_dir/units; a later run of the same digest and physics version reuses
// what is committed there; they go when the merge is done. Children die with this process.
//
// A unit that fails or dies is reported with its replication and seed; the others go on (not after
// SAND_ERR_INPUT, which all of them would repeat); then no results.h5, and the code is that of the
// lowest failed replication: for one that died SAND_ERR_UNIT, or SAND_ERR_PLUGIN
// where plug-ins are in it. SAND_ERR_UNIT when interrupted,
// SAND_ERR_USAGE when results.h5 exists, is not of this experiment and physics version, and `force`
// is 0; if it is, nothing runs. Must be called before this process runs
// an engine. *report is always filled. SIGINT and SIGTERM are taken over during the call.
enum sand_rc sand_sweep_run(const struct sand_experiment *experiment,
                            const struct sand_sweep_options *options,
                            struct sand_sweep_report *report, struct sand_diag *diag);

#endif
