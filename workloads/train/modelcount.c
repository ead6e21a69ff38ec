// Parameters and FLOPs of a dense transformer, in all and per GPU.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

static double query_width(const struct sand_transformer *model)
{
    return (double)model->n_heads * model->head_dim;
}

// Weights of the matrices of one layer: query, key and value; projection; FFN.
static double layer_matrix_params(const struct sand_transformer *model)
{
    const double kv = 2.0 * model->n_kv_heads * model->head_dim;
    const double ffn_matrices = model->gated_ffn ? 3.0 : 2.0;
    return model->hidden *
           (2.0 * query_width(model) + kv + ffn_matrices * (double)model->ffn_hidden);
}

double sand_model_layer_params(const struct sand_transformer *model)
{
    return layer_matrix_params(model) + 2.0 * model->hidden;
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
    return model->n_layers * sand_model_layer_params(model) + sand_model_embedding_params(model) +
           sand_model_output_params(model) + model->hidden;
}

double sand_split_gpu_params(const struct sand_transformer *model, const struct sand_split *split,
                             uint32_t stage)
{
    const double layers = sand_split_stage_layers(model, split, stage);
    const int last = stage + 1 == split->pp;
    double matrices = layers * layer_matrix_params(model);
    double norms = layers * 2.0 * model->hidden; // every tensor-parallel rank holds the norms
    if (stage == 0)
        matrices += sand_model_embedding_params(model);
    if (last && (split->pp > 1 || !model->tied_embeddings))
        matrices += sand_model_embedding_params(model);
    if (last)
        norms += model->hidden;
    return matrices / split->tp + norms;
}

static double step_tokens(const struct sand_split *split)
{
    return (double)split->global_batch * split->sequence;
}

// Scores and their product with the values: 4 s a d per token, half of it under the causal mask.
static double attention_token_flops(const struct sand_transformer *model,
                                    const struct sand_split *split)
{
    return 2.0 * split->sequence * query_width(model);
}

static double layer_token_flops(const struct sand_transformer *model,
                                const struct sand_split *split)
{
    return 2.0 * layer_matrix_params(model) + attention_token_flops(model, split);
}

double sand_model_flops(const struct sand_transformer *model, const struct sand_split *split)
{
    const double head = 2.0 * sand_model_embedding_params(model);
    return 3.0 * step_tokens(split) * (model->n_layers * layer_token_flops(model, split) + head);
}

double sand_recompute_flops(const struct sand_transformer *model, const struct sand_split *split)
{
    double per_layer = 0.0;
    if (split->recompute == SAND_RECOMPUTE_FULL)
        per_layer = layer_token_flops(model, split);
    else if (split->recompute == SAND_RECOMPUTE_PARTIAL)
        per_layer = split->recompute_share * layer_token_flops(model, split);
    else if (split->recompute == SAND_RECOMPUTE_SELECTIVE &&
             split->attention == SAND_ATTENTION_UNFUSED)
        per_layer = attention_token_flops(model, split);
    return step_tokens(split) * model->n_layers * per_layer;
}

double sand_checkpoint_B(const struct sand_transformer *model, double bytes_per_param)
{
    return sand_model_params(model) * bytes_per_param;
}
