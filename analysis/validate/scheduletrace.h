// A published schedule: jobs as they were submitted, and when another simulator started them.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_SCHEDULETRACE_H
#define SAND_ANALYSIS_VALIDATE_SCHEDULETRACE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "mem.h"

struct sand_schedule_row {
    const char *id;
    long line; // of the unpacked file
    uint32_t nodes;
    int64_t submit_ns;  // from the first submit
    int64_t run_ns;     // min(run time, request)
    int64_t request_ns; // -1: none
    double start_s;     // in the file's own time
};

struct sand_schedule_trace {
    struct sand_schedule_row *rows; // by submit time, equal times in the order of the file
    size_t n, capacity;
    double first_submit_s; // in the file's own time
    struct sand_arena arena;
};

// Reads a CSV, plain or packed by xz or gzip. `columns` is a column map as of the importer
// ("submit=submit_time,run=duration,..."); NULL: job_id, submit_s, nodes, runtime_s, walltime_s,
// start_s. A row that is no job of the machine, or would have to be changed to be one, is an error:
// a schedule with other jobs is another schedule. Clear *trace in any case. O(rows log rows).
enum sand_rc sand_schedule_read(const char *path, const char *columns, uint32_t machine_nodes,
                                struct sand_schedule_trace *trace, struct sand_diag *diag);
void sand_schedule_clear(struct sand_schedule_trace *trace);

#endif
