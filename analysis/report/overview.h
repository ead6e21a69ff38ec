// The figures of a summary, computed once and printed by whoever likes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_OVERVIEW_H
#define SAND_ANALYSIS_REPORT_OVERVIEW_H

#include "diag.h"
#include "mem.h"
#include "stats.h"
#include "store.h"

// What is summed of a run's jobs as they pass by: first submit and last end, how many they are, and
// their HFU weighted by the GPU time of the steps they executed, as MFU is.
struct sand_run_window {
    int64_t first_ns, last_ns;
    size_t n_jobs;
    double hfu_gpu_s, stepping_gpu_s;
};

// The tables of a results file, as arrays. Of jobs, steps and attempts only those
// of the thousand training jobs with most GPU time, and of jobs those with saves: a trace may have
// millions of others, which are counted as they pass by. decisions, mfu and links stay empty.
struct sand_rowset {
    struct sand_run_window *windows; // by run
#define TABLE(name, doc)                                                                           \
    const struct sand_##name##_row *name;                                                          \
    size_t n_##name;
#define COL(table, type, name, unit, doc)
#include "results.def"
#undef TABLE
#undef COL
};

// "A run" is one replication; figures named so are means over them.

struct sand_time_class { // a ledger class
    const char *name;
    int allocated;  // a job held the GPUs
    double gpu_s;   // a run
    double power_W; // mean of the whole time
};

// A training job's step on its nodes with nothing beside it and nothing faulty, mean over the steps
// executed in all runs; or in the first run alone, where other runs have another job in its place.
struct sand_step_split {
    const char *job;
    int alone;    // of the first run alone
    double gpu_s; // a run: the order of importance
    double step_s, healthy_step_s, memory_B;
    double observed_step_s; // mean of what the steps took
    double compute_s, exposed_tp_s, exposed_cp_s, exposed_pp_s, exposed_dp_s, bubble_s,
        data_stall_s;
};

struct sand_fault_group { // by cause, or by class
    const char *name;
    int planned;       // 1: all of it planned, 0: none, -1: mixed
    size_t n;          // interruptions, all runs
    double lost_gpu_s; // all runs; what struck during a recovery is in the loss of that recovery
};

struct sand_degradation_group { // by class, all runs
    const char *name, *effect;
    size_t n, n_unnoticed; // strikes; of them healed, or the run over, before anybody noticed
    size_t n_jobs;         // jobs that strikes cost time, each strike's counted
    double still_s, slow_s, lost_gpu_s; // of these jobs
};

enum { SAND_RECOVERY_PARTS = 7 };
extern const char *const sand_recovery_part_names[SAND_RECOVERY_PARTS];

struct sand_recovery_times {      // of incidents that struck no recovery and are over, all runs
    size_t n, n_children, n_open; // counted; not counted: children; not over at the end
    double mean_s, median_s, p95_s;
    double parts_s[SAND_RECOVERY_PARTS]; // means, in the order of the names
};

struct sand_job_states { // all runs; ended_*: as the job's record says
    size_t finished, ended_failed, ended_cancelled, ended_killed;
    size_t running, unfinished, waiting, failed, other;
};

struct sand_job_group { // jobs alike in one way and in how they ended, a run
    const char *by, *name, *ending;
    double jobs, gpu_s, asked_gpu_s, useful_gpu_s;
    double wait_mean_s, wait_p50_s, wait_p95_s, wait_max_s;
    double completion_mean_s, completion_p50_s, completion_p95_s;
    double slowdown_mean, slowdown_p50, slowdown_p95;
};

struct sand_group_use { // jobs alike in one way, however they ended, a run
    const char *by, *name;
    double gpu_s, asked_gpu_s, useful_gpu_s, whole_gpu_s; // whole: capacity x window
};

struct sand_saves {
    struct sand_summary durable;   // a run
    struct sand_summary undurable; // a run: a fault or the end came first
    double interval_s, stall_s;    // means over all saves
    double to_durable_s;           // begin to durable, mean
    double share;                  // of the allocated GPU time
    // The job whose saves took the longest beyond the interval that its policy asked for, from
    // beginning to durable on average; NULL: none took as long.
    const char *slow_job;
    double slow_durable_s, slow_interval_s;
};

struct sand_overview {
    const struct sand_meta *meta;
    double duration_s;
    size_t n_runs, n_jobs, gpus_asked; // jobs and their GPUs: of the first run
    size_t fewest_jobs, most_jobs;     // of a run
    double mean_jobs, mean_gpus;       // a run
    int shares_nodes;                  // jobs of less than a node hold part of one
    double capacity_gpus;
    struct sand_summary mfu, mfu_alone, hfu, goodput_mfu, ettr_run, ettr_total;
    // Traffic on common links: what it cost, and what was asked to know it, a run.
    struct sand_summary neighbours_gpu_s, transfers_gpu_s, joint_questions, joint_known, joint_jobs;
    struct sand_summary unexpected, planned, dispersion, lost_gpu_s;
    struct sand_summary power_W, energy_J, tokens, token_energy_J;
    uint32_t first_run;              // number of the first replication
    struct sand_step_split *splits;  // by GPU time, most first
    size_t n_splits, n_untold;       // untold: training jobs beyond the thousand
    struct sand_time_class *classes; // allocated first, in the ledger's order
    size_t n_classes;
    double capacity_gpu_s, allocated_gpu_s;          // a run
    struct sand_fault_group *causes, *fault_classes; // by lost GPU time, most first
    size_t n_causes, n_fault_classes;
    struct sand_degradation_group *degradations; // by lost GPU time, most first
    size_t n_degradations;
    struct sand_recovery_times recovery[2]; // unexpected, planned
    struct sand_saves saves;
    struct sand_job_states states;
    struct sand_job_group *groups; // by kind, name and ending
    size_t n_groups;
    struct sand_group_use *uses; // by kind and name
    size_t n_uses;
    // Over capacity x window: GPU time held; of it useful on GPUs asked for, and not asked for;
    // class fragment; and what no job held on other nodes (idle, spare, down).
    struct sand_summary use, useful_use, unasked, fragment, jobless;
    double window_s; // first submit to last end, mean over runs
};

// Fills *overview from the results; texts and arrays live in `arena` or in the results. O(rows
// log).
enum sand_rc sand_overview_make(struct sand_results *results, struct sand_arena *arena,
                                struct sand_overview *overview, struct sand_diag *diag);

// Parts of it, in files of their own.
enum sand_rc sand_overview_time(const struct sand_rowset *rows, struct sand_arena *arena,
                                struct sand_overview *overview);
enum sand_rc sand_overview_steps(const struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_overview *overview);
enum sand_rc sand_overview_saves(const struct sand_rowset *rows, struct sand_arena *arena,
                                 struct sand_overview *overview);
enum sand_rc sand_overview_groups(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview);
enum sand_rc sand_overview_faults(const struct sand_rowset *rows, struct sand_arena *arena,
                                  struct sand_overview *overview);
enum sand_rc sand_overview_degradations(const struct sand_rowset *rows, struct sand_arena *arena,
                                        struct sand_overview *overview);

// Position of a replication among the runs, n_replications if it is none of them. O(1) when they
// are numbered without gaps.
size_t sand_run_index(const struct sand_rowset *rows, uint32_t replication);

#endif
