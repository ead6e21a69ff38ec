// The table of a sweep: pairs to the first point, what is shown unless asked, and the CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample_runs.h"
#include "swept.h"

static const char *const columns[] = {"policies/@hot_spares"};
static const char *const eight[] = {"8"}, *const odd[] = {"a,\"b\""}, *const none[] = {"x"};

// Two points of the sample's runs, and one that failed.
static void make(struct sand_swept *swept, struct sand_swept_point points[3],
                 struct sand_arena *arena)
{
    struct sand_diag diag = {0};
    points[0] = (struct sand_swept_point){.name = "hot_spares=8", .levels = eight};
    points[1] = (struct sand_swept_point){.name = "odd", .levels = odd};
    points[2] = (struct sand_swept_point){.name = "failed", .levels = none};
    *swept = (struct sand_swept){columns, 1, points, 3};
    for (size_t i = 0; i < 2; i++) {
        struct sand_results *results = open_sample(2);
        cr_assert_eq(sand_swept_take(&points[i], results, arena, &diag), SAND_OK);
        sand_results_close(results);
    }
}

static char *text_of(const struct sand_swept *swept, const char *figure)
{
    struct sand_diag diag = {0};
    char *text = NULL;
    size_t size, number;
    FILE *out = open_memstream(&text, &size);
    if (figure) {
        cr_assert_eq(sand_swept_find(figure, &number, &diag), SAND_OK);
        cr_assert_eq(sand_swept_print(swept, &number, 1, SAND_STYLE_PLAIN, out, &diag), SAND_OK);
    } else {
        cr_assert_eq(sand_swept_csv(swept, out, &diag), SAND_OK);
    }
    fclose(out);
    return text;
}

Test(swept, differences_are_between_the_same_replications)
{
    struct sand_arena arena = {0};
    struct sand_swept swept;
    struct sand_swept_point points[3];
    size_t figure;
    make(&swept, points, &arena);
    cr_assert_eq(sand_swept_find("goodput MFU", &figure, NULL), SAND_OK);
    // 0.30 and 0.40 beside 0.31 and 0.43: +0.01 and +0.03, mean 2 points, half width 12.706 x 1.
    double *first = points[0].values + figure * 2, *second = points[1].values + figure * 2;
    first[0] = 0.30, first[1] = 0.40, second[0] = 0.31, second[1] = 0.43;
    char *text = text_of(&swept, "goodput MFU");
    cr_expect_not_null(strstr(text, "35.000    +- 63.531\n"), "%s", text);
    cr_expect_not_null(strstr(text, "37.000    +- 76.237       2.000    +- 12.706\n"), "%s", text);
    cr_expect_not_null(strstr(text, "  failed          no results\n"), "%s", text);
    cr_expect_null(strstr(text, "  yes\n"), "%s", text);
    free(text);
    // A difference that is the same in both pairs is clear.
    second[1] = 0.41;
    text = text_of(&swept, "goodput MFU");
    cr_expect_not_null(strstr(text, "1.000     +- 0.000  yes\n"), "%s", text);
    free(text);
    // A replication that only one of them has is in no pair.
    const uint32_t others[] = {1, 2};
    points[1].replications = others;
    text = text_of(&swept, "goodput MFU");
    cr_expect_not_null(strstr(text, "  -9.000\n"), "0.31 beside 0.40 alone: %s", text);
    free(text);
    sand_arena_clear(&arena);
}

Test(swept, what_differs_is_shown)
{
    struct sand_arena arena = {0};
    struct sand_swept swept;
    struct sand_swept_point points[3];
    size_t figures[4], recovery;
    make(&swept, points, &arena);
    cr_assert_eq(sand_swept_usual(&swept, figures, 4), 1, "equal runs");
    cr_expect_str_eq(sand_swept_name(figures[0]), "goodput MFU");
    cr_assert_eq(sand_swept_find("recovery, mean", &recovery, NULL), SAND_OK);
    points[0].values[recovery * 2] = 60;
    points[0].values[recovery * 2 + 1] = 60;
    points[1].values[recovery * 2] = 61;
    points[1].values[recovery * 2 + 1] = 61;
    cr_assert_eq(sand_swept_usual(&swept, figures, 4), 1);
    cr_expect_eq(figures[0], recovery);
    cr_assert_eq(sand_swept_usual(&swept, figures, 0), 0);
    sand_arena_clear(&arena);
}

static size_t count(const char *text, char wanted, const char *end)
{
    size_t n = 0;
    for (; text < end; text++)
        n += *text == wanted ? 1 : 0;
    return n;
}

Test(swept, csv_has_a_line_a_replication_and_units)
{
    struct sand_arena arena = {0};
    struct sand_swept swept;
    struct sand_swept_point points[3];
    make(&swept, points, &arena);
    char *text = text_of(&swept, NULL), *end = strchr(text, '\n');
    cr_expect_eq(count(text, '\n', text + strlen(text)), 5, "head, two runs of two points");
    static const char *const names[] = {"point,policies/@hot_spares,replication,",
                                        ",goodput_mfu,",
                                        ",recovery_mean_s,",
                                        ",facility_energy_J,",
                                        ",energy_per_token_J,",
                                        ",cost_of_interruptions_gpu_s,",
                                        ",bounded_slowdown_mean\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_not_null(strstr(text, names[i]), "%s in %.900s", names[i], text);
    const char *second = strchr(end + 1, '\n');
    cr_expect_eq(count(end, ',', second), count(text, ',', end));
    cr_expect_not_null(strstr(text, "\nodd,\"a,\"\"b\"\"\",1,"), "%s", text);
    free(text);
    sand_arena_clear(&arena);
}

Test(swept, unknown_figures_are_refused_with_the_nearest)
{
    static const char *const cases[][2] = {{"goodput MFV", "did you mean \"goodput MFU\""},
                                           {"goodput", "did you mean \"goodput MFU\""},
                                           {"colour", "`sandtable compare` lists them"}};
    for (size_t i = 0; i < 3; i++) {
        struct sand_diag diag = {0};
        size_t figure;
        cr_assert_eq(sand_swept_find(cases[i][0], &figure, &diag), SAND_ERR_USAGE);
        cr_expect_not_null(strstr(diag.messages[0].text, cases[i][1]), "%s", diag.messages[0].text);
        sand_diag_clear(&diag);
    }
}
