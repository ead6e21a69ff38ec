// sandtable show: the summary of a results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cli.h"
#include "store.h"

enum { KEY_FORMAT = 256 };

static const char doc[] =
    "Examples:\n"
    "  sandtable show out/llama3/results.h5\n"
    "  sandtable show out/llama3/results.h5 --format=json\n"
    "  NO_COLOR=1 sandtable show out/llama3/results.h5 | less\n"
    "\n"
    "Prints what a cluster owner asks first: MFU and goodput, where the GPU "
    "time went, interruptions by cause, recovery, degradations, waits, power.";

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0,
     "text (default) or json: the same figures, SI units in the names of keys", 0},
    {0}};

struct show_options {
    const char *path;
    int json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct show_options *show = state->input;
    switch (key) {
    case KEY_FORMAT:
        show->json = strcmp(arg, "json") == 0;
        if (!show->json && strcmp(arg, "text") != 0)
            argp_error(state, "--format is \"%s\": must be text or json", arg);
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &show->path, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a results file is needed, e.g. results.h5");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum sand_rc sand_cli_show(const char *path, int json, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    SAND_TRY(sand_results_open(path, &results, diag));
    enum sand_rc rc = json ? sand_summary_json(results, stdout, diag)
                           : sand_summary_print(results, sand_style_of(stdout), stdout, diag);
    sand_results_close(results);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "RESULTS.h5", doc, NULL, NULL, NULL};
    struct show_options show = {0};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &show);
    enum sand_rc rc = sand_cli_show(show.path, show.json, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_show = {"show", "print the summary of a results file", run};
