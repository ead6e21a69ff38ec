// An InfiniBand fabric as ibnetdiscover lists it. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTIB_H
#define SAND_PLATFORMS_IMPORT_IMPORTIB_H

#include "importjob.h"

struct ib_machine { // a switch or channel adapter
    const char *guid, *name;
    long line;
    int is_switch, is_aside; // aside: of a host that is no node of the cluster
    uint32_t n_ports;        // as the header line says
    uint32_t number;         // switches: in the graph; adapters: of the node
};

struct ib_port {
    uint32_t owner, number;
    const char *peer; // guid
    uint32_t peer_port;
    double Bps;
    long line;
};

struct ib_fabric {
    struct ib_machine *machines;
    size_t n, capacity;
    struct ib_port *ports;
    size_t n_ports, ports_capacity;
    struct import_index guids;
};

// Reads every line, indexes the machines by guid and checks that every link stands at both its
// ends.
int import_ib_read(struct import_job *job, struct ib_fabric *fabric);
void import_ib_clear(struct ib_fabric *fabric);

// The port of a machine; NULL: not in use. The ports are sorted by then.
const struct ib_port *import_ib_port(const struct ib_fabric *fabric, uint32_t owner,
                                     uint32_t number);

#endif
