// What a sweep varies: paths of an experiment with the values that each takes, and their points.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_FACTORS_H
#define SAND_SIM_SWEEP_FACTORS_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "mem.h"

enum { SAND_FACTORS_MOST = 8, SAND_POINTS_MOST = 100000 };

// One path. Those of one dimension go along with each other: value k of each together.
struct sand_factor {
    const char *path;  // as of --set
    const char *label; // for people: of "policies/@hot_spares" it is "hot_spares"
    const char **values;
    uint32_t n, dimension;
};

// Zero-initialise; clear to free.
struct sand_factors {
    struct sand_factor factors[SAND_FACTORS_MOST];
    uint32_t n;
    struct sand_arena arena;
};

// Adds "PATH=VALUE,VALUE,..."; a comma that belongs to a value is written "\,". `along`: no
// dimension of its own but that of the factor before it, with as many values. SAND_ERR_USAGE
// names what is wrong: no path, no value, a value twice, a path twice, too many points.
enum sand_rc sand_factors_add(struct sand_factors *factors, const char *text, int along,
                              struct sand_diag *diag);
void sand_factors_clear(struct sand_factors *factors);

// Every combination of the dimensions; 1 without any. The last dimension runs fastest.
uint32_t sand_factors_points(const struct sand_factors *factors);
// What the factor has at the point.
const char *sand_factors_value(const struct sand_factors *factors, uint32_t point, uint32_t factor);

// A name for the point that a directory may have, "hot_spares=8,detect=90s": what is not a letter,
// a digit or one of ._+-:@% in a value comes out as "_". Points whose names would be the same, or
// too long, end with a digest of their values, so that a name stays one point's when values are
// added to the sweep. NULL: out of memory.
const char *sand_factors_name(const struct sand_factors *factors, uint32_t point,
                              struct sand_arena *arena);

#endif
