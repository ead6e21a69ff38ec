// Distances, pieces and losses, by breadth-first search on the neighbour lists.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graphsymmetry.h"
#include "ids.h"
#include "mem.h"
#include "numbers.h"
#include "unionfind.h"

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "no memory to analyse the fabric");
}

// ---- distances ----

struct search {
    const struct sand_graph *graph;
    uint32_t *hops, *queue; // [n_switches]
};

// hops[s] = switches on a shortest path from `from` to s, both counted; 0: none.
static void search_from(struct search *s, uint32_t from)
{
    const struct sand_graph *g = s->graph;
    memset(s->hops, 0, g->n_switches * sizeof *s->hops);
    uint32_t head = 0, tail = 0;
    s->queue[tail++] = from;
    s->hops[from] = 1;
    while (head < tail) {
        uint32_t at = s->queue[head++];
        for (uint32_t i = g->first[at]; i < g->first[at + 1]; i++) {
            uint32_t next = g->near[i];
            if (s->hops[next] > 0)
                continue;
            s->hops[next] = s->hops[at] + 1;
            s->queue[tail++] = next;
        }
    }
}

// Orders leaves by their neighbour lists, so that equal ones are adjacent.
struct twin {
    uint32_t leaf, degree;
    const uint32_t *near;
};

static int by_neighbours(const void *left, const void *right)
{
    const struct twin *x = left, *y = right;
    if (x->degree != y->degree)
        return x->degree < y->degree ? -1 : 1;
    for (uint32_t i = 0; i < x->degree; i++)
        if (x->near[i] != y->near[i])
            return x->near[i] < y->near[i] ? -1 : 1;
    return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

static int are_twins(const struct twin *x, const struct twin *y)
{
    return x->degree > 0 && x->degree == y->degree &&
           memcmp(x->near, y->near, x->degree * sizeof *x->near) == 0;
}

enum { MAX_STEPS = 400000000 };

static uint32_t capped(uint32_t hops)
{
    return hops < SAND_GRAPH_MAX_HOPS ? hops : SAND_GRAPH_MAX_HOPS;
}

// Adds the pairs from the twins twins[0..n) to everything. A leaf is one hop from itself, and two
// twins are three switches apart: over any common neighbour.
static void add_class(struct search *s, const struct twin *twins, size_t n, uint64_t *pairs)
{
    const struct sand_graph *g = s->graph;
    uint64_t endpoints = 0, inside = 0, beside = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t own = g->switches[twins[i].leaf].n_endpoints;
        endpoints += own;
        inside += own * (own - (own > 0));
        beside += own * own;
    }
    search_from(s, twins[0].leaf);
    pairs[1] += inside;
    if (n > 1)
        pairs[3] += endpoints * endpoints - beside;
    for (size_t i = 0; i < n; i++)
        s->hops[twins[i].leaf] = UINT32_MAX; // counted already
    for (uint32_t leaf = 0; leaf < g->n_switches; leaf++)
        if (s->hops[leaf] != UINT32_MAX && g->switches[leaf].plane == 0)
            pairs[capped(s->hops[leaf])] += endpoints * g->switches[leaf].n_endpoints;
}

// The leaves of the first plane, twins side by side.
static size_t sort_leaves(const struct sand_graph *g, struct twin *twins)
{
    size_t n = 0;
    for (uint32_t s = 0; s < g->n_switches; s++)
        if (g->switches[s].n_endpoints > 0 && g->switches[s].plane == 0)
            twins[n++] = (struct twin){s, g->first[s + 1] - g->first[s], g->near + g->first[s]};
    qsort(twins, n, sizeof *twins, by_neighbours);
    return n;
}

static size_t class_end(const struct twin *twins, size_t n, size_t begin)
{
    size_t end = begin + 1;
    while (end < n && are_twins(&twins[begin], &twins[end]))
        end++;
    return end;
}

// One search in how many is affordable; at least 1.
static uint64_t search_every(const struct sand_graph *g, uint64_t n_classes)
{
    const uint64_t affordable = MAX_STEPS / (2 * (uint64_t)g->n_edges + g->n_switches + 1) + 1;
    return n_classes > affordable ? sand_ceil_div(n_classes, affordable) : 1;
}

