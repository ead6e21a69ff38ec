// Ranks onto nodes, every hop onto links, and the links that can never bind.
// Rank order: tensor parallel innermost, then pipeline, then data (Llama 3 report, section 3.3.2).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "traffic.h"

#include <math.h>

#include "collective.h"
#include "commedges.h"
#include "ids.h"
#include "mem.h"
#include "stepexperts.h"
#include "steprings.h"
#include "train.h"
#include "waylatency.h"

uint32_t step_flow_tp(const struct step_traffic *traffic, uint32_t actor)
{
    (void)traffic;
    return actor;
}

uint32_t step_flow_cp(const struct step_traffic *traffic, uint32_t actor)
{
    return traffic->n_actors + actor * traffic->rails_simulated;
}

uint32_t step_flow_send(const struct step_traffic *traffic, uint32_t actor, uint32_t previous)
{
    return traffic->n_actors +
           (traffic->n_actors + actor * 2 + previous) * traffic->rails_simulated;
}

uint32_t step_flow_ring(const struct step_traffic *traffic, enum step_ring ring, uint32_t stage)
{
    return traffic->n_actors +
           (traffic->n_actors * 3 + stage * STEP_RINGS + (uint32_t)ring) * traffic->rails_simulated;
}

uint32_t step_flows_but_experts(const struct step_traffic *traffic)
{
    return step_flow_ring(traffic, STEP_RING_ALL, traffic->pp);
}

uint32_t step_actor_rank(const struct sand_split *split, uint32_t actor)
{
    const uint32_t s = actor % split->pp, copy = actor / split->pp;
    const uint32_t c = copy % split->cp, d = copy / split->cp;
    const uint32_t outer =
        sand_split_order(split) == SAND_RANKS_TP_CP_DP_PP ? s * split->dp + d : d * split->pp + s;
    return (outer * split->cp + c) * split->tp;
}

static int is_private(uint32_t link_class)
{
    return link_class <= SAND_LINK_NIC_DOWN;
}

// Rails of one group that share a NIC.
static uint32_t nic_share(const struct step_traffic *traffic)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    const uint32_t per_nic = fabric->gpus_per_node / fabric->nics_per_node;
    const uint32_t tp = traffic->question->job->split.tp;
    return per_nic < 1 ? 1 : per_nic < tp ? per_nic : tp;
}

// ---- rail folding -------------------------------------------------------------------------------

// Link first + k is as healthy as link first.
static int is_alike(const struct sand_fabric *fabric, uint32_t first, uint32_t k)
{
    const struct sand_fabric_link *a = &fabric->links[first], *b = &fabric->links[first + k];
    return a->speed == b->speed && a->goodput == b->goodput && a->is_down == b->is_down;
}

static uint32_t leaf_of(const struct sand_fabric *fabric, uint32_t nic)
{
    uint32_t ends[2];
    sand_fabric_ends(fabric, fabric->first[SAND_LINK_NIC_UP] + nic, ends);
    return ends[1];
}

// Permuting the rails of every group at once changes nothing if all NICs and GPUs of a node are
// equal and reach the same leaf: then one rail stands for all.
static int rails_are_equal(const struct step_traffic *traffic)
{
    const struct sand_step_question *q = traffic->question;
    const struct sand_fabric *fabric = q->fabric;
    if (q->folding == SAND_NO_FOLD || !sand_fabric_is_aggregate(fabric) || fabric->n_rails > 1 ||
        q->job->split.tp > fabric->gpus_per_node || fabric->gpus_per_node % q->job->split.tp != 0 ||
        fabric->gpus_per_node % fabric->nics_per_node != 0 ||
        q->job->split.tp % nic_share(traffic) != 0 || fabric->link_planes > 1)
        return 0;
    for (uint32_t i = 0; i < q->job->n_nodes; i++) {
        const uint32_t nic = q->nodes[i] * fabric->nics_per_node;
        for (uint32_t k = 1; k < fabric->nics_per_node; k++)
            if (!is_alike(fabric, fabric->first[SAND_LINK_NIC_UP] + nic, k) ||
                !is_alike(fabric, fabric->first[SAND_LINK_NIC_DOWN] + nic, k) ||
                leaf_of(fabric, nic + k) != leaf_of(fabric, nic))
                return 0;
        for (uint32_t g = 0; g < fabric->gpus_per_node; g++) {
            const uint32_t out = sand_fabric_scaleup_out(fabric, q->nodes[i], g);
            const uint32_t in = sand_fabric_scaleup_in(fabric, q->nodes[i], g);
            if (out != SAND_NONE && (fabric->links[out].speed != fabric->links[out - g].speed ||
                                     fabric->links[in].speed != fabric->links[in - g].speed))
                return 0;
        }
    }
    return 1;
}

