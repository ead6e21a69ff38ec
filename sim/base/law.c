// Quantiles and means of the laws of durations.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "law.h"

#include <float.h>
#include <math.h>

// ---- normal distribution
// --------------------------------------------------------------------------

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double polynomial(const double *c, int n, double x)
{
    double sum = c[0];
    for (int i = 1; i < n; i++)
        sum = sum * x + c[i];
    return sum;
}

// P. J. Acklam's rational approximation of the inverse normal CDF ("An algorithm for computing the
// inverse normal cumulative distribution function", 2003), relative error 1.15e-9; p in (0, 1/2].
static double acklam(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1.0};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1.0};
    if (p < 0.02425) {
        double q = sqrt(-2.0 * log(p));
        return polynomial(c, 6, q) / polynomial(d, 5, q);
    }
    double q = p - 0.5, r = q * q;
    return polynomial(a, 6, r) * q / polynomial(b, 6, r);
}

// Lower half, refined by one step of Halley's method, which cubes the error. Left out where
// exp(x^2/2) would overflow (p < 1e-300, which no 52-bit uniform reaches).
static double normal_quantile_lower(double p)
{
    double x = acklam(p);
    if (x < -37.0)
        return x;
    double step = (normal_cdf(x) - p) * sqrt(2.0 * M_PI) * exp(0.5 * x * x);
    return x - step / (1.0 + 0.5 * x * step);
}

static double normal_quantile(double u)
{
    return u <= 0.5 ? normal_quantile_lower(u) : -normal_quantile_lower(1.0 - u);
}

// ---- incomplete gamma function
// --------------------------------------------------------------------

// Regularised lower incomplete gamma P(a, x), a > 0, x >= 0: the series below x = a + 1, Lentz's
// continued fraction of the complement above (Abramowitz and Stegun 6.5.29 and 6.5.31).
static double gamma_series(double a, double x)
{
    double term = 1.0 / a, sum = term;
    for (double n = a + 1.0; fabs(term) > fabs(sum) * DBL_EPSILON / 2; n += 1.0) {
        term *= x / n;
        sum += term;
    }
    return sum;
}

static double gamma_fraction(double a, double x)
{
    double b = x + 1.0 - a, c = 1.0 / DBL_MIN, d = 1.0 / b, value = d;
    for (int i = 1; i < 10000; i++) {
        double numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        value *= d * c;
        if (fabs(d * c - 1.0) < DBL_EPSILON)
            break;
    }
    return value;
}

static double log_gamma(double a)
{
    int sign;
    return lgamma_r(a, &sign);
}

static double gamma_lower(double a, double x)
{
    if (!(x > 0.0))
        return 0.0;
    if (!isfinite(x))
        return 1.0;
    double front = exp(a * log(x) - x - log_gamma(a));
    return x < a + 1.0 ? front * gamma_series(a, x) : 1.0 - front * gamma_fraction(a, x);
}

// ---- laws
// -------------------------------------------------------------------------------------------

static double weibull_shape(const struct sand_law *law)
{
    return law->shape > 0.0 ? law->shape : 1.0;
}

// Logarithm of the scale, so that small shapes do not overflow on the way.
static double weibull_log_scale(const struct sand_law *law)
{
    return log(law->mean_s) - log_gamma(1.0 + 1.0 / weibull_shape(law));
}

static double quantile(const struct sand_law *law, double u)
{
    switch (law->kind) {
    case SAND_LAW_CONSTANT:
        return law->mean_s;
    case SAND_LAW_EXPONENTIAL:
        return -law->mean_s * log1p(-u);
    case SAND_LAW_WEIBULL:
        return exp(weibull_log_scale(law) + log(-log1p(-u)) / weibull_shape(law));
    case SAND_LAW_LOGNORMAL:
        return law->shape > 0.0 ? law->mean_s * exp(law->shape * normal_quantile(u)) : law->mean_s;
    }
    return 0.0;
}

static double bounded(const struct sand_law *law, double value)
{
    return law->max_s > 0.0 && value > law->max_s ? law->max_s : value;
}

double sand_law_quantile(const struct sand_law *law, double u)
{
    if (!(law->mean_s > 0.0))
        return 0.0;
    double value = bounded(law, quantile(law, u));
    return value < DBL_MAX ? value : DBL_MAX;
}

// E[min(X, m)] of the lognormal: the part below m, and m times the probability above.
static double lognormal_mean(const struct sand_law *law)
{
    double s = law->shape > 0.0 ? law->shape : 0.0;
    double mean = law->mean_s * exp(0.5 * s * s);
    if (!(law->max_s > 0.0) || s == 0.0)
        return bounded(law, mean);
    double z = log(law->max_s / law->mean_s) / s;
    return mean * normal_cdf(z - s) + law->max_s * normal_cdf(-z);
}

// E[min(X, m)] is the integral of the survival function up to m.
static double weibull_mean(const struct sand_law *law)
{
    if (!(law->max_s > 0.0))
        return law->mean_s;
    double k = weibull_shape(law);
    double x = exp(k * (log(law->max_s) - weibull_log_scale(law)));
    return law->mean_s * gamma_lower(1.0 / k, x);
}

double sand_law_mean(const struct sand_law *law)
{
    if (!(law->mean_s > 0.0))
        return 0.0;
    switch (law->kind) {
    case SAND_LAW_CONSTANT:
        return bounded(law, law->mean_s);
    case SAND_LAW_EXPONENTIAL:
        return law->max_s > 0.0 ? -law->mean_s * expm1(-law->max_s / law->mean_s) : law->mean_s;
    case SAND_LAW_WEIBULL:
        return weibull_mean(law);
    case SAND_LAW_LOGNORMAL:
        return lognormal_mean(law);
    }
    return 0.0;
}
