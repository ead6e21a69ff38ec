// Kernel costs: hand-computed GEMMs and layers, measured kernels, and properties that must hold.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "cost.h"

static struct sand_gpu_type gpu;
static struct sand_kernel_costs kernels;
static struct sand_software software;
static struct sand_transformer model;
static struct sand_split split;
static struct sand_cost cost;

// Round numbers, so that expected values can be worked out on paper.
static void setup(void)
{
    gpu = (struct sand_gpu_type){.peak_bf16_flops = 1000e12,
                                 .peak_fp16_flops = 1001e12,
                                 .peak_fp8_flops = 2000e12,
                                 .hbm_Bps = 4e12,
                                 .hbm_usable = 0.5,
                                 .gemm_bf16_flops = 500e12,
                                 .gemm_fp8_flops = 1000e12,
                                 .attention_flops = 400e12,
                                 .gemm_tile_m = 128,
                                 .gemm_tile_n = 256,
                                 .n_sm = 128};
    kernels = (struct sand_kernel_costs){.gemm_quantisation = 0.8,
                                         .gemm_misaligned = 0.5,
                                         .attention_half_seq = 512,
                                         .attention_bwd_ratio = 2.5,
                                         .attention_head64 = 0.87,
                                         .unfused_rate = 0.5};
    software = (struct sand_software){.fused_gradients = 1};
    model = (struct sand_transformer){.n_layers = 1,
                                      .hidden = 4096,
                                      .n_heads = 32,
                                      .n_kv_heads = 8,
                                      .head_dim = 128,
                                      .ffn_hidden = 14336,
                                      .vocab = 128256,
                                      .gated_ffn = 1};
    split = (struct sand_split){.tp = 1,
                                .cp = 1,
                                .pp = 1,
                                .dp = 1,
                                .virtual_stages = 1,
                                .micro_batch = 1,
                                .global_batch = 1,
                                .sequence = 8192,
                                .precision = SAND_BF16,
                                .grad_B = 4};
    cost = (struct sand_cost){&gpu, &kernels, &software};
}

TestSuite(cost, .init = setup);

static void near(double got, double want, const char *what)
{
    cr_assert(fabs(got - want) <= 1e-12 * fabs(want), "%s: got %.15g, want %.15g", what, got, want);
}

Test(cost, gemm_of_whole_waves_is_compute_plus_traffic_plus_overhead)
{
    kernels.gemm_overhead_s = 7e-6;
    // 4096 x 8192 output: 32 x 32 tiles = 1024 = 8 waves of 128, nothing lost.
    const double m = 4096, n = 8192, k = 1024;
    const double compute = 2 * m * n * k / 500e12,
                 traffic = (2 * (m * k + k * n) + 2 * m * n) / 2e12;
    near(sand_cost_gemm_s(&cost, SAND_BF16, m, n, k), compute + traffic + 7e-6, "bf16");
    near(sand_cost_gemm_s(&cost, SAND_FP16, m, n, k), compute + traffic + 7e-6, "fp16 as bf16");
    // fp8: twice the rate, one byte per operand, output still 16 bit.
    const double fp8 = compute / 2 + ((m * k + k * n) + 2 * m * n) / 2e12 + 7e-6;
    near(sand_cost_gemm_s(&cost, SAND_FP8, m, n, k), fp8, "fp8");
}

Test(cost, gemm_pays_its_share_of_tiles_and_waves)
{
    gpu.hbm_Bps = INFINITY;
    // 129 x 256: 2 tiles of 128 rows; 1 wave of 128 tiles for 129 / 256 tiles' worth of work.
    near(sand_cost_gemm_s(&cost, SAND_BF16, 129, 256, 64),
         2.0 * 129 * 256 * 64 / 500e12 * (1 + 0.8 * (128.0 * 128 * 256 / (129.0 * 256) - 1)),
         "tiles");
    // 129 full tiles need two waves: ratio 256 / 129.
    near(sand_cost_gemm_s(&cost, SAND_BF16, 129 * 128, 256, 64),
         2.0 * 129 * 128 * 256 * 64 / 500e12 * (1 + 0.8 * (256.0 / 129 - 1)), "waves");
    kernels.gemm_quantisation = 0;
    near(sand_cost_gemm_s(&cost, SAND_BF16, 129 * 128, 256, 64),
         2.0 * 129 * 128 * 256 * 64 / 500e12, "share 0: no loss");
}

