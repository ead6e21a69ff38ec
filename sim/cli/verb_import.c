// sandtable import: a running cluster's own descriptions into our XML.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "cli.h"
#include "filegate.h"
#include "import.h"
#include "mem.h"

enum { KEY_NODE = 256, KEY_NAME, KEY_DATA, KEY_FORCE, KEY_NICS, MAX_FILE_B = 256 << 20 };

static const char doc[] =
    "Examples:\n"
    "  sandtable import ibnetdiscover fabric.txt --node=dgx-h100 -o cluster.xml\n"
    "  sandtable import nccl-topo topo.xml -o node.xml\n"
    "\n"
    "Reads what the cluster says about itself and writes our XML, to see, edit and include. "
    "What is assumed stands in the XML as comments; every line that is not understood is reported; "
    "an irregular fabric becomes the nearest regular one, with every difference listed. Without -o "
    "the XML goes to standard output. `sandtable import SUBCOMMAND --help' says more.\v";

static const struct argp_option options[] = {
    {"node", KEY_NODE, "ID", 0,
     "Node type of the catalogue (clusters), or the one to take the rest from (node types)", 0},
    {"name", KEY_NAME, "NAME", 0, "Name of what is written (default: imported)", 0},
    {"output", 'o', "FILE", 0, "Write here instead of to standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite FILE", 0},
    {"data", KEY_DATA, "DIR", 0, "Directory of the catalogue (holds platforms/ and workloads/)", 0},
    {0}};

