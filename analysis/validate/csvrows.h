// A CSV of measurements as texts by column, nothing interpreted.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_CSVROWS_H
#define SAND_ANALYSIS_VALIDATE_CSVROWS_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "mem.h"

enum { SAND_CSV_COLUMNS = 64 }; // at most that a caller names

struct sand_csv_rows {
    const char **cells; // row after row, `n_columns` each, in the caller's order; "" where empty
    size_t n, n_columns, capacity;
    struct sand_arena arena;
};

// Reads a CSV with a header line (RFC 4180). The `n_columns` named ones are found in any order,
// others are ignored. SAND_ERR_INPUT if one is missing that has its bit in `needed`, the quoting is
// broken, or the file is empty or no text. Clear in any case. O(bytes).
enum sand_rc sand_csv_rows_read(const char *path, const char *const *names, size_t n_columns,
                                uint64_t needed, struct sand_csv_rows *rows,
                                struct sand_diag *diag);
void sand_csv_rows_clear(struct sand_csv_rows *rows);

#endif
