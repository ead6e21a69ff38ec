// Aligned text for people: columns counted in characters, bars, grouped digits, units.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_TEXTOUT_H
#define SAND_ANALYSIS_REPORT_TEXTOUT_H

#include <stddef.h>
#include <stdio.h>

#include "summary.h"
#include "units.h"

enum { SAND_TEXT_WIDTH = 100, SAND_TEXT_LABEL = 26, SAND_TEXT_BAR = 24 };

// A short text by value, so that several fit in one call.
struct sand_text {
    char s[48];
};

// "21,234,567" from 100 up, "12.3" below; "-" for what is no number.
struct sand_text sand_text_grouped(double value);
struct sand_text sand_text_whole(double value);                       // no decimals
struct sand_text sand_text_percent(double share);                     // "41.2 %"
struct sand_text sand_text_quantity(double value, enum sand_dim dim); // three digits
struct sand_text sand_text_fixed(double value, int decimals);

// Writes `text` in `width` characters, filled on the right; what is longer is cut with "..".
// UTF-8 counts by characters, control characters come out as "?".
void sand_text_pad(FILE *out, const char *text, int width);
// The same filled on the left, for figures: they are never cut.
void sand_text_pad_left(FILE *out, const char *text, int width);

// An empty line and a heading; `head` (may be "") is set behind the label column.
void sand_text_heading(FILE *out, enum sand_style style, const char *title, const char *head);

// A bar of at most SAND_TEXT_BAR characters for a share of 0..1, without trailing blanks; nothing
// in a narrow style.
void sand_text_bar(FILE *out, enum sand_style style, double share);

// The remark that ends a line of label, figure and spread, behind its 48 columns, and the line's
// end. In a narrow style its words go on below where they would leave 80 columns.
void sand_text_remark(FILE *out, enum sand_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Words of `text`, wrapped at SAND_TEXT_WIDTH, every line indented by two and `hang` more after the
// first.
void sand_text_wrap(FILE *out, const char *text, int hang);

// What no source confirms, "gpu h100-sxm-80g: tile_m", in the order in which an experiment lists
// it: a wrapped paragraph for each run of the same entry, "gpu h100-sxm-80g: tile_m, tile_n".
void sand_text_assumptions(FILE *out, const char *const *assumptions, size_t n);

#endif
