// Schedule policies in the real replay: requests they are shown, a decision per instant or per
// event, starts on chosen nodes, and every built-in through faults and repairs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_schedule, .fini = forget, .timeout = 60);

static void add(const char *id, uint32_t n_nodes, int64_t submit_s, double work_s,
                double walltime_s)
{
    case_recorded(&c, id, n_nodes, submit_s, work_s)->walltime_s = walltime_s;
}

static void expect_starts(const int64_t *starts_s, size_t n)
{
    case_run_well(&c, &kept);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(ROWS(&kept, jobs)[i].start_ns, S(starts_s[i]), "%s starts at %ld ns",
                     ROWS(&kept, jobs)[i].id.text, (long)ROWS(&kept, jobs)[i].start_ns);
}

// The six jobs of tests/policies/test_six_jobs.c give the same in the real replay.
Test(replay_schedule, easy_on_six_jobs)
{
    case_set(&c, 5, 100);
    c.experiment.schedule.type = "schedule/easy";
    add("A", 2, 0, 5, 9);
    add("B", 4, 1, 2, 3);
    add("C", 2, 2, 1, 1);
    add("D", 3, 3, 4, 4);
    add("E", 2, 4, 6, 7);
    add("F", 1, 5, 6, 6);
    expect_starts((const int64_t[]){0, 7, 2, 3, 9, 5}, 6);
}

// A and B both end at 10, B long before its request. Together they let the head H start; between
// them, B still seems to run until 50, and F, which ends by then, takes A's node.
static void two_ends_at_once(void)
{
    case_set(&c, 2, 1000);
    c.experiment.schedule.type = "schedule/easy";
    add("A", 1, 0, 10, 10);
    add("B", 1, 0, 10, 50);
    add("H", 2, 1, 5, 5);
    add("F", 1, 2, 30, 30);
}

Test(replay_schedule, one_decision_for_all_events_of_an_instant)
{
    two_ends_at_once();
    expect_starts((const int64_t[]){0, 0, 10, 15}, 4);
}

Test(replay_schedule, or_one_after_each_event)
{
    two_ends_at_once();
    c.experiment.events = SAND_EVENTS_EACH;
    expect_starts((const int64_t[]){0, 0, 40, 10}, 4);
}

// The job runs past its request: from 10 on it counts as ending at once, and the filler F, which
// has an hour of idle nodes, may not pass the head.
Test(replay_schedule, an_overdue_job_is_expected_at_once)
{
    case_set(&c, 3, 1000);
    c.experiment.schedule = (struct sand_choice){.type = "schedule/easy-by-abi",
                                                 .plugin = SAND_TEST_PLUGINS "/easy_by_abi.so"};
    add("A", 2, 0, 40, 10);
    add("H", 3, 1, 5, 5);
    add("F", 1, 20, 3, 3);
    expect_starts((const int64_t[]){0, 40, 45}, 3);
}

// The plug-in compares every view with the header's words at every decision: jobs before, at and
// past their requests, one that requested nothing, spares that are no idle nodes.
Test(replay_schedule, views_are_what_the_header_says)
{
    case_set(&c, 4, 1000);
    c.experiment.hot_spares = 1;
    c.experiment.schedule = (struct sand_choice){.type = "schedule/checks-views",
                                                 .plugin = SAND_TEST_PLUGINS "/checks_views.so"};
    add("a", 1, 0, 40, 10);
    add("b", 1, 5, 5, 5);
    add("c", 1, 6, 50, 0);
    add("d", 3, 10, 5, 7);
    add("e", 1, 30, 1, 100);
    expect_starts((const int64_t[]){0, 5, 6, 56, 61}, 5);
}

// ---- starts on chosen nodes ---------------------------------------------------------------------

struct misuse {
    char name[32], file[32], says[64];
};

ParameterizedTestParameters(replay_schedule, chosen_nodes_are_checked)
{
    static struct misuse cases[] = {
        {"starts-on-nowhere", "starts_on_nowhere", "node 4096; the cluster has nodes 0 to 3"},
        {"starts-on-repeats", "starts_on_repeats", "node 1 twice"},
        {"starts-on-too-few", "starts_on_too_few", "on 1 nodes; it asks for 2"},
        {"starts-on-taken", "starts_on_taken", "\"b\" node 0, which is not among the allowed"}};
    return cr_make_param_array(struct misuse, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct misuse *misuse, replay_schedule, chosen_nodes_are_checked)
{
    char type[64], path[512];
    struct sand_diag diag = {0};
    snprintf(type, sizeof type, "schedule/%s", misuse->name);
    snprintf(path, sizeof path, "%s/%s.so", SAND_TEST_PLUGINS, misuse->file);
    case_set(&c, 4, 1000);
    c.experiment.schedule = (struct sand_choice){.type = type, .plugin = path};
    add("a", 2, 0, 10, 10);
    add("b", 2, 5, 10, 10);
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_PLUGIN);
    cr_assert_gt(diag.n_messages, 0u);
    cr_assert_not_null(strstr(diag.messages[0].text, misuse->says), "%s", diag.messages[0].text);
    cr_assert_not_null(strstr(diag.messages[0].text, type), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

// ---- faults -------------------------------------------------------------------------------------

struct builtin {
    char type[48];
};

ParameterizedTestParameters(replay_schedule, goes_on_through_faults_and_repairs)
{
    static struct builtin cases[] = {{"schedule/fifo"},
                                     {"schedule/easy"},
                                     {"schedule/easy-nodes"},
                                     {"schedule/easy-no-extra"},
                                     {"schedule/easy-counted-cqsim"},
                                     {"schedule/conservative-cqsim"}};
    return cr_make_param_array(struct builtin, cases, sizeof cases / sizeof cases[0]);
}

// Nodes leave for repair and are replaced by spares or idle nodes while jobs wait, overrun their
// requests and overtake: every job must end, the books must balance (case_run_well).
ParameterizedTest(struct builtin *builtin, replay_schedule, goes_on_through_faults_and_repairs)
{
    enum { N = 8 };
    case_set(&c, 8, 40000);
    c.experiment.hot_spares = 1;
    c.experiment.schedule.type = builtin->type;
    case_fault(&c, "gpu", 1200, SAND_REMEDY_REPLACE, 5, 5, 10, 300);
    static const uint32_t nodes[N] = {3, 5, 2, 1, 7, 1, 4, 2};
    static const char *const ids[N] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < N; i++) {
        struct sand_job_spec *job = case_job(&c, ids[i], nodes[i], 20 * i, 10, 60);
        job->walltime_s = i % 3 == 2 ? 0 : 500 + 100 * i;
        case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, 1, 0);
        job->checkpoint.restore_s = 1;
    }
    case_run_well(&c, &kept);
    cr_assert_gt(N_ROWS(&kept, incidents), 3);
    for (int i = 0; i < N; i++)
        cr_assert_str_eq(ROWS(&kept, jobs)[i].state.text, "finished", "%s: %s", builtin->type,
                         ids[i]);
}
