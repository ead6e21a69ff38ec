// Colour refinement (1-dimensional Weisfeiler-Leman) over actors, flows and links.
// Colours are 64-bit hashes that depend on structure only, never on numbering.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fold.h"

#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

struct colours {
    uint64_t *actor, *flow, *link, *sum;
    uint32_t n_actors, n_flows, n_links;
};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t mix_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix(bits);
}

static uint64_t pair(uint64_t a, uint64_t b)
{
    return mix(a + mix(b));
}

static void colour_start(const struct step_traffic *traffic, const double *slowness,
                         struct colours *c)
{
    for (uint32_t a = 0; a < c->n_actors; a++)
        c->actor[a] = pair(a % traffic->pp + 1, mix_double(slowness[a]));
    for (uint32_t f = 0; f < c->n_flows; f++)
        c->flow[f] = pair(traffic->flows[f].kind + 1, traffic->flows[f].stage);
    // What other jobs do on a link is unlike what they do on any other.
    for (uint32_t l = 0; l < c->n_links; l++) {
        const struct step_link *link = &traffic->links[l];
        c->link[l] = mix_double(link->capacity_Bps);
        if (link->coupled != SAND_NONE)
            c->link[l] = pair(c->link[l], link->coupled);
    }
}

// A link sees the flows on it, with how often each counts.
static void refine_links(const struct step_traffic *traffic, struct colours *c)
{
    memset(c->sum, 0, c->n_links * sizeof *c->sum);
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const uint32_t *links = step_edge_links(traffic, edge);
        for (uint32_t i = 0; i < edge->n_links; i++)
            c->sum[links[i]] += pair(c->flow[edge->flow], step_edge_weight(edge, i));
    }
    for (uint32_t l = 0; l < c->n_links; l++)
        c->link[l] = pair(c->link[l], c->sum[l]);
}

// What a flow sees of a link it can be held up by. Which of the links that a hash picks from it
// is on tells no two flows apart: they keep pace with the slowest of their class (decision 19).
static int is_seen(const struct step_traffic *traffic, uint32_t link)
{
    return traffic->links[link].state == STEP_LINK_KEPT && !step_link_is_hashed(traffic, link);
}

// A flow sees the links it can be held up by, and the actors it starts from and ends at.
static void refine_flows(const struct step_traffic *traffic, struct colours *c)
{
    for (uint32_t f = 0; f < c->n_flows; f++) {
        const struct step_traffic_flow *flow = &traffic->flows[f];
        uint64_t sum = 0;
        for (uint32_t e = flow->first_edge; e < flow->first_edge + flow->n_edges; e++) {
            const struct step_edge *edge = &traffic->edges[e];
            const uint32_t *links = step_edge_links(traffic, edge);
            for (uint32_t i = 0; i < edge->n_links; i++)
                if (is_seen(traffic, links[i]))
                    sum += pair(c->link[links[i]], step_edge_weight(edge, i));
        }
        if (flow->actor != SAND_NONE)
            sum = pair(sum, c->actor[flow->actor]);
        if (flow->peer != SAND_NONE)
            sum = pair(sum, c->actor[flow->peer]);
        if (flow->kind >= STEP_FLOW_RING)
            for (uint32_t d = 0; d < traffic->dp; d++)
                sum += mix(c->actor[d * traffic->pp + flow->stage]);
        c->flow[f] = pair(c->flow[f], sum);
    }
}

// An actor sees its own flows, those that reach it, and its stage's rings.
static void refine_actors(const struct step_traffic *traffic, struct colours *c)
{
    memset(c->sum, 0, c->n_actors * sizeof *c->sum);
    for (uint32_t f = 0; f < c->n_flows; f++) {
        const struct step_traffic_flow *flow = &traffic->flows[f];
        if (flow->actor != SAND_NONE)
            c->sum[flow->actor] += pair(c->flow[f], 1);
        if (flow->peer != SAND_NONE)
            c->sum[flow->peer] += pair(c->flow[f], 2);
    }
    for (uint32_t s = 0; s < traffic->pp; s++) {
        uint64_t rings = 0;
        const uint32_t first = step_flow_ring(traffic, STEP_RING_ALL, s);
        for (uint32_t f = first; f < first + STEP_RINGS * traffic->rails_simulated; f++)
            rings += pair(c->flow[f], 3);
        for (uint32_t d = 0; d < traffic->dp; d++)
            c->sum[d * traffic->pp + s] += rings;
    }
    for (uint32_t a = 0; a < c->n_actors; a++)
        c->actor[a] = pair(c->actor[a], c->sum[a]);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Sorts a copy of the colours in `scratch` and leaves the distinct ones there; returns how many.
static uint32_t distinct(const uint64_t *colour, uint32_t n, uint64_t *scratch)
{
    memcpy(scratch, colour, n * sizeof *scratch);
    qsort(scratch, n, sizeof *scratch, compare_u64);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || scratch[i] != scratch[kept - 1])
            scratch[kept++] = scratch[i];
    return kept;
}

// Counts distinct colours with an open hash table of at least twice n slots.
static uint32_t count_distinct(const uint64_t *colour, uint32_t n, uint64_t *table, size_t slots)
{
    memset(table, 0, slots * sizeof *table);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t key = colour[i] == 0 ? 1 : colour[i];
        size_t at = (size_t)key & (slots - 1);
        while (table[at] != 0 && table[at] != key)
            at = (at + 1) & (slots - 1);
        found += table[at] == 0;
        table[at] = key;
    }
    return found;
}

