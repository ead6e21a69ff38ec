// Trees: fat trees, rail-optimised units, rails alone; any number of planes.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Order of the links within a class (L leaves, P pods of S spines, t cores one spine is joined to):
//   LEAF_UP, LEAF_DOWN     aggregated: leaf    else: (plane * L + leaf) * S + spine of the pod
//   SPINE_UP, SPINE_DOWN   aggregated: pod     else: ((plane * P + pod) * S + spine) * t + trunk
//                          (none without cores)
// Aggregated planes are one: a NIC sprays over all of them.
// Leaf of NIC n: fat tree n / endpoints_per_leaf; rails (NIC j of node i): unit(i) * NICs + j, so
// that the leaves of a unit follow each other; rail only: j * units + unit(i), a rail being a pod.
// Irregular trees look the unit (fat tree: the leaf) of a node up.
#include <inttypes.h>
#include <stdio.h>

#include "fabricplan.h"
#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"

// ---- shape ----

static int joins_pods(const struct sand_fabric *f)
{
    return f->n_tiers == 3;
}

static void set_shape(const struct sand_fabric_spec *spec, const struct sand_fabric_plan *plan,
                      struct sand_fabric *f)
{
    const int aggregate = sand_fabric_is_aggregate(f);
    f->n_endpoints = plan->n_endpoints;
    f->n_leaves = plan->n_leaves;
    f->n_pods = plan->n_pods;
    f->spines_per_pod = plan->spines_per_pod;
    f->n_spines = plan->n_pods * plan->spines_per_pod;
    f->n_cores = plan->n_cores;
    f->endpoints_per_leaf = plan->endpoints_per_leaf;
    f->leaves_per_pod = plan->leaves_per_pod;
    f->n_tiers = spec->n_tiers;
    f->n_rails = spec->kind == SAND_FABRIC_FAT_TREE ? 1 : f->nics_per_node;
    f->cross_rail = spec->cross_rail;
    f->n_planes = plan->n_planes;
    f->link_planes = aggregate ? 1 : plan->n_planes;
    f->leaf_trunks = aggregate ? 1 : plan->spines_per_pod;
    f->spine_trunks = aggregate ? 1 : plan->cores_per_spine;
    f->nic_ports = plan->nic_ports;
    f->leaf_up_ports = plan->leaf_up_ports;
    f->spine_up_ports = plan->spine_up_ports;
    f->n_switches = aggregate ? f->n_leaves + f->n_pods + 1
                              : f->n_planes * (f->n_leaves + f->n_spines + f->n_cores);
}

static enum sand_rc place_nodes(const struct sand_cluster *cluster, struct sand_fabric *f,
                                struct sand_diag *diag)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    if (spec->n_leaf_groups == 0)
        return SAND_OK;
    f->unit_of_node = sand_calloc(f->n_nodes, sizeof *f->unit_of_node);
    if (f->unit_of_node == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "cluster \"%s\": no memory for its places",
                         cluster->name);
    uint32_t node = 0, unit = 0;
    for (size_t i = 0; i < spec->n_leaf_groups; i++)
        for (uint32_t leaf = 0; leaf < spec->leaf_groups[i].n_leaves; leaf++, unit++)
            for (uint32_t n = 0; n < spec->leaf_groups[i].n_nodes; n++)
                f->unit_of_node[node++] = unit; // the plan has checked that they fit
    return SAND_OK;
}

