// sandtable policy: the policies there are, and what they take.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "cli.h"
#include "policyhost.h"
#include "units.h"

enum { MAX_POLICIES = 64 };

static const char doc[] = "Examples:\n"
                          "  sandtable policy list\n"
                          "  sandtable policy show checkpoint/daly\n"
                          "\n"
                          "Lists the built-in policies, or shows one with its parameters.\v";

static const char list_doc[] = "Examples:\n"
                               "  sandtable policy list\n"
                               "  sandtable policy list | grep schedule/\n"
                               "\n"
                               "Lists the built-in policies of all families.";

static const char show_doc[] =
    "Examples:\n"
    "  sandtable policy show checkpoint/daly\n"
    "  sandtable policy show recover/wait\n"
    "\n"
    "Shows a built-in policy with its parameters: meaning, default, range.";

static enum sand_rc print_list(void)
{
    struct sand_policy policy;
    for (size_t i = 0; sand_policy_builtin(i, &policy); i++)
        printf("%-31s %s\n", policy.type, policy.summary);
    return SAND_OK;
}

// ---- show
// -----------------------------------------------------------------------------------------

static void print_words(const struct sandtable_param *param)
{
    printf("    one of");
    for (size_t i = 0; param->words[i]; i++)
        printf("%s %s", i > 0 ? "," : "", param->words[i]);
    if (param->required)
        printf("; required\n");
    else
        printf("; default %s\n", param->words[(size_t)param->default_value]);
}

static void print_param(const struct sandtable_param *param)
{
    enum sand_dim dim = sand_policy_dim(param);
    char value[64], low[64], high[64];
    printf("  %s: %s\n", param->name, param->doc);
    if (param->dim == SANDTABLE_WORD) {
        print_words(param);
        return;
    }
    sand_quantity_format(param->default_value, dim, 6, value, sizeof value);
    printf("    %s", sand_dim_name(dim));
    if (param->required)
        printf(", required");
    else
        printf(", default %s", value);
    if (isfinite(param->min))
        printf(", at least %s", sand_quantity_format(param->min, dim, 6, low, sizeof low));
    if (isfinite(param->max))
        printf(", at most %s", sand_quantity_format(param->max, dim, 6, high, sizeof high));
    printf("\n");
}

static void print_policy(const struct sand_policy *policy)
{
    printf("%s (version %s): %s\n", policy->type, policy->version, policy->summary);
    printf(policy->n_params > 0 ? "parameters:\n" : "parameters: none\n");
    for (size_t i = 0; i < policy->n_params; i++)
        print_param(&policy->params[i]);
}

static enum sand_rc print_named(const char *name)
{
    struct sand_policy policy;
    const char *names[MAX_POLICIES];
    size_t n = 0;
    for (size_t i = 0; sand_policy_builtin(i, &policy); i++) {
        if (strcmp(policy.type, name) == 0) {
            print_policy(&policy);
            return SAND_OK;
        }
        if (n < MAX_POLICIES)
            names[n++] = policy.type;
    }
    const char *nearest = sand_nearest(name, names, n);
    if (nearest)
        fprintf(stderr, "error: there is no policy \"%s\"; did you mean \"%s\"?\n", name, nearest);
    else
        fprintf(stderr, "error: there is no policy \"%s\"; `sandtable policy list' names them\n",
                name);
    return SAND_ERR_USAGE;
}

// ---- sub-verbs
// ------------------------------------------------------------------------------------

static error_t parse_name(int key, char *arg, struct argp_state *state)
{
    const char **name = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*name)
            argp_error(state, "there is nothing to do with \"%s\"", arg);
        *name = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "write policy show NAME; `sandtable policy list' names them");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc run_list(int argc, char **argv)
{
    static const struct argp argp = {NULL, NULL, NULL, list_doc, NULL, NULL, NULL};
    sand_cli_parse(&argp, argc, argv, NULL);
    return print_list();
}

static enum sand_rc run_show(int argc, char **argv)
{
    static const struct argp argp = {NULL, parse_name, "NAME", show_doc, NULL, NULL, NULL};
    const char *name = NULL;
    sand_cli_parse(&argp, argc, argv, &name);
    return print_named(name);
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct sand_verb list = {"list", "the built-in policies", run_list},
                                  show = {"show", "one policy and its parameters", run_show};
    static const struct sand_verb *const verbs[] = {&list, &show};
    static const struct sand_verb_group group = {.noun = "subcommand",
                                                 .args = "SUBCOMMAND [NAME]",
                                                 .doc = doc,
                                                 .verbs = verbs,
                                                 .n_verbs = 2};
    return sand_cli_run_group(&group, argc, argv);
}

const struct sand_verb sand_verb_policy = {"policy", "list the policies, or show one", run};
