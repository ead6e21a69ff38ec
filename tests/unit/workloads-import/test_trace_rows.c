// Rows of SWF and CSV: every quirk is reported on its line with its reason and nothing else is; the
// values of good rows; what the caller's options change.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "tracefixture.h"

#define S INT64_C(1000000000)

static enum sand_trace_reason reason_named(const char *name, size_t length)
{
    for (int i = 0; i < SAND_TRACE_REASON_COUNT; i++) {
        const char *candidate = sand_trace_reason_name(i);
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0)
            return i;
    }
    return SAND_TRACE_REASON_COUNT;
}

// The reasons heard of a line, as bits.
static uint32_t heard_of(const struct reading *reading, long line)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < reading->n_heard; i++)
        if (reading->heard[i].line == line)
            bits |= (uint32_t)1 << reading->heard[i].reason;
    return bits;
}

// The words of `text` that are names of reasons.
static uint32_t named_in(const char *text)
{
    uint32_t bits = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " ,\n");
        enum sand_trace_reason reason = reason_named(text, length);
        if (reason != SAND_TRACE_REASON_COUNT)
            bits |= (uint32_t)1 << reason;
        text += length + (text[length] != '\0');
    }
    return bits;
}

static FILE *open_data(const char *name)
{
    FILE *in = fopen(data_path(name), "r");
    cr_assert_not_null(in);
    return in;
}

Test(trace_rows, every_quirk_of_swf_is_reported_on_its_line)
{
    struct reading reading = read_trace(data_path("quirks.swf"), SAND_TRACE_SWF, NULL);
    cr_assert_eq(reading.rc, SAND_OK);
    FILE *in = open_data("quirks.swf");
    char text[512], expected[512] = "";
    int checked = 0;
    uint32_t seen = 0;
    for (long line = 1; fgets(text, sizeof text, in); line++) {
        if (strncmp(text, "; expect:", 9) == 0) {
            snprintf(expected, sizeof expected, "%s", text + 9);
        } else if (*text != ';' && *text != '\n') {
            cr_assert_eq(heard_of(&reading, line), named_in(expected), "line %ld: %x, expected %s",
                         line, heard_of(&reading, line), expected);
            seen |= named_in(expected);
            checked++;
        }
    }
    fclose(in);
    cr_assert_eq((uint64_t)checked, reading.report.rows);
    cr_assert_eq(reading.report.kept + reading.report.dropped, reading.report.rows);
    cr_assert_eq(reading.n, reading.report.kept);
    // The corpus has every reason that SWF and default options can give.
    cr_assert_eq(__builtin_popcount(seen), 19);
    reading_clear(&reading);
}

Test(trace_rows, every_quirk_of_csv_is_reported_on_its_line)
{
    struct sand_trace_options options = quirks_options();
    struct reading reading = read_trace(data_path("quirks.csv"), SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.rc, SAND_OK);
    FILE *in = open_data("quirks.csv");
    char text[512], previous[512] = "";
    for (long line = 1; fgets(text, sizeof text, in); line++) {
        uint32_t expected = named_in(text);
        if (strncmp(text, "a20,", 4) == 0)
            expected = 1u << SAND_TRACE_FEW_FIELDS;
        if (strcmp(text, previous) == 0)
            expected = 1u << SAND_TRACE_DUPLICATE;
        cr_assert_eq(heard_of(&reading, line), expected, "line %ld: %x, expected %x", line,
                     heard_of(&reading, line), expected);
        strcpy(previous, text);
    }
    fclose(in);
    cr_assert_eq(reading.report.rows, 27);
    cr_assert_eq(reading.report.dropped, 13);
    reading_clear(&reading);
}

