// Cells of CSV: quotes only where a reader would take the text apart.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>

#include "csvtext.h"

Test(csvtext, cells_are_quoted_where_they_must_be)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"a b;c", "a b;c"},
                                           {"a,b", "\"a,b\""},
                                           {"say \"a\"", "\"say \"\"a\"\"\""},
                                           {"two\nlines\r", "\"two\nlines\r\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        sand_csv_text(out, cases[i][0]);
        fclose(out);
        cr_expect_str_eq(text, cases[i][1]);
        free(text);
    }
}
