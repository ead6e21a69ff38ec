// Two readings of a trace: the first learns how far rows are out of order, the second gives them
// out in order and holds back no more than that. SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "ids.h"
#include "tracerow.h"

static enum sand_rc no_memory(const struct sand_trace *trace, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", trace->path);
}

// A row as it was read and judged.
struct read_row {
    struct trace_line line; // text is NULL at the end of the file
    struct trace_raw raw;
    struct sand_trace_job job;
    struct trace_key key;
    uint32_t reasons;
    double asked_nodes;
    enum sand_trace_reason reason; // TRACE_KEEP, or why it is dropped
    const char *detail;
};

// ---- one row
// -------------------------------------------------------------------------------------

static int is_row(struct sand_trace *trace, const struct trace_line *line)
{
    const char *text = line->text + strspn(line->text, " \t");
    if (trace->format == SAND_TRACE_SWF && *text == ';' && !line->binary) {
        trace_swf_header(text, &trace->report);
        return 0;
    }
    return *text != '\0' || line->too_long;
}

static enum sand_rc parse_row(struct sand_trace *trace, struct read_row *row,
                              struct sand_diag *diag)
{
    row->detail = "";
    if (row->line.too_long || row->line.binary) {
        row->reason = row->line.too_long ? SAND_TRACE_TOO_LONG : SAND_TRACE_BINARY;
        return SAND_OK;
    }
    row->key = trace_key_of(row->line.text, row->line.length);
    if (trace->csv)
        return trace_csv_row(trace, &row->line, &row->raw, &row->reason, &row->detail, diag);
    row->reason = trace_swf_row(row->line.text, &row->raw, &row->detail);
    return SAND_OK;
}

// The next row of the file, judged.
static enum sand_rc read_row(struct sand_trace *trace, struct read_row *row, struct sand_diag *diag)
{
    do
        SAND_TRY(trace_lines_next(trace->lines, &row->line, diag));
    while (row->line.text && !is_row(trace, &row->line));
    if (!row->line.text)
        return SAND_OK;
    trace->row++;
    SAND_TRY(parse_row(trace, row, diag));
    if (row->reason == TRACE_KEEP)
        row->reason = trace_judge(trace, &row->raw, &row->job, &row->reasons, &row->asked_nodes);
    row->job.line = row->line.number;
    if (row->reason == TRACE_KEEP && row->line.last)
        row->reasons |= (uint32_t)1 << SAND_TRACE_NO_NEWLINE;
    return SAND_OK;
}

// ---- first reading
// -------------------------------------------------------------------------------

struct survey {
    int64_t latest_ns;
    uint64_t last_id;
    enum sand_trace_reason reason; // of the first row that is dropped
    long line;
    char detail[40];
};

static int decimal_id(const char *text, uint64_t *id)
{
    *id = 0;
    if (*text == '\0')
        return 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(*id, 10, id) ||
            __builtin_add_overflow(*id, (uint64_t)(*text - '0'), id))
            return 0;
    return *text == '\0';
}

static void survey_kept(struct sand_trace *trace, struct survey *survey,
                        const struct sand_trace_job *job)
{
    int first = trace->kept++ == 0;
    int64_t late = 0;
    uint64_t id = 0;
    if (first || job->submit_ns < trace->first_submit_ns)
        trace->first_submit_ns = job->submit_ns;
    if (first || job->submit_ns >= survey->latest_ns)
        survey->latest_ns = job->submit_ns;
    else if (__builtin_sub_overflow(survey->latest_ns, job->submit_ns, &late))
        late = INT64_MAX;
    if (late > trace->lateness_ns)
        trace->lateness_ns = late;
    // Without a column of ids the number of the row is the id.
    if (*job->id != '\0' && (!decimal_id(job->id, &id) || (!first && id <= survey->last_id)))
        trace->ids_ascend = 0;
    survey->last_id = id;
}

static void survey_dropped(struct survey *survey, const struct read_row *row)
{
    if (survey->line != 0)
        return;
    survey->reason = row->reason;
    survey->line = row->line.number;
    memcpy(survey->detail, row->detail, strnlen(row->detail, sizeof survey->detail - 1));
}

