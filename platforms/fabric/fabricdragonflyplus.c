// Dragonfly+: groups that are two-level trees, whose spines join all groups.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi, "Dragonfly+: Low Cost Topology for Scaling
// Datacenters", HiPINEB 2017 (Flajslik, Borch, Parker call it megafly, ISC 2018): every leaf of a
// group is joined to every spine of it, by `leaf_links` cables that are one link; spines have
// `global_links` cables to other groups, numbered as fabricgroups.h says. Minimal ways are leaf,
// spine, spine, leaf; the others turn in a third group, at a leaf if they leave it by another spine
// than they came to.
// Order of the links within a class (S spines and m (g - 1) global ports a group):
//   LEAF_UP, LEAF_DOWN   aggregated: leaf                 else: leaf * S + spine of the group
//   GLOBAL               aggregated: group * (g - 1) + further on - 1
//                        else: group * m (g - 1) + port
#include <inttypes.h>
#include <stdio.h>

#include "fabricgroups.h"
#include "fabricports.h"
#include "ids.h"

// ---- shape ----

static enum sand_rc check_sizes(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const uint32_t sizes[] = {s->groups,       s->leaves_per_pod, s->spines, s->endpoints_per_leaf,
                              s->global_links, s->leaf_links};
    static const char *const names[] = {"groups",       "leaves",    "spines", "endpoints per leaf",
                                        "global links", "leaf links"};
    for (int i = 0; i < 6; i++)
        if ((sizes[i] == 0 && !(i == 4 && s->groups == 1)) || sizes[i] > 65536)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\": dragonfly+ with %" PRIu32 " %s; each is 1 to 65536",
                             cluster->name, sizes[i], names[i]);
    SAND_TRY(fabric_check_breakout(cluster, 1, diag));
    const uint64_t nics = (uint64_t)cluster->n_nodes * cluster->node_type->n_nics;
    const uint64_t leaf =
        fabric_ports_below(cluster, s->endpoints_per_leaf, 1, 1) +
        (uint64_t)s->spines * s->leaf_links +
        fabric_storage_per_leaf(cluster, 1 + (nics - 1) / s->endpoints_per_leaf, 1);
    const uint64_t spine = (uint64_t)s->leaves_per_pod * s->leaf_links + s->global_links +
                           fabric_storage_per_top(cluster, (uint64_t)s->groups * s->spines);
    if (s->radix > 0 && (leaf > s->radix || spine > s->radix))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a leaf needs %" PRIu64 " ports and a spine %" PRIu64
                         ", but the radix is %" PRIu32
                         "; serve fewer endpoints per leaf, or write a breakout if NIC ports share "
                         "switch ports",
                         cluster->name, leaf, spine, s->radix);
    return SAND_OK;
}

static enum sand_rc check(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    SAND_TRY(fabric_check_groups(cluster, "dragonfly+", s->spines, diag));
    SAND_TRY(check_sizes(cluster, diag));
    const uint64_t room = (uint64_t)s->groups * s->leaves_per_pod * s->endpoints_per_leaf;
    const uint64_t need = (uint64_t)cluster->n_nodes * cluster->node_type->n_nics;
    if (need > room)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": %" PRIu64 " NICs, but the dragonfly+ holds %" PRIu64
                         "; add groups (at most %" PRIu64 ") or endpoints per leaf",
                         cluster->name, need, room, (uint64_t)s->spines * s->global_links + 1);
    if (s->nonminimal > 0 &&
        (s->spreading == SAND_SPREAD_EVEN || s->spreading == SAND_SPREAD_ADAPTIVE))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": where paths are aggregated no flow goes over a third "
                         "group; nonminimal needs spreading hash (or static)",
                         cluster->name);
    return SAND_OK;
}

static void set_shape(const struct sand_cluster *cluster, struct sand_fabric *f)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const int aggregate = sand_fabric_is_aggregate(f);
    f->n_endpoints = cluster->n_nodes * cluster->node_type->n_nics;
    f->groups = f->n_pods = s->groups;
    f->leaves_per_pod = s->leaves_per_pod;
    f->spines_per_pod = s->spines;
    f->n_leaves = s->groups * s->leaves_per_pod;
    f->n_spines = s->groups * s->spines;
    f->endpoints_per_leaf = s->endpoints_per_leaf;
    f->global_links = s->global_links;
    f->group_links =
        s->groups > 1 ? (uint32_t)((uint64_t)s->spines * s->global_links / (s->groups - 1)) : 0;
    f->nonminimal = s->nonminimal;
    f->n_tiers = 2;
    f->leaf_trunks = aggregate ? 1 : s->spines;
    f->nic_ports = 1;
    f->leaf_up_ports = s->spines * s->leaf_links;
    f->n_switches = f->n_leaves + (aggregate ? f->groups : f->n_spines);
}

