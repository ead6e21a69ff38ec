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
    for (size_t i = 0; i < SAND_TABLES; i++)
        sand_free(results->tables[i].rows);
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

// The table's length, or -1 when the set is not one column of this type.
static hssize_t column_length(hid_t set, const struct sand_column *column)
{
    const hid_t stored = H5Dget_type(set);
    const hid_t wanted = sand_h5_cell_file_type(column->type);
    const hid_t space = H5Dget_space(set);
    hssize_t n = -1;
    if (stored >= 0 && wanted >= 0 && space >= 0 && H5Tequal(stored, wanted) > 0 &&
        H5Sget_simple_extent_ndims(space) == 1)
        n = H5Sget_simple_extent_npoints(space);
    if (space >= 0)
        H5Sclose(space);
    if (wanted >= 0)
        H5Tclose(wanted);
    if (stored >= 0)
        H5Tclose(stored);
    return n;
}

static int read_cells(hid_t set, const struct sand_column *column, void *cells)
{
    const hid_t type = sand_h5_cell_memory_type(column->type);
    if (type < 0)
        return -1;
    const herr_t status = H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    H5Tclose(type);
    return status < 0 ? -1 : 0;
}

static enum sand_rc wrong_column(const struct sand_results *results,
                                 const struct sand_table_info *info,
                                 const struct sand_column *column, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_INPUT,
                     "%s: column \"%s/%s\" is missing, or of another type or length than the "
                     "table; the file is damaged or was edited",
                     results->file->path, info->name, column->name);
}

// Takes the table's length from its first column, then demands it of the others.
static enum sand_rc fit_table(struct sand_results *results, const struct sand_table_info *info,
                              struct table *table, size_t n, char **cells, struct sand_diag *diag)
{
    if (table->rows == NULL) {
        table->rows = sand_calloc(n, info->row_size);
        *cells = sand_calloc(n, SAND_STR_SIZE);
        table->n = n;
    }
    if (table->rows == NULL || *cells == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory for table \"%s\" of %zu rows",
                         results->file->path, info->name, n);
    return SAND_OK;
}

static enum sand_rc read_column(struct sand_results *results, const struct sand_table_info *info,
                                const struct sand_column *column, hid_t set, struct table *table,
                                char **cells, struct sand_diag *diag)
{
    const hssize_t n = column_length(set, column);
    if (n < 0 || (table->rows != NULL && (size_t)n != table->n))
        return wrong_column(results, info, column, diag);
    SAND_TRY(fit_table(results, info, table, (size_t)n, cells, diag));
    if (n > 0 && read_cells(set, column, *cells) < 0)
        return sand_h5_fail(results->file, "read", diag);
    for (size_t i = 0; i < table->n; i++)
        memcpy(table->rows + i * info->row_size + column->offset, *cells + i * column->size,
               column->size);
    return SAND_OK;
}

static enum sand_rc read_columns(struct sand_results *results, const struct sand_table_info *info,
                                 hid_t group, struct table *table, struct sand_diag *diag)
{
    char *cells = NULL;
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < info->n_columns; i++) {
        const struct sand_column *const column = &info->columns[i];
        hid_t set = H5I_INVALID_HID;
        if (H5Lexists(group, column->name, H5P_DEFAULT) > 0)
            set = H5Dopen2(group, column->name, H5P_DEFAULT);
        if (set < 0) {
            rc = wrong_column(results, info, column, diag);
        } else {
            rc = read_column(results, info, column, set, table, &cells, diag);
            H5Dclose(set);
        }
    }
    sand_free(cells);
    return rc;
}

static enum sand_rc read_table(struct sand_results *results, const struct sand_table_info *info,
                               struct table *table, struct sand_diag *diag)
{
    hid_t group = H5I_INVALID_HID;
    sand_h5_listen(results->file);
    if (H5Lexists(results->file->id, info->name, H5P_DEFAULT) > 0)
        group = H5Gopen2(results->file->id, info->name, H5P_DEFAULT);
    if (group < 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: table \"%s\" is missing; the file is damaged or was edited",
                         results->file->path, info->name);
    const enum sand_rc rc = read_columns(results, info, group, table, diag);
    H5Gclose(group);
    if (rc != SAND_OK) {
        sand_free(table->rows);
        *table = (struct table){0};
    }
    return rc;
}

enum sand_rc sand_results_table(struct sand_results *results, enum sand_table table,
                                const void **rows, size_t *n_rows, struct sand_diag *diag)
{
    if ((unsigned)table >= SAND_TABLES)
        return sand_fail(diag, SAND_ERR_INTERNAL, "there is no table number %u", (unsigned)table);
    struct table *const cached = &results->tables[table];
    if (cached->rows == NULL)
        SAND_TRY(read_table(results, sand_table_info(table), cached, diag));
    *rows = cached->rows;
    *n_rows = cached->n;
    return SAND_OK;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *sand_store_hdf5_version(void)
{
    return TEXT(H5_VERS_MAJOR) "." TEXT(H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE);
}
