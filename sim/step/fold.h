// Folding: classes of actors, flows and links that behave the same. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_FOLD_H
#define SAND_SIM_STEP_FOLD_H

#include <stdint.h>

#include "traffic.h"

// Class numbers of every actor, flow and link, and one member of each class. A class number is
// SAND_NONE for flows without hops and links without traffic.
struct step_classes {
    uint32_t *actor, *flow, *link;                      // per entity: its class
    uint32_t *actor_member, *flow_member, *link_member; // per class: its lowest member
    uint32_t n_actors, n_flows, n_links;
};

// Colour refinement to an equitable partition: two entities share a class only if they have equal
// sizes and, class by class, equally many equal neighbours. The max-min allocation is then constant
// on classes (water-filling treats equals alike) and so is the whole simulation, which makes the
// quotient exact. But flows do not see links that a hash picked: those of a class keep pace there.
// SAND_NO_FOLD puts every entity into a class of its own.
// `actor_slowness` has one entry per actor. O((hops + entities) x rounds).
enum sand_rc step_classes_find(const struct step_traffic *traffic, const double *actor_slowness,
                               struct step_classes *classes);
void step_classes_free(struct step_classes *classes);

#endif
