// Routing the streams of a transfer, and adding them up on links.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "transfer.h"

#include "ids.h"
#include "mem.h"
#include "traffic.h"

// The leaves that have storage, each by the first of its nodes.
struct seats {
    uint32_t *first;
    uint32_t n;
};

static uint32_t count_leaves(const struct sand_fabric *fabric, uint32_t *first)
{
    uint32_t n = 0;
    for (uint32_t node = 0; node < fabric->n_nodes; node++)
        if (node == 0 ||
            sand_fabric_leaf_of_node(fabric, node) != sand_fabric_leaf_of_node(fabric, node - 1))
            first[n++] = node;
    return n;
}

// As many as are asked for, spread evenly; all of them at the spines, where one has to be
// elsewhere.
static enum sand_rc find_seats(const struct sand_stream_question *q, struct seats *seats)
{
    const struct sand_storage_ports *ports = &q->cluster->storage_ports;
    seats->first = sand_calloc(q->fabric->n_nodes, sizeof *seats->first);
    if (!seats->first)
        return SAND_ERR_NOMEM;
    const uint32_t n = count_leaves(q->fabric, seats->first);
    seats->n = n;
    if (ports->at == SAND_STORAGE_AT_SPINES || ports->n_leaves == 0 || ports->n_leaves >= n)
        return SAND_OK;
    for (uint32_t i = 0; i < ports->n_leaves; i++)
        seats->first[i] = seats->first[(uint64_t)i * n / ports->n_leaves];
    seats->n = ports->n_leaves;
    return SAND_OK;
}

// Below another top switch than the node: what lies above both is where the storage is.
static int is_beyond(const struct sand_fabric *fabric, uint32_t node, uint32_t other)
{
    if (fabric->n_tiers > 2 && fabric->n_pods > 1)
        return sand_fabric_pod_of_node(fabric, node) != sand_fabric_pod_of_node(fabric, other);
    return sand_fabric_leaf_of_node(fabric, node) != sand_fabric_leaf_of_node(fabric, other);
}

static uint32_t seat_of(const struct sand_stream_question *q, const struct seats *seats,
                        uint32_t node, uint32_t nic)
{
    const uint64_t stream = (uint64_t)node * q->fabric->nics_per_node + nic;
    const uint32_t first = (uint32_t)(stream % seats->n);
    if (q->cluster->storage_ports.at == SAND_STORAGE_AT_LEAVES)
        return seats->first[first];
    for (uint32_t i = 0; i < seats->n; i++) {
        const uint32_t seat = seats->first[(first + i) % seats->n];
        if (is_beyond(q->fabric, node, seat))
            return seat;
    }
    return SAND_NONE; // one leaf: nothing above it
}

struct tally {
    uint32_t *streams; // per fabric link
    struct sand_streams *made;
};

static int goes_down(uint8_t link_class)
{
    return link_class == SAND_LINK_LEAF_DOWN || link_class == SAND_LINK_SPINE_DOWN;
}

// A link of the way that the stream really takes: not the NIC of the node that stands for the seat,
// and with storage at the spines only the half of the way below them.
static int is_crossed(const struct sand_stream_question *q, uint8_t link_class, int below)
{
    if (link_class == (q->reading ? SAND_LINK_NIC_UP : SAND_LINK_NIC_DOWN))
        return 0;
    return q->cluster->storage_ports.at == SAND_STORAGE_AT_LEAVES || below;
}

static void count_link(const struct sand_stream_question *q, uint32_t link, struct tally *tally)
{
    const uint8_t link_class = q->fabric->links[link].link_class;
    if (link_class <= SAND_LINK_SCALEUP_IN)
        return;
    if (link_class > SAND_LINK_NIC_DOWN) {
        tally->streams[link]++;
        return;
    }
    const double Bps = step_usable_Bps(q->cluster, q->fabric, link);
    tally->made->nic_Bps = Bps < tally->made->nic_Bps ? Bps : tally->made->nic_Bps;
}

static void count_way(const struct sand_stream_question *q, const uint32_t *links, uint32_t n,
                      struct tally *tally)
{
    int turned = 0; // the way has come to its top
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t link_class = q->fabric->links[links[i]].link_class;
        turned = turned || goes_down(link_class);
        if (is_crossed(q, link_class, q->reading ? turned : !turned))
            count_link(q, links[i], tally);
    }
}

