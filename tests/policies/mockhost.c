// A host in miniature for policies under test.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "mockhost.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"
#include "units.h"

static struct mock_host *mock_of(const struct sandtable_host *host)
{
    return host->impl;
}

static int64_t mock_now(const struct sandtable_host *host)
{
    return mock_of(host)->now_ns;
}

static double mock_param(const struct sandtable_host *host, const char *name)
{
    return sand_policy_param(mock_of(host)->policy, name);
}

static int mock_fail(const struct sandtable_host *host, const char *message)
{
    struct mock_host *mock = mock_of(host);
    mock->n_failures++;
    snprintf(mock->message, sizeof mock->message, "%s", message);
    return -1;
}

static size_t mock_nodes(const struct sandtable_host *host, const struct sandtable_node **out)
{
    *out = mock_of(host)->nodes;
    return mock_of(host)->n_nodes;
}

static size_t mock_jobs(const struct sandtable_host *host, const struct sandtable_job **out)
{
    *out = mock_of(host)->jobs;
    return mock_of(host)->n_jobs;
}

static size_t mock_queue(const struct sandtable_host *host, const uint32_t **out)
{
    *out = mock_of(host)->queue;
    return mock_of(host)->n_queue;
}

static size_t queue_place(const struct mock_host *mock, uint32_t job)
{
    size_t i = 0;
    while (i < mock->n_queue && mock->queue[i] != job)
        i++;
    return i;
}

static size_t free_nodes(const struct mock_host *mock)
{
    size_t n = 0;
    for (size_t i = 0; i < mock->n_nodes; i++)
        n += mock->nodes[i].job == SANDTABLE_NONE;
    return n;
}

static void allocate(struct mock_host *mock, uint32_t job, uint32_t node)
{
    mock->nodes[node].job = job;
    mock->nodes[node].state = SANDTABLE_NODE_ALLOCATED;
    if (mock->first_node[job] == SANDTABLE_NONE)
        mock->first_node[job] = node;
}

static int start_on(const struct sandtable_host *host, uint32_t job, const uint32_t *nodes,
                    size_t n)
{
    struct mock_host *mock = mock_of(host);
    const size_t place = queue_place(mock, job);
    if (place == mock->n_queue)
        return mock_fail(host, "start: this job is not waiting");
    if (n != mock->jobs[job].n_nodes)
        return mock_fail(host, "start_on: another number of nodes");
    mock->first_node[job] = SANDTABLE_NONE;
    for (size_t i = 0; i < n; i++) {
        if (nodes[i] >= mock->n_nodes || mock->nodes[nodes[i]].job != SANDTABLE_NONE)
            return mock_fail(host, "start_on: this node is not idle");
        allocate(mock, job, nodes[i]);
    }
    memmove(&mock->queue[place], &mock->queue[place + 1],
            (mock->n_queue - place - 1) * sizeof mock->queue[0]);
    mock->n_queue--;
    mock->jobs[job].state = SANDTABLE_JOB_RUNNING;
    mock->jobs[job].start_ns = mock->now_ns;
    if (mock->jobs[job].walltime_ns >= 0)
        mock->jobs[job].end_ns = mock->now_ns + mock->jobs[job].walltime_ns;
    mock->start_s[job] = mock->now_ns / SAND_NS_PER_S;
    mock->end_s[job] += mock->start_s[job];
    return 0;
}

static int mock_start(const struct sandtable_host *host, uint32_t job)
{
    struct mock_host *mock = mock_of(host);
    uint32_t lowest[MOCK_NODES];
    size_t n = 0;
    if (queue_place(mock, job) == mock->n_queue)
        return mock_fail(host, "start: this job is not waiting");
    if (free_nodes(mock) < mock->jobs[job].n_nodes)
        return 1;
    for (uint32_t i = 0; n < mock->jobs[job].n_nodes; i++) {
        if (mock->nodes[i].job == SANDTABLE_NONE)
            lowest[n++] = i;
    }
    return start_on(host, job, lowest, n);
}

