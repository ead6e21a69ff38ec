// Routes rings, trees and all-to-all over the fabric and finds the tightest link of each.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "comm.h"

#include <math.h>
#include <stdio.h>

#include "fabricreduce.h"
#include "fabricslice.h"
#include "ids.h"
#include "mem.h"

enum { MOST_SAMPLED = 40000, MOST_DRAWN = 1000000 };

// ---- trees --------------------------------------------------------------------------------------

static uint32_t lowest_bit(uint32_t x)
{
    return x & (~x + 1);
}

// Node 0 is the root; a node of level l (its lowest set bit 2^l) hangs below one of level l + 1, or
// where there is none below what is left without the bit.
static uint32_t first_parent(uint32_t index, uint32_t n)
{
    if (index == 0)
        return SAND_NONE;
    const uint32_t bit = lowest_bit(index), up = (index ^ bit) | (bit << 1);
    return up < n ? up : index ^ bit;
}

uint32_t sand_tree_parent(uint32_t index, uint32_t n, int second)
{
    if (!second)
        return first_parent(index, n);
    if (n % 2 == 0) { // mirrored
        const uint32_t parent = first_parent(n - 1 - index, n);
        return parent == SAND_NONE ? SAND_NONE : n - 1 - parent;
    }
    const uint32_t parent = first_parent((index + n - 1) % n, n); // shifted by one
    return parent == SAND_NONE ? SAND_NONE : (parent + 1) % n;
}

// ---- ports of domains ---------------------------------------------------------------------------

struct placing {
    const struct sand_fabric *fabric;      // as circuits join it for the communicator
    uint32_t n_nodes, per_node, last_gpus; // GPUs on the last node
    uint32_t node_ports;                   // NICs used on a full node
    uint32_t ports;                        // of the first domain
    struct sand_comm *comm;
    double *load; // per link: share of the traffic's unit
};

// NICs that the first `gpus` GPUs of a node use: consecutive, from 0. Where there are more NICs
// than GPUs, a GPU uses all of its own.
static uint32_t ports_of_gpus(const struct sand_fabric *fabric, uint32_t gpus)
{
    const uint64_t all = fabric->gpus_per_node, share = (uint64_t)gpus * fabric->nics_per_node;
    return (uint32_t)((share + all - 1) / all);
}

static uint32_t nodes_of_domain(const struct placing *p, uint32_t domain)
{
    const uint32_t each = p->fabric->nodes_per_domain, first = domain * each;
    return p->n_nodes - first < each ? p->n_nodes - first : each;
}

// Port `port` of a domain as an endpoint; a smaller domain serves several with one.
static uint32_t endpoint(const struct placing *p, uint32_t domain, uint32_t port)
{
    const uint32_t mine = port % (nodes_of_domain(p, domain) * p->node_ports);
    const uint32_t node = domain * p->fabric->nodes_per_domain + mine / p->node_ports;
    return node * p->fabric->nics_per_node + mine % p->node_ports;
}

// ---- loads --------------------------------------------------------------------------------------

// Divided among so many paths (hash spreading: queue pairs).
static int add_load(struct placing *p, uint32_t from, uint32_t to, double share, uint32_t paths)
{
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t path = 0; path < paths; path++) {
        const uint32_t n = sand_fabric_route_path(p->fabric, from, to, path, links);
        if (n == SAND_NONE)
            return 0;
        for (uint32_t i = 0; i < n; i++)
            p->load[links[i]] += share / paths;
    }
    return 1;
}

// The rate at which the unit can flow, then clears the loads.
static double tightest(struct placing *p, uint32_t *at)
{
    double least = 0;
    *at = SAND_NONE;
    for (uint32_t l = 0; l < p->fabric->n_links; l++) {
        const struct sand_fabric_link *link = &p->fabric->links[l];
        if (!(p->load[l] > 0))
            continue;
        const double Bps = link->capacity_Bps * link->speed * link->goodput / p->load[l];
        if (*at == SAND_NONE || Bps < least) {
            least = Bps;
            *at = l;
        }
        p->load[l] = 0;
    }
    return least;
}

static int load_ring(struct placing *p)
{
    const uint32_t n = p->comm->domains;
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t port = 0; port < p->ports; port++)
            if (!add_load(p, endpoint(p, d, port), endpoint(p, (d + 1) % n, port), 1.0 / p->ports,
                          p->fabric->n_paths))
                return 0;
    return 1;
}

