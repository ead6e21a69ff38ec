// Does a schedule policy start every job when a published schedule says it started?
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_SCHEDULECHECK_H
#define SAND_ANALYSIS_VALIDATE_SCHEDULECHECK_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "experiment.h"
#include "scheduletrace.h"

struct sand_schedule_check {
    uint32_t n_nodes;
    uint32_t gpus_per_node; // 0: 1; above 1: the sizes of the rows are GPUs, and nodes are shared
    const char *place;      // NULL: place/first-fit
    struct sand_choice policy;
    enum sand_events events;
    double tolerance_s; // starts that differ by more differ
};

struct sand_schedule_difference {
    const struct sand_schedule_row *row;
    double start_s; // simulated, in the file's own time; NaN: it never started
};

enum { SAND_SCHEDULE_FIRST = 5 };

struct sand_schedule_report {
    size_t n_differ;
    struct sand_schedule_difference first[SAND_SCHEDULE_FIRST]; // in the order of the rows
    double mean_wait_s, file_mean_wait_s;
};

// Replays the jobs on an empty cluster without faults, where each runs as long as its row says.
// Uses the process's one engine. SAND_ERR_INPUT for a policy or parameter that does not exist,
// SAND_ERR_PLUGIN when the policy fails, SAND_ERR_UNIT when it leaves jobs waiting for ever; a
// difference is no error. The report points into the trace.
enum sand_rc sand_schedule_compare(const struct sand_schedule_trace *trace,
                                   const struct sand_schedule_check *check,
                                   struct sand_schedule_report *report, struct sand_diag *diag);

#endif
