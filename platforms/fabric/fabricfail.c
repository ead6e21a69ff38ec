// Links and switches that are down, and the ways around them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "fabric.h"
#include "fabricgraph.h"
#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"

// The links that leave each vertex: links[first[v] .. first[v + 1]).
struct fabric_detour {
    uint32_t *first, *links;
};

void fabric_detour_free(struct fabric_detour *detour)
{
    if (detour == NULL)
        return;
    sand_free(detour->first);
    sand_free(detour->links);
    sand_free(detour);
}

static uint32_t n_vertices(const struct sand_fabric *f)
{
    return f->n_endpoints + f->n_switches;
}

static void sort_by_start(const struct sand_fabric *f, struct fabric_detour *detour)
{
    const uint32_t n = n_vertices(f);
    uint32_t ends[2];
    for (uint32_t l = f->first[SAND_LINK_NIC_UP]; l < f->n_links; l++) {
        sand_fabric_ends(f, l, ends);
        detour->first[ends[0] + 1]++;
    }
    for (uint32_t v = 0; v < n; v++)
        detour->first[v + 1] += detour->first[v];
    for (uint32_t l = f->n_links; l-- > f->first[SAND_LINK_NIC_UP];) {
        sand_fabric_ends(f, l, ends);
        // Filled from the back: first[v + 1] walks down to the start of v's links.
        detour->links[--detour->first[ends[0] + 1]] = l;
    }
    for (uint32_t v = 0; v < n; v++)
        detour->first[v] = detour->first[v + 1];
    detour->first[n] = f->n_links - f->first[SAND_LINK_NIC_UP];
}

enum sand_rc fabric_detour_open(struct sand_fabric *f, struct sand_diag *diag)
{
    if (f->detour != NULL)
        return SAND_OK;
    struct fabric_detour *made = sand_calloc(1, sizeof *made);
    if (made != NULL) {
        made->first = sand_calloc((size_t)n_vertices(f) + 1, sizeof *made->first);
        made->links = sand_calloc(f->n_links, sizeof *made->links);
    }
    if (made == NULL || made->first == NULL || made->links == NULL) {
        fabric_detour_free(made);
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory for routes around failures");
    }
    sort_by_start(f, made);
    f->detour = made;
    return SAND_OK;
}

// ---- finding a way ----

// Breadth first from `from`; by[v] = link that reached v + 1. NICs pass nothing on. Returns whether
// `to` was reached.
static int search(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t *by,
                  uint32_t *queue)
{
    const struct fabric_detour *detour = f->detour;
    uint32_t head = 0, tail = 0, ends[2];
    queue[tail++] = from;
    while (head < tail) {
        const uint32_t at = queue[head++];
        for (uint32_t i = detour->first[at]; i < detour->first[at + 1]; i++) {
            const uint32_t link = detour->links[i];
            sand_fabric_ends(f, link, ends);
            if (f->links[link].is_down || by[ends[1]] != 0 || ends[1] == from)
                continue;
            if (ends[1] < f->n_endpoints && ends[1] != to)
                continue;
            by[ends[1]] = link + 1;
            if (ends[1] == to)
                return 1;
            queue[tail++] = ends[1];
        }
    }
    return 0;
}

static uint32_t write_back(const struct sand_fabric *f, uint32_t from, uint32_t to,
                           const uint32_t *by, uint32_t *links)
{
    uint32_t n = 0, ends[2];
    for (uint32_t at = to; at != from; at = ends[0]) {
        if (n == SAND_ROUTE_MAX)
            return SAND_NONE;
        links[n++] = by[at] - 1;
        sand_fabric_ends(f, by[at] - 1, ends);
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        const uint32_t link = links[i];
        links[i] = links[n - 1 - i];
        links[n - 1 - i] = link;
    }
    return n;
}

static uint32_t find(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t *links)
{
    uint32_t *by = sand_calloc(n_vertices(f), sizeof *by);
    uint32_t *queue = sand_calloc(n_vertices(f), sizeof *queue);
    uint32_t n = SAND_NONE;
    if (by != NULL && queue != NULL && search(f, from, to, by, queue))
        n = write_back(f, from, to, by, links);
    sand_free(by);
    sand_free(queue);
    return n;
}