static enum sand_rc shape(const struct sand_cluster *cluster, struct sand_fabric *f,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag)
{
    struct sand_fabric_plan plan;
    SAND_TRY(sand_fabric_plan_make(cluster, &plan, diag));
    set_shape(&cluster->fabric, &plan, f);
    SAND_TRY(place_nodes(cluster, f, diag));
    const double efficiency =
        f->spreading == SAND_SPREAD_ADAPTIVE ? cluster->fabric.adaptive_efficiency : 1;
    const int aggregate = sand_fabric_is_aggregate(f);
    const double planes = aggregate ? f->n_planes : 1;
    if (plan.spines_per_pod > 0)
        classes[SAND_LINK_LEAF_UP] = classes[SAND_LINK_LEAF_DOWN] =
            (struct fabric_class){(uint64_t)f->link_planes * f->n_leaves * f->leaf_trunks,
                                  plan.leaf_up_Bps * planes * efficiency / f->leaf_trunks};
    if (joins_pods(f))
        classes[SAND_LINK_SPINE_UP] = classes[SAND_LINK_SPINE_DOWN] =
            aggregate
                ? (struct fabric_class){f->n_pods, plan.pod_up_Bps * planes * efficiency}
                : (struct fabric_class){(uint64_t)f->link_planes * f->n_spines * f->spine_trunks,
                                        plan.pod_up_Bps / f->spines_per_pod / f->spine_trunks};
    return SAND_OK;
}

static void count(const struct sand_fabric *f, struct sand_fabric_counts *counts)
{
    const uint64_t planes = f->n_planes;
    counts->leaves = planes * f->n_leaves;
    counts->spines = planes * f->n_spines;
    counts->cores = planes * f->n_cores;
    counts->endpoint_cables = planes * f->n_endpoints * f->nic_ports;
    counts->leaf_spine_cables = planes * f->n_leaves * f->leaf_up_ports;
    counts->spine_core_cables = planes * f->n_spines * f->spine_up_ports;
}

// ---- places ----

static uint32_t leaf_of(const struct sand_fabric *f, uint32_t nic)
{
    const uint32_t node = nic / f->nics_per_node;
    if (f->kind == SAND_FABRIC_FAT_TREE)
        return f->unit_of_node ? f->unit_of_node[node] : nic / f->endpoints_per_leaf;
    const uint32_t unit = f->unit_of_node ? f->unit_of_node[node] : node / f->endpoints_per_leaf;
    const uint32_t rail = nic % f->nics_per_node;
    return f->kind == SAND_FABRIC_RAIL_ONLY ? rail * f->leaves_per_pod + unit
                                            : unit * f->nics_per_node + rail;
}

static void place(const struct sand_fabric *f, uint32_t nic, uint32_t *leaf, uint32_t *pod)
{
    *leaf = leaf_of(f, nic);
    *pod = *leaf / f->leaves_per_pod;
}

// ---- routes ----

// Which of the equal-cost paths: plane, spine of the pod, core trunk of the spine.
struct choice {
    uint32_t plane, spine, trunk;
};

static struct choice choose(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                            uint32_t attempt)
{
    const uint32_t planes = f->link_planes, spines = f->leaf_trunks > 0 ? f->leaf_trunks : 1;
    const uint32_t trunks = f->spine_trunks > 0 ? f->spine_trunks : 1;
    struct choice c;
    if (f->spreading == SAND_SPREAD_HASH) {
        path += attempt * f->n_paths; // what is down leaves the table: the hash picks anew
        c.plane = (uint32_t)(fabric_hash(f, 1, from, to, path) % planes);
        c.spine = (uint32_t)(fabric_hash(f, 2, from, to, path) % spines);
        c.trunk = (uint32_t)(fabric_hash(f, 3, from, to, path) % trunks);
        return c;
    }
    // The NICs below a rail's leaf are a whole number of nodes apart.
    const uint32_t key = f->n_rails > 1 ? to / f->nics_per_node : to;
    c.plane = key % planes;
    c.spine = key / planes % spines;
    c.trunk = key / planes / spines % trunks;
    if (attempt == 0)
        return c;
    uint64_t index = ((uint64_t)c.trunk * spines + c.spine) * planes + c.plane + attempt;
    c.plane = (uint32_t)(index % planes);
    c.spine = (uint32_t)(index / planes % spines);
    c.trunk = (uint32_t)(index / planes / spines % trunks);
    return c;
}

