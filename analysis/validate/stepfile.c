// Predicted rows as one HDF5 table, the same columns as the CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "mem.h"
#include "stepreport.h"
#include "store.h"

// A number of a row.
typedef double number_fn(const struct sand_step_results *results, size_t i);

#define NUMBER(name, expression)                                                                   \
    static double name##_of(const struct sand_step_results *r, size_t i)                           \
    {                                                                                              \
        return expression;                                                                         \
    }
NUMBER(measured, r->cases[i].measured_s)
NUMBER(predicted, r->predictions[i].step_s)
NUMBER(compute, r->predictions[i].compute_s)
NUMBER(recompute, r->predictions[i].recompute_s)
NUMBER(exposed_tp, r->predictions[i].exposed_tp_s)
NUMBER(exposed_pp, r->predictions[i].exposed_pp_s)
NUMBER(exposed_dp, r->predictions[i].exposed_dp_s)
NUMBER(bubble, r->predictions[i].bubble_s)
NUMBER(left_out, r->left_out ? r->left_out[i].step_s : 0)

static const struct {
    const char *name, *unit, *long_name;
    number_fn *value;
    int is_missing_at_0;
} numbers[] = {
    {"measured_s", "s", "measured step time; NaN: none", measured_of, 1},
    {"predicted_s", "s", "predicted step time; NaN: none", predicted_of, 1},
    {"error", "1", "predicted over measured, less 1", sand_step_error, 0},
    {"compute_s", "s", "compute, recomputation and optimizer included", compute_of, 0},
    {"recompute_s", "s", "recomputation", recompute_of, 0},
    {"exposed_tp_s", "s", "exposed tensor- and context-parallel communication", exposed_tp_of, 0},
    {"exposed_pp_s", "s", "exposed sends between pipeline stages", exposed_pp_of, 0},
    {"exposed_dp_s", "s", "exposed data-parallel communication", exposed_dp_of, 0},
    {"bubble_s", "s", "pipeline bubble", bubble_of, 0},
    {"left_out_s", "s", "predicted without the row's own source or GPU; NaN: not asked",
     left_out_of, 1},
};
static const struct {
    const char *name, *long_name;
} words[] = {{"id", "id of the row"},
             {"class", "scored, listed or skipped"},
             {"stack", "rule that says what the source means"},
             {"machine", "rule that says what the GPU and the network mean"},
             {"why", "why it is not scored or has no prediction"}};
enum {
    N_NUMBERS = sizeof numbers / sizeof numbers[0],
    N_WORDS = sizeof words / sizeof words[0],
    N_COLUMNS = N_NUMBERS + N_WORDS
};

struct cells {
    double *number[N_NUMBERS];
    const char **word[N_WORDS];
};

static void fill_row(const struct sand_step_results *r, size_t i, const struct cells *cells)
{
    static const char *const classes[] = {"scored", "listed", "skipped"};
    const struct sand_step_case *c = &r->cases[i];
    const char *const row[N_WORDS] = {
        c->row->cell[SAND_STEP_ID], classes[c->class], c->stack ? c->stack->id : "",
        c->machine ? c->machine->id : "", c->why[0] ? c->why : r->predictions[i].why};
    for (size_t k = 0; k < N_NUMBERS; k++) {
        const double value = numbers[k].value(r, i);
        cells->number[k][i] = numbers[k].is_missing_at_0 && value == 0 ? NAN : value;
    }
    for (size_t k = 0; k < N_WORDS; k++)
        cells->word[k][i] = row[k];
}

static enum sand_rc allocate(struct cells *cells, size_t n)
{
    enum sand_rc rc = SAND_OK;
    for (size_t k = 0; k < N_NUMBERS; k++)
        if ((cells->number[k] = sand_calloc(n, sizeof **cells->number)) == NULL)
            rc = SAND_ERR_NOMEM;
    for (size_t k = 0; k < N_WORDS; k++)
        if ((cells->word[k] = sand_calloc(n, sizeof **cells->word)) == NULL)
            rc = SAND_ERR_NOMEM;
    return rc;
}

static enum sand_rc write(const struct cells *cells, size_t n, const char *path,
                          struct sand_diag *diag)
{
    struct sand_store_column columns[N_COLUMNS];
    for (size_t k = 0; k < N_WORDS; k++)
        columns[k] = (struct sand_store_column){.name = words[k].name,
                                                .unit = "1",
                                                .long_name = words[k].long_name,
                                                .texts = cells->word[k]};
    for (size_t k = 0; k < N_NUMBERS; k++)
        columns[N_WORDS + k] = (struct sand_store_column){.name = numbers[k].name,
                                                          .unit = numbers[k].unit,
                                                          .long_name = numbers[k].long_name,
                                                          .numbers = cells->number[k]};
    const struct sand_store_columns table = {.content = "step-validation",
                                             .group = "steps",
                                             .long_name = "measured training steps, predicted",
                                             .columns = columns,
                                             .n_columns = N_COLUMNS,
                                             .n_rows = n};
    return sand_store_columns_write(&table, path, diag);
}

enum sand_rc sand_step_report_hdf5(const struct sand_step_results *r, const char *path,
                                   struct sand_diag *diag)
{
    struct cells cells = {0};
    enum sand_rc rc = allocate(&cells, r->n);
    for (size_t i = 0; rc == SAND_OK && i < r->n; i++)
        fill_row(r, i, &cells);
    if (rc == SAND_OK)
        rc = write(&cells, r->n, path, diag);
    else
        sand_fail(diag, rc, "%s: out of memory", path);
    for (size_t k = 0; k < N_NUMBERS; k++)
        sand_free(cells.number[k]);
    for (size_t k = 0; k < N_WORDS; k++)
        sand_free(cells.word[k]);
    return rc;
}
