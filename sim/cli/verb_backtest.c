// sandtable backtest: a simulated schedule beside the one a trace recorded.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "backtestreport.h"
#include "cli.h"
#include "clichild.h"
#include "filegate.h"
#include "plugins.h"
#include "spec.h"

enum { KEY_CSV = 256, KEY_FORCE, KEY_FORMAT };

static const char doc[] =
    "Examples:\n"
    "  sandtable backtest examples/backtest/experiment.xml\n"
    "  sandtable backtest experiment.xml --policy schedule/recorded --csv jobs.csv\n"
    "\n"
    "Runs an experiment with a trace that says when its jobs started, and compares: waits, "
    "completion and utilisation by class, user and size, and job by job. Under schedule/recorded "
    "the schedules are the same, or the run fails and names the row that cannot be. One "
    "replication.";

static const struct argp_option options[] = {
    {"policy", 'p', "NAME", 0,
     "Schedule policy instead of the experiment's, without parameters; others are changed with "
     "--set",
     0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json; SI units in the latter", 0},
    {"csv", KEY_CSV, "FILE", 0, "Also write one line per job", 0},
    {"force", KEY_FORCE, NULL, 0, "Let --csv overwrite a file", 0},
    {0}};

struct backtest_options {
    struct sand_cli_load load;
    struct sand_cli_output csv;
    const char *policy;
    int json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct backtest_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->load;
        return 0;
    case 'p':
        o->policy = arg;
        return 0;
    case KEY_FORMAT:
        if (strcmp(arg, "text") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "--format is \"%s\": must be text or json", arg);
        o->json = strcmp(arg, "json") == 0;
        return 0;
    case KEY_CSV:
        o->csv.path = arg;
        return 0;
    case KEY_FORCE:
        o->csv.force = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc write_csv(const struct sand_backtest *backtest, const char *path,
                              struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    sand_backtest_csv(backtest, out);
    const enum sand_rc rc = fclose(out) == 0
                                ? sand_file_write(path, text, size, diag)
                                : sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    free(text); // open_memstream's
    return rc;
}

static enum sand_rc compare(const struct backtest_options *o,
                            const struct sand_experiment *experiment, const struct sand_jobset *set,
                            struct sand_diag *diag)
{
    const struct sand_backtest_title title = {experiment->name, experiment->schedule.type};
    struct sand_backtest backtest;
    enum sand_rc rc = sand_backtest_run(experiment, set, &backtest, diag);
    if (rc == SAND_OK && o->json)
        sand_backtest_json(&backtest, &title, stdout);
    else if (rc == SAND_OK)
        sand_backtest_print(&backtest, &title, sand_style_of(stdout), stdout);
    if (rc == SAND_OK && o->csv.path)
        rc = write_csv(&backtest, o->csv.path, diag);
    sand_backtest_clear(&backtest);
    return rc;
}

struct work {
    const struct backtest_options *options;
    const struct sand_experiment *experiment;
};

static enum sand_rc check_and_compare(void *self, struct sand_diag *diag)
{
    const struct work *work = self;
    struct sand_jobset *set = NULL;
    SAND_TRY(sand_cli_check(work->experiment, NULL, &set, diag));
    if (!work->options->json)
        sand_jobset_report(set, stdout);
    const enum sand_rc rc = compare(work->options, work->experiment, set, diag);
    sand_jobset_close(set);
    return rc;
}

static enum sand_rc execute(const struct backtest_options *o, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    size_t n_inputs;
    SAND_TRY(sand_cli_load_spec(&o->load, &spec, diag));
    const char *const *inputs = sand_spec_inputs(spec, &n_inputs);
    struct sand_experiment experiment = *sand_spec_experiment(spec);
    if (o->policy)
        experiment.schedule = (struct sand_choice){.type = o->policy};
    struct work work = {o, &experiment};
    enum sand_rc rc = sand_cli_check_output(&o->csv, inputs, n_inputs, diag);
    char plugins[256];
    sand_plugins_list(&experiment, plugins, sizeof plugins);
    if (rc == SAND_OK)
        rc = plugins[0] != '\0' ? sand_cli_in_child(check_and_compare, &work, plugins, diag)
                                : check_and_compare(&work, diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct backtest_options o = {.csv.option = "--csv"};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&o.load);
    return rc;
}

const struct sand_verb sand_verb_backtest = {
    "backtest", "compare simulated with recorded waits of a trace", run};
