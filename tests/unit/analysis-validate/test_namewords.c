// Names of accelerators as people write them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "namewords.h"

Test(namewords, spellings_of_one_name_agree)
{
    static const char *const names[] = {"A100-40G-PCIe", "A100 40GB PCIe", "NVIDIA A100-PCIE-40GB",
                                        "nvidia a100 (pcie, 40 GiB) 40g"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_eq(sand_name_words("A100 PCIe 40G", names[i]), 3, "%s", names[i]);
    cr_expect_eq(sand_name_words("TPUv4", "TPU v4"), 2);
    cr_expect_eq(sand_name_words("RTX 4090", "GeForce RTX4090"), 2);
    cr_expect_eq(sand_name_words("Gaudi 3", "Intel Gaudi3"), 2);
    cr_expect_eq(sand_name_words("H100 SXM", "H100-SXM5-80GB"), 2);
    cr_expect_eq(sand_name_words("Trainium 2", "AWS Trainium2"), 2);
}

Test(namewords, parts_of_words_do_not_match)
{
    static const char *const pairs[][2] = {{"H20", "H200"},      {"B200", "GB200"},
                                           {"H100", "GH100"},    {"H100 NVL", "H100 SXM"},
                                           {"L40", "L40S"},      {"A100 40G", "A100 80GB"},
                                           {"MI300X", "MI325X"}, {"Trainium 2", "Trainium"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        cr_expect_eq(sand_name_words(pairs[i][0], pairs[i][1]), 0, "%s in %s", pairs[i][0],
                     pairs[i][1]);
}

// Empty, endless and strange names are nobody's, and nothing is written past their words.
Test(namewords, strange_names)
{
    static const char endless[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa h100 a b c d e f "
        "g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9";
    cr_expect_eq(sand_name_words("H100", ""), 0);
    cr_expect_eq(sand_name_words("", "H100"), 0);
    cr_expect_eq(sand_name_words("H100", endless), 1);
    cr_expect_eq(sand_name_words("9", endless), 0);
    cr_expect_eq(sand_name_words("H100", "\xff\xfe\x01"), 0);
}
