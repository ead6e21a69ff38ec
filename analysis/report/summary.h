// The summary of a results file, for people and for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_SUMMARY_H
#define SAND_ANALYSIS_REPORT_SUMMARY_H

#include <stdio.h>

#include "diag.h"
#include "store.h"

// Bits: colour, characters beyond ASCII (block bars, plus-minus), and no bars, as lines of 100
// columns do not fit.
enum sand_style {
    SAND_STYLE_PLAIN = 0,
    SAND_STYLE_COLOUR = 1,
    SAND_STYLE_UNICODE = 2,
    SAND_STYLE_NARROW = 4,
    SAND_STYLE_RICH = SAND_STYLE_COLOUR | SAND_STYLE_UNICODE
};

// What `out` can show. A terminal: colour, but with NO_COLOR set or TERM=dumb; Unicode where the
// user's locale is UTF-8; no bars in less than 100 columns. Anything else is plain, the same bytes
// for everyone. The process's own locale is neither used nor changed.
enum sand_style sand_style_of(FILE *out);

// Prints what a cluster owner asks first: what was run, MFU and goodput with 95 % intervals over
// replications, ETTR, where the GPU time went, interruptions by cause with lost GPU-hours, the
// split of recovery time, checkpoints, power and energy, what was assumed. At most 100 columns.
// SAND_ERR_IO when `out` has failed.
enum sand_rc sand_summary_print(struct sand_results *results, enum sand_style style, FILE *out,
                                struct sand_diag *diag);

// The same figures as one JSON object (SI units in the key names, shares 0..1, null for unknown).
enum sand_rc sand_summary_json(struct sand_results *results, FILE *out, struct sand_diag *diag);

#endif