static uint32_t attempts(const struct sand_fabric *f)
{
    const uint32_t trunks = joins_pods(f) ? f->spine_trunks : 1;
    return f->link_planes * (f->leaf_trunks > 0 ? f->leaf_trunks : 1) * trunks;
}

static uint32_t leaf_link(const struct sand_fabric *f, enum sand_link_class link_class,
                          uint32_t leaf, const struct choice *c)
{
    const uint32_t at = c->plane * f->n_leaves + leaf;
    return f->first[link_class] + at * f->leaf_trunks + c->spine;
}

static uint32_t spine_link(const struct sand_fabric *f, enum sand_link_class link_class,
                           uint32_t pod, const struct choice *c)
{
    if (sand_fabric_is_aggregate(f))
        return f->first[link_class] + pod;
    const uint32_t spine = (c->plane * f->n_pods + pod) * f->spines_per_pod + c->spine;
    return f->first[link_class] + spine * f->spine_trunks + c->trunk;
}

static uint32_t route_in_network(const struct sand_fabric *f, uint32_t from, uint32_t to,
                                 const struct choice *c, uint32_t *links)
{
    const uint32_t from_leaf = leaf_of(f, from), to_leaf = leaf_of(f, to);
    uint32_t n = 0;
    links[n++] = f->first[SAND_LINK_NIC_UP] + from * f->link_planes + c->plane;
    if (from_leaf != to_leaf) {
        const uint32_t from_pod = from_leaf / f->leaves_per_pod;
        const uint32_t to_pod = to_leaf / f->leaves_per_pod;
        if (f->leaf_trunks == 0 || (from_pod != to_pod && !joins_pods(f)))
            return SAND_NONE;
        links[n++] = leaf_link(f, SAND_LINK_LEAF_UP, from_leaf, c);
        if (from_pod != to_pod) {
            links[n++] = spine_link(f, SAND_LINK_SPINE_UP, from_pod, c);
            links[n++] = spine_link(f, SAND_LINK_SPINE_DOWN, to_pod, c);
        }
        links[n++] = leaf_link(f, SAND_LINK_LEAF_DOWN, to_leaf, c);
    }
    links[n++] = f->first[SAND_LINK_NIC_DOWN] + to * f->link_planes + c->plane;
    return n;
}

static uint32_t route(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX])
{
    if (!fabric_relays(f, from, to)) {
        const struct choice c = choose(f, from, to, path, attempt);
        return route_in_network(f, from, to, &c, links);
    }
    const uint32_t relay = fabric_relay(f, from, to, links);
    if (relay == to)
        return 2;
    const struct choice c = choose(f, relay, to, path, attempt);
    const uint32_t n = route_in_network(f, relay, to, &c, links + 2);
    return n == SAND_NONE ? n : n + 2;
}

// ---- graph and names ----

// Which core trunk `trunk` of a pod's spine `spine` ends at; see fabricplan.h for the wiring.
static uint32_t core_of_trunk(const struct sand_fabric *f, uint32_t spine, uint32_t trunk)
{
    if (f->n_cores % f->spines_per_pod == 0)
        return spine * f->spine_trunks + trunk;
    return f->spine_trunks == 1 ? spine % f->n_cores : trunk;
}

static struct sand_fabric_owner owner(const struct sand_fabric *f, uint32_t link)
{
    const enum sand_link_class link_class = (enum sand_link_class)f->links[link].link_class;
    uint32_t index = link - f->first[link_class];
    if (sand_fabric_is_aggregate(f))
        return (struct sand_fabric_owner){link_class, index, SAND_NONE, SAND_NONE, 0};
    const int at_leaf = link_class <= SAND_LINK_LEAF_DOWN;
    uint32_t trunk = 0;
    if (!at_leaf) {
        trunk = index % f->spine_trunks;
        index /= f->spine_trunks;
    }
    struct sand_fabric_owner at = fabric_split(link_class, index, f->spines_per_pod);
    at.plane = at.owner / (at_leaf ? f->n_leaves : f->n_pods);
    at.owner %= at_leaf ? f->n_leaves : f->n_pods;
    if (!at_leaf)
        at.core = core_of_trunk(f, at.port, trunk);
    return at;
}