static enum sand_rc refuse(const struct sand_trace *trace, const struct survey *survey,
                           struct sand_diag *diag)
{
    static const char *const formats[] = {"SWF", "a Philly CSV", "a CSV with these columns"};
    if (trace->row == 0)
        return sand_fail(diag, SAND_ERR_INPUT, "%s: holds no rows", trace->path);
    sand_diag_add(diag, SAND_ERROR, trace->path, survey->line,
                  "none of its %" PRIu64 " rows can be used as %s; the first one %s%s%s%s",
                  trace->row, formats[trace->format], sand_trace_reason_text(survey->reason),
                  *survey->detail ? ": \"" : "", survey->detail, *survey->detail ? "\"" : "");
    return SAND_ERR_INPUT;
}

static enum sand_rc survey_trace(struct sand_trace *trace, struct sand_diag *diag)
{
    struct survey survey = {0};
    struct read_row row;
    int64_t span;
    trace->ids_ascend = 1;
    if (trace->csv)
        SAND_TRY(trace_csv_header(trace, diag));
    for (;;) {
        SAND_TRY(read_row(trace, &row, diag));
        if (!row.line.text)
            break;
        if (row.reason == TRACE_KEEP)
            survey_kept(trace, &survey, &row.job);
        else
            survey_dropped(&survey, &row);
    }
    if (trace->kept == 0)
        return refuse(trace, &survey, diag);
    if (__builtin_sub_overflow(survey.latest_ns, trace->first_submit_ns, &span))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: submit times lie more than 292 years apart; check their unit",
                         trace->path);
    return SAND_OK;
}

// ---- opening and closing
// -------------------------------------------------------------------------

static enum sand_rc open_lines(struct sand_trace *trace, struct sand_diag *diag)
{
    trace->report.max_nodes = trace->report.max_procs = trace->report.max_jobs = -1;
    trace->report.unix_start_s = -1;
    trace->report.zone_s = INT32_MIN;
    SAND_TRY(trace_lines_open(trace->path, &trace->lines, diag));
    return trace->format == SAND_TRACE_SWF ? SAND_OK : trace_csv_open(trace, diag);
}

static enum sand_rc begin_giving(struct sand_trace *trace, struct sand_diag *diag)
{
    if (trace->csv)
        SAND_TRY(trace_csv_header(trace, diag));
    trace->row = 0;
    trace->latest_ns = trace->released_ns = INT64_MIN;
    trace->report.first_submit_ns = trace->first_submit_ns;
    return SAND_OK;
}

static enum sand_rc prepare(struct sand_trace *trace, struct sand_diag *diag)
{
    SAND_TRY(open_lines(trace, diag));
    SAND_TRY(survey_trace(trace, diag));
    SAND_TRY(trace_lines_rewind(trace->lines, diag));
    trace->counting = 1;
    return begin_giving(trace, diag);
}

static enum sand_rc make(const char *path, enum sand_trace_format format,
                         const struct sand_trace_options *options, struct sand_trace **trace,
                         struct sand_diag *diag)
{
    struct sand_trace *t = sand_calloc(1, sizeof *t);
    if (!t)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    t->format = format;
    t->options = *options;
    t->path = sand_calloc(strlen(path) + 1, 1);
    t->classes = sand_calloc(options->n_classes, sizeof *t->classes);
    t->report.classes = t->classes;
    if (!t->path || !t->classes) {
        sand_trace_close(t);
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    }
    memcpy(t->path, path, strlen(path) + 1);
    *trace = t;
    return SAND_OK;
}

static enum sand_rc keep_or_close(enum sand_rc rc, struct sand_trace *made,
                                  struct sand_trace **trace)
{
    if (rc == SAND_OK)
        *trace = made;
    else
        sand_trace_close(made);
    return rc;
}

enum sand_rc sand_trace_open(const char *path, enum sand_trace_format format,
                             const struct sand_trace_options *options, struct sand_trace **trace,
                             struct sand_diag *diag)
{
    static const struct sand_trace_options defaults;
    struct sand_trace *made;
    options = options ? options : &defaults;
    SAND_TRY(trace_check_options(format, options, diag));
    SAND_TRY(make(path, format, options, &made, diag));
    return keep_or_close(prepare(made, diag), made, trace);
}

enum sand_rc sand_trace_again(const struct sand_trace *known, struct sand_trace **trace,
                              struct sand_diag *diag)
{
    struct sand_trace *made;
    SAND_TRY(make(known->path, known->format, &known->options, &made, diag));
    made->first_submit_ns = known->first_submit_ns;
    made->lateness_ns = known->lateness_ns;
    made->kept = known->kept;
    made->ids_ascend = known->ids_ascend;
    enum sand_rc rc = open_lines(made, diag);
    if (rc == SAND_OK)
        rc = begin_giving(made, diag);
    return keep_or_close(rc, made, trace);
}

