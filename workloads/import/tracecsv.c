// CSV with a header line through libcsv; one line is one row, so that a lost quote costs one row.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "ids.h"
#include "tracerow.h"

enum { MAX_COLUMNS = 1024 };

// Philly as petuum/adaptdl has it (simulator/traces/philly.csv): UTC is our reading of its dates,
// which state no zone.
static const struct sand_trace_column philly[] = {{SAND_TRACE_FIELD_SUBMIT, "timestamp", "date"},
                                                  {SAND_TRACE_FIELD_RUN, "duration", "s"},
                                                  {SAND_TRACE_FIELD_GPUS, "num_gpus", "1"},
                                                  {SAND_TRACE_FIELD_PARTITION, "cluster", NULL}};

struct trace_csv {
    struct csv_parser parser;
    const struct sand_trace_column *columns;
    size_t n_columns;
    const struct trace_unit *units[SAND_TRACE_FIELD_COUNT];
    int is_slurm; // a column has a notation of Slurm: ids with a dot are steps of jobs
    uint32_t at[SAND_TRACE_FIELD_COUNT]; // position of a field in the row, SAND_NONE: not mapped
    size_t n_header;
    // The row being read: its texts one after another, each with a NUL.
    size_t used, n;
    int too_many;
    char text[2 * TRACE_LINE_MAX];
    size_t begins[MAX_COLUMNS];
};

// ---- rows through libcsv
// -------------------------------------------------------------------------

static void *csv_realloc(void *block, size_t size)
{
    return sand_realloc(block, 1, size);
}

static void take_field(void *field, size_t length, void *self)
{
    struct trace_csv *csv = self;
    if (csv->n == MAX_COLUMNS || csv->used + length + 1 > sizeof csv->text) {
        csv->too_many = 1;
        return;
    }
    csv->begins[csv->n++] = csv->used;
    memcpy(csv->text + csv->used, field, length);
    csv->used += length;
    csv->text[csv->used++] = '\0';
}

static void take_row(int end, void *self)
{
    (void)end;
    (void)self; // a row is a line
}

// Between bars quotes are letters: sacct writes names of jobs as they are. (A row with the control
// character that quotes are here instead does not get this far.)
static void init_parser(struct trace_csv *csv, char delimiter)
{
    csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_realloc_func(&csv->parser, csv_realloc);
    csv_set_free_func(&csv->parser, sand_free);
    csv_set_delim(&csv->parser, (unsigned char)delimiter);
    if (delimiter == '|')
        csv_set_quote(&csv->parser, 1);
}

static enum sand_trace_reason split_line(struct trace_csv *csv, const struct trace_line *line,
                                         int *out_of_memory)
{
    csv->used = csv->n = 0;
    csv->too_many = 0;
    size_t taken = csv_parse(&csv->parser, line->text, line->length, take_field, take_row, csv);
    int failed = taken != line->length || csv_fini(&csv->parser, take_field, take_row, csv) != 0;
    if (!failed)
        return csv->too_many ? SAND_TRACE_TOO_LONG : TRACE_KEEP;
    *out_of_memory = csv_error(&csv->parser) == CSV_ENOMEM;
    char delimiter = (char)csv_get_delim(&csv->parser);
    csv_free(&csv->parser); // back to the beginning of a row
    init_parser(csv, delimiter);
    return SAND_TRACE_QUOTING;
}

// ---- columns
// -------------------------------------------------------------------------------------

static int is_time(enum sand_trace_fields field)
{
    return field >= SAND_TRACE_FIELD_SUBMIT && field <= SAND_TRACE_FIELD_REQUEST;
}

enum sand_rc trace_csv_open(struct sand_trace *trace, struct sand_diag *diag)
{
    struct trace_csv *csv = sand_calloc(1, sizeof *csv);
    if (!csv)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", trace->path);
    trace->csv = csv;
    init_parser(csv, trace->options.delimiter != '\0' ? trace->options.delimiter : ',');
    int preset = trace->format == SAND_TRACE_PHILLY;
    csv->columns = preset ? philly : trace->options.columns;
    csv->n_columns = preset ? sizeof philly / sizeof philly[0] : trace->options.n_columns;
    for (size_t i = 0; i < csv->n_columns; i++) {
        const struct sand_trace_column *column = &csv->columns[i];
        const char *unit = column->unit;
        csv->units[column->field] = is_time(column->field) ? trace_time_unit(unit ? unit : "s")
                                                           : trace_size_unit(unit ? unit : "1");
        csv->is_slurm |= csv->units[column->field]->notation >= TRACE_AS_CLOCK;
    }
    return SAND_OK;
}

void trace_csv_close(struct trace_csv *csv)
{
    if (!csv)
        return;
    csv_free(&csv->parser);
    sand_free(csv);
}

