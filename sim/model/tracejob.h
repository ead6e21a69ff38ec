// A job as a trace records it, and the classes that say what its duration means.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Field table for the binder: an element <trace> of an experiment. Its options are those of struct
// sand_trace_options (workloads/import/trace.h), whose zeros are the defaults.
//
//   <trace>  path                      SPEC_PATH
//            format                    word swf|philly|csv
//            columns                   text, read by sand_trace_columns()
//            size                      word requested|allocated
//            processors_per_node, gpus_per_node, machine_nodes, machine_gpus    whole, default 0
//            walltime                  word none|exact|factor|limit
//            walltime_factor           number >= 1
//            walltime_limit            time
//            overrun                   word keep|cut|raise
//            duplicates, fractions     words keep|drop and up|drop
//            utc_offset                time
//            child class, 0..          SPEC_ARRAY of struct sand_trace_class
//   <class>  id                        SPEC_ID
//            min_gpus, max_gpus        whole, default 0
//            account, user, queue, partition, name    optional patterns
//            speed                     word recorded|model
//            model, split, placement   texts, required with speed="model" (sand_trace_open checks)
//            limit                     time, default 0
#ifndef SAND_SIM_MODEL_TRACEJOB_H
#define SAND_SIM_MODEL_TRACEJOB_H

#include <stdint.h>

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
    const char *model, *split, *placement; // SAND_TRACE_MODEL: ids, resolved by the caller
    int64_t limit_ns; // for SAND_TRACE_WALLTIME_LIMIT; 0: the limit of the options
};

#endif
