// Kernel costs of mixtures of experts, latent attention and windows: by hand, and properties.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "cost.h"
#include "train.h"

static struct sand_gpu_type gpu;
static struct sand_kernel_costs kernels;
static struct sand_software software;
static struct sand_transformer model;
static struct sand_split split;
static struct sand_cost cost;

// Tiles of one row and column and one multiprocessor: no quantisation. Memory of no price unless a
// test sets it.
static void setup(void)
{
    gpu = (struct sand_gpu_type){.hbm_Bps = 1e30,
                                 .hbm_usable = 1,
                                 .gemm_bf16_flops = 500e12,
                                 .gemm_fp8_flops = 1000e12,
                                 .attention_flops = 400e12,
                                 .gemm_tile_m = 1,
                                 .gemm_tile_n = 1,
                                 .n_sm = 1};
    kernels = (struct sand_kernel_costs){.attention_bwd_ratio = 2.5, .attention_head64 = 1};
    software = (struct sand_software){0};
    model = (struct sand_transformer){
        .n_layers = 1,
        .hidden = 4096,
        .n_heads = 32,
        .n_kv_heads = 8,
        .head_dim = 128,
        .ffn_hidden = 14336,
        .vocab = 128256,
        .gated_ffn = 1,
        .experts = {.n = 64, .per_token = 4, .shared = 1, .ffn_hidden = 1024}};
    split = (struct sand_split){.tp = 1,
                                .cp = 1,
                                .pp = 1,
                                .dp = 8,
                                .ep = 8,
                                .imbalance = 1,
                                .virtual_stages = 1,
                                .micro_batch = 1,
                                .global_batch = 8,
                                .sequence = 8192,
                                .precision = SAND_BF16,
                                .grad_B = 4};
    cost = (struct sand_cost){&gpu, &kernels, &software};
}

TestSuite(cost_experts, .init = setup);

static double forward_s(int kind)
{
    struct sand_layer_times times;
    sand_cost_layer(&cost, &model, &split, kind, &times);
    return times.forward_s;
}

Test(cost_experts, compute_is_that_of_the_active_matrices)
{
    // Without overheads a layer takes 2 FLOPs per active parameter and token, and its attention.
    const double t = 8192, active = sand_model_active_params(&model) - 4096.0 * (128256 + 3);
    const double attention_s = 2 * t * 8192 * 4096 / 400e12;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS), 2 * t * active / 500e12 + attention_s, 1e-12);
    // However many GPUs the experts are on, if tokens are balanced.
    const double spread_s = forward_s(SAND_LAYER_EXPERTS);
    split.ep = 1;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS), spread_s, 1e-15);
    // Nor does it matter whether tensor parallelism cuts experts or shares them out.
    split.tp = 4;
    split.dp = 2;
    split.sequence_parallel = 1;
    split.ep = 2;
    const double cut_s = forward_s(SAND_LAYER_EXPERTS);
    split.ep = 8;
    split.expert_tp = 1;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS), cut_s, 1e-15);
    cr_assert_float_eq(cut_s, spread_s / 4, 1e-9);
}

Test(cost_experts, imbalance_scales_what_experts_do)
{
    const double even_s = forward_s(SAND_LAYER_EXPERTS);
    split.imbalance = 1.5;
    const double routed_s = 2 * 8192.0 * 4 * 3 * 4096 * 1024 / 500e12;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS) - even_s, 0.5 * routed_s, 1e-12);
}

Test(cost_experts, weights_of_all_experts_are_read)
{
    gpu.hbm_Bps = 4e12;
    split.sequence = 64;
    split.ep = 8;
    const double few_s = forward_s(SAND_LAYER_EXPERTS);
    split.ep = 1;
    // 56 more experts of three matrices of 16 bit.
    const double read_s = 56 * 3 * 4096.0 * 1024 * 2 / 4e12;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS) - few_s, read_s, 1e-12);
}

Test(cost_experts, every_expert_fills_its_own_tiles)
{
    gpu.gemm_tile_m = 128;
    gpu.n_sm = 8;
    kernels.gemm_quantisation = 1;
    // 8192 x 4 tokens over 8 experts here: 4,096 rows each, whole tiles: nothing is lost.
    const double whole_s = forward_s(SAND_LAYER_EXPERTS);
    gpu.gemm_tile_m = 4096;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS), whole_s, 1e-12);
    gpu.gemm_tile_m = 8192; // each expert pays for twice its rows
    const double routed_s = 2 * 8192.0 * 4 * 3 * 4096 * 1024 / 500e12;
    // The router's 64 columns fill whole tiles of one column; its rows are exactly one tile.
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS) - whole_s, routed_s, 1e-9);
}

Test(cost_experts, latent_attention_by_hand)
{
    model.n_kv_heads = 32;
    model.latent = (struct sand_latent_attention){512, 1536, 64, 128};
    model.experts = (struct sand_experts){0};
    const double t = 8192;
    const double matrices = 4096.0 * 1536 + 1536.0 * 32 * 192 + 4096.0 * (512 + 64) +
                            512.0 * 32 * 256 + 32.0 * 128 * 4096 + 3 * 4096.0 * 14336;
    const double attention_s = t * 8192 * 32 * (192 + 128) / 400e12;
    cr_assert_float_eq(forward_s(0), 2 * t * matrices / 500e12 + attention_s, 1e-12);
}

Test(cost_experts, a_window_costs_its_keys)
{
    const double all_s = forward_s(SAND_LAYER_EXPERTS);
    model.window = (struct sand_attention_window){1024, 1};
    const double keys = 1024 * (1 - 1024 / (2 * 8192.0));
    const double saved_s = 4 * 8192.0 * 4096 * (8192 / 2.0 - keys) / 400e12;
    cr_assert_float_eq(all_s - forward_s(SAND_LAYER_EXPERTS | SAND_LAYER_WINDOW), saved_s, 1e-12);
    model.window.tokens = 8192;
    cr_assert_float_eq(forward_s(SAND_LAYER_EXPERTS | SAND_LAYER_WINDOW), all_s, 1e-15);
}

Test(cost_experts, gradients_of_weights_are_half_of_the_backward_products)
{
    struct sand_layer_times times;
    sand_cost_layer(&cost, &model, &split, SAND_LAYER_EXPERTS, &times);
    const double attention_s = 2 * 8192.0 * 8192 * 4096 / 400e12;
    cr_assert_float_eq(times.backward_s, 2 * times.weights_s + 2.5 * attention_s, 1e-12);
    cr_assert_float_eq(times.forward_s, times.weights_s + attention_s, 1e-12);
}
