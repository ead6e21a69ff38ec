// Text in XML: the document stays well-formed whatever the text is, and what it can hold survives.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "xmltext.h"

static void expect_text(const char *text, const char *expected)
{
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);
    sand_xml_text(out, text);
    fclose(out);
    cr_expect_str_eq(written, expected);
    free(written);
}

static void expect_comment(const char *text, const char *expected, int changed)
{
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);
    cr_expect_eq(sand_xml_comment(out, text), changed);
    fclose(out);
    cr_expect_str_eq(written, expected);
    cr_expect_null(strstr(written, "--"));
    free(written);
}

Test(xmltext, attributes_and_elements)
{
    expect_text("", "");
    expect_text("a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'");
    expect_text("\tx\r\n\x7f", "&#9;x&#13;&#10;&#127;");
    expect_text("\x01\x1f", "??");
    expect_text("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x94\x8c",
                "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x94\x8c");
    // Latin-1, a letter cut off, an overlong slash, a surrogate.
    expect_text("gr\xfcn", "gr?n");
    expect_text("\xe2\x82", "??");
    expect_text("\xc0\xaf", "??");
    expect_text("\xed\xa0\x80", "???");
}

Test(xmltext, comments)
{
    expect_comment("a-b <c> & d", "a-b <c> & d", 0);
    expect_comment("a--b", "a-&#45;b", 1);
    expect_comment("---", "-&#45;- ", 1); // nor may a dash stand before the end
    expect_comment("gr\xc3\xbcn\n\xff", "gr\xc3\xbcn??", 0);
}
