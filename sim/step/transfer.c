// Routing the streams of a transfer, and adding them up on links.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "transfer.h"

#include <string.h>

#include "ids.h"
#include "mem.h"
#include "traffic.h"

struct node_link {
    uint32_t link, streams;
};

// What the first n_nics streams of a node cross. n_nics 0: not known.
struct node_streams {
    struct node_link *links;
    size_t n_links, capacity;
    uint32_t n_nics;
    uint32_t cut_nic; // that cannot reach the storage; SAND_NONE
    double nic_Bps;
};

struct sand_stream_router {
    const struct sand_cluster *cluster;
    const struct sand_fabric *fabric;
    int reading;
    uint32_t *seats; // the leaves that have storage, each by the first of its nodes
    uint32_t n_seats;
    struct node_streams *nodes;
    uint32_t *tally; // scratch: streams per fabric link
};

// ---- where the storage is -----------------------------------------------------------------------

static uint32_t list_leaves(const struct sand_fabric *fabric, uint32_t *first)
{
    uint32_t n = 0;
    for (uint32_t node = 0; node < fabric->n_nodes; node++)
        if (node == 0 ||
            sand_fabric_leaf_of_node(fabric, node) != sand_fabric_leaf_of_node(fabric, node - 1))
            first[n++] = node;
    return n;
}

// As many as are asked for, spread evenly. At the spines all: a way has to lead beyond one's own.
static void find_seats(struct sand_stream_router *r)
{
    const struct sand_storage_ports *ports = &r->cluster->storage_ports;
    const uint32_t n = list_leaves(r->fabric, r->seats), wanted = ports->n_leaves;
    r->n_seats = n;
    if (ports->at == SAND_STORAGE_AT_SPINES || wanted == 0 || wanted >= n)
        return;
    for (uint32_t i = 0; i < wanted; i++)
        r->seats[i] = r->seats[(uint64_t)i * n / wanted];
    r->n_seats = wanted;
}

// Below another top switch than the node: what lies above both is where the storage is.
static int is_beyond(const struct sand_fabric *fabric, uint32_t node, uint32_t other)
{
    if (fabric->n_tiers > 2 && fabric->n_pods > 1)
        return sand_fabric_pod_of_node(fabric, node) != sand_fabric_pod_of_node(fabric, other);
    return sand_fabric_leaf_of_node(fabric, node) != sand_fabric_leaf_of_node(fabric, other);
}

static uint32_t seat_of(const struct sand_stream_router *r, uint32_t node, uint32_t nic)
{
    const uint64_t stream = (uint64_t)node * r->fabric->nics_per_node + nic;
    const uint32_t first = (uint32_t)(stream % r->n_seats);
    if (r->cluster->storage_ports.at == SAND_STORAGE_AT_LEAVES)
        return r->seats[first];
    for (uint32_t i = 0; i < r->n_seats; i++) {
        const uint32_t seat = r->seats[(first + i) % r->n_seats];
        if (is_beyond(r->fabric, node, seat))
            return seat;
    }
    return SAND_NONE; // one leaf: nothing above it
}

// ---- the streams of a node ----------------------------------------------------------------------

static int goes_down(uint8_t link_class)
{
    return link_class == SAND_LINK_LEAF_DOWN || link_class == SAND_LINK_SPINE_DOWN;
}

// A link of the way that the stream really takes: not the NIC of the node that stands for the seat,
// and with storage at the spines only the half of the way below them.
static int is_crossed(const struct sand_stream_router *r, uint8_t link_class, int below)
{
    if (link_class == (r->reading ? SAND_LINK_NIC_UP : SAND_LINK_NIC_DOWN))
        return 0;
    return r->cluster->storage_ports.at == SAND_STORAGE_AT_LEAVES || below;
}

static enum sand_rc count_shared(struct node_streams *streams, uint32_t link)
{
    for (size_t i = 0; i < streams->n_links; i++)
        if (streams->links[i].link == link) {
            streams->links[i].streams++;
            return SAND_OK;
        }
    SAND_TRY(sand_grow((void **)&streams->links, &streams->capacity, streams->n_links + 1,
                       sizeof *streams->links));
    streams->links[streams->n_links++] = (struct node_link){link, 1};
    return SAND_OK;
}

