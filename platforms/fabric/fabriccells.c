// Collapses the switches of a wired fabric to cells of equal standing, and their cables to wires.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "fabricgraph.h"
#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"
#include "numbers.h"

// ---- colour refinement --------------------------------------------------------------------------

struct coloured {
    uint64_t colour;
    uint32_t index;
};

static int by_colour(const void *a, const void *b)
{
    const struct coloured *x = a, *y = b;
    if (x->colour != y->colour)
        return x->colour < y->colour ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static uint32_t count_colours(struct coloured *sorted, const uint64_t *colour, uint32_t n)
{
    uint32_t distinct = n > 0 ? 1 : 0;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct coloured){colour[i], i};
    qsort(sorted, n, sizeof *sorted, by_colour);
    for (uint32_t i = 1; i < n; i++)
        distinct += sorted[i].colour != sorted[i - 1].colour ? 1 : 0;
    return distinct;
}

// Switches with NICs by which NICs these are (sums, so that the order does not matter); the others
// by their tier.
static void colour_first(const struct fabric_graph *g, uint32_t n_endpoints, uint64_t *colour)
{
    for (size_t i = 0; i < (size_t)n_endpoints * g->n_planes; i++)
        colour[g->port[i]] += fabric_mix(i / g->n_planes + 1);
    for (uint32_t s = 0; s < g->n_switches; s++)
        if (g->leaf_number[s] == SAND_NONE)
            colour[s] = fabric_mix(~(uint64_t)g->tier[s]);
}

static uint64_t seen_from(uint64_t colour, const struct fabric_pair *pair)
{
    uint64_t bits;
    memcpy(&bits, &pair->capacity_Bps, sizeof bits);
    return fabric_mix(fabric_mix(colour ^ bits) + pair->n_cables);
}

// One round: a switch's colour and what colours its cables lead to, and how.
static void refine(const struct fabric_graph *g, const struct fabric_pair *pairs, uint32_t n_pairs,
                   const uint64_t *old, uint64_t *colour)
{
    for (uint32_t s = 0; s < g->n_switches; s++)
        colour[s] = fabric_mix(old[s]);
    for (uint32_t i = 0; i < n_pairs; i++) {
        colour[pairs[i].a] += seen_from(old[pairs[i].b], &pairs[i]);
        colour[pairs[i].b] += seen_from(old[pairs[i].a], &pairs[i]);
    }
}

// Numbers the cells by their first switches.
static void number_cells(struct fabric_graph *g, const struct coloured *sorted)
{
    uint32_t first = SAND_NONE;
    for (uint32_t i = 0; i < g->n_switches; i++) {
        if (i == 0 || sorted[i].colour != sorted[i - 1].colour)
            first = sorted[i].index;
        g->cell_of[sorted[i].index] = first;
    }
    for (uint32_t s = 0; s < g->n_switches; s++) {
        if (g->cell_of[s] == s) {
            g->cell_first[g->n_cells] = s;
            g->cell_of[s] = g->n_cells++;
        } else {
            g->cell_of[s] = g->cell_of[g->cell_of[s]];
        }
        g->cell_size[g->cell_of[s]]++;
    }
}

static enum sand_rc collapse(struct fabric_graph *g, const struct fabric_pair *pairs,
                             uint32_t n_pairs, uint32_t n_endpoints)
{
    uint64_t *old = sand_calloc(g->n_switches, sizeof *old);
    uint64_t *colour = sand_calloc(g->n_switches, sizeof *colour);
    struct coloured *sorted = sand_calloc(g->n_switches, sizeof *sorted);
    enum sand_rc rc = old && colour && sorted ? SAND_OK : SAND_ERR_NOMEM;
    if (rc == SAND_OK) {
        colour_first(g, n_endpoints, colour);
        for (uint32_t before = 0, n = count_colours(sorted, colour, g->n_switches); n > before;) {
            uint64_t *swap = old;
            old = colour;
            colour = swap;
            refine(g, pairs, n_pairs, old, colour);
            before = n;
            n = count_colours(sorted, colour, g->n_switches);
        }
        number_cells(g, sorted);
    }
    sand_free(old);
    sand_free(colour);
    sand_free(sorted);
    return rc;
}

