// A measured row as a question to the step level: model, split, node and cluster of its own.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPCASE_H
#define SAND_ANALYSIS_VALIDATE_STEPCASE_H

#include "cluster.h"
#include "steprows.h"
#include "steprules.h"
#include "workload.h"

enum sand_step_class {
    SAND_STEP_SCORED,
    SAND_STEP_APART,  // its time is what the source's own FLOP/s give: predicted, summed up apart
    SAND_STEP_ILL,    // an input is missing, recalled or contradicted: predicted if possible, not
                      // scored
    SAND_STEP_SKIPPED // cannot be asked, or is not modelled
};

enum { SAND_STEP_WHY = 500 };

struct sand_step_case {
    const struct sand_step_row *row;
    const struct sand_step_stack *stack;
    const struct sand_step_recipe *recipe; // NULL: none fits
    const struct sand_step_machine *machine;
    enum sand_step_class class;
    char why[SAND_STEP_WHY]; // for the latter two
    uint32_t bad_cells;      // bit of each column whose cell is no number that it may hold
    double measured_s;       // 0: the row has none
    const struct sand_collectives *collectives; // that its stack runs
    struct sand_transformer model;
    struct sand_node_type node; // of as many GPUs as the job uses in each
    struct sand_cluster cluster;
    struct sand_job_spec job;
};

// Fills a case from a row. Never fails: what cannot be read makes the case skipped or ill specified
// and says why. A cell that is no number of its column skips the row, it is never taken for empty.
// What the columns leave open is settled as docs/validation.md says.
void sand_step_case_read(const struct sand_step_rules *rules, const struct sand_step_row *row,
                         struct sand_step_case *out);

// What a numeric column may hold, e.g. "a whole number from 1 to 1000000000"; NULL: it holds a
// text.
const char *sand_step_column_rule(enum sand_step_column column);

#endif
