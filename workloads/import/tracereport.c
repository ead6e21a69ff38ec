// Counts what was said about rows and prints it; checks and prints the caller's options.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <csv.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tracerow.h"
#include "units.h"

static const struct {
    const char *name, *text;
    enum sand_trace_effect effect;
} reasons[] = {
#define ROW(name, effect, text) {#name, text, SAND_TRACE_##effect},
    SAND_TRACE_REASONS(ROW)
#undef ROW
};

enum sand_trace_effect sand_trace_reason_effect(enum sand_trace_reason reason)
{
    return reasons[reason].effect;
}

const char *sand_trace_reason_name(enum sand_trace_reason reason)
{
    return reasons[reason].name;
}

const char *sand_trace_reason_text(enum sand_trace_reason reason)
{
    return reasons[reason].text;
}

void trace_note(struct sand_trace *trace, long line, enum sand_trace_reason reason,
                const char *detail)
{
    if (!trace->counting)
        return;
    struct sand_trace_tally *tally = &trace->report.reasons[reason];
    if (tally->rows == 0)
        memcpy(tally->detail, detail, strnlen(detail, sizeof tally->detail - 1));
    if (tally->rows < SAND_TRACE_FIRST_LINES)
        tally->lines[tally->rows] = line;
    tally->rows++;
    if (trace->options.listener.note)
        trace->options.listener.note(trace->options.listener.self, line, reason, detail);
}

// ---- every row
// ------------------------------------------------------------------------------------

void sand_trace_log_head(FILE *out)
{
    fputs("trace,line,effect,reason,text,detail\n", out);
}

void sand_trace_log_note(void *self, long line, enum sand_trace_reason reason, const char *detail)
{
    static const char *const effects[] = {"dropped", "changed", "noted"};
    const struct sand_trace_log *log = self;
    csv_fwrite(log->out, log->path, strlen(log->path));
    fprintf(log->out, ",%ld,%s,%s,", line, effects[sand_trace_reason_effect(reason)],
            sand_trace_reason_name(reason));
    csv_fwrite(log->out, sand_trace_reason_text(reason), strlen(sand_trace_reason_text(reason)));
    fputc(',', log->out);
    csv_fwrite(log->out, detail, strlen(detail));
    fputc('\n', log->out);
}

void trace_note_all(struct sand_trace *trace, long line, uint32_t bits)
{
    for (int i = 0; bits != 0; i++, bits >>= 1)
        if (bits & 1)
            trace_note(trace, line, i, "");
}

// ---- options
// -------------------------------------------------------------------------------------

static const char *const field_names[] = {
    "id",   "user",  "account", "queue", "partition", "name",       "status", "submit",
    "wait", "start", "end",     "run",   "request",   "processors", "nodes",  "gpus"};
_Static_assert(sizeof field_names / sizeof field_names[0] == SAND_TRACE_FIELD_COUNT, "one a field");

static const char *field_name(enum sand_trace_fields field)
{
    return field_names[field];
}

static const char *status_name(enum sand_trace_status status)
{
    static const char *const names[] = {"unknown", "completed", "failed", "cancelled", "timeout"};
    return names[status];
}

static int is_text(enum sand_trace_fields field)
{
    return field < SAND_TRACE_FIELD_SUBMIT;
}

static int unit_fits(const struct sand_trace_column *column)
{
    if (!column->unit)
        return 1;
    if (is_text(column->field))
        return 0;
    if (column->field >= SAND_TRACE_FIELD_PROCESSORS)
        return trace_size_unit(column->unit) != NULL;
    const struct trace_unit *unit = trace_time_unit(column->unit);
    int is_date = column->field == SAND_TRACE_FIELD_SUBMIT ||
                  column->field == SAND_TRACE_FIELD_START || column->field == SAND_TRACE_FIELD_END;
    return unit && unit->notation != (is_date ? TRACE_AS_CLOCK : TRACE_AS_DATE);
}

static enum sand_rc check_columns(const struct sand_trace_options *options, struct sand_diag *diag)
{
    uint32_t have = 0;
    for (size_t i = 0; i < options->n_columns; i++) {
        const struct sand_trace_column *column = &options->columns[i];
        const char *name = field_name(column->field);
        if (have >> column->field & 1)
            return sand_fail(diag, SAND_ERR_INPUT, "column map: \"%s\" is mapped twice", name);
        if (!unit_fits(column))
            return sand_fail(diag, SAND_ERR_INPUT,
                             "column map: \"%s\" has the unit \"%s\"; times take ns us ms s min h "
                             "d, submit, start and end also date, the others also clock, sizes 1, "
                             "milli or tres, texts none",
                             name, column->unit);
        have |= (uint32_t)1 << column->field;
    }
    const uint32_t run = 1u << SAND_TRACE_FIELD_RUN, submit = 1u << SAND_TRACE_FIELD_SUBMIT;
    const uint32_t ends = 1u << SAND_TRACE_FIELD_START | 1u << SAND_TRACE_FIELD_END;
    const uint32_t sizes = 1u << SAND_TRACE_FIELD_PROCESSORS | 1u << SAND_TRACE_FIELD_NODES |
                           1u << SAND_TRACE_FIELD_GPUS;
    if (!(have & submit) || !(have & sizes) || (!(have & run) && (have & ends) != ends))
        return sand_fail(
            diag, SAND_ERR_INPUT,
            "column map: a trace needs submit, run (or start and end), and nodes, gpus "
            "or processors; write \"submit=COLUMN,run=COLUMN,gpus=COLUMN\"");
    return SAND_OK;
}

