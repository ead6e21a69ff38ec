// Builds a fabric of any kind, and answers what does not depend on the kind.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Order of the links, class after class as in enum sand_link_class. Within a class:
//   SCALEUP_OUT, SCALEUP_IN   node * gpus_per_node + gpu         (none without scale-up)
//   NIC_UP, NIC_DOWN          (node * nics_per_node + nic) * link_planes + plane
// and the others as the file of the kind says. "up" is away from the GPUs. Capacities are line
// rates (adaptive spreading: times its efficiency); what a step reaches of them is the step
// level's business.
#include "fabric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "fabricgraph.h"
#include "fabrictwist.h"
#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"

static const struct fabric_wiring *wiring_of(enum sand_fabric_kind kind)
{
    switch (kind) {
    case SAND_FABRIC_FAT_TREE:
    case SAND_FABRIC_RAIL_OPTIMISED:
    case SAND_FABRIC_RAIL_ONLY:
        return &fabric_tree;
    case SAND_FABRIC_DRAGONFLY_PLUS:
        return &fabric_dragonfly_plus;
    case SAND_FABRIC_DRAGONFLY:
        return &fabric_dragonfly;
    case SAND_FABRIC_TORUS:
        return &fabric_torus;
    case SAND_FABRIC_WIRED:
        return &fabric_wired;
    }
    return NULL;
}

// ---- what all kinds share ----

static enum sand_rc check_spreading(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    if (s->spreading == SAND_SPREAD_ADAPTIVE &&
        !(s->adaptive_efficiency > 0 && s->adaptive_efficiency <= 1))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": adaptive spreading needs an efficiency above 0 and at "
                         "most 1, not %g; there is no default: measure it or say what you assume",
                         cluster->name, s->adaptive_efficiency);
    if (s->spreading == SAND_SPREAD_HASH && (s->queue_pairs == 0 || s->queue_pairs > 4096))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": hash spreading needs the queue pairs of a flow, 1 to "
                         "4096, not %" PRIu32,
                         cluster->name, s->queue_pairs);
    if (!(s->loss >= 0 && s->loss < 1) || (s->loss > 0 && !(s->loss_window > 0)))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": loss %g must be at least 0 and below 1, and needs the "
                         "window of packets that one loss costs (rate x round trip / packet size)",
                         cluster->name, s->loss);
    if (s->loss > 1e-3)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "cluster \"%s\": above a loss of 0.1 %% timeouts dominate, which go-back-N "
                      "goodput does not contain: real fabrics are slower",
                      cluster->name);
    return SAND_OK;
}

static void set_common(const struct sand_cluster *cluster, struct sand_fabric *f)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    const struct sand_node_type *type = cluster->node_type;
    f->kind = spec->kind;
    f->n_nodes = cluster->n_nodes;
    f->gpus_per_node = type->n_gpus;
    f->nics_per_node = type->n_nics;
    f->nodes_per_domain =
        type->scaleup != SAND_SCALEUP_NONE && type->scaleup_nodes > 1 ? type->scaleup_nodes : 1;
    f->n_rails = f->n_planes = f->link_planes = 1;
    f->spreading = spec->spreading;
    f->hash_seed = spec->hash_seed;
    f->hash_polarised = spec->hash_polarised;
    f->sharp = spec->sharp;
    f->n_paths = spec->spreading == SAND_SPREAD_HASH ? spec->queue_pairs : 1;
}

static void set_node_classes(const struct sand_cluster *cluster, const struct sand_fabric *f,
                             struct fabric_class classes[SAND_LINK_CLASSES])
{
    const struct sand_node_type *type = cluster->node_type;
    if (type->scaleup != SAND_SCALEUP_NONE)
        classes[SAND_LINK_SCALEUP_OUT] = classes[SAND_LINK_SCALEUP_IN] = (struct fabric_class){
            (uint64_t)f->n_nodes * f->gpus_per_node, type->scaleup_link->rate_Bps};
    classes[SAND_LINK_NIC_UP] = classes[SAND_LINK_NIC_DOWN] = (struct fabric_class){
        (uint64_t)f->n_endpoints * f->link_planes, type->nic->rate_Bps / f->link_planes};
}

// Sets first[] and n_links; refuses more links than can be numbered.
static enum sand_rc number_links(struct sand_fabric *f, const struct sand_cluster *cluster,
                                 const struct fabric_class classes[SAND_LINK_CLASSES],
                                 struct sand_diag *diag)
{
    uint64_t total = 0;
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++) {
        f->first[c] = (uint32_t)total;
        total += classes[c].n;
        if (total >= SAND_NONE)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\": its fabric has more links than can be numbered "
                             "(%" PRIu32 "); use even spreading, or fewer nodes",
                             cluster->name, SAND_NONE);
    }
    f->n_links = (uint32_t)total;
    return SAND_OK;
}

