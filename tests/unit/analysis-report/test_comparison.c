// A comparison as printed: what counts as clear, and how jobs and replications are counted.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"

typedef enum sand_rc printer(const struct sand_comparison *comparison, FILE *out,
                             struct sand_diag *diag);

static enum sand_rc as_text(const struct sand_comparison *comparison, FILE *out,
                            struct sand_diag *diag)
{
    return sand_comparison_print(comparison, (enum sand_style){0}, out, diag);
}

static struct sand_summary mean_of(double mean, double ci95)
{
    return (struct sand_summary){.n = 4, .mean = mean, .ci95 = ci95};
}

// What is printed of one figure; the caller frees it.
static char *printed(printer *print, struct sand_compared figure, size_t least, size_t most)
{
    static const struct sand_meta meta = {.name = "a", .digest = "0", .seed = 7};
    const struct sand_comparison comparison = {.first = &meta,
                                               .second = &meta,
                                               .figures = &figure,
                                               .n_figures = 1,
                                               .n_pairs = 4,
                                               .jobs_least = least,
                                               .jobs_most = most};
    struct sand_diag diag = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(print(&comparison, out, &diag), SAND_OK);
    fclose(out);
    return text;
}

static int is_clear(struct sand_compared figure)
{
    char *text = printed(sand_comparison_json, figure, 1, 1);
    char *table = printed(as_text, figure, 1, 1);
    const int clear = strstr(text, "\"clear\":true}") != NULL;
    cr_assert_eq(!clear, strstr(text, "\"clear\":false}") != NULL, "%s", text);
    cr_assert_eq(clear, strstr(table, "  yes\n") != NULL, "both say the same: %s", table);
    free(text);
    free(table);
    return clear;
}

static struct sand_compared figure(enum sand_compared_kind kind, double value, double difference,
                                   double ci95)
{
    return (struct sand_compared){.name = "x",
                                  .kind = kind,
                                  .first = mean_of(value, 0),
                                  .second = mean_of(value + difference, 0),
                                  .difference = mean_of(difference, ci95)};
}

// Rounding repeats in every replication, so its interval leaves zero out as a true difference does.
Test(comparison, rounding_is_not_clear)
{
    cr_assert_not(is_clear(figure(SAND_COMPARED_NUMBER, 180, -2.3e-14, 2.3e-15)));
    cr_assert_not(is_clear(figure(SAND_COMPARED_TIME, 1e9, 0.5, 0.1)));
    cr_assert_not(is_clear(figure(SAND_COMPARED_SHARE, 0, 1e-16, 1e-17)), "of the whole");
    cr_assert(is_clear(figure(SAND_COMPARED_NUMBER, 180, -2.3e-4, 2.3e-5)));
    cr_assert(is_clear(figure(SAND_COMPARED_TIME, 0, 1e-6, 1e-7)), "beside nothing all is large");
    cr_assert(is_clear(figure(SAND_COMPARED_SHARE, 0.2, 1e-4, 1e-5)));
    cr_assert_not(is_clear(figure(SAND_COMPARED_SHARE, 0.2, 1e-4, 2e-4)), "the interval has zero");
}

// A time picks its own unit: the last bits of 5.9 s would be told as -2.24e-05 ns, over their
// column. Programs get what was computed.
Test(comparison, rounding_is_printed_as_nothing)
{
    const struct sand_compared noise = figure(SAND_COMPARED_TIME, 5.9125, -2.24e-14, 8.35e-15);
    const struct sand_compared true_one = figure(SAND_COMPARED_TIME, 5.9125, -2.24e-3, 8.35e-4);
    char *none = printed(as_text, noise, 1, 1), *some = printed(as_text, true_one, 1, 1);
    char *exact = printed(sand_comparison_json, noise, 1, 1);
    cr_assert(strstr(none, " 5.91 s         0 s        +- 0 s  \n") != NULL, "%s", none);
    cr_assert(strstr(some, " 5.91 s    -2.24 ms     +- 835 us  yes\n") != NULL, "%s", some);
    cr_assert(strstr(exact, "\"difference\":-2.24") != NULL, "%s", exact);
    free(none);
    free(some);
    free(exact);
}

Test(comparison, jobs_are_those_of_a_replication)
{
    const struct sand_compared any = figure(SAND_COMPARED_SHARE, 0.2, 0, 0);
    char *one = printed(as_text, any, 1, 1), *many = printed(as_text, any, 9, 12);
    cr_assert(strstr(one, "4 paired replications of 1 job, seed 7\n") == one, "%s", one);
    cr_assert(strstr(many, "4 paired replications of 9 to 12 jobs, seed 7\n") == many, "%s", many);
    free(one);
    free(many);
}
