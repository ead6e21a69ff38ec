// Public traces: the counts that their sources and our own look at them give. The Philly subset
// ships; whole traces are read from the directory $SAND_DATA if there is one.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracefixture.h"

#define S INT64_C(1000000000)

Test(trace_public, philly_subset)
{
    struct sand_trace_options options = {.walltime = SAND_TRACE_WALLTIME_EXACT, .gpus_per_node = 1};
    struct reading reading =
        read_trace(data_path("philly-20000-24999.csv.xz"), SAND_TRACE_PHILLY, &options);
    cr_assert_eq(reading.n, 5000);
    cr_assert_eq(reading.report.dropped, 0);
    // 2017-10-10 06:54:45 read as UTC.
    cr_assert_eq(reading.report.first_submit_ns, 1507618485 * S);
    cr_assert_float_eq(reading.report.gpu_s, 96421180.0, 1e-3);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_UNSORTED].rows, 0);
    cr_assert_eq(reading.report.held_rows, 0);
    int one = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < reading.n; i++) {
        const struct sand_trace_job *job = &reading.jobs[i];
        one += job->gpus == 1;
        most = job->gpus > most ? job->gpus : most;
        cr_assert(job->request_ns == job->run_ns && job->nodes == job->gpus);
    }
    cr_assert_eq(one, 4869);
    cr_assert_eq(most, 16);
    cr_assert(reading.jobs[0].run_ns == 1825 * S);
    cr_assert_str_eq(reading.jobs[0].partition, "6214e9");
    cr_assert_eq(reading.jobs[4999].submit_ns, 187191 * S);
    reading_clear(&reading);
}

static void skip(const char *name, const char *why)
{
    fprintf(stderr, "skipped: %s: %s\n", name, why);
    cr_skip_test("%s", name);
}

// A path in $SAND_DATA; the test is skipped, with a message, if it is not there.
static const char *whole_trace(const char *name)
{
    static char path[1024];
    const char *data = getenv("SAND_DATA");
    if (!data)
        skip(name, "SAND_DATA names no directory of traces");
    snprintf(path, sizeof path, "%s/%s", data, name);
    if (access(path, R_OK) != 0)
        skip(path, "cannot be read");
    return path;
}

Test(trace_public, philly)
{
    const char *path = whole_trace("philly/philly.csv.xz");
    struct reading reading = read_trace(path, SAND_TRACE_PHILLY, NULL);
    cr_assert_eq(reading.report.rows, 82247);
    cr_assert_eq(reading.n, 82247);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_DUPLICATE].rows, 65);
    cr_assert_gt(reading.report.reasons[SAND_TRACE_UNSORTED].rows, 0);
    // 2017-09-04 10:30:41 read as UTC.
    cr_assert_eq(reading.report.first_submit_ns, 1504521041 * S);
    // The jobs of the shipped subset are jobs 20,000 to 24,999 of the whole.
    struct reading subset =
        read_trace(data_path("philly-20000-24999.csv.xz"), SAND_TRACE_PHILLY, NULL);
    const struct sand_trace_job *part = &reading.jobs[20000];
    for (size_t i = 0; i < 5000; i++)
        cr_assert(part[i].submit_ns - part[0].submit_ns == subset.jobs[i].submit_ns &&
                      part[i].run_ns == subset.jobs[i].run_ns &&
                      part[i].gpus == subset.jobs[i].gpus &&
                      strcmp(part[i].partition, subset.jobs[i].partition) == 0,
                  "job %zu", i);
    reading_clear(&subset);
    reading_clear(&reading);
}

struct expected {
    const char *name;
    uint64_t rows, no_run, no_size, overrun, extra, waits_unknown;
};

static void check_swf(const struct expected *expected)
{
    const char *path = whole_trace(expected->name);
    struct reading reading = read_trace(path, SAND_TRACE_SWF, NULL);
    const struct sand_trace_tally *reasons = reading.report.reasons;
    cr_assert_eq(reading.rc, SAND_OK);
    cr_assert_eq(reading.report.rows, expected->rows, "%s", expected->name);
    cr_assert_eq(reasons[SAND_TRACE_NO_RUN].rows, expected->no_run, "%s", expected->name);
    cr_assert_eq(reasons[SAND_TRACE_NO_SIZE].rows, expected->no_size, "%s", expected->name);
    cr_assert_eq(reasons[SAND_TRACE_OVERRUN].rows, expected->overrun, "%s", expected->name);
    cr_assert_eq(reasons[SAND_TRACE_EXTRA_FIELDS].rows, expected->extra, "%s", expected->name);
    cr_assert_eq(reasons[SAND_TRACE_NO_START].rows, expected->waits_unknown, "%s", expected->name);
    cr_assert_eq(reading.report.held_rows, 0, "sorted files hold nothing back");
    cr_assert_eq(reading.report.kept, expected->rows - expected->no_run - expected->no_size);
    reading_clear(&reading);
}

Test(trace_public, swf)
{
    const struct expected traces[] = {
        {"swf/KTH-SP2-1996-2.1-cln.swf.xz", 28476, 8, 1, 475, 0, 0},
        {"swf/NASA-iPSC-1993-3.1-cln.swf.xz", 18239, 173, 0, 0, 0, 18066},
        {"swf/LCG.swf.xz", 188041, 521, 0, 0, 0, 187520},
        {"swf/lublin_256.swf.xz", 10000, 0, 0, 0, 0, 10000},
        {"swf/HPC2N_alea_3170jobs.swf.xz", 3170, 25, 0, 320, 0, 0},
        {"swf/wagap-2013.swf.xz", 17900, 2, 0, 702, 17898, 0}};
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++)
        check_swf(&traces[i]);
}

// Recorded waits are what a backtest compares with: KTH records them all.
Test(trace_public, kth_records_its_waits)
{
    const char *path = whole_trace("swf/KTH-SP2-1996-2.1-cln.swf.xz");
    struct reading reading = read_trace(path, SAND_TRACE_SWF, NULL);
    cr_assert_eq(reading.n, 28467);
    cr_assert_eq(reading.jobs[0].start_ns, 192180 * S);
    cr_assert_eq(reading.report.statuses[SAND_TRACE_FAILED], 7944);
    cr_assert_eq(reading.report.max_procs, 100);
    cr_assert_eq(reading.report.unix_start_s, 843480031);
    reading_clear(&reading);
}