// ---- edges --------------------------------------------------------------------------------------

struct step_place step_place_of(const struct step_traffic *traffic, uint32_t actor, uint32_t rail)
{
    const struct sand_step_question *q = traffic->question;
    const uint32_t rank = step_actor_rank(&q->job->split, actor) + rail;
    const uint32_t per_node = q->fabric->gpus_per_node;
    return (struct step_place){q->nodes[rank / per_node], rank % per_node};
}

static enum sand_rc begin_edge(struct step_traffic *traffic, uint32_t flow, uint32_t end_weight,
                               uint32_t weight, uint32_t times)
{
    SAND_TRY(sand_grow((void **)&traffic->edges, &traffic->edge_capacity, traffic->n_edges + 1,
                       sizeof *traffic->edges));
    traffic->edges[traffic->n_edges++] =
        (struct step_edge){.flow = flow,
                           .first_link = (uint32_t)traffic->n_edge_links,
                           .end_weight = end_weight * times,
                           .weight = weight * times,
                           .times = times};
    traffic->flows[flow].n_edges++;
    return SAND_OK;
}

static enum sand_rc add_links(struct step_traffic *traffic, const uint32_t *links, uint32_t n)
{
    SAND_TRY(sand_grow((void **)&traffic->edge_links, &traffic->edge_link_capacity,
                       traffic->n_edge_links + n, sizeof *traffic->edge_links));
    for (uint32_t i = 0; i < n; i++)
        traffic->edge_links[traffic->n_edge_links++] = links[i];
    traffic->edges[traffic->n_edges - 1].n_links = n;
    return SAND_OK;
}

// Of the rails that an edge stands for, those on one NIC.
static uint32_t rails_on_nic(const struct step_traffic *traffic)
{
    return traffic->rails > 1 ? nic_share(traffic) : 1;
}

// One of a hop's queue pairs. A relay over the scale-up domain carries the whole hop: it is listed
// with the first.
static enum sand_rc add_path(struct step_traffic *traffic, uint32_t flow, uint32_t source,
                             uint32_t target, uint32_t path, uint32_t times)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    uint32_t links[SAND_ROUTE_MAX], skip = 0;
    const uint32_t n = sand_fabric_route_path(&traffic->slice.fabric, source, target, path, links);
    if (n == SAND_NONE) {
        traffic->cut_from = source;
        traffic->cut_to = target;
        return SAND_ERR_INPUT;
    }
    while (path > 0 && skip < n && fabric->links[links[skip]].link_class <= SAND_LINK_SCALEUP_IN)
        skip++;
    if (path > 0 && skip == n)
        return SAND_OK;
    SAND_TRY(begin_edge(traffic, flow, rails_on_nic(traffic), traffic->rails, times));
    return add_links(traffic, links + skip, n - skip);
}

enum sand_rc step_edge_add_times(struct step_traffic *traffic, uint32_t flow,
                                 struct step_place from, struct step_place to, uint32_t times)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    const uint32_t out = sand_fabric_scaleup_out(fabric, from.node, from.gpu);
    if (out != SAND_NONE && sand_fabric_domain_of_node(fabric, from.node) ==
                                sand_fabric_domain_of_node(fabric, to.node)) {
        const uint32_t links[] = {out, sand_fabric_scaleup_in(fabric, to.node, to.gpu)};
        SAND_TRY(begin_edge(traffic, flow, 1, 0, times));
        return add_links(traffic, links, 2);
    }
    const uint32_t source = sand_fabric_nic_of_gpu(fabric, from.node, from.gpu);
    const uint32_t target = sand_fabric_nic_of_gpu(fabric, to.node, to.gpu);
    for (uint32_t path = 0; path < fabric->n_paths; path++)
        SAND_TRY(add_path(traffic, flow, source, target, path, times));
    return SAND_OK;
}

enum sand_rc step_edge_add(struct step_traffic *traffic, uint32_t flow, struct step_place from,
                           struct step_place to)
{
    return step_edge_add_times(traffic, flow, from, to, 1);
}