static void keep_apart(struct fabric_graph *g)
{
    for (uint32_t s = 0; s < g->n_switches; s++) {
        g->cell_of[s] = g->cell_first[s] = s;
        g->cell_size[s] = 1;
    }
    g->n_cells = g->n_switches;
}

static int planes_are_one(const struct fabric_graph *g, uint32_t n_endpoints)
{
    for (size_t i = 0; i < (size_t)n_endpoints * g->n_planes; i++)
        if (g->cell_of[g->port[i]] != g->cell_of[g->port[i - i % g->n_planes]])
            return 0;
    return 1;
}

enum sand_rc fabric_graph_cells(struct fabric_graph *g, const struct fabric_pair *pairs,
                                uint32_t n_pairs, uint32_t n_endpoints, int aggregate)
{
    g->cell_of = sand_calloc(g->n_switches, sizeof *g->cell_of);
    g->cell_first = sand_calloc(g->n_switches, sizeof *g->cell_first);
    g->cell_size = sand_calloc(g->n_switches, sizeof *g->cell_size);
    if (!g->cell_of || !g->cell_first || !g->cell_size)
        return SAND_ERR_NOMEM;
    if (!aggregate)
        keep_apart(g);
    else
        SAND_TRY(collapse(g, pairs, n_pairs, n_endpoints));
    g->planes_are_one = planes_are_one(g, n_endpoints);
    return SAND_OK;
}

// ---- wires --------------------------------------------------------------------------------------

struct join {
    uint32_t a, b;   // cells
    uint32_t order;  // of the first cable between them
    uint32_t n;      // pairs of switches
    double each_Bps; // of every one of them; below 0: not alike
    struct fabric_wire wire;
};

static int by_cells(const void *a, const void *b)
{
    const struct join *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
    const struct join *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int is_above(const struct fabric_graph *g, uint32_t a, uint32_t b)
{
    const uint8_t x = g->tier[g->cell_first[a]], y = g->tier[g->cell_first[b]];
    return x != y ? x > y : a > b;
}

// Sorts the cables between the same two cells together and adds them up; equal ones by a product,
// which rounds once.
static uint32_t join_pairs(const struct fabric_graph *g, const struct fabric_pair *pairs,
                           uint32_t n_pairs, struct join *joins)
{
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < n_pairs; i++) {
        uint32_t a = g->cell_of[pairs[i].a], b = g->cell_of[pairs[i].b];
        if (a == b)
            continue; // no shortest way stays in a cell
        if (is_above(g, a, b)) {
            const uint32_t lower = b;
            b = a;
            a = lower;
        }
        joins[n++] = (struct join){a,
                                   b,
                                   i,
                                   1,
                                   pairs[i].capacity_Bps,
                                   {.n_cables = pairs[i].n_cables,
                                    .capacity_Bps = pairs[i].capacity_Bps,
                                    .length_m = pairs[i].length_m}};
    }
    if (n > 1)
        qsort(joins, n, sizeof *joins, by_cells);
    for (uint32_t i = 0; i < n; i++) {
        struct join *last = kept > 0 ? &joins[kept - 1] : NULL;
        if (last == NULL || last->a != joins[i].a || last->b != joins[i].b) {
            joins[kept++] = joins[i];
            continue;
        }
        last->n++;
        last->wire.n_cables += joins[i].wire.n_cables;
        last->wire.capacity_Bps += joins[i].wire.capacity_Bps;
        if (last->each_Bps != joins[i].each_Bps)
            last->each_Bps = -1;
    }
    for (uint32_t i = 0; i < kept; i++)
        if (joins[i].each_Bps > 0)
            joins[i].wire.capacity_Bps = joins[i].each_Bps * joins[i].n;
    if (kept > 1)
        qsort(joins, kept, sizeof *joins, by_order);
    return kept;
}

