// Student's t against printed tables and closed forms; summaries against hand-computed cases.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "mem.h"
#include "stats.h"

static void near(double got, double want, double tolerance, const char *what)
{
    cr_assert(fabs(got - want) <= tolerance, "%s: got %.12g, want %.12g", what, got, want);
}

Test(student, agrees_with_printed_tables)
{
    // Abramowitz and Stegun, table 26.10, column A = 0.95 (three decimals).
    static const struct {
        double df, t;
    } printed[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},
                   {6, 2.447},  {7, 2.365},  {8, 2.306},  {9, 2.262},  {10, 2.228},
                   {12, 2.179}, {15, 2.131}, {19, 2.093}, {20, 2.086}, {24, 2.064},
                   {29, 2.045}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {120, 1.980}};
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++)
        near(sand_student_t95(printed[i].df), printed[i].t, 0.0005, "printed value");
}

Test(student, agrees_with_closed_forms)
{
    // df = 1 is the Cauchy law, t = tan(pi p / 2); df = 2: t = p sqrt(2 / (1 - p^2)), p = 0.95.
    near(sand_student_t95(1), tan(0.475 * M_PI), 1e-10, "df 1");
    near(sand_student_t95(2), 0.95 * sqrt(2.0 / (1.0 - 0.95 * 0.95)), 1e-10, "df 2");
    // df = 4: F(t) = 1/2 + 3/8 s (1 - s^2/12 (t^2/(1+t^2/4))) with s = t / sqrt(1 + t^2/4).
    const double t = sand_student_t95(4);
    const double s = t / sqrt(1.0 + t * t / 4.0);
    near(0.5 + 0.375 * s * (1.0 - s * s / 12.0), 0.975, 1e-12,
         "df 4, distribution at the quantile");
}

Test(student, search_and_expansion_meet_and_fall_to_the_normal_quantile)
{
    near(sand_student_t95(200.0), sand_student_t95(200.0 * (1 + 1e-12)), 1e-9, "at the seam");
    near(sand_student_t95(1e9), 1.959963984540054, 1e-8, "many degrees of freedom");
    double last = INFINITY;
    for (double df = 1.0; df < 2000.0; df *= 1.1) {
        const double t = sand_student_t95(df);
        cr_assert(t < last && t > 1.959963984540054, "not falling at df %g", df);
        last = t;
    }
}

Test(student, refuses_less_than_one_degree_of_freedom)
{
    cr_assert(isnan(sand_student_t95(0.5)));
    cr_assert(isnan(sand_student_t95(NAN)));
}

Test(summary, of_a_hand_computed_sample)
{
    // 2 4 4 6: mean 4, squared deviations 4 + 0 + 0 + 4 = 8, sd = sqrt(8/3), t(3) = 3.182446.
    const double values[] = {4, NAN, 2, 6, INFINITY, 4};
    const struct sand_summary summary = sand_summarise(values, 6);
    cr_assert_eq(summary.n, 4);
    near(summary.mean, 4.0, 1e-15, "mean");
    near(summary.sd, sqrt(8.0 / 3.0), 1e-15, "sd");
    near(summary.median, 4.0, 0, "median");
    near(summary.min, 2.0, 0, "min");
    near(summary.max, 6.0, 0, "max");
    near(summary.ci95, 3.182446305284263 * sqrt(8.0 / 3.0) / 2.0, 1e-9, "interval");
    cr_assert(isnan(values[1]) && values[0] == 4.0, "the input was changed");
}

Test(summary, does_not_cancel)
{
    const double values[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    near(sand_summarise(values, 3).sd, 1.0, 1e-9, "sd of 1, 2, 3 far from zero");
}

Test(summary, does_not_depend_on_the_order)
{
    const double a[] = {0.1, 0.2, 0.3, 1e16, -1e16, 0.7};
    const double b[] = {1e16, 0.7, 0.3, 0.2, 0.1, -1e16};
    cr_assert_eq(sand_summarise(a, 6).mean, sand_summarise(b, 6).mean);
    cr_assert_eq(sand_summarise(a, 6).sd, sand_summarise(b, 6).sd);
}

Test(summary, of_one_value_has_no_interval)
{
    const double value = 0.4;
    const struct sand_summary summary = sand_summarise(&value, 1);
    cr_assert(summary.n == 1 && summary.mean == 0.4 && summary.median == 0.4);
    cr_assert(isnan(summary.ci95) && isnan(summary.sd));
}

Test(summary, of_nothing_is_nan)
{
    const double values[] = {NAN, NAN};
    cr_assert(sand_summarise(values, 2).n == 0 && isnan(sand_summarise(values, 2).mean));
    cr_assert(sand_summarise(NULL, 0).n == 0 && isnan(sand_summarise(NULL, 0).max));
}

Test(summary, without_memory_is_nan)
{
    const double values[] = {1, 2};
    sand_mem_fail_at(1);
    cr_assert_eq(sand_summarise(values, 2).n, 0);
    sand_mem_fail_at(0);
}

Test(quantile, type_7)
{
    // Hyndman and Fan's type 7 at q of 1 2 3 4: 1 + 3 q.
    const double sorted[] = {1, 2, 3, 4};
    for (double q = 0.0; q <= 1.0; q += 0.125)
        near(sand_quantile_sorted(sorted, 4, q), 1.0 + 3.0 * q, 1e-15, "quantile");
    cr_assert(isnan(sand_quantile_sorted(sorted, 0, 0.5)));
    cr_assert(isnan(sand_quantile_sorted(sorted, 4, 1.1)));
    cr_assert(isnan(sand_quantile_sorted(sorted, 4, -0.1)));
}