// Refines until a round splits nothing.
static enum sand_rc refine(const struct step_traffic *traffic, struct colours *c)
{
    const uint32_t most = c->n_flows > c->n_actors ? c->n_flows : c->n_actors;
    size_t slots = 64;
    while (slots < 2 * (size_t)most)
        slots *= 2;
    uint64_t *table = sand_calloc(slots, sizeof *table);
    if (table == NULL)
        return SAND_ERR_NOMEM;
    uint32_t before = 0, now = 0;
    do {
        before = now;
        refine_links(traffic, c);
        refine_flows(traffic, c);
        refine_actors(traffic, c);
        // Links are a function of the flows on them, so flows and actors tell when it is stable.
        now = count_distinct(c->flow, c->n_flows, table, slots) +
              count_distinct(c->actor, c->n_actors, table, slots);
    } while (now > before);
    refine_links(traffic, c);
    sand_free(table);
    return SAND_OK;
}

// Numbers the classes in colour order, which does not depend on how entities are numbered.
// `used` (may be NULL) selects the entities that take part.
static enum sand_rc number_classes(const uint64_t *colour, uint32_t n, const uint8_t *used,
                                   uint32_t **class_of, uint32_t **member, uint32_t *n_classes)
{
    uint64_t *chosen = sand_calloc(n, sizeof *chosen);
    *class_of = sand_calloc(n, sizeof **class_of);
    uint32_t m = 0;
    if (chosen == NULL || *class_of == NULL) {
        sand_free(chosen);
        return SAND_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        if (used == NULL || used[i])
            chosen[m++] = colour[i];
    uint64_t *keys = sand_calloc(m, sizeof *keys);
    *n_classes = keys == NULL ? 0 : distinct(chosen, m, keys);
    *member = sand_calloc(*n_classes, sizeof **member);
    if (keys == NULL || *member == NULL) {
        sand_free(chosen);
        sand_free(keys);
        return SAND_ERR_NOMEM;
    }
    for (uint32_t i = n; i-- > 0;) {
        (*class_of)[i] = SAND_NONE;
        if (used != NULL && !used[i])
            continue;
        const uint64_t *key = bsearch(&colour[i], keys, *n_classes, sizeof *keys, compare_u64);
        (*class_of)[i] = (uint32_t)(key - keys);
        (*member)[key - keys] = i;
    }
    sand_free(chosen);
    sand_free(keys);
    return SAND_OK;
}

// Which flows have hops, and which links carry any and may bind.
static void mark_used(const struct step_traffic *traffic, uint8_t *flow_used, uint8_t *link_used)
{
    for (uint32_t f = 0; f < traffic->n_flows; f++)
        flow_used[f] = traffic->flows[f].n_edges > 0;
    for (size_t i = 0; i < traffic->n_edge_links; i++)
        if (traffic->links[traffic->edge_links[i]].state == STEP_LINK_KEPT)
            link_used[traffic->edge_links[i]] = 1;
}

// Every entity its own colour: its number.
static void colour_by_number(struct colours *c)
{
    for (uint32_t a = 0; a < c->n_actors; a++)
        c->actor[a] = a;
    for (uint32_t f = 0; f < c->n_flows; f++)
        c->flow[f] = f;
    for (uint32_t l = 0; l < c->n_links; l++)
        c->link[l] = l;
}

static enum sand_rc colour_and_number(const struct step_traffic *traffic, const double *slowness,
                                      struct colours *c, struct step_classes *classes)
{
    if (traffic->question->folding == SAND_NO_FOLD) {
        colour_by_number(c);
    } else {
        colour_start(traffic, slowness, c);
        SAND_TRY(refine(traffic, c));
    }
    uint8_t *flow_used = sand_calloc(c->n_flows, 1), *link_used = sand_calloc(c->n_links, 1);
    enum sand_rc rc = flow_used == NULL || link_used == NULL ? SAND_ERR_NOMEM : SAND_OK;
    if (rc == SAND_OK) {
        mark_used(traffic, flow_used, link_used);
        rc = number_classes(c->actor, c->n_actors, NULL, &classes->actor, &classes->actor_member,
                            &classes->n_actors);
    }
    if (rc == SAND_OK)
        rc = number_classes(c->flow, c->n_flows, flow_used, &classes->flow, &classes->flow_member,
                            &classes->n_flows);
    if (rc == SAND_OK)
        rc = number_classes(c->link, c->n_links, link_used, &classes->link, &classes->link_member,
                            &classes->n_links);
    sand_free(flow_used);
    sand_free(link_used);
    return rc;
}

enum sand_rc step_classes_find(const struct step_traffic *traffic, const double *actor_slowness,
                               struct step_classes *classes)
{
    *classes = (struct step_classes){0};
    struct colours c = {
        .n_actors = traffic->n_actors, .n_flows = traffic->n_flows, .n_links = traffic->n_links};
    const uint32_t most = c.n_links > c.n_actors ? c.n_links : c.n_actors;
    c.actor = sand_calloc(c.n_actors, sizeof *c.actor);
    c.flow = sand_calloc(c.n_flows, sizeof *c.flow);
    c.link = sand_calloc(c.n_links, sizeof *c.link);
    c.sum = sand_calloc(most, sizeof *c.sum);
    enum sand_rc rc = c.actor == NULL || c.flow == NULL || c.link == NULL || c.sum == NULL
                          ? SAND_ERR_NOMEM
                          : colour_and_number(traffic, actor_slowness, &c, classes);
    sand_free(c.actor);
    sand_free(c.flow);
    sand_free(c.link);
    sand_free(c.sum);
    if (rc != SAND_OK)
        step_classes_free(classes);
    return rc;
}

void step_classes_free(struct step_classes *classes)
{
    sand_free(classes->actor);
    sand_free(classes->flow);
    sand_free(classes->link);
    sand_free(classes->actor_member);
    sand_free(classes->flow_member);
    sand_free(classes->link_member);
    *classes = (struct step_classes){0};
}
