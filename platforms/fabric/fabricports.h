// Switch ports that nodes and storage take. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICPORTS_H
#define SAND_PLATFORMS_FABRIC_FABRICPORTS_H

#include <stdint.h>

#include "cluster.h"
#include "diag.h"

// Refuses a breakout whose parts are slower than a NIC's port in one of `planes`.
enum sand_rc fabric_check_breakout(const struct sand_cluster *cluster, uint32_t planes,
                                   struct sand_diag *diag);

// Ports that a leaf needs for `endpoints` NIC ports which take `nic_ports` each, or part of one: as
// the description's breakout says; without one as many share a port as fit into its rate where
// there are planes, else none.
uint64_t fabric_ports_below(const struct sand_cluster *cluster, uint64_t endpoints, uint32_t planes,
                            uint32_t nic_ports);

// Switch ports of all storage servers on the fabric; 0: storage has a network of its own.
uint64_t fabric_storage_ports(const struct sand_cluster *cluster);

// Those of one leaf with storage beside its nodes: `units` leaves, each there `copies` times
// (rails, planes), have nodes. 0 if storage is elsewhere.
uint64_t fabric_storage_per_leaf(const struct sand_cluster *cluster, uint64_t units,
                                 uint64_t copies);

// Those of one of `n` topmost switches, where storage has leaves of its own below them; else 0.
uint64_t fabric_storage_per_top(const struct sand_cluster *cluster, uint64_t n);

#endif
