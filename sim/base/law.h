// Probability laws of durations, sampled by inverse CDF.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_LAW_H
#define SAND_SIM_BASE_LAW_H

#include <stddef.h>

enum sand_law_kind {
    SAND_LAW_CONSTANT,    // mean_s
    SAND_LAW_EXPONENTIAL, // mean_s
    SAND_LAW_WEIBULL,     // mean_s (of the law, not the scale), shape
    SAND_LAW_LOGNORMAL    // median in mean_s, sigma in shape
};

struct sand_law {
    enum sand_law_kind kind;
    double mean_s; // constant, exponential, Weibull: the mean; lognormal: the median
    double shape;  // Weibull k (<= 0 counts as 1), lognormal sigma (<= 0 counts as 0)
    double max_s;  // any law: values above are drawn at this bound; 0: no bound
};

// The value whose cumulative probability is u, u in (0, 1). Seconds, finite, >= 0. O(1).
double sand_law_quantile(const struct sand_law *law, double u);

// The mean in seconds (closed forms, to about 1e-14 relative; the bound included).
double sand_law_mean(const struct sand_law *law);

#endif
