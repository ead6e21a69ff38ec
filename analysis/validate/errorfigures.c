// Median, mean and bias of errors, and how many are small.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "errorfigures.h"

#include <math.h>

#include "mem.h"
#include "stats.h"

enum sand_rc sand_error_figure_out(const void *results, size_t n, const uint8_t *in,
                                   double (*error)(const void *results, size_t i),
                                   struct sand_error_figures *f)
{
    double *size = sand_calloc(n, sizeof *size), sum = 0;
    if (size == NULL)
        return SAND_ERR_NOMEM;
    *f = (struct sand_error_figures){0};
    for (size_t i = 0; i < n; i++) {
        if (!in[i])
            continue;
        const double one = error(results, i);
        sum += one;
        size[f->n++] = fabs(one);
        f->within5 += fabs(one) <= 0.05;
        f->within10 += fabs(one) <= 0.10;
    }
    const struct sand_summary summary = sand_summarise(size, f->n);
    f->median = summary.median;
    f->mean = summary.mean;
    f->bias = f->n > 0 ? sum / (double)f->n : NAN;
    sand_free(size);
    return SAND_OK;
}
