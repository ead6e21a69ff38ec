// Asks workloads/collective what the library does, and turns its terms into hops.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepcomm.h"

#include <math.h>

#include "ids.h"

struct step_library step_library_of(const struct sand_step_question *q)
{
    const struct sand_node_type *node =
        sand_cluster_slowest_type(q->cluster, q->nodes, q->job->n_nodes);
    const struct sand_split_collectives *asked = &q->job->split.collectives;
    const double share = node->n_nics < node->n_gpus ? (double)node->n_nics / node->n_gpus : 1;
    const int has_scaleup = node->scaleup != SAND_SCALEUP_NONE;
    return (struct step_library){
        .kernels = q->collectives,
        .asked = asked,
        .node = node,
        .options = {.no_gpudirect = asked->through_host,
                    .sharp = asked->sharp,
                    .no_multicast = !asked->nvls},
        .port_Bps = node->nic->rate_Bps * share,
        .relays = has_scaleup && q->fabric->nodes_per_domain == 1 && node->scaleup_link->relay &&
                  node->scaleup_link->medium == SAND_MEDIUM_SCALEUP,
        .reduces = q->fabric->sharp,
        .domain_gpus = has_scaleup ? q->fabric->nodes_per_domain * node->n_gpus : 1};
}

// ---- the communicator as the library sees it ----------------------------------------------------

// Its NIC with the latency of the ways. The communicator points to it.
static struct sand_link_type nic_with(const struct step_library *library, double way_s)
{
    struct sand_link_type nic = *library->node->nic;
    nic.hop_s += way_s;
    return nic;
}

static struct sand_comm comm_of(const struct step_library *library, const struct step_comm *shape,
                                const struct sand_link_type *nic)
{
    struct sand_comm comm;
    const struct sand_comm_ports ports = {.node = library->node,
                                          .nic = nic,
                                          .ranks = shape->ranks,
                                          .domains = shape->domains,
                                          .domain_ranks =
                                              (shape->ranks + shape->domains - 1) / shape->domains,
                                          .ports = shape->ports,
                                          .stride = shape->stride,
                                          .domain_gpus = library->domain_gpus,
                                          .port_Bps = library->port_Bps,
                                          .relays = library->relays,
                                          .reduces = library->reduces};
    sand_comm_by_ports(&ports, &library->options, &comm);
    return comm;
}

// ---- the choice ---------------------------------------------------------------------------------

static enum sand_algorithm asked_algorithm(const struct step_library *library, enum step_use use)
{
    const struct sand_split_collectives *asked = library->asked;
    const uint32_t words[] = {[STEP_USE_TP] = asked->tp,
                              [STEP_USE_CP] = asked->cp,
                              [STEP_USE_DP] = asked->dp,
                              [STEP_USE_EP] = asked->ep,
                              [STEP_USE_PP] = 0};
    if (words[use] == 0)
        return SAND_ALGORITHMS;
    const uint32_t first = use == STEP_USE_EP ? SAND_ALG_PAIRWISE : SAND_ALG_RING;
    return (enum sand_algorithm)(first + words[use] - 1);
}

static struct sand_coll_wish wish_of(const struct step_library *library, enum step_use use)
{
    const uint32_t protocol = library->asked->protocol;
    return (struct sand_coll_wish){asked_algorithm(library, use),
                                   protocol == 0 ? SAND_PROTOCOLS
                                                 : (enum sand_protocol)(protocol - 1)};
}

// Without a kernel that fulfils the wish, `terms` keeps what it was.
static enum sand_rc choose(const struct step_library *library, enum step_use use,
                           const struct sand_comm *comm, const struct sand_collective *collective,
                           struct sand_coll_wish wish, struct sand_coll_terms *terms,
                           struct sand_diag *diag)
{
    static const char *const names[] = {[STEP_USE_TP] = "tensor",
                                        [STEP_USE_CP] = "context",
                                        [STEP_USE_DP] = "data",
                                        [STEP_USE_EP] = "expert",
                                        [STEP_USE_PP] = "pipeline"};
    struct sand_diag why = {0};
    struct sand_coll_terms found;
    const enum sand_rc rc = sand_coll_best(library->kernels, comm, collective, wish, &found, &why);
    if (rc == SAND_OK)
        *terms = found;
    else if (diag)
        sand_fail(diag, rc,
                  "%s parallelism over %u GPUs in %u domains: %s; ask for less in "
                  "split/collectives",
                  names[use], comm->ranks, comm->domains,
                  why.n_messages > 0 ? why.messages[0].text : "no kernel");
    sand_diag_clear(&why);
    return rc;
}

