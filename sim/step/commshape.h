// The shape of a communicator of a step. Internal to sim/step but for the closed form.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_COMMSHAPE_H
#define SAND_SIM_STEP_COMMSHAPE_H

#include <stdint.h>

#include "collspec.h"

// What the edges of its flow are is decided with the shape: over several domains, all its
// reductions are of one algorithm. Gathers and scatters go up and down reduction trees where that
// is the algorithm, else round a ring, as everything else.
struct step_comm {
    uint32_t ranks;
    uint32_t domains;              // that it comes through; 1: it stays in one
    uint32_t ports;                // members of a domain that each use a NIC of their own
    uint32_t stride;               // GPUs of a domain from a member to the next
    enum sand_algorithm reduction; // several domains: the algorithm
    uint32_t scaleup_times; // by how much a port inside a domain is fuller than a hop; ring: exact
};

#endif