static int load_tree(struct placing *p, int second)
{
    const uint32_t n = p->comm->domains;
    for (uint32_t d = 0; d < n; d++) {
        const uint32_t parent = sand_tree_parent(d, n, second);
        for (uint32_t port = 0; parent != SAND_NONE && port < p->ports; port++) {
            const uint32_t a = endpoint(p, d, port), b = endpoint(p, parent, port);
            if (!add_load(p, a, b, 0.5 / p->ports, p->fabric->n_paths) ||
                !add_load(p, b, a, 0.5 / p->ports, p->fabric->n_paths))
                return 0;
        }
    }
    return 1;
}

// How many paths a sampled route stands for where a hash picks them: those of the distances left
// out as well, or the few that are drawn would crowd on links that all together fill evenly.
static uint32_t sampled_paths(const struct placing *p, uint64_t routes, uint64_t shifts)
{
    const uint32_t n_paths = p->fabric->n_paths;
    const uint64_t drawn = routes * shifts * n_paths,
                   most = MOST_DRAWN > drawn ? MOST_DRAWN / drawn : 1;
    const uint64_t left_out = (p->comm->domains - 1) / shifts;
    if (p->fabric->spreading != SAND_SPREAD_HASH)
        return n_paths;
    return n_paths * (uint32_t)(left_out < most ? left_out : most);
}

static int load_alltoall(struct placing *p)
{
    const uint32_t n = p->comm->domains;
    const uint64_t routes = (uint64_t)n * p->ports;
    uint64_t shifts = routes < MOST_SAMPLED ? MOST_SAMPLED / routes : 1;
    if (shifts > n - 1)
        shifts = n - 1;
    const double share = 1.0 / ((double)p->ports * (double)shifts);
    const uint32_t paths = sampled_paths(p, routes, shifts);
    for (uint64_t i = 0; i < shifts; i++) {
        const uint32_t shift = 1 + (uint32_t)(i * (n - 1) / shifts);
        for (uint32_t d = 0; d < n; d++)
            for (uint32_t port = 0; port < p->ports; port++)
                if (!add_load(p, endpoint(p, d, port),
                              endpoint(p, (d + shift) % n, (port + shift) % p->ports), share,
                              paths))
                    return 0;
    }
    return 1;
}

// ---- reductions in the switches -----------------------------------------------------------------

static void keep_reason(struct sand_comm *comm, const struct sand_diag *diag)
{
    snprintf(comm->why_no_sharp, sizeof comm->why_no_sharp, "%s",
             diag->n_messages > 0 ? diag->messages[0].text : "no reduction tree");
}

// One tree for every port.
static enum sand_rc load_sharp(struct placing *p, uint32_t *nics, struct sand_diag *diag)
{
    for (uint32_t port = 0; port < p->ports; port++) {
        struct sand_reduction_tree tree = {0};
        for (uint32_t d = 0; d < p->comm->domains; d++)
            nics[d] = endpoint(p, d, port);
        const enum sand_rc rc =
            sand_fabric_reduction_tree(p->fabric, nics, p->comm->domains, port, &tree, diag);
        for (size_t i = 0; i < tree.n_links; i++)
            p->load[tree.links[i]] += 1.0 / p->ports;
        sand_reduction_tree_free(&tree);
        if (rc != SAND_OK)
            return rc;
    }
    return SAND_OK;
}

static enum sand_rc place_sharp(struct placing *p)
{
    uint32_t *nics = sand_calloc(p->comm->domains, sizeof *nics), at = 0;
    struct sand_diag diag = {0};
    if (nics == NULL)
        return SAND_ERR_NOMEM;
    const enum sand_rc rc = load_sharp(p, nics, &diag);
    const double Bps = tightest(p, &at);
    if (rc == SAND_OK)
        p->comm->sharp_Bps = Bps;
    else
        keep_reason(p->comm, &diag);
    sand_free(nics);
    sand_diag_clear(&diag);
    return rc == SAND_ERR_NOMEM ? rc : SAND_OK;
}

// ---- all together -------------------------------------------------------------------------------

