// Reads a whole trace into memory for tests.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracefixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *data_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/traces/%s", SAND_TEST_DATA, name);
    return path;
}

const char *write_file(const char *name, const void *data, size_t size)
{
    static char path[128];
    snprintf(path, sizeof path, "/tmp/sand-trace-%ld-%s", (long)getpid(), name);
    FILE *out = fopen(path, "wb");
    cr_assert(out && fwrite(data, 1, size, out) == size && fclose(out) == 0);
    return path;
}

static void hear(void *self, long line, enum sand_trace_reason reason, const char *detail)
{
    struct reading *reading = self;
    (void)detail;
    size_t n = reading->n_heard;
    if ((n & (n - 1)) == 0) // doubled: a realloc under ASan always copies
        reading->heard = realloc(reading->heard, (n ? 2 * n : 1) * sizeof *reading->heard);
    reading->heard[reading->n_heard++] = (struct heard){line, reason};
}

static void keep(struct reading *reading, const struct sand_trace_job *job)
{
    size_t n = reading->n;
    if ((n & (n - 1)) == 0) {
        size_t room = n ? 2 * n : 1;
        reading->jobs = realloc(reading->jobs, room * sizeof *reading->jobs);
        reading->texts = realloc(reading->texts, room * sizeof *reading->texts);
    }
    const char *texts[] = {job->id, job->user, job->account, job->queue, job->partition, job->name};
    for (int i = 0; i < 6; i++)
        snprintf(reading->texts[n][i], sizeof reading->texts[n][i], "%s", texts[i]);
    reading->jobs[n] = *job;
    reading->n++;
}

static void point_texts(struct reading *reading)
{
    for (size_t i = 0; i < reading->n; i++) {
        const char **texts[] = {&reading->jobs[i].id,        &reading->jobs[i].user,
                                &reading->jobs[i].account,   &reading->jobs[i].queue,
                                &reading->jobs[i].partition, &reading->jobs[i].name};
        for (int k = 0; k < 6; k++)
            *texts[k] = reading->texts[i][k];
    }
}

static void print_report(struct reading *reading, const struct sand_trace *trace)
{
    size_t size;
    FILE *out = open_memstream(&reading->printed, &size);
    sand_trace_report_print(trace, out);
    fclose(out);
}

struct reading read_trace(const char *path, enum sand_trace_format format,
                          const struct sand_trace_options *options)
{
    struct reading reading = {0};
    struct sand_trace_options own = options ? *options : (struct sand_trace_options){0};
    struct sand_trace *trace = NULL;
    const struct sand_trace_job *job = NULL;
    own.listener = (struct sand_trace_listener){&reading, hear};
    reading.rc = sand_trace_open(path, format, &own, &trace, &reading.diag);
    if (reading.rc != SAND_OK)
        return reading;
    while ((reading.rc = sand_trace_next(trace, &job, &reading.diag)) == SAND_OK && job)
        keep(&reading, job);
    point_texts(&reading);
    reading.report = *sand_trace_report(trace);
    reading.report.classes = NULL;
    print_report(&reading, trace);
    sand_trace_close(trace);
    return reading;
}

void reading_clear(struct reading *reading)
{
    sand_diag_clear(&reading->diag);
    free(reading->jobs);
    free(reading->texts);
    free(reading->heard);
    free(reading->printed);
    *reading = (struct reading){0};
}

struct sand_trace_options quirks_options(void)
{
    static const struct sand_trace_column columns[] = {
        {SAND_TRACE_FIELD_ID, "job", NULL},
        {SAND_TRACE_FIELD_USER, "user", NULL},
        {SAND_TRACE_FIELD_ACCOUNT, "team", NULL},
        {SAND_TRACE_FIELD_PARTITION, "vc", NULL},
        {SAND_TRACE_FIELD_SUBMIT, "submitted", "date"},
        {SAND_TRACE_FIELD_START, "begun", "date"},
        {SAND_TRACE_FIELD_END, "done", "date"},
        {SAND_TRACE_FIELD_GPUS, "gpus", NULL},
        {SAND_TRACE_FIELD_REQUEST, "limit", "h"},
        {SAND_TRACE_FIELD_STATUS, "state", NULL}};
    return (struct sand_trace_options){
        .columns = columns, .n_columns = sizeof columns / sizeof columns[0], .machine_gpus = 1024};
}
