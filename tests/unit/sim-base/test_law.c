// Laws: quantiles against closed forms, means against numerical integration of the quantile.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "law.h"

static void assert_close(double value, double expected, double relative)
{
    cr_assert(fabs(value - expected) <= relative * fabs(expected), "%.17g, expected %.17g", value,
              expected);
}

Test(law, constant_and_exponential_quantiles)
{
    struct sand_law constant = {SAND_LAW_CONSTANT, 600.0, 0.0, 0.0};
    struct sand_law exponential = {SAND_LAW_EXPONENTIAL, 100.0, 0.0, 0.0};
    cr_assert_eq(sand_law_quantile(&constant, 0.9), 600.0);
    assert_close(sand_law_quantile(&exponential, 0.5), 100.0 * log(2.0), 1e-15);
    assert_close(sand_law_quantile(&exponential, 1e-18), 1e-16, 1e-15); // no cancellation
}

Test(law, weibull_of_shape_one_is_exponential_and_mean_is_the_mean)
{
    struct sand_law one = {SAND_LAW_WEIBULL, 100.0, 1.0, 0.0};
    struct sand_law unset = {SAND_LAW_WEIBULL, 100.0, 0.0, 0.0};
    assert_close(sand_law_quantile(&one, 0.3), -100.0 * log1p(-0.3), 1e-14);
    assert_close(sand_law_quantile(&unset, 0.3), -100.0 * log1p(-0.3), 1e-14);
    // k = 2: scale = mean * 2 / sqrt(pi), median = scale * sqrt(ln 2).
    struct sand_law two = {SAND_LAW_WEIBULL, 10.0, 2.0, 0.0};
    assert_close(sand_law_quantile(&two, 0.5), 10.0 * M_2_SQRTPI * sqrt(log(2.0)), 1e-14);
    cr_assert_eq(sand_law_mean(&two), 10.0);
}

// Normal quantiles to 16 digits (Odeh and Evans 1974, table; -3 and -6 from their CDF values).
Test(law, lognormal_quantiles_to_1e_12)
{
    static const struct {
        double u, z;
    } cases[] = {{0.5, 0.0},
                 {0.975, 1.959963984540054},
                 {0.995, 2.5758293035489004},
                 {0.025, -1.959963984540054},
                 {0.001, -3.090232306167813},
                 {0.0013498980316300946, -3.0},
                 {9.865876450376981e-10, -6.0},
                 {0.02425, -1.972961203218189}};
    struct sand_law law = {SAND_LAW_LOGNORMAL, 1.0, 1.0, 0.0};
    for (size_t i = 0; i < 7; i++) {
        double z = log(sand_law_quantile(&law, cases[i].u));
        cr_assert(fabs(z - cases[i].z) <= 1e-12 * fmax(1.0, fabs(cases[i].z)),
                  "u = %g: %.17g, expected %.17g", cases[i].u, z, cases[i].z);
    }
}

// Inverse property over the whole range, the joints of the approximation included: CDF(Q(u)) = u.
Test(law, lognormal_quantile_inverts_the_cdf)
{
    struct sand_law law = {SAND_LAW_LOGNORMAL, 1.0, 1.0, 0.0};
    for (double u = 0x1p-53; u < 1.0; u = u < 0.01 ? u * 1.7 : u + 0.00037) {
        double z = log(sand_law_quantile(&law, u));
        double p = u < 0.5 ? 0.5 * erfc(-z * M_SQRT1_2) : 0.5 * erfc(z * M_SQRT1_2);
        assert_close(p, u < 0.5 ? u : 1.0 - u, 1e-12 * fmax(1.0, z * z));
    }
}

static double integrated_mean(const struct sand_law *law)
{
    // Midpoints in a variable that crowds points at both ends: u = x^3 (10 - 15 x + 6 x^2).
    enum { N = 20000 };
    double sum = 0.0;
    for (int i = 0; i < N; i++) {
        double x = (i + 0.5) / N;
        double u = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x);
        double du = 30.0 * x * x * (1.0 - x) * (1.0 - x);
        if (u > 0.0 && u < 1.0)
            sum += sand_law_quantile(law, u) * du / N;
    }
    return sum;
}

Test(law, means_equal_the_integral_of_the_quantile)
{
    static const struct sand_law laws[] = {
        {SAND_LAW_CONSTANT, 600.0, 0.0, 0.0},     {SAND_LAW_CONSTANT, 600.0, 0.0, 300.0},
        {SAND_LAW_EXPONENTIAL, 100.0, 0.0, 0.0},  {SAND_LAW_EXPONENTIAL, 100.0, 0.0, 80.0},
        {SAND_LAW_WEIBULL, 100.0, 0.7, 0.0},      {SAND_LAW_WEIBULL, 100.0, 0.7, 50.0},
        {SAND_LAW_WEIBULL, 100.0, 3.0, 130.0},    {SAND_LAW_WEIBULL, 100.0, 0.7, 900.0},
        {SAND_LAW_LOGNORMAL, 1800.0, 0.8, 0.0},   {SAND_LAW_LOGNORMAL, 1800.0, 0.8, 3600.0},
        {SAND_LAW_LOGNORMAL, 1800.0, 0.8, 900.0}, {SAND_LAW_LOGNORMAL, 1800.0, 0.0, 0.0},
    };
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++)
        assert_close(sand_law_mean(&laws[i]), integrated_mean(&laws[i]), 2e-5);
}

Test(law, bounds_hold_and_values_are_finite)
{
    struct sand_law bounded = {SAND_LAW_LOGNORMAL, 1800.0, 2.0, 3600.0};
    cr_assert_eq(sand_law_quantile(&bounded, 0.999), 3600.0);
    cr_assert_lt(sand_law_quantile(&bounded, 0.5), 3600.0);
    struct sand_law steep = {SAND_LAW_WEIBULL, 1.0, 0.001, 0.0};
    cr_assert(isfinite(sand_law_quantile(&steep, 1.0 - 0x1p-53)));
    struct sand_law nothing = {SAND_LAW_WEIBULL, 0.0, 0.7, 0.0};
    cr_assert_eq(sand_law_quantile(&nothing, 0.5), 0.0);
    cr_assert_eq(sand_law_mean(&nothing), 0.0);
}
