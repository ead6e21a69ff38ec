// Texts as numbers: equal texts, equal numbers, in the order of first sight, whatever the number of
// them. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>

#include "names.h"

enum { MANY = 5000 };

static enum sand_rc add(struct sand_names *names, int i, uint32_t *number)
{
    char text[32];
    snprintf(text, sizeof text, "name %d", i);
    return sand_names_add(names, text, number);
}

Test(names, each_text_has_one_number_and_keeps_it)
{
    struct sand_names names = {0};
    uint32_t number;
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(add(&names, i, &number), SAND_OK);
        cr_assert_eq(number, (uint32_t)i);
    }
    const char *const first = sand_names_text(&names, 0);
    for (int i = MANY - 1; i >= 0; i--) {
        cr_assert_eq(add(&names, i, &number), SAND_OK);
        cr_assert_eq(number, (uint32_t)i);
    }
    cr_assert_eq(sand_names_add(&names, "", &number), SAND_OK);
    cr_assert_eq(number, (uint32_t)MANY, "the empty text is one too");
    cr_expect_str_eq(first, "name 0");
    cr_expect_str_eq(sand_names_text(&names, MANY - 1), "name 4999");
    cr_expect_eq(names.n, (size_t)MANY + 1);
    sand_names_clear(&names);
}

// Whatever allocation fails, what was there before is still there, and trying again works.
Test(names, out_of_memory_loses_nothing)
{
    for (uint64_t fail = 1; fail < 12; fail++) {
        struct sand_names names = {0};
        uint32_t number = 0;
        sand_mem_fail_at(fail);
        for (int i = 0; i < 200; i++) {
            if (add(&names, i, &number) != SAND_OK)
                cr_assert_eq(add(&names, i, &number), SAND_OK);
            cr_assert_eq(number, (uint32_t)i);
        }
        sand_mem_fail_at(0);
        sand_names_clear(&names);
    }
}
