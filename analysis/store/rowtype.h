// The compound type of a table's row.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_ROWTYPE_H
#define SAND_ANALYSIS_STORE_ROWTYPE_H

#include "h5item.h"

// As the row struct lies in memory, padding and all.
hid_t sand_h5_row_memory_type(const struct sand_table_info *info);
// As it lies in a shard: packed, little-endian.
hid_t sand_h5_row_file_type(const struct sand_table_info *info);

#endif
