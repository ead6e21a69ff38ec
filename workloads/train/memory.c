// Memory of the fullest GPU of a training job.
// Itemised after Korthikanti et al. 2022 and Rajbhandari et al. 2020 (ZeRO).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

#include "units.h"

// Mixed-precision Adam (Rajbhandari et al. 2020, section 3.1): 16-bit weights; fp32 master weights
// and two fp32 moments. Gradients are the split's.
static const double WEIGHT_B = 2.0, OPTIMIZER_B = 12.0;
static const double ELEMENT_B = 2.0; // a saved activation, 16 bit

// The input of a matrix product under fp8 recipes is kept as it was cast, for the gradient of the
// weights (Transformer Engine, save_for_backward; DeepSeek-V3 report, arXiv:2412.19437, section
// 3.3.3).
static double operand_B(const struct sand_split *split)
{
    return split->precision == SAND_BF16 || split->precision == SAND_FP16 ? ELEMENT_B : 1.0;
}

// Saved bytes per token of one layer on one GPU.
struct saved {
    double input;              // layer input: the residual stream, input of the first norm
    double attention_residual; // input of the second norm
    double norm_outputs;       // inputs of the QKV and of the first FFN GEMM
    double qkv;                // query, key, value, as attention needs them
    double attention_output;   // input of the projection
    double statistics;         // fused: fp32 log-sum-exp per head
    double scores;             // unfused: softmax, its dropout mask and output, 5 bytes per score
    double latent;             // latent attention: what its ways up start from
    double ffn_in;             // up (and gate) outputs
    double ffn_product;        // input of the last FFN GEMM
    double routed;             // the token's copies at their experts
};

// FFN columns that a token occupies on one GPU: of the FFN, or of shared experts and of its own,
// whose tokens come from as many GPUs as an expert is cut into.
static double ffn_columns(const struct sand_transformer *model, const struct sand_split *split,
                          int kind)
{
    const struct sand_experts *experts = &model->experts;
    if (!(kind & SAND_LAYER_EXPERTS))
        return (double)model->ffn_hidden / split->tp;
    return (experts->shared + experts->per_token * split->imbalance) * (double)experts->ffn_hidden /
           split->tp;
}

// Copies of the hidden state that a GPU's experts hold per token of its tensor-parallel group.
static double routed_copies(const struct sand_transformer *model, const struct sand_split *split,
                            int kind)
{
    if (!(kind & SAND_LAYER_EXPERTS))
        return 0.0;
    return model->experts.per_token * split->imbalance * sand_split_expert_tp(split) / split->tp;
}

static struct saved saved_of(const struct sand_transformer *model, const struct sand_split *split,
                             int kind)
{
    const double tp = split->tp;
    const double norm_share = split->sequence_parallel ? 1.0 / tp : 1.0;
    const double h = model->hidden * norm_share, ffn = ffn_columns(model, split, kind);
    const int fused = split->attention != SAND_ATTENTION_UNFUSED;
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const struct sand_latent_attention *latent = &model->latent;
    const double keys = latent->kv_rank > 0 ? widths.q : widths.kv / 2.0;
    return (struct saved){
        .input = ELEMENT_B * h,
        .attention_residual = ELEMENT_B * h,
        .norm_outputs = 2.0 * operand_B(split) * h,
        .qkv = ELEMENT_B *
               (widths.q + keys + (latent->kv_rank > 0 ? widths.value : widths.kv / 2.0)) / tp,
        .attention_output = ELEMENT_B * widths.value / tp,
        .latent = latent->kv_rank == 0
                      ? 0.0
                      : ELEMENT_B * ((double)latent->q_rank + latent->kv_rank + latent->rope_dim),
        .statistics = fused ? 4.0 * model->n_heads / tp : 0.0,
        .scores = fused ? 0.0 : 5.0 * model->n_heads * split->sequence / tp,
        .ffn_in = ELEMENT_B * ffn * (model->gated_ffn ? 2.0 : 1.0),
        .ffn_product = operand_B(split) * ffn,
        .routed = operand_B(split) * model->hidden * routed_copies(model, split, kind),
    };
}

