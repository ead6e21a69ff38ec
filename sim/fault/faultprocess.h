// What the files of this room know of a fault process (private).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_FAULT_FAULTPROCESS_H
#define SAND_SIM_FAULT_FAULTPROCESS_H

#include "fault.h"

struct node_clock;

struct sand_fault_process {
    const struct sand_fault_spec *spec;
    double *rate_until; // summed rate of the classes up to and including this one
    double rate;
    uint32_t n_nodes, gpus_per_node, nics_per_node;
    struct sand_rng rng;
    struct node_clock *nodes;
};

#endif
