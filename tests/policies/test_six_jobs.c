// Six jobs on five nodes, worked by hand for every policy: no two of them agree.
// SPDX-License-Identifier: GPL-2.0-or-later
//
//        A  B  C  D  E  F
// nodes  2  4  2  3  2  1
// submit 0  1  2  3  4  5
// run    5  2  1  4  6  6
// asks   9  3  1  4  7  6
//
// fifo: A 0-5. B needs four nodes and blocks all until 5; C does not fit beside it. At 7 C and D
// start, at 8 E takes C's two nodes, at 11 F one of D's.
// easy: at 1 B is to start when A's request ends, at 9; one node is extra. C (until 3) and D (until
// 7) end before. At 5 A has ended early: B is to start at 7, one node extra. E would run until 12
// and needs two; F takes the extra one. At 7 B starts, at 9 E.
// easy-nodes: the same until 5, where B's reservation at 7 holds nodes 0 to 3 and nodes 0 and 1 are
// idle: no node for F, which runs past 7. At 7 B starts on 0 to 3; E is the head and, until B's
// request ends at 10, is to have 0 and 1; F may have 4.
// easy-no-extra: B's shadow time stays at 9 though A ends at 5, and nobody may run past it: E
// (until 12) and F (until 11) wait. At 7 B starts and E becomes the head with shadow time 10, which
// F would pass. At 9 both start. easy-counted-cqsim: A will end at 5, so that is B's date at once,
// and one node is extra: C ends before it, D (three nodes until 7) does not, nor does E. At 5 A's
// end alone lets B start; then F arrives, finds one node idle and one extra beside D's date, 7. At
// 7 D starts, at 11 D and F end and E starts. conservative-cqsim: B has 5-7, C fits before it. D
// gets 7-11 beside nothing, E 7-13 beside D. At 5 B starts; F (six seconds, one node) would need a
// node at 7, where D and E have all: it gets 11.
// recorded (the record has every job start when it is submitted; the machine is smaller): with
// when_full="wait" C and D start when due, B holds nobody up, E takes A's nodes at 5, F one of D's
// at 7, and B finds four nodes at 11; without it the run ends at B.
#include <criterion/criterion.h>
#include <string.h>

#include "mockhost.h"

static const struct mock_job six[] = {{2, 0, 5, 9}, {4, 1, 2, 3}, {2, 2, 1, 1},
                                      {3, 3, 4, 4}, {2, 4, 6, 7}, {1, 5, 6, 6}};

static void expect(const char *type, int each_event, const int64_t starts[6])
{
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_schedule(type, NULL, &policy);
    mock_reset(&host, 5, &policy);
    host.each_event = each_event;
    cr_assert_eq(mock_run(&host, six, 6, 30), 0, "%s: %s", type, host.message);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(host.start_s[i], starts[i], "%s: %c starts at %ld s, not %ld s", type,
                     "ABCDEF"[i], (long)host.start_s[i], (long)starts[i]);
    cr_assert_eq(host.n_failures, 0u);
    sand_policy_unbind(&policy);
}

Test(six_jobs, fifo)
{
    expect("schedule/fifo", 0, (const int64_t[]){0, 5, 7, 7, 8, 11});
}

Test(six_jobs, easy)
{
    expect("schedule/easy", 0, (const int64_t[]){0, 7, 2, 3, 9, 5});
}

Test(six_jobs, easy_nodes)
{
    expect("schedule/easy-nodes", 0, (const int64_t[]){0, 7, 2, 3, 9, 7});
}

Test(six_jobs, easy_no_extra)
{
    expect("schedule/easy-no-extra", 0, (const int64_t[]){0, 7, 2, 3, 9, 9});
}

Test(six_jobs, easy_counted_cqsim)
{
    expect("schedule/easy-counted-cqsim", 1, (const int64_t[]){0, 5, 2, 7, 11, 5});
}

Test(six_jobs, conservative_cqsim)
{
    expect("schedule/conservative-cqsim", 1, (const int64_t[]){0, 5, 2, 7, 7, 11});
}

Test(six_jobs, recorded)
{
    const struct sand_choice_param wait = {.name = "when_full", .text = "wait"};
    const int64_t starts[] = {0, 11, 2, 3, 5, 7};
    struct sand_policy policy;
    struct mock_host host;
    mock_bind_with("schedule/recorded", NULL, &wait, 1, &policy);
    mock_reset(&host, 5, &policy);
    cr_assert_eq(mock_run(&host, six, 6, 30), 0, "%s", host.message);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(host.start_s[i], starts[i], "%c starts at %ld s", "ABCDEF"[i],
                     (long)host.start_s[i]);
    sand_policy_unbind(&policy);
    mock_bind_schedule("schedule/recorded", NULL, &policy);
    mock_reset(&host, 5, &policy);
    cr_assert_neq(mock_run(&host, six, 6, 30), 0);
    cr_assert_not_null(strstr(host.message, "cannot start now, as recorded"), "%s", host.message);
    sand_policy_unbind(&policy);
}
