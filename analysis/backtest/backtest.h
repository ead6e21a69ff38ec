// Does a simulated schedule have the waits that a trace recorded?
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_BACKTEST_BACKTEST_H
#define SAND_ANALYSIS_BACKTEST_BACKTEST_H

#include <stddef.h>
#include <stdint.h>

#include "experiment.h"
#include "jobset.h"
#include "mem.h"
#include "names.h"

// A job of the trace, beside itself in the simulation. Dates are from the start of the experiment.
struct sand_backtest_job {
    const char *id, *job_class, *user, *ending; // NULL: not told
    long line;                                  // of its trace
    int64_t submit_ns, run_ns;                  // recorded
    int64_t record_ns;                          // recorded start, -1: none
    int64_t start_ns, end_ns;                   // simulated, -1: did not
    uint64_t gpus;                              // that it holds in the simulation
};

// One of the two schedules. Wait: start - submit. Completion: end - submit, where a recorded end is
// the recorded start + the recorded run time. Slowdown: bounded, max(1, completion /
// max(completion - wait, 10 s)). Percentiles are by nearest rank. Use: GPU time held from the first
// submit to the last / (all GPUs x that time).
struct sand_backtest_side {
    double wait_mean_s, wait_p50_s, wait_p95_s;
    double completion_mean_s, completion_p95_s;
    double slowdown_mean;
    double use;
};

// Compared jobs that have something in common.
struct sand_backtest_group {
    const char *by, *name, *ending; // "all", "class", "user" or "size"; ending NULL: whatever it is
    uint64_t jobs, same;            // same: starts at most a millisecond from its recorded start
    double gpu_s;                   // held in the simulation
    double shift_s;                 // mean of |simulated start - recorded start|
    struct sand_backtest_side simulated, recorded;
};

struct sand_backtest {
    struct sand_arena arena;
    struct sand_names names;
    struct sand_backtest_job *jobs; // in the order of the results
    size_t n_jobs, capacity;
    // Compared are jobs with a recorded start that started and ended in the simulation.
    uint64_t n_compared, n_unrecorded, n_unstarted, n_unended;
    double window_s, capacity_gpus;
    struct sand_backtest_group whole;
    struct sand_backtest_group *groups; // by `by`, name, ending
    size_t n_groups, groups_capacity;
};

// Runs replication 0 of the experiment in this process, which has one engine, and compares. The set
// is of the same experiment. SAND_ERR_INPUT when no job has a recorded start. Clear it in any case.
// O(jobs log jobs); holds every job.
enum sand_rc sand_backtest_run(const struct sand_experiment *experiment,
                               const struct sand_jobset *set, struct sand_backtest *backtest,
                               struct sand_diag *diag);
void sand_backtest_clear(struct sand_backtest *backtest);

// 1 if the job is among the compared.
int sand_backtest_compares(const struct sand_backtest_job *job);

#endif
