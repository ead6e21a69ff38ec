// Checks symmetries, and joins what they map onto each other.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "graphsymmetry.h"

#include <string.h>

#include "ids.h"
#include "mem.h"
#include "unionfind.h"

// The edge between two switches; SAND_NONE: none.
static uint32_t edge_between(const struct sand_graph *g, uint32_t a, uint32_t b)
{
    uint32_t low = g->first[a], high = g->first[a + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (g->near[middle] == b)
            return g->via[middle];
        if (g->near[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return SAND_NONE;
}

static int keeps_switches(const struct sand_graph *g, const uint32_t *map, uint8_t *seen)
{
    for (uint32_t s = 0; s < g->n_switches; s++) {
        const struct sand_graph_switch *x = &g->switches[s], *y = &g->switches[map[s]];
        if (seen[map[s]] || x->tier != y->tier || x->plane != y->plane ||
            x->n_endpoints != y->n_endpoints)
            return 0;
        seen[map[s]] = 1;
    }
    return 1;
}

static int keeps_edges(const struct sand_graph *g, const uint32_t *map)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const uint32_t other = edge_between(g, map[g->edges[i].a], map[g->edges[i].b]);
        if (other == SAND_NONE || g->edges[other].capacity_Bps != g->edges[i].capacity_Bps)
            return 0;
    }
    return 1;
}

enum sand_rc graph_find_symmetries(struct sand_graph *g, const struct sand_fabric *f)
{
    if (f->kind != SAND_FABRIC_TORUS)
        return SAND_OK;
    uint8_t *seen = sand_calloc(g->n_switches, 1);
    g->symmetry = sand_calloc((size_t)f->n_dims * g->n_switches, sizeof *g->symmetry);
    const int has_all = seen && g->symmetry;
    for (uint32_t d = 0; d < f->n_dims && has_all; d++) {
        uint32_t *map = g->symmetry + (size_t)g->n_symmetries * g->n_switches;
        for (uint32_t s = 0; s < g->n_switches; s++)
            map[s] = sand_fabric_torus_next(f, s, d);
        memset(seen, 0, g->n_switches);
        g->n_symmetries += keeps_switches(g, map, seen) && keeps_edges(g, map);
    }
    sand_free(seen);
    return has_all ? SAND_OK : SAND_ERR_NOMEM;
}

enum sand_rc graph_find_orbits(const struct sand_graph *g, uint32_t *orbit)
{
    uint32_t *up = sand_calloc(g->n_switches, sizeof *up);
    if (up == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t s = 0; s < g->n_switches; s++)
        up[s] = s;
    for (uint32_t k = 0; k < g->n_symmetries; k++)
        for (uint32_t s = 0; s < g->n_switches; s++)
            sand_union_join(up, s, g->symmetry[(size_t)k * g->n_switches + s]);
    for (uint32_t s = 0; s < g->n_switches; s++) {
        const int counts = g->switches[s].n_endpoints > 0 && g->switches[s].plane == 0;
        orbit[s] = counts ? sand_union_root(up, s) : SAND_NONE;
    }
    sand_free(up);
    return SAND_OK;
}