static void add_classes(struct search *s, struct twin *twins, struct sand_graph_distances *d)
{
    const struct sand_graph *g = s->graph;
    size_t n = sort_leaves(g, twins), number = 0;
    for (size_t i = 0; i < n; i = class_end(twins, n, i))
        d->n_classes++;
    const uint64_t every = search_every(g, d->n_classes);
    for (size_t i = 0, end; i < n; i = end, number++) {
        end = class_end(twins, n, i);
        if (number % every != 0)
            continue;
        add_class(s, twins + i, end - i, d->pairs);
        d->n_searches++;
    }
}

static enum sand_rc add_twins(struct search *s, struct sand_graph_distances *d)
{
    struct twin *twins = sand_calloc(s->graph->n_switches, sizeof *twins);
    if (twins == NULL)
        return SAND_ERR_NOMEM;
    add_classes(s, twins, d);
    sand_free(twins);
    return SAND_OK;
}

// Adds the pairs from `n` leaves that all see what leaf `from` sees.
static void add_alike(struct search *s, uint32_t from, uint64_t n, uint64_t *pairs)
{
    const struct sand_graph *g = s->graph;
    const uint64_t own = g->switches[from].n_endpoints;
    search_from(s, from);
    pairs[1] += n * own * (own - 1);
    for (uint32_t leaf = 0; leaf < g->n_switches; leaf++)
        if (leaf != from && g->switches[leaf].plane == 0)
            pairs[capped(s->hops[leaf])] += n * own * g->switches[leaf].n_endpoints;
}

static enum sand_rc add_orbits(struct search *s, struct sand_graph_distances *d)
{
    const uint32_t n = s->graph->n_switches;
    uint32_t *orbit = sand_calloc(n, sizeof *orbit), *members = sand_calloc(n, sizeof *members);
    enum sand_rc rc = orbit && members ? graph_find_orbits(s->graph, orbit) : SAND_ERR_NOMEM;
    for (uint32_t leaf = 0; leaf < n && rc == SAND_OK; leaf++)
        if (orbit[leaf] != SAND_NONE)
            d->n_classes += members[orbit[leaf]]++ == 0;
    const uint64_t every = search_every(s->graph, d->n_classes);
    for (uint32_t leaf = 0, number = 0; leaf < n && rc == SAND_OK; leaf++)
        if (members[leaf] > 0 && number++ % every == 0) {
            add_alike(s, leaf, members[leaf], d->pairs);
            d->n_searches++;
        }
    sand_free(orbit);
    sand_free(members);
    return rc;
}

enum sand_rc sand_graph_distances(const struct sand_graph *graph,
                                  struct sand_graph_distances *distances, struct sand_diag *diag)
{
    *distances = (struct sand_graph_distances){0};
    struct search search = {graph, sand_calloc(graph->n_switches, sizeof(uint32_t)),
                            sand_calloc(graph->n_switches, sizeof(uint32_t))};
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (search.hops && search.queue)
        rc = graph->n_symmetries > 0 ? add_orbits(&search, distances)
                                     : add_twins(&search, distances);
    for (uint32_t hops = 1; hops <= SAND_GRAPH_MAX_HOPS; hops++)
        if (distances->pairs[hops] > 0)
            distances->diameter = hops;
    sand_free(search.hops);
    sand_free(search.queue);
    return rc == SAND_OK ? SAND_OK : no_memory(diag);
}

// ---- pieces ----

static int lives(const struct sand_graph_loss *loss, uint32_t s)
{
    return loss == NULL || loss->switches == NULL || !loss->switches[s];
}

static int node_lives(const struct sand_graph_loss *loss, uint32_t node)
{
    return loss == NULL || loss->nodes == NULL || !loss->nodes[node];
}

// A piece is numbered by its first switch. What NICs join: their planes, and with relaying nodes
// all NICs of a node.
static void join_by_nodes(const struct sand_graph *g, const struct sand_graph_loss *loss,
                          uint32_t *up)
{
    uint32_t together = g->n_planes * (g->is_relayed ? g->nics_per_node : 1);
    uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    uint32_t first = SAND_NONE;
    for (uint64_t i = 0; i < n && together > 1; i++) {
        if (i % together == 0)
            first = SAND_NONE;
        uint32_t node = (uint32_t)(i / g->n_planes / g->nics_per_node);
        if (!lives(loss, g->leaf_of[i]) || !node_lives(loss, node) || g->nic_Bps[i] <= 0)
            continue;
        if (first == SAND_NONE)
            first = g->leaf_of[i];
        else
            sand_union_join(up, first, g->leaf_of[i]);
    }
}

