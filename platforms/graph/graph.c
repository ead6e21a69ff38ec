// Builds the switch graph from the links of the fabric, and names its switches.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "graphstorage.h"
#include "graphsymmetry.h"
#include "ids.h"
#include "mem.h"

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the graph of the fabric");
}

// ---- switches ----

static struct sand_graph_switch tree_switch(const struct sand_fabric *f, uint32_t which)
{
    uint32_t per_plane = f->n_leaves + f->n_spines + f->n_cores;
    uint32_t plane = which / per_plane, at = which % per_plane;
    if (at < f->n_leaves) // the pod follows from the spines above
        return (struct sand_graph_switch){SAND_TIER_LEAF, plane, 0, at, 0};
    at -= f->n_leaves;
    if (at < f->n_spines)
        return (struct sand_graph_switch){SAND_TIER_SPINE, plane, at / f->spines_per_pod,
                                          at % f->spines_per_pod, 0};
    return (struct sand_graph_switch){SAND_TIER_CORE, plane, SAND_NONE, at - f->n_spines, 0};
}

static struct sand_graph_switch switch_of(const struct sand_fabric *f, uint32_t which)
{
    if (f->kind == SAND_FABRIC_WIRED) {
        const struct sand_fabric_switch s = sand_fabric_wired_switch(f, which);
        return (struct sand_graph_switch){(enum sand_tier)s.tier, 0, s.pod, 0, 0}; // index: below
    }
    if (f->kind == SAND_FABRIC_DRAGONFLY)
        return (struct sand_graph_switch){SAND_TIER_LEAF, 0, which / f->routers, which % f->routers,
                                          0};
    if (f->kind == SAND_FABRIC_TORUS)
        return (struct sand_graph_switch){SAND_TIER_LEAF, 0, 0, which, 0};
    return tree_switch(f, which);
}

// ---- edges ----

static int joins_switches(const struct sand_fabric *f, uint32_t link)
{
    return f->links[link].link_class > SAND_LINK_NIC_DOWN;
}

static double working_Bps(const struct sand_fabric_link *link)
{
    return link->is_down ? 0 : link->capacity_Bps * link->speed;
}

// The edge of a link, or an edge from nowhere for the direction that comes second.
static struct sand_graph_edge edge_of(const struct sand_graph *g, const struct sand_fabric *f,
                                      uint32_t link)
{
    uint32_t ends[2];
    sand_fabric_ends(f, link, ends);
    uint32_t a = ends[0] - f->n_endpoints, b = ends[1] - f->n_endpoints;
    int upward = g->switches[a].tier != g->switches[b].tier
                     ? g->switches[a].tier < g->switches[b].tier
                     : a < b;
    return (struct sand_graph_edge){upward ? a : SAND_NONE, b, working_Bps(&f->links[link])};
}

static int by_ends(const void *left, const void *right)
{
    const struct sand_graph_edge *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

// Sorts the edges and joins those between the same two switches.
static void merge_edges(struct sand_graph *g)
{
    qsort(g->edges, g->n_edges, sizeof *g->edges, by_ends);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        if (kept > 0 && by_ends(&g->edges[kept - 1], &g->edges[i]) == 0)
            g->edges[kept - 1].capacity_Bps += g->edges[i].capacity_Bps;
        else
            g->edges[kept++] = g->edges[i];
    }
    g->n_edges = kept;
}

static enum sand_rc add_edges(struct sand_graph *g, const struct sand_fabric *f,
                              struct sand_diag *diag)
{
    size_t n = 0;
    for (uint32_t i = 0; i < f->n_links; i++)
        n += joins_switches(f, i) ? 1 : 0;
    g->edges = sand_calloc(n, sizeof *g->edges);
    if (g->edges == NULL)
        return no_memory(diag);
    for (uint32_t i = 0; i < f->n_links; i++) {
        if (!joins_switches(f, i))
            continue;
        struct sand_graph_edge edge = edge_of(g, f, i);
        if (edge.a != SAND_NONE && edge.capacity_Bps > 0)
            g->edges[g->n_edges++] = edge;
    }
    merge_edges(g);
    return SAND_OK;
}

// ---- NICs and nodes ----

