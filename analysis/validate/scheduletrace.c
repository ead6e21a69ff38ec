// The importer reads the jobs; the start is taken as text, because simulators print it rounded and
// it may then lie up to a microsecond before the submit, which the importer does not believe.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduletrace.h"

#include <inttypes.h>
#include <string.h>

#include "trace.h"
#include "units.h"

static const char usual_columns[] = "id=job_id,submit=submit_s,nodes=nodes,run=runtime_s,"
                                    "request=walltime_s,start=start_s";

static enum sand_rc no_memory(const char *path, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
}

// ---- columns ------------------------------------------------------------------------------------

// The start goes where texts go.
static enum sand_rc take_start_as_text(struct sand_trace_column *columns, size_t n,
                                       struct sand_diag *diag)
{
    for (size_t i = 0; i < n; i++) {
        if (columns[i].field != SAND_TRACE_FIELD_START)
            continue;
        if (columns[i].unit && strcmp(columns[i].unit, "s") != 0)
            return sand_fail(diag, SAND_ERR_USAGE,
                             "the column map has the start in \"%s\"; it must be in seconds",
                             columns[i].unit);
        columns[i].field = SAND_TRACE_FIELD_NAME;
        return SAND_OK;
    }
    return sand_fail(diag, SAND_ERR_USAGE,
                     "the column map does not say where the start is; add start=COLUMN");
}

// ---- rows ---------------------------------------------------------------------------------------

static enum sand_rc add_row(struct sand_schedule_trace *trace, const char *path,
                            const struct sand_trace_job *job, struct sand_diag *diag)
{
    char why[200] = "is empty";
    double start_s;
    if (!job->name[0] ||
        sand_quantity_parse(job->name, SAND_DIM_NUMBER, &start_s, why, sizeof why) != SAND_OK) {
        sand_diag_add(diag, SAND_ERROR, path, job->line, "job \"%s\": its start \"%s\" %s", job->id,
                      job->name, why);
        return SAND_ERR_INPUT;
    }
    void *rows = trace->rows;
    SAND_TRY(sand_grow(&rows, &trace->capacity, trace->n + 1, sizeof *trace->rows));
    trace->rows = rows;
    const char *id = sand_arena_strdup(&trace->arena, job->id);
    if (!id)
        return SAND_ERR_NOMEM;
    trace->rows[trace->n++] = (struct sand_schedule_row){.id = id,
                                                         .line = job->line,
                                                         .nodes = job->nodes,
                                                         .submit_ns = job->submit_ns,
                                                         .run_ns = job->run_ns,
                                                         .request_ns = job->request_ns,
                                                         .start_s = start_s};
    return SAND_OK;
}

static int is_harmless(enum sand_trace_reason reason)
{
    return sand_trace_reason_effect(reason) == SAND_TRACE_NOTED || reason == SAND_TRACE_RUN_CUT;
}

// Every kind of row that cannot be taken as it stands, by its first line.
static enum sand_rc judge(const char *path, const struct sand_trace_report *report,
                          struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (int i = 0; i < SAND_TRACE_REASON_COUNT; i++) {
        const struct sand_trace_tally *tally = &report->reasons[i];
        if (tally->rows == 0 || is_harmless((enum sand_trace_reason)i))
            continue;
        sand_diag_add(diag, SAND_ERROR, path, tally->lines[0],
                      "the row %s (%s); %" PRIu64 " rows of %" PRIu64
                      " are like that, but a schedule has to be compared whole",
                      sand_trace_reason_text((enum sand_trace_reason)i),
                      tally->detail[0] ? tally->detail : "see the row", tally->rows, report->rows);
        rc = SAND_ERR_INPUT;
    }
    return rc;
}

static enum sand_rc read_rows(struct sand_trace *reader, const char *path,
                              struct sand_schedule_trace *trace, struct sand_diag *diag)
{
    const struct sand_trace_job *job;
    for (;;) {
        SAND_TRY(sand_trace_next(reader, &job, diag));
        if (!job)
            break;
        const enum sand_rc rc = add_row(trace, path, job, diag);
        if (rc == SAND_ERR_NOMEM)
            return no_memory(path, diag);
        SAND_TRY(rc);
    }
    const struct sand_trace_report *report = sand_trace_report(reader);
    trace->first_submit_s = sand_s_from_ns(report->first_submit_ns);
    return judge(path, report, diag);
}

enum sand_rc sand_schedule_read(const char *path, const char *columns, uint32_t machine_nodes,
                                struct sand_schedule_trace *trace, struct sand_diag *diag)
{
    struct sand_trace_column *map = NULL;
    struct sand_trace *reader = NULL;
    *trace = (struct sand_schedule_trace){0};
    struct sand_trace_options options = {.machine_nodes = machine_nodes,
                                         .overrun = SAND_TRACE_OVERRUN_CUT};
    char *text = sand_arena_strdup(&trace->arena, columns ? columns : usual_columns);
    if (!text)
        return no_memory(path, diag);
    enum sand_rc rc = sand_trace_columns(text, &map, &options.n_columns, diag);
    if (rc == SAND_OK)
        rc = take_start_as_text(map, options.n_columns, diag);
    options.columns = map;
    if (rc == SAND_OK)
        rc = sand_trace_open(path, SAND_TRACE_CSV, &options, &reader, diag);
    if (rc == SAND_OK)
        rc = read_rows(reader, path, trace, diag);
    sand_trace_close(reader);
    sand_free(map);
    return rc;
}

void sand_schedule_clear(struct sand_schedule_trace *trace)
{
    sand_free(trace->rows);
    sand_arena_clear(&trace->arena);
    *trace = (struct sand_schedule_trace){0};
}
