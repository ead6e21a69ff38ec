// Traces: a job as one records it, the classes that say what its duration means, and the element
// <trace> of an experiment. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_TRACEJOB_H
#define SAND_SIM_MODEL_TRACEJOB_H

#include <stddef.h>
#include <stdint.h>

#include "workload.h"

enum sand_trace_format {
    SAND_TRACE_SWF,    // Standard Workload Format 2.2, also with fields beyond the 18th
    SAND_TRACE_PHILLY, // timestamp,duration,num_gpus,gpu_time,cluster
    SAND_TRACE_CSV     // any CSV with a header line, through a column map
};

enum sand_trace_size { SAND_TRACE_REQUESTED, SAND_TRACE_ALLOCATED }; // SWF fields 8 and 5

enum sand_trace_walltime {
    SAND_TRACE_WALLTIME_NONE,   // left unknown
    SAND_TRACE_WALLTIME_EXACT,  // the run time: a perfect estimate
    SAND_TRACE_WALLTIME_FACTOR, // factor times the run time
    SAND_TRACE_WALLTIME_LIMIT   // the limit of the job's class, else walltime_limit_ns
};

enum sand_trace_overrun { // a job that ran longer than it had requested
    SAND_TRACE_OVERRUN_KEEP,
    SAND_TRACE_OVERRUN_CUT,  // run = request
    SAND_TRACE_OVERRUN_RAISE // request = run
};

enum sand_trace_status {
    SAND_TRACE_UNKNOWN,
    SAND_TRACE_COMPLETED,
    SAND_TRACE_FAILED,
    SAND_TRACE_CANCELLED,
    SAND_TRACE_TIMEOUT,
    SAND_TRACE_STATUSES
};

// One job. Texts are "" if the trace does not have them. Times are from the first submit of a kept
// row; -1: unknown.
struct sand_trace_job {
    uint64_t index; // 0, 1, 2, ... by submit time, equal times in the order of the file
    long line;      // in the unpacked file, 1 = the first
    const char *id; // as in the file, else the number of the row
    const char *user, *account, *queue, *partition, *name;
    int64_t submit_ns;
    int64_t run_ns;     // > 0
    int64_t request_ns; // -1: none
    int64_t start_ns;   // -1: not recorded
    uint32_t nodes;     // 0: not known, as when GPUs are given and gpus_per_node is not
    uint32_t gpus;      // 0: the trace does not count GPUs
    enum sand_trace_status status;
    uint32_t job_class; // index into the class table; SAND_NONE
};

enum sand_trace_speed {
    SAND_TRACE_RECORDED, // the recorded duration holds wherever the job runs
    SAND_TRACE_MODEL // the duration was measured at `placement`; elsewhere the model's step time
                     // scales it
};

// A row of the class table: the first one that matches all its conditions is the job's class.
struct sand_trace_class {
    const char *id;
    uint32_t min_gpus, max_gpus; // max 0: no bound
    // Shell patterns (fnmatch); NULL: any.
    const char *account, *user, *queue, *partition, *name;
    enum sand_trace_speed speed;
    // SAND_TRACE_MODEL: all of these. split.dp is replaced by what the job's GPUs give.
    const struct sand_transformer *model;
    const struct sand_software *software;
    struct sand_split split;
    const char *placement; // the one its durations were measured at
    struct sand_checkpoint_spec checkpoint;
    int64_t limit_ns; // for SAND_TRACE_WALLTIME_LIMIT; 0: the limit of the options
};

// <trace> of an experiment. The zeros are the defaults of the importer (workloads/import/trace.h).
struct sand_trace_spec {
    const char *file;    // as the experiment names it, real path
    const char *instead; // a file that takes its place (--trace); NULL: none
    char digest[65];     // SHA-256 of the file that is read
    enum sand_trace_format format;
    const char *columns; // of a CSV, see sand_trace_columns(); NULL: none
    enum sand_trace_size size;
    uint32_t processors_per_node;
    enum sand_trace_walltime walltime;
    double walltime_factor;
    int64_t walltime_limit_ns;
    enum sand_trace_overrun overrun;
    int drop_duplicates, drop_fractions;
    const struct sand_trace_class *classes;
    size_t n_classes;
};

#endif
