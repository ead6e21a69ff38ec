// The shipped mixes: their own expectations are the sources' figures as near as each file says, and
// what is generated is their expectation within the sampling error.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arrivals.h"
#include "mixtables.h"

Test(mixes, all_are_there)
{
    cr_assert_eq(n_shipped_mixes, 3);
}

static void assert_source(const struct sand_mix *mix)
{
    struct sand_diag diag = {0};
    cr_assert_eq(sand_mix_check(mix, &diag), SAND_OK, "%s",
                 diag.n_messages ? diag.messages[0].text : "");
    cr_assert_gt(mix->n_figures, 5);
    cr_assert(strlen(mix->from.source) > 40 && strlen(mix->from.assumed) > 0);
    for (size_t i = 0; i < mix->n_figures; i++) {
        const struct sand_mix_figure *figure = &mix->figures[i];
        double expected = sand_mix_expect(mix, figure->quantity);
        cr_assert(fabs(expected / figure->value - 1.0) <= figure->within, "%s: %s is %g, source %g",
                  mix->id, sand_mix_quantity_name(figure->quantity), expected, figure->value);
    }
}

Test(mixes, expectation_is_the_source)
{
    for (size_t i = 0; i < n_shipped_mixes; i++)
        assert_source(&shipped_mixes[i]);
}

// 4.5 standard errors: a chance of 7e-6 a figure, were the draws not fixed by the seed.
static void assert_near(const struct sand_mix *mix, const struct sand_mix_tally *tally,
                        enum sand_mix_quantity quantity)
{
    double error, value = sand_mix_generated(tally, quantity, &error);
    double expected = sand_mix_expect(mix, quantity);
    if (quantity == SAND_MIX_median_run)
        expected = 0.5; // the share of jobs at or below it
    if (quantity == SAND_MIX_median_gpus) {
        cr_assert_geq(value, 0.5);
        return;
    }
    cr_assert(error > 0.0 && fabs(value - expected) < 4.5 * error,
              "%s: %s is %g +- %g, expected %g", mix->id, sand_mix_quantity_name(quantity), value,
              error, expected);
    // The error itself must be small enough for the comparison to mean something.
    cr_assert_lt(error, 0.1 * expected, "%s: %s", mix->id, sand_mix_quantity_name(quantity));
}

static void generate(const struct sand_mix *mix)
{
    struct sand_arrivals *arrivals;
    struct sand_mix_tally tally = {0};
    struct sand_mix_job job;
    cr_assert_eq(sand_arrivals_open(mix, (struct sand_rng){7, 0}, 0, &arrivals, NULL), SAND_OK);
    for (int i = 0; i < 500000 && sand_arrivals_next(arrivals, &job); i++) {
        sand_mix_count(&tally, mix, &job);
        cr_assert(job.request_ns >= job.run_ns);
    }
    sand_arrivals_close(arrivals);
    sand_mix_print(mix, &tally, stdout);
    for (int q = 0; q < SAND_MIX_QUANTITY_COUNT; q++)
        assert_near(mix, &tally, q);
}

Test(mixes, generated_is_the_expectation)
{
    for (size_t i = 0; i < n_shipped_mixes; i++)
        generate(&shipped_mixes[i]);
}
