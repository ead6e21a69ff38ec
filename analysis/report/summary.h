// The summary of a results file, for people.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_REPORT_SUMMARY_H
#define SAND_ANALYSIS_REPORT_SUMMARY_H

#include <stdio.h>

#include "diag.h"
#include "store.h"

enum sand_style { SAND_STYLE_PLAIN, SAND_STYLE_COLOUR };

// Prints what a cluster owner asks first: what was run, MFU and goodput with 95 % intervals over
// replications, ETTR, where the GPU time went, interruptions by cause with lost GPU-hours, the
// split of recovery time, checkpoints, power and energy, what was assumed. At most 100 columns.
enum sand_rc sand_summary_print(struct sand_results *results, enum sand_style style, FILE *out,
                                struct sand_diag *diag);

#endif