static enum sand_rc shape(const struct sand_cluster *cluster, struct sand_fabric *f,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag)
{
    SAND_TRY(check(cluster, diag));
    const struct sand_fabric_spec *s = &cluster->fabric;
    set_shape(cluster, f);
    const double cable_Bps =
        s->link->rate_Bps * (s->spreading == SAND_SPREAD_ADAPTIVE ? s->adaptive_efficiency : 1);
    classes[SAND_LINK_LEAF_UP] = classes[SAND_LINK_LEAF_DOWN] = (struct fabric_class){
        (uint64_t)f->n_leaves * f->leaf_trunks, cable_Bps * f->leaf_up_ports / f->leaf_trunks};
    const uint64_t pairs = (uint64_t)f->groups * (f->groups - 1);
    classes[SAND_LINK_GLOBAL] = sand_fabric_is_aggregate(f)
                                    ? (struct fabric_class){pairs, cable_Bps * f->group_links}
                                    : (struct fabric_class){pairs * f->group_links, cable_Bps};
    return SAND_OK;
}

static void count(const struct sand_fabric *f, struct sand_fabric_counts *counts)
{
    counts->leaves = f->n_leaves;
    counts->spines = f->n_spines;
    counts->endpoint_cables = f->n_endpoints;
    counts->leaf_spine_cables = (uint64_t)f->n_leaves * f->leaf_up_ports;
    counts->global_cables = (uint64_t)f->groups * (f->groups - 1) / 2 * f->group_links;
}

static void place(const struct sand_fabric *f, uint32_t nic, uint32_t *leaf, uint32_t *pod)
{
    *leaf = nic / f->endpoints_per_leaf;
    *pod = *leaf / f->leaves_per_pod;
}

// ---- routes ----

static uint32_t leaf_link(const struct sand_fabric *f, enum sand_link_class link_class,
                          uint32_t leaf, uint32_t spine)
{
    return f->first[link_class] + leaf * f->leaf_trunks + spine % f->leaf_trunks;
}

static uint32_t global_link(const struct sand_fabric *f, uint32_t group, uint32_t port)
{
    const uint32_t ports = f->groups - 1;
    return f->first[SAND_LINK_GLOBAL] + (sand_fabric_is_aggregate(f)
                                             ? group * ports + port % ports
                                             : group * fabric_group_ports(f) + port);
}

static uint32_t attempts(const struct sand_fabric *f)
{
    if (sand_fabric_is_aggregate(f))
        return 1;
    return f->group_links > f->leaf_trunks ? f->group_links : f->leaf_trunks;
}

// Cables to a group follow each other spine after spine: neighbouring keys take different spines.
static uint32_t copy_of(const struct sand_fabric *f, uint64_t key)
{
    const uint32_t k = (uint32_t)(key % f->group_links), spines = f->spines_per_pod;
    return f->group_links % spines == 0 ? k % spines * (f->group_links / spines) + k / spines : k;
}

// From group to group by the cable that `key` picks, starting at `spine` (SAND_NONE: at `leaf`).
// Returns the spine of `target` that the cable ends at.
static uint32_t cross(const struct sand_fabric *f, uint32_t group, uint32_t target, uint32_t leaf,
                      uint32_t spine, uint64_t key, uint32_t *links, uint32_t *n)
{
    const uint32_t copy = copy_of(f, key);
    const uint32_t out = fabric_port_to(f, group, target, copy);
    if (spine != SAND_NONE && spine != out / f->global_links)
        links[(*n)++] = leaf_link(f, SAND_LINK_LEAF_DOWN, leaf, spine);
    if (spine != out / f->global_links)
        links[(*n)++] = leaf_link(f, SAND_LINK_LEAF_UP, leaf, out / f->global_links);
    links[(*n)++] = global_link(f, group, out);
    return fabric_port_to(f, target, group, copy) / f->global_links;
}

