// What both files of a Slurm topology say: switches or blocks, before any of it is checked.
// Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTSLURM_H
#define SAND_PLATFORMS_IMPORT_IMPORTSLURM_H

#include "hostlist.h"
#include "importjob.h"

struct slurm_switch {
    const char *name;
    long line;
    const char *children_text, *nodes_text; // NULL: none
    struct sand_hostlist children, nodes;
    long parent; // index, -1: a root
    int height;  // 0: leaf
    int state;   // of the search for cycles: 0 new, 1 open, 2 done
};

struct slurm_tree {
    struct slurm_switch *switches;
    size_t n, capacity;
    int has_blocks;
};

int import_slurm_add(struct import_job *job, struct slurm_tree *tree, struct slurm_switch made);

// Whether a text is topology.yaml, and reads the one topology of it that is for the whole cluster.
int import_slurm_is_yaml(const char *text, size_t size);
int import_slurm_read_yaml(struct import_job *job, struct slurm_tree *tree);

#endif
