// The compound type of a table's row, from the table's description.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "rowtype.h"

static int insert(hid_t row, const char *name, size_t offset, hid_t cell)
{
    if (cell < 0)
        return -1;
    const herr_t status = H5Tinsert(row, name, offset, cell);
    H5Tclose(cell);
    return status < 0 ? -1 : 0;
}

hid_t sand_h5_row_memory_type(const struct sand_table_info *info)
{
    const hid_t row = H5Tcreate(H5T_COMPOUND, info->row_size);
    for (size_t i = 0; row >= 0 && i < info->n_columns; i++) {
        const struct sand_column *const column = &info->columns[i];
        if (insert(row, column->name, column->offset, sand_h5_cell_memory_type(column->type)) < 0) {
            H5Tclose(row);
            return H5I_INVALID_HID;
        }
    }
    return row;
}

hid_t sand_h5_row_file_type(const struct sand_table_info *info)
{
    size_t size = 0;
    for (size_t i = 0; i < info->n_columns; i++)
        size += info->columns[i].size;
    const hid_t row = H5Tcreate(H5T_COMPOUND, size);
    size_t offset = 0;
    for (size_t i = 0; row >= 0 && i < info->n_columns; i++) {
        const struct sand_column *const column = &info->columns[i];
        if (insert(row, column->name, offset, sand_h5_cell_file_type(column->type)) < 0) {
            H5Tclose(row);
            return H5I_INVALID_HID;
        }
        offset += column->size;
    }
    return row;
}
