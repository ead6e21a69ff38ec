// Reading a shard block by block.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "shardread.h"

#include "rowtype.h"
#include "store.h"

static enum sand_rc check_table(struct sand_h5 *file, const struct sand_table_info *info,
                                size_t *n_rows, struct sand_diag *diag)
{
    hssize_t n = -1;
    if (H5Lexists(file->id, info->name, H5P_DEFAULT) > 0) {
        const hid_t set = H5Dopen2(file->id, info->name, H5P_DEFAULT);
        if (set < 0)
            return sand_h5_fail(file, "read", diag);
        n = sand_h5_list_length(set, sand_h5_row_file_type(info));
        H5Dclose(set);
    }
    if (sand_h5_failed(file))
        return sand_h5_fail(file, "read", diag);
    if (n < 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: table \"%s\" is missing or has other columns than this program's; "
                         "run the unit again",
                         file->path, info->name);
    *n_rows = (size_t)n;
    return SAND_OK;
}

enum sand_rc sand_shardread_open(const char *path, struct sand_h5 **out, size_t n_rows[SAND_TABLES],
                                 struct sand_diag *diag)
{
    struct sand_h5 *file;
    SAND_TRY(sand_h5_open(path, &file, diag));
    enum sand_rc rc = sand_h5_check_marks(file, SAND_H5_SHARD, diag);
    for (size_t i = 0; rc == SAND_OK && i < SAND_TABLES; i++)
        rc = check_table(file, sand_table_info((enum sand_table)i), &n_rows[i], diag);
    if (rc != SAND_OK) {
        sand_h5_close(file);
        return rc;
    }
    *out = file;
    return SAND_OK;
}

static int read_block(hid_t set, const struct sand_table_info *info, hsize_t first, hsize_t n,
                      void *rows)
{
    const hid_t type = sand_h5_row_memory_type(info);
    const int status = sand_h5_read_block(set, type, first, n, rows);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

enum sand_rc sand_shardread_rows(struct sand_h5 *file, enum sand_table table, size_t first,
                                 size_t n, void *rows, struct sand_diag *diag)
{
    const struct sand_table_info *const info = sand_table_info(table);
    sand_h5_listen(file);
    const hid_t set = H5Dopen2(file->id, info->name, H5P_DEFAULT);
    const int status = set < 0 ? -1 : read_block(set, info, first, n, rows);
    if (set >= 0)
        H5Dclose(set);
    return status < 0 ? sand_h5_fail(file, "read", diag) : SAND_OK;
}

enum sand_rc sand_shard_check(const char *path, struct sand_diag *diag)
{
    struct sand_h5 *file;
    size_t n_rows[SAND_TABLES];
    SAND_TRY(sand_shardread_open(path, &file, n_rows, diag));
    sand_h5_close(file);
    return SAND_OK;
}
