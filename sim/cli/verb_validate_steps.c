// sandtable validate-steps: predictions of measured training steps.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "filegate.h"
#include "mem.h"
#include "spec.h"
#include "stepreport.h"

enum { KEY_CSV = 256, KEY_FORCE, KEY_RULES, KEY_DATA };

static const char usual_rules[] = "platforms/catalogue/step_rules/published.xml";

struct options {
    const char *file, *rules;
    struct sand_cli_output csv;
    struct sand_cli_load load; // its --data only
    uint32_t jobs;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable validate-steps tests/data/steps/published.csv\n"
    "  sandtable validate-steps steps.csv --jobs 2 --csv predictions.csv\n"
    "\n"
    "Predicts every row of a CSV of measured training steps with the step level and compares. "
    "Rows that lack an input, or contradict another, are listed without score; rows that cannot "
    "be asked are counted by reason. Columns: id, source, model, layers, hidden, heads, gpu, gpus, "
    "TP, PP, micro_batch, global_batch, iter_time_s and others (docs/validation.md); unknown ones "
    "are ignored; cells that are no numbers are named. What a row's source, gpu and network mean "
    "stands in a file of rules. The last "
    "line is the overall error of the step time; without any row to score the exit status is 3.";

static const struct argp_option options[] = {
    {"csv", KEY_CSV, "FILE", 0, "Also write the predictions, one line per row", 0},
    {"force", KEY_FORCE, NULL, 0, "Let --csv overwrite a file", 0},
    {"rules", KEY_RULES, "FILE.xml", 0, "Other rules than the catalogue's step_rules/published.xml",
     0},
    {"data", KEY_DATA, "DIR", 0, "The directory that holds platforms and workloads", 0},
    {"jobs", 'j', "N", 0, "Rows predicted at the same time; default: one per processor", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_CSV:
        o->csv.path = arg;
        return 0;
    case KEY_FORCE:
        o->csv.force = 1;
        return 0;
    case KEY_RULES:
        o->rules = arg;
        return 0;
    case KEY_DATA:
        o->load.data = arg;
        return 0;
    case 'j':
        o->jobs = sand_cli_count(state, "--jobs", arg, 1);
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &o->file, arg);
        return 0;
    case ARGP_KEY_END:
        if (!o->file)
            argp_error(state, "a file is needed, e.g. steps.csv");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc write_csv(const struct sand_step_results *results, const char *path,
                              struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return SAND_ERR_NOMEM;
    sand_step_report_csv(results, out);
    enum sand_rc rc = fclose(out) == 0 ? sand_file_write(path, text, size, diag) : SAND_ERR_NOMEM;
    free(text); // open_memstream's
    return rc;
}

static enum sand_rc predict_and_print(const struct options *o, const struct sand_step_rules *rules,
                                      const struct sand_step_rows *rows, struct sand_diag *diag)
{
    struct sand_step_case *cases = sand_calloc(rows->n, sizeof *cases);
    struct sand_step_prediction *predictions = sand_calloc(rows->n, sizeof *predictions);
    const struct sand_step_results results = {rules, cases, predictions, rows->n};
    enum sand_rc rc = cases && predictions ? SAND_OK : SAND_ERR_NOMEM;
    for (size_t i = 0; rc == SAND_OK && i < rows->n; i++)
        sand_step_case_read(rules, &rows->rows[i], &cases[i]);
    if (rc == SAND_OK)
        rc = sand_step_predict(rules, cases, rows->n, o->jobs, predictions, diag);
    if (rc == SAND_OK) {
        printf("%s: %zu rows, rules %s (%s)\n", o->file, rows->n, rules->id, rules->from.date);
        rc = sand_step_report_print(&results, stdout);
    }
    if (rc == SAND_OK && o->csv.path)
        rc = write_csv(&results, o->csv.path, diag);
    if (rc == SAND_OK && sand_step_count_scored(&results) == 0)
        rc = sand_fail(diag, SAND_ERR_INPUT,
                       "%s: no row of %zu can be scored; the report says why of each", o->file,
                       rows->n);
    sand_free(cases);
    sand_free(predictions);
    return rc;
}

static enum sand_rc execute(const struct options *o, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    struct sand_step_rows rows;
    size_t n_inputs;
    SAND_TRY(sand_cli_check_output(&o->csv, &o->file, 1, diag));
    SAND_TRY(sand_cli_load_rules(&o->load, o->rules, usual_rules, &spec, diag));
    const char *const *inputs = sand_spec_inputs(spec, &n_inputs);
    enum sand_rc rc = sand_cli_check_output(&o->csv, inputs, n_inputs, diag);
    if (rc == SAND_OK)
        rc = sand_step_rows_read(o->file, &rows, diag);
    if (rc == SAND_OK) {
        rc = predict_and_print(o, sand_spec_rules(spec), &rows, diag);
        sand_step_rows_clear(&rows);
    }
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "FILE.csv", doc, NULL, NULL, NULL};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options o = {.csv.option = "--csv", .jobs = processors > 0 ? (uint32_t)processors : 1};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_validate_steps = {
    "validate-steps", "predict measured training steps and compare", run};
