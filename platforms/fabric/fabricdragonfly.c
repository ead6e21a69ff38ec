// Dragonfly: groups of routers that are all joined, and groups that are all joined.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Kim, Dally, Scott, Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008: g
// groups of a routers with p endpoints and h global links each. Any two groups are joined by
// m = a h / (g - 1) cables, rounded down, numbered as fabricgroups.h says; ports left over stay
// empty.
// Order of the links within a class:
//   LOCAL    (group * a + router) * (a - 1) + other router, itself left out
//   GLOBAL   group * m (g - 1) + port
#include <inttypes.h>
#include <stdio.h>

#include "fabricgroups.h"
#include "fabricports.h"
#include "ids.h"

// ---- shape ----

static enum sand_rc check(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    SAND_TRY(fabric_check_groups(cluster, "dragonfly", s->routers, diag));
    if (s->groups == 0 || s->routers == 0 || s->endpoints_per_router == 0 || s->groups > 65536 ||
        s->routers > 65536 || s->endpoints_per_router > 65536 || s->global_links > 65536)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": dragonfly of %" PRIu32 " groups, %" PRIu32
                         " routers a group and %" PRIu32 " endpoints a router; each is 1 to 65536",
                         cluster->name, s->groups, s->routers, s->endpoints_per_router);
    const uint64_t room = (uint64_t)s->groups * s->routers * s->endpoints_per_router;
    const uint64_t need = (uint64_t)cluster->n_nodes * cluster->node_type->n_nics;
    if (need > room)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": %" PRIu64 " NICs, but the dragonfly holds %" PRIu64
                         "; add groups (at most %" PRIu64 ") or endpoints per router",
                         cluster->name, need, room, (uint64_t)s->routers * s->global_links + 1);
    SAND_TRY(fabric_check_breakout(cluster, 1, diag));
    const uint64_t radix =
        fabric_ports_below(cluster, s->endpoints_per_router, 1, 1) + s->routers - 1 +
        s->global_links +
        fabric_storage_per_leaf(cluster, 1 + (need - 1) / s->endpoints_per_router, 1) +
        fabric_storage_per_top(cluster, (uint64_t)s->groups * s->routers);
    if (s->radix > 0 && radix > s->radix)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a router needs %" PRIu64 " ports, but the radix is "
                         "%" PRIu32
                         "; serve fewer endpoints per router, or write a breakout if NIC "
                         "ports share switch ports",
                         cluster->name, radix, s->radix);
    if (s->spreading != SAND_SPREAD_STATIC && s->spreading != SAND_SPREAD_HASH)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": the spreading of a dragonfly is static or hash, over the "
                         "cables that join two groups",
                         cluster->name);
    return SAND_OK;
}

static enum sand_rc shape(const struct sand_cluster *cluster, struct sand_fabric *f,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag)
{
    SAND_TRY(check(cluster, diag));
    const struct sand_fabric_spec *s = &cluster->fabric;
    f->n_endpoints = cluster->n_nodes * cluster->node_type->n_nics;
    f->groups = s->groups;
    f->routers = s->routers;
    f->endpoints_per_router = f->endpoints_per_leaf = s->endpoints_per_router;
    f->global_links = s->global_links;
    f->group_links =
        s->groups > 1 ? (uint32_t)((uint64_t)s->routers * s->global_links / (s->groups - 1)) : 0;
    f->nonminimal = s->nonminimal;
    f->n_switches = s->groups * s->routers;
    f->nic_ports = 1;
    classes[SAND_LINK_LOCAL] =
        (struct fabric_class){(uint64_t)f->n_switches * (s->routers - 1), s->link->rate_Bps};
    classes[SAND_LINK_GLOBAL] = (struct fabric_class){
        (uint64_t)s->groups * f->group_links * (s->groups - 1), s->link->rate_Bps};
    return SAND_OK;
}

static void count(const struct sand_fabric *f, struct sand_fabric_counts *counts)
{
    counts->routers = f->n_switches;
    counts->endpoint_cables = f->n_endpoints;
    counts->local_cables = (uint64_t)f->n_switches * (f->routers - 1) / 2;
    counts->global_cables = (uint64_t)f->groups * (f->groups - 1) / 2 * f->group_links;
}

static void place(const struct sand_fabric *f, uint32_t nic, uint32_t *leaf, uint32_t *pod)
{
    *leaf = nic / f->endpoints_per_router;
    *pod = *leaf / f->routers;
}

// ---- routes ----

