// schedule/easy: its parameters by hand, the plug-in written by others against the ABI, and hosts
// that refuse.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "mockhost.h"
#include "rng.h"

static void expect(const struct sand_choice_param *params, size_t n_params, size_t n_nodes,
                   const struct mock_job *jobs, const int64_t *starts)
{
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_with("schedule/easy", NULL, params, n_params, &policy);
    mock_reset(&host, n_nodes, &policy);
    cr_assert_eq(mock_run(&host, jobs, 4, 1000), 0, "%s", host.message);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(host.start_s[i], starts[i], "job %c starts at %ld s, not %ld s", "ABCD"[i],
                     (long)host.start_s[i], (long)starts[i]);
    sand_policy_unbind(&policy);
}

// A runs until 10, when B takes three of the four nodes for 5 s; C wants all four. D would take the
// extra node from 1 to 21: B does not mind, C, which could start at 15, does.
Test(easy, a_second_reservation_holds_too)
{
    const struct mock_job jobs[] = {{2, 0, 10, 10}, {3, 1, 5, 5}, {4, 1, 5, 5}, {1, 1, 20, 20}};
    const struct sand_choice_param one = {.name = "reservation_depth", .text = "1"},
                                   two = {.name = "reservation_depth", .text = "2"};
    expect(&one, 1, 4, jobs, (const int64_t[]){0, 10, 21, 1});
    expect(&two, 1, 4, jobs, (const int64_t[]){0, 10, 15, 20});
}

// One node is idle until B starts at 10: C (8 s) or D (3 s), but not both.
Test(easy, the_shortest_request_may_go_first)
{
    const struct mock_job jobs[] = {{3, 0, 10, 10}, {4, 1, 1, 1}, {1, 1, 8, 8}, {1, 1, 3, 3}};
    const struct sand_choice_param submit = {.name = "order", .text = "submit"},
                                   shortest = {.name = "order", .text = "shortest"};
    expect(&submit, 1, 4, jobs, (const int64_t[]){0, 10, 1, 11});
    expect(&shortest, 1, 4, jobs, (const int64_t[]){0, 10, 11, 1});
}

// C asks for 2 nodes x 4 s, D for 1 x 6 s: D is longer and smaller. After D there is no time for C.
Test(easy, the_smallest_area_may_go_first)
{
    const struct mock_job jobs[] = {{2, 0, 10, 10}, {4, 1, 1, 1}, {2, 1, 4, 4}, {1, 1, 6, 6}};
    const struct sand_choice_param shortest = {.name = "order", .text = "shortest"},
                                   area = {.name = "order", .text = "smallest-area"};
    expect(&shortest, 1, 4, jobs, (const int64_t[]){0, 10, 1, 11});
    expect(&area, 1, 4, jobs, (const int64_t[]){0, 10, 11, 1});
}

// D would fit, but the only job looked at behind the head is C, which would run too long.
Test(easy, only_so_many_jobs_are_considered)
{
    const struct mock_job jobs[] = {{2, 0, 10, 10}, {4, 1, 5, 5}, {1, 1, 20, 20}, {1, 1, 3, 3}};
    const struct sand_choice_param one = {.name = "queue_depth", .text = "1"},
                                   two = {.name = "queue_depth", .text = "2"};
    expect(&one, 1, 4, jobs, (const int64_t[]){0, 10, 15, 15});
    expect(&two, 1, 4, jobs, (const int64_t[]){0, 10, 15, 1});
}

// A start that the place policy cannot grant is an answer: the head keeps its place and the next
// ones are tried in its extra nodes.
static int (*real_start)(const struct sandtable_host *, uint32_t);
static int no_place_for_b(const struct sandtable_host *host, uint32_t job)
{
    return job == 1 && host->now_ns(host) < 7000000000 ? 1 : real_start(host, job);
}

Test(easy, a_head_without_a_place_keeps_its_nodes)
{
    const struct mock_job jobs[] = {{1, 0, 9, 9}, {2, 1, 5, 5}, {1, 1, 1, 1}, {1, 7, 1, 1}};
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule("schedule/easy", NULL, &policy);
    mock_reset(&host, 4, &policy);
    real_start = host.table.start;
    host.table.start = no_place_for_b;
    cr_assert_eq(mock_run(&host, jobs, 4, 100), 0, "%s", host.message);
    const int64_t expected[] = {0, 7, 1, 7}; // of three idle nodes B is owed two; C has the third
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(host.start_s[i], expected[i], "job %zu: %ld", i, (long)host.start_s[i]);
    sand_policy_unbind(&policy);
}

