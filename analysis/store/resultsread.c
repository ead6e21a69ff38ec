// Reading a results file: columns back into the row structs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "metagroup.h"
#include "store.h"

struct table {
    char *rows; // NULL: not read yet
    size_t n;
};

struct sand_results {
    struct sand_h5 *file;
    struct sand_arena arena; // of the meta
    struct sand_meta meta;
    struct table tables[SAND_TABLES];
    struct table picked[SAND_TABLES]; // of the last pick
};

static enum sand_rc read_meta(struct sand_results *results, struct sand_diag *diag)
{
    SAND_TRY(sand_h5_check_marks(results->file, SAND_H5_RESULTS, diag));
    if (sand_metagroup_read(results->file, &results->arena, &results->meta) == 0)
        return SAND_OK;
    if (sand_h5_failed(results->file))
        return sand_h5_fail(results->file, "read", diag);
    return sand_fail(diag, SAND_ERR_INPUT,
                     "%s: the group /meta is incomplete; the file is damaged or was edited",
                     results->file->path);
}

enum sand_rc sand_results_open(const char *path, struct sand_results **out, struct sand_diag *diag)
{
    struct sand_results *const results = sand_calloc(1, sizeof *results);
    if (results == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    enum sand_rc rc = sand_h5_open(path, &results->file, diag);
    if (rc == SAND_OK)
        rc = read_meta(results, diag);
    if (rc != SAND_OK) {
        sand_results_close(results);
        return rc;
    }
    *out = results;
    return SAND_OK;
}

void sand_results_close(struct sand_results *results)
{
    if (results == NULL)
        return;
    for (size_t i = 0; i < SAND_TABLES; i++) {
        sand_free(results->tables[i].rows);
        sand_free(results->picked[i].rows);
    }
    sand_h5_close(results->file);
    sand_arena_clear(&results->arena);
    sand_free(results);
}

const struct sand_meta *sand_results_meta(const struct sand_results *results)
{
    return &results->meta;
}

// ---- tables
// ---------------------------------------------------------------------------------------

static enum sand_rc wrong_column(const struct sand_results *results,
                                 const struct sand_table_info *info,
                                 const struct sand_column *column, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_INPUT,
                     "%s: column \"%s/%s\" is missing, or of another type or length than the "
                     "table; the file is damaged or was edited",
                     results->file->path, info->name, column->name);
}

// The columns of one table, open, and a block of its rows.
struct reader {
    const struct sand_results *results;
    const struct sand_table_info *info;
    hid_t *sets; // one per column
    size_t n;    // rows of the table
    char *cells; // one column of a block
};

// Blocks are whole chunks, so a cache of chunks would hold what nobody asks for again.
static hid_t open_set(hid_t group, const char *name)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t set = H5I_INVALID_HID;
    if (access >= 0 && H5Pset_chunk_cache(access, 1, 0, 1.0) >= 0 &&
        H5Lexists(group, name, H5P_DEFAULT) > 0)
        set = H5Dopen2(group, name, access);
    if (access >= 0)
        H5Pclose(access);
    return set;
}

// Takes the table's length from its first column, then demands it of the others.
static enum sand_rc open_columns(struct reader *reader, hid_t group, struct sand_diag *diag)
{
    for (size_t i = 0; i < reader->info->n_columns; i++) {
        const struct sand_column *const column = &reader->info->columns[i];
        reader->sets[i] = open_set(group, column->name);
        const hid_t set = reader->sets[i];
        const hssize_t n =
            set < 0 ? -1 : sand_h5_list_length(set, sand_h5_cell_file_type(column->type));
        if (n < 0 || (i > 0 && (size_t)n != reader->n))
            return wrong_column(reader->results, reader->info, column, diag);
        reader->n = (size_t)n;
    }
    return SAND_OK;
}

int sand_results_has(struct sand_results *results, enum sand_table table)
{
    sand_h5_listen(results->file);
    return H5Lexists(results->file->id, sand_table_info(table)->name, H5P_DEFAULT) > 0;
}

static enum sand_rc open_reader(struct reader *reader, struct sand_diag *diag)
{
    struct sand_h5 *const file = reader->results->file;
    hid_t group = H5I_INVALID_HID;
    sand_h5_listen(file);
    if (H5Lexists(file->id, reader->info->name, H5P_DEFAULT) > 0)
        group = H5Gopen2(file->id, reader->info->name, H5P_DEFAULT);
    if (group < 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: table \"%s\" is missing; the file is damaged or was edited",
                         file->path, reader->info->name);
    const enum sand_rc rc = open_columns(reader, group, diag);
    H5Gclose(group);
    return rc;
}

static void close_reader(struct reader *reader)
{
    for (size_t i = 0; reader->sets != NULL && i < reader->info->n_columns; i++)
        if (reader->sets[i] > 0)
            H5Dclose(reader->sets[i]);
    sand_free(reader->sets);
    sand_free(reader->cells);
}

