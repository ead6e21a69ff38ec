// How long cables are and what a way takes: from lengths given, or from where things stand.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nodes stand in racks, racks side by side in rows, rows side by side in halls, halls one after
// another along their rows. Switches have no place of their own in a description: one stands in the
// middle (the mean place) of what hangs from it, tier after tier. A cable runs along the row and
// across the rows, never slantwise.
#include <math.h>

#include "fabricparts.h"
#include "fabricwiring.h"
#include "mem.h"

struct spot {
    double x_m, y_m, n; // sums over n things until they are divided
};

static struct spot spot_of_node(const struct sand_cluster *c, uint32_t node)
{
    const uint32_t per_rack = c->nodes_per_rack > 0 ? c->nodes_per_rack : 1;
    const uint32_t rack = node / per_rack;
    const uint32_t row = c->racks_per_row > 0 ? rack / c->racks_per_row : 0;
    const uint32_t hall = c->rows_per_hall > 0 ? row / c->rows_per_hall : 0;
    const uint32_t in_row = c->racks_per_row > 0 ? rack % c->racks_per_row : rack;
    const uint32_t in_hall = c->rows_per_hall > 0 ? row % c->rows_per_hall : row;
    return (struct spot){in_row * c->rack_pitch_m + hall * c->hall_pitch_m,
                         in_hall * c->row_pitch_m, 1};
}

// Puts every switch that links of this class lead to in the middle of what they come from.
static void place_above(const struct sand_fabric *f, enum sand_link_class up, struct spot *spots)
{
    uint32_t ends[2];
    for (uint32_t l = f->first[up]; l < f->first[up + 1]; l++) {
        sand_fabric_ends(f, l, ends);
        spots[ends[1]].x_m += spots[ends[0]].x_m;
        spots[ends[1]].y_m += spots[ends[0]].y_m;
        spots[ends[1]].n += 1;
    }
    for (uint32_t l = f->first[up]; l < f->first[up + 1]; l++) {
        sand_fabric_ends(f, l, ends);
        struct spot *at = &spots[ends[1]];
        if (at->n > 1)
            *at = (struct spot){at->x_m / at->n, at->y_m / at->n, 1};
    }
}

static struct spot *place_all(const struct sand_fabric *f, const struct sand_cluster *c)
{
    struct spot *spots = sand_calloc((size_t)f->n_endpoints + f->n_switches, sizeof *spots);
    if (spots == NULL)
        return NULL;
    for (uint32_t nic = 0; nic < f->n_endpoints; nic++)
        spots[nic] = spot_of_node(c, nic / f->nics_per_node);
    place_above(f, SAND_LINK_NIC_UP, spots);
    place_above(f, SAND_LINK_LEAF_UP, spots);
    place_above(f, SAND_LINK_SPINE_UP, spots);
    return spots;
}

static enum sand_cable_run run_of(enum sand_link_class link_class)
{
    switch (link_class) {
    case SAND_LINK_NIC_UP:
    case SAND_LINK_NIC_DOWN:
        return SAND_CABLE_NODE;
    case SAND_LINK_SPINE_UP:
    case SAND_LINK_SPINE_DOWN:
    case SAND_LINK_GLOBAL:
        return SAND_CABLE_CORE;
    default:
        return SAND_CABLE_LEAF;
    }
}

// Metres of link `l`; given lengths go before places. 0: not known.
static double length_m(const struct sand_fabric *f, const struct sand_cluster *c,
                       const struct spot *spots, uint32_t l)
{
    const double given[] = {c->fabric.node_cable_m, c->fabric.leaf_cable_m, c->fabric.core_cable_m};
    const enum sand_cable_run run = run_of((enum sand_link_class)f->links[l].link_class);
    uint32_t ends[2];
    const double written_m = f->graph ? fabric_wired_length_m(f, l) : 0;
    if (written_m > 0)
        return written_m;
    if (given[run] > 0 || spots == NULL)
        return given[run];
    sand_fabric_ends(f, l, ends);
    const struct spot *a = &spots[ends[0]], *b = &spots[ends[1]];
    return fabs(a->x_m - b->x_m) + fabs(a->y_m - b->y_m) + c->cable_slack_m;
}

// Of the switch that a link leads into; the first of a way is part of the NICs' latency, and no
// way ends in one.
static double switch_s(const struct sand_fabric_spec *s, enum sand_link_class link_class)
{
    const double any_s = s->latency == SAND_LATENCY_ROUTE && link_class > SAND_LINK_NIC_DOWN
                             ? s->link->switch_latency_s
                             : 0;
    switch (link_class) {
    case SAND_LINK_LEAF_UP:
    case SAND_LINK_SPINE_DOWN:
        return any_s + s->spine_latency_s;
    case SAND_LINK_SPINE_UP:
        return any_s + s->core_latency_s;
    case SAND_LINK_GLOBAL:
        return any_s + (s->kind == SAND_FABRIC_DRAGONFLY_PLUS ? s->spine_latency_s : 0);
    default:
        return any_s;
    }
}

static void set_links(struct sand_fabric *f, const struct sand_cluster *c, const struct spot *spots)
{
    double sum_m[SAND_CABLE_RUNS] = {0}, n[SAND_CABLE_RUNS] = {0};
    const double metre_s =
        c->fabric.latency == SAND_LATENCY_ROUTE ? c->fabric.link->metre_latency_s : 0;
    for (uint32_t l = f->first[SAND_LINK_NIC_UP]; l < f->n_links; l++) {
        const enum sand_link_class link_class = (enum sand_link_class)f->links[l].link_class;
        const double metres = length_m(f, c, spots, l);
        const enum sand_cable_run run = run_of(link_class);
        const double cables =
            f->graph && link_class > SAND_LINK_NIC_DOWN ? fabric_wired_cables(f, l) : 1;
        sum_m[run] += metres * cables;
        n[run] += cables;
        f->longest_m[run] = fmax(f->longest_m[run], metres);
        f->links[l].latency_s = metres * metre_s + switch_s(&c->fabric, link_class);
        f->has_latency |= f->links[l].latency_s > 0;
    }
    for (int run = 0; run < SAND_CABLE_RUNS; run++)
        f->cable_m[run] = n[run] > 0 ? sum_m[run] / n[run] : 0;
}

enum sand_rc fabric_set_latencies(struct sand_fabric *fabric, const struct sand_cluster *cluster,
                                  struct sand_diag *diag)
{
    const int has_places =
        cluster->rack_pitch_m > 0 || cluster->row_pitch_m > 0 || cluster->hall_pitch_m > 0;
    struct spot *spots = has_places ? place_all(fabric, cluster) : NULL;
    if (has_places && spots == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "cluster \"%s\": no memory for its places",
                         cluster->name);
    set_links(fabric, cluster, spots);
    sand_free(spots);
    return SAND_OK;
}

double sand_fabric_latency_s(const struct sand_fabric *fabric, const uint32_t *links, uint32_t n)
{
    double sum_s = 0;
    for (uint32_t i = 0; fabric->has_latency && i < n; i++)
        sum_s += fabric->links[links[i]].latency_s;
    return sum_s;
}
