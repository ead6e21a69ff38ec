// What a sweep varies: values, combinations, names of directories, and what is refused.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "factors.h"

static void add(struct sand_factors *factors, const char *text, int along)
{
    struct sand_diag diag = {0};
    cr_assert_eq(sand_factors_add(factors, text, along, &diag), SAND_OK, "%s: %s", text,
                 diag.n_messages ? diag.messages[0].text : "");
}

// "a=1 b=2" of a point.
static const char *levels(const struct sand_factors *factors, uint32_t point, char *text)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < factors->n; i++)
        sprintf(text + strlen(text), "%s%s=%s", i > 0 ? " " : "", factors->factors[i].label,
                sand_factors_value(factors, point, i));
    return text;
}

Test(factors, the_last_dimension_runs_fastest)
{
    static const char *const expected[] = {"b=1 d=x f=p", "b=1 d=x f=q", "b=2 d=y f=p",
                                           "b=2 d=y f=q", "b=3 d=z f=p", "b=3 d=z f=q"};
    struct sand_factors factors = {0};
    char text[100];
    cr_assert_eq(sand_factors_points(&factors), 1);
    add(&factors, "a/@b=1,2,3", 0);
    add(&factors, "c/@d=x,y,z", 1);
    add(&factors, "e/@f=p,q", 0);
    cr_assert_eq(sand_factors_points(&factors), 6);
    for (uint32_t i = 0; i < 6; i++)
        cr_expect_str_eq(levels(&factors, i, text), expected[i]);
    sand_factors_clear(&factors);
}

Test(factors, paths_and_values_are_taken_as_they_are_meant)
{
    struct sand_factors factors = {0};
    add(&factors, "jobs/job[@id='x=1']/@nodes= 4 , 8,16", 0);
    add(&factors, "c/@place=0\\,1\\,2,3\\,4", 0);
    cr_expect_str_eq(factors.factors[0].path, "jobs/job[@id='x=1']/@nodes");
    cr_expect_str_eq(factors.factors[0].label, "nodes");
    add(&factors, "jobs/job/checkpoint/param[@name='interval']/@value=5min", 0);
    cr_expect_str_eq(factors.factors[2].label, "interval");
    cr_expect_eq(factors.factors[0].n, 3);
    cr_expect_str_eq(factors.factors[0].values[0], "4");
    cr_expect_str_eq(factors.factors[0].values[1], "8");
    cr_expect_str_eq(factors.factors[1].values[0], "0,1,2");
    cr_expect_str_eq(factors.factors[1].values[1], "3,4");
    sand_factors_clear(&factors);
}

Test(factors, names_are_their_points_and_fit_a_directory)
{
    struct sand_factors factors = {0};
    struct sand_arena arena = {0};
    add(&factors, "a/@hot_spares=8,16", 0);
    add(&factors, "b/@policy=place/packed,place_packed,../x", 0);
    const char *first = sand_factors_name(&factors, 0, &arena);
    const char *second = sand_factors_name(&factors, 1, &arena);
    const char *third = sand_factors_name(&factors, 2, &arena);
    cr_expect_eq(strncmp(first, "hot_spares=8,policy=place_packed,", 33), 0, "%s", first);
    cr_expect_str_eq(second, "hot_spares=8,policy=place_packed");
    cr_expect_null(strchr(third, '/'), "%s", third);
    cr_expect_str_neq(first, second);
    sand_factors_clear(&factors);

    // A point keeps its name when values are added.
    struct sand_factors more = {0};
    add(&more, "a/@hot_spares=4,8,16", 0);
    add(&more, "b/@policy=place/packed", 0);
    cr_expect_str_eq(sand_factors_name(&more, 1, &arena), first);
    sand_factors_clear(&more);
    sand_arena_clear(&arena);
}

Test(factors, long_names_are_cut_and_still_differ)
{
    struct sand_factors factors = {0};
    struct sand_arena arena = {0};
    char text[1100] = "a/@b=", *end = text + 5;
    memset(end, 'x', 500);
    sprintf(end + 500, "1,");
    memset(end + 502, 'x', 500);
    sprintf(end + 1002, "2");
    add(&factors, text, 0);
    const char *first = sand_factors_name(&factors, 0, &arena);
    const char *second = sand_factors_name(&factors, 1, &arena);
    cr_expect_lt(strlen(first), 255);
    cr_expect_str_neq(first, second);
    sand_factors_clear(&factors);
    sand_arena_clear(&arena);
}

Test(factors, what_is_no_sweep_is_refused)
{
    static const struct {
        const char *before, *text, *told;
        int along;
    } cases[] = {
        {NULL, "policies", "has no path", 0},
        {NULL, "=3", "has no path", 0},
        {NULL, "a/@b=", "value 1 of 1 is empty", 0},
        {NULL, "a/@b=1,,2", "value 2 of 3 is empty", 0},
        {NULL, "a/@b=1,2,1", "\"1\" is there twice", 0},
        {"a/@b=1", "a/@b=2", "is varied twice", 0},
        {NULL, "a/@b=1", "goes along with nothing", 1},
        {"a/@b=1,2", "c/@d=1,2,3", "has 3 values, but a/@b, along which it goes, has 2", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sand_factors factors = {0};
        struct sand_diag diag = {0};
        if (cases[i].before)
            add(&factors, cases[i].before, 0);
        const uint32_t n = factors.n;
        cr_assert_eq(sand_factors_add(&factors, cases[i].text, cases[i].along, &diag),
                     SAND_ERR_USAGE);
        cr_expect_not_null(strstr(diag.messages[0].text, cases[i].told), "%s",
                           diag.messages[0].text);
        cr_expect_eq(factors.n, n);
        sand_diag_clear(&diag);
        sand_factors_clear(&factors);
    }
}

Test(factors, too_many_combinations_are_refused)
{
    struct sand_factors factors = {0};
    struct sand_diag diag = {0};
    char text[4000];
    for (char name = 'a'; name < 'd'; name++) {
        int n = sprintf(text, "%c/@x=0", name);
        for (int i = 1; i < 100; i++)
            n += sprintf(text + n, ",%d", i);
        if (name < 'c')
            add(&factors, text, 0);
        else
            cr_assert_eq(sand_factors_add(&factors, text, 0, &diag), SAND_ERR_USAGE);
    }
    cr_expect_not_null(strstr(diag.messages[0].text, "more than 100000 combinations"));
    sand_diag_clear(&diag);
    sand_factors_clear(&factors);
}

Test(factors, out_of_memory_is_an_error)
{
    for (uint64_t at = 1; at <= 2; at++) {
        struct sand_factors factors = {0};
        struct sand_diag diag = {0};
        sand_mem_fail_at(at);
        const enum sand_rc rc = sand_factors_add(&factors, "a/@b=1,2", 0, &diag);
        sand_mem_fail_at(0);
        cr_expect(rc == SAND_ERR_NOMEM || rc == SAND_OK);
        cr_expect(at > 1 || rc == SAND_ERR_NOMEM);
        sand_diag_clear(&diag);
        sand_factors_clear(&factors);
    }
}
