// Predicted collectives as one HDF5 table, the same columns as the CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "collreport.h"
#include "mem.h"
#include "store.h"

typedef double number_fn(const struct sand_coll_results *results, size_t i);

#define NUMBER(name, expression)                                                                   \
    static double name##_of(const struct sand_coll_results *r, size_t i)                           \
    {                                                                                              \
        return expression;                                                                         \
    }
NUMBER(bytes, r->cases[i].collective.bytes)
NUMBER(measured, r->cases[i].measured_s)
NUMBER(predicted, r->terms[i].time_s)
NUMBER(latency, r->terms[i].latency_s)
NUMBER(wire, r->terms[i].wire_s)
NUMBER(fill, r->terms[i].fill_s)
NUMBER(scaleup_bytes, r->terms[i].scaleup_B)
NUMBER(scaleup_rate, r->terms[i].scaleup_Bps)
NUMBER(network_bytes, r->terms[i].network_B)
NUMBER(network_rate, r->terms[i].network_Bps)

static const struct {
    const char *name, *unit, *long_name;
    number_fn *value;
    int is_missing_at_0;
} numbers[] = {
    {"bytes", "B", "message size as nccl-tests counts it; NaN: none", bytes_of, 1},
    {"measured_s", "s", "measured time; NaN: none", measured_of, 1},
    {"predicted_s", "s", "predicted time; NaN: none", predicted_of, 1},
    {"error", "1", "predicted over measured, less 1", sand_coll_error, 0},
    {"latency_s", "s", "latency", latency_of, 0},
    {"wire_s", "s", "bytes over rates of both tiers", wire_of, 0},
    {"fill_s", "s", "filling of the pipeline", fill_of, 0},
    {"scaleup_B", "B", "bytes through a GPU's scale-up port", scaleup_bytes_of, 0},
    {"scaleup_Bps", "B/s", "usable rate of the port", scaleup_rate_of, 0},
    {"network_B", "B", "bytes out of a scale-up domain", network_bytes_of, 0},
    {"network_Bps", "B/s", "usable rate out of the domain", network_rate_of, 0},
};
static const struct {
    const char *name, *long_name;
} words[] = {{"id", "id of the row"},
             {"class", "scored, listed or skipped"},
             {"machine", "rule that says what the GPU and the platform mean"},
             {"network", "link between the domains; empty: one domain"},
             {"kernel", "algorithm and protocol"},
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

static void fill_row(const struct sand_coll_results *r, size_t i, const struct cells *cells)
{
    static const char *const classes[] = {"scored", "listed", "skipped"};
    const struct sand_coll_case *c = &r->cases[i];
    const char *const row[N_WORDS] = {c->cell[SAND_COLL_ID],
                                      classes[c->class],
                                      c->machine ? c->machine->id : "",
                                      c->comm.domains > 1 ? c->comm.nic->id : "",
                                      r->terms[i].kernel ? r->terms[i].kernel->id : "",
                                      c->why};
    for (size_t k = 0; k < N_NUMBERS; k++) {
        const double value = numbers[k].value(r, i);
        cells->number[k][i] = numbers[k].is_missing_at_0 && !(value > 0) ? NAN : value;
    }
    for (size_t k = 0; k < N_WORDS; k++)
        cells->word[k][i] = row[k];
}

static enum sand_rc allocate(struct cells *cells, size_t n)
{
    enum sand_rc rc = SAND_OK;
    for (size_t k = 0; k < N_NUMBERS; k++)
        if ((cells->number[k] = sand_calloc(n + 1, sizeof **cells->number)) == NULL)
            rc = SAND_ERR_NOMEM;
    for (size_t k = 0; k < N_WORDS; k++)
        if ((cells->word[k] = sand_calloc(n + 1, sizeof **cells->word)) == NULL)
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
    const struct sand_store_columns table = {.content = "collective-validation",
                                             .group = "collectives",
                                             .long_name = "measured collectives, predicted",
                                             .columns = columns,
                                             .n_columns = N_COLUMNS,
                                             .n_rows = n};
    return sand_store_columns_write(&table, path, diag);
}

enum sand_rc sand_coll_report_hdf5(const struct sand_coll_results *r, const char *path,
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
