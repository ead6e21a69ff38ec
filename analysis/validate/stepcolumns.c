// Columns of predicted training steps.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "stepreport.h"

#define NUMBER(name, expression)                                                                   \
    static double name##_of(const void *results, size_t i)                                         \
    {                                                                                              \
        const struct sand_step_results *r = results;                                               \
        return expression;                                                                         \
    }
#define TEXT(name, expression)                                                                     \
    static const char *name##_of(const void *results, size_t i)                                    \
    {                                                                                              \
        const struct sand_step_results *r = results;                                               \
        return expression;                                                                         \
    }

static double or_nan(double value)
{
    return value > 0 ? value : NAN;
}

static double error_of(const void *results, size_t i)
{
    const struct sand_predicted_rows rows = sand_step_predicted(results);
    return sand_predicted_error(&rows, i);
}

static double left_out_error_of(const void *results, size_t i)
{
    struct sand_step_results left = *(const struct sand_step_results *)results;
    left.predictions = left.left_out;
    return error_of(&left, i);
}

static const char *class_of(const void *results, size_t i)
{
    static const char *const names[] = {"scored", "apart", "listed", "skipped"};
    const struct sand_step_results *r = results;
    const struct sand_predicted_rows rows = sand_step_predicted(results);
    // What the step level refuses is skipped, as in the report.
    if (r->cases[i].class == SAND_STEP_SCORED && !sand_predicted_is_scored(&rows, i))
        return names[SAND_STEP_SKIPPED];
    return names[r->cases[i].class];
}

static const char *why_of(const void *results, size_t i)
{
    const struct sand_predicted_rows rows = sand_step_predicted(results);
    const struct sand_step_results *r = results;
    const char *reason = rows.kind->reason(r, i);
    return reason ? reason : r->cases[i].why;
}

TEXT(id, r->cases[i].row->cell[SAND_STEP_ID])
TEXT(stack, r->cases[i].stack ? r->cases[i].stack->id : "")
TEXT(machine, r->cases[i].machine ? r->cases[i].machine->id : "")
NUMBER(measured, or_nan(r->cases[i].measured_s))
NUMBER(predicted, or_nan(r->predictions[i].step_s))
NUMBER(compute, r->predictions[i].compute_s)
NUMBER(recompute, r->predictions[i].recompute_s)
NUMBER(exposed_tp, r->predictions[i].exposed_tp_s)
NUMBER(exposed_pp, r->predictions[i].exposed_pp_s)
NUMBER(exposed_dp, r->predictions[i].exposed_dp_s)
NUMBER(bubble, r->predictions[i].bubble_s)
NUMBER(left_out, or_nan(r->left_out[i].step_s))

static const struct sand_predicted_column columns[] = {
    {"id", "1", "id of the row", NULL, id_of},
    {"class", "1", "scored, apart (from FLOP/s), listed or skipped", NULL, class_of},
    {"stack", "1", "rule that says what the source means", NULL, stack_of},
    {"machine", "1", "rule that says what the GPU and the network mean", NULL, machine_of},
    {"measured_s", "s", "measured step time; NaN: none", measured_of, NULL},
    {"predicted_s", "s", "predicted step time; NaN: none", predicted_of, NULL},
    {"error", "1", "predicted over measured, less 1", error_of, NULL},
    {"compute_s", "s", "compute, recomputation and optimizer included", compute_of, NULL},
    {"recompute_s", "s", "recomputation", recompute_of, NULL},
    {"exposed_tp_s", "s", "exposed tensor- and context-parallel communication", exposed_tp_of,
     NULL},
    {"exposed_pp_s", "s", "exposed sends between pipeline stages", exposed_pp_of, NULL},
    {"exposed_dp_s", "s", "exposed data-parallel communication", exposed_dp_of, NULL},
    {"bubble_s", "s", "pipeline bubble", bubble_of, NULL},
    {"why", "1", "why it is not scored or has no prediction", NULL, why_of},
    // The last two only where groups were left out.
    {"left_out_s", "s", "predicted without the row's own source or GPU; NaN: none", left_out_of,
     NULL},
    {"left_out_error", "1", "left_out_s over measured, less 1", left_out_error_of, NULL},
};

struct sand_predicted_table sand_step_table(const struct sand_step_results *results)
{
    const size_t n_columns = sizeof columns / sizeof columns[0];
    return (struct sand_predicted_table){.content = "step-validation",
                                         .group = "steps",
                                         .long_name = "measured training steps, predicted",
                                         .columns = columns,
                                         .n_columns = results->left_out ? n_columns : n_columns - 2,
                                         .results = results,
                                         .n = results->n};
}
