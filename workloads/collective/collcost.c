// Volumes, hops and rates of every algorithm; the same arithmetic for all makes times of them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collcost.h"

#include <math.h>

#include "alltoall.h"
#include "ids.h"

struct setting {
    const struct sand_collectives *constants;
    const struct sand_comm *comm;
    const struct sand_collective *collective;
    const struct sand_coll_kernel *kernel;
};

typedef const char *shape_fn(const struct setting *s, struct sand_coll_terms *t);

// ---- what links reach ---------------------------------------------------------------------------

static double reach(const struct sand_link_type *link)
{
    return link->alone > 0 ? link->alone : link->usable;
}

// 0: no bound.
static double at_most(double Bps, double most_Bps)
{
    return most_Bps > 0 && most_Bps < Bps ? most_Bps : Bps;
}

static double ring_port_Bps(const struct setting *s)
{
    return s->comm->scaleup->rate_Bps * reach(s->comm->scaleup);
}

// Of its port, what a ring in one domain reaches: the links of the torus that it spans, what the
// halves of its node let through.
static double inside_Bps(const struct setting *s)
{
    return at_most(ring_port_Bps(s) * s->comm->scaleup_share, s->comm->scaleup_most_Bps);
}

// Chips along a side of the torus, of equal sides, that the ranks of a domain are.
static double torus_side(const struct sand_comm *comm)
{
    return pow(comm->domain_ranks, 1.0 / comm->torus_dims);
}

// Chunks in which a channel passes the buffer to a switch that reduces. The library doubles them
// from 64 KiB, 512 KiB and 8 MiB of a channel and rank on (NVIDIA/nccl, src/enqueue.cc,
// calcCollChunking: 2, 8 and 64 loops); here between the middles of its steps, or a message would
// take less time than a shorter one.
static double multicast_chunk_B(const struct setting *s)
{
    static const double middle[] = {14.5, 17.5, 21, 24.5}; // log2 of bytes
    const struct sand_coll_kernel *k = s->kernel;
    const double at =
        log2(s->collective->bytes / s->comm->scaleup->multicast_channels / s->comm->domain_ranks);
    double doubled = 0;
    for (size_t i = 1; i < sizeof middle / sizeof middle[0]; i++)
        doubled += fmax(0, fmin(1, (at - middle[i - 1]) / (middle[i] - middle[i - 1])));
    return fmin(k->chunk_least_B * exp2(doubled), k->chunk_most_B);
}

// What goes through such a switch waits for it once a chunk, one rank's part after the other.
static double multicast_Bps(const struct setting *s)
{
    const struct sand_link_type *link = s->comm->scaleup;
    const double Bps = link->rate_Bps * link->multicast, chunk_s = s->kernel->chunk_s;
    if (!(chunk_s > 0) || !(Bps > 0) || !(s->collective->bytes > 0))
        return Bps;
    const double lost = (chunk_s + link->hop_s) / link->multicast_channels / multicast_chunk_B(s);
    return 1 / (1 / Bps + lost);
}

// Without GPUDirect every byte is written to host memory and read again on its way: half of what
// the GPUs' host links reach is left, if that is less than the NICs have.
static double network_Bps(const struct setting *s, double nominal_Bps)
{
    const double Bps = nominal_Bps * reach(s->comm->nic);
    if (!s->comm->options.no_gpudirect)
        return Bps;
    const double host_Bps =
        0.5 * s->comm->host->rate_Bps * s->comm->host->usable * s->comm->domain_ranks;
    return host_Bps < Bps ? host_Bps : Bps;
}

static void set_network(const struct setting *s, double nominal_Bps, struct sand_coll_terms *t)
{
    t->network_Bps = network_Bps(s, nominal_Bps);
    t->network_reach_Bps = nominal_Bps * reach(s->comm->nic);
}

