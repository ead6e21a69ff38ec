// Torus: every NIC has a router with two links in each dimension, all dimensions closed to rings.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// NIC n stands at x = n mod X, y = n / X mod Y, z = n / X / Y; of a torus of cubes n mod block^3 in
// the same way in cube n / block^3, and the cubes among each other. Order of the links of class
// TORUS: (NIC * dimensions + dimension) * 2 + way, way 0 towards larger coordinates. With circuits
// (Jouppi et al., "TPU v4", ISCA 2023) the links that leave a cube run through optical circuit
// switches: the two faces of a dimension's position share one, so there are 3 block^2 of them (48
// for cubes of 4x4x4), each with two ports per cube. Of a twisted torus (fabrictwist.h) the links
// that close a ring lead elsewhere; their numbers are the same.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricslice.h"
#include "fabrictwist.h"
#include "fabricwiring.h"
#include "ids.h"

// ---- shape ----

static enum sand_rc check(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const struct sand_node_type *type = cluster->node_type;
    if (type == NULL || type->n_nics == 0 || type->n_gpus == 0 || cluster->n_nodes == 0 ||
        s->link == NULL || type->nic == NULL ||
        (type->scaleup != SAND_SCALEUP_NONE && type->scaleup_link == NULL))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a torus needs nodes with GPUs, NICs and link types",
                         cluster->name);
    const uint64_t need = (uint64_t)cluster->n_nodes * type->n_nics;
    uint64_t room = 1, hops = 0;
    for (int d = 0; d < 3; d++) {
        if (s->size[d] == 0 || s->size[d] > 65536 || (d < 2 && s->size[d] < 2))
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\": torus size %" PRIu32 "; x and y are 2 to 65536, z is "
                             "1 (two dimensions) to 65536",
                             cluster->name, s->size[d]);
        room *= s->size[d];
        hops += s->size[d] / 2;
    }
    if (need != room)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": %" PRIu64 " NICs, but the torus of %" PRIu32 " x %" PRIu32
                         " x %" PRIu32 " has %" PRIu64 " places; they must be equal",
                         cluster->name, need, s->size[0], s->size[1], s->size[2], room);
    if (hops + 2 > SAND_ROUTE_MAX - 8)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": the longest way in the torus is %" PRIu64
                         " links, more than the %d of a route; make its sides more equal",
                         cluster->name, hops, SAND_ROUTE_MAX - 10);
    for (int d = 0; s->block > 0 && d < 3; d++)
        if (s->size[d] % s->block != 0)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\": torus size %" PRIu32 " is no multiple of the cubes' "
                             "%" PRIu32,
                             cluster->name, s->size[d], s->block);
    if (s->block > 0 && s->block * s->block * s->block % type->n_nics != 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a cube of %" PRIu32 " places is no whole number of nodes "
                         "with %" PRIu32 " NICs",
                         cluster->name, s->block * s->block * s->block, type->n_nics);
    if (s->twisted && !(s->block > 0 && s->circuits) && !fabric_twist_fits(s->size))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a torus of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                         " cannot be twisted: its sides have to be n and 2n, at least one of each "
                         "(4 x 4 x 8, 4 x 8 x 8); leave out twisted, or change a side",
                         cluster->name, s->size[0], s->size[1], s->size[2]);
    if (s->spreading != SAND_SPREAD_STATIC)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a torus routes dimension after dimension; spreading is "
                         "static",
                         cluster->name);
    return SAND_OK;
}

static enum sand_rc shape(const struct sand_cluster *cluster, struct sand_fabric *f,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag)
{
    SAND_TRY(check(cluster, diag));
    const struct sand_fabric_spec *s = &cluster->fabric;
    f->n_endpoints = f->n_switches = cluster->n_nodes * cluster->node_type->n_nics;
    f->endpoints_per_leaf = 1;
    f->n_dims = s->size[2] > 1 ? 3 : 2;
    f->block = s->block;
    f->has_circuits = s->block > 0 && s->circuits;
    for (int d = 0; d < 3; d++)
        f->size[d] = s->size[d];
    f->twisted = s->twisted;
    if (f->twisted && fabric_twist_fits(f->size) &&
        fabric_twist_open(f->size, &f->twist) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM,
                         "cluster \"%s\": no memory for the ways of its torus", cluster->name);
    classes[SAND_LINK_TORUS] =
        (struct fabric_class){(uint64_t)f->n_endpoints * f->n_dims * 2, s->link->rate_Bps};
    return SAND_OK;
}

