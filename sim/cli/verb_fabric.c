// sandtable fabric: what a cluster's fabric is, can, and loses.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "clifabric.h"
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

static enum sand_rc run(int argc, char **argv)
{
    static const struct sand_verb_group group = {.noun = "subcommand",
                                                 .args = "SUBCOMMAND EXPERIMENT.xml",
                                                 .doc = doc,
                                                 .verbs = subverbs,
                                                 .n_verbs = N_SUBVERBS};
    return sand_cli_run_group(&group, argc, argv);
}

const struct sand_verb sand_verb_fabric = {"fabric", "what a fabric is, carries, and loses", run};

// ---- what the sub-verbs share ----

enum sand_rc sand_cli_with_graph(const struct sand_cli_load *load, sand_cli_graph_fn *work,
                                 void *input)
{
    struct sand_diag diag = {0};
    struct sand_spec *spec = NULL;
    struct sand_graph *graph = NULL;
    enum sand_rc rc = sand_cli_load_file(load, sand_spec_load_cluster, &spec, &diag);
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

const char sand_cli_bisection_is[] = "minimum cut between halves of the nodes, cables at line rate";

const char *sand_cli_no_bisection(uint32_t n_nodes)
{
    return n_nodes == 1 ? "one node has no halves" : "no network joins the halves";
}

int sand_cli_is_json(struct argp_state *state, const char *format)
{
    if (strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        argp_error(state, "--format is \"%s\": must be text or json", format);
    return strcmp(format, "json") == 0;
}

enum { KEY_FORMAT = 256 };

static error_t parse_on_cluster(int key, char *arg, struct argp_state *state)
{
    struct sand_cli_cluster_options *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->load;
        return 0;
    case KEY_FORMAT:
        asked->is_json = sand_cli_is_json(state, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void sand_cli_parse_on_cluster(int argc, char **argv, const char *doc_text,
                               struct sand_cli_cluster_options *asked)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp_option options[] = {
        {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json; SI units in the latter", 0},
        {0}};
    const struct argp argp = {options, parse_on_cluster, "EXPERIMENT.xml", doc_text, children, NULL,
                              NULL};
    *asked = (struct sand_cli_cluster_options){0};
    sand_cli_parse(&argp, argc, argv, asked);
}

enum sand_rc sand_cli_run_on_cluster(int argc, char **argv, const char *doc_text,
                                     sand_cli_cluster_fn *work)
{
    struct sand_cli_cluster_options asked;
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    sand_cli_parse_on_cluster(argc, argv, doc_text, &asked);
    enum sand_rc rc = sand_cli_load_file(&asked.load, sand_spec_load_cluster, &spec, &diag);
    if (rc == SAND_OK)
        rc = work(&sand_spec_experiment(spec)->cluster, asked.is_json, &diag);
    if (spec)
        sand_spec_free(spec);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&asked.load);
    return rc;
}

char *sand_cli_bandwidth(double Bps, char *buffer)
{
    return sand_quantity_format(Bps, SAND_DIM_BANDWIDTH, 4, buffer, 48);
}

char *sand_cli_percent(double part, double whole, char *buffer)
{
    if (whole > 0)
        snprintf(buffer, 48, "%.4g %%", 100 * part / whole);
    else
        strcpy(buffer, "-");
    return buffer;
}