static enum sand_rc count_link(const struct sand_stream_router *r, uint32_t link,
                               struct node_streams *streams)
{
    const uint8_t link_class = r->fabric->links[link].link_class;
    if (link_class <= SAND_LINK_SCALEUP_IN)
        return SAND_OK;
    if (link_class > SAND_LINK_NIC_DOWN)
        return count_shared(streams, link);
    const double Bps = step_usable_Bps(r->cluster, r->fabric, link);
    streams->nic_Bps = Bps < streams->nic_Bps ? Bps : streams->nic_Bps;
    return SAND_OK;
}

static enum sand_rc count_way(const struct sand_stream_router *r, const uint32_t *links, uint32_t n,
                              struct node_streams *streams)
{
    int turned = 0; // the way has come to its top
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t link_class = r->fabric->links[links[i]].link_class;
        turned = turned || goes_down(link_class);
        if (is_crossed(r, link_class, r->reading ? turned : !turned))
            SAND_TRY(count_link(r, links[i], streams));
    }
    return SAND_OK;
}

// By way of node `by`, which is below the seat's switch; *found: whether there is one.
static enum sand_rc route_by(const struct sand_stream_router *r, uint32_t own, uint32_t by,
                             uint32_t path, struct node_streams *streams, int *found)
{
    uint32_t links[SAND_ROUTE_MAX];
    const uint32_t other = by * r->fabric->nics_per_node + own % r->fabric->nics_per_node;
    const uint32_t n = sand_fabric_route_path(r->fabric, r->reading ? other : own,
                                              r->reading ? own : other, path, links);
    *found = n != SAND_NONE;
    return *found ? count_way(r, links, n, streams) : SAND_OK;
}

// The cable of a node below the seat's switch may be down. The stream's own node is no way to show
// its own.
static enum sand_rc route_path(const struct sand_stream_router *r, uint32_t node, uint32_t nic,
                               uint32_t seat, uint32_t path, struct node_streams *streams,
                               int *found)
{
    const struct sand_fabric *fabric = r->fabric;
    const uint32_t leaf = sand_fabric_leaf_of_node(fabric, seat);
    const uint32_t own = node * fabric->nics_per_node + nic;
    uint32_t n_others = 0;
    *found = 0;
    for (uint32_t by = seat; by < fabric->n_nodes && sand_fabric_leaf_of_node(fabric, by) == leaf;
         by++) {
        n_others += by != node;
        if (by != node)
            SAND_TRY(route_by(r, own, by, path, streams, found));
        if (*found)
            return SAND_OK;
    }
    return n_others == 0 ? route_by(r, own, node, path, streams, found) : SAND_OK;
}

static enum sand_rc route_stream(const struct sand_stream_router *r, uint32_t node, uint32_t nic,
                                 struct node_streams *streams)
{
    const uint32_t seat = seat_of(r, node, nic);
    int found = 1;
    for (uint32_t path = 0; seat != SAND_NONE && found && path < r->fabric->n_paths; path++)
        SAND_TRY(route_path(r, node, nic, seat, path, streams, &found));
    if (!found)
        streams->cut_nic = nic;
    return SAND_OK;
}

static enum sand_rc route_node(struct sand_stream_router *r, uint32_t node, uint32_t n_nics)
{
    const struct sand_link_type *kind = sand_cluster_type_of(r->cluster, node)->nic;
    struct node_streams *streams = &r->nodes[node];
    if (streams->n_nics == n_nics)
        return SAND_OK;
    streams->n_links = 0;
    streams->n_nics = 0;
    streams->cut_nic = SAND_NONE;
    streams->nic_Bps = kind->rate_Bps * kind->usable;
    for (uint32_t nic = 0; nic < n_nics && streams->cut_nic == SAND_NONE; nic++)
        SAND_TRY(route_stream(r, node, nic, streams));
    streams->n_nics = n_nics;
    return SAND_OK;
}

// ---- all of them --------------------------------------------------------------------------------

