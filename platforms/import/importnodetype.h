// A node type as read, written beside the catalogue's that is nearest. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTNODETYPE_H
#define SAND_PLATFORMS_IMPORT_IMPORTNODETYPE_H

#include "importjob.h"

struct import_node_type {
    const char *like;    // node type of the catalogue that gives what the input does not say
    const char *because; // why that one
    uint32_t n_gpus, n_nics, n_storage_nics; // n_nics 0: the input shows none, as that of `like`
    int has_storage_nics;                    // the input says how many there are
    int has_scaleup;
    uint32_t scaleup_nodes; // that share a scale-up switch; 0: the input does not say, as in `like`
    double nic_Bps, storage_nic_Bps; // 0: as that of `like`
    const char *host_link;           // "sandtable:link/..."; NULL: as that of `like`
};
int import_node_type_write(struct import_job *job, const struct import_node_type *type);

#endif
