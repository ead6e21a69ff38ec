// Hops of a communicator's algorithm: rings, two trees, reductions in the network's switches.
// Internal to sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_COMMEDGES_H
#define SAND_SIM_STEP_COMMEDGES_H

#include "stepcomm.h"
#include "traffic.h"

// Adds the hops of `comm` to a flow that has begun. `members`: its ranks in order, those of a
// domain together; every comm->ports of them, from the first, share one. A hop carries what
// step_call's hop_B says. O(members), for switches O(members x route).
enum sand_rc step_comm_edges(struct step_traffic *traffic, uint32_t flow,
                             const struct step_comm *comm, const struct step_place *members);

#endif