enum sand_rc trace_check_options(enum sand_trace_format format,
                                 const struct sand_trace_options *options, struct sand_diag *diag)
{
    if (options->walltime == SAND_TRACE_WALLTIME_FACTOR &&
        !(isfinite(options->walltime_factor) && options->walltime_factor >= 1.0))
        return sand_fail(diag, SAND_ERR_INPUT, "walltime factor is %g, must be at least 1",
                         options->walltime_factor);
    if (options->walltime_limit_ns < 0)
        return sand_fail(diag, SAND_ERR_INPUT, "walltime limit is negative");
    for (size_t i = 0; i < options->n_classes; i++)
        if (options->classes[i].speed == SAND_TRACE_MODEL &&
            (!options->classes[i].model || !options->classes[i].software ||
             options->classes[i].split.tp == 0 || !options->classes[i].placement))
            return sand_fail(
                diag, SAND_ERR_INPUT,
                "class \"%s\": speed=model needs a model, software, a split and the placement "
                "its durations were measured at",
                options->classes[i].id);
    return format == SAND_TRACE_CSV ? check_columns(options, diag) : SAND_OK;
}

// Cuts `text` at the first `mark`; the rest, or NULL.
static char *cut(char *text, char mark)
{
    char *p = strchr(text, mark);
    if (p)
        *p++ = '\0';
    return p;
}

