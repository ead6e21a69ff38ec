// A CSV through libcsv into texts by column.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "csvrows.h"

#include <string.h>

#include <csv.h>

#include "filegate.h"

enum { MOST_FIELDS = 256, MOST_BYTES = 64 << 20 };

struct reading {
    struct sand_csv_rows *rows;
    const char *const *names;
    uint64_t needed;
    int column_of[MOST_FIELDS]; // of a field's position; -1: ignored
    size_t field;
    int header_read;
    const char *row[SAND_CSV_COLUMNS];
    enum sand_rc rc;
};

static void take_header(struct reading *r, const char *text, size_t length)
{
    for (size_t c = 0; c < r->rows->n_columns; c++)
        if (strlen(r->names[c]) == length && memcmp(r->names[c], text, length) == 0)
            r->column_of[r->field] = (int)c;
}

static void take_field(void *bytes, size_t length, void *self)
{
    struct reading *r = self;
    if (r->field < MOST_FIELDS && !r->header_read) {
        take_header(r, bytes, length);
    } else if (r->field < MOST_FIELDS && r->column_of[r->field] >= 0) {
        char *copy = sand_arena_alloc(&r->rows->arena, length + 1, 1);
        if (copy == NULL)
            r->rc = SAND_ERR_NOMEM;
        else if (length > 0)
            memcpy(copy, bytes, length);
        r->row[r->column_of[r->field]] = copy;
    }
    r->field++;
}

static void take_row(int end, void *self)
{
    (void)end;
    struct reading *r = self;
    struct sand_csv_rows *rows = r->rows;
    void *array = rows->cells;
    const int is_row = r->header_read;
    r->header_read = 1;
    r->field = 0;
    if (!is_row || r->rc != SAND_OK)
        return;
    r->rc =
        sand_grow(&array, &rows->capacity, (rows->n + 1) * rows->n_columns, sizeof *rows->cells);
    if (r->rc != SAND_OK)
        return;
    rows->cells = array;
    for (size_t c = 0; c < rows->n_columns; c++) {
        rows->cells[rows->n * rows->n_columns + c] = r->row[c] == NULL ? "" : r->row[c];
        r->row[c] = NULL;
    }
    rows->n++;
}

static enum sand_rc check_columns(const struct reading *r, const char *path, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        size_t found = 0;
        for (size_t i = 0; i < MOST_FIELDS; i++)
            found += r->column_of[i] == (int)c;
        if (found == 1 || (found == 0 && !(r->needed >> c & 1)))
            continue;
        rc = SAND_ERR_INPUT;
        if (found > 1) {
            sand_diag_add(diag, SAND_ERROR, path, 1,
                          "%zu columns are named \"%s\"; rename those that are not meant", found,
                          r->names[c]);
            continue;
        }
        sand_diag_add(diag, SAND_ERROR, path, 1,
                      "the header has no column \"%s\"; add it, it may "
                      "be empty",
                      r->names[c]);
    }
    return rc;
}

// A packed or otherwise binary file would be taken for a header without columns.
static enum sand_rc check_text(const char *path, const char *text, size_t size,
                               struct sand_diag *diag)
{
    size_t blanks = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        const int blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        blanks += (size_t)blank;
        if ((c < ' ' && !blank) || c == 0x7f)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "%s: byte %zu is 0x%02x, so this is no text; unpack it or save it as "
                             "a CSV",
                             path, i + 1, c);
    }
    return blanks == size
               ? sand_fail(diag, SAND_ERR_INPUT,
                           "%s: is empty; a CSV begins with the names of its columns", path)
               : SAND_OK;
}

static enum sand_rc parse(struct reading *r, const char *path, const char *text, size_t size,
                          struct sand_diag *diag)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return SAND_ERR_NOMEM;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; // a byte order mark is no part of the first name
        size -= 3;
    }
    int bad = csv_parse(&parser, text, size, take_field, take_row, r) != size ||
              csv_fini(&parser, take_field, take_row, r) != 0;
    const int code = csv_error(&parser);
    csv_free(&parser);
    if (bad)
        return sand_fail(diag, SAND_ERR_INPUT, "%s: after row %zu: %s", path, r->rows->n,
                         csv_strerror(code));
    return r->rc == SAND_OK ? check_columns(r, path, diag) : r->rc;
}

enum sand_rc sand_csv_rows_read(const char *path, const char *const *names, size_t n_columns,
                                uint64_t needed, struct sand_csv_rows *rows, struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    *rows = (struct sand_csv_rows){.n_columns = n_columns};
    SAND_TRY(sand_file_read(path, MOST_BYTES, &text, &size, diag));
    enum sand_rc rc = check_text(path, text, size, diag);
    struct reading *r = rc == SAND_OK ? sand_calloc(1, sizeof *r) : NULL;
    if (rc == SAND_OK && r == NULL)
        rc = SAND_ERR_NOMEM;
    if (r != NULL) {
        r->rows = rows;
        r->names = names;
        r->needed = needed;
        for (size_t i = 0; i < MOST_FIELDS; i++)
            r->column_of[i] = -1;
        rc = parse(r, path, text, size, diag);
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