static enum sand_rc missing_column(const struct sand_trace *trace, const char *name,
                                   struct sand_diag *diag)
{
    const struct trace_csv *csv = trace->csv;
    const char *names[MAX_COLUMNS];
    for (size_t i = 0; i < csv->n; i++)
        names[i] = csv->text + csv->begins[i];
    const char *near = sand_nearest(name, names, csv->n);
    sand_diag_add(diag, SAND_ERROR, trace->path, 1,
                  "no column \"%s\" in the header line%s%s%s (it has %zu columns, the first is "
                  "\"%s\")",
                  name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "",
                  csv->n, csv->n > 0 ? names[0] : "");
    return SAND_ERR_INPUT;
}

// The first column of the name from `from` on; the number of columns: none.
static size_t column_named(const struct trace_csv *csv, const char *name, size_t from)
{
    while (from < csv->n && strcmp(csv->text + csv->begins[from], name) != 0)
        from++;
    return from;
}

static enum sand_rc find_column(struct sand_trace *trace, const struct sand_trace_column *column,
                                struct sand_diag *diag)
{
    struct trace_csv *csv = trace->csv;
    const size_t at = column_named(csv, column->column, 0);
    if (at == csv->n)
        return missing_column(trace, column->column, diag);
    const size_t again = column_named(csv, column->column, at + 1);
    csv->at[column->field] = (uint32_t)at;
    if (again == csv->n)
        return SAND_OK;
    sand_diag_add(diag, SAND_ERROR, trace->path, 1,
                  "columns %zu and %zu are both \"%s\"; rename the one that is not meant", at + 1,
                  again + 1, column->column);
    return SAND_ERR_INPUT;
}

// As the caller says, else a comma, or what parts the columns of a header line that has none.
static char delimiter_of(const struct sand_trace *trace, const struct trace_line *line)
{
    static const char others[] = "|\t;";
    if (trace->options.delimiter != '\0' || trace->format == SAND_TRACE_PHILLY)
        return (char)csv_get_delim(&trace->csv->parser);
    for (size_t i = 0; others[i] != '\0' && !memchr(line->text, ',', line->length); i++)
        if (memchr(line->text, others[i], line->length))
            return others[i];
    return ',';
}

enum sand_rc trace_csv_header(struct sand_trace *trace, struct sand_diag *diag)
{
    struct trace_csv *csv = trace->csv;
    struct trace_line line;
    int no_memory = 0;
    SAND_TRY(trace_lines_next(trace->lines, &line, diag));
    if (!line.text)
        return sand_fail(diag, SAND_ERR_INPUT, "%s: is empty; a CSV begins with a header line",
                         trace->path);
    const char delimiter = delimiter_of(trace, &line);
    if (delimiter != (char)csv_get_delim(&csv->parser)) {
        csv_free(&csv->parser);
        init_parser(csv, delimiter);
    }
    if (line.binary || line.too_long || split_line(csv, &line, &no_memory) != TRACE_KEEP)
        return no_memory ? sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", trace->path)
                         : sand_fail(diag, SAND_ERR_INPUT, "%s: line 1 is no header line of a CSV",
                                     trace->path);
    enum sand_rc rc = SAND_OK;
    for (int i = 0; i < SAND_TRACE_FIELD_COUNT; i++)
        csv->at[i] = SAND_NONE;
    for (size_t i = 0; i < csv->n_columns; i++)
        if (find_column(trace, &csv->columns[i], diag) != SAND_OK)
            rc = SAND_ERR_INPUT;
    csv->n_header = csv->n;
    return rc;
}

// ---- fields
// --------------------------------------------------------------------------------------

// "" if the column is not mapped.
static const char *text_of(const struct trace_csv *csv, enum sand_trace_fields field)
{
    return csv->at[field] == SAND_NONE ? "" : csv->text + csv->begins[csv->at[field]];
}

// An empty field is unknown. 0 if it is not what the column should hold.
static int number_of(const struct sand_trace *trace, enum sand_trace_fields field, int64_t *value,
                     const char **detail)
{
    const struct trace_unit *unit = trace->csv->units[field];
    const char *text = text_of(trace->csv, field);
    *value = TRACE_UNKNOWN;
    if (trace_is_unknown(text))
        return 1;
    const char *resource = field == SAND_TRACE_FIELD_GPUS    ? "gres/gpu"
                           : field == SAND_TRACE_FIELD_NODES ? "node"
                                                             : "cpu";
    int is_read = 0;
    switch (unit->notation) {
    case TRACE_AS_DATE:
        is_read = trace_date(text, trace->options.utc_offset_s, value);
        break;
    case TRACE_AS_CLOCK:
        is_read = trace_clock(text, value);
        break;
    case TRACE_AS_TRES:
        is_read = trace_tres(text, resource, value);
        break;
    case TRACE_AS_NUMBER:
        is_read = trace_number(text, unit, value);
    }
    if (is_read)
        return 1;
    *detail = text;
    return 0;
}

