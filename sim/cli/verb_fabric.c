// sandtable fabric: what a cluster's fabric is, can, and loses. Finds the sub-verb and runs it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "clifabric.h"
#include "mem.h"
#include "spec.h"
#include "units.h"

// One line per sub-verb.
static const struct sand_verb *const subverbs[] = {
    &sand_verb_fabric_show, &sand_verb_fabric_parts,  &sand_verb_fabric_check,
    &sand_verb_fabric_cut,  &sand_verb_fabric_faults,
};
enum { N_SUBVERBS = sizeof subverbs / sizeof subverbs[0] };

static const char doc[] = "Examples:\n"
                          "  sandtable fabric check examples/llama3-405b/experiment.xml\n"
                          "  sandtable fabric faults examples/llama3-405b/experiment.xml\n"
                          "\n"
                          "Says what the fabric of an experiment's cluster is, what it can carry, "
                          "and what is lost when a "
                          "part of it dies. `sandtable fabric SUBCOMMAND --help' says more.\v";

struct choice {
    const struct sand_verb *verb;
    int at;
};

static const struct sand_verb *need_subverb(struct argp_state *state, const char *name)
{
    const char *names[N_SUBVERBS];
    for (size_t i = 0; i < N_SUBVERBS; i++) {
        names[i] = subverbs[i]->name;
        if (strcmp(names[i], name) == 0)
            return subverbs[i];
    }
    const char *nearest = sand_nearest(name, names, N_SUBVERBS);
    argp_error(state, "there is no subcommand \"%s\"%s%s%s", name,
               nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        choice->verb = need_subverb(state, arg);
        choice->at = state->next - 1;
        state->next = state->argc; // the rest is the sub-verb's
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a subcommand is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static char *add_subverbs(int key, const char *text, void *input)
{
    char *list = NULL;
    size_t size = 0;
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text; // argp's filters return their argument for "unchanged"
    FILE *out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    fputs("Subcommands:\n", out);
    for (size_t i = 0; i < N_SUBVERBS; i++)
        fprintf(out, "  %-10s %s\n", subverbs[i]->name, subverbs[i]->summary);
    return fclose(out) == 0 ? list : NULL;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {NULL,         parse, "SUBCOMMAND EXPERIMENT.xml", doc, NULL,
                                     add_subverbs, NULL};
    struct choice choice = {0};
    struct sand_arena arena = {0};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
    char *name = argv[choice.at];
    argv[choice.at] = sand_arena_printf(&arena, "sandtable fabric %s", choice.verb->name);
    enum sand_rc rc =
        argv[choice.at] ? choice.verb->run(argc - choice.at, argv + choice.at) : SAND_ERR_NOMEM;
    argv[choice.at] = name;
    sand_arena_clear(&arena);
    return rc;
}

const struct sand_verb sand_verb_fabric = {"fabric", "what a fabric is, carries, and loses", run};

// ---- what the sub-verbs share ----

enum sand_rc sand_cli_with_graph(const struct sand_cli_load *load, sand_cli_graph_fn *work,
                                 void *input)
{
    struct sand_diag diag = {0};
    struct sand_spec *spec = NULL;
    struct sand_graph *graph = NULL;
    enum sand_rc rc = sand_cli_load_spec(load, &spec, &diag);
    const struct sand_experiment *experiment = rc == SAND_OK ? sand_spec_experiment(spec) : NULL;
    if (experiment)
        rc = sand_graph_build(&experiment->cluster, &graph, &diag);
    if (graph)
        rc = work(experiment, graph, input, &diag);
    sand_graph_free(graph);
    if (spec)
        sand_spec_free(spec);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

static error_t parse_experiment(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

enum sand_rc sand_cli_run_on_cluster(int argc, char **argv, const char *doc_text,
                                     sand_cli_cluster_fn *work)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL, parse_experiment, "EXPERIMENT.xml", doc_text, children, NULL,
                              NULL};
    struct sand_cli_load load = {0};
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &load);
    enum sand_rc rc = sand_cli_load_spec(&load, &spec, &diag);
    if (rc == SAND_OK)
        rc = work(&sand_spec_experiment(spec)->cluster, &diag);
    if (spec)
        sand_spec_free(spec);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&load);
    return rc;
}

char *sand_cli_bandwidth(double Bps, char *buffer)
{
    return sand_quantity_format(Bps, SAND_DIM_BANDWIDTH, 4, buffer, 48);
}

char *sand_cli_percent(double part, double whole, char *buffer)
{
    snprintf(buffer, 48, "%.4g %%", whole > 0 ? 100 * part / whole : 0);
    return buffer;
}
