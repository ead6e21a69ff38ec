// Roofline of the pieces of a dense transformer step, with size-dependent efficiency.
// The equations follow published kernel and training measurements; every constant is the
// catalogue's. SPDX-License-Identifier: GPL-2.0-or-later
#include "cost.h"

#include <math.h>

// Widths of one layer on one GPU after tensor parallelism, and its tokens per micro-batch.
struct shard {
    double tokens, hidden;
    double q, qkv;      // query columns; query, key and value columns
    double ffn, ffn_in; // FFN columns; columns of the first FFN GEMM (gate and up)
    double heads, head_dim;
    double norm_share; // part of the norms and residuals that this GPU computes
};

static struct shard shard_of(const struct sand_transformer *model, const struct sand_split *split)
{
    const double tp = split->tp, d = model->head_dim;
    struct shard shard = {
        .tokens = (double)split->micro_batch * split->sequence / split->cp,
        .hidden = model->hidden,
        .q = model->n_heads * d / tp,
        .qkv = (model->n_heads + 2.0 * model->n_kv_heads) * d / tp,
        .ffn = model->ffn_hidden / tp,
        .heads = model->n_heads / tp,
        .head_dim = d,
        .norm_share = split->sequence_parallel ? 1.0 / tp : 1.0,
    };
    shard.ffn_in = shard.ffn * (model->gated_ffn ? 2.0 : 1.0);
    return shard;
}

static double gemm_rate(const struct sand_gpu_type *gpu, enum sand_precision precision)
{
    switch (precision) {
    case SAND_FP8:
        return gpu->gemm_fp8_flops;
    case SAND_NVFP4:
        return gpu->gemm_fp4_flops;
    case SAND_FP16:
    case SAND_BF16:
        break;
    }
    return gpu->gemm_bf16_flops;
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

double sand_cost_gemm_s(const struct sand_cost *cost, enum sand_precision precision, double m,
                        double n, double k)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    const double operand_B = precision == SAND_NVFP4 ? 0.5 : precision == SAND_FP8 ? 1.0 : 2.0;
    double compute_s = 2.0 * m * n * k / gemm_rate(cost->gpu, precision);
    compute_s *= 1.0 + kernels->gemm_quantisation * (ceil_ratio(cost->gpu, m, n) - 1.0);
    if (misaligned(n, k))
        compute_s *= 1.0 + kernels->gemm_misaligned;
    // Compute and traffic add up: measured GEMMs fit the sum better than the larger of the two.
    const double traffic_B = operand_B * (m * k + k * n) + 2.0 * m * n;
    return compute_s + stream_s(cost, traffic_B) + kernels->gemm_overhead_s;
}

static double layer_gemms_s(const struct sand_cost *cost, const struct shard *shard,
                            enum sand_precision precision)
{
    const double t = shard->tokens, h = shard->hidden;
    return sand_cost_gemm_s(cost, precision, t, shard->qkv, h) +
           sand_cost_gemm_s(cost, precision, t, h, shard->q) +
           sand_cost_gemm_s(cost, precision, t, shard->ffn_in, h) +
           sand_cost_gemm_s(cost, precision, t, h, shard->ffn);
}

// FlashAttention counts: 4 t s d per head, half of it under the causal mask.
static void fused_attention(const struct sand_cost *cost, const struct shard *shard, double seq,
                            int earlier, struct sand_layer_times *times)
{
    const struct sand_kernel_costs *kernels = cost->kernels;
    double rate = cost->gpu->attention_flops * seq / (seq + kernels->attention_half_seq);
    if (shard->head_dim <= 64.0)
        rate *= kernels->attention_head64;
    if (earlier)
        rate *= kernels->attention_earlier;
    times->forward_s = 2.0 * shard->tokens * seq * shard->q / rate;
    times->backward_s = kernels->attention_bwd_ratio * times->forward_s;
}

