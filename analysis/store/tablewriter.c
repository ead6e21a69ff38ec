// One table of a results file: rows are gathered to a chunk, turned into columns and written once,
// so that no chunk is ever read back and compressed again.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "tablewriter.h"

#include <hdf5_hl.h>
#include <string.h>

#include "missing.h"

struct sand_tablewriter {
    struct sand_h5 *file;
    enum sand_table table;
    const struct sand_table_info *info;
    size_t total, written, buffered, chunk;
    char *rows;  // up to a chunk of rows
    char *cells; // one column of them
    hid_t group, scale;
    hid_t *sets; // one per column
};

// ---- making
// ---------------------------------------------------------------------------------------

// Chunked by rows, shuffled and deflated; an empty table has nothing to chunk. Whole chunks are
// written past the chunk cache, which would cost a megabyte a column.
static hid_t column_list(const struct sand_tablewriter *writer)
{
    const hsize_t chunk = writer->chunk;
    const hid_t list = sand_h5_quiet_list(H5P_DATASET_CREATE);
    if (list >= 0 && writer->total > 0 &&
        (H5Pset_chunk(list, 1, &chunk) < 0 || H5Pset_shuffle(list) < 0 ||
         H5Pset_deflate(list, 4) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static hid_t access_list(void)
{
    const hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    if (list >= 0 && H5Pset_chunk_cache(list, 1, 0, 1.0) < 0) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static hid_t create_set(const struct sand_tablewriter *writer, const char *name, hid_t type)
{
    const hsize_t extent = writer->total;
    const hid_t space = H5Screate_simple(1, &extent, NULL);
    const hid_t creation = column_list(writer);
    const hid_t access = access_list();
    hid_t set = H5I_INVALID_HID;
    if (type >= 0 && space >= 0 && creation >= 0 && access >= 0)
        set = H5Dcreate2(writer->group, name, type, space, H5P_DEFAULT, creation, access);
    if (access >= 0)
        H5Pclose(access);
    if (creation >= 0)
        H5Pclose(creation);
    if (space >= 0)
        H5Sclose(space);
    return set;
}

static int make_scale(struct sand_tablewriter *writer)
{
    writer->scale = create_set(writer, "row", H5T_STD_I64LE);
    if (writer->scale < 0 || H5DSset_scale(writer->scale, "row") < 0)
        return -1;
    if (sand_h5_put_text(writer->scale, "units", "1") < 0)
        return -1;
    return sand_h5_put_text(writer->scale, "long_name", "row number, from 0");
}

static int make_column(struct sand_tablewriter *writer, const struct sand_column *column,
                       hid_t *set)
{
    const void *const missing = sand_missing_cell(writer->table, column);
    const hid_t type = sand_h5_cell_file_type(column->type);
    *set = create_set(writer, column->name, type);
    if (type >= 0)
        H5Tclose(type);
    if (*set < 0 || sand_h5_put_text(*set, "units", column->unit) < 0 ||
        sand_h5_put_text(*set, "long_name", column->doc) < 0)
        return -1;
    if (missing != NULL && sand_h5_put_cell(*set, "_FillValue", column->type, missing) < 0)
        return -1;
    return H5DSattach_scale(*set, writer->scale, 0) < 0 ? -1 : 0;
}

static int make_group(struct sand_tablewriter *writer)
{
    const hid_t list = sand_h5_quiet_list(H5P_GROUP_CREATE);
    if (list < 0)
        return -1;
    writer->group =
        H5Gcreate2(writer->file->id, writer->info->name, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Pclose(list);
    if (writer->group < 0)
        return -1;
    return sand_h5_put_text(writer->group, "long_name", writer->info->doc);
}

static int make_sets(struct sand_tablewriter *writer)
{
    if (make_group(writer) < 0 || make_scale(writer) < 0)
        return -1;
    for (size_t i = 0; i < writer->info->n_columns; i++)
        if (make_column(writer, &writer->info->columns[i], &writer->sets[i]) < 0)
            return -1;
    return 0;
}

static int allocate(struct sand_tablewriter *writer)
{
    const struct sand_table_info *const info = writer->info;
    writer->rows = sand_calloc(writer->chunk, info->row_size);
    writer->cells = sand_calloc(writer->chunk, SAND_STR_SIZE);
    writer->sets = sand_calloc(info->n_columns, sizeof *writer->sets);
    if (writer->rows == NULL || writer->cells == NULL || writer->sets == NULL)
        return -1;
    for (size_t i = 0; i < info->n_columns; i++)
        writer->sets[i] = H5I_INVALID_HID;
    return 0;
}

enum sand_rc sand_tablewriter_open(struct sand_h5 *file, enum sand_table table, size_t total,
                                   struct sand_tablewriter **out, struct sand_diag *diag)
{
    struct sand_tablewriter *const writer = sand_calloc(1, sizeof *writer);
    if (writer == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", file->path);
    writer->file = file;
    writer->table = table;
    writer->info = sand_table_info(table);
    writer->total = total;
    writer->chunk = total < SAND_H5_CHUNK_ROWS ? total : SAND_H5_CHUNK_ROWS;
    writer->group = writer->scale = H5I_INVALID_HID;
    const int allocated = allocate(writer);
    file->no_memory = allocated < 0;
    if (allocated < 0 || make_sets(writer) < 0) {
        const enum sand_rc rc = sand_h5_fail(file, "write", diag);
        sand_tablewriter_close(writer);
        return rc;
    }
    *out = writer;
    return SAND_OK;
}

void sand_tablewriter_close(struct sand_tablewriter *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; writer->sets != NULL && i < writer->info->n_columns; i++)
        if (writer->sets[i] >= 0)
            H5Dclose(writer->sets[i]);
    if (writer->scale >= 0)
        H5Dclose(writer->scale);
    if (writer->group >= 0)
        H5Gclose(writer->group);
    sand_free(writer->sets);
    sand_free(writer->cells);
    sand_free(writer->rows);
    sand_free(writer);
}

// ---- filling
// --------------------------------------------------------------------------------------

void *sand_tablewriter_room(struct sand_tablewriter *writer, size_t *n)
{
    const size_t left = writer->total - writer->written - writer->buffered;
    const size_t room = writer->chunk - writer->buffered;
    *n = left < room ? left : room;
    return writer->rows + writer->buffered * writer->info->row_size;
}

static int write_column(const struct sand_tablewriter *writer, size_t index)
{
    const struct sand_column *const column = &writer->info->columns[index];
    for (size_t i = 0; i < writer->buffered; i++)
        memcpy(writer->cells + i * column->size,
               writer->rows + i * writer->info->row_size + column->offset, column->size);
    const hid_t type = sand_h5_cell_memory_type(column->type);
    const int status = sand_h5_write_block(writer->sets[index], type, writer->written,
                                           writer->buffered, writer->cells);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

static int write_row_numbers(const struct sand_tablewriter *writer)
{
    for (size_t i = 0; i < writer->buffered; i++) {
        const int64_t row = (int64_t)(writer->written + i);
        memcpy(writer->cells + i * sizeof row, &row, sizeof row);
    }
    return sand_h5_write_block(writer->scale, H5T_NATIVE_INT64, writer->written, writer->buffered,
                               writer->cells);
}

static int flush(struct sand_tablewriter *writer)
{
    if (write_row_numbers(writer) < 0)
        return -1;
    for (size_t i = 0; i < writer->info->n_columns; i++)
        if (write_column(writer, i) < 0)
            return -1;
    writer->written += writer->buffered;
    writer->buffered = 0;
    return sand_h5_failed(writer->file) ? -1 : 0;
}

enum sand_rc sand_tablewriter_filled(struct sand_tablewriter *writer, size_t n,
                                     struct sand_diag *diag)
{
    writer->buffered += n;
    const int full =
        writer->buffered == writer->chunk || writer->written + writer->buffered == writer->total;
    if (!full || writer->buffered == 0)
        return SAND_OK;
    sand_h5_listen(writer->file);
    return flush(writer) < 0 ? sand_h5_fail(writer->file, "write", diag) : SAND_OK;
}
