// Why a job took as long as it did, from a results file alone.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_EXPLAIN_EXPLAIN_H
#define SAND_ANALYSIS_EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include "diag.h"
#include "store.h"
#include "summary.h"

enum sand_explain_format { SAND_EXPLAIN_TEXT, SAND_EXPLAIN_JSON };

struct sand_explain_output {
    FILE *out;
    enum sand_style style; // of text
    enum sand_explain_format format;
};

// A job by its id: what it waited for, where its time went, why its steps took as long as they did,
// its costliest interruptions. The parts sum to the time from submission to the end, to the
// nanosecond; what could not be attributed would stand there as a part of its own.
enum sand_rc sand_explain_job(struct sand_results *results, uint32_t replication, const char *id,
                              const struct sand_explain_output *output, struct sand_diag *diag);

// A step profile by its number: the split of the step with the equation of each part, the links.
enum sand_rc sand_explain_step(struct sand_results *results, uint32_t replication, uint32_t profile,
                               const struct sand_explain_output *output, struct sand_diag *diag);

// An incident by its number: its timeline, what was struck, what replaced it, what struck
// meanwhile.
enum sand_rc sand_explain_incident(struct sand_results *results, uint32_t replication,
                                   uint32_t incident, const struct sand_explain_output *output,
                                   struct sand_diag *diag);

// All: SAND_ERR_USAGE when there is no such thing (naming what there is), SAND_ERR_IO. Text has at
// most 100 columns; JSON is one object, SI units in the key names, null for unknown.

#endif
