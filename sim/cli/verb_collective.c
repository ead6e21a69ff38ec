// sandtable collective: time and bandwidth of a collective over message sizes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "collectiveprint.h"
#include "fabric.h"
#include "mem.h"
#include "units.h"

enum {
    KEY_NODE = 256,
    KEY_NODES,
    KEY_GPUS,
    KEY_PER_NODE,
    KEY_KIND,
    KEY_FROM,
    KEY_TO,
    KEY_FACTOR,
    KEY_BYTES,
    KEY_ALGORITHM,
    KEY_PROTOCOL,
    KEY_NO_GPUDIRECT,
    KEY_NO_MULTICAST,
    KEY_SHARP,
    KEY_SYMMETRIC,
    KEY_EXPLAIN,
    KEY_PLOT,
    KEY_FORCE,
    KEY_FORMAT,
    KEY_CONSTANTS
};
enum { MOST_SIZES = 4096 };
#define FROM_B 8
#define TO_B 17179869184.0 // 16 GiB

typedef void printer_fn(const struct sand_collective_view *view, FILE *out);

struct options {
    struct sand_cli_load load;
    const char *node, *constants;
    uint32_t nodes, gpus, per_node;
    enum sand_collective_kind kind;
    double from_B, to_B, factor, only_B; // only_B: of --bytes; 0: many sizes
    struct sand_coll_wish wish;
    struct sand_comm_options comm;
    int explain;
    struct sand_cli_output plot;
    printer_fn *print;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable collective --node dgx-h100 --nodes 2 --explain --bytes 1GiB\n"
    "  sandtable collective platforms/clusters/meta-24k.xml --gpus 16384 --collective all_gather\n"
    "\n"
    "Places a collective on the first GPUs of a cluster (an experiment, a cluster file, or so many "
    "nodes of the catalogue on a fabric without oversubscription) and prints its time, algorithm "
    "and bus bandwidth over message sizes in the columns of nccl-tests, with the algorithm and "
    "protocol that are the fastest, or those asked for. Sizes are those of nccl-tests: the buffer "
    "for all_reduce, what is gathered or scattered in all, what a rank sends in all for alltoall.";

static const struct argp_option options[] = {
    {"node", KEY_NODE, "NAME", 0, "Nodes of the catalogue instead of a file, e.g. dgx-h100", 0},
    {"nodes", KEY_NODES, "N", 0, "How many of them; default: 1", 0},
    {"gpus", KEY_GPUS, "N", 0, "GPUs that take part; default: all", 0},
    {"gpus-per-node", KEY_PER_NODE, "N", 0, "Of each node; default: all", 0},
    {"collective", KEY_KIND, "NAME", 0,
     "all_reduce (default), all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv", 0},
    {"from", KEY_FROM, "SIZE", 0, "Smallest message; default: 8B", 0},
    {"to", KEY_TO, "SIZE", 0, "Largest message; default: 16GiB", 0},
    {"factor", KEY_FACTOR, "X", 0, "From one size to the next; default: 2", 0},
    {"bytes", KEY_BYTES, "SIZE", 0, "This message only", 0},
    {"algorithm", KEY_ALGORITHM, "NAME", 0,
     "ring, tree, nvls, nvlstree, sharp, symmetric, pairwise, pxn or hierarchical", 0},
    {"protocol", KEY_PROTOCOL, "NAME", 0, "LL, LL128 or Simple", 0},
    {"no-gpudirect", KEY_NO_GPUDIRECT, NULL, 0, "NICs reach the GPUs by way of host memory", 0},
    {"no-nvls", KEY_NO_MULTICAST, NULL, 0, "The scale-up switch does not reduce", 0},
    {"sharp", KEY_SHARP, NULL, 0, "The network's switches may reduce", 0},
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "Buffers are registered at equal addresses", 0},
    {"explain", KEY_EXPLAIN, NULL, 0, "Also the terms of every time, with the tightest link", 0},
    {"plot", KEY_PLOT, "FILE", 0, "Also draw bus bandwidth over size (.png, .svg, .pdf; gnuplot)",
     0},
    {"force", KEY_FORCE, NULL, 0, "Let --plot overwrite a file", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default), json or csv; SI units in the latter two",
     0},
    {"constants", KEY_CONSTANTS, "FILE.xml", 0,
     "Other kernels than the experiment's, or the catalogue's collectives/nccl.xml (on a torus "
     "xla-tpu.xml)",
     0},
    {0}};