static void ends_of_aggregate(const struct sand_fabric *f, const struct sand_fabric_owner *at,
                              uint32_t ends[2])
{
    const uint32_t leaves = f->n_endpoints, pods = leaves + f->n_leaves;
    if (at->link_class <= SAND_LINK_LEAF_DOWN) {
        ends[0] = leaves + at->owner;
        ends[1] = pods + at->owner / f->leaves_per_pod;
    } else {
        ends[0] = pods + at->owner;
        ends[1] = pods + f->n_pods;
    }
}

static void ends_of_cable(const struct sand_fabric *f, const struct sand_fabric_owner *at,
                          uint32_t ends[2])
{
    const uint32_t per_plane = f->n_leaves + f->n_spines + f->n_cores;
    const uint32_t leaves = f->n_endpoints + at->plane * per_plane;
    const uint32_t spines = leaves + f->n_leaves, cores = spines + f->n_spines;
    if (at->link_class <= SAND_LINK_LEAF_DOWN) {
        ends[0] = leaves + at->owner;
        ends[1] = spines + at->owner / f->leaves_per_pod * f->spines_per_pod + at->port;
    } else {
        ends[0] = spines + at->owner * f->spines_per_pod + at->port;
        ends[1] = cores + at->core;
    }
}

static void ends(const struct sand_fabric *f, uint32_t link, uint32_t ends_out[2])
{
    const struct sand_fabric_owner at = sand_fabric_link_owner(f, link);
    if (at.link_class <= SAND_LINK_NIC_DOWN) {
        const uint32_t per_plane = f->link_planes > 1 ? f->n_leaves + f->n_spines + f->n_cores : 0;
        ends_out[0] = at.owner * f->nics_per_node + at.port;
        ends_out[1] = f->n_endpoints + at.plane * per_plane + leaf_of(f, ends_out[0]);
    } else if (sand_fabric_is_aggregate(f)) {
        ends_of_aggregate(f, &at, ends_out);
    } else {
        ends_of_cable(f, &at, ends_out);
    }
    if (at.link_class % 2 == 0)
        return;
    const uint32_t away = ends_out[0]; // a downlink
    ends_out[0] = ends_out[1];
    ends_out[1] = away;
}

static uint32_t reverse(const struct sand_fabric *f, uint32_t link)
{
    (void)f;
    return link; // a tree has only up and down classes, which fabric.c pairs
}

static void name(const struct sand_fabric *f, const struct sand_fabric_owner *at, char *buffer,
                 size_t size)
{
    const char *way = at->link_class % 2 == 0 ? "up" : "down";
    char plane[24] = "";
    if (f->link_planes > 1)
        snprintf(plane, sizeof plane, "plane%" PRIu32 "-", at->plane);
    if (at->port == SAND_NONE)
        snprintf(buffer, size, "%s%" PRIu32 " %s",
                 at->link_class <= SAND_LINK_LEAF_DOWN ? "leaf" : "pod", at->owner, way);
    else if (at->core == SAND_NONE)
        snprintf(buffer, size, "%sleaf%" PRIu32 "-spine%" PRIu32 " %s", plane, at->owner, at->port,
                 way);
    else
        snprintf(buffer, size, "%spod%" PRIu32 "-spine%" PRIu32 "-core%" PRIu32 " %s", plane,
                 at->owner, at->port, at->core, way);
}

const struct fabric_wiring fabric_tree = {shape, route, attempts, ends,  reverse,
                                          owner, name,  count,    place, NULL};
