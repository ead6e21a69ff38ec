// A shard: the rows of one run unit, one compound data set per table.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "mem.h"
#include "rowtype.h"
#include "store.h"

// Small tables are cheapest contiguous; above this a light compression pays (measured: 100 rows
// contiguous 0.5 ms and 84 KB a shard, 1,000 rows 0.9 ms and 787 KB, with deflate 3.5 ms and 97
// KB).
#ifdef SAND_HOSTILE
#define CONTIGUOUS_ROWS 2
#else
#define CONTIGUOUS_ROWS 512
#endif

// Rows of a table that are not written yet, and its data set once a piece was.
struct rows {
    void *data;
    size_t n, capacity;
    hid_t set;       // 0: none yet, the rows in memory are all
    hsize_t written; // rows in it
};

struct sand_shard {
    char *path;
    struct sand_diag *diag;
    struct sand_h5 *file; // made with the first piece, or by commit
    struct rows tables[SAND_TABLES];
};

enum sand_rc sand_shard_open(const char *path, struct sand_diag *diag, struct sand_shard **shard)
{
    struct sand_shard *const made = sand_calloc(1, sizeof *made);
    const size_t size = strlen(path) + 1;
    char *const copy = sand_calloc(size, 1);
    if (made == NULL || copy == NULL) {
        sand_free(made);
        sand_free(copy);
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    }
    memcpy(copy, path, size);
    made->path = copy;
    made->diag = diag;
    *shard = made;
    return SAND_OK;
}

static void close_sets(struct sand_shard *shard)
{
    for (size_t i = 0; i < SAND_TABLES; i++) {
        if (shard->tables[i].set > 0)
            H5Dclose(shard->tables[i].set);
        shard->tables[i].set = 0;
    }
}

void sand_shard_close(struct sand_shard *shard)
{
    if (shard == NULL)
        return;
    close_sets(shard);
    sand_h5_close(shard->file); // and removes it
    for (size_t i = 0; i < SAND_TABLES; i++)
        sand_free(shard->tables[i].data);
    sand_free(shard->path);
    sand_free(shard);
}

// What stands behind the NUL of a text is nobody's data and would make equal runs differ.
static void clean_texts(const struct sand_table_info *info, char *row)
{
    for (size_t i = 0; i < info->n_columns; i++) {
        if (info->columns[i].type != SAND_COL_str)
            continue;
        char *const text = row + info->columns[i].offset;
        const size_t length = strnlen(text, SAND_STR_SIZE - 1);
        memset(text + length, 0, SAND_STR_SIZE - length);
    }
}

// ---- the file -----------------------------------------------------------------------------------

static enum sand_rc open_file(struct sand_shard *shard)
{
    if (shard->file != NULL) {
        sand_h5_listen(shard->file);
        return SAND_OK;
    }
    SAND_TRY(sand_h5_create(shard->path, &shard->file, shard->diag));
    if (sand_h5_mark(shard->file, SAND_H5_SHARD) < 0)
        return sand_h5_fail(shard->file, "write", shard->diag);
    return SAND_OK;
}

// `whole`: n rows are all; else more will be appended.
static hid_t layout(size_t n, int whole)
{
    const hsize_t chunk = whole && n < SAND_H5_CHUNK_ROWS ? n : SAND_H5_CHUNK_ROWS;
    const hid_t list = sand_h5_quiet_list(H5P_DATASET_CREATE);
    if (list >= 0 && (n > CONTIGUOUS_ROWS || !whole) &&
        (H5Pset_chunk(list, 1, &chunk) < 0 || H5Pset_deflate(list, 1) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static hid_t make_set(const struct sand_h5 *file, const struct sand_table_info *info, size_t n,
                      int whole)
{
    const hsize_t extent = n, limit = H5S_UNLIMITED;
    const hid_t type = sand_h5_row_file_type(info);
    const hid_t space = H5Screate_simple(1, &extent, whole ? NULL : &limit);
    const hid_t list = layout(n, whole);
    hid_t set = H5I_INVALID_HID;
    if (type >= 0 && space >= 0 && list >= 0)
        set = H5Dcreate2(file->id, info->name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return set;
}

// Appends the rows in memory; the set has room for them.
static int write_rows(struct rows *rows, const struct sand_table_info *info)
{
    const hid_t type = sand_h5_row_memory_type(info);
    const int status = sand_h5_write_block(rows->set, type, rows->written, rows->n, rows->data);
    if (type >= 0)
        H5Tclose(type);
    rows->written += rows->n;
    rows->n = 0;
    return status;
}

// A piece of a table that has more than memory should hold.
static int write_piece(struct sand_shard *shard, enum sand_table table)
{
    struct rows *const rows = &shard->tables[table];
    const struct sand_table_info *const info = sand_table_info(table);
    const hsize_t extent = rows->written + rows->n;
    if (rows->set == 0) {
        rows->set = make_set(shard->file, info, rows->n, 0);
        if (rows->set < 0) {
            rows->set = 0;
            return -1;
        }
    } else if (H5Dset_extent(rows->set, &extent) < 0) {
        return -1;
    }
    return write_rows(rows, info) < 0 || sand_h5_failed(shard->file) ? -1 : 0;
}

static enum sand_rc spill(struct sand_shard *shard, enum sand_table table)
{
    SAND_TRY(open_file(shard));
    return write_piece(shard, table) == 0 ? SAND_OK
                                          : sand_h5_fail(shard->file, "write", shard->diag);
}

enum sand_rc sand_shard_row(void *self, enum sand_table table, const void *row)
{
    struct sand_shard *const shard = self;
    if ((unsigned)table >= SAND_TABLES)
        return SAND_ERR_INTERNAL;
    struct rows *const rows = &shard->tables[table];
    const struct sand_table_info *const info = sand_table_info(table);
    if (rows->n == SAND_H5_CHUNK_ROWS)
        SAND_TRY(spill(shard, table));
    if (sand_grow(&rows->data, &rows->capacity, rows->n + 1, info->row_size) != SAND_OK)
        return sand_fail(shard->diag, SAND_ERR_NOMEM, "%s: out of memory", shard->path);
    char *const slot = (char *)rows->data + rows->n * info->row_size;
    memcpy(slot, row, info->row_size);
    clean_texts(info, slot);
    rows->n++;
    return SAND_OK;
}

// ---- commit -------------------------------------------------------------------------------------

static int finish_table(struct sand_shard *shard, enum sand_table table)
{
    struct rows *const rows = &shard->tables[table];
    const struct sand_table_info *const info = sand_table_info(table);
    if (rows->set > 0)
        return rows->n > 0 ? write_piece(shard, table) : 0;
    const hid_t set = make_set(shard->file, info, rows->n, 1);
    if (set < 0)
        return -1;
    rows->set = set;
    return rows->n > 0 ? write_rows(rows, info) : 0;
}

static int finish_tables(struct sand_shard *shard)
{
    for (size_t i = 0; i < SAND_TABLES; i++)
        if (finish_table(shard, (enum sand_table)i) < 0 || sand_h5_failed(shard->file))
            return -1;
    return 0;
}

enum sand_rc sand_shard_commit(struct sand_shard *shard)
{
    SAND_TRY(open_file(shard));
    if (finish_tables(shard) < 0)
        return sand_h5_fail(shard->file, "write", shard->diag);
    close_sets(shard);
    struct sand_h5 *const file = shard->file;
    shard->file = NULL; // commit frees it, whatever comes of it
    return sand_h5_commit(file, shard->diag);
}
