// Means, spreads, quantiles and confidence intervals of a handful of replications.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>

#include "mem.h"
#include "stats.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Copies the finite values, ascending; returns how many.
static size_t sorted_finite(const double *values, size_t n, double *sorted)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            sorted[kept++] = values[i];
    qsort(sorted, kept, sizeof *sorted, by_value);
    return kept;
}

// Mean and, in *squares, the sum of squared deviations, by Welford's recurrence (Technometrics 4,
// 1962): no cancellation when the spread is tiny beside the mean. Summed in ascending order, so
// the result does not depend on the order of the replications.
static double mean_of(const double *sorted, size_t n, double *squares)
{
    double mean = 0.0;
    *squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double delta = sorted[i] - mean;
        mean += delta / (double)(i + 1);
        *squares += delta * (sorted[i] - mean);
    }
    return mean;
}

static struct sand_summary nothing(void)
{
    return (struct sand_summary){
        .n = 0, .mean = NAN, .sd = NAN, .min = NAN, .max = NAN, .median = NAN, .ci95 = NAN};
}

static struct sand_summary summary_of(const double *sorted, size_t n)
{
    struct sand_summary summary = nothing();
    double squares;
    summary.n = n;
    summary.mean = mean_of(sorted, n, &squares);
    summary.min = sorted[0];
    summary.max = sorted[n - 1];
    summary.median = sand_quantile_sorted(sorted, n, 0.5);
    if (n >= 2) {
        const double df = (double)(n - 1);
        summary.sd = sqrt(squares / df);
        summary.ci95 = sand_student_t95(df) * summary.sd / sqrt((double)n);
    }
    return summary;
}

struct sand_summary sand_summarise(const double *values, size_t n)
{
    double *const sorted = sand_calloc(n, sizeof *sorted);
    if (sorted == NULL)
        return nothing();
    const size_t kept = sorted_finite(values, n, sorted);
    const struct sand_summary summary = kept > 0 ? summary_of(sorted, kept) : nothing();
    sand_free(sorted);
    return summary;
}

double sand_quantile_sorted(const double *sorted, size_t n, double q)
{
    if (n == 0 || !(q >= 0.0 && q <= 1.0))
        return NAN;
    const double position = q * (double)(n - 1);
    const size_t below = (size_t)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    const double weight = position - (double)below;
    return sorted[below] + weight * (sorted[below + 1] - sorted[below]);
}