enum sand_rc step_edge_add_link(struct step_traffic *traffic, uint32_t flow, uint32_t link)
{
    const uint32_t link_class = traffic->question->fabric->links[link].link_class;
    const uint32_t paths = step_link_paths(traffic, link_class);
    const uint32_t rails = is_private(link_class) ? rails_on_nic(traffic) : traffic->rails;
    SAND_TRY(begin_edge(traffic, flow, rails, rails, paths));
    return add_links(traffic, &link, 1);
}

void step_flow_begin(struct step_traffic *traffic, uint32_t flow, uint32_t kind, uint32_t stage,
                     uint32_t actor, uint32_t peer)
{
    traffic->flows[flow] = (struct step_traffic_flow){.kind = kind,
                                                      .stage = stage,
                                                      .actor = actor,
                                                      .peer = peer,
                                                      .first_edge = (uint32_t)traffic->n_edges};
}

// A group that no domain holds.
static enum sand_rc add_wide_tp(struct step_traffic *traffic, uint32_t actor, uint32_t flow)
{
    const uint32_t tp = traffic->tp.ranks;
    struct step_place *members = sand_calloc(tp, sizeof *members);
    if (members == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t t = 0; t < tp; t++)
        members[t] = step_place_of(traffic, actor, t);
    const enum sand_rc rc = step_comm_edges(traffic, flow, &traffic->tp, members);
    sand_free(members);
    return rc;
}

// The group's ring over its GPUs' ports; with folded rails one GPU stands for all.
static enum sand_rc add_tp(struct step_traffic *traffic, uint32_t actor)
{
    const uint32_t tp = traffic->question->job->split.tp;
    const uint32_t flow = step_flow_tp(traffic, actor);
    step_flow_begin(traffic, flow, STEP_FLOW_TP, actor % traffic->pp, actor, SAND_NONE);
    if (tp == 1)
        return SAND_OK;
    if (traffic->tp.domains > 1)
        return add_wide_tp(traffic, actor, flow);
    const uint32_t n = traffic->rails > 1 ? 1 : tp;
    for (uint32_t t = 0; t < n; t++)
        SAND_TRY(step_edge_add(traffic, flow, step_place_of(traffic, actor, t),
                               step_place_of(traffic, actor, n == 1 ? 0 : (t + 1) % tp)));
    return SAND_OK;
}

// Keys and values to the next context rank of the same replica.
static enum sand_rc add_cp(struct step_traffic *traffic, uint32_t actor)
{
    const uint32_t cp = traffic->question->job->split.cp, pp = traffic->pp;
    const uint32_t copy = actor / pp;
    const uint32_t next = copy - copy % cp + (copy % cp + 1) % cp;
    const uint32_t peer = cp > 1 ? next * pp + actor % pp : SAND_NONE;
    for (uint32_t t = 0; t < traffic->rails_simulated; t++) {
        step_flow_begin(traffic, step_flow_cp(traffic, actor) + t, STEP_FLOW_CP, actor % pp, actor,
                        peer);
        if (peer != SAND_NONE)
            SAND_TRY(step_edge_add(traffic, step_flow_cp(traffic, actor) + t,
                                   step_place_of(traffic, actor, t),
                                   step_place_of(traffic, peer, t)));
    }
    return SAND_OK;
}

// Neighbour in the pipeline; SAND_NONE where nothing is sent (no wrap without virtual stages).
static uint32_t neighbour(const struct step_traffic *traffic, uint32_t actor, uint32_t previous)
{
    const uint32_t pp = traffic->pp, stage = actor % pp, base = actor - stage;
    const int wraps = traffic->question->job->split.virtual_stages > 1;
    if (pp == 1)
        return SAND_NONE;
    if (previous == 0)
        return stage + 1 < pp ? actor + 1 : wraps ? base : SAND_NONE;
    return stage > 0 ? actor - 1 : wraps ? base + pp - 1 : SAND_NONE;
}

static enum sand_rc add_sends(struct step_traffic *traffic, uint32_t actor, uint32_t previous)
{
    const uint32_t peer = neighbour(traffic, actor, previous);
    for (uint32_t t = 0; t < traffic->rails_simulated; t++) {
        const uint32_t flow = step_flow_send(traffic, actor, previous) + t;
        step_flow_begin(traffic, flow, previous ? STEP_FLOW_PREVIOUS : STEP_FLOW_NEXT,
                        actor % traffic->pp, actor, peer);
        if (peer != SAND_NONE)
            SAND_TRY(step_edge_add(traffic, flow, step_place_of(traffic, actor, t),
                                   step_place_of(traffic, peer, t)));
    }
    return SAND_OK;
}

