// sandtable compare: two results files as pairs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cli.h"
#include "comparison.h"
#include "store.h"

enum { KEY_FORMAT = 256 };

static const char doc[] =
    "Examples:\n"
    "  sandtable compare out/first-fit/results.h5 out/packed/results.h5\n"
    "  sandtable compare out/a/results.h5 out/b/results.h5 --format=json\n"
    "\n"
    "What the second run wins and costs beside the first, replication by replication: both must "
    "have "
    "the same seed, replications and jobs, as two runs of an experiment have that differ in a "
    "policy, the fabric or the like. Prints the mean differences with 95 % intervals.";

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json; SI units in the latter", 0}, {0}};

struct compare_options {
    const char *paths[2];
    int json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct compare_options *o = state->input;
    switch (key) {
    case KEY_FORMAT:
        o->json = strcmp(arg, "json") == 0;
        if (!o->json && strcmp(arg, "text") != 0)
            argp_error(state, "--format is \"%s\": must be text or json", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (o->paths[1])
            argp_error(state,
                       "two results files are compared, but there are \"%s\", \"%s\" and \"%s\"",
                       o->paths[0], o->paths[1], arg);
        o->paths[o->paths[0] != NULL] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->paths[1])
            argp_error(state, "two results files are needed, e.g. a/results.h5 b/results.h5");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc compare(const struct compare_options *o, struct sand_results *results[2],
                            struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    struct sand_comparison comparison;
    enum sand_rc rc = SAND_OK;
    for (int i = 0; rc == SAND_OK && i < 2; i++)
        rc = sand_results_open(o->paths[i], &results[i], diag);
    if (rc == SAND_OK)
        rc = sand_comparison_make(results[0], results[1], &arena, &comparison, diag);
    if (rc == SAND_OK)
        rc = o->json ? sand_comparison_json(&comparison, stdout, diag)
                     : sand_comparison_print(&comparison, sand_style_of(stdout), stdout, diag);
    sand_arena_clear(&arena);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "FIRST.h5 SECOND.h5", doc, NULL, NULL, NULL};
    struct compare_options o = {0};
    struct sand_results *results[2] = {NULL, NULL};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = compare(&o, results, &diag);
    for (int i = 0; i < 2; i++)
        if (results[i])
            sand_results_close(results[i]);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_compare = {"compare", "paired differences of two results files",
                                            run};
