// results.run.json: where, when and with what the results were made. Never part of the results.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_RUNRECORD_H
#define SAND_SIM_SWEEP_RUNRECORD_H

#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "diag.h"
#include "experiment.h"
#include "oracle.h"
#include "sweep.h"

// The clocks at the start of a run.
struct sand_run_start {
    time_t date;
    struct timespec monotonic;
    struct rusage self, children;
};
void sand_run_start(struct sand_run_start *start);

// Writes `path`: host, dates, wall and CPU time since `start`, peak memory, program and library
// versions, the oracle's counters over all units, units and reused units.
enum sand_rc sand_run_record_write(const char *path, const struct sand_run_start *start,
                                   const struct sand_experiment *experiment,
                                   const struct sand_sweep_options *options,
                                   const struct sand_sweep_report *report,
                                   const struct sand_oracle_counters *counters,
                                   struct sand_diag *diag);

#endif