static enum sand_rc read_column(char *item, struct sand_trace_column *column,
                                struct sand_diag *diag)
{
    char *name = cut(item, '=');
    if (!name || *name == '\0')
        return sand_fail(diag, SAND_ERR_INPUT,
                         "column map: \"%s\" names no column; write field=column or "
                         "field=column:unit",
                         item);
    char *unit = strrchr(name, ':');
    if (unit)
        *unit++ = '\0';
    for (int i = 0; i < SAND_TRACE_FIELD_COUNT; i++)
        if (strcmp(item, field_names[i]) == 0) {
            *column = (struct sand_trace_column){(enum sand_trace_fields)i, name, unit};
            return SAND_OK;
        }
    const char *near = sand_nearest(item, field_names, SAND_TRACE_FIELD_COUNT);
    return sand_fail(diag, SAND_ERR_INPUT, "column map: no field \"%s\"%s%s%s", item,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

enum sand_rc sand_trace_columns(char *text, struct sand_trace_column **columns, size_t *n_columns,
                                struct sand_diag *diag)
{
    size_t n = 1;
    for (const char *p = text; *p != '\0'; p++)
        n += *p == ',';
    struct sand_trace_column *map = sand_calloc(n, sizeof *map);
    if (!map)
        return sand_fail(diag, SAND_ERR_NOMEM, "column map: out of memory");
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; i < n && rc == SAND_OK; i++) {
        char *rest = cut(text, ',');
        rc = read_column(text, &map[i], diag);
        text = rest;
    }
    if (rc != SAND_OK) {
        sand_free(map);
        return rc;
    }
    *columns = map;
    *n_columns = n;
    return SAND_OK;
}

// ---- printing
// ------------------------------------------------------------------------------------

static void print_sizes(const struct sand_trace *trace, FILE *out)
{
    const struct sand_trace_options *options = &trace->options;
    uint32_t per = options->processors_per_node ? options->processors_per_node : 1;
    if (trace->format == SAND_TRACE_SWF)
        fprintf(out, "  sizes: nodes = %s processors / %u, rounded up\n",
                options->size == SAND_TRACE_ALLOCATED ? "allocated" : "requested", per);
    else if (trace->format == SAND_TRACE_CSV)
        fprintf(out, "  sizes: as mapped; from processors: nodes = processors / %u, rounded up\n",
                per);
    if (options->gpus_per_node > 0)
        fprintf(out, "  sizes: %u GPUs a node\n", options->gpus_per_node);
    fprintf(out, "  sizes: fractions %s\n", options->drop_fractions ? "dropped" : "rounded up");
    if (options->machine_nodes > 0)
        fprintf(out, "  machine: %u nodes\n", options->machine_nodes);
    if (options->machine_gpus > 0)
        fprintf(out, "  machine: %u GPUs\n", options->machine_gpus);
    if (trace->report.max_procs > 0)
        fprintf(out, "  machine: %" PRId64 " processors (MaxProcs)\n", trace->report.max_procs);
}

static void print_walltime(const struct sand_trace *trace, FILE *out)
{
    static const char *const rules[] = {"none", "the run time", "", ""};
    static const char *const overruns[] = {"kept as recorded", "cut to the request",
                                           "raise the request"};
    const struct sand_trace_options *options = &trace->options;
    char limit[32];
    fprintf(out, "  walltime of rows without a request: ");
    if (options->walltime == SAND_TRACE_WALLTIME_FACTOR)
        fprintf(out, "%g times the run time\n", options->walltime_factor);
    else if (options->walltime == SAND_TRACE_WALLTIME_LIMIT)
        fprintf(out, "the limit of the class, else %s\n",
                options->walltime_limit_ns > 0
                    ? sand_quantity_format(sand_s_from_ns(options->walltime_limit_ns),
                                           SAND_DIM_TIME, 6, limit, sizeof limit)
                    : "none");
    else
        fprintf(out, "%s\n", rules[options->walltime]);
    fprintf(out, "  runs longer than requested: %s\n", overruns[options->overrun]);
    fprintf(out, "  exact repeats: %s\n", options->drop_duplicates ? "dropped" : "kept");
    if (trace->csv && options->utc_offset_s != 0)
        fprintf(out, "  dates without a zone: UTC%+d s\n", (int)options->utc_offset_s);
    else if (trace->csv)
        fprintf(out, "  dates without a zone: UTC\n");
}

static void print_reasons(const struct sand_trace *trace, FILE *out)
{
    static const char *const effects[] = {"dropped", "changed", "noted"};
    for (int i = 0; i < SAND_TRACE_REASON_COUNT; i++) {
        const struct sand_trace_tally *tally = &trace->report.reasons[i];
        if (tally->rows == 0)
            continue;
        fprintf(out, "  %-7s %8" PRIu64 "  %s%s%s%s; line%s", effects[reasons[i].effect],
                tally->rows, reasons[i].text, *tally->detail ? ": \"" : "", tally->detail,
                *tally->detail ? "\"" : "", tally->rows > 1 ? "s" : "");
        for (uint64_t k = 0; k < tally->rows && k < SAND_TRACE_FIRST_LINES; k++)
            fprintf(out, "%s %ld", k > 0 ? "," : "", tally->lines[k]);
        fprintf(out, "%s\n", tally->rows > SAND_TRACE_FIRST_LINES ? ", ..." : "");
    }
}

static void print_counts(const struct sand_trace *trace, FILE *out)
{
    const struct sand_trace_report *report = &trace->report;
    for (int i = 0; i < SAND_TRACE_STATUSES; i++)
        if (report->statuses[i] > 0)
            fprintf(out, "  status  %8" PRIu64 "  %s\n", report->statuses[i], status_name(i));
    for (size_t i = 0; i < trace->options.n_classes; i++)
        fprintf(out, "  class   %8" PRIu64 "  %s\n", report->classes[i],
                trace->options.classes[i].id);
}

// Most jobs hold whole nodes; what that adds is told whatever the source counts in.
static void print_held(const struct sand_trace *trace, FILE *out)
{
    const struct sand_trace_report *report = &trace->report;
    const uint32_t per = trace->options.gpus_per_node;
    const double hours = (per > 0 ? per : 1) / 3600.0;
    if (!(report->node_s > 0))
        return; // sizes in GPUs, and nobody said how many a node has
    fprintf(out,
            "  %" PRIu64 " of %" PRIu64 " rows do not fill their last node, which is held whole%s: "
            "%.6g %s-hours asked for, %.6g held\n",
            report->part_node, report->kept,
            trace->options.shares_nodes ? SAND_TRACE_SHARED_NODES : "",
            report->asked_node_s * hours, per > 0 ? "GPU" : "node", report->node_s * hours);
}

void sand_trace_report_print(const struct sand_trace *trace, FILE *out)
{
    static const char *const formats[] = {"SWF", "Philly CSV", "CSV"};
    const struct sand_trace_report *report = &trace->report;
    char span[32];
    fprintf(out, "%s (%s, %s)\n", trace->path, formats[trace->format],
            trace_lines_packing(trace->lines));
    print_sizes(trace, out);
    print_walltime(trace, out);
    fprintf(out,
            "  %" PRIu64 " rows = %" PRIu64 " kept (%" PRIu64 " changed) + %" PRIu64 " dropped\n",
            report->rows, report->kept, report->changed, report->dropped);
    fprintf(out, "  submits over %s; %.6g node-hours, %.6g GPU-hours\n",
            sand_quantity_format(sand_s_from_ns(report->last_submit_ns), SAND_DIM_TIME, 6, span,
                                 sizeof span),
            report->node_s / 3600, report->gpu_s / 3600);
    print_held(trace, out);
    if (report->held_rows > 0)
        fprintf(out, "  sorted by submit time: at most %" PRIu64 " rows (%.1f MB) held back\n",
                report->held_rows, (double)report->held_B * 1e-6);
    print_reasons(trace, out);
    print_counts(trace, out);
}
