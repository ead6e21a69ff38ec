// Means, spreads and confidence intervals.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STATS_STATS_H
#define SAND_ANALYSIS_STATS_STATS_H

#include <stddef.h>

struct sand_summary {
    size_t n; // finite values; NaN are left out
    double mean, sd, min, max, median;
    double
        ci95; // half width of the 95 % confidence interval of the mean, Student's t; NaN for n < 2
};

// O(n log n). `values` is not changed. All NaN: n = 0 and every figure NaN. Out of memory: n = 0.
struct sand_summary sand_summarise(const double *values, size_t n);

// Quantile by linear interpolation of a sorted array (Hyndman and Fan type 7), q in 0..1.
double sand_quantile_sorted(const double *sorted, size_t n, double q);

// Two-sided 95 % Student t quantile for `df` degrees of freedom (>= 1), to 1e-6.
double sand_student_t95(double df);

#endif