// Channels of a collective: over the network at most two a port, as NCCL doubles them. A GPU with
// several ports of its own is on as many times as many.
static double channels(const struct setting *s)
{
    const struct sand_comm *c = s->comm;
    const uint32_t each =
        c->domains > 1 && c->ports > c->domain_ranks ? c->ports / c->domain_ranks : 1;
    const double most = s->constants->channels * each, ports = 2.0 * c->ports;
    return c->domains > 1 && ports < most ? ports : most;
}

// ---- shapes -------------------------------------------------------------------------------------

static int is_all_reduce(const struct setting *s)
{
    return s->collective->kind == SAND_ALL_REDUCE;
}

static int is_half(const struct setting *s)
{
    return s->collective->kind == SAND_ALL_GATHER || s->collective->kind == SAND_REDUCE_SCATTER;
}

static int is_point_to_point(const struct setting *s)
{
    return s->collective->kind == SAND_ALL_TO_ALL || s->collective->kind == SAND_SEND;
}

static double levels(uint32_t n)
{
    return n > 1 ? floor(log2(n)) : 0;
}

// Rings in all dimensions of a torus at once, each with its part of the buffer, which all of them
// pass one after the other: the bytes of a ring over all links, the hops of the sides (bucket
// algorithm; Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus
// interconnects", ICS 2010).
static void turn_on_torus(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    const double passes = is_all_reduce(s) ? 2 : 1, n = c->domain_ranks;
    t->scaleup_hops = passes * c->torus_dims * (torus_side(c) - 1);
    t->fill_B = 0;
    if (c->domains < 2 || !(is_all_reduce(s) || is_half(s)))
        return;
    // Over slices: scattered inside, each chip's part around the network, gathered.
    t->scaleup_B = passes * (n - 1) / n * s->collective->bytes;
    t->network_B = passes * (c->domains - 1.0) / c->domains * s->collective->bytes;
}

// NCCL's ring: of its steps one or two for every domain border cross the network.
static const char *shape_ring(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    if (is_point_to_point(s))
        return "does no point-to-point traffic";
    const double steps = sand_collective_steps(s->collective);
    const double borders = c->domains > 1 ? (is_all_reduce(s) ? 2.0 : 1.0) * (c->domains - 1) : 0;
    t->network_hops = borders < steps ? borders : steps;
    t->scaleup_hops = steps - t->network_hops;
    t->scaleup_B = t->network_B = sand_collective_hop_B(s->collective);
    t->scaleup_Bps = inside_Bps(s);
    set_network(s, c->ring_Bps, t);
    t->network_link = c->ring_link;
    t->depth = is_all_reduce(s) ? 1 : 0.5;
    t->fill_B = channels(s) * c->ranks * s->kernel->chunk_B;
    if (c->torus_dims > 0)
        turn_on_torus(s, t);
    return NULL;
}

// Up and down two trees over the domains.
static void cross_trees(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    const double channel_Bps = c->domain_ranks > 1 ? c->scaleup->tree_channel_Bps : 0;
    t->network_hops = 2 * levels(c->domains);
    t->network_B = s->collective->bytes;
    set_network(s, c->tree_Bps, t);
    t->network_link = c->tree_link;
    // An inner domain of a tree passes everything twice (one up, two down).
    const double most = channels(s) * channel_Bps / (c->domains > 2 ? 2 : 1);
    if (channel_Bps > 0 && most < t->network_Bps) {
        t->network_Bps = most;
        t->network_link = SAND_NONE;
    }
    t->depth = 1 + s->constants->tree_depth * 2 * log2(c->domains);
    t->fill_B = channels(s) * c->domain_ranks * s->kernel->chunk_B;
}

// A chain inside every domain.
static const char *shape_tree(const struct setting *s, struct sand_coll_terms *t)
{
    if (!is_all_reduce(s))
        return "does all-reduce only";
    cross_trees(s, t);
    t->scaleup_hops = 2.0 * (s->comm->domain_ranks - 1);
    t->scaleup_B = 2 * s->collective->bytes;
    t->scaleup_Bps = inside_Bps(s);
    return NULL;
}