enum sand_rc sand_graph_parts(const struct sand_graph *graph, const struct sand_graph_loss *loss,
                              uint32_t *part, uint32_t *n_parts, struct sand_diag *diag)
{
    uint32_t n = 0, *up = sand_calloc(graph->n_switches, sizeof *up);
    if (up == NULL)
        return no_memory(diag);
    for (uint32_t s = 0; s < graph->n_switches; s++)
        up[s] = s;
    for (uint32_t i = 0; i < graph->n_edges; i++)
        if (lives(loss, graph->edges[i].a) && lives(loss, graph->edges[i].b))
            sand_union_join(up, graph->edges[i].a, graph->edges[i].b);
    join_by_nodes(graph, loss, up);
    for (uint32_t s = 0; s < graph->n_switches; s++) {
        uint32_t root = sand_union_root(up, s);
        part[s] = !lives(loss, s) ? SAND_NONE : root == s ? n++ : part[root];
    }
    sand_free(up);
    if (n_parts)
        *n_parts = n;
    return SAND_OK;
}

// ---- losses ----

// The piece with most living ports, the first of equals; SAND_NONE if nothing lives.
static uint32_t largest_part(const struct sand_graph *g, const struct sand_graph_loss *loss,
                             const uint32_t *part, uint64_t *weight)
{
    uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t p = part[g->leaf_of[i]];
        if (p != SAND_NONE && g->nic_Bps[i] > 0 &&
            node_lives(loss, (uint32_t)(i / g->n_planes / g->nics_per_node)))
            weight[p]++;
    }
    uint32_t best = SAND_NONE;
    for (uint32_t p = 0; p < g->n_switches; p++)
        if (weight[p] > 0 && (best == SAND_NONE || weight[p] > weight[best]))
            best = p;
    return best;
}

static void count_nodes(const struct sand_graph *g, const struct sand_graph_loss *loss,
                        const uint32_t *part, uint32_t main_part, struct sand_graph_effect *effect)
{
    uint32_t per_node = g->nics_per_node * g->n_planes;
    for (uint32_t node = 0; node < g->n_nodes; node++) {
        if (!node_lives(loss, node)) {
            effect->nodes_dead++;
            continue;
        }
        uint32_t before = 0, joined = 0;
        for (uint64_t i = (uint64_t)node * per_node; i < ((uint64_t)node + 1) * per_node; i++) {
            uint32_t p = part[g->leaf_of[i]];
            int works = g->nic_Bps[i] > 0; // down already: this loss does not take it
            before += works ? 1 : 0;
            joined += works && p != SAND_NONE && p == main_part ? 1 : 0;
        }
        effect->nodes_cut += before > 0 && joined == 0 ? 1 : 0;
        effect->nodes_slow += joined > 0 && joined < before ? 1 : 0;
    }
}

static enum sand_rc bisect(const struct sand_graph *graph, struct sand_graph_kept *kept,
                           const struct sand_graph_loss *loss, double *value_Bps,
                           struct sand_diag *diag)
{
    struct sand_graph_cut cut;
    if (kept != NULL) {
        *value_Bps = sand_graph_kept_bisection(kept, loss);
        return SAND_OK;
    }
    SAND_TRY(sand_graph_bisection(graph, loss, &cut, diag));
    *value_Bps = cut.value_Bps;
    return SAND_OK;
}

enum sand_rc sand_graph_lose(const struct sand_graph *graph, struct sand_graph_kept *kept,
                             const struct sand_graph_loss *loss, struct sand_graph_effect *effect,
                             struct sand_diag *diag)
{
    *effect = (struct sand_graph_effect){0};
    SAND_TRY(bisect(graph, kept, loss, &effect->bisection_Bps, diag));
    uint32_t *part = sand_calloc(graph->n_switches, sizeof *part);
    uint64_t *weight = sand_calloc(graph->n_switches, sizeof *weight);
    enum sand_rc rc =
        part && weight ? sand_graph_parts(graph, loss, part, NULL, diag) : no_memory(diag);
    if (rc == SAND_OK) {
        const uint32_t main_part = largest_part(graph, loss, part, weight);
        count_nodes(graph, loss, part, main_part, effect);
        for (uint32_t i = 0; graph->storage_Bps && i < graph->n_switches; i++)
            effect->storage_Bps +=
                main_part != SAND_NONE && part[i] == main_part ? graph->storage_Bps[i] : 0;
    }
    sand_free(part);
    sand_free(weight);
    return rc;
}
