// From a question to a problem: times and bytes of every piece of work, then traffic, folding,
// reduction.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "collective.h"
#include "cost.h"
#include "fold.h"
#include "ids.h"
#include "mem.h"
#include "reduce.h"
#include "step.h"
#include "stepproblem.h"
#include "traffic.h"
#include "train.h"
#include "watch.h"

enum { WEIGHT_B = 2 }; // bytes of a gathered parameter: 16-bit weights, whatever the GEMMs run in

// What the pieces of work need to know of the question.
struct setting {
    const struct sand_step_question *q;
    const struct sand_split *split;
    const struct sand_node_type *type;
    struct sand_cost cost;
    struct sand_layer_times layer, head;
    double tokens;       // of one micro-batch on one context rank
    double activation_B; // of them between two layers, whole tensor
    double slowdown;     // of compute: more GPUs, more of them late
};

static struct setting make_setting(const struct sand_step_question *q)
{
    struct setting set = {.q = q, .split = &q->job->split, .type = q->cluster->node_type};
    set.cost = (struct sand_cost){set.type->gpu, q->kernels, q->job->software};
    sand_cost_layer(&set.cost, q->job->model, set.split, &set.layer);
    sand_cost_head(&set.cost, q->job->model, set.split, &set.head);
    set.tokens = (double)set.split->sequence * set.split->micro_batch / set.split->cp;
    set.activation_B = 2.0 * set.tokens * q->job->model->hidden;
    const double gpus = (double)set.split->tp * set.split->cp * set.split->pp * set.split->dp;
    set.slowdown = 1 + q->kernels->scale_loss * (gpus > 8 ? log2(gpus / 8) : 0);
    return set;
}

static int is_last(const struct setting *set, uint32_t stage, uint32_t chunk)
{
    return stage + 1 == set->split->pp && chunk + 1 == set->split->virtual_stages;
}

// ---- compute and tensor-parallel traffic
// ----------------------------------------------------------

// Two all-reduces a layer and direction; with sequence parallelism each is a reduce-scatter and an
// all-gather of the same bytes and twice the base latency (Korthikanti et al. 2022, section 4.2).
static void set_tp(const struct setting *set, double layers, double forwards, double backwards,
                   struct step_chunk *chunk)
{
    const uint32_t tp = set->split->tp;
    if (tp == 1)
        return;
    const struct sand_collective reduce = {SAND_ALL_REDUCE, tp, set->activation_B};
    const struct sand_collective scatter = {SAND_REDUCE_SCATTER, tp, set->activation_B};
    const uint32_t domain_gpus = set->q->fabric->nodes_per_domain * set->type->n_gpus;
    const uint32_t domains = (tp + domain_gpus - 1) / domain_gpus;
    const struct sand_link_type *scaleup = set->type->scaleup_link;
    const uint32_t n_network = domains > 1 ? domains : 0;
    double latency_s =
        set->split->sequence_parallel
            ? 2 * sand_collective_latency_s(&scatter, scaleup, set->type->nic, n_network)
            : sand_collective_latency_s(&reduce, scaleup, set->type->nic, 2 * n_network);
    const double exposed = set->q->job->software->tp_exposed;
    const double per_pass_B = 2 * exposed * sand_collective_hop_B(&reduce);
    latency_s *= 2 * exposed;
    chunk->tp_B[0] = layers * forwards * per_pass_B;
    chunk->tp_B[1] = layers * backwards * per_pass_B;
    chunk->tp_latency_s[0] = layers * forwards * latency_s;
    chunk->tp_latency_s[1] = layers * backwards * latency_s;
}

// Ring attention (Liu et al. 2023, arXiv:2310.01889): keys and values go once round the context
// ranks forwards; backwards they do so again with their gradients.
static void set_cp(const struct setting *set, double layers, double forwards, double backwards,
                   struct step_chunk *chunk)
{
    const struct sand_transformer *model = set->q->job->model;
    const uint32_t hops = set->split->cp - 1;
    const double kv_B =
        2.0 * 2.0 * set->tokens * model->n_kv_heads * model->head_dim / set->split->tp;
    const double exposed = set->q->job->software->tp_exposed;
    const uint32_t domain_gpus = set->q->fabric->nodes_per_domain * set->type->n_gpus;
    const int inside =
        set->type->scaleup_link != NULL && set->split->cp * set->split->tp <= domain_gpus;
    const double latency_s =
        (inside ? set->type->scaleup_link : set->type->nic)->p2p_latency_s * exposed * hops;
    chunk->cp_B[0] = layers * forwards * exposed * hops * kv_B;
    chunk->cp_B[1] = layers * backwards * exposed * hops * kv_B;
    chunk->cp_latency_s[0] = layers * forwards * latency_s;
    chunk->cp_latency_s[1] = layers * backwards * latency_s;
}

