// sandtable validate-steps: predictions of measured training steps.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <unistd.h>

#include "clivalidation.h"
#include "mem.h"
#include "spec.h"
#include "stepleave.h"
#include "stepreport.h"

enum { KEY_LEAVE_OUT = 256, KEY_REFIT };

static const char usual_rules[] = "platforms/catalogue/step_rules/published.xml";

struct options {
    struct sand_cli_validation with;
    enum sand_leave_out leave_out;
    int refit;
    uint32_t jobs;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable validate-steps tests/data/steps/published.csv\n"
    "  sandtable validate-steps steps.csv --jobs 2 --csv predictions.csv\n"
    "  sandtable validate-steps steps.csv --leave-out gpu --hdf5 predictions.h5\n"
    "\n"
    "Predicts every row of a CSV of measured training steps with the step level and compares. "
    "Rows that lack an input, or contradict another, are listed without score; rows that cannot "
    "be asked are counted by reason. Columns: id, source, model, layers, hidden, heads, gpu, gpus, "
    "TP, PP, micro_batch, global_batch, iter_time_s and others (docs/validation.md); unknown ones "
    "are ignored; cells that are no numbers are named. What a row's source, gpu and network mean "
    "stands in a file of rules. With --leave-out the free constants are refitted without each "
    "source or GPU generation in turn, and its rows predicted with what comes out; with --refit "
    "those fitted to all rows are printed. The last "
    "line is the overall error of the step time; without any row to score the exit status is 3.";

static const struct argp_option options[] = {
    {"leave-out", KEY_LEAVE_OUT, "GROUP", 0,
     "source or gpu: also predict each without its own rows among those fitted to", 0},
    {"refit", KEY_REFIT, NULL, 0,
     "Also print the free constants refitted to all rows, beside those of the catalogue", 0},
    {"jobs", 'j', "N", 0, "Rows predicted at the same time; default: one per processor", 0},
    {0}};

static enum sand_leave_out find_group(struct argp_state *state, const char *group)
{
    static const char *const names[] = {"source", "gpu"};
    for (int i = 0; i < 2; i++)
        if (strcmp(names[i], group) == 0)
            return i == 0 ? SAND_LEAVE_SOURCE : SAND_LEAVE_GPU;
    argp_error(state, "--leave-out is \"%s\": must be source or gpu", group);
    return SAND_LEAVE_NOTHING;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->with;
        return 0;
    case KEY_LEAVE_OUT:
        o->leave_out = find_group(state, arg);
        return 0;
    case KEY_REFIT:
        o->refit = 1;
        return 0;
    case 'j':
        o->jobs = sand_cli_count(state, "--jobs", arg, 1);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Everything that is about the rows, as long as they are in hand.
struct validation {
    struct sand_step_case *cases;
    struct sand_step_prediction *predictions, *left_out;
    struct sand_step_constants constants;
    double *slopes, *refitted;
    struct sand_step_leave leave;
    struct sand_cli_progress progress;
};

static enum sand_rc open_validation(const struct options *o, const struct sand_step_rules *rules,
                                    const struct sand_step_rows *rows, struct validation *v)
{
    *v = (struct validation){.cases = sand_calloc(rows->n, sizeof *v->cases),
                             .predictions = sand_calloc(rows->n, sizeof *v->predictions)};
    if (!v->cases || !v->predictions)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < rows->n; i++)
        sand_step_case_read(rules, &rows->rows[i], &v->cases[i]);
    if (o->leave_out == SAND_LEAVE_NOTHING && !o->refit)
        return SAND_OK;
    SAND_TRY(sand_step_constants_find(rules, v->cases, rows->n, &v->constants));
    v->left_out = sand_calloc(rows->n, sizeof *v->left_out);
    v->slopes = sand_calloc(rows->n * v->constants.n, sizeof *v->slopes);
    v->refitted = sand_calloc(v->constants.n, sizeof *v->refitted);
    return v->left_out && v->slopes && v->refitted ? SAND_OK : SAND_ERR_NOMEM;
}

static void close_validation(struct validation *v)
{
    sand_free(v->cases);
    sand_free(v->predictions);
    sand_free(v->left_out);
    sand_free(v->constants.list);
    sand_free(v->slopes);
    sand_free(v->refitted);
}

static void draw(void *self, double done)
{
    sand_cli_progress_draw(self, done, 0, 0);
}

static enum sand_rc predict(const struct options *o, struct validation *v,
                            struct sand_step_results *results, struct sand_diag *diag)
{
    const struct sand_step_pass pass = {.rules = results->rules,
                                        .cases = v->cases,
                                        .n = results->n,
                                        .jobs = o->jobs,
                                        .constants = &v->constants,
                                        .progress = draw,
                                        .self = &v->progress};
    SAND_TRY(sand_step_predict(&pass, v->predictions, v->slopes, diag));
    if (o->refit)
        SAND_TRY(sand_step_refit(&pass, results, v->slopes, v->refitted, diag));
    if (o->leave_out == SAND_LEAVE_NOTHING)
        return SAND_OK;
    results->leave = &v->leave;
    SAND_TRY(
        sand_step_leave_out(&pass, results, v->slopes, o->leave_out, v->left_out, &v->leave, diag));
    results->left_out = v->left_out;
    return SAND_OK;
}

static enum sand_rc predict_and_print(const struct options *o, const struct sand_step_rules *rules,
                                      const struct sand_step_rows *rows, struct sand_diag *diag)
{
    struct validation v;
    enum sand_rc rc = open_validation(o, rules, rows, &v);
    struct sand_step_results results = {
        .rules = rules, .cases = v.cases, .predictions = v.predictions, .n = rows->n};
    sand_cli_progress_open(&v.progress, 0);
    if (rc == SAND_OK)
        rc = predict(o, &v, &results, diag);
    sand_cli_progress_close(&v.progress);
    if (rc == SAND_OK) {
        printf("%s: %zu rows, rules %s (%s)\n", o->with.file, rows->n, rules->id, rules->from.date);
        if (o->refit)
            sand_step_refit_print(&v.constants, v.refitted, stdout);
        rc = sand_step_report_print(&results, stdout);
    }
    const struct sand_predicted_table table = sand_step_table(&results);
    if (rc == SAND_OK)
        rc = sand_cli_validation_close(&o->with, &table, sand_step_count_scored(&results), diag);
    close_validation(&v);
    return rc;
}

static enum sand_rc execute(const struct options *o, struct sand_diag *diag)
{
    struct sand_spec *spec;
    struct sand_step_rows rows;
    SAND_TRY(sand_cli_validation_open(&o->with, sand_spec_load_rules, usual_rules, &spec, diag));
    enum sand_rc rc = sand_step_rows_read(o->with.file, &rows, diag);
    if (rc == SAND_OK)
        rc = predict_and_print(o, sand_spec_rules(spec), &rows, diag);
    sand_step_rows_clear(&rows);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_validation_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "FILE.csv", doc, children, NULL, NULL};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options o = {.jobs = processors > 0 ? (uint32_t)processors : 1};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_validate_steps = {
    "validate-steps", "predict measured training steps and compare", run};