Test(cost, gemm_misalignment_looks_at_n_and_k_but_not_m)
{
    gpu.hbm_Bps = INFINITY;
    kernels.gemm_quantisation = 0;
    const double aligned = 2.0 * 1000 * 1024 * 1024 / 500e12;
    near(sand_cost_gemm_s(&cost, SAND_BF16, 1000, 1024, 1024), aligned, "m is free");
    near(sand_cost_gemm_s(&cost, SAND_BF16, 1000, 1056, 1024), aligned / 1024 * 1056 * 1.5, "n");
    near(sand_cost_gemm_s(&cost, SAND_BF16, 1000, 1024, 1056), aligned / 1024 * 1056 * 1.5, "k");
}

Test(cost, gemm_never_beats_the_sustained_rate_nor_memory)
{
    for (double m = 1; m <= 70000; m = m * 3 + 1)
        for (double n = 64; n <= 70000; n *= 5)
            for (double k = 64; k <= 70000; k *= 5) {
                const double s = sand_cost_gemm_s(&cost, SAND_BF16, m, n, k);
                cr_assert_geq(s, 2 * m * n * k / 500e12 * (1 - 1e-12));
                cr_assert_geq(s, 2 * (m * k + k * n + m * n) / 2e12 * (1 - 1e-12));
            }
}

Test(cost, additive_form_meets_a_measured_fp8_gemm)
{
    // DeepGEMM's README (2025-02-25): fp8 4096 x 32768 x 512 at 590 TFLOPS on H800, whose compute
    // and memory are the H100's: 233 us. The larger of compute and traffic alone would be about 100
    // us.
    gpu = (struct sand_gpu_type){.hbm_Bps = 3.35e12,
                                 .hbm_usable = 0.9,
                                 .gemm_fp8_flops = 1500e12,
                                 .gemm_tile_m = 128,
                                 .gemm_tile_n = 256,
                                 .n_sm = 132};
    kernels.gemm_overhead_s = 7e-6;
    kernels.gemm_quantisation = 0.87;
    const double s = sand_cost_gemm_s(&cost, SAND_FP8, 4096, 32768, 512);
    cr_assert_float_eq(s, 233e-6, 0.2 * 233e-6, "got %g", s);
}

Test(cost, fused_attention_is_causal_and_saturates_with_sequence)
{
    // No GEMM time, no traffic: attention alone.
    gpu.gemm_bf16_flops = INFINITY;
    gpu.hbm_Bps = INFINITY;
    struct sand_layer_times times;
    sand_cost_layer(&cost, &model, &split, 0, &times);
    const double rate = 400e12 * 8192 / (8192 + 512.0);
    const double forward = 0.5 * 4 * 8192.0 * 8192 * 32 * 128 / rate;
    near(times.forward_s, forward, "forward");
    near(times.backward_s, 2.5 * forward, "backward");
    split.tp = 4;
    sand_cost_layer(&cost, &model, &split, 0, &times);
    near(times.forward_s, forward / 4, "tensor parallel");
    split.tp = 1;
    model.n_heads = 64;
    model.head_dim = 64;
    sand_cost_layer(&cost, &model, &split, 0, &times);
    near(times.forward_s, forward / 0.87, "head size 64");
}

Test(cost, unfused_attention_computes_the_square_and_streams_scores)
{
    gpu.gemm_bf16_flops = 500e12;
    gpu.hbm_Bps = INFINITY;
    kernels.gemm_quantisation = 0;
    struct sand_layer_times none, scores;
    split.attention = SAND_ATTENTION_UNFUSED;
    sand_cost_layer(&cost, &model, &split, 0, &none);
    const double gemms = 2.0 * 8192 * 4096 * (6144.0 + 4096 + 3 * 14336) / 500e12;
    const double square = 4 * 8192.0 * 8192 * 4096 / 250e12;
    near(none.forward_s, gemms + square, "forward");
    near(none.backward_s, 2 * (gemms + square), "backward");
    // 30 bytes per score at 1 B/s, told apart by the difference.
    gpu.hbm_Bps = 2.0;
    kernels.unfused_score_B = 0;
    sand_cost_layer(&cost, &model, &split, 0, &none);
    kernels.unfused_score_B = 30;
    sand_cost_layer(&cost, &model, &split, 0, &scores);
    const double bytes = 30.0 * 8192 * 8192 * 32;
    cr_assert_float_eq((scores.forward_s - none.forward_s) / (bytes / 3), 1.0, 1e-6);
    cr_assert_float_eq((scores.backward_s - none.backward_s) / (bytes * 2 / 3), 1.0, 1e-6);
}