static void set_compute(const struct setting *set, uint32_t stage, uint32_t index,
                        struct step_chunk *chunk)
{
    const double layers = sand_split_layers(set->q->job->model, set->split, stage, index);
    chunk->recompute_s = layers * set->layer.recompute_s;
    chunk->forward_s = layers * set->layer.forward_s;
    chunk->backward_s = layers * set->layer.backward_s + chunk->recompute_s;
    if (is_last(set, stage, index)) {
        chunk->forward_s += set->head.forward_s;
        chunk->backward_s += set->head.backward_s;
    }
    chunk->recompute_s *= set->slowdown;
    chunk->forward_s *= set->slowdown;
    chunk->backward_s *= set->slowdown;
    double again = set->split->recompute == SAND_RECOMPUTE_FULL ? 1 : 0;
    if (set->split->recompute == SAND_RECOMPUTE_PARTIAL)
        again = set->split->recompute_share;
    set_tp(set, layers, 1, 1 + again, chunk);
    set_cp(set, layers, 1, 2 + again, chunk);
}

// ---- data-parallel traffic
// ------------------------------------------------------------------------

// Matrices of a chunk on one GPU.
static double chunk_matrices(const struct setting *set, uint32_t stage, uint32_t index)
{
    const struct sand_transformer *model = set->q->job->model;
    const int first = stage == 0 && index == 0;
    const int last = is_last(set, stage, index);
    double params =
        sand_split_layers(model, set->split, stage, index) * sand_model_layer_params(model);
    if (first)
        params += sand_model_embedding_params(model);
    // A tied output layer away from the embedding is a copy of it.
    if (last && !(model->tied_embeddings && first))
        params += model->tied_embeddings ? sand_model_embedding_params(model)
                                         : sand_model_output_params(model);
    return params / set->split->tp;
}

// The stage's parameters on one GPU, what is replicated over tensor parallelism included, shared
// out over its chunks.
static double chunk_params(const struct setting *set, uint32_t stage, uint32_t index)
{
    double matrices = 0;
    for (uint32_t c = 0; c < set->split->virtual_stages; c++)
        matrices += chunk_matrices(set, stage, c);
    if (matrices <= 0)
        return 0;
    return sand_split_gpu_params(set->q->job->model, set->split, stage) *
           chunk_matrices(set, stage, index) / matrices;
}

// A collective of `bytes` over all copies of a stage in `pieces`, over rotated rings.
static void ring_piece(const struct setting *set, const struct step_traffic *traffic,
                       enum sand_collective_kind kind, double bytes, uint32_t pieces, double *hop_B,
                       double *latency_s)
{
    const uint32_t dp = traffic->dp, nodes = traffic->ring_nodes;
    const struct sand_collective whole = {kind, dp, bytes / pieces};
    const uint32_t steps = sand_collective_steps(&whole);
    const uint32_t n_network = (uint32_t)((uint64_t)steps * (nodes > 1 ? nodes - 1 : 0) / (dp - 1));
    *hop_B = sand_collective_hop_B(&whole) / traffic->channels;
    *latency_s =
        sand_collective_latency_s(&whole, set->type->scaleup_link, set->type->nic, n_network);
}

// Whether every micro-batch gathers weights and scatters gradients.
static int is_sharded(const struct sand_split *split)
{
    return split->sharding != SAND_SHARD_OPTIMIZER;
}

// A layer at a time when sharded, else by buckets.
static uint32_t pieces_of_chunk(const struct setting *set, uint32_t layers)
{
    const struct sand_split *split = set->split;
    const int overlaps = split->overlap_grad_reduce || split->overlap_param_gather;
    uint32_t pieces = overlaps ? split->buckets / split->virtual_stages : 1;
    if (is_sharded(split) || pieces > layers)
        pieces = layers;
    return pieces < 1 ? 1 : pieces;
}

static void set_dp(const struct setting *set, const struct step_traffic *traffic, uint32_t stage,
                   uint32_t index, struct step_chunk *chunk)
{
    const struct sand_split *split = set->split;
    chunk->pieces =
        pieces_of_chunk(set, sand_split_layers(set->q->job->model, split, stage, index));
    if (traffic->dp == 1)
        return;
    const int scatters = split->distributed_optimizer || is_sharded(split);
    const double params = chunk_params(set, stage, index);
    ring_piece(set, traffic, scatters ? SAND_REDUCE_SCATTER : SAND_ALL_REDUCE,
               params * split->grad_B, chunk->pieces, &chunk->reduce_B, &chunk->reduce_latency_s);
    if (scatters)
        ring_piece(set, traffic, SAND_ALL_GATHER, params * WEIGHT_B, chunk->pieces,
                   &chunk->gather_B, &chunk->gather_latency_s);
}

