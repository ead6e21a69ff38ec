// A CSV through libcsv into texts by column, record by record: what breaks one leaves the others.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "csvrows.h"

#include <string.h>

#include <csv.h>

#include "filegate.h"

enum { MOST_FIELDS = 256, MOST_BYTES = 64 << 20, MOST_RECORD = 1 << 20, MOST_BROKEN = 1000 };

struct reading {
    struct sand_csv_rows *rows;
    const char *const *names;
    uint64_t needed;
    struct csv_parser parser;
    const char *path;
    const char *text;
    size_t size, at, line;      // of what is read next; lines count from 1
    size_t record, record_line; // where the record began
    int column_of[MOST_FIELDS]; // of a field's position; -1: ignored
    size_t n_header;            // fields of the header; 0: not read yet
    size_t field, filled;       // fields of the record so far, and up to the last that is not empty
    const char *row[SAND_CSV_COLUMNS];
    unsigned char control; // a character of the record that no text has; 0: none
    int ended;             // the record is complete
    size_t n_broken;
    char separator; // that the header seems to mean instead of commas
    enum sand_rc rc;
};

// ---- cells --------------------------------------------------------------------------------------

static void take_header(struct reading *r, const char *text, size_t length)
{
    for (size_t c = 0; c < r->rows->n_columns; c++)
        if (strlen(r->names[c]) == length && strncasecmp(r->names[c], text, length) == 0)
            r->column_of[r->field] = (int)c;
    for (const char *s = ";\t|"; r->field == 0 && *s != '\0'; s++)
        if (length > 0 && memchr(text, *s, length) != NULL)
            r->separator = *s;
}

static void note_control(struct reading *r, const char *text, size_t length)
{
    for (size_t i = 0; i < length && r->control == 0; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
            r->control = c == 0 ? 0x80 : c;
    }
}

// How people and spreadsheets write that there is nothing to write.
static int is_nothing(const char *text, size_t length)
{
    static const char *const words[] = {"-", "--", "\xe2\x80\x93", "\xe2\x80\x94", "n/a", "na"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncasecmp(text, words[i], length) == 0)
            return 1;
    return 0;
}

static void take_field(void *bytes, size_t length, void *self)
{
    struct reading *r = self;
    note_control(r, bytes, length);
    if (r->field < MOST_FIELDS && r->n_header == 0) {
        take_header(r, bytes, length);
    } else if (r->field < MOST_FIELDS && r->column_of[r->field] >= 0) {
        char *copy = sand_arena_alloc(&r->rows->arena, length + 1, 1);
        if (copy == NULL)
            r->rc = SAND_ERR_NOMEM;
        else if (length > 0 && !is_nothing(bytes, length))
            memcpy(copy, bytes, length);
        r->row[r->column_of[r->field]] = copy;
    }
    r->field++;
    if (length > 0)
        r->filled = r->field;
}

// ---- rows ---------------------------------------------------------------------------------------

static void keep_row(struct reading *r, const char *fault)
{
    struct sand_csv_rows *rows = r->rows;
    void *array = rows->cells;
    const size_t stride = rows->n_columns + 1;
    if (r->rc == SAND_OK)
        r->rc = sand_grow(&array, &rows->capacity, (rows->n + 1) * stride, sizeof *rows->cells);
    if (r->rc != SAND_OK)
        return;
    rows->cells = array;
    const char **cells = &rows->cells[rows->n * stride];
    for (size_t c = 0; c < rows->n_columns; c++)
        cells[c] = fault != NULL || r->row[c] == NULL ? "" : r->row[c];
    if (cells[0][0] == '\0')
        cells[0] = sand_arena_printf(&rows->arena, "line %zu", r->record_line);
    cells[rows->n_columns] = fault;
    if (cells[0] == NULL)
        r->rc = SAND_ERR_NOMEM;
    rows->n++;
}

static void keep_fault(struct reading *r, const char *fault)
{
    r->n_broken++;
    if (fault == NULL)
        r->rc = SAND_ERR_NOMEM;
    else
        keep_row(r, fault);
}