static double saved_total(const struct saved *saved)
{
    return saved->input + saved->attention_residual + saved->norm_outputs + saved->qkv +
           saved->attention_output + saved->statistics + saved->scores + saved->latent +
           saved->ffn_in + saved->ffn_product + saved->routed;
}

static double saved_kept(const struct saved *saved, const struct sand_split *split)
{
    switch (split->recompute) {
    case SAND_RECOMPUTE_FULL:
        return saved->input;
    case SAND_RECOMPUTE_PARTIAL:
        return saved->input + (1 - split->recompute_share) * (saved_total(saved) - saved->input);
    case SAND_RECOMPUTE_SELECTIVE:
        // Of latent attention the ways up as well, which start from the latents
        // (Megatron-Core, recompute_modules mla_up_proj; DeepSeek-V3 report, section 3.2.3).
        return saved_total(saved) - saved->norm_outputs - saved->scores - saved->ffn_product -
               (saved->latent > 0.0 ? saved->qkv : 0.0);
    case SAND_RECOMPUTE_NONE:
        break;
    }
    return saved_total(saved);
}

static double micro_batch_tokens(const struct sand_split *split)
{
    return (double)split->micro_batch * split->sequence / split->cp;
}

double sand_activation_layer_B(const struct sand_transformer *model, const struct sand_split *split,
                               int kind)
{
    const struct saved saved = saved_of(model, split, kind);
    return micro_batch_tokens(split) * saved_kept(&saved, split);
}

// ---- what a stage holds -------------------------------------------------------------------------

// Of a stage: the same for all splits that differ only in what a way (below) is made of.
struct stage_load {
    struct sand_params params;
    struct sand_layer_census layers; // of all chunks
    double n_layers, in_flight;      // the latter in layers, sand_schedule_in_flight
};

static struct stage_load load_of(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage)
{
    struct stage_load load = {.params = sand_split_stage_params(model, split, stage)};
    for (uint32_t chunk = 0; chunk < split->virtual_stages; chunk++) {
        const struct sand_layer_census census = sand_split_census(model, split, stage, chunk);
        for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
            load.layers.n[kind] += census.n[kind];
            load.n_layers += census.n[kind];
        }
    }
    load.in_flight = (double)sand_schedule_in_flight(model, split, stage);
    return load;
}

// Output layer and loss of one micro-batch: the final norm's input and output, logits in 16 bit and
// their fp32 copy, in which softmax and gradient are made (Korthikanti et al. 2022, section 4.3).
static double head_B(const struct sand_transformer *model, const struct sand_split *split)
{
    const double norm_share = split->sequence_parallel ? 1.0 / split->tp : 1.0;
    const double norm = 2.0 * ELEMENT_B * model->hidden * norm_share;
    const double logits = (ELEMENT_B + 4.0) * model->vocab / split->tp;
    return micro_batch_tokens(split) * (norm + logits);
}

// Weights of two layers, the one at work and the one gathered ahead, while their owners hold
// shards; of the largest kind.
static double gathered_B(const struct sand_transformer *model, const struct sand_split *split,
                         const struct sand_layer_census *whole)
{
    if (split->sharding != SAND_SHARD_PARAMETERS || !sand_split_is_sharded(split))
        return 0.0;
    double most = 0.0;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        if (whole->n[kind] == 0)
            continue;
        const struct sand_params params = sand_split_layer_params(model, split, kind);
        if (params.dense + params.expert > most)
            most = params.dense + params.expert;
    }
    return 2.0 * WEIGHT_B * most;
}