static const char *need_multicast(const struct setting *s)
{
    if (!(s->comm->scaleup->multicast > 0) || s->comm->domain_ranks < 2)
        return "needs a scale-up switch that reduces";
    if (s->comm->options.no_multicast)
        return "needs the scale-up switch to reduce, which is switched off";
    return NULL;
}

// The switch adds what all ports read and writes it to all: a port sends and receives the buffer
// once (all-reduce), sends it all (reduce-scatter) or receives it (all-gather).
static const char *shape_nvls(const struct setting *s, struct sand_coll_terms *t)
{
    if (s->comm->domains > 1)
        return "is for one scale-up domain";
    if (!is_all_reduce(s) && !is_half(s))
        return "does all-reduce, all-gather and reduce-scatter only";
    t->scaleup_hops = 1;
    t->scaleup_B = s->collective->bytes;
    t->scaleup_Bps = multicast_Bps(s);
    t->depth = 1;
    t->fill_B = channels(s) * s->comm->domain_ranks * s->kernel->chunk_B;
    return need_multicast(s);
}

static const char *shape_nvlstree(const struct setting *s, struct sand_coll_terms *t)
{
    if (s->comm->domains < 2)
        return "needs several scale-up domains";
    if (!is_all_reduce(s))
        return "does all-reduce only";
    cross_trees(s, t);
    t->scaleup_hops = 1;
    t->scaleup_B = s->collective->bytes;
    t->scaleup_Bps = multicast_Bps(s);
    return need_multicast(s);
}

static const char *shape_sharp(const struct setting *s, struct sand_coll_terms *t)
{
    if (s->comm->domains < 2)
        return "needs several scale-up domains";
    if (!(s->comm->sharp_Bps > 0))
        return s->comm->why_no_sharp;
    if (!is_all_reduce(s) && !is_half(s))
        return "does all-reduce, all-gather and reduce-scatter only";
    t->network_hops = 1;
    t->scaleup_hops = s->comm->domain_ranks > 1;
    t->scaleup_B = t->network_B = s->collective->bytes;
    if (s->collective->kind == SAND_ALL_GATHER) // the switches copy what the others have
        t->network_B *= (s->comm->domains - 1.0) / s->comm->domains;
    t->scaleup_Bps = multicast_Bps(s);
    set_network(s, s->comm->sharp_Bps, t);
    t->depth = 1;
    t->fill_B = channels(s) * s->comm->domain_ranks * s->kernel->chunk_B;
    return s->comm->domain_ranks > 1 ? need_multicast(s) : NULL; // alone: straight into the NIC
}

// LL: every rank writes all it has to all others. Simple: as NVLS, without staging.
static const char *shape_symmetric(const struct setting *s, struct sand_coll_terms *t)
{
    const char *why = shape_nvls(s, t);
    if (!s->comm->options.symmetric)
        return "needs buffers registered at equal addresses";
    if (s->kernel->protocol == SAND_PROTO_SIMPLE)
        return why;
    t->scaleup_B = (s->comm->ranks - 1.0) * s->collective->bytes;
    t->scaleup_Bps = ring_port_Bps(s);
    return why;
}

// All-to-all inside a domain. Around a ring of k chips a message takes k/4 hops in the mean, spread
// over two links: of a torus, the links of one of D dimensions, 2 D in all, each carry k/8 of what
// a chip sends. Between the halves of a node of k ranks goes k/4 of what each has, each way; a rank
// sends all of that but a k-th.
static double scattered_Bps(const struct setting *s)
{
    const struct sand_comm *c = s->comm;
    const double k = c->domain_ranks;
    double Bps = ring_port_Bps(s) * s->constants->p2p_rate;
    if (c->torus_dims > 0)
        Bps *= fmin(c->scaleup_share, 4 * c->scaleup_share / (c->torus_dims * torus_side(c)));
    if (c->scaleup_most_Bps > 0 && k > 1)
        Bps = fmin(Bps, 4 * c->scaleup_most_Bps * (k - 1) / (k * k));
    return Bps;
}