// Two batched GEMMs over the full square of scores, and softmax and dropout as memory traffic.
static void unfused_attention(const struct sand_cost *cost, const struct shard *shard, double seq,
                              struct sand_layer_times *times)
{
    const double rate = cost->kernels->unfused_rate * cost->gpu->gemm_bf16_flops;
    const double gemms_s = 4.0 * shard->tokens * seq * shard->q / rate;
    const double scores = shard->tokens * seq * shard->heads;
    const double traffic_s = stream_s(cost, cost->kernels->unfused_score_B * scores);
    times->forward_s = gemms_s + traffic_s / 3.0;
    times->backward_s = 2.0 * gemms_s + traffic_s * 2.0 / 3.0;
}

static void attention(const struct sand_cost *cost, const struct shard *shard,
                      const struct sand_split *split, struct sand_layer_times *times)
{
    if (split->attention != SAND_ATTENTION_UNFUSED)
        fused_attention(cost, shard, split->sequence,
                        split->attention == SAND_ATTENTION_FUSED_EARLIER, times);
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
    return precision == SAND_FP8 || precision == SAND_NVFP4;
}

static double cast_s(const struct sand_cost *cost, const struct shard *shard,
                     enum sand_precision precision)
{
    if (!is_narrow(precision))
        return 0.0;
    const double inputs = 2.0 * shard->hidden + shard->q + shard->ffn;
    return stream_s(cost, cost->kernels->cast_fp8_B * shard->tokens * inputs);
}

static double recompute_s(const struct sand_cost *cost, const struct shard *shard,
                          const struct sand_split *split, double forward_s,
                          double attention_forward_s)
{
    if (split->recompute == SAND_RECOMPUTE_FULL)
        return forward_s;
    if (split->recompute == SAND_RECOMPUTE_PARTIAL)
        return split->recompute_share * forward_s;
    if (split->recompute == SAND_RECOMPUTE_NONE)
        return 0.0;
    const double core_s = split->attention == SAND_ATTENTION_UNFUSED ? attention_forward_s : 0.0;
    return norm_activation_s(cost, shard) / 3.0 + core_s;
}

void sand_cost_layer(const struct sand_cost *cost, const struct sand_transformer *model,
                     const struct sand_split *split, struct sand_layer_times *times)
{
    const struct shard shard = shard_of(model, split);
    struct sand_layer_times core = {0};
    attention(cost, &shard, split, &core);
    const double gemms_s = layer_gemms_s(cost, &shard, split->precision);
    const double spread_s = norm_activation_s(cost, &shard) + qkv_traffic_s(cost, &shard) +
                            cast_s(cost, &shard, split->precision) +
                            cost->software->layer_overhead_s;
    times->forward_s = gemms_s + core.forward_s + spread_s / 3.0;
    times->backward_s = 2.0 * gemms_s + core.backward_s + spread_s * 2.0 / 3.0;
    times->recompute_s = recompute_s(cost, &shard, split, times->forward_s, core.forward_s);
}

void sand_cost_head(const struct sand_cost *cost, const struct sand_transformer *model,
                    const struct sand_split *split, struct sand_layer_times *times)
{
    const double tokens = (double)split->micro_batch * split->sequence / split->cp;
    const double columns = (double)model->vocab / split->tp;
    // The output layer stays in 16 bit under fp8 recipes.
    const enum sand_precision precision =
        is_narrow(split->precision) ? SAND_BF16 : split->precision;
    const double total_s = 3.0 * sand_cost_gemm_s(cost, precision, tokens, columns, model->hidden) +
                           stream_s(cost, cost->kernels->logit_B * tokens * columns);
    times->forward_s = total_s / 3.0;
    times->backward_s = total_s * 2.0 / 3.0;
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
        return gpu->peak_fp8_flops;
    case SAND_NVFP4:
        return gpu->peak_fp4_flops;
    case SAND_BF16:
        break;
    }
    return gpu->peak_bf16_flops;
}
