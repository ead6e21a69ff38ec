// Roofline of the pieces of a transformer step, with size-dependent efficiency.
// The equations follow published kernel and training measurements; every constant is the
// catalogue's. SPDX-License-Identifier: GPL-2.0-or-later
#include "cost.h"

#include <math.h>

#include "train.h"

// Widths of one layer on one GPU after tensor parallelism, and its tokens per micro-batch.
struct shard {
    double tokens, hidden;
    double q, value, qkv; // columns of queries, values, and of what projections put out for all
    double ffn, ffn_in;   // FFN columns; columns of the first FFN GEMM (gate and up)
    double heads, head_dim;
    double keys;       // that a query sees in the mean
    double norm_share; // part of the norms and residuals that this GPU computes
};

static struct shard shard_of(const struct sand_transformer *model, const struct sand_split *split,
                             int kind)
{
    const double tp = split->tp;
    const struct sand_head_widths widths = sand_model_head_widths(model);
    const double ffn = kind & SAND_LAYER_EXPERTS
                           ? (double)model->experts.shared * model->experts.ffn_hidden
                           : (double)model->ffn_hidden;
    struct shard shard = {
        .tokens = (double)split->micro_batch * split->sequence / split->cp,
        .hidden = model->hidden,
        .q = widths.q / tp,
        .value = widths.value / tp,
        .qkv = (widths.q + widths.kv) / tp,
        .ffn = ffn / tp,
        .heads = model->n_heads / tp,
        .head_dim = model->head_dim + (model->latent.kv_rank > 0 ? model->latent.rope_dim : 0),
        .keys = sand_attention_keys(model, split->sequence, kind),
        .norm_share = split->sequence_parallel ? 1.0 / tp : 1.0,
    };
    shard.ffn_in = shard.ffn * (sand_ffn_matrices(model) - 1.0);
    return shard;
}

static double gemm_rate(const struct sand_cost *cost, enum sand_precision precision)
{
    const struct sand_gpu_type *gpu = cost->gpu;
    switch (precision) {
    case SAND_FP8:
        return gpu->gemm_fp8_flops;
    case SAND_FP8_ROW:
        return gpu->gemm_fp8_flops * cost->kernels->fp8_row_rate;
    case SAND_NVFP4:
        return gpu->gemm_fp4_flops;
    case SAND_FP16:
    case SAND_BF16:
        break;
    }
    return gpu->gemm_bf16_flops;
}

// Bytes of an element of a factor.
static double operand_B(enum sand_precision precision)
{
    return precision == SAND_NVFP4                              ? 0.5
           : precision == SAND_FP8 || precision == SAND_FP8_ROW ? 1.0
                                                                : 2.0;
}

static double stream_s(const struct sand_cost *cost, double bytes)
{
    return bytes / (cost->gpu->hbm_Bps * cost->gpu->hbm_usable);
}

// Work of the launched waves over useful work: an output tile and a wave of tiles are paid whole.
static double ceil_ratio(const struct sand_gpu_type *gpu, double m, double n)
{
    const double tiles = ceil(m / gpu->gemm_tile_m) * ceil(n / gpu->gemm_tile_n);
    const double waves = ceil(tiles / gpu->n_sm);
    return waves * gpu->n_sm * gpu->gemm_tile_m * gpu->gemm_tile_n / (m * n);
}

// Tensor-core kernels want 64 elements along N and K (NVIDIA's matrix-multiplication guide).
static int misaligned(double n, double k)
{
    return fmod(n, 64.0) != 0.0 || fmod(k, 64.0) != 0.0;
}

// Arithmetic of a matrix product: 2mnk/R, more for tiles that are not full and for odd sizes.
static double compute_s(const struct sand_cost *cost, enum sand_precision precision, double flops,
                        double loss, int is_misaligned)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    const double quantised = 1.0 + kernels->gemm_quantisation * loss;
    return flops / gemm_rate(cost, precision) * quantised *
           (is_misaligned ? 1.0 + kernels->gemm_misaligned : 1.0);
}