// Requests from half the run time (then the job is over its time) to four times it, or none.
static void draw_requests(uint64_t seed, struct mock_job *jobs)
{
    const struct sand_rng rng = {seed, 1};
    for (uint64_t i = 0; i < MOCK_JOBS; i++) {
        const uint64_t draw = sand_rng_u64(rng, SAND_STREAM_TEST, i, 0) % 9;
        jobs[i].request_s = draw == 8 ? 0 : 1 + jobs[i].run_s * (int64_t)draw / 2;
    }
}

// The test's plug-in scans all jobs at every instant and shares no line with the built-in.
Test(easy, decides_as_the_plugin_that_scans_everything)
{
    struct sand_policy builtin, plugin;
    mock_bind_schedule("schedule/easy", NULL, &builtin);
    mock_bind_schedule("schedule/easy-by-abi", SAND_TEST_PLUGINS "/easy_by_abi.so", &plugin);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host a, b;
        mock_draw_jobs(seed, jobs);
        draw_requests(seed, jobs);
        mock_reset(&a, MOCK_NODES, &builtin);
        mock_reset(&b, MOCK_NODES, &plugin);
        cr_assert_eq(mock_run(&a, jobs, MOCK_JOBS, 5000), 0);
        cr_assert_eq(mock_run(&b, jobs, MOCK_JOBS, 5000), 0);
        for (size_t i = 0; i < MOCK_JOBS; i++)
            cr_assert_eq(a.start_s[i], b.start_s[i], "seed %lu: job %zu starts at %ld s, not %ld s",
                         (unsigned long)seed, i, (long)a.start_s[i], (long)b.start_s[i]);
    }
    sand_policy_unbind(&builtin);
    sand_policy_unbind(&plugin);
}

// Whatever the parameters and however wrong the requests: the machine is never overfilled, every
// job runs, and no job that fits in the whole idle machine is left waiting.
Test(easy, every_parameter_gives_a_possible_schedule)
{
    static const char *const orders[] = {"submit", "shortest", "smallest-area"};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char depth[2] = {(char)('1' + seed % 5), 0}, queue[2] = {(char)('0' + seed % 4), 0};
        const struct sand_choice_param params[] = {{.name = "order", .text = orders[seed % 3]},
                                                   {.name = "reservation_depth", .text = depth},
                                                   {.name = "queue_depth", .text = queue}};
        struct mock_job jobs[MOCK_JOBS];
        struct mock_host host;
        struct sand_policy policy;
        mock_bind_with("schedule/easy", NULL, params, 3, &policy);
        mock_draw_jobs(seed, jobs);
        draw_requests(seed, jobs);
        mock_reset(&host, MOCK_NODES, &policy);
        cr_assert_eq(mock_run(&host, jobs, MOCK_JOBS, 5000), 0, "%s", host.message);
        cr_assert_eq(host.n_queue, 0u, "seed %lu", (unsigned long)seed);
        cr_assert_eq(host.n_failures, 0u);
        sand_policy_unbind(&policy);
    }
}

static int refuse(const struct sandtable_host *host, uint32_t job)
{
    (void)job;
    return host->fail(host, "refused");
}

static int refuse_on(const struct sandtable_host *host, uint32_t job, const uint32_t *nodes,
                     size_t n)
{
    (void)nodes;
    (void)n;
    return refuse(host, job);
}

Test(easy, a_refused_start_is_passed_on_by_every_builtin)
{
    static const struct mock_job job = {1, 0, 1, 1};
    struct sand_policy policy;
    size_t n_seen = 0;
    for (size_t i = 0; sand_policy_builtin(i, &policy); i++) {
        if (policy.family != SAND_POLICY_SCHEDULE)
            continue;
        struct mock_host host;
        mock_reset(&host, 4, &policy);
        host.table.start = refuse;
        host.table.start_on = refuse_on;
        cr_assert_neq(mock_run(&host, &job, 1, 10), 0, "%s", policy.type);
        cr_assert_eq(host.n_failures, 1u, "%s asks %zu times", policy.type, host.n_failures);
        n_seen++;
    }
    cr_assert_geq(n_seen, 6u);
}
