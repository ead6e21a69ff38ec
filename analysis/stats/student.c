// The two-sided 95 % quantile of Student's t distribution.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "stats.h"

#define NORMAL_975 1.959963984540054 // 97.5 % quantile of the standard normal law

// Above this many degrees of freedom the expansion is exact to 1e-10, below the root is searched.
#define LARGE_DF 200.0

// Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated
// from the front by Lentz's method. Converges fast for x < (a + 1) / (a + b + 2).
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 1000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        value *= c * d;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        value *= c * d;
        if (fabs(c * d - 1.0) < 1e-15)
            break;
    }
    return value;
}

// Regularised incomplete beta function I_x(a, b), 0 < x < 1; the symmetry I_x(a, b) = 1 -
// I_{1-x}(b, a) keeps the fraction where it converges.
static double beta_regularised(double x, double a, double b)
{
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(1.0 - x, b, a) / b;
}

// P(|T| > t) = I_{df / (df + t^2)}(df / 2, 1 / 2) (Abramowitz and Stegun 26.7.1).
static double two_tails(double t, double df)
{
    return beta_regularised(df / (df + t * t), 0.5 * df, 0.5);
}

static double density(double t, double df)
{
    const double scale = exp(lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df)) / sqrt(df * M_PI);
    return scale * pow(1.0 + t * t / df, -0.5 * (df + 1.0));
}

// Expansion in 1 / df around the normal quantile (Abramowitz and Stegun 26.7.5).
static double expansion(double df)
{
    const double z = NORMAL_975;
    const double z2 = z * z;
    const double g1 = z * (z2 + 1.0) / 4.0;
    const double g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    const double g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    const double g4 =
        z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
    return z + (g1 + (g2 + (g3 + g4 / df) / df) / df) / df;
}

// Newton from the normal quantile. The tail is convex and falls, and the normal quantile lies below
// the root, so every step goes up and none goes past it.
static double search(double df)
{
    double t = NORMAL_975;
    for (int i = 0; i < 100; i++) {
        const double step = (two_tails(t, df) - 0.05) / (2.0 * density(t, df));
        t += step;
        if (fabs(step) < 1e-12 * t)
            break;
    }
    return t;
}

double sand_student_t95(double df)
{
    if (!(df >= 1.0))
        return NAN;
    return df > LARGE_DF ? expansion(df) : search(df);
}
