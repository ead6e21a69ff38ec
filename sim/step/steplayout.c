// What a placement gives every kind of flow. SPDX-License-Identifier: GPL-2.0-or-later
// Routed once; the closed form then asks for every split that lies the same way.
#include <string.h>

#include "estimate.h"
#include "mem.h"
#include "steprings.h"
#include "traffic.h"
#include "train.h"

// How often flows of a kind cross each link.
static void add_loads(const struct step_traffic *traffic, uint32_t kind, double *load)
{
    for (uint32_t l = 0; l < traffic->n_links; l++)
        load[l] = 0;
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const uint32_t *links = step_edge_links(traffic, edge);
        for (uint32_t i = 0; traffic->flows[edge->flow].kind == kind && i < edge->n_links; i++)
            load[links[i]] += step_edge_weight(edge, i);
    }
}

// Users of one kind share a link evenly; the smallest share counts. 0: no link has a user.
static double smallest_share_Bps(const struct step_traffic *traffic, const double *load)
{
    double least_Bps = 0;
    for (uint32_t l = 0; l < traffic->n_links; l++)
        if (load[l] > 0 && (least_Bps <= 0 || traffic->links[l].capacity_Bps < least_Bps * load[l]))
            least_Bps = traffic->links[l].capacity_Bps / load[l];
    return least_Bps;
}

// What the other kind alone has of the links that hold the rings back, where it has least; 0: it is
// on none of them.
static double met_share_Bps(const struct step_traffic *traffic, double rate_Bps,
                            const double *ring_load, const double *load)
{
    double least_Bps = 0;
    for (uint32_t l = 0; l < traffic->n_links; l++) {
        const double capacity_Bps = traffic->links[l].capacity_Bps;
        if (load[l] > 0 && capacity_Bps <= rate_Bps * ring_load[l] * (1 + 1e-9) &&
            (least_Bps <= 0 || capacity_Bps < least_Bps * load[l]))
            least_Bps = capacity_Bps / load[l];
    }
    return least_Bps;
}

static int has_ring(const struct step_traffic *traffic, uint32_t ring)
{
    return traffic->rings[ring].members > 1;
}

static void fill_rings(const struct step_traffic *traffic, double *ring_load, double *load,
                       uint32_t ring_kind, struct sand_step_layout *layout)
{
    if (!has_ring(traffic, ring_kind - STEP_FLOW_RING))
        return;
    add_loads(traffic, ring_kind, ring_load);
    layout->rate_Bps[ring_kind] = smallest_share_Bps(traffic, ring_load);
    if (!(layout->rate_Bps[ring_kind] > 0))
        return;
    for (uint32_t other = 0; other < STEP_RINGS; other++) {
        if (!has_ring(traffic, other))
            continue;
        add_loads(traffic, STEP_FLOW_RING + other, load);
        layout->rings_meet_Bps[ring_kind - STEP_FLOW_RING][other] =
            met_share_Bps(traffic, layout->rate_Bps[ring_kind], ring_load, load);
    }
    for (uint32_t kind = 0; kind < STEP_FLOW_RING; kind++) {
        add_loads(traffic, kind, load);
        if (met_share_Bps(traffic, layout->rate_Bps[ring_kind], ring_load, load) > 0)
            layout->meets_rings[kind] = 1;
    }
}

static void fill_layout(const struct step_traffic *traffic, double *ring_load, double *load,
                        struct sand_step_layout *layout)
{
    *layout = (struct sand_step_layout){.copies = traffic->dp,
                                        .expert_copies = traffic->experts.copies,
                                        .expert_domains = traffic->experts.domains,
                                        .experts_inside = traffic->experts.inside,
                                        .tp = traffic->tp,
                                        .cp = traffic->cp,
                                        .send = traffic->send};
    memcpy(layout->rings, traffic->rings, sizeof layout->rings);
    for (uint32_t kind = STEP_FLOW_RING; kind < STEP_FLOW_KINDS; kind++)
        fill_rings(traffic, ring_load, load, kind, layout);
    for (uint32_t kind = 0; kind < STEP_FLOW_RING; kind++) {
        add_loads(traffic, kind, load);
        layout->rate_Bps[kind] = smallest_share_Bps(traffic, load);
    }
}

// Kinds of rings as bits, and whether the first carry all-reduces alone, which may be no rings.
// They do not depend on how state is cut.
static uint32_t rings_used(const struct sand_split *split)
{
    uint32_t used = 0;
    for (int experts = 0; experts < 2; experts++) {
        const struct step_exchange e = step_exchange_of(split, SAND_STATE_FLAT, experts);
        used |= 1u << e.reduce | (e.across < STEP_RINGS ? 1u << e.across : 0) |
                (e.gather < STEP_RINGS ? 1u << e.gather : 0);
        if (e.how == SAND_ALL_REDUCE && e.gather != e.reduce)
            used |= 1u << (STEP_RINGS + experts);
    }
    return used;
}

int sand_step_rings_alike(const struct sand_split *a, const struct sand_split *b)
{
    const uint32_t in_groups = 1u << STEP_RING_SHARDS | 1u << STEP_RING_EXPERT_SHARDS;
    const uint32_t used = rings_used(a);
    return used == rings_used(b) &&
           (!(used & in_groups) || sand_split_shards(a) == sand_split_shards(b));
}

static int ring_suits(const struct step_ring_shape *a, const struct step_ring_shape *b)
{
    return a->members == b->members && a->stride == b->stride && a->reduction == b->reduction &&
           a->scaleup_times == b->scaleup_times;
}

int sand_step_layout_suits(const struct sand_step_layout *layout,
                           const struct sand_step_question *question, int rings)
{
    const struct sand_split *split = &question->job->split;
    struct step_traffic traffic = {
        .question = question, .pp = split->pp, .dp = split->dp * split->cp};
    step_tp_shape(&traffic);
    if (traffic.tp.reduction != layout->tp.reduction ||
        traffic.tp.scaleup_times != layout->tp.scaleup_times)
        return 0;
    if (!rings)
        return 1;
    step_rings_shape(&traffic, layout->rings);
    for (int ring = 0; ring < STEP_RINGS; ring++)
        if (!ring_suits(&traffic.rings[ring], &layout->rings[ring]))
            return 0;
    return 1;
}

enum sand_rc sand_step_layout_find(const struct sand_step_question *question,
                                   struct sand_step_layout *layout, struct sand_diag *diag)
{
    struct step_traffic traffic;
    SAND_TRY(step_traffic_build(question, NULL, 0, &traffic, diag));
    double *ring_load = sand_calloc(traffic.n_links, sizeof *ring_load);
    double *load = sand_calloc(traffic.n_links, sizeof *load);
    const enum sand_rc rc = ring_load == NULL || load == NULL ? SAND_ERR_NOMEM : SAND_OK;
    if (rc == SAND_OK)
        fill_layout(&traffic, ring_load, load, layout);
    step_traffic_free(&traffic);
    sand_free(ring_load);
    sand_free(load);
    return rc == SAND_OK ? rc : sand_fail(diag, rc, "out of memory");
}
