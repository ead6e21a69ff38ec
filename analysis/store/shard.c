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

struct rows {
    void *data;
    size_t n, capacity;
};

struct sand_shard {
    struct rows tables[SAND_TABLES];
};

enum sand_rc sand_shard_open(struct sand_shard **shard)
{
    struct sand_shard *const made = sand_calloc(1, sizeof *made);
    if (made == NULL)
        return SAND_ERR_NOMEM;
    *shard = made;
    return SAND_OK;
}

void sand_shard_close(struct sand_shard *shard)
{
    if (shard == NULL)
        return;
    for (size_t i = 0; i < SAND_TABLES; i++)
        sand_free(shard->tables[i].data);
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

enum sand_rc sand_shard_row(void *self, enum sand_table table, const void *row)
{
    struct sand_shard *const shard = self;
    if ((unsigned)table >= SAND_TABLES)
        return SAND_ERR_INTERNAL;
    struct rows *const rows = &shard->tables[table];
    const struct sand_table_info *const info = sand_table_info(table);
    SAND_TRY(sand_grow(&rows->data, &rows->capacity, rows->n + 1, info->row_size));
    char *const slot = (char *)rows->data + rows->n * info->row_size;
    memcpy(slot, row, info->row_size);
    clean_texts(info, slot);
    rows->n++;
    return SAND_OK;
}

// ---- commit
// ---------------------------------------------------------------------------------------

static hid_t layout(size_t n)
{
    const hsize_t chunk = n < SAND_H5_CHUNK_ROWS ? n : SAND_H5_CHUNK_ROWS;
    const hid_t list = sand_h5_quiet_list(H5P_DATASET_CREATE);
    if (list >= 0 && n > CONTIGUOUS_ROWS &&
        (H5Pset_chunk(list, 1, &chunk) < 0 || H5Pset_deflate(list, 1) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static int write_set(hid_t set, hid_t memory_type, const struct rows *rows)
{
    herr_t status = 0;
    if (rows->n > 0)
        status = H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows->data);
    return status < 0 || H5Dclose(set) < 0 ? -1 : 0;
}

static int write_table(struct sand_h5 *file, enum sand_table table, const struct rows *rows)
{
    const struct sand_table_info *const info = sand_table_info(table);
    const hsize_t extent = rows->n;
    const hid_t file_type = sand_h5_row_file_type(info);
    const hid_t memory_type = sand_h5_row_memory_type(info);
    const hid_t space = H5Screate_simple(1, &extent, NULL);
    const hid_t list = layout(rows->n);
    int status = -1;
    if (file_type >= 0 && memory_type >= 0 && space >= 0 && list >= 0) {
        const hid_t set =
            H5Dcreate2(file->id, info->name, file_type, space, H5P_DEFAULT, list, H5P_DEFAULT);
        status = set < 0 ? -1 : write_set(set, memory_type, rows);
    }
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    if (memory_type >= 0)
        H5Tclose(memory_type);
    if (file_type >= 0)
        H5Tclose(file_type);
    return status;
}

static int write_tables(struct sand_h5 *file, const struct sand_shard *shard)
{
    if (sand_h5_mark(file, SAND_H5_SHARD) < 0)
        return -1;
    for (size_t i = 0; i < SAND_TABLES; i++)
        if (write_table(file, (enum sand_table)i, &shard->tables[i]) < 0 || sand_h5_failed(file))
            return -1;
    return 0;
}

enum sand_rc sand_shard_commit(struct sand_shard *shard, const char *path, struct sand_diag *diag)
{
    struct sand_h5 *file;
    SAND_TRY(sand_h5_create(path, &file, diag));
    if (write_tables(file, shard) == 0)
        return sand_h5_commit(file, diag);
    const enum sand_rc rc = sand_h5_fail(file, "write", diag);
    sand_h5_close(file);
    return rc;
}
