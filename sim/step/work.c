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
    set.library = step_library_of(q);
    set.slowdown = 1 + q->kernels->scale_loss * (gpus > 8 ? log2(gpus / 8) : 0);
    return set;
}

static int is_last(const struct step_setting *set, uint32_t stage, uint32_t chunk)
{
    return stage + 1 == set->split->pp && chunk + 1 == set->split->virtual_stages;
}

// ---- compute and tensor-parallel traffic
// ----------------------------------------------------------

// Two all-reduces a layer and direction; with sequence parallelism each is a reduce-scatter and an
// all-gather of the same bytes (Korthikanti et al. 2022, section 4.2). A recomputation that stops
// before the last product has none behind it.
static void set_tp(const struct step_setting *set, double layers, double again,
                   struct step_chunk *chunk)
{
    const struct sand_software *software = set->q->job->software;
    const int stops = software->recompute_stops && set->split->recompute == SAND_RECOMPUTE_FULL;
    const double times = 2 * layers * software->tp_exposed;
    for (int call = 0; call < 2; call++) {
        const double passes[2] = {1, 1 + (call == 0 && stops ? again / 2 : again)};
        for (int b = 0; b < 2; b++) {
            chunk->tp_B[b] += times * passes[b] * set->calls.tp[call].hop_B;
            chunk->tp_latency_s[b] += times * passes[b] * set->calls.tp[call].latency_s;
        }
    }
}

static int is_gathered(const struct step_setting *set)
{
    return set->split->context == SAND_CONTEXT_GATHER;
}

// 16 bit.
double step_context_B(const struct step_setting *set)
{
    const struct sand_transformer *model = set->q->job->model;
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const double columns = model->latent.kv_rank > 0 ? widths.q + widths.value : widths.kv;
    const double ranks = is_gathered(set) ? set->split->cp : 1;
    return 2.0 * ranks * set->tokens * columns / set->split->tp;
}

// Ring attention (Liu et al. 2023, arXiv:2310.01889): keys and values go once round the context
// ranks forwards; backwards they do so again with their gradients. Gathered (Llama 3 report,
// section 3.3.2), they are as many bytes, in one collective that nothing hides.
static void set_cp(const struct step_setting *set, double layers, double forwards, double backwards,
                   struct step_chunk *chunk)
{
    const double passes[2] = {forwards, backwards};
    const double times =
        layers * (is_gathered(set) ? 1 : set->q->job->software->tp_exposed * (set->split->cp - 1));
    for (int b = 0; b < 2; b++) {
        chunk->cp_B[b] = times * passes[b] * set->calls.cp.hop_B;
        chunk->cp_latency_s[b] = times * passes[b] * set->calls.cp.latency_s;
    }
}

void step_chunk_passes_set(const struct step_setting *set, const struct step_traffic *traffic,
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
    set_tp(set, reduces, again, chunk);
    step_experts_set(set, traffic, experts, 1, 1 + again, chunk);
    set_cp(set, layers, 1, 2 + again, chunk);
}

// ---- what the library does ----------------------------------------------------------------------

static enum sand_rc find_tp(struct step_setting *set, const struct step_traffic *traffic,
                            struct sand_diag *diag)
{
    const int scatters = set->split->sequence_parallel;
    SAND_TRY(step_call_find(&set->library, STEP_USE_TP, &traffic->tp,
                            scatters ? SAND_REDUCE_SCATTER : SAND_ALL_REDUCE, set->activation_B,
                            traffic->tp_extra_s, &set->calls.tp[0], diag));
    return scatters
               ? step_call_find(&set->library, STEP_USE_TP, &traffic->tp, SAND_ALL_GATHER,
                                set->activation_B, traffic->tp_extra_s, &set->calls.tp[1], diag)
               : SAND_OK;
}

static enum sand_rc find_cp(struct step_setting *set, const struct step_traffic *traffic,
                            struct sand_diag *diag)
{
    const uint32_t cp = set->split->cp;
    const struct step_comm neighbours = {
        .ranks = cp > 1 ? 2 : 1, .domains = traffic->cp.domains > 1 ? 2 : 1, .ports = 1};
    return is_gathered(set)
               ? step_call_find(&set->library, STEP_USE_CP, &traffic->cp, SAND_ALL_GATHER,
                                step_context_B(set), traffic->cp_extra_s, &set->calls.cp, diag)
               : step_call_find(&set->library, STEP_USE_PP, &neighbours, SAND_SEND,
                                step_context_B(set), traffic->cp_extra_s, &set->calls.cp, diag);
}

static enum sand_rc check_ring(const struct step_setting *set, const struct step_traffic *traffic,
                               enum step_ring ring, enum sand_collective_kind kind,
                               struct sand_diag *diag)
{
    struct step_call call;
    if (ring == STEP_RINGS || traffic->rings[ring].members < 2)
        return SAND_OK;
    const struct step_comm comm = step_ring_comm(&traffic->rings[ring]);
    return step_call_find(&set->library, STEP_USE_DP, &comm, kind, 1, 0, &call, diag);
}

