// One table of a results file being written: a group with one data set per column.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_TABLEWRITER_H
#define SAND_ANALYSIS_STORE_TABLEWRITER_H

#include "h5item.h"

struct sand_tablewriter;

// Makes the group, its columns with their attributes and the dimension scale `row`, for exactly
// `total` rows.
enum sand_rc sand_tablewriter_open(struct sand_h5 *file, enum sand_table table, size_t total,
                                   struct sand_tablewriter **writer, struct sand_diag *diag);

// Where the next rows go, and in *n how many fit (0 only when all are written).
void *sand_tablewriter_room(struct sand_tablewriter *writer, size_t *n);
// Says that n rows were put there. Writes a chunk of each column whenever one is full.
enum sand_rc sand_tablewriter_filled(struct sand_tablewriter *writer, size_t n,
                                     struct sand_diag *diag);

// Frees; the caller has put all rows or is giving up.
void sand_tablewriter_close(struct sand_tablewriter *writer);

#endif
