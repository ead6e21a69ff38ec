// Parameters and FLOPs of a transformer, in all and per GPU.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

// ---- kinds of layers ----------------------------------------------------------------------------

static int has_experts(const struct sand_transformer *model, uint32_t layer)
{
    const struct sand_experts *experts = &model->experts;
    if (experts->n == 0 || layer < experts->dense_layers)
        return 0;
    return experts->every < 2 || (layer - experts->dense_layers + 1) % experts->every == 0;
}

static int has_window(const struct sand_transformer *model, uint32_t layer)
{
    const struct sand_attention_window *window = &model->window;
    return window->tokens > 0 && (window->every < 2 || (layer + 1) % window->every != 0);
}

struct sand_layer_census sand_model_census(const struct sand_transformer *model, uint32_t first,
                                           uint32_t n)
{
    struct sand_layer_census census = {0};
    if (model->experts.n == 0 && model->window.tokens == 0) {
        census.n[0] = n;
        return census;
    }
    for (uint32_t layer = first; layer < first + n; layer++)
        census.n[(has_experts(model, layer) ? SAND_LAYER_EXPERTS : 0) +
                 (has_window(model, layer) ? SAND_LAYER_WINDOW : 0)]++;
    return census;
}

int sand_model_has_ffn(const struct sand_transformer *model)
{
    const struct sand_experts *experts = &model->experts;
    return experts->n == 0 || experts->dense_layers > 0 || experts->every > 1;
}

// ---- parameters ---------------------------------------------------------------------------------

struct sand_head_widths sand_model_head_widths(const struct sand_transformer *model)
{
    const double n = model->n_heads, d = model->head_dim;
    if (model->latent.kv_rank == 0)
        return (struct sand_head_widths){n * d, n * d, 2.0 * model->n_kv_heads * d};
    const double q = n * (d + model->latent.rope_dim), value = n * model->latent.value_dim;
    return (struct sand_head_widths){q, value, n * d + value};
}

double sand_ffn_matrices(const struct sand_transformer *model)
{
    return model->gated_ffn ? 3.0 : 2.0;
}

// Attention: what tensor parallelism splits, and what every rank of it holds (the way down of
// latent attention).
static double attention_split(const struct sand_transformer *model)
{
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const struct sand_latent_attention *latent = &model->latent;
    const double q_input =
        latent->kv_rank > 0 && latent->q_rank > 0 ? latent->q_rank : (double)model->hidden;
    const double kv_input = latent->kv_rank > 0 ? latent->kv_rank : (double)model->hidden;
    return q_input * widths.q + kv_input * widths.kv + widths.value * model->hidden;
}

static double attention_whole(const struct sand_transformer *model)
{
    const struct sand_latent_attention *latent = &model->latent;
    if (latent->kv_rank == 0)
        return 0.0;
    return (double)model->hidden * (latent->q_rank + latent->kv_rank + latent->rope_dim);
}

static double norm_params(const struct sand_transformer *model)
{
    const struct sand_latent_attention *latent = &model->latent;
    const double ranks = latent->kv_rank > 0 ? (double)latent->q_rank + latent->kv_rank : 0.0;
    return 2.0 * model->hidden + ranks;
}

static double expert_params(const struct sand_transformer *model)
{
    return sand_ffn_matrices(model) * model->hidden * (double)model->experts.ffn_hidden;
}

static double router_params(const struct sand_transformer *model)
{
    return (double)model->hidden * model->experts.n;
}

// FFN, or shared experts: split by tensor parallelism.
static double ffn_split(const struct sand_transformer *model, int kind)
{
    if (kind & SAND_LAYER_EXPERTS)
        return model->experts.shared * expert_params(model);
    return sand_ffn_matrices(model) * model->hidden * (double)model->ffn_hidden;
}

