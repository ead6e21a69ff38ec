// Lines of a trace with bounded memory (private to workloads/import).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACELINES_H
#define SAND_WORKLOADS_IMPORT_TRACELINES_H

#include <stddef.h>

#include "diag.h"

enum { TRACE_LINE_MAX = 1 << 16 };

struct trace_line {
    char *text; // NUL-terminated, without the line end; may be changed; NULL after the last line
    size_t length;
    long number;  // 1 = the first
    int too_long; // text is the beginning only
    int binary;   // control characters other than tab
    int last;     // no line end: the file ends here
};

struct trace_lines;

// `path` is kept and must outlive it.
enum sand_rc trace_lines_open(const char *path, struct trace_lines **lines, struct sand_diag *diag);
enum sand_rc trace_lines_next(struct trace_lines *lines, struct trace_line *line,
                              struct sand_diag *diag);
enum sand_rc trace_lines_rewind(struct trace_lines *lines, struct sand_diag *diag);
void trace_lines_close(struct trace_lines *lines); // NULL is fine

const char *trace_lines_packing(const struct trace_lines *lines);

#endif
