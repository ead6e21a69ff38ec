// Text cells of result rows: what fits, and where longer text is cut.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <string.h>

#include "results.h"

static void fill(char *text, size_t n, const char *letters)
{
    memset(text, 'a', n);
    strcpy(text + n, letters);
}

// Every letter of one to four bytes, at every place around the end of the cell: what stands in the
// cell is the text up to the last letter that fits whole, and zeros after it.
Test(results, a_cell_ends_with_a_whole_letter)
{
    const char *const letters[] = {"b", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x9a\x80"};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        for (size_t before = 56; before < 70; before++) {
            char text[100];
            sand_cell_str cell;
            const size_t letter = strlen(letters[i]);
            fill(text, before, letters[i]);
            strcat(text, letters[i]);
            size_t fits = before < 63 ? before : 63;
            for (int more = 0; more < 2 && before <= 63 && fits + letter <= 63; more++)
                fits += letter;
            memset(&cell, 'x', sizeof cell);
            sand_cell_set(&cell, text);
            cr_expect_eq(strlen(cell.text), fits, "%zu letters a, then two of %zu bytes: %zu",
                         before, letter, strlen(cell.text));
            cr_expect_arr_eq(cell.text, text, fits);
            for (size_t b = fits; b < sizeof cell.text; b++)
                cr_expect_eq(cell.text[b], 0);
        }
}

// Text that is no UTF-8 is cut at the last byte, not searched for a beginning.
Test(results, a_cell_of_no_letters_is_full)
{
    char text[101];
    sand_cell_str cell;
    memset(text, 0x80, 100);
    text[100] = '\0';
    sand_cell_set(&cell, text);
    cr_expect_eq(strlen(cell.text), 63);
}
