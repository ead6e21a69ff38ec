// Sorts more rows than memory should hold: sorted pieces go to a file without a name.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_SORTER_H
#define SAND_SIM_BASE_SORTER_H

#include <stddef.h>

#include "diag.h"

struct sand_sorter;

// Rows of `size` bytes in the order of `compare`; rows that compare equal must be equal byte by
// byte, for their order is not kept. `dir` is where the file is made, once there are more than 2
// MiB of rows; NULL: $TMPDIR or /tmp. Memory: 2 MiB, and when they come out 16 KiB for each 2 MiB.
enum sand_rc sand_sorter_open(size_t size, int (*compare)(const void *, const void *),
                              const char *dir, struct sand_sorter **sorter);

// O(log rows) amortised.
enum sand_rc sand_sorter_add(struct sand_sorter *sorter, const void *row, struct sand_diag *diag);

// The next row in order, NULL after the last one; valid until the next call. No row may be added
// after the first call. O(log pieces).
enum sand_rc sand_sorter_next(struct sand_sorter *sorter, const void **row, struct sand_diag *diag);

void sand_sorter_close(struct sand_sorter *sorter); // NULL is fine

#endif