// ---- words --------------------------------------------------------------------------------------

typedef const char *name_fn(int index);

static const char *name_of_kind(int index)
{
    return sand_collective_name((enum sand_collective_kind)index);
}
static const char *name_of_algorithm(int index)
{
    return sand_algorithm_name((enum sand_algorithm)index);
}
static const char *name_of_protocol(int index)
{
    return sand_protocol_name((enum sand_protocol)index);
}
static const char *name_of_format(int index)
{
    static const char *const names[] = {"text", "json", "csv"};
    return names[index];
}

static int find_word(struct argp_state *state, const char *option, const char *text, name_fn *name,
                     int n)
{
    const char *names[16];
    for (int i = 0; i < n; i++) {
        names[i] = name(i);
        if (strcmp(names[i], text) == 0)
            return i;
    }
    const char *nearest = sand_nearest(text, names, (size_t)n);
    argp_error(state, "%s is \"%s\", which there is not; %s%s%s", option, text,
               nearest ? "did you mean \"" : "see --help", nearest ? nearest : "",
               nearest ? "\"?" : "");
    return 0;
}

static double size_of(struct argp_state *state, const char *option, const char *text)
{
    double value = 0;
    char why[200];
    const int is_zero =
        sand_quantity_parse(text, SAND_DIM_NUMBER, &value, NULL, 0) == SAND_OK && value == 0;
    if (is_zero) // with a unit it would be as wrong
        argp_error(state, "%s is \"%s\": must be from 1B to 1e18B", option, text);
    else if (sand_quantity_parse(text, SAND_DIM_BYTES, &value, why, sizeof why) != SAND_OK)
        argp_error(state, "%s is \"%s\": %s", option, text, why);
    else if (!(value >= 1) || value > 1e18)
        argp_error(state, "%s is \"%s\": must be from 1B to 1e18B", option, text);
    return value;
}

static double factor_of(struct argp_state *state, const char *text)
{
    double value = 0;
    char why[200];
    if (sand_quantity_parse(text, SAND_DIM_NUMBER, &value, why, sizeof why) != SAND_OK)
        argp_error(state, "--factor is \"%s\": %s", text, why);
    else if (!(value >= 1.01) || value > 1e6)
        argp_error(state, "--factor is \"%s\": must be from 1.01 to 1e6", text);
    return value;
}

// ---- options ------------------------------------------------------------------------------------

static void parse_words(int key, char *arg, struct argp_state *state)
{
    static printer_fn *const printers[] = {sand_collective_print_text, sand_collective_print_json,
                                           sand_collective_print_csv};
    struct options *o = state->input;
    if (key == KEY_KIND)
        o->kind = (enum sand_collective_kind)find_word(state, "--collective", arg, name_of_kind,
                                                       SAND_COLLECTIVES);
    else if (key == KEY_ALGORITHM)
        o->wish.algorithm = (enum sand_algorithm)find_word(state, "--algorithm", arg,
                                                           name_of_algorithm, SAND_ALGORITHMS);
    else if (key == KEY_PROTOCOL)
        o->wish.protocol = (enum sand_protocol)find_word(state, "--protocol", arg, name_of_protocol,
                                                         SAND_PROTOCOLS);
    else
        o->print = printers[find_word(state, "--format", arg, name_of_format, 3)];
}

