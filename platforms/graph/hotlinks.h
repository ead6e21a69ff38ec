// Hot links: flows of simple traffic counted on our own routes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_GRAPH_HOTLINKS_H
#define SAND_PLATFORMS_GRAPH_HOTLINKS_H

#include "diag.h"
#include "fabric.h"

enum sand_traffic {
    SAND_TRAFFIC_RING, // every NIC sends to the same NIC of the next node
    SAND_TRAFFIC_HALF, // ... of the node half the cluster further: everything crosses the middle
    SAND_TRAFFIC_ALL,  // evenly spaced shifts of all endpoints, at most 64: phases of an all-to-all
    SAND_TRAFFICS
};
const char *sand_traffic_name(enum sand_traffic traffic);

// Per link class. Load is the time its bytes take over the time the NICs need for theirs: 1 is
// harmless, 2 doubles the time of the traffic.
struct sand_hot_class {
    uint32_t n_links;
    uint32_t hottest;  // the link with most load, the first of equals; SAND_NONE without links
    double load, mean; // of the hottest; over the links of the class
};

struct sand_hot_links {
    uint32_t n_phases;
    uint64_t n_flows, n_missing; // missing: queue pairs that no route joins
    uint32_t missing[2];         // the NICs of the first of them; undefined if there is none
    struct sand_hot_class classes[SAND_LINK_CLASSES];
};

// Loads are the worst over phases, each of which must end before the next. O(flows x route).
enum sand_rc sand_hot_links(const struct sand_fabric *fabric, enum sand_traffic traffic,
                            struct sand_hot_links *hot, struct sand_diag *diag);

#endif
