// Lines of an explanation, for people and for programs. Internal to analysis/explain.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_EXPLAIN_EXPLAINTEXT_H
#define SAND_ANALYSIS_EXPLAIN_EXPLAINTEXT_H

#include <stdint.h>

#include "explain.h"

// "  label   1.23 h   4.5 %  ####": a time and its share of `whole_s`.
void sand_explain_time(const struct sand_explain_output *output, const char *label, double time_s,
                       double whole_s);
// A text of the results as it is, control characters aside.
void sand_explain_name(const struct sand_explain_output *output, const char *text);
// "s" unless n is 1.
const char *sand_explain_plural(uint64_t n);

// A date or a length of time with six digits: "3.14159 d".
struct sand_explain_date {
    char s[32];
};
struct sand_explain_date sand_explain_date(double time_s);

// JSON members after the first: `, "name": value`.
void sand_explain_number(const struct sand_explain_output *output, const char *name, double value);
void sand_explain_text(const struct sand_explain_output *output, const char *name,
                       const char *text);

// SAND_ERR_IO if anything could not be written.
enum sand_rc sand_explain_finish(const struct sand_explain_output *output, struct sand_diag *diag);

#endif
