// Wired: any switches and cables, on shortest ways.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Order of the links between switches: the wires of the graph. A way is a shortest one by switches.
// Where several cables of a switch begin one, the destination's number k (of rails: its node's)
// picks the (k mod n)-th of n, in the order in which the cables are written, and the next switch
// goes on with k / n: on a tree this is the d-mod-k routing of fabrictree.c. With hash spreading a
// hash of the flow and the hop picks. Where paths are aggregated, ways over equal switches are one;
// between ways that are not alike the destination picks, each cable as often as any other, and a
// NIC whose ports are not in one cell sends an equal part over each.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricgraph.h"
#include "fabricwiring.h"
#include "ids.h"

// ---- shape --------------------------------------------------------------------------------------

static enum sand_rc shape(const struct sand_cluster *cluster, struct sand_fabric *f,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const int aggregate = sand_fabric_is_aggregate(f);
    SAND_TRY(fabric_graph_make(cluster, aggregate, &f->graph, diag));
    const struct fabric_graph *g = f->graph;
    f->n_endpoints = cluster->n_nodes * cluster->node_type->n_nics;
    f->n_switches = g->n_cells;
    f->n_rails = s->rails ? f->nics_per_node : 1;
    f->cross_rail = s->cross_rail;
    f->n_planes = g->n_planes;
    f->link_planes = aggregate && g->planes_are_one ? 1 : g->n_planes;
    f->nic_ports = 1;
    if (aggregate && f->link_planes > 1)
        f->n_paths = f->link_planes;
    for (unsigned c = SAND_LINK_LEAF_UP; c < SAND_LINK_CLASSES; c++)
        classes[c] = (struct fabric_class){g->n_of_class[c], s->link->rate_Bps};
    return SAND_OK;
}

static uint32_t first_wire(const struct sand_fabric *f)
{
    return f->first[SAND_LINK_LEAF_UP];
}

static void rates(const struct sand_cluster *cluster, struct sand_fabric *f)
{
    const double efficiency =
        f->spreading == SAND_SPREAD_ADAPTIVE ? cluster->fabric.adaptive_efficiency : 1;
    for (uint32_t i = 0; i < f->graph->n_wires; i++)
        f->links[first_wire(f) + i].capacity_Bps = f->graph->wires[i].capacity_Bps * efficiency;
}

static void count(const struct sand_fabric *f, struct sand_fabric_counts *counts)
{
    const struct fabric_graph *g = f->graph;
    counts->leaves = g->n_tier[0];
    counts->spines = g->n_tier[1];
    counts->cores = g->n_tier[2];
    counts->endpoint_cables = (uint64_t)f->n_endpoints * f->n_planes;
    for (uint32_t i = 0; i < g->n_wires; i++) {
        const uint8_t link_class = f->links[first_wire(f) + i].link_class;
        const uint32_t n = g->wires[i].n_cables;
        if (link_class == SAND_LINK_LEAF_UP)
            counts->leaf_spine_cables += n;
        else if (link_class == SAND_LINK_SPINE_UP)
            counts->spine_core_cables += n;
        else if (link_class == SAND_LINK_LOCAL && i % 2 == 0)
            counts->local_cables += n;
        else if (link_class == SAND_LINK_GLOBAL && i % 2 == 0)
            counts->global_cables += n;
    }
}

static uint32_t switch_of(const struct sand_fabric *f, uint32_t nic, uint32_t plane)
{
    return f->graph->port[(size_t)nic * f->graph->n_planes + plane];
}

static uint32_t cell_of(const struct sand_fabric *f, uint32_t nic, uint32_t plane)
{
    return f->graph->cell_of[switch_of(f, nic, plane)];
}

static void place(const struct sand_fabric *f, uint32_t nic, uint32_t *leaf, uint32_t *pod)
{
    const uint32_t at = switch_of(f, nic, 0);
    *leaf = f->graph->leaf_number[at];
    *pod = f->graph->pod[at];
}

// ---- routes -------------------------------------------------------------------------------------

// What a flow has to choose with.
struct chooser {
    uint32_t from, to, path, hop;
    uint64_t key;
};

static uint32_t choose(const struct sand_fabric *f, struct chooser *c, uint32_t n)
{
    c->hop++;
    if (f->spreading == SAND_SPREAD_HASH)
        return (uint32_t)(fabric_hash(f, c->hop, c->from, c->to, c->path) % n);
    const uint32_t chosen = (uint32_t)(c->key % n);
    c->key /= n;
    return chosen;
}

// The wire by which a flow leaves cell `at`: one that brings it nearer.
static uint32_t next_wire(const struct sand_fabric *f, uint32_t at, const uint8_t *hops,
                          struct chooser *c)
{
    const struct fabric_graph *g = f->graph;
    uint32_t ways = 0;
    for (uint32_t i = g->near_first[at]; i < g->near_first[at + 1]; i++)
        ways += hops[g->wires[g->near[i]].to] < hops[at] ? g->wires[g->near[i]].ways : 0;
    uint32_t chosen = choose(f, c, ways);
    for (uint32_t i = g->near_first[at];; i++) {
        const struct fabric_wire *wire = &g->wires[g->near[i]];
        if (hops[wire->to] >= hops[at])
            continue;
        if (chosen < wire->ways)
            return g->near[i];
        chosen -= wire->ways;
    }
}

