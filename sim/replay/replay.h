// One replication of an experiment: days of cluster life on SimGrid's clock.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_REPLAY_H
#define SAND_SIM_REPLAY_REPLAY_H

#include <stdint.h>

#include "diag.h"
#include "experiment.h"
#include "jobsource.h"
#include "oracle.h"
#include "results.h"

struct sand_replay_options {
    uint32_t replication;
    // Called now and then with the simulated date; may be NULL.
    void (*progress)(void *self, int64_t now_ns, int64_t duration_ns);
    void *progress_self;
    const struct sand_job_source *source; // NULL: the experiment's own jobs are all
    double policy_limit_s;                // CPU time a policy's call may take; 0: a minute
    const char *scratch;                  // directory for temporary files; NULL: $TMPDIR or /tmp
};

// Runs to the experiment's end and emits every row into `sink`. Uses the process's one engine.
// SAND_ERR_UNIT when a job is left waiting for something that cannot come (the message names who
// waits for whom), SAND_ERR_PLUGIN when a policy fails. Deterministic in (experiment, jobs,
// replication). Memory: that of the jobs that wait or run at one time, and of the incidents.
enum sand_rc sand_replay_run(const struct sand_experiment *experiment, struct sand_oracle *oracle,
                             const struct sand_replay_options *options,
                             const struct sand_sink *sink, struct sand_diag *diag);

#endif