// A relay over the scale-up domain needs no network to its own node, and the network beyond.
uint32_t fabric_detour_find(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                            uint32_t links[SAND_ROUTE_MAX])
{
    uint32_t primary[SAND_ROUTE_MAX];
    const uint32_t n = fabric->wiring->route(fabric, from, to, 0, 0, primary);
    if (n == SAND_NONE || fabric->links[primary[0]].link_class > SAND_LINK_SCALEUP_IN)
        return find(fabric, from, to, links);
    if (n < 3 || fabric->links[primary[0]].is_down || fabric->links[primary[1]].is_down)
        return SAND_NONE;
    uint32_t ends[2];
    sand_fabric_ends(fabric, primary[2], ends);
    const uint32_t rest = find(fabric, ends[0], to, links + 2);
    links[0] = primary[0];
    links[1] = primary[1];
    return rest == SAND_NONE || rest + 2 > SAND_ROUTE_MAX ? SAND_NONE : rest + 2;
}

// ---- failing ----

enum sand_rc sand_fabric_fail_link(struct sand_fabric *fabric, uint32_t link,
                                   struct sand_diag *diag)
{
    if (link >= fabric->n_links)
        return sand_fail(diag, SAND_ERR_INPUT, "there is no link %" PRIu32 " of %" PRIu32, link,
                         fabric->n_links);
    SAND_TRY(fabric_detour_open(fabric, diag));
    fabric->links[link].is_down = 1;
    fabric->links[sand_fabric_reverse(fabric, link)].is_down = 1;
    return SAND_OK;
}

// One of `paths` that make up a bundle goes: the rest carry on.
static void lose(struct sand_fabric_link *link, uint32_t paths)
{
    if (link->lost >= paths)
        return;
    const double left = paths - link->lost;
    link->lost++;
    if (link->lost == paths)
        link->is_down = 1;
    else
        link->speed *= (left - 1) / left;
}

uint32_t fabric_tier_size(const struct sand_fabric *f, uint32_t tier)
{
    if (f->kind == SAND_FABRIC_WIRED)
        return tier <= 2 ? f->graph->n_tier[tier] : 0;
    if (f->kind >= SAND_FABRIC_DRAGONFLY)
        return tier == 0 ? f->n_switches : 0;
    const uint32_t per_plane = tier == 0 ? f->n_leaves : tier == 1 ? f->n_spines : f->n_cores;
    return tier <= 2 ? per_plane * f->n_planes : 0;
}

enum sand_rc fabric_add_share(struct fabric_shares *shares, uint32_t link, uint32_t paths)
{
    void *items = shares->items;
    SAND_TRY(sand_grow(&items, &shares->capacity, shares->n + 1, sizeof *shares->items));
    shares->items = items;
    shares->items[shares->n++] = (struct fabric_share){link, paths};
    return SAND_OK;
}

// Links from .. to - 1 of a class, and of the other direction.
static enum sand_rc share_class(const struct sand_fabric *f, enum sand_link_class up, uint32_t from,
                                uint32_t to, uint32_t paths, struct fabric_shares *shares)
{
    for (unsigned c = up; c <= up + 1u; c++)
        for (uint32_t i = from; i < to; i++)
            SAND_TRY(fabric_add_share(shares, f->first[c] + i, paths));
    return SAND_OK;
}

static enum sand_rc share_leaf(const struct sand_fabric *f, uint32_t leaf,
                               struct fabric_shares *shares)
{
    uint32_t ends[2];
    if (f->leaf_trunks > 0 && f->first[SAND_LINK_LEAF_UP] != f->first[SAND_LINK_LEAF_DOWN])
        SAND_TRY(share_class(f, SAND_LINK_LEAF_UP, leaf, leaf + 1, f->n_planes, shares));
    for (uint32_t nic = 0; nic < f->n_endpoints; nic++) {
        sand_fabric_ends(f, f->first[SAND_LINK_NIC_UP] + nic, ends);
        if (ends[1] == f->n_endpoints + leaf)
            SAND_TRY(share_class(f, SAND_LINK_NIC_UP, nic, nic + 1, f->n_planes, shares));
    }
    return SAND_OK;
}