static const struct sandtable_job *mock_job(const struct sandtable_host *host, uint32_t job)
{
    return job < mock_of(host)->n_jobs ? &mock_of(host)->jobs[job] : NULL;
}

static size_t mock_free_nodes(const struct sandtable_host *host)
{
    return free_nodes(mock_of(host));
}

// As if all had started at once.
static int64_t mock_recorded_start_ns(const struct sandtable_host *host, uint32_t job)
{
    return mock_of(host)->jobs[job].submit_ns;
}

static int mock_fail_job(const struct sandtable_host *host, uint32_t job, const char *message)
{
    (void)job;
    return mock_fail(host, message);
}

static int mock_shares_nodes(const struct sandtable_host *host)
{
    (void)host;
    return 0; // nodes of one GPU each
}

static int mock_has_groups(const struct sandtable_host *host)
{
    (void)host;
    return 0;
}

static void mock_eligible(const struct sandtable_host *host, uint32_t job, uint32_t *first,
                          uint32_t *end)
{
    (void)job;
    *first = 0;
    *end = (uint32_t)mock_of(host)->n_nodes;
}

static int64_t mock_recorded_ns(const struct sandtable_host *host, uint32_t job)
{
    return mock_of(host)->run_s[job] * SAND_NS_PER_S;
}

static int mock_wake_at(const struct sandtable_host *host, int64_t date_ns)
{
    return date_ns > mock_of(host)->now_ns ? 0 : mock_fail(host, "wake_at: not after now");
}

void mock_reset(struct mock_host *host, size_t n_nodes, const struct sand_policy *policy)
{
    memset(host, 0, sizeof *host);
    host->policy = policy;
    host->n_nodes = n_nodes;
    for (uint32_t i = 0; i < n_nodes; i++)
        host->nodes[i] = (struct sandtable_node){.node = i, .job = SANDTABLE_NONE};
    host->table = (struct sandtable_host){.struct_size = sizeof host->table,
                                          .impl = host,
                                          .now_ns = mock_now,
                                          .param = mock_param,
                                          .fail = mock_fail,
                                          .nodes = mock_nodes,
                                          .jobs = mock_jobs,
                                          .queue = mock_queue,
                                          .start = mock_start,
                                          .wake_at = mock_wake_at,
                                          .job = mock_job,
                                          .free_nodes = mock_free_nodes,
                                          .recorded_ns = mock_recorded_ns,
                                          .start_on = start_on,
                                          .shares_nodes = mock_shares_nodes,
                                          .recorded_start_ns = mock_recorded_start_ns,
                                          .fail_job = mock_fail_job,
                                          .has_groups = mock_has_groups,
                                          .eligible = mock_eligible};
}

static void end_job(struct mock_host *host, uint32_t job)
{
    host->jobs[job].state = SANDTABLE_JOB_ENDED;
    for (size_t i = 0; i < host->n_nodes; i++) {
        if (host->nodes[i].job != job)
            continue;
        host->nodes[i].job = SANDTABLE_NONE;
        host->nodes[i].state = SANDTABLE_NODE_IDLE;
    }
}

// A running job whose request has run out ends in the next nanosecond, for all anyone knows.
static void move_overdue(struct mock_host *host)
{
    for (size_t i = 0; i < host->n_jobs; i++) {
        struct sandtable_job *job = &host->jobs[i];
        if (job->state == SANDTABLE_JOB_RUNNING && job->end_ns >= 0 && job->end_ns <= host->now_ns)
            job->end_ns = host->now_ns + 1;
    }
}

// Tells the policy; with each_event it also decides.
static int tell(struct mock_host *host, void *self, enum sandtable_event_kind kind, uint32_t job)
{
    const struct sandtable_schedule *schedule = host->policy->table.schedule;
    const struct sandtable_event event = {(uint32_t)kind, job, SANDTABLE_NONE, host->now_ns};
    const int rc = schedule->on_event != NULL ? schedule->on_event(self, &event) : 0;
    if (rc != 0 || !host->each_event)
        return rc;
    move_overdue(host);
    return schedule->decide(self);
}

