// The switch and port counts of one plane of a tree: what the description gives, and what follows
// from it. Private to the room. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICPLAN_H
#define SAND_PLATFORMS_FABRIC_FABRICPLAN_H

#include <stdint.h>

#include "cluster.h"
#include "diag.h"

// Conventions
// - A port has the rate of fabric_spec.link; a NIC takes whole ports (a NIC of twice the rate:
// two).
// - Uplink capacity of a leaf = NIC rate x endpoints_per_leaf / leaf oversubscription; of a pod =
// NIC
//   rate x endpoints of the pod / pod oversubscription. Capacities are exact; when they are no
//   whole number of ports, one more port is cabled and the last one of the bundle carries a part of
//   its rate.
// - A partly filled leaf or pod is wired like a full one, as operators install them: 31 nodes under
//   8 leaves have 256 uplinks (NVIDIA DGX SuperPOD H100, RA-11333-001 v11, table 4).
// - Spines left out: the fewest whose ports suffice; if fewer than twice as many divide the
//   uplinks of a leaf, so that every leaf has the same whole number of cables to every spine,
//   those. This gives every row of the SuperPOD H100, B200 and B300-XDR tables, also those where
//   the plain ratio leaves x uplinks / radix does not (3 SU: 16, not 12; XDR 4 and 8 SU: 18 and 36,
//   not 16 and 32). Cores likewise. With unlimited switches one spine (per pod) and one core
//   suffice.
// - Spine s of every pod is joined to the same cores: to its own group of cores / spines_per_pod if
//   that divides (the k-ary fat tree of Al-Fares et al., SIGCOMM 2008), to core s mod cores if
//   cores divides spines_per_pod, else to all of them.
// - Planes: everything here is one plane, in which a NIC has 1/planes of its rate. NIC ports that
//   fit into the rate of a switch port share it there; with one plane only as `breakout` says.
// - Ports of storage servers take ports of the leaves they hang from, or of the topmost switches,
//   below which they have leaves of their own with as many uplinks.
// - Rails: `endpoints_per_leaf` is the nodes of a unit; every unit has a leaf per rail. Rail only:
//   a rail is a pod with spines of its own (2 tiers) or one leaf (1 tier), and there are no cores.
struct sand_fabric_plan {
    uint32_t n_endpoints, n_leaves, n_pods, leaves_per_pod, spines_per_pod, n_cores;
    uint32_t endpoints_per_leaf, n_planes;
    uint32_t nic_ports, leaf_up_ports, spine_up_ports;
    uint32_t cores_per_spine; // how many cores one spine is joined to
    double leaf_up_Bps, pod_up_Bps;
};

// Fills the plan, or refuses with every problem that can be named. O(radix).
enum sand_rc sand_fabric_plan_make(const struct sand_cluster *cluster,
                                   struct sand_fabric_plan *plan, struct sand_diag *diag);

#endif