uint32_t step_domain_of(const struct step_traffic *traffic, uint32_t actor)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    if (sand_fabric_scaleup_out(fabric, 0, 0) == SAND_NONE)
        return step_place_of(traffic, actor, 0).node;
    return sand_fabric_domain_of_node(fabric, step_place_of(traffic, actor, 0).node);
}

// Whether a neighbour of the first copy's pipeline is in another domain.
static int sends_leave(const struct step_traffic *traffic)
{
    for (uint32_t s = 0; s + 1 < traffic->pp; s++)
        if (step_domain_of(traffic, s) != step_domain_of(traffic, s + 1))
            return 1;
    return 0;
}

static enum sand_rc add_all_edges(struct step_traffic *traffic)
{
    for (uint32_t a = 0; a < traffic->n_actors; a++)
        SAND_TRY(add_tp(traffic, a));
    for (uint32_t a = 0; a < traffic->n_actors; a++)
        SAND_TRY(add_cp(traffic, a));
    for (uint32_t a = 0; a < traffic->n_actors; a++)
        for (uint32_t previous = 0; previous < 2; previous++)
            SAND_TRY(add_sends(traffic, a, previous));
    for (uint32_t s = 0; s < traffic->pp; s++)
        for (int ring = 0; ring < STEP_RINGS; ring++)
            for (uint32_t t = 0; t < traffic->rails_simulated; t++)
                SAND_TRY(step_rings_edges(traffic, (enum step_ring)ring, s, t));
    return step_experts_edges(traffic);
}

// ---- links in use -------------------------------------------------------------------------------

double step_usable_Bps(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                       uint32_t index)
{
    const struct sand_fabric_link *link = &fabric->links[index];
    const struct sand_link_type *kind = cluster->fabric.link;
    if (is_private(link->link_class)) {
        const uint32_t node = sand_fabric_link_owner(fabric, index).owner;
        const struct sand_node_type *type = sand_cluster_type_of(cluster, node);
        kind = link->link_class <= SAND_LINK_SCALEUP_IN ? type->scaleup_link : type->nic;
    }
    return link->capacity_Bps * link->speed * kind->usable * link->goodput;
}

// Numbers the links that hops cross, in the fabric's order, and renumbers the hops.
static enum sand_rc number_links(struct step_traffic *traffic)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    uint32_t *number = sand_calloc(fabric->n_links, sizeof *number);
    if (number == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < traffic->n_edge_links; i++)
        number[traffic->edge_links[i]] = 1;
    for (uint32_t l = 0; l < fabric->n_links; l++)
        traffic->n_links += number[l];
    traffic->links = sand_calloc(traffic->n_links, sizeof *traffic->links);
    const struct sand_step_question *q = traffic->question;
    size_t next = 0;
    for (uint32_t l = 0, n = 0; traffic->links != NULL && l < fabric->n_links; l++) {
        if (number[l] == 0)
            continue;
        while (next < q->n_coupled && q->coupled[next] < l)
            next++;
        traffic->links[n] = (struct step_link){
            .fabric_link = l,
            .coupled = next < q->n_coupled && q->coupled[next] == l ? (uint32_t)next : SAND_NONE,
            .state = STEP_LINK_KEPT,
            .capacity_Bps = step_usable_Bps(q->cluster, fabric, l) *
                            step_link_paths(traffic, fabric->links[l].link_class)};
        number[l] = n++;
    }
    for (size_t i = 0; i < traffic->n_edge_links; i++)
        traffic->edge_links[i] = number[traffic->edge_links[i]];
    sand_free(number);
    return traffic->links == NULL ? SAND_ERR_NOMEM : SAND_OK;
}

int step_link_is_hashed(const struct step_traffic *traffic, uint32_t link)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    const uint8_t link_class = fabric->links[traffic->links[link].fabric_link].link_class;
    return fabric->spreading == SAND_SPREAD_HASH &&
           link_class > (fabric->link_planes > 1 ? SAND_LINK_SCALEUP_IN : SAND_LINK_NIC_DOWN);
}

// ---- links that need not be simulated
// ------------------------------------------------------------------