// What is sent to experts and what comes in, once each: dispatch and combine take turns.
static double dispatch_B(const struct sand_transformer *model, const struct sand_split *split)
{
    if (model->experts.n == 0)
        return 0.0;
    const double copies = model->experts.per_token * (1.0 + split->imbalance) / split->tp;
    return ELEMENT_B * model->hidden * copies * micro_batch_tokens(split);
}

// Over how many GPUs each part of the training state is cut: weights, gradients, optimizer.
struct shards {
    double weights, gradients, optimizer;
};

static struct shards shards_of(const struct sand_split *split, double copies)
{
    const int sharded = split->distributed_optimizer || split->sharding != SAND_SHARD_OPTIMIZER;
    return (struct shards){
        .weights = split->sharding == SAND_SHARD_PARAMETERS ? copies : 1.0,
        .gradients = split->sharding != SAND_SHARD_OPTIMIZER ? copies : 1.0,
        .optimizer = sharded ? copies : 1.0,
    };
}

// What recomputation, sequence parallelism and sharing out make of a split: the same for all
// stages.
struct way {
    double kept_B[SAND_LAYER_KINDS];    // of a layer and micro-batch
    double rebuilt_B[SAND_LAYER_KINDS]; // by its backward, before it can start
    struct shards dense, expert;
    double buffers_B, head_B; // of every stage; of the last one
};

static struct way way_of(const struct sand_transformer *model, const struct sand_split *split,
                         const struct sand_kernel_costs *kernels,
                         const struct sand_layer_census *whole)
{
    struct way way = {
        .dense = shards_of(split, sand_split_shards(split)),
        .expert = shards_of(split, sand_split_expert_shards(split)),
        .buffers_B =
            kernels->buffers_B + gathered_B(model, split, whole) + dispatch_B(model, split),
        .head_B = head_B(model, split),
    };
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        if (whole->n[kind] == 0)
            continue;
        const struct saved saved = saved_of(model, split, kind);
        const double kept = saved_kept(&saved, split), tokens = micro_batch_tokens(split);
        way.kept_B[kind] = tokens * kept;
        way.rebuilt_B[kind] = tokens * (saved_total(&saved) - kept);
    }
    return way;
}

// Activations in flight: of the stage's layers in the mean, and what is rebuilt of the largest.
static double activations_B(const struct stage_load *load, const struct way *way)
{
    double saved_B = 0.0, most_rebuilt_B = 0.0;
    if (load->n_layers <= 0.0)
        return 0.0;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        if (load->layers.n[kind] == 0)
            continue;
        saved_B += load->layers.n[kind] * way->kept_B[kind];
        if (way->rebuilt_B[kind] > most_rebuilt_B)
            most_rebuilt_B = way->rebuilt_B[kind];
    }
    return load->in_flight * saved_B / load->n_layers + most_rebuilt_B;
}

static void stage_memory(const struct sand_split *split, const struct stage_load *load,
                         const struct way *way, uint32_t stage, struct sand_memory *memory)
{
    const double dense = load->params.dense, expert = load->params.expert;
    const struct shards *d = &way->dense, *e = &way->expert;
    *memory = (struct sand_memory){
        .weights_B = WEIGHT_B * (dense / d->weights + expert / e->weights),
        .gradients_B = split->grad_B * (dense / d->gradients + expert / e->gradients),
        .optimizer_B = OPTIMIZER_B * (dense / d->optimizer + expert / e->optimizer),
        .activations_B = activations_B(load, way),
        .buffers_B = way->buffers_B + (stage + 1 == split->pp ? way->head_B : 0.0),
        .experts_B = expert * (WEIGHT_B / e->weights + split->grad_B / e->gradients +
                               OPTIMIZER_B / e->optimizer),
        .stage = stage,
    };
    memory->total_B = memory->weights_B + memory->gradients_B + memory->optimizer_B +
                      memory->activations_B + memory->buffers_B;
}