static enum sand_link_class class_of(const struct fabric_graph *g, const struct join *j)
{
    const uint32_t a = g->cell_first[j->a], b = g->cell_first[j->b];
    if (g->tier[a] == g->tier[b])
        return g->pod[a] == g->pod[b] ? SAND_LINK_LOCAL : SAND_LINK_GLOBAL;
    return g->tier[a] == 0 ? SAND_LINK_LEAF_UP : SAND_LINK_SPINE_UP;
}

// Where each join's upward wire goes, class after class; the way back is `back` further on.
static uint32_t place_wire(const struct fabric_graph *g, enum sand_link_class link_class,
                           uint32_t nth, uint32_t *back)
{
    uint32_t at = 0;
    for (unsigned c = 0; c < link_class; c++)
        at += g->n_of_class[c];
    *back = link_class < SAND_LINK_LOCAL ? g->n_of_class[link_class] : 1;
    return at + (link_class < SAND_LINK_LOCAL ? nth : 2 * nth);
}

static void put_wires(struct fabric_graph *g, const struct join *joins, uint32_t n,
                      uint32_t *wire_of)
{
    uint32_t next[SAND_LINK_CLASSES] = {0}, back;
    for (uint32_t i = 0; i < n; i++) {
        const enum sand_link_class link_class = class_of(g, &joins[i]);
        const uint32_t at = place_wire(g, link_class, next[link_class]++, &back);
        g->wires[at] = g->wires[at + back] = joins[i].wire;
        g->wires[at].from = g->wires[at + back].to = joins[i].a;
        g->wires[at].to = g->wires[at + back].from = joins[i].b;
        wire_of[2 * i] = at;
        wire_of[2 * i + 1] = at + back;
    }
}

// The wires that leave a cell, in the order of their cables.
static enum sand_rc put_near(struct fabric_graph *g, const uint32_t *wire_of)
{
    uint32_t *fill = sand_calloc(g->n_cells, sizeof *fill);
    if (fill == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < g->n_wires; i++)
        g->near_first[g->wires[i].from + 1]++;
    for (uint32_t c = 0; c < g->n_cells; c++)
        g->near_first[c + 1] += g->near_first[c];
    for (uint32_t i = 0; i < g->n_wires; i++) {
        const uint32_t from = g->wires[wire_of[i]].from;
        g->near[g->near_first[from] + fill[from]++] = wire_of[i];
    }
    sand_free(fill);
    return SAND_OK;
}

// Of the cables that leave a switch each gets the same part of the choice, in lowest terms.
static void set_ways(struct fabric_graph *g)
{
    for (uint32_t c = 0; c < g->n_cells; c++) {
        uint32_t common = 0;
        for (uint32_t i = g->near_first[c]; i < g->near_first[c + 1]; i++)
            common = sand_gcd(g->wires[g->near[i]].n_cables, common);
        for (uint32_t i = g->near_first[c]; i < g->near_first[c + 1]; i++)
            g->wires[g->near[i]].ways = g->wires[g->near[i]].n_cables / common;
    }
}

enum sand_rc fabric_graph_wires(struct fabric_graph *g, const struct fabric_pair *pairs,
                                uint32_t n_pairs)
{
    struct join *joins = sand_calloc(n_pairs, sizeof *joins);
    uint32_t n = joins ? join_pairs(g, pairs, n_pairs, joins) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const enum sand_link_class up = class_of(g, &joins[i]);
        g->n_of_class[up]++;
        g->n_of_class[up < SAND_LINK_LOCAL ? up + 1 : up]++;
    }
    g->n_wires = 2 * n;
    g->wires = sand_calloc(g->n_wires, sizeof *g->wires);
    g->near = sand_calloc(g->n_wires, sizeof *g->near);
    g->near_first = sand_calloc((size_t)g->n_cells + 1, sizeof *g->near_first);
    uint32_t *wire_of = sand_calloc(g->n_wires, sizeof *wire_of);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (joins && g->wires && g->near && g->near_first && wire_of) {
        put_wires(g, joins, n, wire_of);
        rc = put_near(g, wire_of);
    }
    if (rc == SAND_OK)
        set_ways(g);
    sand_free(joins);
    sand_free(wire_of);
    return rc;
}
