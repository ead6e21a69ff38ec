// Links of a problem by the flows on them, and links that others cover. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_COVERED_H
#define SAND_SIM_STEP_COVERED_H

#include <stdint.h>

#include "rc.h"

// Flow class `flow` counts `weight` times on link class `link`.
struct link_use {
    uint32_t link, flow, weight;
};

// A link class: its users are uses[first..first+n), by ascending flow.
struct shared_link {
    double capacity_Bps; // after division by the common divisor of the weights
    uint32_t first, n;
    uint32_t coupled; // see step_link: other jobs use it too, so it stays as it is
    int kept;
};

// Drops a link if another one is as full whatever its flows do: every flow takes at least as large
// a share of that one. Exact: the link is full only together with the other. Of kept links; coupled
// ones stay, but cover others. O(uses log uses) and, for each link, the links kept before it that
// its rarest flow is on.
enum sand_rc step_covered_drop(const struct link_use *uses, struct shared_link *links,
                               uint32_t n_links, uint32_t n_flows);

#endif
