// The ABI offers what EASY backfilling needs: hand-computed schedules of a policy that uses it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "mockhost.h"

static void expect_starts(size_t n_nodes, const struct mock_job *jobs, size_t n_jobs,
                          const int64_t *expected)
{
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule("schedule/easy-by-abi", SAND_TEST_PLUGINS "/easy_by_abi.so", &policy);
    mock_reset(&host, n_nodes, &policy);
    cr_assert_eq(mock_run(&host, jobs, n_jobs, 1000), 0, "%s", host.message);
    for (size_t i = 0; i < n_jobs; i++)
        cr_assert_eq(host.start_s[i], expected[i], "job %zu starts at %ld s, not %ld s", i,
                     (long)host.start_s[i], (long)expected[i]);
    sand_policy_unbind(&policy);
}

// Four nodes; the head B (all four) gets the shadow time 10 s, when A's request ends. C ends
// exactly then and starts; D would end a second later and waits for B.
Test(backfill, a_job_that_ends_by_the_shadow_time_starts)
{
    const struct mock_job jobs[] = {{2, 0, 10, 10}, {4, 0, 5, 5}, {1, 1, 9, 9}, {1, 1, 10, 10}};
    expect_starts(4, jobs, 4, (const int64_t[]){0, 10, 1, 15});
}

// Five nodes; B needs four at 10 s, so one is extra: D takes it however long it runs, E may not.
Test(backfill, extra_nodes_go_to_long_jobs_once)
{
    const struct mock_job jobs[] = {
        {2, 0, 10, 10}, {4, 0, 5, 5}, {1, 0, 100, 100}, {1, 0, 100, 100}};
    expect_starts(5, jobs, 4, (const int64_t[]){0, 10, 0, 15});
}

// A asks for 20 s and runs 10: C (15 s) fits before the shadow time of then; B starts when C ends.
Test(backfill, the_reservation_follows_the_request_not_the_run)
{
    const struct mock_job jobs[] = {{2, 0, 10, 20}, {4, 0, 5, 5}, {2, 0, 15, 15}};
    expect_starts(4, jobs, 3, (const int64_t[]){0, 15, 0});
}

// A runs past its request: from 10 s on it counts as ending at once, so nothing overtakes B.
Test(backfill, a_job_past_its_request_holds_the_reservation_at_now)
{
    const struct mock_job jobs[] = {{2, 0, 30, 10}, {4, 0, 5, 5}, {1, 12, 3, 3}};
    expect_starts(4, jobs, 3, (const int64_t[]){0, 30, 35});
}

// Without requests nobody can promise to be out of the way: EASY is then FIFO, to the second.
Test(backfill, without_requests_it_is_fifo)
{
    struct sand_policy fifo, easy;
    mock_bind_schedule("schedule/fifo", NULL, &fifo);
    mock_bind_schedule("schedule/easy-by-abi", SAND_TEST_PLUGINS "/easy_by_abi.so", &easy);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host a, b;
        mock_draw_jobs(seed, jobs);
        mock_reset(&a, MOCK_NODES, &fifo);
        mock_reset(&b, MOCK_NODES, &easy);
        cr_assert_eq(mock_run(&a, jobs, MOCK_JOBS, 5000), 0);
        cr_assert_eq(mock_run(&b, jobs, MOCK_JOBS, 5000), 0);
        for (size_t i = 0; i < MOCK_JOBS; i++)
            cr_assert_eq(a.start_s[i], b.start_s[i]);
    }
    sand_policy_unbind(&fifo);
    sand_policy_unbind(&easy);
}

// With exact requests a job's start is never later than under FIFO for the first that had to wait.
Test(backfill, exact_requests_never_delay_the_first_head)
{
    struct sand_policy fifo, easy;
    size_t n_earlier = 0;
    mock_bind_schedule("schedule/fifo", NULL, &fifo);
    mock_bind_schedule("schedule/easy-by-abi", SAND_TEST_PLUGINS "/easy_by_abi.so", &easy);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host a, b;
        mock_draw_jobs(seed, jobs);
        for (size_t i = 0; i < MOCK_JOBS; i++)
            jobs[i].request_s = jobs[i].run_s;
        mock_reset(&a, MOCK_NODES, &fifo);
        mock_reset(&b, MOCK_NODES, &easy);
        cr_assert_eq(mock_run(&a, jobs, MOCK_JOBS, 5000), 0);
        cr_assert_eq(mock_run(&b, jobs, MOCK_JOBS, 5000), 0);
        size_t first = 0;
        while (first + 1 < MOCK_JOBS && a.start_s[first] == jobs[first].submit_s)
            first++;
        cr_assert_leq(b.start_s[first], a.start_s[first]);
        for (size_t i = 0; i < MOCK_JOBS; i++)
            n_earlier += b.start_s[i] < a.start_s[i];
    }
    cr_assert_gt(n_earlier, 100u); // and it does backfill
    sand_policy_unbind(&fifo);
    sand_policy_unbind(&easy);
}