// ---- the problem's tables
// -------------------------------------------------------------------------

static enum sand_rc set_chunks(const struct setting *set, const struct step_traffic *traffic,
                               struct sand_step_problem *problem)
{
    const struct sand_split *split = set->split;
    problem->n_chunks = (size_t)split->pp * split->virtual_stages;
    problem->chunks = sand_calloc(problem->n_chunks, sizeof *problem->chunks);
    problem->n_stages = split->pp;
    problem->stages = sand_calloc(split->pp, sizeof *problem->stages);
    if (problem->chunks == NULL || problem->stages == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t s = 0; s < split->pp; s++) {
        for (uint32_t c = 0; c < split->virtual_stages; c++) {
            struct step_chunk *chunk = &problem->chunks[s * split->virtual_stages + c];
            set_compute(set, s, c, chunk);
            set_dp(set, traffic, s, c, chunk);
        }
        double updated = sand_split_gpu_params(set->q->job->model, split, s);
        if (split->distributed_optimizer || is_sharded(split))
            updated /= traffic->dp;
        problem->stages[s].optimizer_s = sand_cost_optimizer_s(&set->cost, updated);
    }
    return SAND_OK;
}

static enum sand_rc set_ops(const struct setting *set, struct sand_step_problem *problem)
{
    const struct sand_split *split = set->split;
    const size_t per_stage = 2 * (size_t)sand_split_micro_batches(split) * split->virtual_stages;
    problem->n_ops = per_stage * split->pp;
    problem->ops = sand_calloc(problem->n_ops, sizeof *problem->ops);
    if (problem->ops == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t s = 0; s < split->pp; s++)
        sand_schedule_stage(split, s, problem->ops + s * per_stage);
    return SAND_OK;
}

static void set_header(const struct setting *set, struct sand_step_problem *problem)
{
    const struct sand_split *split = set->split;
    const struct sand_transformer *model = set->q->job->model;
    struct step_header *h = &problem->header;
    h->pp = split->pp;
    h->chunks = split->virtual_stages;
    h->micro_batches = sand_split_micro_batches(split);
    const int parallel = split->dp * split->cp > 1;
    h->sharded = parallel && is_sharded(split);
    h->gather_backward = h->sharded && split->sharding == SAND_SHARD_PARAMETERS;
    h->gathers = parallel && (split->distributed_optimizer || h->sharded);
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
    h->peak_flops = sand_cost_peak_flops(set->type->gpu, split->precision) * split->tp * split->cp *
                    split->pp * split->dp;
    sand_memory_estimate(model, split, set->type->gpu, set->q->kernels, &problem->report.memory);
}

// ---- actors
// ---------------------------------------------------------------------------------------

// 1 / speed of the slowest GPU of the group: tensor parallelism waits for it in every layer.
static enum sand_rc actor_slowness(const struct sand_step_question *q, uint32_t n_actors,
                                   double **slowness)
{
    *slowness = sand_calloc(n_actors, sizeof **slowness);
    if (*slowness == NULL)
        return SAND_ERR_NOMEM;
    const uint32_t tp = q->job->split.tp, per_node = q->fabric->gpus_per_node;
    for (uint32_t a = 0; a < n_actors; a++) {
        float slowest = 1;
        for (uint32_t t = 0; q->gpu_speed != NULL && t < tp; t++) {
            const uint32_t rank = step_actor_rank(&q->job->split, a) + t;
            const float speed =
                q->gpu_speed[(size_t)q->nodes[rank / per_node] * per_node + rank % per_node];
            slowest = speed < slowest ? speed : slowest;
        }
        (*slowness)[a] = 1.0 / (double)slowest;
    }
    return SAND_OK;
}

// Adds the distinct classes of n flows from `first` to a list; n is small (rails).
static enum sand_rc add_classes(const struct step_classes *classes, uint32_t first, uint32_t n,
                                uint32_t **list, size_t *n_list, size_t *capacity, uint32_t *begin,
                                uint32_t *count)
{
    *begin = (uint32_t)*n_list;
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t class = classes->flow[first + t];
        int known = class == SAND_NONE;
        for (size_t i = *begin; i < *n_list && !known; i++)
            known = (*list)[i] == class;
        if (known)
            continue;
        SAND_TRY(sand_grow((void **)list, capacity, *n_list + 1, sizeof **list));
        (*list)[(*n_list)++] = class;
    }
    *count = (uint32_t)*n_list - *begin;
    return SAND_OK;
}

