// A CSV of measurements as texts by column, nothing interpreted.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_CSVROWS_H
#define SAND_ANALYSIS_VALIDATE_CSVROWS_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "mem.h"

enum {
    SAND_CSV_COLUMNS = 64, // at most that a caller names
    SAND_CSV_NUMBER = 32
};

struct sand_csv_rows {
    // Row after row, n_columns + 1 each: the cells in the caller's order, "" where empty or where
    // they say so ("-", "N/A"), then NULL
    // or what is wrong with the row, whose other cells then are "". The first cell names the row:
    // "line 17" where the file has no name.
    const char **cells;
    size_t n, n_columns, capacity;
    struct sand_arena arena;
};

static inline const char *const *sand_csv_row(const struct sand_csv_rows *rows, size_t i)
{
    return &rows->cells[i * (rows->n_columns + 1)];
}

// Reads a CSV with a header line (RFC 4180; a byte order mark and any line ends). The `n_columns`
// named ones are found in any order and case, others are ignored. A row whose quotes are broken,
// that has more cells than the header or holds control characters is kept with its fault, and
// reading goes on at the next line; cells missing at a row's end are empty, empty rows are left
// out. SAND_ERR_INPUT if a column is missing that has its bit in `needed`, the header is broken,
// more than 1,000 rows are, or the file is empty or no text. Clear in any case. O(bytes).
enum sand_rc sand_csv_rows_read(const char *path, const char *const *names, size_t n_columns,
                                uint64_t needed, struct sand_csv_rows *rows,
                                struct sand_diag *diag);
void sand_csv_rows_clear(struct sand_csv_rows *rows);

// A whole number as spreadsheets group it, without its commas: "131,072" in `plain`; any other text
// as it is.
const char *sand_csv_ungrouped(const char *text, char plain[SAND_CSV_NUMBER]);

#endif