struct import_arguments {
    struct sand_import_options options;
    enum sand_import_format format;
    struct sand_cli_output output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct import_arguments *import = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        if (import->format == SAND_IMPORT_IBNETDISCOVER) // which has a child
            state->child_inputs[0] = import;
        return 0;
    case KEY_NODE:
        import->options.node = arg;
        return 0;
    case KEY_NAME:
        import->options.name = arg;
        return 0;
    case KEY_DATA:
        import->options.data = arg;
        return 0;
    case KEY_FORCE:
        import->output.force = 1;
        return 0;
    case 'o':
        import->output.path = arg;
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &import->options.file, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a file is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- ibnetdiscover alone ----

static const struct argp_option nics_options[] = {
    {"nics-per-node", KEY_NICS, "N", 0,
     "NICs of a node, where no adapter carries the name of its node", 0},
    {0}};

static error_t parse_nics(int key, char *arg, struct argp_state *state)
{
    struct import_arguments *import = state->input;
    if (key != KEY_NICS)
        return ARGP_ERR_UNKNOWN;
    import->options.nics_per_node = sand_cli_count(state, "--nics-per-node", arg, 1);
    return 0;
}

// ---- work ----

static enum sand_rc write_result(const struct import_arguments *import,
                                 const struct sand_import_result *result, struct sand_diag *diag)
{
    sand_diag_add(diag, SAND_NOTE, import->options.file, 0,
                  "%" PRIu32 " lines or attributes not understood, %" PRIu32
                  " statements assumed, %" PRIu32 " differences",
                  result->n_unknown, result->n_assumed, result->n_deviations);
    if (import->output.path)
        return sand_file_write(import->output.path, result->xml, result->size, diag);
    fwrite(result->xml, 1, result->size, stdout);
    return sand_stream_finish(stdout, "to standard output", diag);
}

static enum sand_rc execute(const struct import_arguments *import, struct sand_diag *diag)
{
    struct sand_import_result result;
    char *text = NULL;
    size_t size = 0;
    SAND_TRY(sand_cli_check_output(&import->output, &import->options.file, 1, diag));
    SAND_TRY(sand_file_read(import->options.file, MAX_FILE_B, &text, &size, diag));
    enum sand_rc rc = sand_import(import->format, text, size, &import->options, &result, diag);
    sand_free(text);
    if (rc == SAND_OK)
        rc = write_result(import, &result, diag);
    sand_free(result.xml);
    return rc;
}

static enum sand_rc import_file(enum sand_import_format format, const char *text, int argc,
                                char **argv)
{
    static const struct argp nics_argp = {nics_options, parse_nics, NULL, NULL, NULL, NULL, NULL};
    static const struct argp_child nics_children[] = {{&nics_argp, 0, NULL, 0}, {0}};
    const int has_nics = format == SAND_IMPORT_IBNETDISCOVER;
    const struct argp argp = {options, parse, "FILE", text, has_nics ? nics_children : NULL,
                              NULL,    NULL};
    struct import_arguments import = {.format = format, .output.option = "-o"};
    struct sand_diag diag = {0};
    char buffer[4096];
    sand_cli_parse(&argp, argc, argv, &import);
    import.options.data = sand_cli_catalogue(import.options.data, buffer, sizeof buffer);
    enum sand_rc rc = execute(&import, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

// ---- sub-verbs: one per format ----

#define FORMAT(function, format, text)                                                             \
    static enum sand_rc function(int argc, char **argv)                                            \
    {                                                                                              \
        return import_file(format, text, argc, argv);                                              \
    }

FORMAT(run_nccl_topo, SAND_IMPORT_NCCL_TOPO,
       "Examples:\n"
       "  sandtable import nccl-topo topo.xml -o node.xml\n"
       "  sandtable import nccl-topo topo.xml --node=dgx-h100 --name=ours\n"
       "\n"
       "Reads what NCCL writes to NCCL_TOPO_DUMP_FILE and writes a <node>: its GPUs, NVLinks, PCIe "
       "and NICs. The rest is that of the node type it is most like, or of --node.")
FORMAT(run_nvidia_smi_topo, SAND_IMPORT_NVIDIA_SMI_TOPO,
       "Examples:\n"
       "  sandtable import nvidia-smi-topo topo.txt -o node.xml\n"
       "  sandtable import nvidia-smi-topo topo.txt --node=dgx-h200\n"
       "\n"
       "Reads the matrix of `nvidia-smi topo -m' and writes a <node>: its GPUs, NVLinks and NICs. "
       "The rest is that of the node type it is most like, or of --node.")
FORMAT(run_slurm_topology, SAND_IMPORT_SLURM_TOPOLOGY,
       "Examples:\n"
       "  sandtable import slurm-topology /etc/slurm/topology.conf -o cluster.xml\n"
       "  sandtable import slurm-topology topology.conf --node=dgx-a100\n"
       "\n"
       "Reads topology.conf(5) or topology.yaml(5), tree or block, and writes a <cluster>.")
FORMAT(run_slurm_nodes, SAND_IMPORT_SLURM_NODES,
       "Examples:\n"
       "  sandtable import slurm-nodes nodes.txt -o cluster.xml\n"
       "  sandtable import slurm-nodes nodes.txt --node=dgx-h100\n"
       "\n"
       "Reads `scontrol show node', `sinfo' with NODELIST or HOSTNAMES, or the NodeName lines of "
       "slurm.conf, and "
       "writes a <cluster> below one leaf: an inventory does not say how nodes are joined.")
FORMAT(run_ibnetdiscover, SAND_IMPORT_IBNETDISCOVER,
       "Examples:\n"
       "  sandtable import ibnetdiscover fabric.txt --node=dgx-h100 -o cluster.xml\n"
       "  sandtable import ibnetdiscover fabric.txt --nics-per-node=8\n"
       "\n"
       "Reads the full output of ibnetdiscover(8) and writes a <cluster>, a fat tree or "
       "rail-optimised.")
FORMAT(run_graphml, SAND_IMPORT_GRAPHML,
       "Examples:\n"
       "  sandtable import graphml fabric.graphml -o cluster.xml\n"
       "  sandtable import graphml fabric.graphml --node=gb200-nvl72\n"
       "\n"
       "Reads a graph of switches, such as `sandtable export fabric --format=graphml' writes, and "
       "writes a <cluster>.")

static enum sand_rc run(int argc, char **argv)
{
    static const struct sand_verb
        nccl_topo = {"nccl-topo", "NCCL_TOPO_DUMP_FILE: a node type", run_nccl_topo},
        nvidia_smi_topo = {"nvidia-smi-topo", "nvidia-smi topo -m: a node type",
                           run_nvidia_smi_topo},
        slurm_topology = {"slurm-topology", "topology.conf, topology.yaml: a cluster",
                          run_slurm_topology},
        slurm_nodes = {"slurm-nodes", "scontrol show node, sinfo: a cluster", run_slurm_nodes},
        ibnetdiscover = {"ibnetdiscover", "the InfiniBand subnet: a cluster", run_ibnetdiscover},
        graphml = {"graphml", "a graph of switches: a cluster", run_graphml};
    static const struct sand_verb *const verbs[] = {&nccl_topo,   &nvidia_smi_topo, &slurm_topology,
                                                    &slurm_nodes, &ibnetdiscover,   &graphml};
    static const struct sand_verb_group group = {.noun = "subcommand",
                                                 .args = "SUBCOMMAND FILE",
                                                 .doc = doc,
                                                 .verbs = verbs,
                                                 .n_verbs = sizeof verbs / sizeof verbs[0]};
    return sand_cli_run_group(&group, argc, argv);
}

const struct sand_verb sand_verb_import = {"import", "read a running cluster's descriptions", run};
