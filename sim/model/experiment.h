// The frozen model of one experiment: what the spec says, bound, checked, with defaults filled in.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_EXPERIMENT_H
#define SAND_SIM_MODEL_EXPERIMENT_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "cluster.h"
#include "collspec.h"
#include "faultspec.h"
#include "mix.h"
#include "tracejob.h"
#include "workload.h"

// When the schedule policy decides: once all events of a date are in, or after each of them, as
// some simulators do. The latter starts other jobs when simultaneous events interact.
enum sand_events { SAND_EVENTS_INSTANT, SAND_EVENTS_EACH };

// What a job holds. With GPUs, a job of less than a node holds what it asks for, all on one node,
// beside others; a larger one holds whole nodes either way.
enum sand_allocation { SAND_ALLOCATE_NODES, SAND_ALLOCATE_GPUS };

struct sand_experiment {
    const char *name;
    int64_t duration_ns;
    uint64_t seed;
    uint32_t replications;
    int64_t mfu_window_ns; // length of one row of the mfu and cluster tables
    struct sand_cluster cluster;
    const struct sand_kernel_costs *kernels;
    const struct sand_collectives *collectives;
    const struct sand_job_spec *jobs; // in document order
    size_t n_jobs;
    // Further sources of jobs, which workloads/jobset turns into jobs of the list.
    const struct sand_trace_spec *traces;
    size_t n_traces;
    const struct sand_mix_use *mixes;
    size_t n_mixes;
    struct sand_fault_spec faults;
    uint32_t hot_spares; // nodes set apart for recovery
    struct sand_choice schedule, place, recover;
    enum sand_events events;
    enum sand_allocation allocation;
    const char *canonical; // the resolved spec as text: every default written out, SI units
    char digest[65];       // SHA-256 of canonical
    const char *const *assumptions; // "gpu h100-sxm-80g: pcie_gen", one per assumed field in use
    size_t n_assumptions;
};

#endif