static void judge_row(struct reading *r)
{
    struct sand_arena *arena = &r->rows->arena;
    if (r->filled == 0) // commas alone
        return;
    if (r->control != 0)
        keep_fault(r, sand_arena_printf(arena,
                                        "line %zu holds the control character 0x%02x; remove it",
                                        r->record_line, r->control & 0x7f));
    else if (r->filled > r->n_header)
        keep_fault(r, sand_arena_printf(arena,
                                        "line %zu has %zu cells, the header %zu; put cells that "
                                        "hold a comma into quotes",
                                        r->record_line, r->filled, r->n_header));
    else
        keep_row(r, NULL);
}

static void begin_record(struct reading *r)
{
    r->record = r->at;
    r->record_line = r->line;
    r->field = r->filled = 0;
    r->control = 0;
    r->ended = 0;
    for (size_t c = 0; c < r->rows->n_columns; c++)
        r->row[c] = NULL;
}

static void take_row(int end, void *self)
{
    (void)end;
    struct reading *r = self;
    r->ended = 1;
    if (r->n_header == 0)
        r->n_header = r->field;
    else if (r->rc == SAND_OK)
        judge_row(r);
}

// ---- records ------------------------------------------------------------------------------------

// Behind the end of the line at `from`.
static size_t next_line(const struct reading *r, size_t from)
{
    size_t to = from;
    while (to < r->size && r->text[to] != '\n' && r->text[to] != '\r')
        to++;
    if (to + 1 < r->size && r->text[to] == '\r' && r->text[to + 1] == '\n')
        to++;
    return to < r->size ? to + 1 : to;
}

static enum sand_rc restart(struct reading *r)
{
    csv_free(&r->parser);
    return csv_init(&r->parser, CSV_STRICT | CSV_STRICT_FINI) == 0 ? SAND_OK : SAND_ERR_NOMEM;
}

// The record that cannot be read is left; reading goes on at the line after its first.
static enum sand_rc skip_record(struct reading *r, const char *what, struct sand_diag *diag)
{
    if (r->n_header == 0)
        return sand_fail(diag, SAND_ERR_INPUT, "%s: the header cannot be read: %s", r->path, what);
    if (r->n_broken >= MOST_BROKEN)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: more than %d rows cannot be read, the last at line %zu: %s", r->path,
                         MOST_BROKEN, r->record_line, what);
    r->at = next_line(r, r->record);
    r->line = r->record_line + 1;
    keep_fault(r, sand_arena_printf(&r->rows->arena, "line %zu: %s", r->record_line, what));
    begin_record(r);
    return r->rc == SAND_OK ? restart(r) : r->rc;
}

static enum sand_rc read_line(struct reading *r, struct sand_diag *diag)
{
    static const char quotes[] =
        "its quotes are broken; a cell that holds a quote stands in quotes and doubles it";
    const size_t end = next_line(r, r->at), length = end - r->at;
    if (r->ended)
        begin_record(r);
    int bad = csv_parse(&r->parser, r->text + r->at, length, take_field, take_row, r) != length;
    if (!bad && end == r->size)
        bad = csv_fini(&r->parser, take_field, take_row, r) != 0;
    if (bad && csv_error(&r->parser) == CSV_ENOMEM)
        return SAND_ERR_NOMEM;
    if (bad)
        return skip_record(r, quotes, diag);
    if (!r->ended && end - r->record > MOST_RECORD)
        return skip_record(r, "it is longer than 1 MiB, so a quote is not closed", diag);
    r->at = end;
    r->line++;
    if (!r->ended && r->field == 0 && length <= 2 && r->record + length == end)
        begin_record(r); // an empty line
    return r->rc;
}

// ---- the file -----------------------------------------------------------------------------------

static void miss_column(const struct reading *r, size_t column, struct sand_diag *diag)
{
    if (r->separator != '\0')
        sand_diag_add(
            diag, SAND_ERROR, r->path, 1,
            "the header has no column \"%s\"; its cells seem to be separated by '%s', save "
            "them with commas",
            r->names[column], r->separator == '\t' ? "\\t" : (char[]){r->separator, 0});
    else
        sand_diag_add(diag, SAND_ERROR, r->path, 1,
                      "the header has no column \"%s\"; add it, it may be empty", r->names[column]);
}