static const uint8_t *hops_to(const struct fabric_graph *g, uint32_t target)
{
    return g->hops + (size_t)g->target_of[target] * g->n_cells;
}

// The planes a flow leaves and arrives in: the same, from planes[0] on, where that leads there.
static int find_planes(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t planes[2])
{
    const uint32_t n = f->link_planes, first = planes[0];
    for (uint32_t i = 0; i < n * n; i++) {
        planes[0] = (first + i / n) % n;
        planes[1] = (planes[0] + i % n) % n;
        if (hops_to(f->graph, cell_of(f, to, planes[1]))[cell_of(f, from, planes[0])] !=
            FABRIC_NO_WAY)
            return 1;
    }
    return 0;
}

static uint32_t route_in_network(const struct sand_fabric *f, uint32_t from, uint32_t to,
                                 uint32_t path, uint32_t attempt, uint32_t *links)
{
    const struct fabric_graph *g = f->graph;
    struct chooser c = {from, to, path + attempt * f->n_paths, 0,
                        (uint64_t)(f->n_rails > 1 ? to / f->nics_per_node : to) + attempt};
    uint32_t planes[2];
    planes[0] = sand_fabric_is_aggregate(f) ? (path + attempt) % f->link_planes
                                            : choose(f, &c, f->link_planes);
    if (!find_planes(f, from, to, planes))
        return SAND_NONE;
    const uint32_t target = cell_of(f, to, planes[1]);
    uint32_t n = 0, at = cell_of(f, from, planes[0]);
    const uint8_t *hops = hops_to(g, target);
    links[n++] = f->first[SAND_LINK_NIC_UP] + from * f->link_planes + planes[0];
    while (at != target) {
        const uint32_t wire = next_wire(f, at, hops, &c);
        links[n++] = first_wire(f) + wire;
        at = g->wires[wire].to;
    }
    links[n++] = f->first[SAND_LINK_NIC_DOWN] + to * f->link_planes + planes[1];
    return n;
}

static uint32_t route(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX])
{
    if (!fabric_relays(f, from, to))
        return route_in_network(f, from, to, path, attempt, links);
    const uint32_t relay = fabric_relay(f, from, to, links);
    if (relay == to)
        return 2;
    const uint32_t n = route_in_network(f, relay, to, path, attempt, links + 2);
    return n == SAND_NONE ? n : n + 2;
}

// As many as change something at a leaf, and its planes; after those a search finds a way.
static uint32_t attempts(const struct sand_fabric *f)
{
    enum { TRIED = 64 };
    return f->link_planes < TRIED ? TRIED : f->link_planes;
}

// ---- graph and names ----------------------------------------------------------------------------

static void ends(const struct sand_fabric *f, uint32_t link, uint32_t out[2])
{
    const unsigned link_class = f->links[link].link_class;
    if (link_class > SAND_LINK_NIC_DOWN) {
        out[0] = f->n_endpoints + f->graph->wires[link - first_wire(f)].from;
        out[1] = f->n_endpoints + f->graph->wires[link - first_wire(f)].to;
        return;
    }
    const uint32_t port = link - f->first[link_class], nic = port / f->link_planes;
    const int up = link_class == SAND_LINK_NIC_UP;
    out[up ? 0 : 1] = nic;
    out[up ? 1 : 0] = f->n_endpoints + cell_of(f, nic, port % f->link_planes);
}

static uint32_t reverse(const struct sand_fabric *f, uint32_t link)
{
    const uint32_t first = f->first[f->links[link].link_class];
    return first + ((link - first) ^ 1u);
}

static struct sand_fabric_owner owner(const struct sand_fabric *f, uint32_t link)
{
    const enum sand_link_class link_class = (enum sand_link_class)f->links[link].link_class;
    return (struct sand_fabric_owner){link_class, link - f->first[link_class], SAND_NONE, SAND_NONE,
                                      0};
}

// "leaf0", or "spine0+31" for it and 31 more.
static void cell_name(const struct fabric_graph *g, uint32_t cell, char name[40])
{
    const char *id = g->ids[g->cell_first[cell]];
    if (g->cell_size[cell] > 1)
        snprintf(name, 40, "%s+%" PRIu32, id, g->cell_size[cell] - 1);
    else
        snprintf(name, 40, "%s", id);
}

static void name(const struct sand_fabric *f, const struct sand_fabric_owner *at, char *buffer,
                 size_t size)
{
    char from[40], to[40];
    const struct fabric_wire *wire =
        &f->graph->wires[f->first[at->link_class] + at->owner - first_wire(f)];
    cell_name(f->graph, wire->from, from);
    cell_name(f->graph, wire->to, to);
    snprintf(buffer, size, "%s > %s", from, to);
}

const struct fabric_wiring fabric_wired = {shape, route, attempts, ends,  reverse,
                                           owner, name,  count,    place, rates};

