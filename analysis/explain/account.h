// A job's time, from submission to its end, split among its causes. Internal to analysis/explain.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_EXPLAIN_ACCOUNT_H
#define SAND_ANALYSIS_EXPLAIN_ACCOUNT_H

#include "diag.h"
#include "store.h"

// The tables an explanation reads, as arrays.
struct sand_explain_rows {
    const struct sand_jobs_row *jobs;
    const struct sand_attempts_row *attempts;
    const struct sand_incidents_row *incidents;
    const struct sand_degradations_row *degradations;
    const struct sand_neighbours_row *neighbours;
    const struct sand_checkpoints_row *checkpoints;
    const struct sand_steps_row *steps;
    const struct sand_links_row *links;
    const struct sand_decisions_row *decisions;
    size_t n_jobs, n_attempts, n_incidents, n_degradations, n_neighbours, n_checkpoints, n_steps,
        n_links, n_decisions;
};
enum sand_rc sand_explain_load(struct sand_results *results, struct sand_explain_rows *rows,
                               struct sand_diag *diag);

enum sand_account_part {
    SAND_ACCOUNT_QUEUE,      // submission to start
    SAND_ACCOUNT_HEALTHY,    // surviving steps, at the healthy step's time
    SAND_ACCOUNT_PLACEMENT,  // what its own nodes added to them
    SAND_ACCOUNT_NEIGHBOURS, // what ran beside it added to them
    SAND_ACCOUNT_FAULTS,     // what parts slow or gone since a fault added to them
    SAND_ACCOUNT_TRANSFERS,  // what saves, restores and data loading on its links did
    SAND_ACCOUNT_SAVES,      // training stood still for them
    SAND_ACCOUNT_LOST,       // whole steps executed and undone by a fault
    SAND_ACCOUNT_CUT,        // time in the step that a fault cut off
    SAND_ACCOUNT_DETECT,
    SAND_ACCOUNT_DIAGNOSE,
    SAND_ACCOUNT_WAIT,
    SAND_ACCOUNT_RESTART,
    SAND_ACCOUNT_RESTORE,
    SAND_ACCOUNT_UNDER_WAY, // the step not ended when the experiment did
    SAND_ACCOUNT_OTHER,     // not attributed: 0 in a file that is consistent
    SAND_ACCOUNT_PARTS
};

struct sand_account {
    int64_t observed_ns; // submission to end
    int64_t parts_ns[SAND_ACCOUNT_PARTS];
    // Of the steps that survived; per step in seconds, NaN without any.
    uint64_t survived;
    double step_s, healthy_s, placement_s, neighbours_s, faults_s, transfers_s;
};

// Integer nanoseconds throughout: the parts sum to observed_ns. O(rows).
void sand_account_make(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                       struct sand_account *account);

// Whether the job came to an end of its own: finished, ended failed, ended killed, ...
int sand_explain_ended(const struct sand_jobs_row *job);

// What the queue was like.
struct sand_queue_story {
    size_t n_running, n_ahead;         // at submission: running; submitted before, not started
    uint64_t gpus_running, gpus_ahead; // theirs: jobs may share nodes, never GPUs
    size_t n_started, n_overtook;      // while it waited; of these, submitted later
    const struct sand_jobs_row *freed; // the largest job that ended when it started, or NULL
};
void sand_queue_story_make(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                           struct sand_queue_story *story);

#endif
