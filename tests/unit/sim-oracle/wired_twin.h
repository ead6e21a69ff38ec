// A cluster's fabric written down switch by switch, from the links of the fabric built apart.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_WIRED_TWIN_H
#define SAND_TESTS_WIRED_TWIN_H

#include <stdio.h>
#include <stdlib.h>

#include "fabric.h"
#include "ids.h"

struct wired_twin {
    struct sand_cluster cluster;
    char (*ids)[SAND_SWITCH_ID];
    struct sand_wired_switch *switches;
    struct sand_wired_port *ports;
    struct sand_wired_cable *cables;
};

// Switches are s0, s1, ... without tiers; every NIC is a port of its own, every link upwards a
// cable, the aggregated links of `even` opened up by building with static spreading. Returns
// whether the original can be built.
static inline int wired_twin_make(const struct sand_cluster *of, struct wired_twin *twin)
{
    struct sand_cluster apart = *of;
    struct sand_fabric *f = NULL;
    apart.fabric.spreading = SAND_SPREAD_STATIC;
    if (sand_fabric_build(&apart, &f, NULL) != SAND_OK)
        return 0;
    twin->cluster = *of;
    twin->ids = calloc(f->n_switches, sizeof *twin->ids);
    twin->switches = calloc(f->n_switches, sizeof *twin->switches);
    twin->ports = calloc((size_t)f->n_endpoints * f->link_planes, sizeof *twin->ports);
    twin->cables = calloc(f->n_links, sizeof *twin->cables);
    for (uint32_t i = 0; i < f->n_switches; i++) {
        snprintf(twin->ids[i], SAND_SWITCH_ID, "s%u", i);
        twin->switches[i].id = twin->ids[i];
    }
    struct sand_fabric_spec *s = &twin->cluster.fabric;
    s->rails = s->kind == SAND_FABRIC_RAIL_OPTIMISED || s->kind == SAND_FABRIC_RAIL_ONLY;
    s->kind = SAND_FABRIC_WIRED;
    s->radix = 0;
    s->switches = twin->switches;
    s->n_switches = f->n_switches;
    s->ports = twin->ports;
    s->cables = twin->cables;
    s->n_ports = s->n_cables = 0;
    for (uint32_t l = f->first[SAND_LINK_NIC_UP]; l < f->n_links; l++) {
        uint32_t ends[2];
        sand_fabric_ends(f, l, ends);
        const unsigned c = f->links[l].link_class;
        if (c == SAND_LINK_NIC_UP)
            twin->ports[s->n_ports++] = (struct sand_wired_port){
                twin->ids[ends[1] - f->n_endpoints], ends[0] / f->nics_per_node, 1,
                ends[0] % f->nics_per_node, 1};
        else if (c != SAND_LINK_NIC_DOWN && sand_fabric_reverse(f, l) > l)
            twin->cables[s->n_cables++] = (struct sand_wired_cable){
                twin->ids[ends[0] - f->n_endpoints], twin->ids[ends[1] - f->n_endpoints], 1,
                f->links[l].capacity_Bps, 0};
    }
    sand_fabric_free(f);
    return 1;
}

static inline void wired_twin_free(struct wired_twin *twin)
{
    free(twin->ids);
    free(twin->switches);
    free(twin->ports);
    free(twin->cables);
}

#endif
