// What the ways of a step's hops take beyond the latencies of their link types.
// Internal to sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_WAYLATENCY_H
#define SAND_SIM_STEP_WAYLATENCY_H

#include "traffic.h"

// Sets the traffic's members *_extra_s. `edge_links` are still numbers of the fabric's links.
// O(hops x route).
enum sand_rc step_way_latencies(struct step_traffic *traffic);

#endif