double sand_cost_gemm_s(const struct sand_cost *cost, enum sand_precision precision, double m,
                        double n, double k)
{
    // Compute and traffic add up: measured GEMMs fit the sum better than the larger of the two.
    const double traffic_B = operand_B(precision) * (m * k + k * n) + 2.0 * m * n;
    return compute_s(cost, precision, 2.0 * m * n * k, ceil_ratio(cost->gpu, m, n) - 1.0,
                     misaligned(n, k)) +
           stream_s(cost, traffic_B) + cost->kernels->gemm_overhead_s;
}

// ---- a weight matrix ----------------------------------------------------------------------------

// What a weight matrix takes part in: Y = XW, dX = dY W', dW = X'dY.
struct products {
    double forward_s, inputs_s, weights_s;
};

// How the products of a layer are computed.
struct recipe {
    const struct sand_cost *cost;
    enum sand_precision precision;
    double grad_B; // moved for the gradient of a weight
};

// Where micro-batches accumulate, dW is added to what stands there (Megatron-LM, gradient
// accumulation fusion), or written in 16 bit and read again to be added; where gradients are shared
// out after each micro-batch, it is written in 16 bit.
static struct recipe recipe_of(const struct sand_cost *cost, const struct sand_split *split,
                               enum sand_precision precision)
{
    const int adds = split->global_batch > split->micro_batch * split->dp;
    const double apart = cost->software->fused_gradients ? 0.0 : 2.0 + 2.0;
    return (struct recipe){.cost = cost,
                           .precision = precision,
                           .grad_B = sand_split_is_sharded(split) ? 2.0
                                     : !adds                      ? split->grad_B
                                                                  : 2.0 * split->grad_B + apart};
}

// One product of each kind for `matrices` of k x n that together see m rows; arithmetic takes the
// same time three times, traffic does not.
static struct products products_of(const struct recipe *recipe, double arithmetic_s, double m,
                                   double n, double k, double matrices)
{
    const struct sand_cost *cost = recipe->cost;
    const double operand = operand_B(recipe->precision);
    const double fixed_s = arithmetic_s + cost->kernels->gemm_overhead_s;
    const double weights = matrices * k * n, in = m * k, out = m * n;
    return (struct products){
        .forward_s = fixed_s + stream_s(cost, operand * (in + weights) + 2.0 * out),
        .inputs_s = fixed_s + stream_s(cost, operand * (out + weights) + 2.0 * in),
        .weights_s = fixed_s + stream_s(cost, operand * (in + out) + recipe->grad_B * weights)};
}

static void add_products(struct products p, struct products *sum)
{
    sum->forward_s += p.forward_s;
    sum->inputs_s += p.inputs_s;
    sum->weights_s += p.weights_s;
}

static void add_matrix(const struct recipe *recipe, double m, double n, double k,
                       struct products *sum)
{
    const double loss = ceil_ratio(recipe->cost->gpu, m, n) - 1.0;
    const double arithmetic_s =
        compute_s(recipe->cost, recipe->precision, 2.0 * m * n * k, loss, misaligned(n, k));
    add_products(products_of(recipe, arithmetic_s, m, n, k, 1.0), sum);
}

// Projections of attention; with latent attention down to the ranks, which every tensor-parallel
// rank does for its tokens, and up from them.
static void add_projections(const struct recipe *recipe, const struct sand_transformer *model,
                            const struct shard *shard, struct products *sum)
{
    const struct sand_latent_attention *latent = &model->latent;
    const double t = shard->tokens, h = shard->hidden;
    add_matrix(recipe, t, h, shard->value, sum);
    if (latent->kv_rank == 0) {
        add_matrix(recipe, t, shard->qkv, h, sum);
        return;
    }
    const double own = t * shard->norm_share, keys = shard->qkv - shard->q;
    const double down = (double)latent->kv_rank + latent->rope_dim;
    add_matrix(recipe, own, down, h, sum);
    add_matrix(recipe, t, keys, latent->kv_rank, sum);
    if (latent->q_rank == 0) {
        add_matrix(recipe, t, shard->q, h, sum);
        return;
    }
    add_matrix(recipe, own, latent->q_rank, h, sum);
    add_matrix(recipe, t, shard->q, latent->q_rank, sum);
}