// A cube has a link per way and position of a face; two ways make one cable.
static void count(const struct sand_fabric *f, struct sand_fabric_counts *counts)
{
    counts->routers = f->n_endpoints;
    counts->torus_cables = (uint64_t)f->n_endpoints * f->n_dims;
    if (!f->has_circuits)
        return;
    const uint64_t face = (uint64_t)f->block * f->block;
    const uint64_t cubes = f->n_endpoints / (face * f->block);
    counts->circuit_switches = face * f->n_dims;
    counts->optical_cables = cubes * face * f->n_dims * 2; // from every face to a circuit switch
    counts->torus_cables -= cubes * face * f->n_dims;
}

// Cubes in a dimension, or places without cubes.
static uint32_t cubes_in(const struct sand_fabric *f, uint32_t dim)
{
    return f->slice ? f->slice->grid[dim] : f->size[dim] / (f->block > 0 ? f->block : 1);
}

static uint32_t side(const struct sand_fabric *f, uint32_t dim)
{
    return cubes_in(f, dim) * (f->block > 0 ? f->block : 1);
}

static void split(const struct sand_fabric *f, uint32_t nic, uint32_t at[3])
{
    const uint32_t b = f->block > 0 ? f->block : 1, inside = nic % (b * b * b);
    uint32_t cube = nic / (b * b * b);
    if (f->slice)
        cube = f->slice->place_of[cube];
    const uint32_t x = cubes_in(f, 0), y = cubes_in(f, 1);
    at[0] = cube % x * b + inside % b;
    at[1] = cube / x % y * b + inside / b % b;
    at[2] = cube / x / y * b + inside / b / b;
}

static uint32_t join(const struct sand_fabric *f, const uint32_t at[3])
{
    const uint32_t b = f->block > 0 ? f->block : 1;
    const uint32_t inside = (at[2] % b * b + at[1] % b) * b + at[0] % b;
    uint32_t cube = (at[2] / b * cubes_in(f, 1) + at[1] / b) * cubes_in(f, 0) + at[0] / b;
    if (f->slice)
        cube = f->slice->cube_at[cube];
    return cube * b * b * b + inside;
}

static int is_in_slice(const struct sand_fabric *f, uint32_t nic)
{
    return !f->slice || f->slice->place_of[nic / (f->block * f->block * f->block)] != SAND_NONE;
}

static void place(const struct sand_fabric *f, uint32_t nic, uint32_t *leaf, uint32_t *pod)
{
    *leaf = nic;
    *pod = f->block > 0 ? nic / (f->block * f->block * f->block) : 0;
}

// ---- routes ----

static uint32_t torus_link(const struct sand_fabric *f, uint32_t nic, uint32_t dim, uint32_t way)
{
    return f->first[SAND_LINK_TORUS] + (nic * f->n_dims + dim) * 2 + way;
}

static uint32_t attempts(const struct sand_fabric *f)
{
    (void)f;
    return 1;
}

static void step(const struct sand_fabric *f, uint32_t at[3], uint32_t dim, uint32_t way)
{
    const uint32_t size = side(f, dim);
    if (f->twist)
        fabric_twist_step(f->twist, at, dim, way);
    else
        at[dim] = way == 0 ? (at[dim] + 1) % size : (at[dim] + size - 1) % size;
}

// Even or odd: where a flow starts in a dimension, and both its ends in the others.
static uint32_t parity(const uint32_t from[3], const uint32_t to[3], uint32_t dim)
{
    uint32_t sum = from[dim];
    for (uint32_t d = 0; d < 3; d++)
        sum += d == dim ? 0 : from[d] + to[d];
    return sum % 2;
}

// The short way round; half way round, even and odd flows go opposite ways, so that both ways carry
// as much.
static uint32_t way_round(const struct sand_fabric *f, const uint32_t from[3], const uint32_t to[3],
                          uint32_t dim, uint32_t *n_steps)
{
    const uint32_t size = side(f, dim), up = (to[dim] + size - from[dim]) % size;
    if (f->twist) {
        const int16_t *steps = fabric_twist_way(f->twist, from, to);
        *n_steps = (uint32_t)abs(steps[dim]);
        return steps[dim] < 0;
    }
    if (f->slice && f->slice->is_mesh) {
        *n_steps = to[dim] > from[dim] ? to[dim] - from[dim] : from[dim] - to[dim];
        return to[dim] < from[dim];
    }
    const uint32_t way = 2 * up == size ? parity(from, to, dim) : 2 * up > size;
    *n_steps = way == 0 ? up : size - up;
    return way;
}