// The part of a layer that a constant causes, forward plus backward, at 1 B/s.
static double caused_by(double *constant, double value)
{
    struct sand_layer_times without, with;
    gpu.gemm_bf16_flops = gpu.gemm_fp8_flops = gpu.attention_flops = INFINITY;
    gpu.hbm_Bps = 2.0;
    *constant = 0;
    sand_cost_layer(&cost, &model, &split, 0, &without);
    *constant = value;
    sand_cost_layer(&cost, &model, &split, 0, &with);
    *constant = 0;
    const double forward = with.forward_s - without.forward_s;
    const double both = forward + with.backward_s - without.backward_s;
    cr_assert_float_eq(forward / both, 1.0 / 3.0, 1e-6, "one third of it is forward");
    return both;
}

Test(cost, memory_bound_operators_have_their_bytes)
{
    split.tp = 8;
    const double t = 8192;
    cr_assert_float_eq(caused_by(&kernels.norm_B, 56) / (t * 56 * 4096), 1.0, 1e-6, "undivided");
    split.sequence_parallel = 1;
    cr_assert_float_eq(caused_by(&kernels.norm_B, 56) / (t * 56 * 4096 / 8), 1.0, 1e-6, "split");
    cr_assert_float_eq(caused_by(&kernels.activation_B, 6) / (t * 6 * 2 * 14336 / 8), 1.0, 1e-6);
    cr_assert_float_eq(caused_by(&kernels.qkv_B, 20) / (t * 20 * (32 + 16) * 128 / 8), 1.0, 1e-6);
    model.gated_ffn = 0;
    cr_assert_float_eq(caused_by(&kernels.activation_B, 6) / (t * 6 * 14336 / 8), 1.0, 1e-6);
    split.precision = SAND_FP8;
    // What sequence parallelism gathers is cast where it lies, 3 of the 5 bytes, and transposed
    // where it arrives.
    const double gathered = (3 / 8.0 + 2) / 5;
    cr_assert_float_eq(caused_by(&kernels.cast_fp8_B, 10) /
                           (t * 10 * (2 * 4096 * gathered + 4096 / 8.0 + 14336 / 8.0)),
                       1.0, 1e-6);
    split.sequence_parallel = 0;
    cr_assert_float_eq(caused_by(&kernels.cast_fp8_B, 10) /
                           (t * 10 * (2 * 4096 + 4096 / 8.0 + 14336 / 8.0)),
                       1.0, 1e-6);
}

Test(cost, bf16_pays_no_casts)
{
    struct sand_layer_times before, after;
    sand_cost_layer(&cost, &model, &split, 0, &before);
    kernels.cast_fp8_B = 1e9;
    sand_cost_layer(&cost, &model, &split, 0, &after);
    cr_assert_eq(before.forward_s, after.forward_s);
}

Test(cost, layer_overhead_is_one_third_forward)
{
    struct sand_layer_times before, after;
    sand_cost_layer(&cost, &model, &split, 0, &before);
    software.layer_overhead_s = 3.0;
    sand_cost_layer(&cost, &model, &split, 0, &after);
    cr_assert_float_eq(after.forward_s - before.forward_s, 1.0, 1e-9);
    cr_assert_float_eq(after.backward_s - before.backward_s, 2.0, 1e-9);
}

// The output of the last product is nobody's input backwards.
Test(cost, a_recomputation_that_stops_lacks_the_last_product)
{
    struct sand_layer_times whole, stopped;
    split.recompute = SAND_RECOMPUTE_FULL;
    sand_cost_layer(&cost, &model, &split, 0, &whole);
    software.recompute_stops = 1;
    sand_cost_layer(&cost, &model, &split, 0, &stopped);
    const double last_s = sand_cost_gemm_s(&cost, SAND_BF16, 8192, 4096, 14336);
    cr_assert_gt(last_s, 0);
    cr_assert_float_eq(whole.recompute_s - stopped.recompute_s, last_s, 1e-12);
    near(stopped.forward_s, whole.forward_s, "forward");
    near(stopped.backward_s, whole.backward_s, "backward");
}

Test(cost, recompute_full_is_a_forward_selective_is_the_cheap_part)
{
    kernels.norm_B = 56;
    kernels.activation_B = 6;
    kernels.qkv_B = 20;
    struct sand_layer_times none, selective, full;
    sand_cost_layer(&cost, &model, &split, 0, &none);
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    sand_cost_layer(&cost, &model, &split, 0, &selective);
    split.recompute = SAND_RECOMPUTE_FULL;
    sand_cost_layer(&cost, &model, &split, 0, &full);
    cr_assert_eq(none.recompute_s, 0.0);
    cr_assert_eq(full.recompute_s, full.forward_s);
    near(selective.recompute_s, 8192.0 * (56 * 4096 + 6 * 2 * 14336) / 2e12 / 3, "selective");
    cr_assert_eq(none.forward_s, full.forward_s, "the forward does not change");
    cr_assert_eq(none.backward_s, selective.backward_s, "nor the backward");
    // The unfused core is dropped too (Korthikanti et al. 2022) and adds its forward.
    struct sand_layer_times core;
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    split.attention = SAND_ATTENTION_UNFUSED;
    sand_cost_layer(&cost, &model, &split, 0, &core);
    near(core.recompute_s - selective.recompute_s, 4 * 8192.0 * 8192 * 4096 / 250e12, "core");
}