Test(trace_rows, values_of_a_good_swf)
{
    struct sand_trace_options options = {.processors_per_node = 2};
    struct reading reading = read_trace(data_path("good.swf"), SAND_TRACE_SWF, &options);
    cr_assert_eq(reading.rc, SAND_OK);
    cr_assert_eq(reading.n, 5);
    const struct sand_trace_job *jobs = reading.jobs;
    cr_assert(jobs[0].submit_ns == 0 && jobs[0].start_ns == 20 * S && jobs[0].run_ns == 300 * S &&
              jobs[0].request_ns == 600 * S && jobs[0].nodes == 2 && jobs[0].gpus == 0);
    cr_assert_str_eq(jobs[0].id, "1");
    cr_assert_str_eq(jobs[0].user, "7");
    cr_assert_str_eq(jobs[0].account, "3");
    cr_assert_str_eq(jobs[0].name, "11");
    cr_assert_str_eq(jobs[0].queue, "1");
    cr_assert_str_eq(jobs[0].partition, "2");
    cr_assert_str_eq(jobs[3].name, "");
    cr_assert_str_eq(jobs[3].user, "");
    // Fractional seconds are exact.
    cr_assert(jobs[2].submit_ns == 60500000000 && jobs[2].start_ns == 62 * S &&
              jobs[2].run_ns == 45250000000 && jobs[2].nodes == 16);
    cr_assert(jobs[3].start_ns == -1 && jobs[3].status == SAND_TRACE_UNKNOWN);
    cr_assert_eq(jobs[4].nodes, 2, "3 processors on nodes of 2");
    cr_assert(jobs[1].status == SAND_TRACE_FAILED && jobs[2].status == SAND_TRACE_CANCELLED &&
              jobs[4].status == SAND_TRACE_COMPLETED);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_PART_NODE].rows, 2);
    cr_assert_eq(reading.report.max_nodes, 16);
    cr_assert_eq(reading.report.max_procs, 32);
    cr_assert_eq(reading.report.unix_start_s, 1000000000);
    cr_assert_eq(reading.report.zone_s, 3600);
    cr_assert_eq(reading.report.first_submit_ns, 100 * S);
    // 2*300 + 1*30 + 16*45.25 + 1*10 + 2*10
    cr_assert_float_eq(reading.report.node_s, 1384.0, 1e-9);
    reading_clear(&reading);
}

Test(trace_rows, values_of_dates_and_quotes)
{
    struct sand_trace_options options = quirks_options();
    options.gpus_per_node = 8;
    struct reading reading = read_trace(data_path("quirks.csv"), SAND_TRACE_CSV, &options);
    const struct sand_trace_job *jobs = reading.jobs;
    cr_assert(jobs[0].start_ns == 10 * S && jobs[0].run_ns == 600 * S && jobs[0].gpus == 8 &&
              jobs[0].nodes == 1 && jobs[0].request_ns == 3600 * S);
    // A zone in the date wins; 2024 is a leap year; half seconds are exact.
    cr_assert(jobs[1].submit_ns == 1 * S && jobs[1].start_ns == 1 * S &&
              jobs[1].run_ns == 30500000000 && jobs[1].status == SAND_TRACE_CANCELLED);
    cr_assert_str_eq(jobs[2].user, "bob, jr");
    cr_assert(jobs[2].gpus == 1 && jobs[2].nodes == 1);
    // The date of the first submit, in nanoseconds since 1970: 2024-02-28 23:59:59 UTC.
    cr_assert_eq(reading.report.first_submit_ns, 1709164799 * S);
    reading_clear(&reading);
    options.utc_offset_s = 8 * 3600;
    reading = read_trace(data_path("quirks.csv"), SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.report.first_submit_ns, (1709164799 - 8 * 3600) * S);
    cr_assert_eq(reading.jobs[reading.n - 1].submit_ns, 28801 * S,
                 "the one row with Z moves to the end");
    reading_clear(&reading);
}

Test(trace_rows, milli_gpus_through_a_column_map)
{
    char map[] = "id=name,gpus=gpu_milli:milli,submit=creation_time,start=scheduled_time,"
                 "end=deletion_time,status=pod_phase";
    struct sand_trace_column *columns;
    struct sand_trace_options options = {0};
    cr_assert_eq(sand_trace_columns(map, &columns, &options.n_columns, NULL), SAND_OK);
    options.columns = columns;
    struct reading reading = read_trace(data_path("pods.csv"), SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.n, 3);
    cr_assert_str_eq(reading.jobs[1].id, "pod-1");
    cr_assert(reading.jobs[1].gpus == 1 && reading.jobs[2].gpus == 8 && reading.jobs[0].nodes == 0);
    cr_assert_eq(reading.jobs[2].run_ns, 1500000000);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_FRACTION_UP].rows, 1);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NO_RUN].rows, 1, "a pending pod never ran");
    reading_clear(&reading);
    options.drop_fractions = 1;
    reading = read_trace(data_path("pods.csv"), SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_FRACTION_DROPPED].rows, 1);
    cr_assert_eq(reading.n, 2);
    reading_clear(&reading);
    free(columns);
}