// Held rows travel through the agenda as numbers; they never decide an order.
static struct trace_held *held_of(const struct sand_agenda_entry *entry)
{
    return (struct trace_held *)(uintptr_t)entry->subject;
}

void sand_trace_close(struct sand_trace *trace)
{
    struct sand_agenda_entry entry;
    if (!trace)
        return;
    while (sand_agenda_take(&trace->agenda, &entry))
        sand_free(held_of(&entry));
    sand_agenda_clear(&trace->agenda);
    sand_free(trace->given);
    trace_set_clear(&trace->ids);
    trace_set_clear(&trace->instant);
    trace_csv_close(trace->csv);
    trace_lines_close(trace->lines);
    sand_free(trace->classes);
    sand_free(trace->path);
    sand_free(trace);
}

const struct sand_trace_report *sand_trace_report(const struct sand_trace *trace)
{
    return &trace->report;
}

// ---- second reading
// ------------------------------------------------------------------------------

static const char *copy_text(char **to, const char *from)
{
    size_t size = strlen(from) + 1;
    char *copy = memcpy(*to, from, size);
    *to += size;
    return copy;
}

// A copy of the row that outlives its line; NULL if out of memory.
static struct trace_held *hold(const struct sand_trace *trace, const struct read_row *row)
{
    char number[24];
    struct sand_trace_job job = row->job;
    snprintf(number, sizeof number, "%" PRIu64, trace->row);
    if (*job.id == '\0')
        job.id = number;
    const char **texts[] = {&job.id,    &job.user,      &job.account,
                            &job.queue, &job.partition, &job.name};
    size_t size = sizeof(struct trace_held);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        size += strlen(*texts[i]) + 1;
    struct trace_held *held = sand_calloc(1, size);
    if (!held)
        return NULL;
    char *to = held->texts;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = copy_text(&to, *texts[i]);
    held->job = job;
    held->key = row->key;
    held->reasons = row->reasons;
    held->asked_nodes = row->asked_nodes;
    held->bytes = size;
    return held;
}

static enum sand_rc put(struct sand_trace *trace, const struct read_row *row,
                        struct sand_diag *diag)
{
    struct trace_held *held = hold(trace, row);
    if (!held)
        return no_memory(trace, diag);
    struct sand_agenda_entry entry = {.date = row->job.submit_ns,
                                      .subject = (uint64_t)(uintptr_t)held};
    if (sand_agenda_put(&trace->agenda, entry, NULL) != SAND_OK) {
        sand_free(held);
        return no_memory(trace, diag);
    }
    trace->held_B += held->bytes;
    return SAND_OK;
}

static void note_held(struct sand_trace *trace)
{
    // A row alone in the agenda is on its way out.
    if (trace->agenda.n > 1 && trace->agenda.n - 1 > trace->report.held_rows)
        trace->report.held_rows = trace->agenda.n - 1;
    if (trace->agenda.n > 1 && trace->held_B > trace->report.held_B)
        trace->report.held_B = trace->held_B;
}

// Reads one row into the agenda, or drops it.
static enum sand_rc advance(struct sand_trace *trace, struct sand_diag *diag)
{
    struct read_row row;
    SAND_TRY(read_row(trace, &row, diag));
    trace->ended = !row.line.text;
    if (trace->ended)
        return SAND_OK;
    trace->report.rows++;
    if (row.reason != TRACE_KEEP) {
        trace->report.dropped++;
        trace_note(trace, row.line.number, row.reason, row.detail);
        return SAND_OK;
    }
    if (row.job.submit_ns < trace->latest_ns)
        row.reasons |= (uint32_t)1 << SAND_TRACE_UNSORTED;
    else
        trace->latest_ns = row.job.submit_ns;
    trace_note_all(trace, row.line.number, row.reasons);
    SAND_TRY(put(trace, &row, diag));
    note_held(trace);
    return SAND_OK;
}

// No row still to be read was submitted before this one. Of equal submit times the row read first
// goes first, so it need not wait for those that follow.
static int may_go(const struct sand_trace *trace, const struct sand_agenda_entry *entry)
{
    int64_t age;
    return trace->ended || __builtin_sub_overflow(trace->latest_ns, entry->date, &age) ||
           age >= trace->lateness_ns;
}