// What a domain sends divides its NICs among the ranks; a port that several send to at a time loses
// to incast. Messages start one after another.
static void share_alltoall(const struct setting *s, const struct sand_alltoall *all,
                           struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    const struct sand_alltoall_load load = sand_alltoall_load(all);
    const double most = s->constants->incast_peers;
    const double peers = load.network_messages < most ? load.network_messages : most;
    const double loss = peers > 1 ? s->constants->incast * (peers - 1) : 0;
    t->scaleup_hops = load.scaleup_messages > 0;
    t->network_hops = load.network_messages > 0;
    t->messages_s = load.scaleup_messages * c->scaleup->peer_latency_s +
                    load.network_messages * c->nic->peer_latency_s;
    t->scaleup_B = load.scaleup_B;
    t->scaleup_Bps = scattered_Bps(s);
    if (c->domains < 2 && c->torus_dims == 0) { // over a network that is what holds all up
        t->depth = 1;
        t->fill_B = channels(s) * c->ranks * s->kernel->chunk_B;
    }
    t->network_B = load.network_B * c->domain_ranks;
    set_network(s, c->alltoall_Bps, t);
    t->network_Bps /= 1 + loss;
    t->network_link = c->alltoall_link;
}

// Channels on which a rank sends `bytes` to another: all are shared out among the ranks, and a
// message with long parts takes twice as many, again and again (NVIDIA/nccl, src/enqueue.cc,
// scheduleP2pTasksToPlan and calcP2pChannelCount). 0: no bound.
static double p2p_channels(const struct setting *s, double bytes)
{
    const double most = s->constants->p2p_channels;
    double n = most;
    while (n * s->comm->ranks > most && n > 1)
        n /= 2;
    while (s->constants->p2p_part_B > 0 && bytes > n * s->constants->p2p_part_B && n <= most / 2)
        n *= 2;
    return n;
}

// Sends and receives of neighbours, all at a time.
static void share_send(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    t->scaleup_hops = c->domain_ranks > 1;
    t->network_hops = c->domains > 1;
    t->scaleup_B = s->collective->bytes;
    t->scaleup_Bps = at_most(ring_port_Bps(s) * s->constants->p2p_rate,
                             p2p_channels(s, t->scaleup_B) * c->scaleup->p2p_channel_Bps);
    if (c->torus_dims > 0) // one of a chip's links, two a dimension
        t->scaleup_Bps *= c->scaleup_share / (2 * c->torus_dims);
    // One rank of a domain sends out of it, through its own ports, which are whole ones.
    const uint32_t own = c->ports > c->domain_ranks ? c->ports / c->domain_ranks : 1;
    t->network_B = s->collective->bytes;
    set_network(s, c->ports > 0 ? c->ring_Bps / c->ports * own : c->ring_Bps, t);
    t->network_link = c->ring_link;
}

static const char *shape_alltoall(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    const int pairwise = s->kernel->algorithm == SAND_ALG_PAIRWISE;
    struct sand_alltoall all = {SAND_ALLTOALL_PAIRWISE, c->ranks, c->domain_ranks,
                                s->collective->bytes,   1,        1};
    if (!is_point_to_point(s))
        return "is for point-to-point traffic";
    if (pairwise && s->collective->kind == SAND_SEND) {
        share_send(s, t);
        return NULL;
    }
    if (!pairwise && s->collective->kind == SAND_SEND)
        return "is for all-to-all";
    if (!pairwise && (c->domains < 2 || c->domain_ranks < 2))
        return "needs several domains of several GPUs";
    if (s->kernel->algorithm == SAND_ALG_PXN && !c->relays)
        return "needs nodes whose GPUs relay over their scale-up links";
    if (!pairwise)
        all.kind =
            s->kernel->algorithm == SAND_ALG_PXN ? SAND_ALLTOALL_PXN : SAND_ALLTOALL_HIERARCHICAL;
    share_alltoall(s, &all, t);
    return NULL;
}