// Of a dragonfly+: the cables of one spine in the bundles between its group and the others.
static enum sand_rc share_globals(const struct sand_fabric *f, uint32_t spine,
                                  struct fabric_shares *shares)
{
    const uint32_t group = spine / f->spines_per_pod, first = spine % f->spines_per_pod;
    const uint32_t ports = f->group_links * (f->groups - 1);
    for (uint32_t q = first * f->global_links; q < (first + 1) * f->global_links && q < ports;
         q++) {
        const uint32_t link =
            f->first[SAND_LINK_GLOBAL] + group * (f->groups - 1) + q % (f->groups - 1);
        SAND_TRY(fabric_add_share(shares, link, f->group_links));
        SAND_TRY(fabric_add_share(shares, sand_fabric_reverse(f, link), f->group_links));
    }
    return SAND_OK;
}

// Of an aggregate: the leaf's plane of its uplinks and of its NICs; the spine's share of its pod's
// leaves and of the pod; the core's share of every pod.
static enum sand_rc share_in_aggregate(const struct sand_fabric *f, uint32_t tier, uint32_t index,
                                       struct fabric_shares *shares)
{
    if (tier == 0)
        return share_leaf(f, index % f->n_leaves, shares);
    if (tier == 2)
        return share_class(f, SAND_LINK_SPINE_UP, 0, f->n_pods, f->n_planes * f->n_cores, shares);
    const uint32_t pod = index % f->n_spines / f->spines_per_pod;
    const uint32_t paths = f->n_planes * f->spines_per_pod;
    uint32_t end = (pod + 1) * f->leaves_per_pod;
    end = end < f->n_leaves ? end : f->n_leaves;
    SAND_TRY(share_class(f, SAND_LINK_LEAF_UP, pod * f->leaves_per_pod, end, paths, shares));
    if (f->kind == SAND_FABRIC_DRAGONFLY_PLUS)
        return share_globals(f, index, shares);
    return f->n_tiers == 3 ? share_class(f, SAND_LINK_SPINE_UP, pod, pod + 1, paths, shares)
                           : SAND_OK;
}

static uint32_t vertex_of(const struct sand_fabric *f, uint32_t tier, uint32_t index)
{
    if (f->kind >= SAND_FABRIC_DRAGONFLY)
        return f->n_endpoints + index;
    const uint32_t size = tier == 0 ? f->n_leaves : tier == 1 ? f->n_spines : f->n_cores;
    const uint32_t before = tier == 0 ? 0 : tier == 1 ? f->n_leaves : f->n_leaves + f->n_spines;
    return f->n_endpoints + index / size * (f->n_leaves + f->n_spines + f->n_cores) + before +
           index % size;
}

enum sand_rc fabric_switch_shares(const struct sand_fabric *fabric, uint32_t tier, uint32_t index,
                                  struct fabric_shares *shares)
{
    if (fabric->kind == SAND_FABRIC_WIRED)
        return fabric_wired_switch_shares(fabric, tier, index, shares);
    if (fabric->kind < SAND_FABRIC_DRAGONFLY && sand_fabric_is_aggregate(fabric))
        return share_in_aggregate(fabric, tier, index, shares);
    const struct fabric_detour *detour = fabric->detour;
    const uint32_t vertex = vertex_of(fabric, tier, index);
    for (uint32_t i = detour->first[vertex]; i < detour->first[vertex + 1]; i++) {
        SAND_TRY(fabric_add_share(shares, detour->links[i], 1));
        SAND_TRY(fabric_add_share(shares, sand_fabric_reverse(fabric, detour->links[i]), 1));
    }
    return SAND_OK;
}

enum sand_rc sand_fabric_fail_switch(struct sand_fabric *fabric, uint32_t tier, uint32_t index,
                                     struct sand_diag *diag)
{
    struct fabric_shares shares = {0};
    if (index >= fabric_tier_size(fabric, tier))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "there is no switch %" PRIu32 " in tier %" PRIu32 ", which has %" PRIu32,
                         index, tier, fabric_tier_size(fabric, tier));
    SAND_TRY(fabric_detour_open(fabric, diag));
    enum sand_rc rc = fabric_switch_shares(fabric, tier, index, &shares);
    for (size_t i = 0; rc == SAND_OK && i < shares.n; i++)
        lose(&fabric->links[shares.items[i].link], shares.items[i].paths);
    sand_free(shares.items);
    return rc == SAND_OK ? rc : sand_fail(diag, rc, "no memory for the links of a switch");
}
