// Names of accelerators and models as people write them.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_NAMEWORDS_H
#define SAND_ANALYSIS_VALIDATE_NAMEWORDS_H

// How many words of `rule` there are if `name` has all of them, in any order and case; else 0.
// "A100 40GB PCIe", "A100-PCIe-40G" and "NVIDIA A100-PCIE-40GB" have the same words, so have
// "TPUv4" and "TPU v4", "H100-SXM5" and "H100 SXM". Unlike parts of words never match: "H200" has
// no "H20".
int sand_name_words(const char *rule, const char *name);

// Whether `name` begins with, in any case, or contains, letter by letter, what a rule asks of it.
// NULL: nothing is asked.
int sand_name_begins(const char *name, const char *prefix);
int sand_name_contains(const char *name, const char *part);

// Whether `text` contains `word` in any case; a hyphen in the word stands for one of "-_ " or
// nothing: "zero1", "ZeRO 1" and "ZERO_1" say "ZeRO-1".
int sand_name_says(const char *text, const char *word);

#endif