// What sacct writes, parted by bars: steps of jobs are no jobs, and quotes are letters.
Test(trace_rows, accounting_of_slurm)
{
    char map[] = "id=JobID,name=JobName,submit=Submit:date,start=Start:date,run=Elapsed:clock,"
                 "request=Timelimit:clock,status=State,gpus=AllocTRES:tres,nodes=AllocTRES:tres";
    struct sand_trace_column *columns;
    struct sand_trace_options options = {0};
    cr_assert_eq(sand_trace_columns(map, &columns, &options.n_columns, NULL), SAND_OK);
    options.columns = columns;
    struct reading reading = read_trace(data_path("sacct.txt"), SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.n, 4);
    const struct sand_trace_job *first = &reading.jobs[0];
    cr_assert(first->gpus == 16 && first->nodes == 2 && first->run_ns == 183845 * S);
    cr_assert_eq(first->status, SAND_TRACE_COMPLETED);
    cr_assert_str_eq(first->name, "train \"big\"");
    cr_assert_str_eq(reading.jobs[1].id, "1002_3");
    cr_assert(reading.jobs[1].gpus == 1 && reading.jobs[1].status == SAND_TRACE_CANCELLED);
    cr_assert_eq(reading.jobs[3].status, SAND_TRACE_TIMEOUT);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_PARTIAL].rows, 2);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NEVER_RAN].rows, 1);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NO_SIZE].rows, 1, "a job without GPUs");
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NEW_STATUS].rows, 1, "one still runs");
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NO_REQUEST].rows, 1, "UNLIMITED");
    reading_clear(&reading);
    free(columns);
}

Test(trace_rows, options_change_and_say_so)
{
    struct sand_trace_options options = {.walltime = SAND_TRACE_WALLTIME_FACTOR,
                                         .walltime_factor = 1.5,
                                         .overrun = SAND_TRACE_OVERRUN_CUT,
                                         .drop_duplicates = 1,
                                         .size = SAND_TRACE_ALLOCATED,
                                         .machine_nodes = 3};
    struct reading reading = read_trace(data_path("quirks.swf"), SAND_TRACE_SWF, &options);
    cr_assert_eq(reading.report.kept, 1, "only the 1.5 processors fit into 3 nodes");
    reading_clear(&reading);
    options.machine_nodes = 4;
    reading = read_trace(data_path("quirks.swf"), SAND_TRACE_SWF, &options);
    const struct sand_trace_tally *reasons = reading.report.reasons;
    cr_assert_eq(reasons[SAND_TRACE_REQUEST_RULE].rows, 1);
    cr_assert_eq(reasons[SAND_TRACE_RUN_CUT].rows, 2);
    cr_assert_eq(reasons[SAND_TRACE_DUPLICATE_DROPPED].rows, 1);
    cr_assert_eq(reasons[SAND_TRACE_OTHER_SIZE].rows, 0, "field 5 is the chosen one");
    cr_assert_eq(reading.report.changed, 4, "a rule, two cuts, a fraction");
    for (size_t i = 0; i < reading.n; i++) {
        cr_assert(reading.jobs[i].request_ns >= reading.jobs[i].run_ns);
        if (strcmp(reading.jobs[i].id, "10") == 0)
            cr_assert_eq(reading.jobs[i].request_ns, 375 * S);
    }
    cr_assert(strstr(reading.printed, "nodes = allocated processors / 1"));
    cr_assert(strstr(reading.printed, "1.5 times the run time"));
    cr_assert(strstr(reading.printed, "cut to the request"));
    cr_assert(strstr(reading.printed, "exact repeats: dropped"));
    reading_clear(&reading);
    options.overrun = SAND_TRACE_OVERRUN_RAISE;
    reading = read_trace(data_path("quirks.swf"), SAND_TRACE_SWF, &options);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_REQUEST_RAISED].rows, 2);
    reading_clear(&reading);
}

// A header's zone may be west of Greenwich, and a header is read wherever it stands.
Test(trace_rows, header)
{
    const char text[] = "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 11 1 1 -1 -1\n"
                        ";TimeZone: -28800\n ; MaxProcs:  7\n;UnixStartTime: -5\n";
    const char *path = write_file("header.swf", text, strlen(text));
    struct reading reading = read_trace(path, SAND_TRACE_SWF, NULL);
    cr_assert_eq(reading.report.zone_s, -28800);
    cr_assert_eq(reading.report.max_procs, 7);
    cr_assert_eq(reading.report.unix_start_s, -1);
    cr_assert_eq(reading.report.max_nodes, -1);
    remove(path);
    reading_clear(&reading);
}

