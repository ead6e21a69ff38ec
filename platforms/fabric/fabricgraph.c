// Reads the switches, ports and cables of a wired fabric, and says what does not fit together.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricgraph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

struct named {
    const char *id;
    uint32_t index;
};

struct reader {
    const struct sand_cluster *cluster;
    const struct sand_fabric_spec *spec;
    struct fabric_graph *g;
    struct named *names; // sorted
    struct fabric_pair *pairs;
    uint32_t n_pairs, n_endpoints;
    uint32_t *n_used; // ports of each switch
    struct sand_diag *diag;
};

static enum sand_rc no_memory(const struct reader *r)
{
    return sand_fail(r->diag, SAND_ERR_NOMEM, "cluster \"%s\": no memory for its wired fabric",
                     r->cluster->name);
}

// ---- switches -----------------------------------------------------------------------------------

static int by_id(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static uint32_t find_switch(const struct reader *r, const char *id)
{
    const struct named key = {id, 0};
    const struct named *found = bsearch(&key, r->names, r->g->n_switches, sizeof *r->names, by_id);
    return found ? found->index : SAND_NONE;
}

static enum sand_rc read_switch(struct reader *r, uint32_t i)
{
    const struct sand_wired_switch *s = &r->spec->switches[i];
    const size_t n = strlen(s->id);
    if (n == 0 || n >= SAND_SWITCH_ID || strcspn(s->id, " >+") < n)
        return sand_fail(r->diag, SAND_ERR_INPUT,
                         "cluster \"%s\", switch \"%.60s\": a name has 1 to %d characters, none of "
                         "them a blank, > or +",
                         r->cluster->name, s->id, SAND_SWITCH_ID - 1);
    if (s->pod >= 1u << 20)
        return sand_fail(r->diag, SAND_ERR_INPUT,
                         "cluster \"%s\", switch \"%s\": pod %" PRIu32 " is above 1048575",
                         r->cluster->name, s->id, s->pod);
    memcpy(r->g->ids[i], s->id, n + 1);
    r->g->pod[i] = s->pod;
    r->names[i] = (struct named){r->g->ids[i], i};
    return SAND_OK;
}

static enum sand_rc read_switches(struct reader *r)
{
    const uint32_t n = r->g->n_switches;
    for (uint32_t i = 0; i < n; i++)
        SAND_TRY(read_switch(r, i));
    qsort(r->names, n, sizeof *r->names, by_id);
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(r->names[i - 1].id, r->names[i].id) == 0)
            return sand_fail(r->diag, SAND_ERR_INPUT,
                             "cluster \"%s\": two switches are called \"%s\"", r->cluster->name,
                             r->names[i].id);
    return SAND_OK;
}

static enum sand_rc no_switch(const struct reader *r, const char *what, const char *id)
{
    return sand_fail(r->diag, SAND_ERR_INPUT,
                     "cluster \"%s\": a %s ends at \"%.60s\", but no switch of that name is "
                     "described; the first is \"%s\"",
                     r->cluster->name, what, id, r->g->ids[0]);
}

// ---- NICs ---------------------------------------------------------------------------------------

static enum sand_rc check_port(const struct reader *r, const struct sand_wired_port *p)
{
    const uint32_t nodes = r->cluster->n_nodes, nics = r->cluster->node_type->n_nics;
    if (find_switch(r, p->to) == SAND_NONE)
        return no_switch(r, "port", p->to);
    if (p->n_nodes == 0 || p->first >= nodes || p->n_nodes > nodes - p->first)
        return sand_fail(r->diag, SAND_ERR_INPUT,
                         "cluster \"%s\", port at \"%s\": %" PRIu32 " nodes from node%" PRIu32
                         " on, but the cluster has %" PRIu32,
                         r->cluster->name, p->to, p->n_nodes, p->first, nodes);
    if (p->n_nics == 0 || p->nic >= nics || p->n_nics > nics - p->nic)
        return sand_fail(r->diag, SAND_ERR_INPUT,
                         "cluster \"%s\", port at \"%s\": %" PRIu32 " NICs from nic%" PRIu32
                         " on, but a node has %" PRIu32,
                         r->cluster->name, p->to, p->n_nics, p->nic, nics);
    return SAND_OK;
}