// A leaf is of the first plane that has a port on it.
static void hang_endpoints(struct sand_graph *g, const struct sand_fabric *f)
{
    uint32_t end = f->first[SAND_LINK_NIC_UP + 1];
    for (uint32_t i = f->first[SAND_LINK_NIC_UP]; i < end; i++) {
        uint32_t ends[2];
        sand_fabric_ends(f, i, ends);
        uint32_t leaf = ends[1] - f->n_endpoints;
        const uint32_t plane = sand_fabric_link_owner(f, i).plane;
        struct sand_graph_switch *s = &g->switches[leaf];
        size_t port = (size_t)ends[0] * g->n_planes + plane;
        g->leaf_of[port] = leaf;
        g->nic_Bps[port] = working_Bps(&f->links[i]);
        if (s->n_endpoints++ == 0 || plane < s->plane)
            s->plane = plane;
    }
}

static uint32_t highest(const uint32_t *values, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (values[i] > most)
            most = values[i];
    return most;
}

static void sort_nodes(struct sand_graph *g, const struct sand_fabric *f)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->node_half[i] = sand_fabric_pod_of_node(f, i);
    g->n_pods = highest(g->node_half, g->n_nodes) + 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (f->kind == SAND_FABRIC_TORUS)
            g->node_half[i] = sand_fabric_torus_order(f, i);
        else if (g->n_pods == 1)
            g->node_half[i] = sand_fabric_leaf_of_node(f, i);
    if (highest(g->node_half, g->n_nodes) == 0)
        for (uint32_t i = 0; i < g->n_nodes; i++)
            g->node_half[i] = i;
    g->n_halves = highest(g->node_half, g->n_nodes) + 1;
}

// A leaf is in the pod of its first spine.
static void place_leaves(struct sand_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        if (g->switches[e->a].tier == SAND_TIER_LEAF && g->switches[e->b].tier == SAND_TIER_SPINE &&
            (i == 0 || g->edges[i - 1].a != e->a))
            g->switches[e->a].pod = g->switches[e->b].pod;
    }
}

// Going through the neighbours in ascending order, every one that is entered at its own neighbours
// comes after those before it: no list needs sorting.
static void enter_ascending(struct sand_graph *g, const uint32_t *at, const uint32_t *edge,
                            uint32_t *fill)
{
    for (uint32_t s = 0; s < g->n_switches; s++)
        for (uint32_t i = g->first[s]; i < g->first[s + 1]; i++) {
            const uint32_t other = at[i], place = g->first[other] + fill[other]++;
            g->near[place] = s;
            g->via[place] = edge[i];
        }
}

static void enter(struct sand_graph *g, uint32_t *at, uint32_t *edge, uint32_t *fill)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        g->first[g->edges[i].a + 1]++;
        g->first[g->edges[i].b + 1]++;
    }
    for (uint32_t s = 0; s < g->n_switches; s++)
        g->first[s + 1] += g->first[s];
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const uint32_t ends[2] = {g->edges[i].a, g->edges[i].b};
        for (unsigned e = 0; e < 2; e++) {
            const uint32_t place = g->first[ends[e]] + fill[ends[e]]++;
            at[place] = ends[1 - e];
            edge[place] = i;
        }
    }
    memset(fill, 0, g->n_switches * sizeof *fill);
    enter_ascending(g, at, edge, fill);
}

static enum sand_rc index_neighbours(struct sand_graph *g, struct sand_diag *diag)
{
    const size_t n = (size_t)g->n_edges * 2;
    uint32_t *fill = sand_calloc(g->n_switches, sizeof *fill);
    uint32_t *at = sand_calloc(n, sizeof *at), *edge = sand_calloc(n, sizeof *edge);
    g->first = sand_calloc((size_t)g->n_switches + 1, sizeof *g->first);
    g->near = sand_calloc(n, sizeof *g->near);
    g->via = sand_calloc(n, sizeof *g->via);
    const int has_all = fill && at && edge && g->first && g->near && g->via;
    if (has_all)
        enter(g, at, edge, fill);
    sand_free(fill);
    sand_free(at);
    sand_free(edge);
    return has_all ? SAND_OK : no_memory(diag);
}

// ---- the whole ----

static int relays(const struct sand_cluster *cluster)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    int has_rails = spec->kind == SAND_FABRIC_RAIL_OPTIMISED ||
                    spec->kind == SAND_FABRIC_RAIL_ONLY || spec->rails;
    return has_rails && spec->cross_rail == SAND_CROSS_RAIL_SCALEUP &&
           cluster->node_type->scaleup != SAND_SCALEUP_NONE;
}

struct seat {
    uint32_t tier, pod, which;
};

static int by_seat(const void *left, const void *right)
{
    const struct seat *x = left, *y = right;
    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    if (x->pod != y->pod)
        return x->pod < y->pod ? -1 : 1;
    return x->which < y->which ? -1 : x->which > y->which;
}

