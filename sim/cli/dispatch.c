// The commands of the program, and how it ends.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.h"
#include "filegate.h"

static const struct sand_verb *const verbs[] = {&sand_verb_run,
                                                &sand_verb_sweep,
                                                &sand_verb_validate,
                                                &sand_verb_step,
                                                &sand_verb_show,
                                                &sand_verb_compare,
                                                &sand_verb_explain,
                                                &sand_verb_policy,
                                                &sand_verb_schema,
                                                &sand_verb_validate_schedule,
                                                &sand_verb_cache,
                                                &sand_verb_fabric,
                                                &sand_verb_export,
                                                &sand_verb_import,
                                                &sand_verb_validate_steps,
                                                &sand_verb_validate_collectives,
                                                &sand_verb_collective,
                                                &sand_verb_backtest};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static const char doc[] =
    "Examples:\n"
    "  sandtable run examples/llama3-405b/experiment.xml -o out/llama3\n"
    "  sandtable step examples/llama3-405b/experiment.xml\n"
    "\n"
    "Sandtable simulates GPU training clusters: what a training step takes on a fabric, and what "
    "days of faults, checkpoints and scheduling make of it.\v";

static void print_version(FILE *out, struct argp_state *state)
{
    size_t n;
    const struct sand_library *libraries = sand_cli_libraries(&n);
    (void)state;
    fprintf(out, "sandtable %s (physics %s)\n", sand_cli_version(), SAND_PHYSICS_VERSION);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s %s\n", libraries[i].name, libraries[i].version);
}

// A write error on stdout (a full disk) must not look like success. A verb that ended with an error
// of files has said which.
static enum sand_rc close_output(enum sand_rc rc)
{
    struct sand_diag diag = {0};
    if (rc == SAND_ERR_IO && (ferror(stdout) || fflush(stdout) != 0))
        return rc;
    if (sand_stream_finish(stdout, "to standard output", &diag) != SAND_OK && rc == SAND_OK)
        rc = SAND_ERR_IO;
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

int sand_cli_main(int argc, char **argv)
{
    static const struct sand_verb_group program = {
        .noun = "command",
        .args = "COMMAND [OPTION...]",
        .doc = doc,
        .verbs = verbs,
        .n_verbs = N_VERBS,
        .closing =
            "Exit status: 0 done, 1 a replication failed, a job is unfinished or a check found a\n"
            "fault, 2 usage, 3 invalid input, 4 files or memory, 5 a policy failed, 70 a bug\n"
            "in Sandtable.",
    };
    static char name[] = "sandtable";
    argp_err_exit_status = sand_rc_exit_status(SAND_ERR_USAGE);
    argp_program_version_hook = print_version;
    if (argc > 0)
        argv[0] = name; // in messages, whatever the path
    return sand_rc_exit_status(close_output(sand_cli_run_group(&program, argc, argv)));
}