double sand_model_layer_params(const struct sand_transformer *model, int kind)
{
    double params = attention_split(model) + attention_whole(model) + norm_params(model) +
                    ffn_split(model, kind);
    if (kind & SAND_LAYER_EXPERTS)
        params += router_params(model) + model->experts.n * expert_params(model);
    return params;
}

double sand_model_embedding_params(const struct sand_transformer *model)
{
    return (double)model->vocab * model->hidden;
}

double sand_model_output_params(const struct sand_transformer *model)
{
    return model->tied_embeddings ? 0.0 : sand_model_embedding_params(model);
}

double sand_model_params(const struct sand_transformer *model)
{
    const struct sand_layer_census census = sand_model_census(model, 0, model->n_layers);
    double params = sand_model_embedding_params(model) + sand_model_output_params(model) +
                    (1.0 + model->positions) * model->hidden;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++)
        params += census.n[kind] * sand_model_layer_params(model, kind);
    return params;
}

// Matrices of one layer that a token meets.
static double token_matrices(const struct sand_transformer *model, int kind)
{
    double params = attention_split(model) + attention_whole(model) + ffn_split(model, kind);
    if (kind & SAND_LAYER_EXPERTS)
        params += router_params(model) + model->experts.per_token * expert_params(model);
    return params;
}

double sand_model_active_params(const struct sand_transformer *model)
{
    const struct sand_layer_census census = sand_model_census(model, 0, model->n_layers);
    double params = sand_model_embedding_params(model) + model->hidden;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++)
        params += census.n[kind] * (token_matrices(model, kind) + norm_params(model));
    return params;
}

// ---- parameters per GPU -------------------------------------------------------------------------

// Norms, the way down of latent attention and the router are held by every tensor-parallel rank.
static double layer_dense_params(const struct sand_transformer *model,
                                 const struct sand_split *split, int kind)
{
    double whole = attention_whole(model) + norm_params(model);
    if (kind & SAND_LAYER_EXPERTS)
        whole += router_params(model);
    return whole + (attention_split(model) + ffn_split(model, kind)) / split->tp;
}

static double layer_expert_params(const struct sand_transformer *model,
                                  const struct sand_split *split, int kind)
{
    if (!(kind & SAND_LAYER_EXPERTS))
        return 0.0;
    return model->experts.n * expert_params(model) /
           ((double)split->ep * sand_split_expert_tp(split));
}

struct sand_params sand_split_layer_params(const struct sand_transformer *model,
                                           const struct sand_split *split, int kind)
{
    return (struct sand_params){layer_dense_params(model, split, kind),
                                layer_expert_params(model, split, kind)};
}

struct sand_params sand_split_chunk_params(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage,
                                           uint32_t chunk)
{
    const struct sand_layer_census census = sand_split_census(model, split, stage, chunk);
    const int first = stage == 0 && chunk == 0;
    const int last = stage + 1 == split->pp && chunk + 1 == split->virtual_stages;
    const double table = sand_model_embedding_params(model) / split->tp;
    struct sand_params params = {0};
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        if (census.n[kind] == 0)
            continue;
        params.dense += census.n[kind] * layer_dense_params(model, split, kind);
        params.expert += census.n[kind] * layer_expert_params(model, split, kind);
    }
    if (first)
        params.dense += table + (double)model->positions * model->hidden;
    if (last && (split->pp > 1 || !model->tied_embeddings))
        params.dense += table;
    if (last)
        params.dense += model->hidden;
    return params;
}

struct sand_params sand_split_chunk_tensors(const struct sand_transformer *model,
                                            const struct sand_split *split, uint32_t stage,
                                            uint32_t chunk)
{
    enum { ATTENTION_AND_NORMS = 4 };
    const struct sand_layer_census census = sand_split_census(model, split, stage, chunk);
    const double matrices = model->gated_ffn ? 3 : 2;
    const int last = stage + 1 == split->pp && chunk + 1 == split->virtual_stages;
    struct sand_params tensors = {.dense = (stage == 0 && chunk == 0) + 2.0 * last};
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++) {
        const int routed = (kind & SAND_LAYER_EXPERTS) != 0;
        const double whole = routed ? model->experts.shared > 0 : 1;
        tensors.dense += census.n[kind] * (ATTENTION_AND_NORMS + routed + whole * matrices);
        if (routed)
            tensors.expert += census.n[kind] * matrices * model->experts.n / split->ep;
    }
    return tensors;
}

