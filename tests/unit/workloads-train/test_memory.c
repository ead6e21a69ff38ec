// Memory against the equations of Korthikanti et al. 2022, by hand, and the published 405B split.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "train.h"
#include "train_cases.h"

static const struct sand_gpu_type h100 = {.id = "h100-sxm-80g", .hbm_B = 80e9};
static const struct sand_kernel_costs kernels = {.buffers_B = 4e9};

static void near(double got, double want, const char *what)
{
    cr_assert_float_eq(got / want, 1.0, 1e-12, "%s: got %.15g, want %.15g", what, got, want);
}

Test(memory, activations_are_korthikantis)
{
    // Eq. 1, 2, 4 and 6: s b h (34 + 5 a s / h), minus the two dropout masks of s b h each that
    // follow the projection and the FFN; ours has none: 32 instead of 34.
    const struct sand_transformer model = gpt3();
    struct sand_split split = plain(1, 8, 1, 64);
    split.sequence = 2048;
    split.attention = SAND_ATTENTION_UNFUSED;
    const double sbh = 2048.0 * 12288, scores = 5.0 * 96 * 2048 / 12288;
    near(sand_activation_layer_B(&model, &split, 0), sbh * (32 + scores), "eq. 1");
    split.tp = 8;
    near(sand_activation_layer_B(&model, &split, 0), sbh * (8 + 24 / 8.0 + scores / 8), "eq. 2");
    split.sequence_parallel = 1;
    near(sand_activation_layer_B(&model, &split, 0), sbh / 8 * (32 + scores), "eq. 4");
    split.recompute = SAND_RECOMPUTE_FULL;
    near(sand_activation_layer_B(&model, &split, 0), sbh * 2 / 8, "full: the layer input");
}

Test(memory, selective_drops_norm_outputs_scores_and_the_product)
{
    const struct sand_transformer model = gpt3();
    struct sand_split split = plain(8, 8, 1, 64);
    split.sequence_parallel = 1;
    split.attention = SAND_ATTENTION_UNFUSED;
    const double all = sand_activation_layer_B(&model, &split, 0);
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    const double dropped = (4.0 * 12288 + 5.0 * 96 * 8192 + 2.0 * 49152) * 8192 / 8;
    near(all - sand_activation_layer_B(&model, &split, 0), dropped, "dropped");
}

Test(memory, gated_grouped_layer_by_hand)
{
    // Llama 3 405B, tp 8, sequence parallel, fused: bytes per token and GPU.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = llama3_split();
    split.recompute = SAND_RECOMPUTE_NONE;
    const double per_token = 2 * 2 * 16384   // norm inputs
                             + 2 * 2 * 16384 // norm outputs
                             + 2 * 16384     // q
                             + 2 * 2 * 1024  // k and v
                             + 2 * 16384     // attention output
                             + 4 * 128       // log-sum-exp
                             + 2 * 2 * 53248 // gate and up
                             + 2 * 53248;    // product
    near(sand_activation_layer_B(&model, &split, 0), 8192 * per_token / 8, "layer");
}

Test(memory, llama3_405b_fits_with_selective_recomputation)
{
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = llama3_split();
    struct sand_memory memory;
    cr_assert_eq(sand_memory_check(&model, &split, &h100, &kernels, &memory, NULL), SAND_OK);
    cr_assert(memory.total_B > 50e9 && memory.total_B < 80e9, "%g", memory.total_B);
    cr_assert_eq(memory.total_B, memory.weights_B + memory.gradients_B + memory.optimizer_B +
                                     memory.activations_B + memory.buffers_B);
    // 8 layers and 1/8 of each: 3.19e9 parameters, 2 and 4 bytes, 12 / 128 of optimizer state.
    near(memory.gradients_B, 2 * memory.weights_B, "fp32 gradients");
    near(memory.optimizer_B, 6 * memory.weights_B / 128, "sharded optimizer");
    cr_assert_float_eq(memory.weights_B, 2 * 3.19e9, 0.3e9);
    split.recompute = SAND_RECOMPUTE_NONE;
    struct sand_memory none;
    sand_memory_estimate(&model, &split, &h100, &kernels, &none);
    split.recompute = SAND_RECOMPUTE_FULL;
    struct sand_memory full;
    sand_memory_estimate(&model, &split, &h100, &kernels, &full);
    cr_assert(full.total_B < memory.total_B && memory.total_B < none.total_B);
    fprintf(stderr, "405B per GPU: none %.1f GB, selective %.1f GB, full %.1f GB\n",
            none.total_B / 1e9, memory.total_B / 1e9, full.total_B / 1e9);
}

