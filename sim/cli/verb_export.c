// sandtable export: the fabric for other tools.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "collcost.h"
#include "export.h"
#include "filegate.h"
#include "spec.h"

enum { KEY_FORMAT = 256, KEY_FORCE };

static const char doc[] =
    "Examples:\n"
    "  sandtable export fabric experiment.xml --format=dot -o fabric.dot\n"
    "  sandtable export fabric experiment.xml --format=simgrid -o platform.xml\n"
    "\n"
    "Writes a part of an experiment in the formats of other tools.\v";

static const char fabric_doc[] =
    "Examples:\n"
    "  sandtable export fabric experiment.xml --format=dot -o fabric.dot\n"
    "  sandtable export fabric experiment.xml --format=simgrid -o platform.xml\n"
    "\n"
    "Writes the fabric of the experiment's cluster: dot is a readable picture (`dot -Tsvg "
    "fabric.dot'), "
    "graphml every switch and bundle of cables, simgrid a platform that SimGrid loads as it is. "
    "Without -o to standard output.";

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "dot (default), graphml or simgrid", 0},
    {"output", 'o', "FILE", 0, "Write here instead of to standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite FILE", 0},
    {0}};

struct export_options {
    struct sand_cli_load load;
    struct sand_cli_output output;
    enum sand_export_format format;
};

static enum sand_export_format find_format(struct argp_state *state, const char *name)
{
    static const char *const names[] = {"dot", "graphml", "simgrid"};
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(names[i], name) == 0)
            return (enum sand_export_format)i;
    const char *nearest = sand_nearest(name, names, 3);
    argp_error(state, "--format is \"%s\": must be dot, graphml or simgrid%s%s%s", name,
               nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return SAND_EXPORT_DOT;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct export_options *export = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &export->load;
        return 0;
    case KEY_FORMAT:
        export->format = find_format(state, arg);
        return 0;
    case 'o':
        export->output.path = arg;
        return 0;
    case KEY_FORCE:
        export->output.force = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc write_out(const struct export_options *export, const char *text, size_t size,
                              struct sand_diag *diag)
{
    if (export->output.path)
        return sand_file_write(export->output.path, text, size, diag);
    fwrite(text, 1, size, stdout);
    return sand_stream_finish(stdout, "to standard output", diag);
}

// A message without bytes between two nodes under the fastest kernel.
static enum sand_rc message_latency(const struct sand_cluster *cluster,
                                    const struct sand_collectives *kernels, double *message_s,
                                    struct sand_diag *diag)
{
    const struct sand_node_type *node = cluster->node_type;
    const struct sand_comm_ports ports = {.node = node,
                                          .nic = node->nic,
                                          .ranks = 2,
                                          .domains = 2,
                                          .domain_ranks = 1,
                                          .ports = 1,
                                          .port_Bps = node->nic->rate_Bps};
    const struct sand_comm_options plain = {0};
    const struct sand_coll_wish any = {SAND_ALGORITHMS, SAND_PROTOCOLS};
    const struct sand_collective message = {SAND_SEND, 2, 0};
    struct sand_coll_terms terms;
    struct sand_comm comm;
    sand_comm_by_ports(&ports, &plain, &comm);
    SAND_TRY(sand_coll_best(kernels, &comm, &message, any, &terms, diag));
    *message_s = terms.latency_s;
    return SAND_OK;
}

// Under the kernels that the experiment names, or the usual ones; 0 for formats without latencies.
static enum sand_rc find_latency(const struct export_options *export,
                                 const struct sand_experiment *e, double *message_s,
                                 struct sand_diag *diag)
{
    struct sand_spec *usual = NULL;
    const struct sand_collectives *kernels = e->collectives;
    *message_s = 0;
    if (export->format != SAND_EXPORT_SIMGRID)
        return SAND_OK;
    if (kernels == NULL) {
        SAND_TRY(sand_cli_load_collectives(&export->load, &e->cluster, NULL, &usual, diag));
        kernels = sand_spec_collectives(usual);
    }
    const enum sand_rc rc = message_latency(&e->cluster, kernels, message_s, diag);
    sand_spec_free(usual);
    return rc;
}

static enum sand_rc write_fabric(const struct export_options *export, const struct sand_spec *spec,
                                 struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0, n_inputs;
    double message_s;
    const struct sand_experiment *experiment = sand_spec_experiment(spec);
    const char *const *inputs = sand_spec_inputs(spec, &n_inputs);
    SAND_TRY(sand_cli_check_output(&export->output, inputs, n_inputs, diag));
    SAND_TRY(find_latency(export, experiment, &message_s, diag));
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return SAND_ERR_NOMEM;
    enum sand_rc rc =
        sand_export_fabric(export->format, &experiment->cluster, message_s, out, diag);
    if (fclose(out) != 0 && rc == SAND_OK)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    if (rc == SAND_OK)
        rc = write_out(export, text, size, diag);
    free(text); // of open_memstream
    return rc;
}

static enum sand_rc execute(const struct export_options *export, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    SAND_TRY(sand_cli_load_file(&export->load, sand_spec_load_cluster, &spec, diag));
    enum sand_rc rc = write_fabric(export, spec, diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run_fabric(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", fabric_doc, children,
                                     NULL,    NULL};
    struct export_options export = {.output.option = "-o", .format = SAND_EXPORT_DOT};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &export);
    enum sand_rc rc = execute(&export, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&export.load);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct sand_verb fabric = {"fabric", "the fabric as DOT, GraphML or SimGrid's XML",
                                            run_fabric};
    static const struct sand_verb *const verbs[] = {&fabric};
    static const struct sand_verb_group group = {.noun = "subcommand",
                                                 .args = "SUBCOMMAND EXPERIMENT.xml",
                                                 .doc = doc,
                                                 .verbs = verbs,
                                                 .n_verbs = 1};
    return sand_cli_run_group(&group, argc, argv);
}

const struct sand_verb sand_verb_export = {"export", "write a fabric for other tools", run};