static enum sand_rc set_actors(const struct step_traffic *traffic,
                               const struct step_classes *classes, const double *slowness,
                               struct sand_step_problem *problem)
{
    problem->n_actors = classes->n_actors;
    problem->actors = sand_calloc(classes->n_actors, sizeof *problem->actors);
    if (problem->actors == NULL)
        return SAND_ERR_NOMEM;
    size_t capacity = 0;
    for (uint32_t a = 0; a < traffic->n_actors; a++)
        problem->actors[classes->actor[a]].members += 1;
    for (uint32_t i = 0; i < classes->n_actors; i++) {
        const uint32_t a = classes->actor_member[i];
        struct step_actor *actor = &problem->actors[i];
        actor->stage = a % traffic->pp;
        actor->slowness = slowness[a];
        actor->tp_flow = classes->flow[step_flow_tp(traffic, a)];
        SAND_TRY(add_classes(classes, step_flow_cp(traffic, a), traffic->rails_simulated,
                             &problem->sends, &problem->n_sends, &capacity, &actor->first_cp,
                             &actor->n_cp));
        problem->stages[actor->stage].n_actors++;
        for (uint32_t previous = 0; previous < 2; previous++) {
            const uint32_t first = step_flow_send(traffic, a, previous);
            const uint32_t peer = traffic->flows[first].peer;
            actor->peer[previous] = peer == SAND_NONE ? SAND_NONE : classes->actor[peer];
            SAND_TRY(add_classes(classes, first, traffic->rails_simulated, &problem->sends,
                                 &problem->n_sends, &capacity, &actor->first_send[previous],
                                 &actor->n_sends[previous]));
        }
    }
    capacity = 0;
    for (uint32_t s = 0; s < traffic->pp; s++)
        SAND_TRY(add_classes(classes, step_flow_ring(traffic, s), traffic->rails_simulated,
                             &problem->rings, &problem->n_rings, &capacity,
                             &problem->stages[s].first_ring, &problem->stages[s].n_rings));
    return SAND_OK;
}

// ---- what the links carry
// -------------------------------------------------------------------------

// Bytes a hop of each kind of flow carries in one step.
static double hop_bytes(const struct sand_step_problem *problem,
                        const struct step_traffic_flow *flow)
{
    const struct step_header *h = &problem->header;
    const struct step_chunk *chunks = &problem->chunks[flow->stage * h->chunks];
    double bytes = 0;
    for (uint32_t c = 0; c < h->chunks; c++) {
        const double gathers = h->sharded ? h->micro_batches * (h->gather_backward ? 2.0 : 1.0) : 1;
        const double reduces = h->sharded ? h->micro_batches : 1;
        if (flow->kind == STEP_FLOW_TP)
            bytes += h->micro_batches * (chunks[c].tp_B[0] + chunks[c].tp_B[1]);
        if (flow->kind == STEP_FLOW_CP)
            bytes += h->micro_batches * (chunks[c].cp_B[0] + chunks[c].cp_B[1]);
        if (flow->kind == STEP_FLOW_RING)
            bytes +=
                chunks[c].pieces * (reduces * chunks[c].reduce_B + gathers * chunks[c].gather_B);
    }
    const int at_edge = flow->kind == STEP_FLOW_NEXT ? flow->stage + 1 == h->pp : flow->stage == 0;
    if (flow->kind == STEP_FLOW_NEXT || flow->kind == STEP_FLOW_PREVIOUS)
        bytes = h->send_B * h->micro_batches * (h->chunks - (at_edge ? 1 : 0));
    return bytes;
}

