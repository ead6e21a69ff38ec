// sandtable validate-collectives: predictions of measured collectives.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "clivalidation.h"
#include "collfit.h"
#include "collreport.h"
#include "mem.h"

enum { KEY_LEAVE_OUT = 256, KEY_REFIT };

static const char usual_rules[] = "platforms/catalogue/collective_rules/measured.xml";

struct options {
    struct sand_cli_validation with;
    int leave_out, refit;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable validate-collectives tests/data/collectives/published.csv\n"
    "  sandtable validate-collectives nccl-tests.csv --refit --csv predictions.csv\n"
    "\n"
    "Predicts every row of a CSV of measured collectives and compares. Rows that lack an input, or "
    "come from problem reports, are listed without score; rows that cannot be asked are counted by "
    "reason. Columns: id, source, platform, gpu, gpus, nodes, network, collective, algo, proto, "
    "message_bytes, time_us and others (docs/validation.md); unknown ones are ignored. What a "
    "row's gpu, platform and network mean stands beside the constants of the collectives. The last "
    "line is the overall error of the time; without any row to score the exit status is 3.";

static const struct argp_option options[] = {
    {"leave-out", KEY_LEAVE_OUT, "source", 0,
     "Print only the error of each source under constants that were fitted to all others", 0},
    {"refit", KEY_REFIT, NULL, 0,
     "Fit the constants to the rows first and print those that change: to measure your own cluster",
     0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->with;
        return 0;
    case KEY_REFIT:
        o->refit = 1;
        return 0;
    case KEY_LEAVE_OUT:
        if (strcmp(arg, "source") != 0)
            argp_error(state, "--leave-out is \"%s\": must be source", arg);
        o->leave_out = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct work {
    struct sand_coll_model *model, *before;
    struct sand_coll_case *cases;
    struct sand_coll_terms *terms;
    uint8_t *in;
    size_t n;
};

static enum sand_rc refit(struct work *w)
{
    *w->before = *w->model;
    for (size_t i = 0; i < w->n; i++)
        w->in[i] = w->cases[i].class == SAND_COLL_SCORED;
    SAND_TRY(sand_coll_fit(w->model, w->cases, w->n, w->in));
    printf("constants that a fit to these rows changes (before, after; SI units)\n");
    sand_coll_fit_print(w->before, w->model, stdout);
    return SAND_OK;
}

static enum sand_rc predict_and_print(const struct options *o, struct work *w,
                                      struct sand_diag *diag)
{
    const struct sand_coll_results results = {w->model, w->cases, w->terms, w->n};
    size_t n_scored = 0;
    if (o->refit)
        SAND_TRY(refit(w));
    for (size_t i = 0; i < w->n; i++)
        if (w->cases[i].class != SAND_COLL_SKIPPED &&
            sand_coll_case_predict(w->model, &w->cases[i], &w->terms[i]) != SAND_OK)
            w->terms[i] = (struct sand_coll_terms){0};
    for (size_t i = 0; i < w->n; i++)
        n_scored += sand_coll_is_scored(&results, i) != 0;
    SAND_TRY(o->leave_out ? sand_coll_leave_out(w->model, w->cases, w->n, stdout)
                          : sand_coll_report_print(&results, stdout));
    const struct sand_predicted_table table = sand_coll_table(&results);
    return sand_cli_validation_close(&o->with, &table, n_scored, diag);
}

static enum sand_rc read_cases(const struct sand_csv_rows *rows, struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        SAND_TRY(sand_coll_case_read(w->model, sand_csv_row(rows, i), &w->cases[i]));
    return SAND_OK;
}

static enum sand_rc work_on(const struct options *o, const struct sand_coll_rules *rules,
                            const struct sand_csv_rows *rows, struct sand_diag *diag)
{
    struct work w = {.n = rows->n};
    w.model = sand_calloc(1, sizeof *w.model);
    w.before = sand_calloc(1, sizeof *w.before);
    w.cases = sand_calloc(w.n + 1, sizeof *w.cases);
    w.terms = sand_calloc(w.n + 1, sizeof *w.terms);
    w.in = sand_calloc(w.n + 1, 1);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (w.model && w.before && w.cases && w.terms && w.in)
        rc = sand_coll_model_open(w.model, rules, diag);
    if (rc == SAND_OK)
        rc = read_cases(rows, &w);
    if (rc == SAND_OK) {
        printf("%s: %zu rows, constants %s (%s)\n", o->with.file, w.n, rules->collectives->id,
               rules->collectives->from.date);
        rc = predict_and_print(o, &w, diag);
    }
    if (rc == SAND_ERR_NOMEM)
        sand_fail(diag, rc, "out of memory");
    sand_free(w.model);
    sand_free(w.before);
    sand_free(w.cases);
    sand_free(w.terms);
    sand_free(w.in);
    return rc;
}

static enum sand_rc execute(const struct options *o, struct sand_diag *diag)
{
    struct sand_spec *spec;
    struct sand_csv_rows rows;
    SAND_TRY(
        sand_cli_validation_open(&o->with, sand_spec_load_coll_rules, usual_rules, &spec, diag));
    enum sand_rc rc = sand_coll_rows_read(o->with.file, &rows, diag);
    if (rc == SAND_OK)
        rc = work_on(o, sand_spec_coll_rules(spec), &rows, diag);
    sand_csv_rows_clear(&rows);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_validation_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "FILE.csv", doc, children, NULL, NULL};
    struct options o = {0};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_validate_collectives = {
    "validate-collectives", "predict measured collectives and compare", run};
