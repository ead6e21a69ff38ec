// Lines of groups of jobs: by all, class, size or user, those with most GPU time first.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_GROUPLINES_H
#define SAND_ANALYSIS_REPORT_GROUPLINES_H

#include <stddef.h>
#include <stdio.h>

// What a line is about; `row` is the caller's own.
struct sand_group_line {
    const char *by, *name, *ending; // ending NULL: not told
    double gpu_s;
    const void *row;
};

struct sand_group_lines {
    size_t n;
    struct sand_group_line (*line)(const void *groups, size_t i);
    void (*print)(FILE *out, const struct sand_group_line *line); // its figures, to the line's end
    const void *groups;
    int width; // of the labels
};

// At most eight lines of one kind, and how many more there are.
void sand_group_lines_print(FILE *out, const struct sand_group_lines *lines, const char *by);

#endif
