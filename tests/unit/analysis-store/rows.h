// Made-up rows for every table: each cell a function of (table, column, row), so that any mix-up of
// columns, rows or tables shows.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_STORE_ROWS_H
#define SAND_TESTS_STORE_ROWS_H

#include "store.h"

// Room for any table's row.
union any_row {
    uint64_t align;
    char bytes[1024];
};

// The row number `i` of the table, with rubbish in the padding and behind the texts' NUL.
void make_row(enum sand_table table, size_t i, union any_row *row);
// 1 if the cells of `row` are those of row i.
int is_row(enum sand_table table, size_t i, const void *row);

// Writes a shard with rows [first, first + n) in every table.
enum sand_rc write_shard(const char *path, size_t first, size_t n, struct sand_diag *diag);

extern const struct sand_meta sample_meta;

// A fresh directory for this test, and a path in it (static buffers, one process a test).
const char *scratch_dir(void);
char *scratch(const char *name);

#endif