static int read_cells(hid_t set, const struct sand_column *column, hsize_t first, hsize_t n,
                      void *cells)
{
    const hid_t type = sand_h5_cell_memory_type(column->type);
    const int status = sand_h5_read_block(set, type, first, n, cells);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

static enum sand_rc read_block(struct reader *reader, size_t first, size_t n, char *rows,
                               struct sand_diag *diag)
{
    for (size_t i = 0; i < reader->info->n_columns; i++) {
        const struct sand_column *const column = &reader->info->columns[i];
        if (read_cells(reader->sets[i], column, first, n, reader->cells) < 0)
            return sand_h5_fail(reader->results->file, "read", diag);
        for (size_t k = 0; k < n; k++)
            memcpy(rows + k * reader->info->row_size + column->offset,
                   reader->cells + k * column->size, column->size);
    }
    return SAND_OK;
}

static enum sand_rc no_memory(const struct reader *reader, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory for table \"%s\" of %zu rows",
                     reader->results->file->path, reader->info->name, reader->n);
}

// Which rows are kept; a NULL function keeps all.
struct picker {
    int (*keep)(void *self, const void *row);
    void *self;
};

// Moves the kept ones of n rows at the table's end up against the others.
static void pick(struct table *table, const struct sand_table_info *info, size_t n,
                 const struct picker *picker)
{
    const char *row = table->rows + table->n * info->row_size;
    for (size_t i = 0; i < n; i++, row += info->row_size) {
        if (picker->keep != NULL && !picker->keep(picker->self, row))
            continue;
        char *const to = table->rows + table->n++ * info->row_size;
        if (to != row)
            memcpy(to, row, info->row_size);
    }
}

static enum sand_rc read_rows(struct reader *reader, const struct picker *picker,
                              struct table *table, struct sand_diag *diag)
{
    size_t capacity = 0;
    for (size_t first = 0; first < reader->n || table->rows == NULL;) {
        const size_t left = reader->n - first;
        const size_t n = left < SAND_H5_CHUNK_ROWS ? left : SAND_H5_CHUNK_ROWS;
        void *rows = table->rows;
        if (sand_grow(&rows, &capacity, table->n + n + 1, reader->info->row_size) != SAND_OK)
            return no_memory(reader, diag);
        table->rows = rows;
        memset(table->rows + table->n * reader->info->row_size, 0, n * reader->info->row_size);
        SAND_TRY(
            read_block(reader, first, n, table->rows + table->n * reader->info->row_size, diag));
        pick(table, reader->info, n, picker);
        first += n;
    }
    return SAND_OK;
}

static enum sand_rc read_table(struct sand_results *results, const struct sand_table_info *info,
                               const struct picker *picker, struct table *table,
                               struct sand_diag *diag)
{
    struct reader reader = {.results = results, .info = info};
    reader.sets = sand_calloc(info->n_columns, sizeof *reader.sets);
    reader.cells = sand_calloc(SAND_H5_CHUNK_ROWS, SAND_STR_SIZE);
    enum sand_rc rc = reader.sets && reader.cells ? SAND_OK : no_memory(&reader, diag);
    if (rc == SAND_OK)
        rc = open_reader(&reader, diag);
    if (rc == SAND_OK)
        rc = read_rows(&reader, picker, table, diag);
    close_reader(&reader);
    if (rc != SAND_OK) {
        sand_free(table->rows);
        *table = (struct table){0};
    }
    return rc;
}

static enum sand_rc take_table(struct sand_results *results, enum sand_table table,
                               const struct picker *picker, struct table *taken, const void **rows,
                               size_t *n_rows, struct sand_diag *diag)
{
    if ((unsigned)table >= SAND_TABLES)
        return sand_fail(diag, SAND_ERR_INTERNAL, "there is no table number %u", (unsigned)table);
    if (taken->rows == NULL)
        SAND_TRY(read_table(results, sand_table_info(table), picker, taken, diag));
    *rows = taken->rows;
    *n_rows = taken->n;
    return SAND_OK;
}

enum sand_rc sand_results_table(struct sand_results *results, enum sand_table table,
                                const void **rows, size_t *n_rows, struct sand_diag *diag)
{
    static const struct picker all = {0};
    struct table *const cached = (unsigned)table < SAND_TABLES ? &results->tables[table] : NULL;
    return take_table(results, table, &all, cached, rows, n_rows, diag);
}

enum sand_rc sand_results_pick(struct sand_results *results, enum sand_table table,
                               int (*keep)(void *self, const void *row), void *self,
                               const void **rows, size_t *n_rows, struct sand_diag *diag)
{
    const struct picker picker = {keep, self};
    struct table *const picked = (unsigned)table < SAND_TABLES ? &results->picked[table] : NULL;
    if (picked != NULL) {
        sand_free(picked->rows);
        *picked = (struct table){0};
    }
    return take_table(results, table, &picker, picked, rows, n_rows, diag);
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *sand_store_hdf5_version(void)
{
    return TEXT(H5_VERS_MAJOR) "." TEXT(H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE);
}
