// A CSV through libcsv into texts by column.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "steprows.h"

#include <string.h>

#include <csv.h>

#include "filegate.h"

enum { MOST_FIELDS = 256, MOST_BYTES = 64 << 20 };

static const char *const names[SAND_STEP_COLUMNS] = {
    "id",        "source",    "confirmed",    "model",        "layers",      "hidden",
    "heads",     "kv_heads",  "ffn_hidden",   "vocab",        "seq_len",     "moe_experts",
    "moe_topk",  "gpu",       "gpus",         "nodes",        "TP",          "PP",
    "VP",        "CP",        "EP",           "zero_or_fsdp", "micro_batch", "global_batch",
    "precision", "recompute", "seq_parallel", "network",      "iter_time_s", "tokens_per_s_gpu"};

static int may_be_missing(int column)
{
    return column == SAND_STEP_TOP_K || column == SAND_STEP_EP;
}

const char *sand_step_column_name(enum sand_step_column column)
{
    return names[column];
}

struct reading {
    struct sand_step_rows *rows;
    int column_of[MOST_FIELDS]; // of a field's position; -1: ignored
    size_t field;
    int header_read;
    struct sand_step_row row;
    enum sand_rc rc;
};

static void take_header(struct reading *r, const char *text, size_t length)
{
    for (int c = 0; c < SAND_STEP_COLUMNS; c++)
        if (strlen(names[c]) == length && memcmp(names[c], text, length) == 0)
            r->column_of[r->field] = c;
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
        r->row.cell[r->column_of[r->field]] = copy;
    }
    r->field++;
}

static void take_row(int end, void *self)
{
    (void)end;
    struct reading *r = self;
    struct sand_step_rows *rows = r->rows;
    void *array = rows->rows;
    const int is_row = r->header_read;
    r->header_read = 1;
    r->field = 0;
    if (!is_row || r->rc != SAND_OK)
        return;
    r->rc = sand_grow(&array, &rows->capacity, rows->n + 1, sizeof *rows->rows);
    if (r->rc != SAND_OK)
        return;
    rows->rows = array;
    for (int c = 0; c < SAND_STEP_COLUMNS; c++)
        if (r->row.cell[c] == NULL)
            r->row.cell[c] = "";
    rows->rows[rows->n++] = r->row;
    r->row = (struct sand_step_row){{NULL}};
}

static enum sand_rc check_columns(const struct reading *r, const char *path, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (int c = 0; c < SAND_STEP_COLUMNS; c++) {
        int found = may_be_missing(c);
        for (size_t i = 0; i < MOST_FIELDS && !found; i++)
            found = r->column_of[i] == c;
        if (found)
            continue;
        sand_diag_add(diag, SAND_ERROR, path, 1,
                      "the header has no column \"%s\"; add it, it may "
                      "be empty",
                      names[c]);
        rc = SAND_ERR_INPUT;
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
    int bad = csv_parse(&parser, text, size, take_field, take_row, r) != size ||
              csv_fini(&parser, take_field, take_row, r) != 0;
    const int code = csv_error(&parser);
    csv_free(&parser);
    if (bad)
        return sand_fail(diag, SAND_ERR_INPUT, "%s: after row %zu: %s", path, r->rows->n,
                         csv_strerror(code));
    return r->rc == SAND_OK ? check_columns(r, path, diag) : r->rc;
}

enum sand_rc sand_step_rows_read(const char *path, struct sand_step_rows *rows,
                                 struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    *rows = (struct sand_step_rows){0};
    SAND_TRY(sand_file_read(path, MOST_BYTES, &text, &size, diag));
    enum sand_rc rc = check_text(path, text, size, diag);
    struct reading *r = rc == SAND_OK ? sand_calloc(1, sizeof *r) : NULL;
    if (rc == SAND_OK && r == NULL)
        rc = SAND_ERR_NOMEM;
    if (r != NULL) {
        r->rows = rows;
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

void sand_step_rows_clear(struct sand_step_rows *rows)
{
    sand_free(rows->rows);
    sand_arena_clear(&rows->arena);
    *rows = (struct sand_step_rows){0};
}