static enum sand_rc check_repeats(struct sand_trace *trace, const struct trace_held *held,
                                  int *drop, struct sand_diag *diag)
{
    int repeats = 0, same_id = 0;
    const struct sand_trace_job *job = &held->job;
    if (job->submit_ns != trace->released_ns)
        trace_set_empty(&trace->instant);
    if (trace_set_add(&trace->instant, held->key, &repeats) != SAND_OK)
        return no_memory(trace, diag);
    if (trace->counting && !trace->ids_ascend &&
        trace_set_add(&trace->ids, trace_key_of(job->id, strlen(job->id)), &same_id) != SAND_OK)
        return no_memory(trace, diag);
    *drop = repeats && trace->options.drop_duplicates;
    if (repeats)
        trace_note(trace, job->line, *drop ? SAND_TRACE_DUPLICATE_DROPPED : SAND_TRACE_DUPLICATE,
                   "");
    else if (same_id)
        trace_note(trace, job->line, SAND_TRACE_SAME_ID, job->id);
    return SAND_OK;
}

static int is_changed(uint32_t reasons)
{
    for (int i = 0; i < SAND_TRACE_REASON_COUNT; i++)
        if (reasons >> i & 1 && sand_trace_reason_effect(i) == SAND_TRACE_CHANGED)
            return 1;
    return 0;
}

static void count_kept(struct sand_trace *trace, struct trace_held *held)
{
    struct sand_trace_job *job = &held->job;
    struct sand_trace_report *report = &trace->report;
    report->kept++;
    report->changed += (uint64_t)is_changed(held->reasons);
    report->statuses[job->status]++;
    if (job->job_class != SAND_NONE)
        trace->classes[job->job_class]++;
    const int shares = trace->options.shares_nodes && job->nodes == 1;
    report->node_s +=
        (shares ? held->asked_nodes : (double)job->nodes) * ((double)job->run_ns * 1e-9);
    report->asked_node_s += held->asked_nodes * ((double)job->run_ns * 1e-9);
    report->part_node += held->reasons >> SAND_TRACE_PART_NODE & 1;
    report->gpu_s += (double)job->gpus * ((double)job->run_ns * 1e-9);
    report->last_submit_ns = job->submit_ns;
}

// From the file's time to time since the first submit.
static void shift(const struct sand_trace *trace, struct sand_trace_job *job)
{
    job->submit_ns -= trace->first_submit_ns;
    if (job->start_ns == TRACE_UNKNOWN)
        job->start_ns = -1;
    else if (__builtin_sub_overflow(job->start_ns, trace->first_submit_ns, &job->start_ns))
        job->start_ns = INT64_MAX;
}

// The first reading promised an order and a number of rows.
static enum sand_rc changed(const struct sand_trace *trace, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_IO, "%s: was changed while it was read; read it again",
                     trace->path);
}

// Takes the first held row out; *drop if it is not to be given.
static enum sand_rc release(struct sand_trace *trace, int *drop, struct sand_diag *diag)
{
    struct sand_agenda_entry entry;
    sand_agenda_take(&trace->agenda, &entry);
    struct trace_held *held = held_of(&entry);
    trace->held_B -= held->bytes;
    trace->given = held; // freed by the next call, whatever happens
    if (entry.date < trace->released_ns || entry.date < trace->first_submit_ns)
        return changed(trace, diag);
    SAND_TRY(check_repeats(trace, held, drop, diag));
    trace->released_ns = entry.date;
    if (*drop) {
        trace->report.dropped++;
        trace->repeats++;
        return SAND_OK;
    }
    shift(trace, &held->job);
    held->job.index = trace->next_index++;
    count_kept(trace, held);
    return SAND_OK;
}

enum sand_rc sand_trace_next(struct sand_trace *trace, const struct sand_trace_job **job,
                             struct sand_diag *diag)
{
    *job = NULL;
    for (;;) {
        const struct sand_agenda_entry *first = sand_agenda_peek(&trace->agenda);
        int drop = 0;
        if (first && may_go(trace, first)) {
            sand_free(trace->given);
            trace->given = NULL;
            SAND_TRY(release(trace, &drop, diag));
            if (drop)
                continue;
            *job = &trace->given->job;
            return SAND_OK;
        }
        if (trace->ended)
            break;
        SAND_TRY(advance(trace, diag));
    }
    trace_set_clear(&trace->ids); // the report stays
    return trace->report.kept + trace->repeats == trace->kept ? SAND_OK : changed(trace, diag);
}
