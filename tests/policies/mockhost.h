// A host in miniature for policies under test: whole seconds, first-fit nodes, recorded durations.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_POLICIES_MOCKHOST_H
#define SAND_TESTS_POLICIES_MOCKHOST_H

#include "policyhost.h"

enum { MOCK_NODES = 16, MOCK_JOBS = 64 };

struct mock_job {
    uint32_t n_nodes;
    int64_t submit_s, run_s;
    int64_t request_s; // 0: nothing requested
};

// Zeroed by mock_reset(); set `each_event` after it for a decision after every event. `start_s` and
// `first_node` are what the schedule decided.
struct mock_host {
    struct sandtable_host table;
    const struct sand_policy *policy; // whose parameters are asked for
    int64_t now_ns;
    int each_event;
    struct sandtable_node nodes[MOCK_NODES];
    size_t n_nodes;
    struct sandtable_job jobs[MOCK_JOBS];
    int64_t run_s[MOCK_JOBS];
    int64_t end_s[MOCK_JOBS];
    int64_t start_s[MOCK_JOBS];
    uint32_t first_node[MOCK_JOBS];
    size_t n_jobs;
    uint32_t queue[MOCK_JOBS];
    size_t n_queue;
    size_t n_failures;
    char message[256]; // of the last failure
};

void mock_reset(struct mock_host *host, size_t n_nodes, const struct sand_policy *policy);

// Runs the jobs (in submit order) under a schedule policy until `horizon_s`. Returns what the
// policy's last call returned; stops at the first that is not 0.
int mock_run(struct mock_host *host, const struct mock_job *jobs, size_t n_jobs, int64_t horizon_s);

// Draws MOCK_JOBS jobs of 1 to 16 nodes and 1 to 20 s, in submit order, without requests.
void mock_draw_jobs(uint64_t seed, struct mock_job *jobs);

// Binds a schedule policy without parameters; `plugin` may be NULL. Fails the test if it cannot.
void mock_bind_schedule(const char *type, const char *plugin, struct sand_policy *policy);
void mock_bind_with(const char *type, const char *plugin, const struct sand_choice_param *params,
                    size_t n_params, struct sand_policy *policy);

#endif
