// Diagnostics: counted, printed in order, safe without memory; "did you mean"; result codes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "mem.h"

static char *printed(const struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    sand_diag_print(diag, out);
    fclose(out);
    return text;
}

Test(diag, the_same_problem_is_said_once_and_counted)
{
    struct sand_diag diag = {0};
    for (int i = 0; i < 3; i++)
        sand_diag_add(&diag, SAND_ERROR, i < 2 ? "a.xml" : NULL, 7, "no attribute \"%s\"", "detct");
    sand_diag_add(&diag, SAND_ERROR, NULL, 8, "no attribute \"detct\"");
    sand_diag_add(&diag, SAND_WARNING, NULL, 8, "no attribute \"detct\"");
    char *text = printed(&diag);
    cr_assert_str_eq(text, "a.xml:7: error: no attribute \"detct\"\n"
                           "error: no attribute \"detct\"\n"
                           "error: no attribute \"detct\"\n"
                           "warning: no attribute \"detct\"\n");
    cr_assert_eq(diag.n_errors, 4);
    cr_assert_eq(diag.n_warnings, 1);
    free(text);
    sand_diag_clear(&diag);
}

Test(diag, prints_place_severity_and_text_in_order)
{
    struct sand_diag diag = {0};
    sand_diag_add(&diag, SAND_ERROR, "cluster.xml", 41, "link \"%s\" has no unit", "leaf3-spine1");
    sand_diag_add(&diag, SAND_WARNING, "cluster.xml", 0, "fast");
    sand_diag_add(&diag, SAND_NOTE, NULL, 7, "assumed");
    cr_assert_eq(sand_fail(&diag, SAND_ERR_IO, "disk %d", 3), SAND_ERR_IO);
    char *text = printed(&diag);
    cr_assert_str_eq(text, "cluster.xml:41: error: link \"leaf3-spine1\" has no unit\n"
                           "cluster.xml: warning: fast\n"
                           "note: assumed\n"
                           "error: disk 3\n");
    cr_assert_eq(diag.n_errors, 2);
    cr_assert_eq(diag.n_warnings, 1);
    free(text);
    sand_diag_clear(&diag);
    cr_assert(!diag.messages && diag.n_errors == 0);
    sand_diag_add(NULL, SAND_ERROR, NULL, 0, "dropped");
    cr_assert_eq(sand_fail(NULL, SAND_ERR_INPUT, "dropped"), SAND_ERR_INPUT);
}

// Each of the three allocations of a message may fail: the error still counts, nothing leaks.
Test(diag, counts_errors_without_memory)
{
    for (uint64_t n = 1; n <= 3; n++) {
        struct sand_diag diag = {0};
        sand_mem_fail_at(n);
        sand_diag_add(&diag, SAND_ERROR, "a.xml", 1, "text");
        cr_assert_eq(diag.n_errors, 1);
        char *text = printed(&diag);
        cr_assert_not_null(strstr(text, "error: "));
        free(text);
        sand_diag_clear(&diag);
    }
}

Test(nearest, names_what_was_meant)
{
    static const char *const verbs[] = {"run", "validate", "schema", "step", "show", "policy"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"runn", "run"},          {"rn", "run"},        {"urn", "run"},
                 {"valdiate", "validate"}, {"Schema", "schema"}, {"polcy", "policy"},
                 {"frobnicate", NULL},     {"", NULL},           {"x", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = sand_nearest(cases[i].word, verbs, 6);
        if (cases[i].nearest)
            cr_assert_str_eq(found ? found : "nothing", cases[i].nearest);
        else
            cr_assert_null(found, "%s: %s", cases[i].word, found);
    }
    cr_assert_null(sand_nearest("run", NULL, 0));
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[299] = '\0';
    cr_assert_null(sand_nearest(longest, verbs, 6));
}

Test(rc, exit_statuses_are_the_documented_ones)
{
    static const int expected[] = {0, 1, 2, 3, 4, 5, 4, 70, 1};
    for (int rc = 0; rc < SAND_RC_COUNT; rc++) {
        cr_assert_eq(sand_rc_exit_status((enum sand_rc)rc), expected[rc]);
        cr_assert(sand_rc_text((enum sand_rc)rc)[0] != '\0');
    }
    cr_assert_eq(sand_rc_exit_status((enum sand_rc)99), 70);
}