// ---- hops ---------------------------------------------------------------------------------------

// Of a hop's unit, how many a port of a tree or a switch of the network divides the buffer into.
static double parts_of(const struct step_comm *comm, enum sand_algorithm algorithm)
{
    const int two_trees = algorithm == SAND_ALG_TREE || algorithm == SAND_ALG_NVLSTREE;
    return (two_trees ? 2.0 : 1.0) * comm->ports;
}

static double hop_B(const struct step_comm *comm, const struct sand_coll_terms *t)
{
    if (comm->domains < 2)
        return t->scaleup_B * sand_coll_scaleup_stretch(t);
    return t->network_B * sand_coll_network_stretch(t) / parts_of(comm, t->kernel->algorithm);
}

void step_comm_decide(const struct step_library *library, enum step_use use,
                      enum sand_collective_kind kind, double bytes, struct step_comm *comm)
{
    struct step_call call = {.hop_B = 0};
    comm->reduction = SAND_ALGORITHMS;
    comm->scaleup_times = 1;
    if (comm->domains < 2)
        return;
    const int is_even = comm->ports * comm->domains == comm->ranks;
    const int found =
        is_even && step_call_find(library, use, comm, kind, bytes, 0, &call, NULL) == SAND_OK;
    comm->reduction = SAND_ALG_RING;
    if (!found || !(call.hop_B > 0))
        return;
    const struct sand_coll_terms *t = &call.terms;
    comm->reduction = t->kernel->algorithm;
    const double times = t->scaleup_B * sand_coll_scaleup_stretch(t) / call.hop_B;
    comm->scaleup_times = times > 1 ? (uint32_t)lround(times) : 1;
}

enum sand_rc step_call_find(const struct step_library *library, enum step_use use,
                            const struct step_comm *comm, enum sand_collective_kind kind,
                            double bytes, double way_s, struct step_call *call,
                            struct sand_diag *diag)
{
    if (comm->ranks < 2 || !(bytes > 0))
        return SAND_OK;
    const struct sand_link_type nic = nic_with(library, way_s);
    const struct sand_comm all = comm_of(library, comm, &nic);
    const struct sand_collective collective = {kind, comm->ranks, bytes};
    struct sand_coll_wish wish = wish_of(library, use);
    const int halves = kind == SAND_ALL_GATHER || kind == SAND_REDUCE_SCATTER;
    const int undecided = comm->reduction == SAND_ALGORITHMS,
              in_switches = comm->reduction == SAND_ALG_SHARP;
    if (wish.algorithm == SAND_ALGORITHMS && comm->domains > 1 && kind != SAND_SEND)
        wish.algorithm = kind == SAND_ALL_REDUCE || (halves && (undecided || in_switches))
                             ? comm->reduction
                             : SAND_ALG_RING;
    SAND_TRY(choose(library, use, &all, &collective, wish, &call->terms, diag));
    call->terms.network_link = SAND_NONE;
    call->hop_B = hop_B(comm, &call->terms);
    call->latency_s = call->terms.latency_s + call->terms.fill_s;
    call->way_s = way_s;
    return SAND_OK;
}

enum sand_rc step_alltoall_find(const struct step_library *library, const struct step_comm *comm,
                                double bytes, const struct step_copies *copies, double way_s,
                                struct step_alltoall_call *call, struct sand_diag *diag)
{
    const struct sand_link_type nic = nic_with(library, way_s);
    const struct sand_comm all = comm_of(library, comm, &nic);
    const struct sand_collective collective = {SAND_ALL_TO_ALL, comm->ranks, bytes};
    struct sand_coll_wish wish = wish_of(library, STEP_USE_EP);
    if (comm->ranks < 2 || !(bytes > 0))
        return SAND_OK;
    if (copies->are_once && all.domains > 1 && all.domain_ranks > 1)
        wish.algorithm = SAND_ALG_HIERARCHICAL;
    struct sand_coll_terms *t = &call->call.terms;
    SAND_TRY(choose(library, STEP_USE_EP, &all, &collective, wish, t, diag));
    call->bytes = bytes;
    call->inside_B = copies->per_rank * t->scaleup_B * sand_coll_scaleup_stretch(t);
    call->outside_B =
        copies->per_domain * t->network_B * sand_coll_network_stretch(t) / all.domain_ranks;
    call->call.latency_s = t->latency_s + t->fill_s;
    call->call.way_s = way_s;
    return SAND_OK;
}