Test(cost, head_is_three_gemms_and_logit_traffic_in_16_bit)
{
    kernels.logit_B = 17;
    struct sand_layer_times times, fp8;
    sand_cost_head(&cost, &model, &split, &times);
    const double gemm = sand_cost_gemm_s(&cost, SAND_BF16, 8192, 128256, 4096);
    const double logits = 17 * 8192.0 * 128256 / 2e12;
    near(times.forward_s, gemm + logits / 3, "forward");
    // Backwards the product that makes 16-bit gradients of the inputs writes 8192 x 4096 of them
    // and reads the logits', the one for the weights writes 32-bit ones of 4096 x 128256.
    const double out = 8192.0 * 128256, in = 8192.0 * 4096, weights = 4096.0 * 128256;
    near(times.backward_s, 2 * gemm + 2 * logits / 3 + (4 - 2) * weights / 2e12, "backward");
    near(times.weights_s, gemm + (2 * (in + out) + 4 * weights - 2 * (in + weights + out)) / 2e12,
         "gradients of the weights");
    cr_assert_eq(times.recompute_s, 0.0);
    split.precision = SAND_FP8;
    sand_cost_head(&cost, &model, &split, &fp8);
    cr_assert_eq(fp8.forward_s, times.forward_s, "fp8 recipes keep the output layer in 16 bit");
}

// Bytes that the gradient of a weight moves beyond what it moves under another split, read off the
// backward at 1 B/s.
static double gradient_B(void)
{
    struct sand_layer_times times;
    gpu.hbm_Bps = 2.0;
    sand_cost_layer(&cost, &model, &split, 0, &times);
    const double weights = 4096.0 * ((32 + 16) * 128 + 4096 + 3 * 14336.0);
    return times.weights_s / weights;
}

Test(cost, accumulated_gradients_are_read_and_written)
{
    gpu.gemm_bf16_flops = INFINITY;
    const double once = gradient_B(); // one micro-batch: written
    split.global_batch = 2;
    cr_assert_float_eq(gradient_B() - once, 4.0, 1e-6, "two: read as well");
    software.fused_gradients = 0;
    cr_assert_float_eq(gradient_B() - once, 8.0, 1e-6, "apart: written and read in 16 bit before");
    software.fused_gradients = 1;
    split.grad_B = 2;
    cr_assert_float_eq(gradient_B() - once, 0.0, 1e-6, "half as wide");
    split.dp = 2;
    cr_assert_float_eq(gradient_B() - once, -2.0, 1e-6, "one micro-batch on each of two");
    split.grad_B = 4;
    split.global_batch = 8;
    split.sharding = SAND_SHARD_PARAMETERS;
    cr_assert_float_eq(gradient_B() - once, -2.0, 1e-6, "shared out at once: 16 bit");
    split.shard_group = 1;
    cr_assert_float_eq(gradient_B() - once, 4.0, 1e-6, "nobody to share them out to");
}

Test(cost, micro_batch_scales_the_work)
{
    // Twice the tokens: at most twice the time (overheads are shared), and more than once.
    struct sand_layer_times one, two;
    kernels.gemm_overhead_s = 7e-6;
    software.layer_overhead_s = 1e-4;
    split.sequence = 4096;
    sand_cost_layer(&cost, &model, &split, 0, &one);
    split.micro_batch = 2;
    sand_cost_layer(&cost, &model, &split, 0, &two);
    cr_assert_leq(two.forward_s, 2 * one.forward_s);
    cr_assert_gt(two.forward_s, one.forward_s);
}

Test(cost, optimizer_is_traffic_and_peaks_follow_precision)
{
    kernels.optimizer_B = 24;
    near(sand_cost_optimizer_s(&cost, 1e9), 24e9 / 2e12, "optimizer");
    cr_assert_eq(sand_cost_peak_flops(&gpu, SAND_BF16), 1000e12);
    cr_assert_eq(sand_cost_peak_flops(&gpu, SAND_FP16), 1001e12);
    cr_assert_eq(sand_cost_peak_flops(&gpu, SAND_FP8), 2000e12);
}