static error_t parse_switches(int key, struct options *o)
{
    switch (key) {
    case KEY_NO_GPUDIRECT:
        o->comm.no_gpudirect = 1;
        return 0;
    case KEY_NO_MULTICAST:
        o->comm.no_multicast = 1;
        return 0;
    case KEY_SHARP:
        o->comm.sharp = 1;
        return 0;
    case KEY_SYMMETRIC:
        o->comm.symmetric = 1;
        return 0;
    case KEY_EXPLAIN:
        o->explain = 1;
        return 0;
    case KEY_FORCE:
        o->plot.force = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_line(struct argp_state *state, struct options *o)
{
    static const struct options usual = {.from_B = FROM_B, .to_B = TO_B, .factor = 2};
    if (o->only_B > 0 &&
        (o->from_B != usual.from_B || o->to_B != usual.to_B || o->factor != usual.factor))
        argp_error(state, "--bytes is one size; --from, --to and --factor are for many");
    if (o->only_B > 0)
        o->from_B = o->to_B = o->only_B;
    if (o->node && (o->load.n_settings > 0 || o->load.trace != NULL))
        argp_error(state, "%s is for an experiment's file; --node has none",
                   o->load.n_settings > 0 ? "--set" : "--trace");
    if (!o->load.file == !o->node)
        argp_error(state, "a file is needed, or --node NAME, and not both");
    if (o->nodes > 0 && !o->node)
        argp_error(state, "--nodes goes with --node");
    if (o->node && strpbrk(o->node, "/\\") != NULL)
        argp_error(state, "--node is \"%s\": is a name of the catalogue, not a path", o->node);
    if (o->from_B > o->to_B)
        argp_error(state, "--from is larger than --to");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->load;
        return 0;
    case KEY_NODE:
        o->node = arg;
        return 0;
    case KEY_NODES:
        o->nodes = sand_cli_count(state, "--nodes", arg, 1);
        return 0;
    case KEY_GPUS:
        o->gpus = sand_cli_count(state, "--gpus", arg, 2);
        return 0;
    case KEY_PER_NODE:
        o->per_node = sand_cli_count(state, "--gpus-per-node", arg, 1);
        return 0;
    case KEY_FROM:
        o->from_B = size_of(state, "--from", arg);
        return 0;
    case KEY_TO:
        o->to_B = size_of(state, "--to", arg);
        return 0;
    case KEY_BYTES:
        o->only_B = size_of(state, "--bytes", arg);
        return 0;
    case KEY_FACTOR:
        o->factor = factor_of(state, arg);
        return 0;
    case KEY_PLOT:
        o->plot.path = arg;
        return 0;
    case KEY_CONSTANTS:
        o->constants = arg;
        return 0;
    case KEY_KIND:
    case KEY_ALGORITHM:
    case KEY_PROTOCOL:
    case KEY_FORMAT:
        parse_words(key, arg, state);
        return 0;
    case ARGP_KEY_END:
        check_line(state, o);
        return 0;
    default:
        return parse_switches(key, o);
    }
}

// ---- work ---------------------------------------------------------------------------------------

static enum sand_rc compute(const struct options *o, struct sand_collective_view *view,
                            double *bytes, struct sand_coll_terms *terms, struct sand_diag *diag)
{
    for (double size = o->from_B; size <= o->to_B && view->n < MOST_SIZES; size *= o->factor) {
        const struct sand_collective collective = {o->kind, view->comm->ranks, size};
        SAND_TRY(sand_coll_best(view->constants, view->comm, &collective, o->wish, &terms[view->n],
                                diag));
        bytes[view->n++] = size;
    }
    return SAND_OK;
}

static enum sand_rc print(const struct options *o, const struct sand_collective_view *view,
                          struct sand_diag *diag)
{
    o->print(view, stdout);
    if (o->explain && o->print == sand_collective_print_text)
        sand_collective_explain(view, stdout);
    return o->plot.path ? sand_collective_plot(view, o->plot.path, diag) : SAND_OK;
}

static enum sand_rc answer(const struct options *o, const struct sand_cluster *cluster,
                           const struct sand_fabric *fabric,
                           const struct sand_collectives *constants, struct sand_diag *diag)
{
    const uint64_t per_node = o->per_node > 0 ? o->per_node : cluster->node_type->n_gpus;
    const uint64_t all = per_node * cluster->n_nodes;
    struct sand_comm comm;
    const uint32_t ranks = o->gpus > 0 ? o->gpus : (uint32_t)(all < UINT32_MAX ? all : UINT32_MAX);
    SAND_TRY(sand_comm_place(cluster, fabric, ranks, o->per_node, &o->comm, &comm, diag));
    double *bytes = sand_calloc(MOST_SIZES, sizeof *bytes);
    struct sand_coll_terms *terms = sand_calloc(MOST_SIZES, sizeof *terms);
    struct sand_collective_view view = {.cluster = cluster->name,
                                        .fabric = fabric,
                                        .constants = constants,
                                        .comm = &comm,
                                        .kind = o->kind,
                                        .bytes = bytes,
                                        .terms = terms};
    enum sand_rc rc = bytes && terms ? compute(o, &view, bytes, terms, diag) : SAND_ERR_NOMEM;
    if (rc == SAND_OK)
        rc = print(o, &view, diag);
    sand_free(bytes);
    sand_free(terms);
    return rc;
}

// `own`: the kernels that the experiment names; NULL: those of --constants or the usual ones.
static enum sand_rc answer_on(const struct options *o, const struct sand_cluster *cluster,
                              const struct sand_collectives *own, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    struct sand_fabric *fabric = NULL;
    if (own == NULL || o->constants != NULL) {
        SAND_TRY(sand_cli_load_collectives(&o->load, cluster, o->constants, &spec, diag));
        own = sand_spec_collectives(spec);
    }
    enum sand_rc rc = sand_fabric_build(cluster, &fabric, diag);
    if (rc == SAND_OK)
        rc = answer(o, cluster, fabric, own, diag);
    sand_fabric_free(fabric);
    sand_spec_free(spec);
    return rc;
}

// So many nodes, four on a leaf of a fat tree that is not oversubscribed.
static struct sand_cluster plain_cluster(const struct sand_node_type *node, uint32_t n_nodes)
{
    struct sand_cluster cluster = {.name = node->id,
                                   .node_type = node,
                                   .n_nodes = n_nodes,
                                   .nodes_per_rack = 4,
                                   .racks_per_row = 8,
                                   .rows_per_hall = 4,
                                   .pue = 1};
    cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                               .endpoints_per_leaf = 4 * node->n_nics,
                                               .leaf_oversubscription = 1,
                                               .pod_oversubscription = 1,
                                               .spines = 1,
                                               .spreading = SAND_SPREAD_EVEN,
                                               .sharp = node->nic->sharp,
                                               .link = node->nic};
    return cluster;
}