Test(memory, the_check_names_the_parts_and_a_way_out)
{
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = llama3_split();
    split.recompute = SAND_RECOMPUTE_NONE;
    struct sand_memory memory;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_memory_check(&model, &split, &h100, &kernels, &memory, &diag),
                 SAND_ERR_INPUT);
    cr_assert_eq(diag.n_errors, 1u);
    static const char *const parts[] = {"h100-sxm-80g", "80 GB",       "weights", "gradients",
                                        "optimizer",    "activations", "logits",  "selective"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_assert(strstr(diag.messages[0].text, parts[i]), "\"%s\" is not in: %s", parts[i],
                  diag.messages[0].text);
    sand_diag_clear(&diag);
}

Test(memory, the_way_out_follows_the_largest_part)
{
    // 405B on one node: the state alone does not fit, no recomputation helps.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = plain(8, 1, 2, 2);
    struct sand_memory memory;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_memory_check(&model, &split, &h100, &kernels, &memory, &diag),
                 SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "distributed_optimizer=\"yes\""));
    sand_diag_clear(&diag);
}

Test(memory, the_fullest_stage_is_the_first_or_the_last)
{
    const struct sand_transformer model = gpt3();
    struct sand_split split = plain(8, 8, 1, 64);
    struct sand_memory memory;
    sand_memory_estimate(&model, &split, &h100, &kernels, &memory);
    cr_assert_eq(memory.stage, 0u, "most micro-batches in flight and the embedding");
    // With one micro-batch all stages hold the same activations; the last has logits too.
    split = plain(8, 8, 1, 1);
    sand_memory_estimate(&model, &split, &h100, &kernels, &memory);
    cr_assert_eq(memory.stage, 7u);
    cr_assert_float_eq(memory.buffers_B, 4e9 + 8192 * (4 * 12288 + 6 * 51200 / 8.0), 1.0);
}

// Splits in common are as each alone, with virtual stages and kinds of layers that differ by stage.
Test(memory, many_at_once_are_as_one_by_one)
{
    struct sand_transformer model = llama(30, 4096, 32, 14336);
    model.experts = (struct sand_experts){
        .n = 8, .per_token = 2, .ffn_hidden = 2048, .shared = 1, .dense_layers = 3};
    struct sand_split splits[SAND_MEMORY_ALIKE];
    struct sand_memory together[SAND_MEMORY_ALIKE], alone;
    for (size_t i = 0; i < SAND_MEMORY_ALIKE; i++) {
        splits[i] = plain(2, 4, 2, 64);
        splits[i].dp = 16;
        splits[i].virtual_stages = 2;
        splits[i].ep = 4;
        splits[i].imbalance = 1;
        splits[i].recompute = (enum sand_recompute)(i % 3);
        splits[i].sequence_parallel = i / 3 % 2 != 0;
        splits[i].distributed_optimizer = i / 6 % 2 != 0;
        splits[i].sharding = (enum sand_sharding)(i / 12 % 3);
        splits[i].shard_group = i >= 36 ? 8 : 0;
    }
    sand_memory_estimates(&model, splits, SAND_MEMORY_ALIKE, &h100, &kernels, together);
    double least_B = together[0].total_B, most_B = least_B;
    for (size_t i = 0; i < SAND_MEMORY_ALIKE; i++) {
        sand_memory_estimate(&model, &splits[i], &h100, &kernels, &alone);
        cr_expect_eq(alone.total_B, together[i].total_B);
        cr_expect_eq(alone.activations_B, together[i].activations_B);
        cr_expect_eq(alone.buffers_B, together[i].buffers_B);
        cr_expect_eq(alone.experts_B, together[i].experts_B);
        cr_expect_eq(alone.stage, together[i].stage);
        least_B = fmin(least_B, alone.total_B);
        most_B = fmax(most_B, alone.total_B);
    }
    cr_expect_gt(most_B, 1.5 * least_B);
}
