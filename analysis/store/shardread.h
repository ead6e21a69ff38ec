// Reading a shard block by block.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_SHARDREAD_H
#define SAND_ANALYSIS_STORE_SHARDREAD_H

#include "h5file.h"
#include "results.h"

// Opens a shard; refuses other files and tables that are not this program's.
enum sand_rc sand_shardread_open(const char *path, struct sand_h5 **file,
                                 size_t n_rows[SAND_TABLES], struct sand_diag *diag);

// Reads rows [first, first + n) of a table into `rows`, an array of its row struct. Opens the table
// anew each time: a call per chunk, not per row.
enum sand_rc sand_shardread_rows(struct sand_h5 *file, enum sand_table table, size_t first,
                                 size_t n, void *rows, struct sand_diag *diag);

#endif
