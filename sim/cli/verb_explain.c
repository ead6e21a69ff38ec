// sandtable explain: why a job, a step or an incident of a results file is as it is.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cli.h"
#include "explain.h"
#include "store.h"

enum { KEY_JOB = 256, KEY_STEP, KEY_INCIDENT, KEY_REPLICATION, KEY_FORMAT };

static const char doc[] =
    "Examples:\n"
    "  sandtable explain out/llama3/results.h5 --job llama3-405b\n"
    "  sandtable explain out/llama3/results.h5 --incident 17 --format=json\n"
    "\n"
    "From a results file alone: what a job waited for and why it took as long as it did, in parts "
    "that sum to the observed time; the timeline of an incident; the split of a step profile.";

static const struct argp_option options[] = {
    {"job", KEY_JOB, "ID", 0, "A job: its queue, its steps, its saves, its faults", 0},
    {"step", KEY_STEP, "PROFILE", 0, "A step profile, by its number in the steps table", 0},
    {"incident", KEY_INCIDENT, "K", 0, "An incident, by its number in its replication", 0},
    {"replication", KEY_REPLICATION, "R", 0, "The replication; default: 0", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json; SI units in the latter", 0},
    {0}};

struct explain_options {
    const char *path, *job;
    uint32_t number, replication;
    int what; // the key of the thing to explain, 0: none yet
    enum sand_explain_format format;
};

static void choose(struct explain_options *explain, struct argp_state *state, int what)
{
    if (explain->what)
        argp_error(state, "one of --job, --step and --incident at a time");
    explain->what = what;
}

static enum sand_explain_format find_format(struct argp_state *state, const char *format)
{
    static const char *const names[] = {"text", "json"};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(names[i], format) == 0)
            return i == 0 ? SAND_EXPLAIN_TEXT : SAND_EXPLAIN_JSON;
    argp_error(state, "--format is \"%s\": must be text or json", format);
    return SAND_EXPLAIN_TEXT;
}

static error_t parse_thing(struct explain_options *explain, int key, char *arg,
                           struct argp_state *state)
{
    choose(explain, state, key);
    if (key == KEY_JOB)
        explain->job = arg;
    else
        explain->number = sand_cli_count(state, key == KEY_STEP ? "--step" : "--incident", arg, 0);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct explain_options *explain = state->input;
    switch (key) {
    case KEY_JOB:
    case KEY_STEP:
    case KEY_INCIDENT:
        return parse_thing(explain, key, arg, state);
    case KEY_REPLICATION:
        explain->replication = sand_cli_count(state, "--replication", arg, 0);
        return 0;
    case KEY_FORMAT:
        explain->format = find_format(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &explain->path, arg);
        return 0;
    case ARGP_KEY_END:
        if (!explain->path)
            argp_error(state, "a results file is needed, e.g. results.h5");
        if (!explain->what)
            argp_error(state, "say what to explain: --job ID, --step PROFILE or --incident K");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc explain_it(const struct explain_options *explain, struct sand_results *results,
                               struct sand_diag *diag)
{
    const struct sand_explain_output output = {stdout, sand_style_of(stdout), explain->format};
    if (explain->what == KEY_JOB)
        return sand_explain_job(results, explain->replication, explain->job, &output, diag);
    if (explain->what == KEY_STEP)
        return sand_explain_step(results, explain->replication, explain->number, &output, diag);
    return sand_explain_incident(results, explain->replication, explain->number, &output, diag);
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "RESULTS.h5", doc, NULL, NULL, NULL};
    struct explain_options explain = {0};
    struct sand_results *results = NULL;
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &explain);
    enum sand_rc rc = sand_results_open(explain.path, &results, &diag);
    if (rc == SAND_OK)
        rc = explain_it(&explain, results, &diag);
    sand_results_close(results);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_explain = {"explain",
                                            "say why a job, step or incident is as it is", run};