struct sand_params sand_split_stage_params(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage)
{
    struct sand_params sum = {0};
    for (uint32_t chunk = 0; chunk < split->virtual_stages; chunk++) {
        const struct sand_params params = sand_split_chunk_params(model, split, stage, chunk);
        sum.dense += params.dense;
        sum.expert += params.expert;
    }
    return sum;
}

double sand_split_gpu_params(const struct sand_transformer *model, const struct sand_split *split,
                             uint32_t stage)
{
    const struct sand_params params = sand_split_stage_params(model, split, stage);
    return params.dense + params.expert;
}

// ---- FLOPs --------------------------------------------------------------------------------------

static double step_tokens(const struct sand_split *split)
{
    return (double)split->global_batch * split->sequence;
}

double sand_attention_keys(const struct sand_transformer *model, uint32_t sequence, int kind)
{
    const double s = sequence, w = model->window.tokens;
    if (!(kind & SAND_LAYER_WINDOW) || w >= s)
        return s / 2.0;
    return w * (1.0 - w / (2.0 * s));
}

// Scores over the keys and their product with the values.
static double attention_token_flops(const struct sand_transformer *model,
                                    const struct sand_split *split, int kind)
{
    const struct sand_head_widths widths = sand_model_head_widths(model);
    return 2.0 * sand_attention_keys(model, split->sequence, kind) * (widths.q + widths.value);
}

static double layer_token_flops(const struct sand_transformer *model,
                                const struct sand_split *split, int kind)
{
    return 2.0 * token_matrices(model, kind) + attention_token_flops(model, split, kind);
}

// Summed over the layers: all FLOPs of a token, or those of attention alone.
static double token_flops(const struct sand_transformer *model, const struct sand_split *split,
                          int attention_only)
{
    const struct sand_layer_census census = sand_model_census(model, 0, model->n_layers);
    double flops = 0.0;
    for (int kind = 0; kind < SAND_LAYER_KINDS; kind++)
        flops += census.n[kind] * (attention_only ? attention_token_flops(model, split, kind)
                                                  : layer_token_flops(model, split, kind));
    return flops;
}

double sand_model_flops(const struct sand_transformer *model, const struct sand_split *split)
{
    const double head = 2.0 * sand_model_embedding_params(model);
    return 3.0 * step_tokens(split) * (token_flops(model, split, 0) + head);
}

// Of latent attention, per token and forward, from the ranks that are kept.
static double ways_up_flops(const struct sand_transformer *model)
{
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const struct sand_latent_attention *latent = &model->latent;
    if (latent->kv_rank == 0)
        return 0.0;
    return 2.0 * model->n_layers * (latent->kv_rank * widths.kv + latent->q_rank * widths.q);
}

double sand_recompute_flops(const struct sand_transformer *model, const struct sand_split *split)
{
    if (split->recompute == SAND_RECOMPUTE_FULL)
        return step_tokens(split) * token_flops(model, split, 0);
    if (split->recompute == SAND_RECOMPUTE_PARTIAL)
        return step_tokens(split) * split->recompute_share * token_flops(model, split, 0);
    if (split->recompute != SAND_RECOMPUTE_SELECTIVE)
        return 0.0;
    const double scores =
        split->attention == SAND_ATTENTION_UNFUSED ? token_flops(model, split, 1) : 0.0;
    return step_tokens(split) * (scores + ways_up_flops(model));
}

double sand_checkpoint_B(const struct sand_transformer *model, double bytes_per_param)
{
    return sand_model_params(model) * bytes_per_param;
}