// Calls for every NIC of a port: counts it, or with `fill` notes the switch as its next plane.
static void each_nic(struct reader *r, const struct sand_wired_port *p, uint32_t *n_ports, int fill)
{
    const uint32_t nics = r->cluster->node_type->n_nics, at = find_switch(r, p->to);
    for (uint32_t node = p->first; node < p->first + p->n_nodes; node++)
        for (uint32_t j = p->nic; j < p->nic + p->n_nics; j++) {
            const uint32_t nic = node * nics + j;
            if (fill)
                r->g->port[(size_t)nic * r->g->n_planes + n_ports[nic]] = at;
            n_ports[nic]++;
            r->n_used[at] += fill ? 1 : 0;
        }
}

static enum sand_rc check_planes(struct reader *r, const uint32_t *n_ports)
{
    const uint32_t nics = r->cluster->node_type->n_nics;
    for (uint32_t nic = 0; nic < r->n_endpoints; nic++) {
        if (n_ports[nic] == 0)
            return sand_fail(
                r->diag, SAND_ERR_INPUT,
                "cluster \"%s\": node%" PRIu32 " nic%" PRIu32 " has no port; write "
                "<port to=\"%s\" first=\"%" PRIu32 "\" nodes=\"1\" nic=\"%" PRIu32 "\"/>",
                r->cluster->name, nic / nics, nic % nics, r->g->ids[0], nic / nics, nic % nics);
        if (n_ports[nic] != n_ports[0] || n_ports[nic] > 64)
            return sand_fail(r->diag, SAND_ERR_INPUT,
                             "cluster \"%s\": node%" PRIu32 " nic%" PRIu32 " has %" PRIu32
                             " ports, node0 nic0 %" PRIu32 "; all have equally many, at most 64",
                             r->cluster->name, nic / nics, nic % nics, n_ports[nic], n_ports[0]);
    }
    r->g->n_planes = n_ports[0];
    return SAND_OK;
}

static enum sand_rc read_ports(struct reader *r)
{
    struct fabric_graph *g = r->g;
    uint32_t *n_ports = sand_calloc(r->n_endpoints, sizeof *n_ports);
    if (n_ports == NULL)
        return no_memory(r);
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; i < r->spec->n_ports && rc == SAND_OK; i++) {
        rc = check_port(r, &r->spec->ports[i]);
        if (rc == SAND_OK)
            each_nic(r, &r->spec->ports[i], n_ports, 0);
    }
    if (rc == SAND_OK)
        rc = check_planes(r, n_ports);
    if (rc == SAND_OK) {
        g->port = sand_calloc((size_t)r->n_endpoints * g->n_planes, sizeof *g->port);
        memset(n_ports, 0, r->n_endpoints * sizeof *n_ports);
        rc = g->port ? SAND_OK : no_memory(r);
    }
    for (size_t i = 0; i < r->spec->n_ports && rc == SAND_OK; i++)
        each_nic(r, &r->spec->ports[i], n_ports, 1);
    sand_free(n_ports);
    return rc;
}

// ---- cables -------------------------------------------------------------------------------------

static enum sand_rc read_cable(struct reader *r, const struct sand_wired_cable *c,
                               struct fabric_pair *pair)
{
    *pair = (struct fabric_pair){find_switch(r, c->from), find_switch(r, c->to), c->n_cables,
                                 c->capacity_Bps, c->length_m};
    if (pair->a == SAND_NONE || pair->b == SAND_NONE)
        return no_switch(r, "cable", pair->a == SAND_NONE ? c->from : c->to);
    if (pair->a == pair->b)
        return sand_fail(r->diag, SAND_ERR_INPUT, "cluster \"%s\": a cable joins \"%s\" to itself",
                         r->cluster->name, c->from);
    if (c->n_cables == 0)
        return sand_fail(r->diag, SAND_ERR_INPUT,
                         "cluster \"%s\": no cables from \"%s\" to \"%s\"; leave the line out",
                         r->cluster->name, c->from, c->to);
    if (!(pair->capacity_Bps > 0))
        pair->capacity_Bps = c->n_cables * r->spec->link->rate_Bps;
    r->n_used[pair->a] += c->n_cables;
    r->n_used[pair->b] += c->n_cables;
    return SAND_OK;
}