static enum sand_rc check_columns(const struct reading *r, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        size_t found = 0;
        for (size_t i = 0; i < MOST_FIELDS; i++)
            found += r->column_of[i] == (int)c;
        if (found == 1 || (found == 0 && !(r->needed >> c & 1)))
            continue;
        rc = SAND_ERR_INPUT;
        if (found == 0)
            miss_column(r, c, diag);
        else
            sand_diag_add(diag, SAND_ERROR, r->path, 1,
                          "%zu columns are named \"%s\"; rename those that are not meant", found,
                          r->names[c]);
    }
    return rc;
}

// A packed or otherwise binary file would be taken for a header without columns.
static enum sand_rc check_text(struct reading *r, struct sand_diag *diag)
{
    const size_t blanks = strspn(r->text, " \t\r\n");
    if (blanks == r->size)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: is empty; a CSV begins with the names of its columns", r->path);
    for (size_t i = 0; i < next_line(r, blanks); i++) {
        const unsigned char c = (unsigned char)r->text[i];
        if (c == 0x7f || (c < ' ' && strchr("\t\n\r", c) == NULL) || c == 0)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "%s: byte %zu is 0x%02x, so this is no text; unpack it or save it as "
                             "a CSV",
                             r->path, i + 1, c);
    }
    return SAND_OK;
}

static enum sand_rc parse(struct reading *r, struct sand_diag *diag)
{
    SAND_TRY(check_text(r, diag));
    if (r->size >= 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0)
        r->at = 3; // a byte order mark is no part of the first name
    if (csv_init(&r->parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return SAND_ERR_NOMEM;
    begin_record(r);
    enum sand_rc rc = SAND_OK;
    while (rc == SAND_OK && r->at < r->size) {
        const int had_header = r->n_header > 0;
        rc = read_line(r, diag);
        if (rc == SAND_OK && !had_header && r->n_header > 0)
            rc = check_columns(r, diag);
    }
    csv_free(&r->parser);
    return rc;
}

const char *sand_csv_ungrouped(const char *text, char plain[SAND_CSV_NUMBER])
{
    static const char digits[] = "0123456789";
    size_t n = strspn(text, digits), groups = 0;
    if (n == 0 || n > 3)
        return text;
    memcpy(plain, text, n);
    for (text += n; text[0] == ',' && strspn(text + 1, digits) == 3 && n + 4 < SAND_CSV_NUMBER;
         text += 4, n += 3, groups++)
        memcpy(plain + n, text + 1, 3);
    const size_t rest = strlen(text);
    if (groups == 0 || rest >= SAND_CSV_NUMBER - n)
        return text - n - groups;
    memcpy(plain + n, text, rest + 1);
    return plain;
}

enum sand_rc sand_csv_rows_read(const char *path, const char *const *names, size_t n_columns,
                                uint64_t needed, struct sand_csv_rows *rows, struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    *rows = (struct sand_csv_rows){.n_columns = n_columns};
    SAND_TRY(sand_file_read(path, MOST_BYTES, &text, &size, diag));
    struct reading *r = sand_calloc(1, sizeof *r);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (r != NULL) {
        *r = (struct reading){.rows = rows,
                              .names = names,
                              .needed = needed,
                              .path = path,
                              .text = text,
                              .size = size,
                              .line = 1};
        for (size_t i = 0; i < MOST_FIELDS; i++)
            r->column_of[i] = -1;
        rc = parse(r, diag);
    }
    sand_free(r);
    sand_free(text);
    if (rc == SAND_ERR_NOMEM)
        sand_fail(diag, rc, "%s: out of memory", path);
    return rc;
}

void sand_csv_rows_clear(struct sand_csv_rows *rows)
{
    sand_free(rows->cells);
    sand_arena_clear(&rows->arena);
    *rows = (struct sand_csv_rows){0};
}
