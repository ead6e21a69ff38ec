// The one table of dimensions and their units (private to the quantity_*.c files).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_DIMENSION_H
#define SAND_SIM_BASE_DIMENSION_H

#include <stddef.h>

#include "units.h"

// SI value = number * 10^exponent * times / per. The exponent is joined to the number's digits
// before they become binary, so "8.4us" is the double nearest to 8.4e-6.
struct sand_unit {
    const char *name;
    int exponent;
    double times, per;
    int printed; // 1: chosen by sand_quantity_format
};

struct sand_dimension {
    const char *name, *example;
    const char *usual;            // the unit an example is written in, "" for plain numbers
    const char *si;               // the unit of sand_quantity_canonical
    const char *units;            // all of them, space-separated
    const struct sand_unit *rows; // printed ones in ascending order
    size_t n_rows;
};

// Never NULL; an unknown dimension is a plain number.
const struct sand_dimension *sand_dimension(enum sand_dim dim);

#endif
