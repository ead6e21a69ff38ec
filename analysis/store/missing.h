// Which columns may lack a value, and what stands there then.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_MISSING_H
#define SAND_ANALYSIS_STORE_MISSING_H

#include "results.h"

// The cell that means "no value" in this column, or NULL when the column always has one. It is the
// column's _FillValue: NaN for numbers, 4294967295 for indices, -1 for dates.
const void *sand_missing_cell(enum sand_table table, const struct sand_column *column);

#endif