struct ranked {
    uint64_t ends;
    uint32_t index;
};

static int by_ends(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->ends != y->ends)
        return x->ends < y->ends ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Joins cables between the same two switches, at the place of the first of them.
static void merge_pairs(struct reader *r, struct ranked *ranked)
{
    struct fabric_pair *pairs = r->pairs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->n_pairs; i++) {
        const uint32_t a = pairs[i].a, b = pairs[i].b;
        ranked[i] = (struct ranked){(uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a), i};
    }
    qsort(ranked, r->n_pairs, sizeof *ranked, by_ends);
    for (uint32_t i = 0, first = 0; i < r->n_pairs; i++) {
        if (ranked[i].ends != ranked[first].ends)
            first = i;
        if (first == i)
            continue;
        pairs[ranked[first].index].n_cables += pairs[ranked[i].index].n_cables;
        pairs[ranked[first].index].capacity_Bps += pairs[ranked[i].index].capacity_Bps;
        pairs[ranked[i].index].n_cables = 0;
    }
    for (uint32_t i = 0; i < r->n_pairs; i++)
        if (pairs[i].n_cables > 0)
            pairs[kept++] = pairs[i];
    r->n_pairs = kept;
}

static enum sand_rc read_cables(struct reader *r)
{
    const size_t n = r->spec->n_cables;
    r->pairs = sand_calloc(n, sizeof *r->pairs);
    struct ranked *ranked = sand_calloc(n, sizeof *ranked);
    enum sand_rc rc = r->pairs && ranked ? SAND_OK : no_memory(r);
    for (; rc == SAND_OK && r->n_pairs < n; r->n_pairs++)
        rc = read_cable(r, &r->spec->cables[r->n_pairs], &r->pairs[r->n_pairs]);
    if (rc == SAND_OK && n > 0)
        merge_pairs(r, ranked);
    sand_free(ranked);
    return rc;
}

static enum sand_rc check_radix(const struct reader *r)
{
    for (uint32_t i = 0; i < r->g->n_switches && r->spec->radix > 0; i++)
        if (r->n_used[i] > r->spec->radix)
            return sand_fail(r->diag, SAND_ERR_INPUT,
                             "cluster \"%s\", switch \"%s\": %" PRIu32 " ports are in use, but a "
                             "switch has %" PRIu32,
                             r->cluster->name, r->g->ids[i], r->n_used[i], r->spec->radix);
    return SAND_OK;
}

// ---- tiers --------------------------------------------------------------------------------------

// Of switches without a tier: leaves where NICs hang, then tier after tier by a cable.
static void find_tiers(struct reader *r)
{
    enum { UNKNOWN = 3 };
    struct fabric_graph *g = r->g;
    for (uint32_t i = 0; i < g->n_switches; i++)
        g->tier[i] = r->spec->switches[i].tier == SAND_SWITCH_FOUND
                         ? UNKNOWN
                         : (uint8_t)(r->spec->switches[i].tier - SAND_SWITCH_LEAF);
    for (size_t i = 0; i < (size_t)r->n_endpoints * g->n_planes; i++)
        if (g->tier[g->port[i]] == UNKNOWN)
            g->tier[g->port[i]] = 0;
    for (uint8_t tier = 0; tier < 2; tier++)
        for (uint32_t i = 0; i < r->n_pairs; i++) {
            uint8_t *a = &g->tier[r->pairs[i].a], *b = &g->tier[r->pairs[i].b];
            if (*a == tier && *b == UNKNOWN)
                *b = (uint8_t)(tier + 1);
            else if (*b == tier && *a == UNKNOWN)
                *a = (uint8_t)(tier + 1);
        }
    for (uint32_t i = 0; i < g->n_switches; i++)
        g->tier[i] = g->tier[i] == UNKNOWN ? 2 : g->tier[i];
}

