// Compared figures as text: units, rounding, and which differences are clear.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "comparisonfigures.h"

struct sand_text sand_compared_text(double value, enum sand_compared_kind kind)
{
    if (isnan(value))
        return (struct sand_text){"-"};
    if (kind == SAND_COMPARED_SHARE)
        return sand_text_fixed(100 * value, 3);
    if (kind == SAND_COMPARED_TIME)
        return sand_text_quantity(value, SAND_DIM_TIME);
    if (kind == SAND_COMPARED_GPU_TIME)
        return sand_text_fixed(value / 3600, 1); // GPU-hours
    if (kind == SAND_COMPARED_ENERGY)
        return sand_text_fixed(value / 3.6e9, 2); // MWh
    return sand_text_fixed(value, 2);
}

// A difference below this part of the values (of a share: of the whole) is rounding noise: sums in
// another order differ in their last bits, and then by the same bits in every replication.
static const double rounding = 1e-9;

static double rounding_of(const struct sand_compared *figure)
{
    const double whole = figure->kind == SAND_COMPARED_SHARE
                             ? 1
                             : fmax(fabs(figure->first.mean), fabs(figure->second.mean));
    return rounding * whole;
}

int sand_compared_is_clear(const struct sand_compared *figure)
{
    const struct sand_summary *d = &figure->difference;
    return d->n >= 2 && fabs(d->mean) > d->ci95 && fabs(d->mean) > rounding_of(figure);
}

// People read noise as 0: times pick their own unit, so its last bits would be told in
// femtoseconds.
struct sand_text sand_compared_text_of_part(double value, const struct sand_compared *figure)
{
    return sand_compared_text(fabs(value) <= rounding_of(figure) ? 0 : value, figure->kind);
}
