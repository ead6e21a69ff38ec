// What the two verbs that compare predictions with measured rows have in common.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "clivalidation.h"

#include <stdlib.h>

#include "filegate.h"

enum { KEY_CSV = 512, KEY_HDF5, KEY_FORCE, KEY_RULES, KEY_DATA };

static const struct argp_option options[] = {
    {"csv", KEY_CSV, "FILE", 0, "Also write the predictions and their parts, one line per row", 0},
    {"hdf5", KEY_HDF5, "FILE", 0, "The same as a table in an HDF5 file", 0},
    {"force", KEY_FORCE, NULL, 0, "Let --csv and --hdf5 overwrite a file", 0},
    {"rules", KEY_RULES, "FILE.xml", 0, "Other rules than the catalogue's", 0},
    {"data", KEY_DATA, "DIR", 0, "The directory that holds platforms and workloads", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sand_cli_validation *v = state->input;
    switch (key) {
    case KEY_CSV:
        v->csv.path = arg;
        return 0;
    case KEY_HDF5:
        v->hdf5.path = arg;
        return 0;
    case KEY_FORCE:
        v->csv.force = v->hdf5.force = 1;
        return 0;
    case KEY_RULES:
        v->rules = arg;
        return 0;
    case KEY_DATA:
        v->load.data = arg;
        return 0;
    case ARGP_KEY_INIT:
        v->csv.option = "--csv";
        v->hdf5.option = "--hdf5";
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &v->file, arg);
        return 0;
    case ARGP_KEY_END:
        if (!v->file)
            argp_error(state, "a file is needed, e.g. measured.csv");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp sand_cli_validation_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static enum sand_rc check_outputs(const struct sand_cli_validation *v, const char *const *inputs,
                                  size_t n, struct sand_diag *diag)
{
    SAND_TRY(sand_cli_check_output(&v->csv, inputs, n, diag));
    return sand_cli_check_output(&v->hdf5, inputs, n, diag);
}

enum sand_rc sand_cli_validation_open(const struct sand_cli_validation *v, sand_spec_load_fn *read,
                                      const char *usual, struct sand_spec **spec,
                                      struct sand_diag *diag)
{
    size_t n_inputs;
    *spec = NULL;
    SAND_TRY(sand_cli_check_apart(&v->csv, &v->hdf5, diag));
    SAND_TRY(check_outputs(v, &v->file, 1, diag));
    SAND_TRY(sand_cli_load_entry(&v->load, read, v->rules, usual, spec, diag));
    const char *const *inputs = sand_spec_inputs(*spec, &n_inputs);
    const enum sand_rc rc = check_outputs(v, inputs, n_inputs, diag);
    if (rc != SAND_OK) {
        sand_spec_free(*spec);
        *spec = NULL;
    }
    return rc;
}

static enum sand_rc write_csv(const struct sand_predicted_table *table, const char *path,
                              struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return SAND_ERR_NOMEM;
    sand_predicted_csv(table, out);
    enum sand_rc rc = fclose(out) == 0 ? sand_file_write(path, text, size, diag) : SAND_ERR_NOMEM;
    free(text); // open_memstream's
    return rc;
}

enum sand_rc sand_cli_validation_close(const struct sand_cli_validation *v,
                                       const struct sand_predicted_table *table, size_t n_scored,
                                       struct sand_diag *diag)
{
    if (v->csv.path)
        SAND_TRY(write_csv(table, v->csv.path, diag));
    if (v->hdf5.path)
        SAND_TRY(sand_predicted_hdf5(table, v->hdf5.path, diag));
    if (n_scored == 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: no row of %zu can be scored; the report says why of each", v->file,
                         table->n);
    return SAND_OK;
}