static void sort_tiers(struct reader *r)
{
    struct fabric_graph *g = r->g;
    uint32_t n = 0, n_leaves = 0;
    for (uint8_t tier = 0; tier < 3; tier++)
        for (uint32_t i = 0; i < g->n_switches; i++)
            if (g->tier[i] == tier) {
                g->by_tier[n++] = i;
                g->n_tier[tier]++;
            }
    for (uint32_t i = 0; i < g->n_switches; i++)
        g->leaf_number[i] = SAND_NONE;
    for (size_t i = 0; i < (size_t)r->n_endpoints * g->n_planes; i++)
        g->leaf_number[g->port[i]] = 0;
    for (uint32_t i = 0; i < g->n_switches; i++)
        if (g->leaf_number[i] != SAND_NONE)
            g->leaf_number[i] = n_leaves++;
}

// ---- distances ----------------------------------------------------------------------------------

// Breadth first from one cell; wires run both ways. Returns the longest way.
static uint32_t measure(const struct fabric_graph *g, uint32_t from, uint8_t *hops, uint32_t *queue)
{
    uint32_t head = 0, tail = 0, longest = 0;
    memset(hops, FABRIC_NO_WAY, g->n_cells);
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        const uint32_t at = queue[head++];
        for (uint32_t i = g->near_first[at]; i < g->near_first[at + 1]; i++) {
            const uint32_t to = g->wires[g->near[i]].to;
            if (hops[to] != FABRIC_NO_WAY || hops[at] == FABRIC_NO_WAY - 1)
                continue;
            hops[to] = (uint8_t)(hops[at] + 1);
            longest = hops[to];
            queue[tail++] = to;
        }
    }
    return longest;
}

static enum sand_rc measure_all(struct reader *r)
{
    enum { MOST_HOPS = 56 }; // a route has 64 links, with two to NICs and a detour's
    struct fabric_graph *g = r->g;
    g->target_of = sand_calloc(g->n_cells, sizeof *g->target_of);
    uint32_t *queue = sand_calloc(g->n_cells, sizeof *queue);
    enum sand_rc rc = g->target_of && queue ? SAND_OK : no_memory(r);
    for (uint32_t i = 0; rc == SAND_OK && i < g->n_cells; i++)
        g->target_of[i] =
            g->leaf_number[g->cell_first[i]] == SAND_NONE ? SAND_NONE : g->n_targets++;
    if (rc == SAND_OK && (uint64_t)g->n_targets * g->n_cells > 1u << 28)
        rc = sand_fail(r->diag, SAND_ERR_INPUT,
                       "cluster \"%s\": %" PRIu32 " switches with NICs of %" PRIu32 " are too many "
                       "for routes of their own; describe a fabric of this size by its kind",
                       r->cluster->name, g->n_targets, g->n_cells);
    if (rc == SAND_OK) {
        g->hops = sand_calloc((size_t)g->n_targets * g->n_cells, 1);
        rc = g->hops ? SAND_OK : no_memory(r);
    }
    for (uint32_t i = 0; rc == SAND_OK && i < g->n_cells; i++)
        if (g->target_of[i] != SAND_NONE &&
            measure(g, i, g->hops + (size_t)g->target_of[i] * g->n_cells, queue) > MOST_HOPS)
            rc = sand_fail(r->diag, SAND_ERR_INPUT,
                           "cluster \"%s\": a shortest way to \"%s\" passes more than %d switches",
                           r->cluster->name, g->ids[g->cell_first[i]], MOST_HOPS);
    sand_free(queue);
    return rc;
}

