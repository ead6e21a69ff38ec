// Counts the flows of a traffic pattern on every link, phase by phase.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "hotlinks.h"

#include <string.h>

#include "ids.h"
#include "mem.h"

enum { MAX_SHIFTS = 64 };

const char *sand_traffic_name(enum sand_traffic traffic)
{
    static const char *const names[SAND_TRAFFICS] = {"ring", "half", "all-to-all"};
    return traffic < SAND_TRAFFICS ? names[traffic] : "?";
}

// How far phase `phase` shifts; 0: there is no such phase.
static uint32_t shift_of(const struct sand_fabric *f, enum sand_traffic traffic, uint32_t phase)
{
    if (f->n_endpoints < 2)
        return 0;
    uint32_t others = f->n_endpoints - 1;
    switch (traffic) {
    case SAND_TRAFFIC_RING:
        return phase == 0 && f->n_nodes > 1 ? f->nics_per_node : 0;
    case SAND_TRAFFIC_HALF:
        return phase == 0 ? f->n_nodes / 2 * f->nics_per_node : 0;
    case SAND_TRAFFIC_ALL:
        if (phase >= MAX_SHIFTS || phase >= others)
            return 0;
        return others <= MAX_SHIFTS ? phase + 1
                                    : 1 + (uint32_t)((uint64_t)phase * others / MAX_SHIFTS);
    case SAND_TRAFFICS:
        break;
    }
    return 0;
}

static void count_phase(const struct sand_fabric *f, uint32_t shift, uint32_t *flows,
                        struct sand_hot_links *hot)
{
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t from = 0; from < f->n_endpoints; from++) {
        uint32_t to = (uint32_t)(((uint64_t)from + shift) % f->n_endpoints);
        for (uint32_t path = 0; path < f->n_paths; path++) {
            uint32_t n = sand_fabric_route_path(f, from, to, path, links);
            if (n == SAND_NONE && hot->n_missing++ == 0) {
                hot->missing[0] = from;
                hot->missing[1] = to;
            }
            for (uint32_t i = 0; i < n && n != SAND_NONE; i++)
                flows[links[i]]++;
        }
    }
}

static double nic_rate(const struct sand_fabric *f)
{
    return f->links[f->first[SAND_LINK_NIC_UP]].capacity_Bps * f->link_planes;
}

static void take_loads(const struct sand_fabric *f, const uint32_t *flows,
                       struct sand_hot_links *hot)
{
    double sum[SAND_LINK_CLASSES] = {0};
    for (uint32_t i = 0; i < f->n_links; i++) {
        const struct sand_fabric_link *link = &f->links[i];
        struct sand_hot_class *c = &hot->classes[link->link_class];
        double load = flows[i] * nic_rate(f) / f->n_paths / (link->capacity_Bps * link->speed);
        sum[link->link_class] += load;
        if (c->hottest == SAND_NONE || load > c->load) {
            c->hottest = i;
            c->load = load;
        }
    }
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++) {
        struct sand_hot_class *at = &hot->classes[c];
        double mean = at->n_links > 0 ? sum[c] / at->n_links : 0;
        if (mean > at->mean)
            at->mean = mean;
    }
}

enum sand_rc sand_hot_links(const struct sand_fabric *fabric, enum sand_traffic traffic,
                            struct sand_hot_links *hot, struct sand_diag *diag)
{
    *hot = (struct sand_hot_links){0};
    uint32_t *flows = sand_calloc(fabric->n_links, sizeof *flows);
    if (flows == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory to count flows on links");
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++)
        hot->classes[c].hottest = SAND_NONE;
    for (uint32_t i = 0; i < fabric->n_links; i++)
        hot->classes[fabric->links[i].link_class].n_links++;
    for (uint32_t phase = 0, shift; (shift = shift_of(fabric, traffic, phase)) > 0; phase++) {
        memset(flows, 0, fabric->n_links * sizeof *flows);
        count_phase(fabric, shift, flows, hot);
        take_loads(fabric, flows, hot);
        hot->n_phases++;
        hot->n_flows += fabric->n_endpoints;
    }
    sand_free(flows);
    return SAND_OK;
}
