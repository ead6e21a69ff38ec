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

// Parts that degradations strike.
enum sand_part_kind {
    SAND_KIND_GPU,
    SAND_KIND_NIC,  // a NIC's cable to its leaf
    SAND_KIND_LINK, // a cable between switches
    SAND_KIND_LEAF, // switches; LEAF: routers of a dragonfly or torus
    SAND_KIND_SPINE,
    SAND_KIND_CORE
};

// What follows once a degradation is noticed.
enum sand_part_remedy {
    SAND_PART_STAYS,   // as it is until it is repaired
    SAND_PART_DRAINED, // cables, switches: out of service until it is repaired; routes avoid it
    SAND_PART_REPLACED // GPUs, NICs: the node leaves for repair, its job restarts
};

// What a degradation does to its part.
enum sand_effect {
    SAND_EFFECT_SLOW, // a GPU computes, a cable carries, at `speed` of its rate
    SAND_EFFECT_DOWN, // of a cable or switch
    SAND_EFFECT_LOSS, // a cable loses packets
    SAND_EFFECT_FLAP  // a cable or switch goes down and comes back, again and again
};

// Faults that do not kill: their part goes on badly until it is repaired or somebody acts. They
// strike parts, allocated or not: the k-th fault of a class comes at the same date whatever the
// policies do.
struct sand_degradation_class {
    // id, cause, times; what an interruption by it is booked on. Its component and rate are not
    // used, its remedy follows from the part's.
    struct sand_fault_class fault;
    enum sand_part_kind kind;
    enum sand_effect effect;
    enum sand_part_remedy remedy;
    double rate_per_part_s;   // of each part of the kind; not above 0: none
    double at_s;              // strikes once, then; below 0: at the rate
    const char *part;         // the only one struck; NULL: any
    double speed, loss;       // of SLOW and LOSS
    struct sand_law down, up; // of FLAP: how long each time
    double timeout_s;         // a job that no route serves fails after it; below 0: never
    const char *file;         // where it is written, for messages; NULL: nowhere
    long line;
};

struct sand_fault_spec {
    struct sand_provenance from;
    const struct sand_fault_class *classes;
    size_t n_classes;
    // Rates of a node are multiplied by a factor of its own: a draw of this law over the law's
    // mean. Constant: 1 for all.
    struct sand_law node;
    const struct sand_degradation_class *degradations;
    size_t n_degradations;
};

// A class by its number: the degradations follow the faults.
static inline const struct sand_fault_class *sand_fault_class_at(const struct sand_fault_spec *spec,
                                                                 uint32_t index)
{
    return index < spec->n_classes ? &spec->classes[index]
                                   : &spec->degradations[index - spec->n_classes].fault;
}

#endif
