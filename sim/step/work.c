// The work of one step before anybody is placed: compute, bytes and latency of every chunk.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "work.h"

#include <math.h>

#include "collective.h"
#include "stepexperts.h"
#include "steprings.h"
#include "train.h"

enum { WEIGHT_B = 2 }; // bytes of a gathered parameter: 16-bit weights, whatever the GEMMs run in

struct step_setting step_setting_make(const struct sand_step_question *q)
{
    struct step_setting set = {
        .q = q,
        .split = &q->job->split,
        .type = sand_cluster_slowest_type(q->cluster, q->nodes, q->job->n_nodes)};
    set.cost = (struct sand_cost){set.type->gpu, q->kernels, q->job->software};
    const struct sand_layer_census census =
        sand_model_census(q->job->model, 0, q->job->model->n_layers);
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++)
        if (census.n[kind] > 0)
            sand_cost_layer(&set.cost, q->job->model, set.split, kind, &set.layer[kind]);
    sand_cost_head(&set.cost, q->job->model, set.split, &set.head);
    set.tokens = (double)set.split->sequence * set.split->micro_batch / set.split->cp;
    set.activation_B = 2.0 * set.tokens * q->job->model->hidden;
    const double gpus = (double)set.split->tp * set.split->cp * set.split->pp * set.split->dp;
    set.slowdown = 1 + q->kernels->scale_loss * (gpus > 8 ? log2(gpus / 8) : 0);
    return set;
}

static int is_last(const struct step_setting *set, uint32_t stage, uint32_t chunk)
{
    return stage + 1 == set->split->pp && chunk + 1 == set->split->virtual_stages;
}

// The link type of the network, over ways that take `extra_s` longer than it measured.
static struct sand_link_type network_type(const struct step_setting *set, double extra_s)
{
    struct sand_link_type nic = *set->type->nic;
    nic.step_latency_s += extra_s;
    nic.p2p_latency_s += extra_s;
    return nic;
}

// ---- compute and tensor-parallel traffic
// ----------------------------------------------------------

// Two all-reduces a layer and direction; with sequence parallelism each is a reduce-scatter and an
// all-gather of the same bytes and twice the base latency (Korthikanti et al. 2022, section 4.2).
static void set_tp(const struct step_setting *set, const struct step_traffic *traffic,
                   double layers, double forwards, double backwards, struct step_chunk *chunk)
{
    const uint32_t tp = set->split->tp;
    if (tp == 1)
        return;
    const struct sand_collective reduce = {SAND_ALL_REDUCE, tp, set->activation_B};
    const struct sand_collective scatter = {SAND_REDUCE_SCATTER, tp, set->activation_B};
    const uint32_t domain_gpus = set->q->fabric->nodes_per_domain * set->type->n_gpus;
    const uint32_t domains = (tp + domain_gpus - 1) / domain_gpus;
    const struct sand_link_type *scaleup = set->type->scaleup_link;
    const struct sand_link_type network = network_type(set, traffic->tp_extra_s);
    const uint32_t n_network = domains > 1 ? domains : 0;
    double latency_s = set->split->sequence_parallel
                           ? 2 * sand_collective_latency_s(&scatter, scaleup, &network, n_network)
                           : sand_collective_latency_s(&reduce, scaleup, &network, 2 * n_network);
    const double exposed = set->q->job->software->tp_exposed;
    const double per_pass_B = 2 * exposed * sand_collective_hop_B(&reduce);
    latency_s *= 2 * exposed;
    chunk->tp_B[0] = layers * forwards * per_pass_B;
    chunk->tp_B[1] = layers * backwards * per_pass_B;
    chunk->tp_latency_s[0] = layers * forwards * latency_s;
    chunk->tp_latency_s[1] = layers * backwards * latency_s;
}

// Keys and values of a context rank, 16 bit.
static double context_B(const struct step_setting *set)
{
    const struct sand_transformer *model = set->q->job->model;
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const double columns = model->latent.kv_rank > 0 ? widths.q + widths.value : widths.kv;
    return 2.0 * set->tokens * columns / set->split->tp;
}

// Ring attention (Liu et al. 2023, arXiv:2310.01889): keys and values go once round the context
// ranks forwards; backwards they do so again with their gradients. Gathered (Llama 3 report,
// section 3.3.2), they are as many bytes, in one collective that nothing hides.
static void set_cp(const struct step_setting *set, const struct step_traffic *traffic,
                   double layers, double forwards, double backwards, struct step_chunk *chunk)
{
    const uint32_t cp = set->split->cp, hops = cp - 1;
    const int gathered = set->split->context == SAND_CONTEXT_GATHER;
    const double exposed = gathered ? 1 : set->q->job->software->tp_exposed;
    const uint32_t domain_gpus = set->q->fabric->nodes_per_domain * set->type->n_gpus;
    const int inside = set->type->scaleup_link != NULL && cp * set->split->tp <= domain_gpus;
    const struct sand_link_type network = network_type(set, traffic->cp_extra_s);
    const struct sand_link_type *link = inside ? set->type->scaleup_link : &network;
    const double latency_s = gathered && hops > 0
                                 ? link->base_latency_s + hops * link->step_latency_s
                                 : link->p2p_latency_s * exposed * hops;
    const double hop_B = exposed * hops * context_B(set);
    chunk->cp_B[0] = layers * forwards * hop_B;
    chunk->cp_B[1] = layers * backwards * hop_B;
    chunk->cp_latency_s[0] = layers * forwards * latency_s;
    chunk->cp_latency_s[1] = layers * backwards * latency_s;
}