// Sizes that no machine has do not wrap around.
Test(trace_rows, huge_sizes)
{
    const char text[] = "1 0 0 5 9e9 -1 -1 9e9 9 -1 1 1 1 11 1 1 -1 -1\n"
                        "2 0 0 5 4294967297 -1 -1 4294967297 9 -1 1 1 1 11 1 1 -1 -1\n"
                        "3 0 0 5 2e9 -1 -1 2e9 9 -1 1 1 1 11 1 1 -1 -1\n"
                        "4 0 0 5 1 -1 -1 1 9 -1 1 1 1 11 1 1 -1 -1\n";
    const char *path = write_file("huge.swf", text, strlen(text));
    struct sand_trace_options options = {.gpus_per_node = 8};
    struct reading reading = read_trace(path, SAND_TRACE_SWF, &options);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_TOO_LARGE].rows, 3);
    cr_assert(reading.n == 1 && reading.jobs[0].gpus == 8);
    remove(path);
    reading_clear(&reading);
}

// Whatever the sizes are counted in, the report says what whole nodes add. On nodes of 8 GPUs: 1
// and 8 and 9 GPUs for an hour ask for 18 and hold 8 + 8 + 16; the row of 99 GPUs is dropped. On
// nodes of 4 processors 6 are one and a half nodes, which hold two: 12 and 16 GPU-hours.
Test(trace_rows, what_whole_nodes_add_is_told_for_every_source)
{
    static const char gpus[] = "submit,run,gpus\n0,3600,1\n1,3600,8\n2,3600,9\n3,3600,99\n";
    static const char processors[] = "1 0 0 3600 6 -1 -1 6 9 -1 1 1 1 11 1 1 -1 -1\n";
    static const struct sand_trace_column columns[] = {{SAND_TRACE_FIELD_SUBMIT, "submit", NULL},
                                                       {SAND_TRACE_FIELD_RUN, "run", NULL},
                                                       {SAND_TRACE_FIELD_GPUS, "gpus", NULL}};
    struct sand_trace_options options = {.gpus_per_node = 8,
                                         .machine_nodes = 4,
                                         .processors_per_node = 4,
                                         .columns = columns,
                                         .n_columns = 3};
    const char *path = write_file("held.csv", gpus, strlen(gpus));
    struct reading reading = read_trace(path, SAND_TRACE_CSV, &options);
    cr_expect_eq(reading.report.part_node, 2);
    cr_expect_eq(reading.report.reasons[SAND_TRACE_PART_NODE].rows, 2);
    cr_expect(strstr(reading.printed, "\n  2 of 3 rows do not fill their last node, which is held "
                                      "whole: 18 GPU-hours asked for, 32 held\n"),
              "%s", reading.printed);
    remove(path);
    reading_clear(&reading);
    path = write_file("held.swf", processors, strlen(processors));
    reading = read_trace(path, SAND_TRACE_SWF, &options);
    cr_expect(strstr(reading.printed, "\n  1 of 1 rows do not fill their last node, which is held "
                                      "whole: 12 GPU-hours asked for, 16 held\n"),
              "%s", reading.printed);
    options.gpus_per_node = 0;
    reading_clear(&reading);
    reading = read_trace(path, SAND_TRACE_SWF, &options);
    cr_expect(strstr(reading.printed, ": 1.5 node-hours asked for, 2 held\n"), "%s",
              reading.printed);
    remove(path);
    reading_clear(&reading);
}

// Line ends of Windows, a byte order mark and another delimiter give the same jobs.
Test(trace_rows, foreign_line_ends)
{
    const char text[] = "\xef\xbb\xbfsubmit;run;gpus\r\n1;2;3\r\n\r\n4;x\"y\";6\r\n7;8;9\r\n";
    const struct sand_trace_column columns[] = {{SAND_TRACE_FIELD_SUBMIT, "submit", NULL},
                                                {SAND_TRACE_FIELD_RUN, "run", NULL},
                                                {SAND_TRACE_FIELD_GPUS, "gpus", NULL}};
    struct sand_trace_options options = {.delimiter = ';', .columns = columns, .n_columns = 3};
    const char *path = write_file("foreign.csv", text, strlen(text));
    struct reading reading = read_trace(path, SAND_TRACE_CSV, &options);
    cr_assert_eq(reading.report.rows, 3);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_QUOTING].rows, 1);
    cr_assert(reading.n == 2 && reading.jobs[0].gpus == 3 && reading.jobs[1].gpus == 9);
    cr_assert(reading.jobs[1].line == 5 && reading.jobs[1].submit_ns == 6 * S);
    cr_assert_str_eq(reading.jobs[1].id, "3", "without a column of ids: the number of the row");
    remove(path);
    reading_clear(&reading);
}

