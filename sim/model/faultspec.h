// Fault classes and the crew that repairs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_FAULTSPEC_H
#define SAND_SIM_MODEL_FAULTSPEC_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "law.h"

// Which component of the node the fault sits on; picks the component index that is recorded.
enum sand_component {
    SAND_COMPONENT_NODE,
    SAND_COMPONENT_GPU,
    SAND_COMPONENT_NIC,
    SAND_COMPONENT_JOB // software: no hardware is touched
};

enum sand_remedy {
    SAND_REMEDY_RESTART, // restart on the same nodes
    SAND_REMEDY_REPLACE  // the node leaves for repair; recover policy finds another
};

struct sand_fault_class {
    const char *id, *cause; // cause: group for reports ("gpu", "network", "software", ...)
    double rate_per_node_s; // exponential rate over calendar time of an allocated node
    enum sand_component component;
    enum sand_remedy remedy;
    int planned; // planned interruptions are counted apart
    struct sand_law detect, diagnose, restart, repair;
};

struct sand_fault_spec {
    struct sand_provenance from;
    const struct sand_fault_class *classes;
    size_t n_classes;
};

#endif