static void fill_links(struct sand_fabric *f, const struct sand_fabric_spec *spec,
                       const struct fabric_class classes[SAND_LINK_CLASSES])
{
    const double goodput = sand_fabric_goodput(spec->loss, spec->loss_window);
    for (unsigned c = 0; c < SAND_LINK_CLASSES; c++)
        for (uint64_t i = 0; i < classes[c].n; i++)
            f->links[f->first[c] + i] =
                (struct sand_fabric_link){.capacity_Bps = classes[c].capacity_Bps,
                                          .speed = 1,
                                          .goodput = c <= SAND_LINK_SCALEUP_IN ? 1 : goodput,
                                          .link_class = (uint8_t)c};
}

// Nodes of other types have ports of their own rates.
static void set_group_rates(struct sand_fabric *f, const struct sand_cluster *cluster)
{
    const uint32_t nics = f->nics_per_node * f->link_planes;
    const int scales_up = f->first[SAND_LINK_SCALEUP_OUT] != f->first[SAND_LINK_SCALEUP_IN];
    for (uint32_t node = 0; cluster->n_groups > 0 && node < f->n_nodes; node++) {
        const struct sand_node_type *type = sand_cluster_type_of(cluster, node);
        for (unsigned way = 0; way < 2; way++) {
            struct sand_fabric_link *nic = f->links + f->first[SAND_LINK_NIC_UP + way];
            struct sand_fabric_link *port = f->links + f->first[SAND_LINK_SCALEUP_OUT + way];
            for (uint32_t i = 0; i < nics; i++)
                nic[node * nics + i].capacity_Bps = type->nic->rate_Bps / f->link_planes;
            for (uint32_t i = 0; scales_up && i < f->gpus_per_node; i++)
                port[node * f->gpus_per_node + i].capacity_Bps = type->scaleup_link->rate_Bps;
        }
    }
}

// Groups of nodes differ in what they are, not in how many GPUs and NICs they have.
static enum sand_rc check_groups(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_node_type *own = cluster->node_type;
    uint64_t nodes = 0;
    for (size_t i = 0; i < cluster->n_groups; i++) {
        const struct sand_node_group *group = &cluster->groups[i];
        const struct sand_node_type *type = group->node_type;
        nodes += group->n_nodes;
        if (type->n_gpus != own->n_gpus || type->n_nics != own->n_nics ||
            type->scaleup != own->scaleup || type->scaleup_nodes != own->scaleup_nodes)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\", node_group \"%s\": nodes \"%s\" have %" PRIu32
                             " GPUs and %" PRIu32 " NICs, \"%s\" %" PRIu32 " and %" PRIu32
                             "; on one fabric here counts and scale-up domains must be equal",
                             cluster->name, group->id, type->id, type->n_gpus, type->n_nics,
                             own->id, own->n_gpus, own->n_nics);
        if (own->scaleup_nodes > 1 && group->n_nodes % own->scaleup_nodes != 0)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "cluster \"%s\", node_group \"%s\": %" PRIu32
                             " nodes are no whole number of scale-up domains of %" PRIu32,
                             cluster->name, group->id, group->n_nodes, own->scaleup_nodes);
    }
    if (nodes > cluster->n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": its groups have %" PRIu64 " nodes, the cluster %" PRIu32,
                         cluster->name, nodes, cluster->n_nodes);
    return SAND_OK;
}

// Ports of storage have to be on leaves that there are, or above more than one.
static enum sand_rc check_storage(const struct sand_cluster *cluster, const struct sand_fabric *f,
                                  struct sand_diag *diag)
{
    const struct sand_storage_ports *ports = &cluster->storage_ports;
    uint32_t leaves = 0;
    if (ports->n_ports == 0)
        return SAND_OK;
    if (f->has_circuits)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": circuits join the cubes of a job to a torus out of which "
                         "nothing leads, storage_ports included; leave them out (storage over the "
                         "nodes' storage_nics), or write circuits=\"no\"",
                         cluster->name);
    for (uint32_t node = 0; node < f->n_nodes; node++)
        leaves +=
            node == 0 || sand_fabric_leaf_of_node(f, node) != sand_fabric_leaf_of_node(f, node - 1);
    if (ports->n_leaves > leaves)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": storage_ports has leaves=\"%" PRIu32
                         "\", but its nodes are on %" PRIu32 "; write at most that, or 0 for all",
                         cluster->name, ports->n_leaves, leaves);
    if (ports->at == SAND_STORAGE_AT_SPINES && leaves < 2)
        return sand_fail(
            diag, SAND_ERR_INPUT,
            "cluster \"%s\": storage_ports has at=\"spines\", but all its nodes are on "
            "one leaf, which has none above it; write at=\"leaves\"",
            cluster->name);
    return SAND_OK;
}

static void clear(struct sand_fabric *f)
{
    fabric_detour_free(f->detour);
    fabric_graph_free(f->graph);
    fabric_twist_free(f->twist);
    sand_free(f->links);
    sand_free(f->unit_of_node);
}

