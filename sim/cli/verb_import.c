// sandtable import: a running cluster's own descriptions into our XML.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

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
    "Reads what the cluster says about itself and writes our XML, to see, edit and include: a "
    "<cluster> "
    "from slurm-topology (topology.conf), slurm-nodes (scontrol show node, sinfo), ibnetdiscover "
    "and "
    "graphml, a <node> from nccl-topo (NCCL_TOPO_DUMP_FILE) and nvidia-smi-topo (nvidia-smi topo "
    "-m). "
    "What is assumed stands in the XML as comments; every line that is not understood is reported; "
    "an "
    "irregular fabric becomes the nearest regular one, with every difference listed. Without -o "
    "the "
    "XML goes to standard output.";

static const struct argp_option options[] = {
    {"node", KEY_NODE, "ID", 0,
     "Node type of the catalogue (clusters), or the one to take the rest from (node types)", 0},
    {"name", KEY_NAME, "NAME", 0, "Name of what is written (default: imported)", 0},
    {"nics-per-node", KEY_NICS, "N", 0,
     "NICs of a node, where no adapter carries the name of its node (ibnetdiscover)", 0},
    {"output", 'o', "FILE", 0, "Write here instead of to standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite FILE", 0},
    {"data", KEY_DATA, "DIR", 0, "Directory of the catalogue (holds platforms/ and workloads/)", 0},
    {0}};

struct import_arguments {
    struct sand_import_options options;
    enum sand_import_format format;
    struct sand_cli_output output;
    int has_format;
};

static enum sand_import_format find_format(struct argp_state *state, const char *name)
{
    const char *names[SAND_IMPORT_FORMATS];
    for (unsigned i = 0; i < SAND_IMPORT_FORMATS; i++) {
        names[i] = sand_import_format_name((enum sand_import_format)i);
        if (strcmp(names[i], name) == 0)
            return (enum sand_import_format)i;
    }
    const char *nearest = sand_nearest(name, names, SAND_IMPORT_FORMATS);
    argp_error(
        state,
        "there is no importer \"%s\"%s%s%s; there are nccl-topo, slurm-topology, slurm-nodes, "
        "ibnetdiscover, nvidia-smi-topo and graphml",
        name, nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return SAND_IMPORT_FORMATS;
}

static void take_argument(struct import_arguments *import, struct argp_state *state,
                          const char *text)
{
    if (import->has_format) {
        sand_cli_one_argument(state, &import->options.file, text);
        return;
    }
    import->format = find_format(state, text);
    import->has_format = 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct import_arguments *import = state->input;
    switch (key) {
    case KEY_NODE:
        import->options.node = arg;
        return 0;
    case KEY_NAME:
        import->options.name = arg;
        return 0;
    case KEY_DATA:
        import->options.data = arg;
        return 0;
    case KEY_NICS:
        import->options.nics_per_node = sand_cli_count(state, "--nics-per-node", arg, 1);
        return 0;
    case KEY_FORCE:
        import->output.force = 1;
        return 0;
    case 'o':
        import->output.path = arg;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(import, state, arg);
        return 0;
    case ARGP_KEY_END:
        if (!import->options.file)
            argp_error(state, "a format and a file are needed, e.g. ibnetdiscover fabric.txt");
        if (import->options.nics_per_node > 0 && import->format != SAND_IMPORT_IBNETDISCOVER)
            argp_error(state, "--nics-per-node is for ibnetdiscover alone");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc write_result(const struct import_arguments *import,
                                 const struct sand_import_result *result, struct sand_diag *diag)
{
    sand_diag_add(diag, SAND_NOTE, import->options.file, 0,
                  "%" PRIu32 " lines or attributes not understood, %" PRIu32
                  " statements assumed, %" PRIu32 " differences",
                  result->n_unknown, result->n_assumed, result->n_deviations);
    if (import->output.path)
        return sand_file_write(import->output.path, result->xml, result->size, diag);
    return fwrite(result->xml, 1, result->size, stdout) == result->size
               ? SAND_OK
               : sand_fail(diag, SAND_ERR_IO, "cannot write to standard output");
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

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "FORMAT FILE", doc, NULL, NULL, NULL};
    struct import_arguments import = {.output.option = "-o"};
    struct sand_diag diag = {0};
    char buffer[4096];
    sand_cli_parse(&argp, argc, argv, &import);
    import.options.data = sand_cli_catalogue(import.options.data, buffer, sizeof buffer);
    enum sand_rc rc = execute(&import, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_import = {"import", "read a running cluster's descriptions", run};