// ---- time ---------------------------------------------------------------------------------------

static double tier_s(double bytes, double Bps)
{
    return bytes > 0 ? bytes / Bps : 0;
}

static void drop_unused_tiers(const struct setting *s, struct sand_coll_terms *t)
{
    if (s->comm->domain_ranks < 2)
        t->scaleup_B = t->scaleup_Bps = 0;
    if (s->comm->domains < 2) {
        t->network_B = t->network_Bps = 0;
        t->network_link = SAND_NONE;
    }
}

// Whose latencies count: where 128 bytes arrive whole without a look at each, LL's for LL128.
static const struct sand_coll_kernel *latencies(const struct setting *s)
{
    if (s->kernel->protocol == SAND_PROTO_LL128 && s->comm->scaleup->ll128_as_ll)
        for (size_t i = 0; i < s->constants->n_kernels; i++) {
            const struct sand_coll_kernel *k = &s->constants->kernels[i];
            if (k->algorithm == s->kernel->algorithm && k->protocol == SAND_PROTO_LL)
                return k;
        }
    return s->kernel;
}

static void add_latency(const struct setting *s, struct sand_coll_terms *t)
{
    const struct sand_comm *c = s->comm;
    const struct sand_coll_kernel *k = latencies(s);
    t->base_s = k->base_s + (c->domain_ranks > 1 ? c->scaleup->launch_s : 0);
    t->scaleup_hop_s =
        c->scaleup->hop_s + (c->scaleup->medium == SAND_MEDIUM_PCIE ? k->pcie_s : k->scaleup_s);
    t->network_hop_s = k->network_s + c->nic->hop_s;
    if (c->options.no_gpudirect)
        t->network_hop_s += 2 * k->pcie_s;
    t->latency_s = t->base_s + t->scaleup_hops * t->scaleup_hop_s +
                   t->network_hops * t->network_hop_s + t->messages_s;
}

// Two tiers of a pipeline hold each other up where they are alike: between the larger time (s
// infinite) and the sum (s = 1).
static double both_tiers_s(double a_s, double b_s, double sharpness)
{
    const double larger = a_s > b_s ? a_s : b_s, smaller = a_s > b_s ? b_s : a_s;
    const double ratio = larger > 0 ? smaller / larger : 0;
    if (!(ratio > 0)) // one of them is not used: what follows would say the same, slower
        return larger;
    return larger * pow(1 + pow(ratio, sharpness), 1 / sharpness);
}

static void add_wire(const struct setting *s, struct sand_coll_terms *t)
{
    t->scaleup_reach_Bps = ring_port_Bps(s);
    t->scaleup_Bps *= s->kernel->rate;
    t->network_Bps *= s->kernel->rate;
    if (s->kernel->protocol == SAND_PROTO_LL)
        t->scaleup_Bps = at_most(t->scaleup_Bps, s->comm->scaleup->ll_most_Bps);
    t->network_Bps = at_most(t->network_Bps, s->kernel->network_most_Bps);
    t->wire_s = both_tiers_s(tier_s(t->scaleup_B, t->scaleup_Bps),
                             tier_s(t->network_B, t->network_Bps), s->constants->tier_sharpness);
    if (t->fill_B > 0)
        t->fill_s = t->depth * t->wire_s / (1 + s->collective->bytes / t->fill_B);
}