struct sand_fabric_switch sand_fabric_wired_switch(const struct sand_fabric *fabric, uint32_t which)
{
    const struct fabric_graph *g = fabric->graph;
    return (struct sand_fabric_switch){g->ids[which], g->tier[which], g->pod[which]};
}

// ---- parts --------------------------------------------------------------------------------------

uint32_t fabric_wired_switch_at(const struct sand_fabric *fabric, uint32_t tier, uint32_t index)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < tier; i++)
        before += fabric->graph->n_tier[i];
    return fabric->graph->by_tier[before + index];
}

int fabric_wired_is_switch(const struct sand_fabric *fabric, const char *id, uint32_t *tier,
                           uint32_t *index)
{
    for (*tier = 0; *tier < 3; (*tier)++)
        for (*index = 0; *index < fabric->graph->n_tier[*tier]; (*index)++)
            if (strcmp(fabric->graph->ids[fabric_wired_switch_at(fabric, *tier, *index)], id) == 0)
                return 1;
    return 0;
}

uint32_t fabric_wired_cables(const struct sand_fabric *fabric, uint32_t link)
{
    return fabric->graph->wires[link - first_wire(fabric)].n_cables;
}

// Whether a wire is the one of its two directions that its cables are counted at.
static int is_counted(const struct sand_fabric *f, uint32_t wire)
{
    return sand_fabric_reverse(f, first_wire(f) + wire) > first_wire(f) + wire;
}

uint64_t fabric_wired_n_cables(const struct sand_fabric *fabric)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < fabric->graph->n_wires; i++)
        n += is_counted(fabric, i) ? fabric->graph->wires[i].n_cables : 0;
    return n;
}

uint32_t fabric_wired_link_of_cable(const struct sand_fabric *fabric, uint64_t k)
{
    for (uint32_t i = 0; i < fabric->graph->n_wires; i++) {
        const uint64_t n = is_counted(fabric, i) ? fabric->graph->wires[i].n_cables : 0;
        if (k < n)
            return first_wire(fabric) + i;
        k -= n;
    }
    return SAND_NONE;
}

double fabric_wired_length_m(const struct sand_fabric *fabric, uint32_t link)
{
    return link < first_wire(fabric) ? 0 : fabric->graph->wires[link - first_wire(fabric)].length_m;
}

// Of every wire at the switch's cell, the part that is the switch's.
enum sand_rc fabric_wired_switch_shares(const struct sand_fabric *fabric, uint32_t tier,
                                        uint32_t index, struct fabric_shares *shares)
{
    const struct fabric_graph *g = fabric->graph;
    const uint32_t at = fabric_wired_switch_at(fabric, tier, index), cell = g->cell_of[at];
    for (uint32_t i = g->near_first[cell]; i < g->near_first[cell + 1]; i++) {
        const uint32_t link = first_wire(fabric) + g->near[i];
        SAND_TRY(fabric_add_share(shares, link, g->cell_size[cell]));
        SAND_TRY(fabric_add_share(shares, sand_fabric_reverse(fabric, link), g->cell_size[cell]));
    }
    const uint32_t n = fabric->n_endpoints * fabric->link_planes;
    for (uint32_t i = 0; i < n; i++) {
        if (cell_of(fabric, i / fabric->link_planes, i % fabric->link_planes) != cell)
            continue;
        const uint32_t link = fabric->first[SAND_LINK_NIC_UP] + i;
        SAND_TRY(fabric_add_share(shares, link, g->cell_size[cell]));
        SAND_TRY(fabric_add_share(shares, sand_fabric_reverse(fabric, link), g->cell_size[cell]));
    }
    return SAND_OK;
}

// ---- bundles ------------------------------------------------------------------------------------

static uint32_t wired_bundle(const struct sand_fabric *bundles, const struct sand_fabric *cables,
                             uint32_t cable)
{
    const struct fabric_graph *g = bundles->graph;
    const struct fabric_wire *wire = &cables->graph->wires[cable - first_wire(cables)];
    const uint32_t from = g->cell_of[wire->from], to = g->cell_of[wire->to];
    for (uint32_t i = g->near_first[from]; i < g->near_first[from + 1]; i++)
        if (g->wires[g->near[i]].to == to)
            return first_wire(bundles) + g->near[i];
    return SAND_NONE;
}

uint32_t sand_fabric_bundle_of(const struct sand_fabric *bundles, const struct sand_fabric *cables,
                               uint32_t cable)
{
    const struct sand_fabric_owner at = sand_fabric_link_owner(cables, cable);
    uint32_t within = at.owner;
    if (at.link_class <= SAND_LINK_NIC_DOWN)
        within = (at.owner * cables->nics_per_node + at.port) * bundles->link_planes +
                 at.plane % bundles->link_planes;
    else if (bundles->graph != NULL)
        return wired_bundle(bundles, cables, cable);
    else if (at.link_class == SAND_LINK_GLOBAL)
        within = at.owner * (cables->groups - 1) + at.port % (cables->groups - 1);
    return bundles->first[at.link_class] + within;
}