enum sand_rc sand_stream_router_open(const struct sand_cluster *cluster,
                                     const struct sand_fabric *fabric, int reading,
                                     struct sand_stream_router **router)
{
    struct sand_stream_router *r = sand_calloc(1, sizeof *r);
    if (r == NULL)
        return SAND_ERR_NOMEM;
    *r = (struct sand_stream_router){.cluster = cluster, .fabric = fabric, .reading = reading};
    r->seats = sand_calloc(fabric->n_nodes, sizeof *r->seats);
    r->nodes = sand_calloc(fabric->n_nodes, sizeof *r->nodes);
    r->tally = sand_calloc(fabric->n_links, sizeof *r->tally);
    if (r->seats == NULL || r->nodes == NULL || r->tally == NULL) {
        sand_stream_router_close(r);
        return SAND_ERR_NOMEM;
    }
    find_seats(r);
    *router = r;
    return SAND_OK;
}

void sand_stream_router_forget(struct sand_stream_router *router)
{
    for (uint32_t node = 0; node < router->fabric->n_nodes; node++)
        router->nodes[node].n_nics = 0;
}

void sand_stream_router_close(struct sand_stream_router *router)
{
    if (router == NULL)
        return;
    for (uint32_t node = 0; router->nodes != NULL && node < router->fabric->n_nodes; node++)
        sand_free(router->nodes[node].links);
    sand_free(router->nodes);
    sand_free(router->seats);
    sand_free(router->tally);
    sand_free(router);
}

static enum sand_rc add_nodes(struct sand_stream_router *r, const uint32_t *nodes, uint32_t n_nodes,
                              uint32_t n_nics, struct sand_streams *made, struct sand_diag *diag)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        const struct node_streams *own = &r->nodes[nodes[i]];
        SAND_TRY(route_node(r, nodes[i], n_nics));
        if (own->cut_nic != SAND_NONE)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "node %u NIC %u cannot reach the storage: nothing that works joins "
                             "them",
                             nodes[i], own->cut_nic);
        for (size_t l = 0; l < own->n_links; l++)
            r->tally[own->links[l].link] += own->links[l].streams;
        made->nic_Bps = own->nic_Bps < made->nic_Bps ? own->nic_Bps : made->nic_Bps;
        made->n += n_nics;
    }
    return SAND_OK;
}

// The links that streams cross, ascending.
static enum sand_rc list_links(const struct sand_stream_router *r, struct sand_streams *made)
{
    size_t n = 0;
    for (uint32_t l = 0; l < r->fabric->n_links; l++)
        n += r->tally[l] > 0;
    made->links = sand_calloc(n, sizeof *made->links);
    if (made->links == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < r->fabric->n_links; l++)
        if (r->tally[l] > 0)
            made->links[made->n_links++] = (struct sand_stream_link){
                l, r->tally[l], step_usable_Bps(r->cluster, r->fabric, l) * r->fabric->n_paths};
    return SAND_OK;
}

enum sand_rc sand_streams_route(struct sand_stream_router *router, const uint32_t *nodes,
                                uint32_t n_nodes, uint32_t n_nics, struct sand_streams *streams,
                                struct sand_diag *diag)
{
    *streams = (struct sand_streams){.nic_Bps = 1e300};
    memset(router->tally, 0, router->fabric->n_links * sizeof *router->tally);
    enum sand_rc rc = add_nodes(router, nodes, n_nodes, n_nics, streams, diag);
    if (rc == SAND_OK)
        rc = list_links(router, streams);
    if (rc != SAND_OK)
        sand_streams_free(streams);
    return rc;
}

void sand_streams_free(struct sand_streams *streams)
{
    sand_free(streams->links);
    *streams = (struct sand_streams){0};
}

double sand_streams_alone_Bps(const struct sand_streams *streams)
{
    double Bps = streams->nic_Bps;
    for (size_t i = 0; i < streams->n_links; i++) {
        const double share_Bps = streams->links[i].capacity_Bps / streams->links[i].streams;
        Bps = share_Bps < Bps ? share_Bps : Bps;
    }
    return Bps;
}
