// Builds the fabric's arrays and names their links.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Order of the links, class after class as in enum sand_link_class; within a class (S =
// spines_per_pod, t = cores one spine is joined to):
//   SCALEUP_OUT, SCALEUP_IN   node * gpus_per_node + gpu         (none without scale-up)
//   NIC_UP, NIC_DOWN          node * nics_per_node + nic
//   LEAF_UP, LEAF_DOWN        even: leaf                         static: leaf * S + spine of the
//   pod SPINE_UP, SPINE_DOWN      even: pod                          static: (pod * S + spine) * t
//   + core
//                             (none with two tiers)
// "up" is away from the GPUs. Capacities are line rates; what a step reaches of them is the step
// level's business.
#include "fabric.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabricplan.h"
#include "ids.h"
#include "mem.h"

static uint64_t links_of(const struct sand_fabric *f, enum sand_link_class link_class,
                         int has_scaleup)
{
    switch (link_class) {
    case SAND_LINK_SCALEUP_OUT:
    case SAND_LINK_SCALEUP_IN:
        return has_scaleup ? (uint64_t)f->n_nodes * f->gpus_per_node : 0;
    case SAND_LINK_NIC_UP:
    case SAND_LINK_NIC_DOWN:
        return f->n_endpoints;
    case SAND_LINK_LEAF_UP:
    case SAND_LINK_LEAF_DOWN:
        return (uint64_t)f->n_leaves * f->leaf_trunks;
    case SAND_LINK_SPINE_UP:
    case SAND_LINK_SPINE_DOWN:
        if (f->n_tiers < 3)
            return 0;
        return f->spreading == SAND_SPREAD_EVEN ? f->n_pods
                                                : (uint64_t)f->n_spines * f->spine_trunks;
    case SAND_LINK_CLASSES:
        break;
    }
    return 0;
}

// Capacity of one link of a class.
static double capacity_of(const struct sand_fabric *f, const struct sand_fabric_plan *plan,
                          const struct sand_cluster *cluster, enum sand_link_class link_class)
{
    switch (link_class) {
    case SAND_LINK_SCALEUP_OUT:
    case SAND_LINK_SCALEUP_IN:
        return cluster->node_type->scaleup_link->rate_Bps;
    case SAND_LINK_NIC_UP:
    case SAND_LINK_NIC_DOWN:
        return cluster->node_type->nic->rate_Bps;
    case SAND_LINK_LEAF_UP:
    case SAND_LINK_LEAF_DOWN:
        return plan->leaf_up_Bps / f->leaf_trunks;
    case SAND_LINK_SPINE_UP:
    case SAND_LINK_SPINE_DOWN:
        return f->spreading == SAND_SPREAD_EVEN
                   ? plan->pod_up_Bps
                   : plan->pod_up_Bps / f->spines_per_pod / f->spine_trunks;
    case SAND_LINK_CLASSES:
        break;
    }
    return 0;
}

static struct sand_fabric shape_of(const struct sand_cluster *cluster,
                                   const struct sand_fabric_plan *plan)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    int even = spec->spreading == SAND_SPREAD_EVEN;
    return (struct sand_fabric){
        .n_nodes = cluster->n_nodes,
        .gpus_per_node = cluster->node_type->n_gpus,
        .nics_per_node = cluster->node_type->n_nics,
        .n_endpoints = plan->n_endpoints,
        .n_leaves = plan->n_leaves,
        .n_pods = plan->n_pods,
        .spines_per_pod = plan->spines_per_pod,
        .n_spines = plan->n_pods * plan->spines_per_pod,
        .n_cores = plan->n_cores,
        .endpoints_per_leaf = spec->endpoints_per_leaf,
        .leaves_per_pod = plan->leaves_per_pod,
        .n_tiers = spec->n_tiers,
        .spreading = spec->spreading,
        .leaf_trunks = even ? 1 : plan->spines_per_pod,
        .spine_trunks = even ? 1 : plan->cores_per_spine,
        .nic_ports = plan->nic_ports,
        .leaf_up_ports = plan->leaf_up_ports,
        .spine_up_ports = plan->spine_up_ports,
    };
}

// Sets first[] and n_links; refuses more links than can be numbered.
static enum sand_rc number_links(struct sand_fabric *f, const struct sand_cluster *cluster,
                                 struct sand_diag *diag)
{
    int has_scaleup = cluster->node_type->scaleup != SAND_SCALEUP_NONE;
    uint64_t total = 0;
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++) {
        f->first[c] = (uint32_t)total;
        total += links_of(f, (enum sand_link_class)c, has_scaleup);
        if (total >= SAND_NONE)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\": its fabric has more links than can be numbered "
                             "(%" PRIu32 "); use even spreading, or fewer nodes",
                             cluster->name, SAND_NONE);
    }
    f->n_links = (uint32_t)total;
    return SAND_OK;
}

static uint32_t class_end(const struct sand_fabric *f, unsigned link_class)
{
    return link_class + 1 < SAND_LINK_CLASSES ? f->first[link_class + 1] : f->n_links;
}

static void fill_links(struct sand_fabric *f, const struct sand_fabric_plan *plan,
                       const struct sand_cluster *cluster)
{
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++) {
        uint32_t end = class_end(f, c);
        if (f->first[c] == end)
            continue;
        struct sand_fabric_link link = {.capacity_Bps =
                                            capacity_of(f, plan, cluster, (enum sand_link_class)c),
                                        .speed = 1,
                                        .link_class = (uint8_t)c};
        for (uint32_t i = f->first[c]; i < end; i++)
            f->links[i] = link;
    }
}

