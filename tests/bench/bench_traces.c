// Measures reading of whole traces from $SAND_DATA: CPU time, rows held back, memory.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "trace.h"

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static int read_all(const char *path, enum sand_trace_format format)
{
    struct sand_diag diag = {0};
    struct sand_trace *trace = NULL;
    const struct sand_trace_job *job = NULL;
    struct rusage usage;
    double begin = cpu_s();
    enum sand_rc rc = sand_trace_open(path, format, NULL, &trace, &diag);
    double opened = cpu_s();
    if (rc != SAND_OK) {
        sand_diag_print(&diag, stdout);
        sand_diag_clear(&diag);
        return 1;
    }
    while ((rc = sand_trace_next(trace, &job, &diag)) == SAND_OK && job)
        ;
    const struct sand_trace_report *report = sand_trace_report(trace);
    getrusage(RUSAGE_SELF, &usage);
    printf("%s: %" PRIu64 " rows, first reading %.3f s, second %.3f s, %" PRIu64
           " rows held (%.1f MB), process at most %.1f MB\n",
           path, report->rows, opened - begin, cpu_s() - opened, report->held_rows,
           (double)report->held_B * 1e-6, (double)usage.ru_maxrss / 1024);
    sand_trace_close(trace);
    return rc != SAND_OK;
}

int main(void)
{
    static const struct {
        const char *name;
        enum sand_trace_format format;
    } traces[] = {{"swf/KTH-SP2-1996-2.1-cln.swf.xz", SAND_TRACE_SWF},
                  {"philly/philly.csv.xz", SAND_TRACE_PHILLY},
                  {"swf/LCG.swf.xz", SAND_TRACE_SWF}};
    const char *data = getenv("SAND_DATA");
    int failed = 0;
    if (!data)
        puts("SAND_DATA names no directory of traces: nothing to read");
    for (size_t i = 0; data && i < sizeof traces / sizeof traces[0]; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", data, traces[i].name);
        failed |= read_all(path, traces[i].format);
    }
    return failed;
}