// Adds, to every shared link, the capacity of each distinct NIC whose traffic crosses it. `end`
// selects the sending (0) or receiving NIC. Edges are visited NIC by NIC, so that a stamp tells
// whether the NIC was counted already.
static enum sand_rc sum_feeding_nics(const struct step_traffic *traffic, int end, double *sum_Bps)
{
    uint32_t *stamp = sand_calloc(traffic->n_links, sizeof *stamp);
    uint32_t *next = sand_calloc(traffic->n_edges + 1, sizeof *next);
    uint32_t *head = sand_calloc(traffic->n_links, sizeof *head); // edge + 1 of each NIC's list
    enum sand_rc rc = stamp == NULL || next == NULL || head == NULL ? SAND_ERR_NOMEM : SAND_OK;
    for (uint32_t e = 0; rc == SAND_OK && e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        // A link of a reduction tree: how fast its many NICs are is not known from the edge.
        if (edge->n_links == 1)
            sum_Bps[step_edge_links(traffic, edge)[0]] = INFINITY;
        if (edge->n_links <= 2)
            continue;
        const uint32_t nic = step_edge_links(traffic, edge)[end ? edge->n_links - 1 : 0];
        next[e] = head[nic];
        head[nic] = e + 1;
    }
    for (uint32_t nic = 0; rc == SAND_OK && nic < traffic->n_links; nic++)
        for (uint32_t e = head[nic]; e != 0; e = next[e - 1]) {
            const struct step_edge *edge = &traffic->edges[e - 1];
            const uint32_t *links = step_edge_links(traffic, edge);
            for (uint32_t i = 1; i + 1 < edge->n_links; i++) {
                if (stamp[links[i]] == nic + 1)
                    continue;
                stamp[links[i]] = nic + 1;
                sum_Bps[links[i]] +=
                    traffic->links[nic].capacity_Bps * edge->weight / edge->end_weight;
            }
        }
    sand_free(stamp);
    sand_free(next);
    sand_free(head);
    return rc;
}

// A link whose feeding (or fed) NICs together cannot fill it never binds: exact. The others are
// watched, unless they are known to bind.
static enum sand_rc sort_links(struct step_traffic *traffic, const uint32_t *binding,
                               size_t n_binding)
{
    if (traffic->question->folding == SAND_NO_FOLD)
        return SAND_OK;
    double *from_Bps = sand_calloc(traffic->n_links, sizeof *from_Bps);
    double *to_Bps = sand_calloc(traffic->n_links, sizeof *to_Bps);
    enum sand_rc rc = from_Bps == NULL || to_Bps == NULL ? SAND_ERR_NOMEM : SAND_OK;
    if (rc == SAND_OK)
        rc = sum_feeding_nics(traffic, 0, from_Bps);
    if (rc == SAND_OK)
        rc = sum_feeding_nics(traffic, 1, to_Bps);
    size_t next = 0;
    for (uint32_t l = 0; rc == SAND_OK && l < traffic->n_links; l++) {
        struct step_link *link = &traffic->links[l];
        const double most_Bps = from_Bps[l] < to_Bps[l] ? from_Bps[l] : to_Bps[l];
        while (next < n_binding && binding[next] < link->fabric_link)
            next++;
        if (is_private(traffic->question->fabric->links[link->fabric_link].link_class) ||
            link->coupled != SAND_NONE || (next < n_binding && binding[next] == link->fabric_link))
            continue;
        link->state = most_Bps > link->capacity_Bps ? STEP_LINK_WATCHED : STEP_LINK_SLACK;
    }
    sand_free(from_Bps);
    sand_free(to_Bps);
    return rc;
}

// ---- communicators ------------------------------------------------------------------------------

// `stride` GPUs from a rank to the next, from a domain's first GPU on.
static struct step_comm comm_shape(const struct step_library *library, uint32_t ranks,
                                   uint32_t stride)
{
    const uint32_t gpus = library->domain_gpus;
    const uint32_t here = gpus / stride < 1 ? 1 : gpus / stride; // ranks in a domain
    const uint32_t domains = (ranks + here - 1) / here;
    return (struct step_comm){.ranks = ranks, .domains = domains, .ports = 1, .stride = stride};
}

