// What differs between the experiment asked for and the one whose results are there.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "finished.h"

static void expect(const char *mine, const char *theirs, const char *difference)
{
    char text[256];
    sand_finished_difference(mine, theirs, text, sizeof text);
    cr_expect_str_eq(text, difference);
}

#define SPEC(seed, jobs) "<experiment name=\"x\" seed=\"" seed "\">\n  <jobs>\n" jobs "  </jobs>\n"
#define JOB(id, nodes) "    <job id=\"" id "\" text=\"a = 'b' c\" nodes=\"" nodes "\"/>\n"

Test(finished, equal_texts_do_not_differ)
{
    expect(SPEC("1", JOB("a", "4")), SPEC("1", JOB("a", "4")), "");
}

Test(finished, an_attribute_is_named_with_its_element)
{
    expect(SPEC("7", ""), SPEC("81", ""), "experiment \"x\": seed=\"7\" here, seed=\"81\" there");
    expect(SPEC("7", ""), SPEC("71", ""), "experiment \"x\": seed=\"7\" here, seed=\"71\" there");
    expect(SPEC("1", JOB("a", "4")), SPEC("1", JOB("a", "8")),
           "job \"a\": nodes=\"4\" here, nodes=\"8\" there");
    expect(SPEC("1", JOB("a", "4")), SPEC("1", JOB("b", "4")),
           "job \"a\": id=\"a\" here, id=\"b\" there");
}

Test(finished, elements_that_are_missing_are_named)
{
    expect(SPEC("1", JOB("a", "4") JOB("b", "4")), SPEC("1", JOB("a", "4")),
           "job \"b\" here, end of jobs there");
    expect(SPEC("1", ""), SPEC("1", JOB("a", "4")), "end of jobs here, job \"a\" there");
}

Test(finished, long_values_are_cut)
{
    char text[64];
    sand_finished_difference(
        "<a long=\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"/>",
        "<a long=\"y\"/>", text, sizeof text);
    cr_expect_eq(strlen(text), sizeof text - 1);
}
