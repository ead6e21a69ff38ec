// The outcome of a search as text, JSON or CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_SEARCHREPORT_H
#define SAND_ANALYSIS_SEARCH_SEARCHREPORT_H

#include <stdio.h>

#include "search.h"

struct sand_search_view {
    const struct sand_search_question *question;
    const struct sand_search_result *result;
    size_t top; // rows of the text
};

// For people: what was considered, the best split of each of the `top` best shapes with the terms
// in which it loses, the faster ones that memory refuses, and how to write the winner down.
void sand_search_print_text(const struct sand_search_view *view, FILE *out);
// One object: counts, and every simulated split, fastest first; SI units, the unit in the name.
void sand_search_print_json(const struct sand_search_view *view, FILE *out);
// RFC 4180 with LF: one line per simulated split, fastest first.
void sand_search_print_csv(const struct sand_search_view *view, FILE *out);

// Why a split is slower than the best: the terms of the step that grew, largest first, such as
// "bubble +0.41 s, recomputation +0.20 s"; at most two. Returns buffer.
char *sand_search_reason(const struct sand_search_hit *best, const struct sand_search_hit *hit,
                         char *buffer, size_t size);

#endif
