// Latency of ways: the fabric tells it link by link, here it meets the flows.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "waylatency.h"

#include <math.h>

#include "mem.h"

// Mean and longest over the hops of a flow that use the network.
struct flow_latency {
    double mean_s, longest_s;
};

static struct flow_latency latency_of(const struct step_traffic *traffic,
                                      const struct step_traffic_flow *flow)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    struct flow_latency l = {0};
    uint32_t n = 0;
    for (uint32_t e = flow->first_edge; e < flow->first_edge + flow->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const uint32_t *links = step_edge_links(traffic, edge);
        if (edge->n_links == 0 ||
            fabric->links[links[edge->n_links - 1]].link_class <= SAND_LINK_SCALEUP_IN)
            continue;
        const double way_s = sand_fabric_latency_s(fabric, links, edge->n_links);
        l.mean_s += way_s;
        l.longest_s = fmax(l.longest_s, way_s);
        n++;
    }
    l.mean_s = n > 0 ? l.mean_s / n : 0;
    return l;
}

enum sand_rc step_way_latencies(struct step_traffic *traffic)
{
    if (!traffic->question->fabric->has_latency)
        return SAND_OK;
    traffic->ring_extra_s =
        sand_calloc((size_t)traffic->pp * STEP_RINGS, sizeof *traffic->ring_extra_s);
    if (traffic->ring_extra_s == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t f = 0; f < traffic->n_flows; f++) {
        const struct step_traffic_flow *flow = &traffic->flows[f];
        const struct flow_latency l = latency_of(traffic, flow);
        double *of_kind =
            flow->kind == STEP_FLOW_TP   ? &traffic->tp_extra_s
            : flow->kind == STEP_FLOW_CP ? &traffic->cp_extra_s
            : flow->kind == STEP_FLOW_EXPERTS || flow->kind == STEP_FLOW_EXPERTS_OUT
                ? &traffic->experts_extra_s
            : flow->kind >= STEP_FLOW_RING
                ? &traffic->ring_extra_s[flow->stage * STEP_RINGS + flow->kind - STEP_FLOW_RING]
                : &traffic->send_extra_s;
        *of_kind = fmax(*of_kind, flow->kind >= STEP_FLOW_RING ? l.mean_s : l.longest_s);
    }
    return SAND_OK;
}