void sand_memory_estimates(const struct sand_transformer *model, const struct sand_split *splits,
                           size_t n, const struct sand_gpu_type *gpu,
                           const struct sand_kernel_costs *kernels, struct sand_memory *memories)
{
    const struct sand_layer_census whole = sand_model_census(model, 0, model->n_layers);
    struct way ways[SAND_MEMORY_ALIKE];
    for (size_t i = 0; i < n; i++)
        ways[i] = way_of(model, &splits[i], kernels, &whole);
    for (uint32_t stage = 0; stage < splits[0].pp; stage++) {
        const struct stage_load load = load_of(model, &splits[0], stage);
        for (size_t i = 0; i < n; i++) {
            struct sand_memory here;
            stage_memory(&splits[i], &load, &ways[i], stage, &here);
            if (stage == 0 || here.total_B > memories[i].total_B)
                memories[i] = here;
        }
    }
    for (size_t i = 0; i < n; i++)
        memories[i].capacity_B = gpu->hbm_B;
}

void sand_memory_estimate(const struct sand_transformer *model, const struct sand_split *split,
                          const struct sand_gpu_type *gpu, const struct sand_kernel_costs *kernels,
                          struct sand_memory *memory)
{
    sand_memory_estimates(model, split, 1, gpu, kernels, memory);
}

// The change that attacks the largest part.
static const char *way_out(const struct sand_split *split, const struct sand_memory *memory)
{
    const double state_B = memory->weights_B + memory->gradients_B + memory->optimizer_B;
    if (memory->activations_B < state_B) {
        if (!split->distributed_optimizer && split->dp > 1)
            return "write distributed_optimizer=\"yes\", or raise pp or tp";
        return "raise pp or tp, so that each GPU holds fewer parameters";
    }
    if (split->recompute == SAND_RECOMPUTE_NONE)
        return "write recompute=\"selective\" or \"full\", or lower virtual_stages or micro_batch";
    if (split->recompute == SAND_RECOMPUTE_SELECTIVE)
        return "write recompute=\"full\", or lower virtual_stages or micro_batch";
    if (split->micro_batch > 1)
        return "lower micro_batch or virtual_stages, or raise tp";
    return "lower virtual_stages or sequence, or raise tp";
}

enum sand_rc sand_memory_check(const struct sand_transformer *model, const struct sand_split *split,
                               const struct sand_gpu_type *gpu,
                               const struct sand_kernel_costs *kernels, struct sand_memory *memory,
                               struct sand_diag *diag)
{
    sand_memory_estimate(model, split, gpu, kernels, memory);
    if (memory->total_B <= memory->capacity_B)
        return SAND_OK;
    enum { TEXT = 32, OFFER = 384 };
    char text[8][TEXT], offer[OFFER];
    const double parts[8] = {memory->total_B,       memory->capacity_B,  memory->weights_B,
                             memory->gradients_B,   memory->optimizer_B, memory->experts_B,
                             memory->activations_B, memory->buffers_B};
    for (int i = 0; i < 8; i++)
        sand_quantity_format(parts[i], SAND_DIM_BYTES, 3, text[i], TEXT);
    struct sand_split nearest;
    offer[0] = '\0';
    if (sand_memory_nearest(model, split, gpu, kernels, &nearest))
        sand_split_difference(split, &nearest, offer, OFFER);
    return sand_fail(
        diag, SAND_ERR_INPUT,
        "split: pipeline stage %u needs %s per GPU, but gpu \"%s\" has %s: weights %s, "
        "gradients %s, optimizer %s%s%s%s, activations %s, buffers and logits %s; %s%s",
        memory->stage, text[0], gpu->id, text[1], text[2], text[3], text[4],
        model->experts.n > 0 ? " (of these experts " : "", model->experts.n > 0 ? text[5] : "",
        model->experts.n > 0 ? ")" : "", text[6], text[7],
        offer[0] != '\0' ? "the nearest split that fits on as many GPUs: " : way_out(split, memory),
        offer);
}