enum sand_rc sand_fabric_build(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                               struct sand_diag *diag)
{
    struct sand_fabric_plan plan;
    SAND_TRY(sand_fabric_plan_make(cluster, &plan, diag));
    struct sand_fabric shape = shape_of(cluster, &plan);
    SAND_TRY(number_links(&shape, cluster, diag));
    struct sand_fabric *made = sand_calloc(1, sizeof *made);
    shape.links = sand_calloc(shape.n_links, sizeof *shape.links);
    if (made == NULL || shape.links == NULL) {
        sand_free(made);
        sand_free(shape.links);
        return sand_fail(diag, SAND_ERR_NOMEM,
                         "cluster \"%s\": no memory for the %" PRIu32 " links of its fabric",
                         cluster->name, shape.n_links);
    }
    *made = shape;
    fill_links(made, &plan, cluster);
    *fabric = made;
    return SAND_OK;
}

void sand_fabric_free(struct sand_fabric *fabric)
{
    if (fabric == NULL)
        return;
    sand_free(fabric->links);
    sand_free(fabric);
}

void sand_fabric_count(const struct sand_fabric *fabric, struct sand_fabric_counts *counts)
{
    *counts = (struct sand_fabric_counts){
        .leaves = fabric->n_leaves,
        .spines = fabric->n_spines,
        .cores = fabric->n_cores,
        .endpoint_cables = (uint64_t)fabric->n_endpoints * fabric->nic_ports,
        .leaf_spine_cables = (uint64_t)fabric->n_leaves * fabric->leaf_up_ports,
        .spine_core_cables = (uint64_t)fabric->n_spines * fabric->spine_up_ports,
    };
}

// ---- names ----

static struct sand_fabric_owner split(enum sand_link_class link_class, uint32_t index,
                                      uint32_t per_owner)
{
    return (struct sand_fabric_owner){link_class, index / per_owner, index % per_owner, SAND_NONE};
}

// Which core trunk `trunk` of a pod's spine `spine` ends at; see fabricplan.h for the wiring.
static uint32_t core_of_trunk(const struct sand_fabric *f, uint32_t spine, uint32_t trunk)
{
    if (f->n_cores % f->spines_per_pod == 0)
        return spine * f->spine_trunks + trunk;
    return f->spine_trunks == 1 ? spine % f->n_cores : trunk;
}

static struct sand_fabric_owner spine_owner(const struct sand_fabric *f,
                                            enum sand_link_class link_class, uint32_t index)
{
    uint32_t spine = index / f->spine_trunks;
    struct sand_fabric_owner owner = split(link_class, spine, f->spines_per_pod);
    owner.core = core_of_trunk(f, owner.port, index % f->spine_trunks);
    return owner;
}

struct sand_fabric_owner sand_fabric_link_owner(const struct sand_fabric *fabric, uint32_t link)
{
    enum sand_link_class link_class = (enum sand_link_class)fabric->links[link].link_class;
    uint32_t index = link - fabric->first[link_class];
    switch (link_class) {
    case SAND_LINK_SCALEUP_OUT:
    case SAND_LINK_SCALEUP_IN:
        return split(link_class, index, fabric->gpus_per_node);
    case SAND_LINK_NIC_UP:
    case SAND_LINK_NIC_DOWN:
        return split(link_class, index, fabric->nics_per_node);
    case SAND_LINK_LEAF_UP:
    case SAND_LINK_LEAF_DOWN:
        if (fabric->spreading == SAND_SPREAD_STATIC)
            return split(link_class, index, fabric->leaf_trunks);
        break;
    case SAND_LINK_SPINE_UP:
    case SAND_LINK_SPINE_DOWN:
        if (fabric->spreading == SAND_SPREAD_STATIC)
            return spine_owner(fabric, link_class, index);
        break;
    case SAND_LINK_CLASSES:
        break;
    }
    return (struct sand_fabric_owner){link_class, index, SAND_NONE, SAND_NONE};
}

static const char *direction_of(enum sand_link_class link_class)
{
    static const char *const names[SAND_LINK_CLASSES] = {"out", "in",   "up", "down",
                                                         "up",  "down", "up", "down"};
    return link_class < SAND_LINK_CLASSES ? names[link_class] : "?";
}

char *sand_fabric_link_name(const struct sand_fabric *fabric, uint32_t link, char *buffer,
                            size_t size)
{
    if (link >= fabric->n_links) {
        snprintf(buffer, size, "link %" PRIu32 "?", link);
        return buffer;
    }
    struct sand_fabric_owner at = sand_fabric_link_owner(fabric, link);
    const char *way = direction_of(at.link_class);
    if (at.link_class <= SAND_LINK_SCALEUP_IN)
        snprintf(buffer, size, "node%" PRIu32 " gpu%" PRIu32 " %s", at.owner, at.port, way);
    else if (at.link_class <= SAND_LINK_NIC_DOWN)
        snprintf(buffer, size, "node%" PRIu32 " nic%" PRIu32 " %s", at.owner, at.port, way);
    else if (at.port == SAND_NONE)
        snprintf(buffer, size, "%s%" PRIu32 " %s",
                 at.link_class <= SAND_LINK_LEAF_DOWN ? "leaf" : "pod", at.owner, way);
    else if (at.core == SAND_NONE)
        snprintf(buffer, size, "leaf%" PRIu32 "-spine%" PRIu32 " %s", at.owner, at.port, way);
    else
        snprintf(buffer, size, "pod%" PRIu32 "-spine%" PRIu32 "-core%" PRIu32 " %s", at.owner,
                 at.port, at.core, way);
    return buffer;
}
