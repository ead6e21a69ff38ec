// A table of predicted rows, written.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "predictedtable.h"

#include <math.h>
#include <string.h>

#include "csvtext.h"
#include "mem.h"
#include "store.h"

static void write_number(FILE *out, double value)
{
    if (value < 0 || value > 0)
        fprintf(out, "%.9g", value);
}

void sand_predicted_csv(const struct sand_predicted_table *t, FILE *out)
{
    for (size_t k = 0; k < t->n_columns; k++)
        fprintf(out, "%s%s", k > 0 ? "," : "", t->columns[k].name);
    fputc('\n', out);
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0; k < t->n_columns; k++) {
            if (k > 0)
                fputc(',', out);
            if (t->columns[k].text)
                sand_csv_text(out, t->columns[k].text(t->results, i));
            else
                write_number(out, t->columns[k].number(t->results, i));
        }
        fputc('\n', out);
    }
}

// Cells of the column; what *cells points to is the caller's.
static enum sand_rc fill(const struct sand_predicted_table *t,
                         const struct sand_predicted_column *column, void **cells,
                         struct sand_store_column *stored)
{
    double *numbers = NULL;
    const char **texts = NULL;
    if (column->text)
        *cells = texts = sand_calloc(t->n + 1, sizeof *texts);
    else
        *cells = numbers = sand_calloc(t->n + 1, sizeof *numbers);
    if (*cells == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < t->n; i++)
        if (texts)
            texts[i] = column->text(t->results, i);
        else
            numbers[i] = column->number(t->results, i);
    *stored = (struct sand_store_column){.name = column->name,
                                         .unit = column->unit,
                                         .long_name = column->long_name,
                                         .numbers = numbers,
                                         .texts = texts};
    return SAND_OK;
}

enum sand_rc sand_predicted_hdf5(const struct sand_predicted_table *t, const char *path,
                                 struct sand_diag *diag)
{
    void **cells = sand_calloc(t->n_columns, sizeof *cells);
    struct sand_store_column *columns = sand_calloc(t->n_columns, sizeof *columns);
    enum sand_rc rc = cells && columns ? SAND_OK : SAND_ERR_NOMEM;
    for (size_t k = 0; rc == SAND_OK && k < t->n_columns; k++)
        rc = fill(t, &t->columns[k], &cells[k], &columns[k]);
    const struct sand_store_columns stored = {.content = t->content,
                                              .group = t->group,
                                              .long_name = t->long_name,
                                              .columns = columns,
                                              .n_columns = t->n_columns,
                                              .n_rows = t->n};
    if (rc == SAND_OK)
        rc = sand_store_columns_write(&stored, path, diag);
    else
        sand_fail(diag, rc, "%s: out of memory", path);
    for (size_t k = 0; cells && k < t->n_columns; k++)
        sand_free(cells[k]);
    sand_free(cells);
    sand_free(columns);
    return rc;
}
