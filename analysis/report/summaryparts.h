// Sections of the summary for people, in files of their own.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_SUMMARYPARTS_H
#define SAND_ANALYSIS_REPORT_SUMMARYPARTS_H

#include "overview.h"
#include "textout.h"

// "+- text" right-aligned in `width`, blank when the half width is unknown.
void sand_summary_spread(FILE *out, enum sand_style style, double half_width, const char *text,
                         int width);

// Interruptions and recovery.
void sand_summary_print_faults(FILE *out, enum sand_style style,
                               const struct sand_overview *overview);
// Waits, completion times and slowdowns by group, with their definitions.
void sand_summary_print_groups(FILE *out, enum sand_style style,
                               const struct sand_overview *overview);
// Saves, jobs, power, assumptions.
void sand_summary_print_rest(FILE *out, enum sand_style style,
                             const struct sand_overview *overview);

#endif