static uint32_t local_link(const struct sand_fabric *f, uint32_t group, uint32_t from, uint32_t to)
{
    const uint32_t other = to < from ? to : to - 1;
    return f->first[SAND_LINK_LOCAL] + (group * f->routers + from) * (f->routers - 1) + other;
}

static uint32_t attempts(const struct sand_fabric *f)
{
    return f->group_links > 0 ? f->group_links : 1;
}

// From router *at of `group` to `target` by the cable that `key` picks; *at is where it ends.
static void cross(const struct sand_fabric *f, uint32_t group, uint32_t target, uint64_t key,
                  uint32_t *at, uint32_t *links, uint32_t *n)
{
    const uint32_t copy = (uint32_t)(key % f->group_links);
    const uint32_t out = fabric_port_to(f, group, target, copy);
    if (out / f->global_links != *at)
        links[(*n)++] = local_link(f, group, *at, out / f->global_links);
    links[(*n)++] = f->first[SAND_LINK_GLOBAL] + group * fabric_group_ports(f) + out;
    *at = fabric_port_to(f, target, group, copy) / f->global_links;
}

static uint32_t route(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX])
{
    const uint32_t a = f->routers, p = f->endpoints_per_router;
    uint32_t at = from / p % a, group = from / p / a;
    const uint32_t last = to / p % a, target = to / p / a;
    const uint32_t third = fabric_third_group(f, from, to, path, group, target);
    const uint64_t key =
        attempt +
        (f->spreading == SAND_SPREAD_HASH ? fabric_hash(f, 1, from, to, path) : (uint64_t)to);
    uint32_t n = 0;
    links[n++] = f->first[SAND_LINK_NIC_UP] + from;
    if (third != SAND_NONE) {
        cross(f, group, third, key, &at, links, &n);
        group = third;
    }
    if (group != target)
        cross(f, group, target, key, &at, links, &n);
    if (at != last)
        links[n++] = local_link(f, target, at, last);
    links[n++] = f->first[SAND_LINK_NIC_DOWN] + to;
    return n;
}

// ---- graph and names ----

static struct sand_fabric_owner owner(const struct sand_fabric *f, uint32_t link)
{
    const enum sand_link_class link_class = (enum sand_link_class)f->links[link].link_class;
    const uint32_t index = link - f->first[link_class];
    if (link_class == SAND_LINK_GLOBAL)
        return fabric_split(link_class, index, fabric_group_ports(f));
    struct sand_fabric_owner at = fabric_split(link_class, index, f->routers - 1);
    if (at.port >= at.owner % f->routers)
        at.port++;
    return at;
}

static void ends(const struct sand_fabric *f, uint32_t link, uint32_t out[2])
{
    const struct sand_fabric_owner at = sand_fabric_link_owner(f, link);
    const uint32_t routers = f->n_endpoints;
    if (at.link_class <= SAND_LINK_NIC_DOWN) {
        const uint32_t nic = at.owner * f->nics_per_node + at.port;
        const int up = at.link_class == SAND_LINK_NIC_UP;
        out[up ? 0 : 1] = nic;
        out[up ? 1 : 0] = routers + nic / f->endpoints_per_router;
    } else if (at.link_class == SAND_LINK_LOCAL) {
        out[0] = routers + at.owner;
        out[1] = routers + at.owner / f->routers * f->routers + at.port;
    } else {
        uint32_t other, port;
        fabric_far_end(f, at.owner, at.port, &other, &port);
        out[0] = routers + at.owner * f->routers + at.port / f->global_links;
        out[1] = routers + other * f->routers + port / f->global_links;
    }
}

static uint32_t reverse(const struct sand_fabric *f, uint32_t link)
{
    const struct sand_fabric_owner at = owner(f, link);
    if (at.link_class == SAND_LINK_LOCAL)
        return local_link(f, at.owner / f->routers, at.port, at.owner % f->routers);
    uint32_t other, port;
    fabric_far_end(f, at.owner, at.port, &other, &port);
    return f->first[SAND_LINK_GLOBAL] + other * fabric_group_ports(f) + port;
}

static void name(const struct sand_fabric *f, const struct sand_fabric_owner *at, char *buffer,
                 size_t size)
{
    if (at->link_class == SAND_LINK_GLOBAL)
        snprintf(buffer, size, "group%" PRIu32 "-port%" PRIu32, at->owner, at->port);
    else
        snprintf(buffer, size, "group%" PRIu32 "-router%" PRIu32 "-router%" PRIu32,
                 at->owner / f->routers, at->owner % f->routers, at->port);
}

const struct fabric_wiring fabric_dragonfly = {shape, route, attempts, ends,  reverse,
                                               owner, name,  count,    place, NULL};
