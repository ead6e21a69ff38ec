// Writes the run record as JSON.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "runrecord.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "filegate.h"
#include "json.h"

static void put_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  \"%s\": ", name);
    sand_json_string(out, text);
    fputs(",\n", out);
}

// ---- clocks
// ---------------------------------------------------------------------------------------

void sand_run_start(struct sand_run_start *start)
{
    start->date = time(NULL);
    clock_gettime(CLOCK_MONOTONIC, &start->monotonic);
    getrusage(RUSAGE_SELF, &start->self);
    getrusage(RUSAGE_CHILDREN, &start->children);
}

static double seconds_between(const struct timespec *a, const struct timespec *b)
{
    return (double)(b->tv_sec - a->tv_sec) + (double)(b->tv_nsec - a->tv_nsec) * 1e-9;
}

static double cpu_s(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

static void put_date(FILE *out, const char *name, time_t date)
{
    struct tm utc;
    char text[32];
    gmtime_r(&date, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_member(out, name, text);
}

static void put_times(FILE *out, const struct sand_run_start *start)
{
    struct sand_run_start end;
    sand_run_start(&end);
    double cpu =
        cpu_s(&end.self) - cpu_s(&start->self) + cpu_s(&end.children) - cpu_s(&start->children);
    put_date(out, "started", start->date);
    put_date(out, "ended", end.date);
    fprintf(out, "  \"wall_s\": %.3f,\n  \"cpu_s\": %.3f,\n",
            seconds_between(&start->monotonic, &end.monotonic), cpu);
    fprintf(out, "  \"peak_memory_parent_B\": %lld,\n  \"peak_memory_unit_B\": %lld,\n",
            1024LL * end.self.ru_maxrss, 1024LL * end.children.ru_maxrss);
}

// ---- record
// ---------------------------------------------------------------------------------------

static void put_host(FILE *out)
{
    struct utsname host;
    if (uname(&host) != 0)
        return;
    put_member(out, "host", host.nodename);
    put_member(out, "kernel", host.release);
    put_member(out, "machine", host.machine);
}

static void put_libraries(FILE *out, const struct sand_sweep_options *options)
{
    fputs("  \"libraries\": {", out);
    for (size_t i = 0; i < options->n_libraries; i++) {
        fputs(i > 0 ? ", " : "", out);
        sand_json_string(out, options->libraries[i].name);
        fputs(": ", out);
        sand_json_string(out, options->libraries[i].version);
    }
    fputs("},\n", out);
}

static void put_record(FILE *out, const struct sand_run_start *start,
                       const struct sand_experiment *experiment,
                       const struct sand_sweep_options *options,
                       const struct sand_sweep_report *report,
                       const struct sand_oracle_counters *counters)
{
    fputs("{\n", out);
    put_member(out, "experiment", experiment->name);
    put_member(out, "digest", experiment->digest);
    put_member(out, "program_version", options->program_version);
    put_member(out, "physics_version", SAND_PHYSICS_VERSION);
    put_libraries(out, options);
    put_host(out);
    put_times(out, start);
    fprintf(out,
            "  \"jobs\": %" PRIu32 ",\n  \"units\": %" PRIu32 ",\n  \"units_reused\": %" PRIu32
            ",\n",
            options->jobs, report->units, report->reused);
    fprintf(out,
            "  \"oracle\": {\"questions\": %" PRIu64 ", \"hits\": %" PRIu64
            ", \"store_hits\": %" PRIu64 ", \"children\": %" PRIu64
            ", \"prepare_s\": %.6f, \"child_s\": %.6f}\n}\n",
            counters->questions, counters->hits, counters->store_hits, counters->children,
            counters->prepare_s, counters->child_s);
}

enum sand_rc sand_run_record_write(const char *path, const struct sand_run_start *start,
                                   const struct sand_experiment *experiment,
                                   const struct sand_sweep_options *options,
                                   const struct sand_sweep_report *report,
                                   const struct sand_oracle_counters *counters,
                                   struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    put_record(out, start, experiment, options, report, counters);
    enum sand_rc rc = fclose(out) == 0 ? sand_file_write(path, text, size, diag)
                                       : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    free(text); // open_memstream's own
    return rc;
}