static enum sand_rc check(const struct sand_cluster *cluster, uint32_t ranks, uint32_t per_node,
                          struct sand_diag *diag)
{
    const uint32_t most = cluster->node_type->n_gpus;
    if (per_node > most)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%u GPUs of a node are asked for, node \"%s\" has %u; ask for fewer",
                         per_node, cluster->node_type->id, most);
    if (ranks == 0 || ((uint64_t)ranks + per_node - 1) / per_node > cluster->n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%u GPUs are asked for, %u nodes of %u have 1 to %llu; ask for as many",
                         ranks, cluster->n_nodes, per_node,
                         (unsigned long long)cluster->n_nodes * per_node);
    return SAND_OK;
}

static enum sand_rc place_network(struct placing *p, struct sand_diag *diag)
{
    struct sand_comm *comm = p->comm;
    int joined = load_ring(p);
    comm->ring_Bps = tightest(p, &comm->ring_link);
    joined = joined && load_tree(p, 0) && load_tree(p, 1);
    comm->tree_Bps = tightest(p, &comm->tree_link);
    joined = joined && load_alltoall(p);
    comm->alltoall_Bps = tightest(p, &comm->alltoall_link);
    if (!joined)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "the GPUs are not all joined: something on their way is down, or the "
                         "rails have no network in common");
    snprintf(comm->why_no_sharp, sizeof comm->why_no_sharp,
             "needs the network's switches to reduce, which is not switched on (--sharp)");
    return comm->options.sharp ? place_sharp(p) : SAND_OK;
}

static void count_ranks(struct placing *p, uint32_t ranks, uint32_t per_node)
{
    const uint32_t each = p->fabric->nodes_per_domain;
    p->n_nodes = (ranks + per_node - 1) / per_node;
    p->node_ports = ports_of_gpus(p->fabric, p->n_nodes == 1 ? ranks : per_node);
    p->comm->domains = (p->n_nodes + each - 1) / each;
    p->ports = nodes_of_domain(p, 0) * p->node_ports;
    p->comm->ports = p->ports;
    p->comm->ranks = ranks;
    p->comm->domain_ranks = each * per_node < ranks ? each * per_node : ranks;
}

static struct sand_comm comm_on(const struct sand_node_type *node,
                                const struct sand_comm_options *options)
{
    return (struct sand_comm){.options = *options,
                              .scaleup = node->scaleup == SAND_SCALEUP_NONE ? node->host_link
                                                                            : node->scaleup_link,
                              .nic = node->nic,
                              .host = node->host_link,
                              .ring_link = SAND_NONE,
                              .tree_link = SAND_NONE,
                              .alltoall_link = SAND_NONE};
}

// ---- inside a domain ----------------------------------------------------------------------------

// A mesh axis over n of N chips gets the whole number of dimensions nearest to its share of the
// torus, as device meshes are laid out (jax.experimental.mesh_utils).
static uint32_t torus_dims(uint32_t dims, uint32_t n, uint32_t of)
{
    if (n < 2 || of <= n)
        return dims;
    const double exact = dims * log(n) / log(of);
    return exact < 1.5 ? 1 : (uint32_t)lround(exact);
}

static void reach_inside(struct sand_comm *comm, const struct sand_node_type *node, uint32_t stride,
                         uint32_t domain_gpus)
{
    const uint64_t span = (uint64_t)stride * comm->domain_ranks;
    comm->scaleup_share = 1;
    if (node->scaleup == SAND_SCALEUP_TORUS) {
        comm->torus_dims = torus_dims(node->scaleup_dims, comm->domain_ranks, domain_gpus);
        comm->scaleup_share = (double)comm->torus_dims / node->scaleup_dims;
        if (pow(comm->domain_ranks, 1.0 / comm->torus_dims) < node->scaleup_ring - 0.5)
            comm->scaleup_share /= 2; // the chip at a line's end has one link to receive all by
    }
    if (node->socket_Bps > 0 && 2 * span > node->n_gpus)
        comm->scaleup_most_Bps = node->socket_Bps / stride;
}