static void set_compute(const struct step_setting *set, const struct step_traffic *traffic,
                        uint32_t stage, uint32_t index, struct step_chunk *chunk)
{
    const struct sand_layer_census census =
        sand_split_census(set->q->job->model, set->split, stage, index);
    double layers = 0;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        const double n = census.n[kind];
        layers += n;
        chunk->recompute_s += n * set->layer[kind].recompute_s;
        chunk->forward_s += n * set->layer[kind].forward_s;
        chunk->backward_s += n * set->layer[kind].backward_s;
        chunk->weights_s += n * set->layer[kind].weights_s;
    }
    chunk->backward_s += chunk->recompute_s;
    if (is_last(set, stage, index)) {
        chunk->forward_s += set->head.forward_s;
        chunk->backward_s += set->head.backward_s;
        chunk->weights_s += set->head.weights_s;
    }
    chunk->recompute_s *= set->slowdown;
    chunk->forward_s *= set->slowdown;
    chunk->backward_s *= set->slowdown;
    chunk->weights_s *= set->split->schedule == SAND_SCHEDULE_ZERO_BUBBLE ? set->slowdown : 0;
    chunk->backward_s -= chunk->weights_s;
    double again = set->split->recompute == SAND_RECOMPUTE_FULL ? 1 : 0;
    if (set->split->recompute == SAND_RECOMPUTE_PARTIAL)
        again = set->split->recompute_share;
    const double experts =
        census.n[SAND_LAYER_EXPERTS] + (double)census.n[SAND_LAYER_EXPERTS | SAND_LAYER_WINDOW];
    // Attention and FFN reduce alike; of experts step_experts_tp.
    const double reduces = experts > 0 && set->split->tp > 1
                               ? layers - experts + experts * (1 + step_experts_tp(set)) / 2
                               : layers;
    set_tp(set, traffic, reduces, 1, 1 + again, chunk);
    step_experts_set(set, traffic, experts, 1, 1 + again, chunk);
    set_cp(set, traffic, layers, 1, 2 + again, chunk);
}

// ---- data-parallel traffic
// ------------------------------------------------------------------------

// Adds collectives of together `bytes`, one after another, in every ring of a kind, over rotated
// rings.
static void add_ring(const struct step_setting *set, const struct step_traffic *traffic,
                     uint32_t stage, enum step_ring ring, enum sand_collective_kind kind, double n,
                     double bytes, struct step_ring_load *load)
{
    if (ring == STEP_RINGS || traffic->rings[ring].members < 2 || bytes <= 0)
        return;
    const struct step_ring_shape *shape = &traffic->rings[ring];
    const struct sand_collective whole = {kind, shape->members, bytes};
    const uint32_t steps = sand_collective_steps(&whole);
    const uint32_t n_network =
        (uint32_t)((uint64_t)steps * (shape->domains > 1 ? shape->domains - 1 : 0) /
                   (shape->members - 1));
    const struct sand_link_type network =
        network_type(set, step_ring_extra_s(traffic, ring, stage));
    load->n[ring] = n;
    load->hop_B[ring] += sand_collective_hop_B(&whole) / shape->channels;
    load->latency_s[ring] =
        n * sand_collective_latency_s(&whole, set->type->scaleup_link, &network, n_network);
}

// A layer at a time when sharded, else by buckets.
static uint32_t pieces_of_chunk(const struct step_setting *set, uint32_t layers)
{
    const struct sand_split *split = set->split;
    const int overlaps = split->overlap_grad_reduce || split->overlap_param_gather;
    uint32_t pieces = overlaps ? split->buckets / split->virtual_stages : 1;
    if (sand_split_is_sharded(split) || pieces > layers)
        pieces = layers;
    return pieces < 1 ? 1 : pieces;
}

// Copies that own a share of a piece, of all that share out: no more than it has tensors.
static double owners_of(const struct step_exchange *e, double tensors,
                        const struct step_chunk *chunk)
{
    if (e->put_together != SAND_BROADCAST)
        return 1;
    return (tensors < e->shards ? tensors : e->shards) / chunk->pieces;
}

// Parameters of one kind on a GPU, and tensors that they make up.
struct held {
    double params, tensors;
};