// Data-parallel collectives differ in size from chunk to chunk, but not in what can run.
static enum sand_rc check_dp(const struct step_setting *set, const struct step_traffic *traffic,
                             struct sand_diag *diag)
{
    const enum sand_state_shards cut = set->q->job->software->state_shards;
    const int apart = step_experts_apart(set->q->job->model, set->split);
    if (set->seen && set->library.asked->dp == 0 && set->library.asked->protocol == 0)
        return SAND_OK; // the closed form leaves a library without rings to the simulation
    for (int experts = 0; experts <= apart; experts++) {
        const struct step_exchange e = step_exchange_of(set->split, cut, experts);
        SAND_TRY(check_ring(set, traffic, e.reduce, e.how, diag));
        SAND_TRY(check_ring(set, traffic, e.across, SAND_ALL_REDUCE, diag));
        SAND_TRY(check_ring(set, traffic, e.gather, e.put_together, diag));
    }
    return SAND_OK;
}

enum sand_rc step_calls_find(struct step_setting *set, const struct step_traffic *traffic,
                             struct sand_diag *diag)
{
    set->calls = (struct step_calls){.tp = {{.hop_B = 0}}};
    SAND_TRY(find_tp(set, traffic, diag));
    SAND_TRY(find_cp(set, traffic, diag));
    // Every rank sends its share of the tensor (scatter/gather, Narayanan et al. 2021,
    // section 4.1).
    SAND_TRY(step_call_find(&set->library, STEP_USE_PP, &traffic->send, SAND_SEND,
                            set->activation_B / set->split->tp, traffic->send_extra_s,
                            &set->calls.send, diag));
    SAND_TRY(check_dp(set, traffic, diag));
    return step_experts_call(set, traffic, &set->calls.experts, diag);
}

// ---- data-parallel traffic
// ------------------------------------------------------------------------

static enum sand_rc find_ring(const struct step_setting *set, const struct step_traffic *traffic,
                              uint32_t stage, enum step_ring ring, enum sand_collective_kind kind,
                              double bytes, struct step_call *call)
{
    const int gathers = kind == SAND_ALL_GATHER || kind == SAND_BROADCAST;
    struct step_seen *seen = set->seen ? &set->seen[gathers][ring] : NULL;
    const struct step_comm comm = step_ring_comm(&traffic->rings[ring]);
    if (seen && seen->bytes == bytes && seen->kind == kind) {
        *call = seen->call;
        return SAND_OK;
    }
    SAND_TRY(step_call_find(&set->library, STEP_USE_DP, &comm, kind, bytes,
                            step_ring_extra_s(traffic, ring, stage), call, NULL));
    if (seen)
        *seen = (struct step_seen){bytes, kind, *call};
    return SAND_OK;
}

// Adds collectives of together `bytes`, one after another, in every ring of a kind.
static void add_ring(const struct step_setting *set, const struct step_traffic *traffic,
                     uint32_t stage, enum step_ring ring, enum sand_collective_kind kind, double n,
                     double bytes, struct step_ring_load *load)
{
    if (ring == STEP_RINGS || traffic->rings[ring].members < 2 || bytes <= 0)
        return;
    struct step_call call = {.hop_B = 0};
    // step_calls_find has seen that it runs.
    if (find_ring(set, traffic, stage, ring, kind, bytes / n, &call) != SAND_OK)
        return;
    load->n[ring] = n;
    load->message_B[ring] += bytes;
    load->hop_B[ring] += n * call.hop_B;
    load->latency_s[ring] = n * call.latency_s;
}

// Collectives that a piece takes, one after another. Broadcasts: one of each copy that owns a
// share, no more than there are tensors.
static double times_of(const struct step_setting *set, const struct step_exchange *e,
                       double tensors, const struct step_chunk *chunk)
{
    if (e->put_together == SAND_BROADCAST)
        return (tensors < e->shards ? tensors : e->shards) / chunk->pieces;
    return set->q->job->software->gathers_tensors && sand_split_is_sharded(set->split)
               ? tensors / chunk->pieces
               : 1;
}

// Of the gathers that FSDP does: twice, forwards and backwards. What drops a layer's weights behind
// its recomputation gathers them three times, which is shared out over both.
static double gathers_of(const struct step_setting *set)
{
    return set->q->job->software->gathers_tensors && sand_split_is_sharded(set->split) &&
                   set->split->recompute == SAND_RECOMPUTE_FULL
               ? 1.5
               : 1;
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
    const double times = times_of(set, e, held.tensors, chunk);
    const double gathers = gathers_of(set);
    const double reductions = e->put_together == SAND_BROADCAST ? 1 : times;
    add_ring(set, traffic, stage, e->reduce, e->how, reductions, grad_B, &chunk->reduce);
    add_ring(set, traffic, stage, e->across, SAND_ALL_REDUCE, 1, grad_B / e->shards,
             &chunk->reduce);
    add_ring(set, traffic, stage, e->gather, e->put_together, gathers * times,
             gathers * piece * WEIGHT_B, &chunk->gather);
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
    chunk->pieces = step_pieces(split, sand_split_layers(model, split, stage, index));
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
    step_chunk_passes_set(set, traffic, stage, index, chunk);
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
    h->send_B = set->calls.send.hop_B;
    h->send_latency_s = set->calls.send.latency_s;
    h->overhead_s = set->q->job->software->step_overhead_s;
    h->tokens = (double)split->global_batch * split->sequence;
    h->model_flops = sand_model_flops(model, split);
    h->hardware_flops = h->model_flops + sand_recompute_flops(model, split);
    h->peak_flops = peak_flops(set);
}
