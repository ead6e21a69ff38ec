// Reading a published schedule and comparing one with the replay's.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schedulecheck.h"

#define HEAD "job_id,submit_s,nodes,runtime_s,walltime_s,start_s\n"

static char path[64];
static struct sand_schedule_trace trace;
static struct sand_diag diag;

static void forget(void)
{
    sand_schedule_clear(&trace);
    sand_diag_clear(&diag);
    if (path[0])
        unlink(path);
}

TestSuite(schedule_check, .fini = forget, .timeout = 60);

static void put(const char *text)
{
    snprintf(path, sizeof path, "/tmp/sand-schedule-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static enum sand_rc read_it(const char *columns, uint32_t nodes)
{
    return sand_schedule_read(path, columns, nodes, &trace, &diag);
}

// Submits from the first on, run cut to the request, starts in the file's own time and to the last
// digit even where the printed start lies before the submit.
Test(schedule_check, reads_rows_as_they_stand)
{
    put(HEAD "x,100.0000005,2,30,20,100\ny,103.25,1,7,,104.5\n");
    cr_assert_eq(read_it(NULL, 4), SAND_OK);
    cr_assert_eq(trace.n, 2u);
    cr_assert_float_eq(trace.first_submit_s, 100.0000005, 1e-12);
    cr_assert_str_eq(trace.rows[0].id, "x");
    cr_assert_eq(trace.rows[0].line, 2);
    cr_assert_eq(trace.rows[0].nodes, 2u);
    cr_assert_eq(trace.rows[0].run_ns, 20000000000);
    cr_assert_eq(trace.rows[0].request_ns, 20000000000);
    cr_assert_eq(trace.rows[0].start_s, 100.0);
    cr_assert_eq(trace.rows[1].submit_ns, 3249999500);
    cr_assert_eq(trace.rows[1].run_ns, 7000000000);
    cr_assert_eq(trace.rows[1].request_ns, -1);
    cr_assert_eq(trace.rows[1].start_s, 104.5);
}

// A schedule without one of its jobs is another schedule: nothing is dropped in silence.
Test(schedule_check, refuses_rows_that_the_importer_would_drop_or_change)
{
    put(HEAD "x,0,2,30,20,0\ny,1,5,7,7,1\nz,2,1.5,7,7,2\nw,3,1,-1,7,3\n");
    cr_assert_eq(read_it(NULL, 4), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_errors, 3u);
    int lines[6] = {0};
    for (size_t i = 0; i < diag.n_messages; i++) {
        cr_assert_str_eq(diag.messages[i].file, path);
        cr_assert(diag.messages[i].line >= 3 && diag.messages[i].line <= 5);
        lines[diag.messages[i].line]++;
    }
    cr_assert(lines[3] == 1 && lines[4] == 1 && lines[5] == 1);
}

Test(schedule_check, running_out_of_memory_is_told_and_leaves_nothing)
{
    put(HEAD "x,0,2,30,20,0\ny,1,1,7,7,1\n");
    enum sand_rc rc = SAND_ERR_NOMEM;
    uint64_t n = 0;
    for (; rc != SAND_OK && n < 500; n++) {
        sand_mem_fail_at(n + 1);
        rc = read_it(NULL, 4);
        sand_mem_fail_at(0);
        cr_assert(rc == SAND_OK || rc == SAND_ERR_NOMEM, "allocation %lu: %s", (unsigned long)n + 1,
                  sand_rc_text(rc));
        if (rc != SAND_OK)
            sand_schedule_clear(&trace);
    }
    cr_assert_gt(n, 3u);
    cr_assert_eq(rc, SAND_OK);
}

// Two nodes, strict queue order: b waits for a, c for b. The file has c too early and b half a
// millisecond late, which is the same.
Test(schedule_check, counts_the_starts_that_differ)
{
    put(HEAD "a,50,2,10,10,50\nb,51,2,10,10,60.0005\nc,52,1,5,5,69\nd,53,1,5,5,70\n");
    cr_assert_eq(read_it(NULL, 2), SAND_OK);
    const struct sand_schedule_check check = {
        .n_nodes = 2, .policy.type = "schedule/fifo", .tolerance_s = 1e-3};
    struct sand_schedule_report report;
    cr_assert_eq(sand_schedule_compare(&trace, &check, &report, &diag), SAND_OK);
    cr_assert_eq(report.n_differ, 1u);
    cr_assert_str_eq(report.first[0].row->id, "c");
    cr_assert_float_eq(report.first[0].start_s, 70, 1e-9);
    cr_assert_float_eq(report.mean_wait_s, (0 + 9 + 18 + 17) / 4.0, 1e-9);
    cr_assert_float_eq(report.file_mean_wait_s, (0 + 9.0005 + 17 + 17) / 4.0, 1e-9);
    cr_assert_eq(diag.n_messages, 0u);
}

// The replay's end has to lie behind every job, whatever the policy.
Test(schedule_check, refuses_run_times_that_no_clock_holds)
{
    put(HEAD "a,0,1,9000000000,9000000000,0\nb,0,1,9000000000,9000000000,0\n");
    cr_assert_eq(read_it(NULL, 2), SAND_OK);
    const struct sand_schedule_check check = {.n_nodes = 2, .policy.type = "schedule/fifo"};
    struct sand_schedule_report report;
    cr_assert_eq(sand_schedule_compare(&trace, &check, &report, &diag), SAND_ERR_INPUT);
    cr_assert_not_null(strstr(diag.messages[0].text, "292 years"));
}

// SimGrid's clock is a double; after 190 years it still has to meet the agenda's dates.
Test(schedule_check, centuries_of_work_can_be_replayed)
{
    put(HEAD "a,0,1,3000000000,3000000000,0\nb,0,1,3000000000,3000000000,3000000000\n"
             "c,0.1,1,0.7,1,6000000000\n");
    cr_assert_eq(read_it(NULL, 1), SAND_OK);
    const struct sand_schedule_check check = {
        .n_nodes = 1, .policy.type = "schedule/fifo", .tolerance_s = 1e-3};
    struct sand_schedule_report report;
    const enum sand_rc rc = sand_schedule_compare(&trace, &check, &report, &diag);
    cr_assert_eq(rc, SAND_OK, "%s", diag.n_messages ? diag.messages[0].text : "");
    cr_assert_eq(report.n_differ, 0u);
}