static uint32_t route(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX])
{
    const uint32_t leaf = from / f->endpoints_per_leaf, last = to / f->endpoints_per_leaf;
    const uint32_t group = leaf / f->leaves_per_pod, target = last / f->leaves_per_pod;
    const uint64_t key =
        attempt +
        (f->spreading == SAND_SPREAD_HASH ? fabric_hash(f, 1, from, to, path) : (uint64_t)to);
    uint32_t n = 0;
    links[n++] = f->first[SAND_LINK_NIC_UP] + from;
    if (leaf != last && group == target) {
        const uint32_t spine = (uint32_t)(key % f->spines_per_pod);
        links[n++] = leaf_link(f, SAND_LINK_LEAF_UP, leaf, spine);
        links[n++] = leaf_link(f, SAND_LINK_LEAF_DOWN, last, spine);
    } else if (leaf != last) {
        const uint32_t third = fabric_third_group(f, from, to, path, group, target);
        const uint32_t turn = third * f->leaves_per_pod + (uint32_t)(key % f->leaves_per_pod);
        uint32_t at = third != SAND_NONE ? third : target;
        uint32_t spine = cross(f, group, at, leaf, SAND_NONE, key, links, &n);
        if (at != target)
            spine = cross(f, at, target, turn, spine, key, links, &n);
        links[n++] = leaf_link(f, SAND_LINK_LEAF_DOWN, last, spine);
    }
    links[n++] = f->first[SAND_LINK_NIC_DOWN] + to;
    return n;
}

// ---- graph and names ----

static struct sand_fabric_owner owner(const struct sand_fabric *f, uint32_t link)
{
    const enum sand_link_class link_class = (enum sand_link_class)f->links[link].link_class;
    const uint32_t index = link - f->first[link_class];
    const int aggregate = sand_fabric_is_aggregate(f);
    if (link_class == SAND_LINK_GLOBAL)
        return fabric_split(link_class, index, aggregate ? f->groups - 1 : fabric_group_ports(f));
    if (aggregate)
        return (struct sand_fabric_owner){link_class, index, SAND_NONE, SAND_NONE, 0};
    return fabric_split(link_class, index, f->spines_per_pod);
}

// The vertex of a group's switch that holds global port `port`.
static uint32_t spine_of_port(const struct sand_fabric *f, uint32_t group, uint32_t port)
{
    const uint32_t spines = f->n_endpoints + f->n_leaves;
    return sand_fabric_is_aggregate(f)
               ? spines + group
               : spines + group * f->spines_per_pod + port / f->global_links;
}

static void ends(const struct sand_fabric *f, uint32_t link, uint32_t out[2])
{
    const struct sand_fabric_owner at = sand_fabric_link_owner(f, link);
    const int up = at.link_class % 2 == 0;
    uint32_t below, above;
    if (at.link_class == SAND_LINK_GLOBAL) {
        uint32_t other, port;
        fabric_far_end(f, at.owner, at.port, &other, &port);
        out[0] = spine_of_port(f, at.owner, at.port);
        out[1] = spine_of_port(f, other, port);
        return;
    }
    if (at.link_class <= SAND_LINK_NIC_DOWN) {
        below = at.owner * f->nics_per_node + at.port;
        above = f->n_endpoints + below / f->endpoints_per_leaf;
    } else {
        const uint32_t group = at.owner / f->leaves_per_pod;
        below = f->n_endpoints + at.owner;
        above = f->n_endpoints + f->n_leaves +
                (at.port == SAND_NONE ? group : group * f->spines_per_pod + at.port);
    }
    out[up ? 0 : 1] = below;
    out[up ? 1 : 0] = above;
}

static uint32_t reverse(const struct sand_fabric *f, uint32_t link)
{
    const struct sand_fabric_owner at = owner(f, link);
    uint32_t other, port;
    fabric_far_end(f, at.owner, at.port, &other, &port);
    return global_link(f, other, port);
}

static void name(const struct sand_fabric *f, const struct sand_fabric_owner *at, char *buffer,
                 size_t size)
{
    const char *way = at->link_class % 2 == 0 ? "up" : "down";
    if (at->link_class == SAND_LINK_GLOBAL && sand_fabric_is_aggregate(f))
        snprintf(buffer, size, "group%" PRIu32 "-group%" PRIu32, at->owner,
                 (at->owner + at->port + 1) % f->groups);
    else if (at->link_class == SAND_LINK_GLOBAL)
        snprintf(buffer, size, "group%" PRIu32 "-port%" PRIu32, at->owner, at->port);
    else if (at->port == SAND_NONE)
        snprintf(buffer, size, "leaf%" PRIu32 " %s", at->owner, way);
    else
        snprintf(buffer, size, "leaf%" PRIu32 "-spine%" PRIu32 " %s", at->owner, at->port, way);
}

const struct fabric_wiring fabric_dragonfly_plus = {shape, route, attempts, ends,  reverse,
                                                    owner, name,  count,    place, NULL};