// Hosts whose NICs are places of a torus are for files that say how large it is.
static enum sand_rc check_node(const struct sand_node_type *node, struct sand_diag *diag)
{
    if (node->nic->medium != SAND_MEDIUM_TORUS)
        return SAND_OK;
    return sand_fail(
        diag, SAND_ERR_INPUT,
        "--node is \"%s\": its ports (%s) are places of a torus, of which this says "
        "neither the sides nor the links; name a file with a <torus>, or the node that "
        "has the torus inside its slice (--node tpu-v5p-slice, say)",
        node->id, node->nic->id);
}

static enum sand_rc answer_for_node(const struct options *o, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    char name[300];
    SAND_TRY(sand_cli_check_entry(&o->load, "--node", "platforms/catalogue/node", o->node, diag));
    snprintf(name, sizeof name, "platforms/catalogue/node/%.200s.xml", o->node);
    SAND_TRY(sand_cli_load_entry(&o->load, sand_spec_load_node, NULL, name, &spec, diag));
    const struct sand_cluster cluster =
        plain_cluster(sand_spec_node(spec), o->nodes > 0 ? o->nodes : 1);
    enum sand_rc rc = check_node(cluster.node_type, diag);
    if (rc == SAND_OK)
        rc = answer_on(o, &cluster, NULL, diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc answer_for_file(const struct options *o, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    size_t n;
    SAND_TRY(sand_cli_load_file(&o->load, sand_spec_load_cluster, &spec, diag));
    const char *const *inputs = sand_spec_inputs(spec, &n);
    enum sand_rc rc = sand_cli_check_output(&o->plot, inputs, n, diag);
    if (rc == SAND_OK)
        rc = answer_on(o, &sand_spec_experiment(spec)->cluster,
                       sand_spec_experiment(spec)->collectives, diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc execute(const struct options *o, struct sand_diag *diag)
{
    SAND_TRY(sand_cli_check_output(&o->plot, &o->load.file, 1, diag));
    return o->node ? answer_for_node(o, diag) : answer_for_file(o, diag);
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "[FILE.xml]", doc, children, NULL, NULL};
    struct options o = {.load.is_optional = 1,
                        .kind = SAND_ALL_REDUCE,
                        .from_B = FROM_B,
                        .to_B = TO_B,
                        .factor = 2,
                        .wish = {SAND_ALGORITHMS, SAND_PROTOCOLS},
                        .plot.option = "--plot",
                        .print = sand_collective_print_text};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &diag);
    if (rc == SAND_ERR_NOMEM && diag.n_messages == 0)
        sand_fail(&diag, rc, "out of memory; ask for fewer nodes");
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&o.load);
    return rc;
}

const struct sand_verb sand_verb_collective = {
    "collective", "time and bandwidth of a collective over message sizes", run};
