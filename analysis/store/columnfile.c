// Tables beside those of results files: one file, one group, one data set per column.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "h5item.h"
#include "store.h"

static int describe(hid_t set, const struct sand_store_column *column)
{
    return sand_h5_put_text(set, "units", column->unit) < 0 ||
                   sand_h5_put_text(set, "long_name", column->long_name) < 0
               ? -1
               : 0;
}

static int write_numbers(hid_t group, const struct sand_store_column *column, size_t n)
{
    const hsize_t extent = n;
    const hid_t space = H5Screate_simple(1, &extent, NULL);
    const hid_t list = sand_h5_quiet_list(H5P_DATASET_CREATE);
    hid_t set = H5I_INVALID_HID;
    if (space >= 0 && list >= 0)
        set =
            H5Dcreate2(group, column->name, H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    int status = set < 0 || describe(set, column) < 0 ? -1 : 0;
    if (status == 0 && n > 0 &&
        H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column->numbers) < 0)
        status = -1;
    if (set >= 0)
        H5Dclose(set);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

// Texts of one width, padded with NUL.
static int write_words(struct sand_h5 *file, hid_t group, const struct sand_store_column *column,
                       size_t n)
{
    size_t width = 1;
    for (size_t i = 0; i < n; i++)
        if (strlen(column->texts[i]) > width)
            width = strlen(column->texts[i]);
    char *rows = sand_calloc(n > 0 ? n : 1, width);
    if (rows == NULL) {
        file->no_memory = 1;
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * width, column->texts[i], strlen(column->texts[i]));
    int status = sand_h5_write_texts(group, column->name, rows, width, n);
    sand_free(rows);
    const hid_t set = status == 0 ? H5Dopen2(group, column->name, H5P_DEFAULT) : H5I_INVALID_HID;
    status = set < 0 ? -1 : describe(set, column);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

static int write_table(struct sand_h5 *file, const struct sand_store_columns *table)
{
    const hid_t list = sand_h5_quiet_list(H5P_GROUP_CREATE);
    const hid_t group = list < 0
                            ? H5I_INVALID_HID
                            : H5Gcreate2(file->id, table->group, H5P_DEFAULT, list, H5P_DEFAULT);
    int status = group < 0 || sand_h5_mark(file, table->content) < 0 ||
                         sand_h5_put_text(group, "long_name", table->long_name) < 0
                     ? -1
                     : 0;
    for (size_t i = 0; status == 0 && i < table->n_columns; i++)
        status = table->columns[i].numbers
                     ? write_numbers(group, &table->columns[i], table->n_rows)
                     : write_words(file, group, &table->columns[i], table->n_rows);
    if (group >= 0)
        H5Gclose(group);
    if (list >= 0)
        H5Pclose(list);
    return status;
}

enum sand_rc sand_store_columns_write(const struct sand_store_columns *table, const char *path,
                                      struct sand_diag *diag)
{
    struct sand_h5 *file = NULL;
    SAND_TRY(sand_h5_create(path, &file, diag));
    if (write_table(file, table) == 0)
        return sand_h5_commit(file, diag);
    const enum sand_rc rc = sand_h5_fail(file, "write the table", diag);
    sand_h5_close(file);
    return rc;
}