// By way of node `by`, which is below the seat's switch. Returns whether there is one.
static int route_by(const struct sand_stream_question *q, uint32_t own, uint32_t by, uint32_t path,
                    struct tally *tally)
{
    uint32_t links[SAND_ROUTE_MAX];
    const uint32_t other = by * q->fabric->nics_per_node + own % q->fabric->nics_per_node;
    const uint32_t n = sand_fabric_route_path(q->fabric, q->reading ? other : own,
                                              q->reading ? own : other, path, links);
    if (n != SAND_NONE)
        count_way(q, links, n, tally);
    return n != SAND_NONE;
}

// The cable of a node below the seat's switch may be down. The stream's own node is no way to show
// its own.
static enum sand_rc route_path(const struct sand_stream_question *q, uint32_t node, uint32_t nic,
                               uint32_t seat, uint32_t path, struct tally *tally)
{
    const struct sand_fabric *fabric = q->fabric;
    const uint32_t leaf = sand_fabric_leaf_of_node(fabric, seat);
    const uint32_t own = node * fabric->nics_per_node + nic;
    uint32_t n_others = 0;
    for (; seat < fabric->n_nodes && sand_fabric_leaf_of_node(fabric, seat) == leaf; seat++) {
        n_others += seat != node;
        if (seat != node && route_by(q, own, seat, path, tally))
            return SAND_OK;
    }
    return n_others == 0 && route_by(q, own, node, path, tally) ? SAND_OK : SAND_ERR_INPUT;
}

static enum sand_rc route_stream(const struct sand_stream_question *q, const struct seats *seats,
                                 uint32_t node, uint32_t nic, struct tally *tally)
{
    const uint32_t seat = seat_of(q, seats, node, nic);
    tally->made->n++;
    if (seat == SAND_NONE)
        return SAND_OK;
    for (uint32_t path = 0; path < q->fabric->n_paths; path++)
        SAND_TRY(route_path(q, node, nic, seat, path, tally));
    return SAND_OK;
}

static enum sand_rc route_all(const struct sand_stream_question *q, const struct seats *seats,
                              struct tally *tally, struct sand_diag *diag)
{
    for (uint32_t i = 0; i < q->n_nodes; i++) {
        const struct sand_link_type *kind = sand_cluster_type_of(q->cluster, q->nodes[i])->nic;
        const double Bps = kind->rate_Bps * kind->usable;
        tally->made->nic_Bps = Bps < tally->made->nic_Bps ? Bps : tally->made->nic_Bps;
        for (uint32_t nic = 0; nic < q->n_nics; nic++)
            if (route_stream(q, seats, q->nodes[i], nic, tally) != SAND_OK)
                return sand_fail(diag, SAND_ERR_INPUT,
                                 "node %u NIC %u cannot reach the storage: nothing that works "
                                 "joins them",
                                 q->nodes[i], nic);
    }
    return SAND_OK;
}

// The links that streams cross, ascending.
static enum sand_rc list_links(const struct sand_stream_question *q, const struct tally *tally)
{
    struct sand_streams *made = tally->made;
    size_t n = 0;
    for (uint32_t l = 0; l < q->fabric->n_links; l++)
        n += tally->streams[l] > 0;
    made->links = sand_calloc(n, sizeof *made->links);
    if (!made->links)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < q->fabric->n_links; l++)
        if (tally->streams[l] > 0)
            made->links[made->n_links++] = (struct sand_stream_link){
                l, tally->streams[l],
                step_usable_Bps(q->cluster, q->fabric, l) * q->fabric->n_paths};
    return SAND_OK;
}

enum sand_rc sand_streams_route(const struct sand_stream_question *question,
                                struct sand_streams *streams, struct sand_diag *diag)
{
    struct seats seats = {0};
    *streams = (struct sand_streams){.nic_Bps = 1e300};
    struct tally tally = {sand_calloc(question->fabric->n_links, sizeof *tally.streams), streams};
    enum sand_rc rc = tally.streams ? find_seats(question, &seats) : SAND_ERR_NOMEM;
    if (rc == SAND_OK)
        rc = route_all(question, &seats, &tally, diag);
    if (rc == SAND_OK)
        rc = list_links(question, &tally);
    sand_free(seats.first);
    sand_free(tally.streams);
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
