// A command with subcommands: finds the one that is named, runs it, lists them all in --help.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "mem.h"

enum { MAX_VERBS = 64 };

struct choice {
    const struct sand_verb_group *group;
    const struct sand_verb *verb;
    int at; // of the verb in argv
};

static const struct sand_verb *need_verb(const struct sand_verb_group *group,
                                         struct argp_state *state, const char *name)
{
    const char *names[MAX_VERBS];
    size_t n = 0;
    for (; n < group->n_verbs && n < MAX_VERBS; n++) {
        names[n] = group->verbs[n]->name;
        if (strcmp(names[n], name) == 0)
            return group->verbs[n];
    }
    const char *nearest = sand_nearest(name, names, n);
    argp_error(state, "there is no %s \"%s\"%s%s%s", group->noun, name,
               nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        choice->verb = need_verb(choice->group, state, arg);
        choice->at = state->next - 1;
        state->next = state->argc; // the rest is the verb's
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a %s is needed", choice->group->noun);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The list of verbs stands after the options.
static char *add_verbs(int key, const char *text, void *input)
{
    const struct choice *choice = input;
    char *list = NULL;
    size_t size = 0;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text; // argp's filters return their argument for "unchanged"
    FILE *out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    const struct sand_verb_group *group = choice->group;
    int width = 0;
    for (size_t i = 0; i < group->n_verbs; i++)
        if ((int)strlen(group->verbs[i]->name) > width)
            width = (int)strlen(group->verbs[i]->name);
    fprintf(out, "%c%ss:\n", group->noun[0] - 'a' + 'A', group->noun + 1);
    for (size_t i = 0; i < group->n_verbs; i++)
        fprintf(out, "  %-*s  %s\n", width, group->verbs[i]->name, group->verbs[i]->summary);
    if (group->closing)
        fprintf(out, "\n%s", group->closing);
    return fclose(out) == 0 ? list : NULL;
}

static enum sand_rc run_verb(const struct sand_verb *verb, int argc, char **argv,
                             const char *program)
{
    struct sand_arena arena = {0};
    char *word = argv[0];
    argv[0] = sand_arena_printf(&arena, "%s %s", program, verb->name);
    enum sand_rc rc = argv[0] ? verb->run(argc, argv) : SAND_ERR_NOMEM;
    argv[0] = word;
    sand_arena_clear(&arena);
    return rc;
}

enum sand_rc sand_cli_run_group(const struct sand_verb_group *group, int argc, char **argv)
{
    const struct argp argp = {NULL, parse, group->args, group->doc, NULL, add_verbs, NULL};
    struct choice choice = {.group = group};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
    argp_program_version_hook = NULL; // --version belongs to the program, not to its verbs
    return run_verb(choice.verb, argc - choice.at, argv + choice.at, argv[0]);
}
