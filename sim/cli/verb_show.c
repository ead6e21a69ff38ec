// sandtable show: the summary of a results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.h"
#include "store.h"

static const char doc[] = "Examples:\n"
                          "  sandtable show out/llama3/results.h5\n"
                          "  NO_COLOR=1 sandtable show out/llama3/results.h5 | less\n"
                          "\n"
                          "Prints what a cluster owner asks first: MFU and goodput, where the GPU "
                          "time went, interruptions by cause, recovery, power.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, state->input, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a results file is needed, e.g. results.h5");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum sand_rc sand_cli_show(const char *path, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    SAND_TRY(sand_results_open(path, &results, diag));
    enum sand_rc rc = sand_summary_print(results, sand_cli_style(stdout), stdout, diag);
    sand_results_close(results);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {NULL, parse, "RESULTS.h5", doc, NULL, NULL, NULL};
    const char *path = NULL;
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &path);
    enum sand_rc rc = sand_cli_show(path, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_show = {"show", "print the summary of a results file", run};