static int read_numbers(const struct sand_trace *trace, struct trace_raw *raw, const char **detail)
{
    const struct {
        enum sand_trace_fields field;
        int64_t *value;
    } fields[] = {{SAND_TRACE_FIELD_SUBMIT, &raw->submit_ns},
                  {SAND_TRACE_FIELD_WAIT, &raw->wait_ns},
                  {SAND_TRACE_FIELD_START, &raw->start_ns},
                  {SAND_TRACE_FIELD_END, &raw->end_ns},
                  {SAND_TRACE_FIELD_RUN, &raw->run_ns},
                  {SAND_TRACE_FIELD_REQUEST, &raw->request_ns},
                  {SAND_TRACE_FIELD_PROCESSORS, &raw->requested},
                  {SAND_TRACE_FIELD_NODES, &raw->nodes},
                  {SAND_TRACE_FIELD_GPUS, &raw->gpus}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!number_of(trace, fields[i].field, fields[i].value, detail))
            return 0;
    raw->allocated = raw->requested;
    if (raw->wait_ns < 0)
        raw->wait_ns = TRACE_UNKNOWN;
    if (raw->request_ns <= 0)
        raw->request_ns = TRACE_UNKNOWN;
    return 1;
}

// The words of Slurm, Philly, Acme, Kubernetes and SWF.
static void set_status(struct trace_raw *raw, const char *text)
{
    static const struct {
        const char *word;
        enum sand_trace_status status;
    } words[] = {{"", SAND_TRACE_UNKNOWN},
                 {"-1", SAND_TRACE_UNKNOWN},
                 {"completed", SAND_TRACE_COMPLETED},
                 {"pass", SAND_TRACE_COMPLETED},
                 {"succeeded", SAND_TRACE_COMPLETED},
                 {"terminated", SAND_TRACE_COMPLETED},
                 {"1", SAND_TRACE_COMPLETED},
                 {"failed", SAND_TRACE_FAILED},
                 {"node_fail", SAND_TRACE_FAILED},
                 {"boot_fail", SAND_TRACE_FAILED},
                 {"out_of_memory", SAND_TRACE_FAILED},
                 {"0", SAND_TRACE_FAILED},
                 {"cancelled", SAND_TRACE_CANCELLED},
                 {"canceled", SAND_TRACE_CANCELLED},
                 {"killed", SAND_TRACE_CANCELLED},
                 {"preempted", SAND_TRACE_CANCELLED},
                 {"revoked", SAND_TRACE_CANCELLED},
                 {"5", SAND_TRACE_CANCELLED},
                 {"timeout", SAND_TRACE_TIMEOUT},
                 {"deadline", SAND_TRACE_TIMEOUT}};
    size_t length = strcspn(text, " +"); // "CANCELLED by 1000", "CANCELLED+"
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, text, length) == 0) {
            raw->status = words[i].status;
            return;
        }
    raw->new_status = 1;
}

enum sand_rc trace_csv_row(struct sand_trace *trace, const struct trace_line *line,
                           struct trace_raw *raw, enum sand_trace_reason *reason,
                           const char **detail, struct sand_diag *diag)
{
    struct trace_csv *csv = trace->csv;
    int no_memory = 0;
    *reason = split_line(csv, line, &no_memory);
    if (no_memory)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", trace->path);
    if (*reason == TRACE_KEEP && csv->n < csv->n_header)
        *reason = SAND_TRACE_FEW_FIELDS;
    if (*reason != TRACE_KEEP)
        return SAND_OK;
    *raw = (struct trace_raw){.id = text_of(csv, SAND_TRACE_FIELD_ID),
                              .user = text_of(csv, SAND_TRACE_FIELD_USER),
                              .account = text_of(csv, SAND_TRACE_FIELD_ACCOUNT),
                              .queue = text_of(csv, SAND_TRACE_FIELD_QUEUE),
                              .partition = text_of(csv, SAND_TRACE_FIELD_PARTITION),
                              .name = text_of(csv, SAND_TRACE_FIELD_NAME),
                              .extra_fields = csv->n > csv->n_header};
    raw->partial = csv->is_slurm && strchr(raw->id, '.') != NULL; // 1234.batch, 1234.0
    set_status(raw, text_of(csv, SAND_TRACE_FIELD_STATUS));
    if (!read_numbers(trace, raw, detail))
        *reason = SAND_TRACE_BAD_NUMBER;
    return SAND_OK;
}
