// The result rows and the sink they are emitted into.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_RESULTS_H
#define SAND_SIM_MODEL_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

#define SAND_STR_SIZE 64
enum sand_column_type { SAND_COL_i64, SAND_COL_u32, SAND_COL_u64, SAND_COL_f64, SAND_COL_str };

// enum sand_table { SAND_TABLE_jobs, ... }
enum sand_table {
#define TABLE(name, doc) SAND_TABLE_##name,
#define COL(table, type, name, unit, doc)
#include "results.def"
#undef TABLE
#undef COL
    SAND_TABLES
};

typedef int64_t sand_cell_i64;
typedef uint32_t sand_cell_u32;
typedef uint64_t sand_cell_u64;
typedef double sand_cell_f64;
typedef struct {
    char text[SAND_STR_SIZE];
} sand_cell_str;

// The row structs are written out in results_rows.h, which results.c checks against results.def.
#include "results_rows.h"

struct sand_column {
    const char *name, *unit, *doc;
    enum sand_column_type type;
    size_t offset, size;
};
struct sand_table_info {
    const char *name, *doc;
    const struct sand_column *columns;
    size_t n_columns, row_size;
};

// Description of a table; never NULL for table < SAND_TABLES.
const struct sand_table_info *sand_table_info(enum sand_table table);

// Truncates to 63 bytes, or up to three fewer so that no UTF-8 letter is cut in two.
void sand_cell_set(sand_cell_str *cell, const char *text);

// Where rows go. `row` points at the table's row struct and is copied.
struct sand_sink {
    void *self;
    enum sand_rc (*row)(void *self, enum sand_table table, const void *row);
};

#endif