// Into the FFN's columns, and down from them.
static void add_ffn(const struct recipe *recipe, const struct shard *shard, struct products *sum,
                    struct products *down)
{
    if (shard->ffn <= 0.0) // experts alone
        return;
    add_matrix(recipe, shard->tokens, shard->ffn_in, shard->hidden, sum);
    add_matrix(recipe, shard->tokens, shard->hidden, shard->ffn, down);
}

// FlashAttention counts: 4 t k d per head over the k keys that a query sees, half of the sequence
// under the causal mask.
static double fused_rate(const struct sand_cost *cost, enum sand_attention attention)
{
    const struct sand_gpu_type *gpu = cost->gpu;
    if (attention == SAND_ATTENTION_FUSED)
        return gpu->attention_flops;
    const double flash2 = gpu->flash2_flops > 0.0 ? gpu->flash2_flops : gpu->attention_flops;
    return attention == SAND_ATTENTION_FLASH1 ? cost->kernels->attention_flash1 * flash2 : flash2;
}

static void fused_attention(const struct sand_cost *cost, const struct shard *shard,
                            enum sand_attention attention, struct sand_layer_times *times)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    const double seq = 2.0 * shard->keys;
    double rate = fused_rate(cost, attention) * seq / (seq + kernels->attention_half_seq);
    if (shard->head_dim <= 64.0)
        rate *= kernels->attention_head64;
    times->forward_s = 2.0 * shard->tokens * shard->keys * (shard->q + shard->value) / rate;
    times->backward_s = kernels->attention_bwd_ratio * times->forward_s;
}

// Two batched GEMMs over the full square of scores, and softmax and dropout as memory traffic.
static void unfused_attention(const struct sand_cost *cost, const struct shard *shard, double seq,
                              struct sand_layer_times *times)
{
    const double rate = cost->kernels->unfused_rate * cost->gpu->gemm_bf16_flops;
    const double gemms_s = 2.0 * shard->tokens * seq * (shard->q + shard->value) / rate;
    const double scores = shard->tokens * seq * shard->heads;
    const double traffic_s = stream_s(cost, cost->kernels->unfused_score_B * scores);
    times->forward_s = gemms_s + traffic_s / 3.0;
    times->backward_s = 2.0 * gemms_s + traffic_s * 2.0 / 3.0;
}

static void attention(const struct sand_cost *cost, const struct shard *shard,
                      const struct sand_split *split, struct sand_layer_times *times)
{
    if (split->attention != SAND_ATTENTION_UNFUSED)
        fused_attention(cost, shard, split->attention, times);
    else
        unfused_attention(cost, shard, split->sequence, times);
}

// Norms, residuals and the activation function: what selective recomputation runs again.
static double norm_activation_s(const struct sand_cost *cost, const struct shard *shard)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    return stream_s(cost, shard->tokens * (kernels->norm_B * shard->hidden * shard->norm_share +
                                           kernels->activation_B * shard->ffn_in));
}

static double qkv_traffic_s(const struct sand_cost *cost, const struct shard *shard)
{
    return stream_s(cost, shard->tokens * cost->kernels->qkv_B * shard->qkv);
}

static int is_narrow(enum sand_precision precision)
{
    return precision == SAND_FP8 || precision == SAND_FP8_ROW || precision == SAND_NVFP4;
}

// Of the 5 bytes of a cast (2 read, 1 written) and a transposition (1 and 1), what is done for a
// tensor that sequence parallelism gathers: it is cast before it is gathered, and transposed after
// (Transformer Engine, LayerNormLinear).
static double gathered_share(const struct shard *shard)
{
    return (3.0 * shard->norm_share + 2.0) / 5.0;
}

