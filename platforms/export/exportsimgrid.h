// What the writers of SimGrid platforms share. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_EXPORT_EXPORTSIMGRID_H
#define SAND_PLATFORMS_EXPORT_EXPORTSIMGRID_H

#include <stdio.h>

#include "cluster.h"
#include "fabric.h"

struct platform {
    const struct sand_cluster *cluster;
    const struct sand_fabric *fabric;
    double nic_latency_s; // of each NIC link; all others have none
    FILE *out;
};

const char *simgrid_number(double value, char buffer[64]);
double simgrid_host_speed(const struct sand_cluster *cluster); // FLOP/s per NIC
// A link's name with underscores for blanks: "node3_nic1_up".
void simgrid_write_id(const struct platform *platform, uint32_t link);
void simgrid_write_link(const struct platform *platform, uint32_t link, double latency_s);

// Leaves are zones and ways between them zone routes: of fabrics on which a way depends on the two
// leaves alone (aggregated paths, no relays, nothing impaired), with equal NICs at every leaf and
// at most SAND_EXPORT_MAX_LEAVES of these.
int simgrid_has_leaves(const struct platform *platform);
enum sand_rc simgrid_write_leaves(const struct platform *platform);

#endif
