// Predicted rows as one table: the same columns as CSV and as HDF5.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_PREDICTEDTABLE_H
#define SAND_ANALYSIS_VALIDATE_PREDICTEDTABLE_H

#include <stddef.h>
#include <stdio.h>

#include "diag.h"
#include "rc.h"

// Of numbers or of texts; a number is NaN where there is none.
struct sand_predicted_column {
    const char *name, *unit, *long_name;
    double (*number)(const void *results, size_t i);
    const char *(*text)(const void *results, size_t i);
};

struct sand_predicted_table {
    const char *content, *group, *long_name; // of the HDF5 file, as in store.h
    const struct sand_predicted_column *columns;
    size_t n_columns;
    const void *results;
    size_t n;
};

// One line per row; an empty cell where there is no number, or nothing of it.
void sand_predicted_csv(const struct sand_predicted_table *table, FILE *out);
// SAND_ERR_NOMEM, SAND_ERR_IO. O(n).
enum sand_rc sand_predicted_hdf5(const struct sand_predicted_table *table, const char *path,
                                 struct sand_diag *diag);

#endif