// Numbers the switches of a wired fabric in their tier and pod.
static enum sand_rc number_seats(struct sand_graph *g, struct sand_diag *diag)
{
    struct seat *seats = sand_calloc(g->n_switches, sizeof *seats);
    if (seats == NULL)
        return no_memory(diag);
    for (uint32_t i = 0; i < g->n_switches; i++)
        seats[i] = (struct seat){g->switches[i].tier, g->switches[i].pod, i};
    qsort(seats, g->n_switches, sizeof *seats, by_seat);
    for (uint32_t i = 1; i < g->n_switches; i++)
        if (seats[i].tier == seats[i - 1].tier && seats[i].pod == seats[i - 1].pod)
            g->switches[seats[i].which].index = g->switches[seats[i - 1].which].index + 1;
    sand_free(seats);
    return SAND_OK;
}

static enum sand_rc keep_names(struct sand_graph *g, const struct sand_fabric *f,
                               struct sand_diag *diag)
{
    if (f->kind != SAND_FABRIC_WIRED)
        return SAND_OK;
    g->names = sand_calloc(g->n_switches, sizeof *g->names);
    if (g->names == NULL)
        return no_memory(diag);
    for (uint32_t i = 0; i < g->n_switches; i++)
        snprintf(g->names[i], sizeof g->names[i], "%s", sand_fabric_wired_switch(f, i).id);
    return number_seats(g, diag);
}

static enum sand_rc fill(struct sand_graph *g, const struct sand_fabric *f,
                         const struct sand_cluster *cluster, struct sand_diag *diag)
{
    *g = (struct sand_graph){.kind = f->kind,
                             .n_switches = f->n_switches,
                             .n_planes = f->link_planes,
                             .n_nodes = f->n_nodes,
                             .nics_per_node = f->nics_per_node,
                             .n_endpoints = f->n_endpoints,
                             .port_Bps = cluster->node_type->nic->rate_Bps / f->link_planes,
                             .is_relayed = relays(cluster)};
    g->switches = sand_calloc(g->n_switches, sizeof *g->switches);
    g->leaf_of = sand_calloc((size_t)g->n_endpoints * g->n_planes, sizeof *g->leaf_of);
    g->nic_Bps = sand_calloc((size_t)g->n_endpoints * g->n_planes, sizeof *g->nic_Bps);
    g->node_half = sand_calloc(g->n_nodes, sizeof *g->node_half);
    if (g->switches == NULL || g->leaf_of == NULL || g->nic_Bps == NULL || g->node_half == NULL)
        return no_memory(diag);
    for (uint32_t i = 0; i < g->n_switches; i++) {
        g->switches[i] = switch_of(f, i);
        g->n_tier[g->switches[i].tier]++;
    }
    SAND_TRY(keep_names(g, f, diag));
    hang_endpoints(g, f);
    sort_nodes(g, f);
    SAND_TRY(add_edges(g, f, diag));
    if (g->names == NULL)
        place_leaves(g);
    if (graph_seat_storage(g, f, cluster) != SAND_OK)
        return no_memory(diag);
    SAND_TRY(index_neighbours(g, diag));
    return graph_find_symmetries(g, f) == SAND_OK ? SAND_OK : no_memory(diag);
}

// Impaired links of an aggregate bear its names ("leaf3 up"), which no cable of its own has: every
// cable of the bundle gets the bundle's health.
static void spread_health(const struct sand_fabric *bundles, struct sand_fabric *cables)
{
    for (uint32_t i = cables->first[SAND_LINK_NIC_UP]; i < cables->n_links; i++) {
        const uint32_t of = sand_fabric_bundle_of(bundles, cables, i);
        if (of == SAND_NONE)
            continue;
        const struct sand_fabric_link *bundle = &bundles->links[of];
        cables->links[i].speed *= bundle->speed;
        cables->links[i].is_down |= bundle->is_down;
    }
}

// The switches that are impaired, or the links: only links have a space in their name.
static size_t pick_impaired(const struct sand_cluster *cluster, int links,
                            struct sand_impaired *picked)
{
    size_t n = 0;
    for (size_t i = 0; i < cluster->n_impaired; i++)
        if ((strchr(cluster->impaired[i].part, ' ') != NULL) == links)
            picked[n++] = cluster->impaired[i];
    return n;
}

static enum sand_rc build_from_bundles(const struct sand_cluster *cluster,
                                       struct sand_impaired *picked, struct sand_fabric **fabric,
                                       struct sand_diag *diag)
{
    struct sand_cluster apart = *cluster;
    struct sand_fabric *bundles = NULL;
    apart.impaired = picked;
    apart.n_impaired = pick_impaired(cluster, 1, picked);
    SAND_TRY(sand_fabric_build(&apart, &bundles, diag));
    apart.fabric.spreading = SAND_SPREAD_STATIC;
    apart.n_impaired = pick_impaired(cluster, 0, picked);
    enum sand_rc rc = sand_fabric_build(&apart, fabric, diag);
    if (rc == SAND_OK)
        spread_health(bundles, *fabric);
    sand_fabric_free(bundles);
    return rc;
}

