// Writes a cluster's fabric for other tools: DOT for people, GraphML for graph tools and for our
// own importer, SimGrid platform XML for SimGrid as it is shipped. SPDX-License-Identifier:
// GPL-2.0-or-later
#ifndef SAND_PLATFORMS_EXPORT_EXPORT_H
#define SAND_PLATFORMS_EXPORT_EXPORT_H

#include <stdio.h>

#include "cluster.h"
#include "diag.h"

enum sand_export_format { SAND_EXPORT_DOT, SAND_EXPORT_GRAPHML, SAND_EXPORT_SIMGRID };

// Routes written one by one grow with the square of the NICs; more than these are refused.
// Ways between leaves with the square of these.
enum { SAND_EXPORT_MAX_ROUTED = 512, SAND_EXPORT_MAX_LEAVES = 1024 };

// DOT: tiers as ranks, pods beside each other; of many equal switches the first few are drawn and
// the rest is one node with their number, at most about 50 nodes in all. GraphML: every switch and
// bundle of cables with its capacity, and what the importer needs to make the same cluster again.
// SimGrid: a host per NIC. A fat tree with even spreading becomes nested zones over the same links
// as ours, any other fabric of aggregated paths without relays a zone per leaf; of the rest every
// route is written, of at most SAND_EXPORT_MAX_ROUTED NICs.
// `message_s`, the latency of a message, stands half on each NIC link there, so that SimGrid's
// sharing stays fair. SAND_ERR_IO if something written to `out` was lost. O(links), routes apart.
enum sand_rc sand_export_fabric(enum sand_export_format format, const struct sand_cluster *cluster,
                                double message_s, FILE *out, struct sand_diag *diag);

#endif
