// JSON text: escapes, well-formed UTF-8 only, numbers that read back.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

static char *written(const char *text, double number)
{
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (text)
        sand_json_string(out, text);
    else
        sand_json_number(out, number);
    fclose(out);
    return buffer;
}

static void assert_string(const char *text, const char *expected)
{
    char *json = written(text, 0.0);
    cr_assert_str_eq(json, expected);
    free(json);
}

Test(json, strings_are_escaped)
{
    assert_string("", "\"\"");
    assert_string("a\"b\\c/\n\x01", "\"a\\\"b\\\\c/\\u000a\\u0001\"");
    assert_string("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                  "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

// Stray continuation, overlong form, surrogate, above U+10FFFF, cut off: one U+FFFD per byte.
Test(json, malformed_utf8_is_replaced)
{
    assert_string("\x80", "\"\\ufffd\"");
    assert_string("\xc0\xaf", "\"\\ufffd\\ufffd\"");
    assert_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    assert_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    assert_string("\xe2\x82", "\"\\ufffd\\ufffd\"");
}

Test(json, numbers_read_back_and_missing_is_null)
{
    static const double values[] = {0.0, -1.5, 1.0 / 3.0, 1e300, 5e-324, 16384.0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *json = written(NULL, values[i]);
        cr_assert_eq(strtod(json, NULL), values[i]);
        free(json);
    }
    static const double missing[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        char *json = written(NULL, missing[i]);
        cr_assert_str_eq(json, "null");
        free(json);
    }
}