// What goes round for each piece of them.
static void add_exchange(const struct step_setting *set, const struct step_traffic *traffic,
                         uint32_t stage, const struct step_exchange *e, struct held held,
                         struct step_chunk *chunk)
{
    const double piece = held.params / chunk->pieces, grad_B = piece * set->split->grad_B;
    const double owners = owners_of(e, held.tensors, chunk);
    add_ring(set, traffic, stage, e->reduce, e->how, 1, grad_B, &chunk->reduce);
    add_ring(set, traffic, stage, e->across, SAND_ALL_REDUCE, 1, grad_B / e->shards,
             &chunk->reduce);
    add_ring(set, traffic, stage, e->gather, e->put_together, owners, piece * WEIGHT_B,
             &chunk->gather);
}

static void set_dp(const struct step_setting *set, const struct step_traffic *traffic,
                   uint32_t stage, uint32_t index, struct step_chunk *chunk)
{
    const struct sand_split *split = set->split;
    const struct sand_transformer *model = set->q->job->model;
    const enum sand_state_shards cut = set->q->job->software->state_shards;
    const struct sand_params held = sand_split_chunk_params(model, split, stage, index);
    const struct sand_params tensors = sand_split_chunk_tensors(model, split, stage, index);
    const struct step_exchange dense = step_exchange_of(split, cut, 0);
    const struct held of_all = {held.dense + held.expert, tensors.dense + tensors.expert};
    chunk->pieces = pieces_of_chunk(set, sand_split_layers(model, split, stage, index));
    if (!step_experts_apart(model, split)) {
        add_exchange(set, traffic, stage, &dense, of_all, chunk);
        return;
    }
    const struct step_exchange experts = step_exchange_of(split, cut, 1);
    add_exchange(set, traffic, stage, &dense, (struct held){held.dense, tensors.dense}, chunk);
    add_exchange(set, traffic, stage, &experts, (struct held){held.expert, tensors.expert}, chunk);
}

void step_chunk_set(const struct step_setting *set, const struct step_traffic *traffic,
                    uint32_t stage, uint32_t index, struct step_chunk *chunk)
{
    set_compute(set, traffic, stage, index, chunk);
    set_dp(set, traffic, stage, index, chunk);
}

// ---- what holds for the whole step --------------------------------------------------------------

double step_optimizer_s(const struct step_setting *set, uint32_t stage)
{
    const struct sand_params held = sand_split_stage_params(set->q->job->model, set->split, stage);
    if (!sand_split_shares_out(set->split))
        return sand_cost_optimizer_s(&set->cost, held.dense + held.expert);
    return sand_cost_optimizer_s(&set->cost,
                                 held.dense / sand_split_shards(set->split) +
                                     held.expert / sand_split_expert_shards(set->split));
}

// Of all GPUs of the job, whatever generation each is of.
static double peak_flops(const struct step_setting *set)
{
    const struct sand_split *split = set->split;
    const struct sand_cluster *cluster = set->q->cluster;
    if (cluster->n_groups == 0)
        return sand_cost_peak_flops(set->type->gpu, split->precision) * split->tp * split->cp *
               split->pp * split->dp;
    double sum = 0;
    for (uint32_t i = 0; i < set->q->job->n_nodes; i++) {
        const struct sand_node_type *type = sand_cluster_type_of(cluster, set->q->nodes[i]);
        sum += sand_cost_peak_flops(type->gpu, split->precision) * type->n_gpus;
    }
    return sum;
}

void step_header_set(const struct step_setting *set, struct step_header *h)
{
    const struct sand_split *split = set->split;
    const struct sand_transformer *model = set->q->job->model;
    h->pp = split->pp;
    h->chunks = split->virtual_stages;
    h->micro_batches = sand_split_micro_batches(split);
    const int parallel = split->dp * split->cp > 1;
    h->sharded = sand_split_is_sharded(split) != 0;
    h->split_backward = split->schedule == SAND_SCHEDULE_ZERO_BUBBLE;
    h->gather_backward = h->sharded && split->sharding == SAND_SHARD_PARAMETERS;
    h->gathers = sand_split_shares_out(split) != 0;
    h->overlap_reduce = h->sharded || (split->overlap_grad_reduce && parallel);
    h->overlap_gather = h->sharded || (h->gathers && split->overlap_param_gather);
    // What cannot be prefetched or left to run: everything when overlap is switched off.
    h->exposed_reduce =
        h->sharded && !split->overlap_grad_reduce ? 1 : set->q->job->software->dp_exposed;
    // Gathers that are not sharded set out before the step begins to compute.
    h->exposed_gather = !h->sharded                   ? 0
                        : split->overlap_param_gather ? set->q->job->software->dp_exposed
                                                      : 1;
    // Every rank sends its share of the tensor (scatter/gather, Narayanan et al. 2021,
    // section 4.1).
    h->send_B = set->activation_B / split->tp;
    h->send_latency_s = set->type->nic->p2p_latency_s;
    h->overhead_s = set->q->job->software->step_overhead_s;
    h->tokens = (double)split->global_batch * split->sequence;
    h->model_flops = sand_model_flops(model, split);
    h->hardware_flops = h->model_flops + sand_recompute_flops(model, split);
    h->peak_flops = peak_flops(set);
}
