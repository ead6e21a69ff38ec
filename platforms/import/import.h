// Reads descriptions of running clusters and writes our XML for people to see and edit. Whatever is
// not understood is reported with its line; whatever is assumed stands in the XML as a comment.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORT_H
#define SAND_PLATFORMS_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"

enum sand_import_format {
    SAND_IMPORT_NCCL_TOPO,       // NCCL_TOPO_DUMP_FILE: a node type
    SAND_IMPORT_SLURM_TOPOLOGY,  // topology.conf: a cluster
    SAND_IMPORT_SLURM_NODES,     // scontrol show node, sinfo, or NodeName lines: a cluster
    SAND_IMPORT_IBNETDISCOVER,   // a cluster
    SAND_IMPORT_NVIDIA_SMI_TOPO, // nvidia-smi topo -m: a node type
    SAND_IMPORT_GRAPHML,         // a cluster; what `sandtable export fabric` writes, or any fabric
    SAND_IMPORT_FORMATS
};
const char *sand_import_format_name(enum sand_import_format format); // "nccl-topo", ...

struct sand_import_options {
    const char *file; // how messages name the input
    const char *data; // directory that holds platforms/catalogue
    const char *node; // node type of the catalogue, "ID" or "sandtable:node/ID"; NULL: suggested
    const char *name; // of the cluster or node type that is written; NULL: "imported"
    uint32_t nics_per_node; // ibnetdiscover, if adapters carry no host names; 0: unknown
};

struct sand_import_result {
    char *xml; // sand_free it; NUL-terminated
    size_t size;
    uint32_t n_unknown;    // lines or attributes not understood
    uint32_t n_assumed;    // statements of the XML that no line of the input makes
    uint32_t n_deviations; // where the regular fabric written differs from the irregular one read
};

// Reads `size` bytes (NUL-terminated) of `format`. Refuses, naming them: cycles, duplicate names,
// truncated files, fabrics in several pieces, and texts that say nothing. Warns of everything not
// understood and of every deviation. On failure *result is empty. O(size), times a logarithm.
enum sand_rc sand_import(enum sand_import_format format, const char *text, size_t size,
                         const struct sand_import_options *options,
                         struct sand_import_result *result, struct sand_diag *diag);

#endif