static double cast_s(const struct sand_cost *cost, const struct shard *shard,
                     enum sand_precision precision)
{
    if (!is_narrow(precision))
        return 0.0;
    const double inputs = (shard->ffn > 0.0 ? 2.0 : 1.0) * shard->hidden * gathered_share(shard) +
                          shard->value + shard->ffn;
    return stream_s(cost, cost->kernels->cast_fp8_B * shard->tokens * inputs);
}

// ---- experts ------------------------------------------------------------------------------------

// Tokens that reach the experts of one GPU, and the columns they find there.
struct routed {
    double rows, per_expert, experts, ffn, ffn_in, own;
};

static struct routed routed_of(const struct sand_transformer *model, const struct sand_split *split,
                               const struct shard *shard)
{
    const struct sand_experts *experts = &model->experts;
    const double cut = sand_split_expert_tp(split), here = (double)experts->n / split->ep;
    const double own = shard->tokens / split->tp * experts->per_token;
    struct routed routed = {.rows = own * cut * split->imbalance,
                            .experts = here,
                            .ffn = experts->ffn_hidden / cut,
                            .own = own};
    routed.per_expert = routed.rows / here;
    routed.ffn_in = routed.ffn * (sand_ffn_matrices(model) - 1.0);
    return routed;
}

// One product per expert, launched together: tiles of all of them fill the waves, the weights of
// all are read.
static void add_grouped(const struct recipe *recipe, const struct routed *routed, double n,
                        double k, struct products *sum)
{
    const struct sand_gpu_type *gpu = recipe->cost->gpu;
    const double tiles =
        routed->experts * ceil(routed->per_expert / gpu->gemm_tile_m) * ceil(n / gpu->gemm_tile_n);
    const double done = ceil(tiles / gpu->n_sm) * gpu->n_sm * gpu->gemm_tile_m * gpu->gemm_tile_n;
    const double loss = done / (routed->rows * n) - 1.0;
    const double arithmetic_s = compute_s(recipe->cost, recipe->precision,
                                          2.0 * routed->rows * n * k, loss, misaligned(n, k));
    add_products(products_of(recipe, arithmetic_s, routed->rows, n, k, routed->experts), sum);
}

// Router, in 16 bit, and experts.
static void add_experts(const struct recipe *recipe, const struct sand_transformer *model,
                        const struct shard *shard, const struct routed *routed,
                        struct products *sum, struct products *down)
{
    struct recipe router = *recipe;
    router.precision = SAND_BF16;
    add_matrix(&router, shard->tokens * shard->norm_share, model->experts.n, shard->hidden, sum);
    add_grouped(recipe, routed, routed->ffn_in, shard->hidden, sum);
    add_grouped(recipe, routed, shard->hidden, routed->ffn, down);
}

// Sorting tokens by expert and back, activation and casts, both directions.
static double expert_traffic_s(const struct sand_cost *cost, const struct shard *shard,
                               const struct routed *routed, enum sand_precision precision)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    double traffic_B = kernels->permute_B * shard->hidden * (routed->own + routed->rows) / 2.0 +
                       kernels->activation_B * routed->ffn_in * routed->rows;
    if (is_narrow(precision))
        traffic_B += kernels->cast_fp8_B * routed->rows * (shard->hidden + routed->ffn);
    return stream_s(cost, traffic_B);
}

// ---- a layer ------------------------------------------------------------------------------------

// The ways up of latent attention, whose outputs are many times what they are computed from.
static double ways_up_s(const struct sand_cost *cost, const struct sand_transformer *model,
                        const struct shard *shard, enum sand_precision precision)
{
    const struct sand_latent_attention *latent = &model->latent;
    double sum_s = 0.0;
    if (latent->kv_rank > 0)
        sum_s += sand_cost_gemm_s(cost, precision, shard->tokens, shard->qkv - shard->q,
                                  latent->kv_rank);
    if (latent->kv_rank > 0 && latent->q_rank > 0)
        sum_s += sand_cost_gemm_s(cost, precision, shard->tokens, shard->q, latent->q_rank);
    return sum_s;
}