Test(trace_rows, class_bounds)
{
    const struct sand_trace_class classes[] = {{.id = "one", .min_gpus = 1, .max_gpus = 1},
                                               {.id = "some", .min_gpus = 2, .max_gpus = 8},
                                               {.id = "user", .user = "u*", .partition = "p?"},
                                               {.id = "rest", .account = "a", .name = "*.sh"}};
    const struct {
        uint32_t gpus;
        const char *user, *partition, *account, *name;
        uint32_t expected;
    } cases[] = {{1, "u", "p1", "a", "x.sh", 0},
                 {2, "", "", "", "", 1},
                 {8, "", "", "", "", 1},
                 {9, "u7", "p1", "a", "x.sh", 2},
                 {9, "u7", "p11", "a", "x.sh", 3},
                 {9, "v", "p1", "a", "x.sh", 3},
                 {9, "v", "p1", "b", "x.sh", SAND_NONE},
                 {9, "v", "p1", "a", "x.py", SAND_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sand_trace_job job = {.gpus = cases[i].gpus,
                                           .user = cases[i].user,
                                           .partition = cases[i].partition,
                                           .account = cases[i].account,
                                           .name = cases[i].name,
                                           .queue = ""};
        cr_assert_eq(sand_trace_classify(classes, 4, &job), cases[i].expected, "case %zu", i);
    }
}

// First match wins; rows without a class are kept and counted; limits of classes are walltimes.
Test(trace_rows, classes)
{
    const struct sand_trace_class classes[] = {{.id = "eleven", .name = "11", .limit_ns = 7 * S},
                                               {.id = "big",
                                                .min_gpus = 64,
                                                .speed = SAND_TRACE_MODEL,
                                                .model = &any_model,
                                                .split.tp = 1,
                                                .software = &any_software,
                                                .placement = "packed"},
                                               {.id = "user-8", .user = "8", .queue = "[12]"},
                                               {.id = "never", .max_gpus = 1, .account = "4?"}};
    struct sand_trace_options options = {.classes = classes,
                                         .n_classes = 4,
                                         .gpus_per_node = 8,
                                         .walltime = SAND_TRACE_WALLTIME_LIMIT,
                                         .walltime_limit_ns = 9 * S};
    struct reading reading = read_trace(data_path("good.swf"), SAND_TRACE_SWF, &options);
    const uint32_t expected[] = {0, 0, 1, SAND_NONE, SAND_NONE};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(reading.jobs[i].job_class, expected[i], "job %d: %u", i,
                     reading.jobs[i].job_class);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_NO_CLASS].rows, 2);
    cr_assert(strstr(reading.printed, "       2  eleven") && strstr(reading.printed, "0  never"));
    cr_assert_eq(reading.jobs[0].request_ns, 600 * S, "a recorded request stays");
    reading_clear(&reading);

    const char text[] = "1 0 0 5 1 -1 -1 1 -1 -1 1 1 1 11 1 1 -1 -1\n"
                        "2 1 0 5 1 -1 -1 1 -1 -1 1 9 1 12 1 1 -1 -1\n";
    reading = read_trace(write_file("limits.swf", text, strlen(text)), SAND_TRACE_SWF, &options);
    cr_assert(reading.jobs[0].request_ns == 7 * S && reading.jobs[1].request_ns == 9 * S);
    remove(write_file("limits.swf", "", 0));
    reading_clear(&reading);
}

Test(trace_rows, printed_report)
{
    struct reading reading = read_trace(data_path("quirks.swf"), SAND_TRACE_SWF, NULL);
    cr_assert(strstr(reading.printed, "35 rows = 19 kept (2 changed) + 16 dropped"), "%s",
              reading.printed);
    cr_assert(strstr(reading.printed,
                     "dropped        3  has a run time that is unknown, zero or negative; "
                     "lines 6, 8, 10\n"));
    cr_assert(strstr(reading.printed, "BAD") == NULL &&
              strstr(reading.printed, ": \"abc\"; lines"));
    reading_clear(&reading);
}