// ---- the whole ----------------------------------------------------------------------------------

static enum sand_rc check(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const struct sand_node_type *type = cluster->node_type;
    if (type == NULL || type->n_nics == 0 || type->n_gpus == 0 || cluster->n_nodes == 0 ||
        s->link == NULL || type->nic == NULL ||
        (type->scaleup != SAND_SCALEUP_NONE && type->scaleup_link == NULL))
        return sand_fail(
            diag, SAND_ERR_INPUT,
            "cluster \"%s\": a wired fabric needs nodes with GPUs, NICs and link types",
            cluster->name);
    if (s->n_switches == 0 || s->n_switches > 1u << 20 || s->n_cables > 1u << 24 ||
        (uint64_t)cluster->n_nodes * type->n_nics > 1u << 24)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": %zu switches, %zu lines of cables and %" PRIu64
                         " NICs; a wired fabric has at most 1048576, 16777216 and 16777216",
                         cluster->name, s->n_switches, s->n_cables,
                         (uint64_t)cluster->n_nodes * type->n_nics);
    return SAND_OK;
}

static enum sand_rc open_reader(struct reader *r)
{
    struct fabric_graph *g = r->g;
    const uint32_t n = g->n_switches = (uint32_t)r->spec->n_switches;
    g->ids = sand_calloc(n, sizeof *g->ids);
    g->tier = sand_calloc(n, sizeof *g->tier);
    g->pod = sand_calloc(n, sizeof *g->pod);
    g->leaf_number = sand_calloc(n, sizeof *g->leaf_number);
    g->by_tier = sand_calloc(n, sizeof *g->by_tier);
    r->names = sand_calloc(n, sizeof *r->names);
    r->n_used = sand_calloc(n, sizeof *r->n_used);
    r->n_endpoints = r->cluster->n_nodes * r->cluster->node_type->n_nics;
    return g->ids && g->tier && g->pod && g->leaf_number && g->by_tier && r->names && r->n_used
               ? SAND_OK
               : no_memory(r);
}

static enum sand_rc read_all(struct reader *r, int aggregate)
{
    struct fabric_graph *g = r->g;
    SAND_TRY(open_reader(r));
    SAND_TRY(read_switches(r));
    SAND_TRY(read_ports(r));
    SAND_TRY(read_cables(r));
    SAND_TRY(check_radix(r));
    find_tiers(r);
    sort_tiers(r);
    if (fabric_graph_cells(g, r->pairs, r->n_pairs, r->n_endpoints, aggregate) != SAND_OK ||
        fabric_graph_wires(g, r->pairs, r->n_pairs) != SAND_OK)
        return no_memory(r);
    return measure_all(r);
}

enum sand_rc fabric_graph_make(const struct sand_cluster *cluster, int aggregate,
                               struct fabric_graph **graph, struct sand_diag *diag)
{
    SAND_TRY(check(cluster, diag));
    struct reader r = {.cluster = cluster,
                       .spec = &cluster->fabric,
                       .g = sand_calloc(1, sizeof *r.g),
                       .diag = diag};
    enum sand_rc rc = r.g ? read_all(&r, aggregate) : no_memory(&r);
    sand_free(r.names);
    sand_free(r.pairs);
    sand_free(r.n_used);
    if (rc == SAND_OK)
        *graph = r.g;
    else
        fabric_graph_free(r.g);
    return rc;
}

void fabric_graph_free(struct fabric_graph *graph)
{
    if (graph == NULL)
        return;
    sand_free(graph->ids);
    sand_free(graph->tier);
    sand_free(graph->pod);
    sand_free(graph->leaf_number);
    sand_free(graph->by_tier);
    sand_free(graph->cell_of);
    sand_free(graph->cell_first);
    sand_free(graph->cell_size);
    sand_free(graph->port);
    sand_free(graph->wires);
    sand_free(graph->near_first);
    sand_free(graph->near);
    sand_free(graph->target_of);
    sand_free(graph->hops);
    sand_free(graph);
}