// Of a layer whose forward takes so long, `down_s` of it the last product.
static double recompute_s(const struct sand_cost *cost, const struct sand_transformer *model,
                          const struct shard *shard, const struct sand_split *split,
                          double forward_s, double down_s, double attention_forward_s)
{
    if (split->recompute == SAND_RECOMPUTE_FULL)
        return forward_s - (cost->software->recompute_stops ? down_s : 0.0);
    if (split->recompute == SAND_RECOMPUTE_PARTIAL)
        return split->recompute_share * forward_s;
    if (split->recompute == SAND_RECOMPUTE_NONE)
        return 0.0;
    const double core_s = split->attention == SAND_ATTENTION_UNFUSED ? attention_forward_s : 0.0;
    return norm_activation_s(cost, shard) / 3.0 + core_s +
           ways_up_s(cost, model, shard, split->precision);
}

void sand_cost_layer(const struct sand_cost *cost, const struct sand_transformer *model,
                     const struct sand_split *split, int kind, struct sand_layer_times *times)
{
    const struct shard shard = shard_of(model, split, kind);
    struct sand_layer_times core = {0};
    attention(cost, &shard, split, &core);
    const struct recipe recipe = recipe_of(cost, split, split->precision);
    struct products products = {0}, down = {0};
    add_projections(&recipe, model, &shard, &products);
    add_ffn(&recipe, &shard, &products, &down);
    double spread_s = norm_activation_s(cost, &shard) + qkv_traffic_s(cost, &shard) +
                      cast_s(cost, &shard, split->precision) + cost->software->layer_overhead_s;
    if (kind & SAND_LAYER_EXPERTS) {
        const struct routed routed = routed_of(model, split, &shard);
        add_experts(&recipe, model, &shard, &routed, &products, &down);
        spread_s += expert_traffic_s(cost, &shard, &routed, split->precision) +
                    (cost->software->full_graph ? 0 : cost->kernels->expert_overhead_s);
    }
    add_products(down, &products);
    times->forward_s = products.forward_s + core.forward_s + spread_s / 3.0;
    times->backward_s =
        products.inputs_s + products.weights_s + core.backward_s + spread_s * 2.0 / 3.0;
    times->weights_s = products.weights_s;
    times->recompute_s =
        recompute_s(cost, model, &shard, split, times->forward_s, down.forward_s, core.forward_s);
}

void sand_cost_head(const struct sand_cost *cost, const struct sand_transformer *model,
                    const struct sand_split *split, struct sand_layer_times *times)
{
    const double tokens = (double)split->micro_batch * split->sequence / split->cp;
    const double columns = (double)model->vocab / split->tp;
    // The output layer stays in 16 bit under fp8 recipes.
    const enum sand_precision precision =
        is_narrow(split->precision) ? SAND_BF16 : split->precision;
    const struct recipe recipe = recipe_of(cost, split, precision);
    const double logits_s = stream_s(cost, cost->kernels->logit_B * tokens * columns);
    struct products products = {0};
    add_matrix(&recipe, tokens, columns, model->hidden, &products);
    times->forward_s = products.forward_s + logits_s / 3.0;
    times->backward_s = products.inputs_s + products.weights_s + logits_s * 2.0 / 3.0;
    times->weights_s = products.weights_s;
    times->recompute_s = 0.0;
}

double sand_cost_optimizer_s(const struct sand_cost *cost, double params)
{
    return stream_s(cost, cost->kernels->optimizer_B * params);
}

double sand_cost_peak_flops(const struct sand_gpu_type *gpu, enum sand_precision precision)
{
    switch (precision) {
    case SAND_FP16:
        return gpu->peak_fp16_flops;
    case SAND_FP8:
    case SAND_FP8_ROW:
        return gpu->peak_fp8_flops;
    case SAND_NVFP4:
        return gpu->peak_fp4_flops;
    case SAND_BF16:
        break;
    }
    return gpu->peak_bf16_flops;
}