void sand_comm_by_ports(const struct sand_comm_ports *ports,
                        const struct sand_comm_options *options, struct sand_comm *comm)
{
    *comm = comm_on(ports->node, options);
    comm->nic = ports->nic;
    comm->ranks = ports->ranks;
    comm->domains = ports->domains;
    comm->domain_ranks = ports->domain_ranks;
    comm->ports = ports->ports;
    comm->relays = ports->relays;
    reach_inside(comm, ports->node, ports->stride, ports->domain_gpus);
    if (ports->domains < 2)
        return;
    comm->ring_Bps = comm->alltoall_Bps = ports->ports * ports->port_Bps;
    comm->tree_Bps = comm->ring_Bps / (ports->domains > 2 ? 2 : 1); // as load_tree
    snprintf(comm->why_no_sharp, sizeof comm->why_no_sharp, "needs %s",
             ports->reduces ? "the network's switches to reduce, which is not switched on"
                            : "a network whose switches reduce");
    if (options->sharp && ports->reduces)
        comm->sharp_Bps = comm->ring_Bps;
}

// ---- a fabric that is a torus -------------------------------------------------------------------

static int places_are_gpus(const struct sand_cluster *cluster)
{
    const struct sand_node_type *node = cluster->node_type;
    return cluster->fabric.kind == SAND_FABRIC_TORUS && node->nic->medium == SAND_MEDIUM_TORUS &&
           node->n_nics == node->n_gpus;
}

int sand_comm_on_torus(const struct sand_cluster *cluster)
{
    return cluster->node_type->scaleup == SAND_SCALEUP_TORUS || places_are_gpus(cluster);
}

// Rings in all dimensions at once go at the pace of the slowest link of their places.
static double slowest_link(const struct sand_fabric *f, uint32_t places)
{
    const uint64_t n = (uint64_t)places * f->n_dims * 2;
    double least = 1;
    for (uint64_t i = 0; i < n; i++) {
        const struct sand_fabric_link *link = &f->links[f->first[SAND_LINK_TORUS] + i];
        least = fmin(least, link->speed * link->goodput);
    }
    return least;
}

// All GPUs are one domain, whose ports are the links of their places.
static enum sand_rc place_on_torus(const struct sand_cluster *cluster,
                                   const struct sand_fabric *fabric, uint32_t ranks,
                                   struct sand_comm *comm, struct sand_diag *diag)
{
    const double slowest = slowest_link(fabric, ranks);
    comm->scaleup = comm->nic;
    comm->domains = 1;
    comm->ranks = comm->domain_ranks = ranks;
    comm->torus_dims = torus_dims(fabric->n_dims, ranks, fabric->n_endpoints);
    comm->scaleup_share =
        slowest * cluster->fabric.link->rate_Bps * 2 * comm->torus_dims / comm->scaleup->rate_Bps;
    if (slowest > 0)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "a link of the torus between the first %u GPUs is down, and rings need all of "
                     "them; ask for GPUs beside it",
                     ranks);
}

enum sand_rc sand_comm_place(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                             uint32_t ranks, uint32_t per_node,
                             const struct sand_comm_options *options, struct sand_comm *comm,
                             struct sand_diag *diag)
{
    const struct sand_node_type *node = cluster->node_type;
    if (per_node == 0)
        per_node = node->n_gpus;
    SAND_TRY(check(cluster, ranks, per_node, diag));
    *comm = comm_on(node, options);
    if (places_are_gpus(cluster))
        return place_on_torus(cluster, fabric, ranks, comm, diag);
    struct placing p = {.fabric = fabric, .per_node = per_node, .comm = comm};
    count_ranks(&p, ranks, per_node);
    const uint32_t each = fabric->nodes_per_domain;
    reach_inside(comm, node, 1, (cluster->n_nodes < each ? cluster->n_nodes : each) * node->n_gpus);
    comm->relays = fabric->nodes_per_domain == 1 && comm->scaleup->relay &&
                   comm->scaleup->medium == SAND_MEDIUM_SCALEUP;
    if (comm->domains < 2)
        return SAND_OK;
    struct sand_fabric_slice slice;
    SAND_TRY(sand_fabric_slice_open(fabric, NULL, p.n_nodes, &slice, diag));
    p.fabric = &slice.fabric;
    p.load = sand_calloc(fabric->n_links, sizeof *p.load);
    const enum sand_rc rc = p.load == NULL ? SAND_ERR_NOMEM : place_network(&p, diag);
    sand_free(p.load);
    sand_fabric_slice_close(&slice);
    return rc;
}