enum sand_rc sand_fabric_build(const struct sand_cluster *cluster, struct sand_fabric **fabric,
                               struct sand_diag *diag)
{
    struct fabric_class classes[SAND_LINK_CLASSES] = {{0}};
    struct sand_fabric shape = {.wiring = wiring_of(cluster->fabric.kind)};
    if (shape.wiring == NULL)
        return sand_fail(diag, SAND_ERR_INTERNAL, "cluster \"%s\": fabric of kind %d",
                         cluster->name, (int)cluster->fabric.kind);
    SAND_TRY(check_spreading(cluster, diag));
    if (cluster->node_type != NULL) {
        SAND_TRY(check_groups(cluster, diag));
        set_common(cluster, &shape);
    }
    enum sand_rc rc = shape.wiring->shape(cluster, &shape, classes, diag);
    if (rc == SAND_OK) {
        set_node_classes(cluster, &shape, classes);
        rc = number_links(&shape, cluster, classes, diag);
    }
    struct sand_fabric *made = rc == SAND_OK ? sand_calloc(1, sizeof *made) : NULL;
    shape.links = rc == SAND_OK ? sand_calloc(shape.n_links, sizeof *shape.links) : NULL;
    if (made == NULL || shape.links == NULL) {
        sand_free(made);
        clear(&shape);
        if (rc != SAND_OK)
            return rc;
        return sand_fail(diag, SAND_ERR_NOMEM,
                         "cluster \"%s\": no memory for the %" PRIu32 " links of its fabric",
                         cluster->name, shape.n_links);
    }
    *made = shape;
    fill_links(made, &cluster->fabric, classes);
    if (made->wiring->rates != NULL)
        made->wiring->rates(cluster, made);
    set_group_rates(made, cluster);
    rc = fabric_set_latencies(made, cluster, diag);
    if (rc == SAND_OK)
        rc = fabric_impair(made, cluster, diag);
    if (rc == SAND_OK)
        rc = check_storage(cluster, made, diag);
    if (rc == SAND_OK)
        *fabric = made;
    else
        sand_fabric_free(made);
    return rc;
}

void sand_fabric_free(struct sand_fabric *fabric)
{
    if (fabric == NULL)
        return;
    clear(fabric);
    sand_free(fabric);
}

void sand_fabric_count(const struct sand_fabric *fabric, struct sand_fabric_counts *counts)
{
    *counts = (struct sand_fabric_counts){0};
    fabric->wiring->count(fabric, counts);
}

// Eager sender, W packets in flight: a lost packet costs the W packets sent since, so a packet that
// arrives is sent 1 + W p / (1 - p) times on average.
double sand_fabric_goodput(double loss, double window)
{
    return (1 - loss) / (1 - loss + loss * window);
}

// ---- graph and names ----

void sand_fabric_ends(const struct sand_fabric *fabric, uint32_t link, uint32_t ends[2])
{
    if (fabric->links[link].link_class > SAND_LINK_SCALEUP_IN)
        fabric->wiring->ends(fabric, link, ends);
    else
        ends[0] = ends[1] = SAND_NONE;
}

uint32_t sand_fabric_reverse(const struct sand_fabric *fabric, uint32_t link)
{
    const unsigned link_class = fabric->links[link].link_class;
    if (link_class >= SAND_LINK_LOCAL)
        return fabric->wiring->reverse(fabric, link);
    return fabric->first[link_class ^ 1u] + (link - fabric->first[link_class]);
}

struct sand_fabric_owner sand_fabric_link_owner(const struct sand_fabric *fabric, uint32_t link)
{
    enum sand_link_class link_class = (enum sand_link_class)fabric->links[link].link_class;
    uint32_t index = link - fabric->first[link_class];
    if (link_class <= SAND_LINK_SCALEUP_IN)
        return fabric_split(link_class, index, fabric->gpus_per_node);
    if (link_class > SAND_LINK_NIC_DOWN)
        return fabric->wiring->owner(fabric, link);
    struct sand_fabric_owner owner =
        fabric_split(link_class, index / fabric->link_planes, fabric->nics_per_node);
    owner.plane = index % fabric->link_planes;
    return owner;
}

char *sand_fabric_link_name(const struct sand_fabric *fabric, uint32_t link, char *buffer,
                            size_t size)
{
    if (link >= fabric->n_links) {
        snprintf(buffer, size, "link %" PRIu32 "?", link);
        return buffer;
    }
    struct sand_fabric_owner at = sand_fabric_link_owner(fabric, link);
    if (at.link_class <= SAND_LINK_SCALEUP_IN)
        snprintf(buffer, size, "node%" PRIu32 " gpu%" PRIu32 " %s", at.owner, at.port,
                 at.link_class == SAND_LINK_SCALEUP_OUT ? "out" : "in");
    else if (at.link_class > SAND_LINK_NIC_DOWN)
        fabric->wiring->name(fabric, &at, buffer, size);
    else if (fabric->link_planes > 1)
        snprintf(buffer, size, "node%" PRIu32 " nic%" PRIu32 " plane%" PRIu32 " %s", at.owner,
                 at.port, at.plane, at.link_class == SAND_LINK_NIC_UP ? "up" : "down");
    else
        snprintf(buffer, size, "node%" PRIu32 " nic%" PRIu32 " %s", at.owner, at.port,
                 at.link_class == SAND_LINK_NIC_UP ? "up" : "down");
    return buffer;
}
