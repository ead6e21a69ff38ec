// schedule/fifo by hand, by property, and against the example plug-in that repeats its decisions.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "mockhost.h"

// Four nodes. A takes two for 10 s; B wants all four and must wait for A; C would fit beside A but
// may not overtake B.
Test(fifo, the_head_blocks_all_behind_it)
{
    const struct mock_job jobs[] = {{2, 0, 10, 0}, {4, 0, 5, 0}, {1, 1, 1, 0}, {2, 3, 4, 0}};
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule("schedule/fifo", NULL, &policy);
    mock_reset(&host, 4, &policy);
    cr_assert_eq(mock_run(&host, jobs, 4, 100), 0);
    const int64_t expected[] = {0, 10, 15, 15}; // C and D start together: as many as fit
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(host.start_s[i], expected[i], "job %zu starts at %ld s", i,
                     (long)host.start_s[i]);
    cr_assert_eq(host.n_failures, 0u);
    sand_policy_unbind(&policy);
}

// Nodes in use by jobs 0..last (all started) just after the events of second t.
static uint32_t used_at(const struct mock_job *jobs, const struct mock_host *host, size_t last,
                        int64_t t)
{
    uint32_t used = 0;
    for (size_t i = 0; i <= last; i++) {
        if (host->start_s[i] <= t && t < host->start_s[i] + jobs[i].run_s)
            used += jobs[i].n_nodes;
    }
    return used;
}

// What defines strict FIFO: starts follow the submit order, never overfill, and no job waits for a
// second in which it was the head and fitted.
Test(fifo, starts_in_order_and_as_early_as_order_allows)
{
    struct sand_policy policy;
    mock_bind_schedule("schedule/fifo", NULL, &policy);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host host;
        mock_draw_jobs(seed, jobs);
        mock_reset(&host, MOCK_NODES, &policy);
        cr_assert_eq(mock_run(&host, jobs, MOCK_JOBS, 5000), 0);
        for (size_t i = 0; i < MOCK_JOBS; i++) {
            const int64_t start = host.start_s[i];
            const int64_t head = i == 0 || host.start_s[i - 1] < jobs[i].submit_s
                                     ? jobs[i].submit_s
                                     : host.start_s[i - 1];
            cr_assert_geq(start, head, "seed %lu job %zu", (unsigned long)seed, i);
            cr_assert_leq(used_at(jobs, &host, i, start), (uint32_t)MOCK_NODES);
            if (i > 0 && start > head)
                cr_assert_gt(used_at(jobs, &host, i - 1, start - 1) + jobs[i].n_nodes,
                             (uint32_t)MOCK_NODES, "seed %lu job %zu waited idly",
                             (unsigned long)seed, i);
        }
    }
    sand_policy_unbind(&policy);
}

Test(fifo, the_example_plugin_decides_exactly_as_the_builtin)
{
    struct sand_policy builtin, example;
    mock_bind_schedule("schedule/fifo", NULL, &builtin);
    mock_bind_schedule("schedule/example-fifo", SAND_TEST_PLUGINS "/example_fifo.so", &example);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host a, b;
        mock_draw_jobs(seed, jobs);
        mock_reset(&a, MOCK_NODES, &builtin);
        mock_reset(&b, MOCK_NODES, &example);
        cr_assert_eq(mock_run(&a, jobs, MOCK_JOBS, 5000), 0);
        cr_assert_eq(mock_run(&b, jobs, MOCK_JOBS, 5000), 0);
        for (size_t i = 0; i < MOCK_JOBS; i++) {
            cr_assert_geq(a.start_s[i], 0);
            cr_assert_eq(a.start_s[i], b.start_s[i]);
            cr_assert_eq(a.first_node[i], b.first_node[i]);
        }
    }
    sand_policy_unbind(&builtin);
    sand_policy_unbind(&example);
}

static int refuse_start(const struct sandtable_host *host, uint32_t job)
{
    (void)job;
    return host->fail(host, "refused");
}

Test(fifo, a_start_the_host_refuses_is_passed_on)
{
    const struct mock_job job = {1, 0, 1, 0};
    struct sand_policy policies[2];
    mock_bind_schedule("schedule/fifo", NULL, &policies[0]);
    mock_bind_schedule("schedule/example-fifo", SAND_TEST_PLUGINS "/example_fifo.so", &policies[1]);
    for (size_t i = 0; i < 2; i++) {
        struct mock_host host;
        mock_reset(&host, 4, &policies[i]);
        host.table.start = refuse_start;
        cr_assert_neq(mock_run(&host, &job, 1, 10), 0);
        cr_assert_eq(host.n_failures, 1u); // not asked again
        sand_policy_unbind(&policies[i]);
    }
}

// The policy printed in docs/formats/policy.md: C (1 node) overtakes B, which has to wait for A.
Test(fifo, the_policy_of_the_format_page_lets_small_jobs_overtake)
{
    const struct mock_job jobs[] = {{2, 0, 10, 0}, {4, 0, 5, 0}, {1, 1, 1, 0}, {2, 3, 4, 0}};
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule("schedule/all-that-fit", SAND_TEST_PLUGINS "/all_that_fit.so", &policy);
    mock_reset(&host, 4, &policy);
    cr_assert_eq(mock_run(&host, jobs, 4, 100), 0);
    const int64_t expected[] = {0, 10, 1, 3};
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(host.start_s[i], expected[i], "job %zu starts at %ld s", i,
                     (long)host.start_s[i]);
    sand_policy_unbind(&policy);
}

Test(fifo, a_refused_call_ends_the_policy)
{
    const struct mock_job job = {1, 0, 1, 0};
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule("schedule/starts-twice", SAND_TEST_PLUGINS "/starts_twice.so", &policy);
    mock_reset(&host, 4, &policy);
    cr_assert_neq(mock_run(&host, &job, 1, 10), 0);
    cr_assert_str_eq(host.message, "start: this job is not waiting");
    sand_policy_unbind(&policy);
}