static uint32_t route(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX])
{
    (void)path;
    (void)attempt;
    uint32_t start[3], at[3], target[3], n = 0;
    if (!is_in_slice(f, from) || !is_in_slice(f, to))
        return SAND_NONE;
    split(f, from, start);
    split(f, from, at);
    split(f, to, target);
    links[n++] = f->first[SAND_LINK_NIC_UP] + from;
    for (uint32_t d = 0; d < f->n_dims; d++) {
        uint32_t steps, way = way_round(f, start, target, d, &steps);
        for (; steps > 0; steps--) {
            links[n++] = torus_link(f, join(f, at), d, way);
            step(f, at, d, way);
        }
    }
    links[n++] = f->first[SAND_LINK_NIC_DOWN] + to;
    return n;
}

// ---- graph and names ----

static struct sand_fabric_owner owner(const struct sand_fabric *f, uint32_t link)
{
    return fabric_split(SAND_LINK_TORUS, link - f->first[SAND_LINK_TORUS], 2 * f->n_dims);
}

static uint32_t neighbour(const struct sand_fabric *f, const struct sand_fabric_owner *owner_at)
{
    uint32_t at[3];
    const uint32_t dim = owner_at->port / 2;
    if (!is_in_slice(f, owner_at->owner))
        return owner_at->owner; // nobody's circuits
    split(f, owner_at->owner, at);
    step(f, at, dim, owner_at->port % 2);
    return join(f, at);
}

static void ends(const struct sand_fabric *f, uint32_t link, uint32_t out[2])
{
    const struct sand_fabric_owner at = sand_fabric_link_owner(f, link);
    if (at.link_class == SAND_LINK_TORUS) {
        out[0] = f->n_endpoints + at.owner;
        out[1] = f->n_endpoints + neighbour(f, &at);
        return;
    }
    const uint32_t nic = at.owner * f->nics_per_node + at.port;
    const int up = at.link_class == SAND_LINK_NIC_UP;
    out[up ? 0 : 1] = nic;
    out[up ? 1 : 0] = f->n_endpoints + nic;
}

static uint32_t reverse(const struct sand_fabric *f, uint32_t link)
{
    const struct sand_fabric_owner at = owner(f, link);
    return torus_link(f, neighbour(f, &at), at.port / 2, 1 - at.port % 2);
}

static void name(const struct sand_fabric *f, const struct sand_fabric_owner *at, char *buffer,
                 size_t size)
{
    (void)f;
    snprintf(buffer, size, "nic%" PRIu32 " %c%c", at->owner, "xyz"[at->port / 2],
             at -> port % 2 == 0 ? '+' : '-');
}

// ---- halves ----

// Links, one way, between the halves of the places in a dimension: two for every line along it, and
// in a long dimension of a twisted torus those that close the rings of the short ones.
static uint64_t links_across(const struct sand_fabric *f, uint32_t dim)
{
    uint64_t n = 2 * (uint64_t)(f->n_endpoints / f->size[dim]);
    for (uint32_t d = 0; f->twist && d < f->n_dims; d++)
        if (2 * f->size[d] == f->size[dim])
            n += f->n_endpoints / f->size[d];
    return n;
}

// The dimension across which the halves have fewest links in common, the first of equals.
static uint32_t weakest_dim(const struct sand_fabric *f)
{
    uint32_t weakest = 0;
    for (uint32_t d = 1; d < f->n_dims; d++)
        if (links_across(f, d) < links_across(f, weakest))
            weakest = d;
    return weakest;
}

uint32_t sand_fabric_torus_next(const struct sand_fabric *f, uint32_t router, uint32_t dim)
{
    const struct sand_fabric_owner at = {.owner = router, .port = 2 * dim};
    return neighbour(f, &at);
}

uint32_t sand_fabric_torus_order(const struct sand_fabric *f, uint32_t node)
{
    uint32_t at[3];
    split(f, node * f->nics_per_node, at);
    return at[weakest_dim(f)];
}

const struct fabric_wiring fabric_torus = {shape, route, attempts, ends,  reverse,
                                           owner, name,  count,    place, NULL};