// Ends first, then arrivals, as in the real host.
static int apply_events(struct mock_host *host, void *self, int *happened)
{
    int rc = 0;
    for (uint32_t job = 0; rc == 0 && job < host->n_jobs; job++) {
        if (host->jobs[job].state != SANDTABLE_JOB_RUNNING ||
            host->end_s[job] * SAND_NS_PER_S != host->now_ns)
            continue;
        end_job(host, job);
        rc = tell(host, self, SANDTABLE_EVENT_JOB_ENDED, job);
        *happened = 1;
    }
    for (uint32_t job = 0; rc == 0 && job < host->n_jobs; job++) {
        if (host->jobs[job].submit_ns != host->now_ns)
            continue;
        host->jobs[job].state = SANDTABLE_JOB_WAITING;
        host->queue[host->n_queue++] = job;
        rc = tell(host, self, SANDTABLE_EVENT_JOB_ARRIVED, job);
        *happened = 1;
    }
    return rc;
}

static void add_jobs(struct mock_host *host, const struct mock_job *jobs, size_t n_jobs)
{
    host->n_jobs = n_jobs;
    for (uint32_t i = 0; i < n_jobs; i++) {
        host->jobs[i] = (struct sandtable_job){
            .job = i,
            .n_nodes = jobs[i].n_nodes,
            .submit_ns = jobs[i].submit_s * SAND_NS_PER_S,
            .start_ns = -1,
            .walltime_ns = jobs[i].request_s > 0 ? jobs[i].request_s * SAND_NS_PER_S : -1,
            .end_ns = -1};
        host->run_s[i] = host->end_s[i] = jobs[i].run_s;
        host->start_s[i] = -1;
    }
}

int mock_run(struct mock_host *host, const struct mock_job *jobs, size_t n_jobs, int64_t horizon_s)
{
    const struct sandtable_schedule *schedule = host->policy->table.schedule;
    void *self = NULL;
    add_jobs(host, jobs, n_jobs);
    int rc = schedule->create(&host->table, &self);
    for (int64_t now_s = 0; rc == 0 && now_s <= horizon_s; now_s++) {
        int happened = 0;
        host->now_ns = now_s * SAND_NS_PER_S;
        rc = apply_events(host, self, &happened);
        move_overdue(host);
        if (rc == 0 && happened && !host->each_event)
            rc = schedule->decide(self);
    }
    schedule->destroy(self);
    return rc;
}

void mock_draw_jobs(uint64_t seed, struct mock_job *jobs)
{
    const struct sand_rng rng = {seed, 0};
    int64_t submit_s = 0;
    for (uint64_t i = 0; i < MOCK_JOBS; i++) {
        submit_s += (int64_t)(sand_rng_u64(rng, SAND_STREAM_TEST, i, 0) % 8);
        jobs[i] = (struct mock_job){
            (uint32_t)(1 + sand_rng_u64(rng, SAND_STREAM_TEST, i, 1) % 16), submit_s,
            (int64_t)(1 + sand_rng_u64(rng, SAND_STREAM_TEST, i, 2) % 20), 0};
    }
}

void mock_bind_with(const char *type, const char *plugin, const struct sand_choice_param *params,
                    size_t n_params, struct sand_policy *policy)
{
    const struct sand_choice choice = {
        .type = type, .plugin = plugin, .params = params, .n_params = n_params};
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_policy_bind(&choice, SAND_POLICY_SCHEDULE, policy, &diag);
    cr_assert_eq(rc, SAND_OK, "%s", diag.n_messages > 0 ? diag.messages[0].text : "");
}

void mock_bind_schedule(const char *type, const char *plugin, struct sand_policy *policy)
{
    mock_bind_with(type, plugin, NULL, 0, policy);
}