// Even spreading joins bundles of several switches to one link; static spreading keeps them apart,
// with the same switches and capacities.
static enum sand_rc build_apart(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                                struct sand_diag *diag)
{
    const enum sand_spreading spreading = cluster->fabric.spreading;
    if (cluster->n_impaired > 0 &&
        (spreading == SAND_SPREAD_EVEN || spreading == SAND_SPREAD_ADAPTIVE)) {
        struct sand_impaired *picked = sand_calloc(cluster->n_impaired, sizeof *picked);
        enum sand_rc rc =
            picked ? build_from_bundles(cluster, picked, fabric, diag) : no_memory(diag);
        sand_free(picked);
        return rc;
    }
    struct sand_cluster apart = *cluster;
    apart.fabric.spreading = SAND_SPREAD_STATIC;
    return sand_fabric_build(&apart, fabric, diag);
}

enum sand_rc sand_graph_build(const struct sand_cluster *cluster, struct sand_graph **graph,
                              struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    SAND_TRY(build_apart(cluster, &fabric, diag));
    struct sand_graph *made = sand_calloc(1, sizeof *made);
    enum sand_rc rc = made ? fill(made, fabric, cluster, diag) : no_memory(diag);
    sand_fabric_free(fabric);
    if (rc != SAND_OK) {
        sand_graph_free(made);
        return rc;
    }
    *graph = made;
    return SAND_OK;
}

void sand_graph_free(struct sand_graph *graph)
{
    if (graph == NULL)
        return;
    sand_free(graph->switches);
    sand_free(graph->names);
    sand_free(graph->edges);
    sand_free(graph->leaf_of);
    sand_free(graph->nic_Bps);
    sand_free(graph->node_half);
    sand_free(graph->storage_Bps);
    sand_free(graph->first);
    sand_free(graph->near);
    sand_free(graph->via);
    sand_free(graph->symmetry);
    sand_free(graph);
}

// ---- names ----

const char *sand_tier_name(enum sand_tier tier)
{
    static const char *const names[SAND_TIERS] = {"leaf", "spine", "core"};
    return tier < SAND_TIERS ? names[tier] : "?";
}

char *sand_graph_name(const struct sand_graph *graph, uint32_t which, char *buffer, size_t size)
{
    if (which >= graph->n_switches) {
        snprintf(buffer, size, "switch %" PRIu32 "?", which);
        return buffer;
    }
    const struct sand_graph_switch *s = &graph->switches[which];
    char plane[24] = "";
    if (graph->n_planes > 1)
        snprintf(plane, sizeof plane, "plane%" PRIu32 "-", s->plane);
    if (graph->names != NULL)
        snprintf(buffer, size, "%s", graph->names[which]);
    else if (graph->kind == SAND_FABRIC_DRAGONFLY)
        snprintf(buffer, size, "group%" PRIu32 "-router%" PRIu32, s->pod, s->index);
    else if (graph->kind == SAND_FABRIC_TORUS)
        snprintf(buffer, size, "router%" PRIu32, s->index);
    else if (s->tier == SAND_TIER_SPINE && graph->kind == SAND_FABRIC_DRAGONFLY_PLUS)
        snprintf(buffer, size, "group%" PRIu32 "-spine%" PRIu32, s->pod, s->index);
    else if (s->tier == SAND_TIER_SPINE && graph->n_tier[SAND_TIER_CORE] > 0)
        snprintf(buffer, size, "%spod%" PRIu32 "-spine%" PRIu32, plane, s->pod, s->index);
    else if (s->tier == SAND_TIER_SPINE && graph->kind == SAND_FABRIC_RAIL_ONLY)
        snprintf(buffer, size, "%srail%" PRIu32 "-spine%" PRIu32, plane, s->pod, s->index);
    else
        snprintf(buffer, size, "%s%s%" PRIu32, plane, sand_tier_name(s->tier), s->index);
    return buffer;
}

uint32_t sand_graph_find(const struct sand_graph *graph, const char *name)
{
    char buffer[48];
    for (uint32_t i = 0; i < graph->n_switches; i++)
        if (strcmp(sand_graph_name(graph, i, buffer, sizeof buffer), name) == 0)
            return i;
    return SAND_NONE;
}
