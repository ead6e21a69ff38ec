// Finds the subcommand and runs it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "mem.h"

static const struct sand_verb *const verbs[] = {
    &sand_verb_run,           &sand_verb_validate, &sand_verb_step,   &sand_verb_show,
    &sand_verb_explain,       &sand_verb_policy,   &sand_verb_schema, &sand_verb_validate_schedule,
    &sand_verb_cache,         &sand_verb_fabric,   &sand_verb_export, &sand_verb_import,
    &sand_verb_validate_steps};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static const char doc[] =
    "Examples:\n"
    "  sandtable run examples/llama3-405b/experiment.xml -o out/llama3\n"
    "  sandtable step examples/llama3-405b/experiment.xml\n"
    "\n"
    "Sandtable simulates GPU training clusters: what a training step takes on a fabric, and what "
    "days of faults, checkpoints and scheduling make of it.\v";

static const struct sand_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static const struct sand_verb *need_verb(struct argp_state *state, const char *name)
{
    const struct sand_verb *verb = find_verb(name);
    const char *names[N_VERBS];
    if (verb)
        return verb;
    for (size_t i = 0; i < N_VERBS; i++)
        names[i] = verbs[i]->name;
    const char *nearest = sand_nearest(name, names, N_VERBS);
    if (nearest)
        argp_error(state, "there is no command \"%s\"; did you mean \"%s\"?", name, nearest);
    else
        argp_error(state, "there is no command \"%s\"", name);
    return NULL;
}

struct choice {
    const struct sand_verb *verb;
    int at; // of the verb in argv
};

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        choice->verb = need_verb(state, arg);
        choice->at = state->next - 1;
        state->next = state->argc; // the rest is the verb's
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a command is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The list of verbs stands after the options.
static char *add_verbs(int key, const char *text, void *input)
{
    char *list = NULL;
    size_t size = 0;
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text; // argp's filters return their argument for "unchanged"
    FILE *out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    fputs("Commands:\n", out);
    for (size_t i = 0; i < N_VERBS; i++)
        fprintf(out, "  %-18s  %s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\nExit status: 0 done, 1 a replication failed or a job is unfinished, 2 usage,\n"
          "3 invalid input, 4 files or memory, 5 a policy failed, 70 a bug in Sandtable.",
          out);
    return fclose(out) == 0 ? list : NULL;
}

static void print_version(FILE *out, struct argp_state *state)
{
    size_t n;
    const struct sand_library *libraries = sand_cli_libraries(&n);
    (void)state;
    fprintf(out, "sandtable %s (physics %s)\n", sand_cli_version(), SAND_PHYSICS_VERSION);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s %s\n", libraries[i].name, libraries[i].version);
}

// A write error on stdout (a full disk) must not look like success.
static enum sand_rc close_output(enum sand_rc rc)
{
    if (!ferror(stdout) && fflush(stdout) == 0)
        return rc;
    fprintf(stderr, "error: cannot write to standard output: %s\n", strerror(errno));
    return rc == SAND_OK ? SAND_ERR_IO : rc;
}

static enum sand_rc run_verb(const struct sand_verb *verb, int argc, char **argv)
{
    struct sand_arena arena = {0};
    char *program = argv[0];
    argv[0] = sand_arena_printf(&arena, "sandtable %s", verb->name);
    enum sand_rc rc = argv[0] ? verb->run(argc, argv) : SAND_ERR_NOMEM;
    argv[0] = program;
    sand_arena_clear(&arena);
    return rc;
}

int sand_cli_main(int argc, char **argv)
{
    static const struct argp argp = {NULL,      parse_top, "COMMAND [OPTION...]", doc, NULL,
                                     add_verbs, NULL};
    struct choice choice = {0};
    argp_err_exit_status = sand_rc_exit_status(SAND_ERR_USAGE);
    argp_program_version_hook = print_version;
    static char name[] = "sandtable";
    if (argc > 0)
        argv[0] = name; // in messages, whatever the path
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
    argp_program_version_hook = NULL; // --version belongs to the program, not to its verbs
    enum sand_rc rc = run_verb(choice.verb, argc - choice.at, argv + choice.at);
    return sand_rc_exit_status(close_output(rc));
}