const char *sand_coll_cost(const struct sand_collectives *constants, const struct sand_comm *comm,
                           const struct sand_collective *collective,
                           const struct sand_coll_kernel *kernel, struct sand_coll_terms *terms)
{
    static shape_fn *const shapes[SAND_ALGORITHMS] = {[SAND_ALG_RING] = shape_ring,
                                                      [SAND_ALG_TREE] = shape_tree,
                                                      [SAND_ALG_NVLS] = shape_nvls,
                                                      [SAND_ALG_NVLSTREE] = shape_nvlstree,
                                                      [SAND_ALG_SHARP] = shape_sharp,
                                                      [SAND_ALG_SYMMETRIC] = shape_symmetric,
                                                      [SAND_ALG_PAIRWISE] = shape_alltoall,
                                                      [SAND_ALG_PXN] = shape_alltoall,
                                                      [SAND_ALG_HIERARCHICAL] = shape_alltoall};
    const struct setting s = {constants, comm, collective, kernel};
    *terms = (struct sand_coll_terms){.kernel = kernel, .network_link = SAND_NONE};
    if (comm->ranks < 2)
        return NULL;
    if (comm->torus_dims > 0 && (kernel->protocol != SAND_PROTO_SIMPLE ||
                                 (kernel->algorithm != SAND_ALG_RING && !is_point_to_point(&s))))
        return "needs GPUs that share a switch; chips of a torus run rings, or pairwise, under "
               "Simple";
    if (kernel->protocol == SAND_PROTO_LL128 && comm->options.no_gpudirect && comm->domains > 1)
        return "needs GPUDirect, as it orders 128-byte stores";
    const char *why = shapes[kernel->algorithm](&s, terms);
    if (why != NULL)
        return why;
    drop_unused_tiers(&s, terms);
    add_latency(&s, terms);
    add_wire(&s, terms);
    terms->time_s = terms->latency_s + terms->wire_s + terms->fill_s;
    return NULL;
}

// ---- choice -------------------------------------------------------------------------------------

static int is_wished(const struct sand_coll_kernel *k, struct sand_coll_wish wish)
{
    return (wish.algorithm == SAND_ALGORITHMS ? !k->on_request : k->algorithm == wish.algorithm) &&
           (wish.protocol == SAND_PROTOCOLS || k->protocol == wish.protocol);
}

// Point to point knows LL and Simple only: NCCL chooses between them whatever NCCL_PROTO says
// (NVIDIA/nccl, src/enqueue.cc, addP2pToPlan).
static struct sand_coll_wish possible(struct sand_coll_wish wish, enum sand_collective_kind kind)
{
    if (wish.protocol == SAND_PROTO_LL128 && (kind == SAND_SEND || kind == SAND_ALL_TO_ALL))
        wish.protocol = SAND_PROTOCOLS;
    return wish;
}

enum sand_rc sand_coll_best(const struct sand_collectives *constants, const struct sand_comm *comm,
                            const struct sand_collective *collective, struct sand_coll_wish wish,
                            struct sand_coll_terms *terms, struct sand_diag *diag)
{
    const char *why = "the catalogue has no such kernel", *of = "";
    int found = 0;
    wish = possible(wish, collective->kind);
    for (size_t i = 0; i < constants->n_kernels; i++) {
        const struct sand_coll_kernel *k = &constants->kernels[i];
        struct sand_coll_terms now;
        if (!is_wished(k, wish))
            continue;
        const char *refusal = sand_coll_cost(constants, comm, collective, k, &now);
        if (refusal != NULL) {
            why = refusal;
            of = sand_algorithm_name(k->algorithm);
        } else if (!found || now.time_s < terms->time_s)
            *terms = now;
        found = found || refusal == NULL;
    }
    if (found)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT, "%s cannot run under algorithm %s, protocol %s: %s%s%s",
                     sand_collective_name(collective->kind),
                     wish.algorithm < SAND_ALGORITHMS ? sand_algorithm_name(wish.algorithm) : "any",
                     wish.protocol < SAND_PROTOCOLS ? sand_protocol_name(wish.protocol) : "any", of,
                     of[0] != '\0' ? " " : "", why);
}