// Sums bytes by link class and finds the busiest link of each. Folded rails stand for equal links.
static enum sand_rc set_link_use(const struct step_traffic *traffic,
                                 struct sand_step_problem *problem)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    double *link_B = sand_calloc(traffic->n_links, sizeof *link_B);
    if (link_B == NULL)
        return SAND_ERR_NOMEM;
    struct step_report *h = &problem->report;
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const double bytes = hop_bytes(problem, &traffic->flows[edge->flow]);
        const uint32_t *links = step_edge_links(traffic, edge);
        for (uint32_t i = 0; i < edge->n_links; i++) {
            const uint32_t fabric_link = traffic->links[links[i]].fabric_link;
            const uint8_t link_class = fabric->links[fabric_link].link_class;
            const double part_B = bytes / step_link_paths(traffic, link_class);
            link_B[links[i]] += part_B * step_edge_weight(edge, i);
            h->link_B[link_class] += part_B * traffic->rails;
        }
    }
    for (uint32_t l = 0; l < traffic->n_links; l++) {
        const struct sand_fabric_link *link = &fabric->links[traffic->links[l].fabric_link];
        const double busy_s = link_B[l] / (link->capacity_Bps * link->speed);
        if (busy_s > h->link_busy_s[link->link_class])
            h->link_busy_s[link->link_class] = busy_s;
        h->n_links_full += link_B[l] > 0 ? step_link_stands_for(traffic, l) : 0;
    }
    h->n_actors_full = traffic->n_actors;
    for (uint32_t f = 0; f < traffic->n_flows; f++)
        if (traffic->flows[f].n_edges > 0)
            h->n_flows_full += traffic->flows[f].kind == STEP_FLOW_TP ? 1 : traffic->rails;
    sand_free(link_B);
    return SAND_OK;
}

// ---- prepare
// --------------------------------------------------------------------------------------

static enum sand_rc fill(const struct setting *set, const struct step_traffic *traffic,
                         struct sand_step_problem *problem)
{
    set_header(set, problem);
    SAND_TRY(set_chunks(set, traffic, problem));
    SAND_TRY(set_ops(set, problem));
    SAND_TRY(set_link_use(traffic, problem));
    double *slowness = NULL;
    struct step_classes classes = {0};
    enum sand_rc rc = actor_slowness(set->q, traffic->n_actors, &slowness);
    if (rc == SAND_OK)
        rc = step_classes_find(traffic, slowness, &classes);
    if (rc == SAND_OK)
        rc = step_reduce(traffic, &classes, problem);
    if (rc == SAND_OK)
        rc = step_watches_set(traffic, &classes, problem);
    if (rc == SAND_OK)
        rc = set_actors(traffic, &classes, slowness, problem);
    step_classes_free(&classes);
    sand_free(slowness);
    return rc;
}

static enum sand_rc check_question(const struct sand_step_question *q, struct sand_diag *diag)
{
    const struct sand_job_spec *job = q->job;
    SAND_TRY(
        sand_split_check(job->model, &job->split, job->n_nodes * q->fabric->gpus_per_node, diag));
    if (job->split.tp > 1 && q->fabric->gpus_per_node > 1 &&
        q->cluster->node_type->scaleup == SAND_SCALEUP_NONE && job->software->tp_exposed <= 0)
        return sand_fail(diag, SAND_ERR_INPUT, "job \"%s\": tensor parallelism without a link",
                         job->id);
    for (uint32_t i = 0; i < job->n_nodes; i++)
        if (q->nodes[i] >= q->fabric->n_nodes)
            return sand_fail(diag, SAND_ERR_INTERNAL, "job \"%s\": node %u of %u", job->id,
                             q->nodes[i], q->fabric->n_nodes);
    return SAND_OK;
}

enum sand_rc sand_step_prepare(const struct sand_step_question *question, const uint32_t *binding,
                               size_t n_binding, struct sand_step_problem **problem,
                               struct sand_diag *diag)
{
    SAND_TRY(check_question(question, diag));
    struct sand_step_problem *p = sand_calloc(1, sizeof *p);
    if (p == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    struct step_traffic traffic = {0};
    enum sand_rc rc = step_traffic_build(question, binding, n_binding, &traffic, diag);
    const struct setting set = make_setting(question);
    if (rc == SAND_OK)
        rc = fill(&set, &traffic, p);
    step_traffic_free(&traffic);
    if (rc != SAND_OK) {
        sand_step_problem_free(p);
        return rc == SAND_ERR_INPUT // said by step_traffic_build
                   ? rc
                   : sand_fail(diag, rc, "step of job \"%s\": %s", question->job->id,
                               sand_rc_text(rc));
    }
    *problem = p;
    return SAND_OK;
}

void sand_step_warn(const struct sand_step_question *question, struct sand_diag *diag)
{
    const struct sand_split *split = &question->job->split;
    const uint32_t per_node = question->fabric->gpus_per_node * question->fabric->nodes_per_domain;
    if (split->tp > per_node || per_node % split->tp != 0)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "job \"%s\": tp = %u does not divide the scale-up domain of %u GPUs, so "
                      "tensor-parallel "
                      "traffic crosses the network; choose a tp that divides %u",
                      question->job->id, split->tp, per_node, per_node);
}