void step_tp_shape(struct step_traffic *traffic)
{
    const struct sand_step_question *q = traffic->question;
    const struct sand_split *split = &q->job->split;
    const struct step_library library = step_library_of(q);
    traffic->tp = comm_shape(&library, split->tp, 1);
    if (traffic->tp.domains > 1 && split->tp % traffic->tp.domains == 0)
        traffic->tp.ports = split->tp / traffic->tp.domains;
    const double activation_B =
        2.0 * split->sequence * split->micro_batch / split->cp * q->job->model->hidden;
    step_comm_decide(&library, STEP_USE_TP,
                     split->sequence_parallel ? SAND_REDUCE_SCATTER : SAND_ALL_REDUCE, activation_B,
                     &traffic->tp);
}

static void step_comms_shape(struct step_traffic *traffic)
{
    const struct sand_step_question *q = traffic->question;
    const struct sand_split *split = &q->job->split;
    const struct step_library library = step_library_of(q);
    step_tp_shape(traffic);
    traffic->cp = comm_shape(&library, split->cp, split->tp);
    step_comm_decide(&library, STEP_USE_CP, SAND_ALL_GATHER, 0, &traffic->cp);
    traffic->send = (struct step_comm){.ranks = split->pp > 1 ? 2 : 1,
                                       .domains = sends_leave(traffic) ? 2 : 1,
                                       .ports = 1,
                                       .stride = 1};
}

// ---- all together -------------------------------------------------------------------------------

void step_traffic_shape(const struct sand_step_question *question, struct step_traffic *traffic)
{
    const struct sand_split *split = &question->job->split;
    *traffic =
        (struct step_traffic){.question = question, .pp = split->pp, .dp = split->dp * split->cp};
    traffic->n_actors = traffic->pp * traffic->dp;
    traffic->rails = 1;
    if (rails_are_equal(traffic))
        traffic->rails = split->tp;
    traffic->rails_simulated = split->tp / traffic->rails;
    step_comms_shape(traffic);
    step_rings_shape(traffic, NULL);
    step_experts_shape(traffic);
}

enum sand_rc step_traffic_build(const struct sand_step_question *question, const uint32_t *binding,
                                size_t n_binding, struct step_traffic *traffic,
                                struct sand_diag *diag)
{
    step_traffic_shape(question, traffic);
    traffic->n_flows = step_flows_but_experts(traffic) + step_experts_flows(traffic);
    SAND_TRY(sand_fabric_slice_open(question->fabric, question->nodes, question->job->n_nodes,
                                    &traffic->slice, diag));
    traffic->flows = sand_calloc(traffic->n_flows, sizeof *traffic->flows);
    enum sand_rc rc = traffic->flows == NULL ? SAND_ERR_NOMEM : add_all_edges(traffic);
    sand_fabric_slice_close(&traffic->slice);
    if (rc == SAND_OK)
        rc = step_way_latencies(traffic);
    if (rc == SAND_OK)
        rc = number_links(traffic);
    if (rc == SAND_OK)
        rc = sort_links(traffic, binding, n_binding);
    if (rc == SAND_ERR_INPUT) {
        const uint32_t nics = question->fabric->nics_per_node;
        const uint32_t from = traffic->cut_from, to = traffic->cut_to;
        step_traffic_free(traffic);
        return sand_fail(diag, rc,
                         "step of job \"%s\": node %u NIC %u cannot reach node %u NIC %u: nothing "
                         "that works joins them",
                         question->job->id, from / nics, from % nics, to / nics, to % nics);
    }
    if (rc != SAND_OK) {
        step_traffic_free(traffic);
        return sand_fail(diag, rc, "step of job \"%s\": %s", question->job->id, sand_rc_text(rc));
    }
    return SAND_OK;
}

void step_traffic_free(struct step_traffic *traffic)
{
    sand_free(traffic->flows);
    sand_free(traffic->edges);
    sand_free(traffic->edge_links);
    sand_free(traffic->links);
    sand_free(traffic->ring_extra_s);
    *traffic = (struct step_traffic){0};
}

uint32_t step_link_stands_for(const struct step_traffic *traffic, uint32_t link)
{
    const uint32_t fabric_link = traffic->links[link].fabric_link;
    const uint8_t link_class = traffic->question->fabric->links[fabric_link].link_class;
    if (traffic->rails == 1 || !is_private(link_class))
        return 1;
    const int is_nic = link_class == SAND_LINK_NIC_UP || link_class == SAND_LINK_NIC_DOWN;
    return is_nic ? traffic->rails / nic_share(traffic) : traffic->rails;
}
