// Mixtures of experts, latent attention, windows: counts by hand, per GPU, and the checks of a
// split. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <string.h>

#include "train.h"
#include "train_cases.h"

// DeepSeek-V3 technical report, section 4.2.
static struct sand_transformer deepseek(void)
{
    return (struct sand_transformer){
        .id = "deepseek",
        .n_layers = 61,
        .hidden = 7168,
        .n_heads = 128,
        .n_kv_heads = 128,
        .head_dim = 128,
        .ffn_hidden = 18432,
        .vocab = 129280,
        .gated_ffn = 1,
        .latent = {.kv_rank = 512, .q_rank = 1536, .rope_dim = 64, .value_dim = 128},
        .experts = {.n = 256, .per_token = 8, .shared = 1, .ffn_hidden = 2048, .dense_layers = 3},
    };
}

static struct sand_split experts_split(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep)
{
    struct sand_split split = plain(tp, pp, dp, 16 * dp);
    split.ep = ep;
    split.imbalance = 1;
    split.sequence_parallel = 1;
    return split;
}

Test(experts, deepseek_v3_by_hand)
{
    const struct sand_transformer model = deepseek();
    // Queries down and up, keys and values down (with the shared rotary key) and up, output, norms.
    const double attention = 7168.0 * 1536 + 1536.0 * 128 * (128 + 64) + 7168.0 * (512 + 64) +
                             512.0 * 128 * (128 + 128) + 128.0 * 128 * 7168;
    const double norms = 2.0 * 7168 + 1536 + 512;
    const double expert = 3.0 * 7168 * 2048;
    const double dense = attention + norms + 3.0 * 7168 * 18432;
    const double routed = attention + norms + 257 * expert + 7168.0 * 256;
    cr_assert_eq(sand_model_layer_params(&model, 0), dense);
    cr_assert_eq(sand_model_layer_params(&model, SAND_LAYER_EXPERTS), routed);
    cr_assert_eq(sand_model_params(&model), 3 * dense + 58 * routed + 2 * 129280.0 * 7168 + 7168);
    // A token passes through nine of 257 experts and the output layer.
    const double active = 3 * dense + 58 * (routed - 248 * expert) + 129280.0 * 7168 + 7168;
    cr_assert_eq(sand_model_active_params(&model), active);
}

Test(experts, flops_per_token_are_six_times_the_active_matrices)
{
    struct sand_transformer model = deepseek();
    struct sand_split split = experts_split(1, 1, 1, 1);
    const double norms = 61 * (2.0 * 7168 + 1536 + 512) + 7168;
    const double matrices = sand_model_active_params(&model) - norms;
    // Causal attention: half of 2 s (192 + 128) per head and layer, forward; three times that.
    const double attention = 3.0 * 61 * 128 * (192 + 128) * 8192;
    const double tokens = 8192.0 * split.global_batch;
    cr_assert_float_eq(sand_model_flops(&model, &split) / tokens / (6 * matrices + attention), 1,
                       1e-12);
    // Neither the number of experts nor ep is paid per token.
    const double before = sand_model_flops(&model, &split);
    model.experts.n = 512;
    const double routers = 6.0 * 58 * 7168 * 256 * tokens;
    cr_assert_float_eq(sand_model_flops(&model, &split) / (before + routers), 1, 1e-12);
}

Test(experts, one_expert_that_everybody_takes_is_an_ffn)
{
    struct sand_transformer one = llama(32, 4096, 32, 14336), ffn = one;
    one.experts = (struct sand_experts){.n = 1, .per_token = 1, .ffn_hidden = 14336};
    const struct sand_split split = experts_split(1, 4, 8, 1);
    const double routers = 32 * 4096.0;
    cr_assert_eq(sand_model_params(&one), sand_model_params(&ffn) + routers);
    cr_assert_float_eq(sand_model_flops(&one, &split),
                       sand_model_flops(&ffn, &split) + 6 * routers * 8192 * split.global_batch,
                       1e6);
}

Test(experts, a_stage_holds_every_expert_once_per_group)
{
    const struct sand_transformer model = deepseek();
    struct sand_split split = experts_split(2, 4, 16, 32);
    split.expert_tp = 1;
    double experts = 0, rest = 0;
    for (uint32_t stage = 0; stage < 4; stage++) {
        const struct sand_params params = sand_split_stage_params(&model, &split, stage);
        experts += 32 * params.expert;
        rest += params.dense;
        cr_assert_eq(params.dense + params.expert, sand_split_gpu_params(&model, &split, stage));
    }
    cr_assert_eq(sand_split_expert_copies(&split), 1u);
    cr_assert_float_eq(experts, 58 * 256 * 3.0 * 7168 * 2048, 1);
    // What is not an expert is cut by tp but for norms, ways down and routers.
    const double whole =
        61 * (2.0 * 7168 + 1536 + 512 + 7168.0 * (1536 + 512 + 64)) + 7168 + 58 * 7168.0 * 256;
    const double all = sand_model_params(&model) - experts;
    cr_assert_float_eq(rest, (all - whole) / 2 + whole, 1);
    // Half as many ranks, twice the experts on each, two copies.
    const double before = sand_split_stage_params(&model, &split, 1).expert;
    split.ep = 16;
    cr_assert_eq(sand_split_stage_params(&model, &split, 1).expert, 2 * before);
    cr_assert_eq(sand_split_expert_copies(&split), 2u);
}

Test(experts, layers_of_a_kind_are_where_the_model_has_them)
{
    struct sand_transformer model = deepseek();
    struct sand_split split = experts_split(1, 4, 1, 1);
    split.virtual_stages = 2;
    uint32_t n[SAND_LAYER_KINDS] = {0};
    for (uint32_t stage = 0; stage < 4; stage++)
        for (uint32_t chunk = 0; chunk < 2; chunk++) {
            const struct sand_layer_census census = sand_split_census(&model, &split, stage, chunk);
            cr_assert_eq(census.n[0], stage == 0 && chunk == 0 ? 3u : 0u);
            for (int kind = 0; kind < SAND_LAYER_KINDS; kind++)
                n[kind] += census.n[kind];
        }
    cr_assert_eq(n[0], 3u);
    cr_assert_eq(n[SAND_LAYER_EXPERTS], 58u);
    // Llama 4: experts in every second layer. GPT-OSS: a window in every second.
    model.experts.dense_layers = 0;
    model.experts.every = 2;
    model.window = (struct sand_attention_window){128, 2};
    const struct sand_layer_census census = sand_model_census(&model, 0, 61);
    cr_assert_eq(census.n[SAND_LAYER_EXPERTS], 30u);
    cr_assert_eq(census.n[SAND_LAYER_WINDOW], 31u);
    cr_assert_eq(census.n[0] + census.n[SAND_LAYER_EXPERTS | SAND_LAYER_WINDOW], 0u);
}

Test(experts, a_window_sees_the_mean_of_its_keys)
{
    struct sand_transformer model = llama(2, 4096, 32, 14336);
    model.window = (struct sand_attention_window){128, 1};
    double seen = 0; // by hand: token i sees the i + 1/2 before it, at most 128
    for (int i = 0; i < 4096; i++)
        seen += i < 128 ? i + 0.5 : 128;
    cr_assert_float_eq(sand_attention_keys(&model, 4096, SAND_LAYER_WINDOW), seen / 4096, 1e-9);
    cr_assert_eq(sand_attention_keys(&model, 4096, 0), 2048.0);
    // A window as long as the sequence is none.
    cr_assert_eq(sand_attention_keys(&model, 128, SAND_LAYER_WINDOW), 64.0);
    cr_assert_eq(sand_attention_keys(&model, 100, SAND_LAYER_WINDOW), 50.0);
}

Test(experts, uneven_stages_are_as_written)
{
    // DeepSeek-V3 on 16 stages; Megatron's num_layers_in_first and last_pipeline_stage.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = plain(8, 16, 1, 16);
    split.first_layers = 4;
    split.last_layers = 10;
    uint32_t sum = 0;
    for (uint32_t stage = 0; stage < 16; stage++)
        sum += sand_split_stage_layers(&model, &split, stage);
    cr_assert_eq(sum, 126u);
    cr_assert_eq(sand_split_stage_layers(&model, &split, 0), 4u);
    cr_assert_eq(sand_split_stage_layers(&model, &split, 15), 10u);
    cr_assert_eq(sand_split_stage_layers(&model, &split, 7), 8u);
    cr_assert_eq(sand_split_check(&model, &split, 0, NULL), SAND_OK);
    split.virtual_stages = 2;
    split.global_batch = 32;
    sum = 0;
    for (uint32_t stage = 0; stage < 16; stage++)
        sum += sand_split_stage_layers(&model, &split, stage);
    cr_assert_eq(sum, 126u);
    split.first_layers = 5; // no multiple of virtual_stages
    cr_assert_eq(sand_split_check(&model, &split, 0, NULL), SAND_ERR_INPUT);
    split.first_layers = 100; // leaves chunks without a layer
    cr_assert_eq(sand_split_check(&model, &split, 0, NULL), SAND_ERR_INPUT);
}

static void refused(const struct sand_transformer *model, const struct sand_split *split,
                    const char *about)
{
    struct sand_diag diag = {0};
    cr_assert_eq(sand_split_check(model, split, 0, &diag), SAND_ERR_INPUT, "%s", about);
    int named = 0;
    for (size_t i = 0; i < diag.n_messages; i++)
        named |= strstr(diag.messages[i].text, about) != NULL;
    cr_assert(named, "%s: %s", about, diag.messages[0].text);
    sand_diag_clear(&diag);
}

// A census takes up where the chunks before it end: all of them together are that of the model.
Test(experts, censuses_of_chunks_follow_each_other)
{
    const struct sand_transformer model = deepseek();
    for (uint32_t pp = 3; pp <= 16; pp++)
        for (uint32_t v = 1; v <= 3; v++)
            for (uint32_t given = 0; given < 4; given++) {
                struct sand_split split = experts_split(1, pp, 1, 1);
                split.virtual_stages = v;
                split.first_layers = given & 1 ? v * 2 : 0;
                split.last_layers = given & 2 ? v : 0;
                uint32_t first = 0;
                for (uint32_t i = 0; i < pp * v; i++) {
                    const uint32_t n = sand_split_layers(&model, &split, i % pp, i / pp);
                    const struct sand_layer_census want = sand_model_census(&model, first, n),
                                                   got = sand_split_census(&model, &split, i % pp,
                                                                           i / pp);
                    cr_assert_eq(memcmp(&want, &got, sizeof got), 0, "pp %u x %u, chunk %u", pp, v,
                                 i);
                    first += n;
                }
                cr_assert_eq(first, model.n_layers);
            }
}

// Selective recomputation keeps the latents and not what is computed from them; fp8 recipes keep
// what products read in one byte. By hand, per token.
Test(experts, selective_keeps_latents)
{
    const struct sand_transformer model = deepseek();
    struct sand_split split = experts_split(1, 1, 1, 1);
    const double tokens = (double)split.micro_batch * split.sequence;
    const double latent = 2 * (1536 + 512 + 64), up = 2 * 128 * (2 * (128 + 64) + 128);
    const double out = 2 * 128 * 128 + 4 * 128, residual = 2 * 2 * 7168;
    const double norms = 2 * 2 * 7168, act = 2 * 9 * 2048, routed = 2 * 8 * 7168;
    const double all = residual + norms + latent + up + out + 3 * act + routed;
    cr_assert_float_eq(sand_activation_layer_B(&model, &split, SAND_LAYER_EXPERTS) / tokens, all,
                       1e-6);
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    cr_assert_float_eq(sand_activation_layer_B(&model, &split, SAND_LAYER_EXPERTS) / tokens,
                       all - norms - act - up, 1e-6);
    split.precision = SAND_FP8;
    cr_assert_float_eq(sand_activation_layer_B(&model, &split, SAND_LAYER_EXPERTS) / tokens,
                       all - norms - act - up - routed / 2, 1e-6);
    // Two ways up a layer, once more.
    const double ways = 2.0 * 61 * (1536.0 * 128 * (128 + 64) + 512.0 * 128 * (128 + 128));
    cr_assert_float_eq(sand_recompute_flops(&model, &split) /
                           (split.global_batch * (double)split.sequence * ways),
                       1, 1e-12);
}

// Experts over several ranks keep them together, as Megatron-Core does.
Test(experts, the_rank_order_follows_the_experts)
{
    struct sand_split split = experts_split(2, 4, 16, 32);
    split.order = SAND_RANKS_AUTO;
    cr_assert_eq(sand_split_order(&split), SAND_RANKS_TP_CP_DP_PP);
    split.ep = 1;
    cr_assert_eq(sand_split_order(&split), SAND_RANKS_TP_CP_PP_DP);
    split.order = SAND_RANKS_TP_CP_DP_PP;
    cr_assert_eq(sand_split_order(&split), SAND_RANKS_TP_CP_DP_PP);
    split.ep = 8;
    split.order = SAND_RANKS_TP_CP_PP_DP;
    cr_assert_eq(sand_split_order(&split), SAND_RANKS_TP_CP_PP_DP);
}

Test(experts, impossible_splits_are_refused)
{
    const struct sand_transformer model = deepseek(), dense = llama(32, 4096, 32, 14336);
    struct sand_split split = experts_split(2, 4, 16, 32);
    split.expert_tp = 1;
    cr_assert_eq(sand_split_check(&model, &split, 128, NULL), SAND_OK);
    refused(&dense, &split, "has no experts");
    split.ep = 24;
    refused(&model, &split, "does not divide the model's 256 experts");
    split.ep = 64;
    refused(&model, &split, "does not divide the 32 GPUs of a stage");
    split.ep = 1;
    refused(&model, &split, "no multiple of tp 2");
    split.ep = 32;
    split.sequence_parallel = 0;
    refused(&model, &split, "need sequence_parallel");
    split.sequence_parallel = 1;
    split.imbalance = 0.5;
    refused(&model, &split, "imbalance is 0.5");
    split.imbalance = 1;
    struct sand_transformer grouped = model;
    grouped.experts.groups = 8;
    refused(&grouped, &split, "groups_per_token is 0 of 8 groups");
    grouped.experts.groups_per_token = 9;
    refused(&grouped, &split, "groups_per_token is 9 of 8 groups");
    grouped.experts.groups = 128; // of two experts each: eight need four groups
    grouped.experts.groups_per_token = 3;
    refused(&grouped, &split, "groups_per_token is 3 of 128 groups, 2 experts each, for 8");
    grouped.experts.groups_per_token = 4;
    cr_assert_eq(sand_split_check(&grouped, &split, 128, NULL), SAND_OK);
    grouped.experts.groups = 7;
    refused(&grouped, &split, "7 groups do not divide 256 experts");
    split.schedule = SAND_SCHEDULE_ZERO_BUBBLE;
    split.virtual_stages = 2;
    refused(&model, &split, "only 1f1b is interleaved");
    split.virtual_stages = 1;
    split.sharding = SAND_SHARD_PARAMETERS;
    refused(&model, &split, "zero-bubble");
    split.schedule = SAND_SCHEDULE_1F1B;
    split.shard_group = 5;
    refused(&model, &split, "shard_group 5 does not divide");
}

Test(experts, memory_knows_them)
{
    const struct sand_transformer model = deepseek();
    const struct sand_gpu_type gpu = {.id = "gpu", .hbm_B = 180e9};
    const struct sand_kernel_costs kernels = {0};
    struct sand_split split = experts_split(1, 16, 16, 8);
    split.sequence = 4096;
    split.distributed_optimizer = 1;
    struct sand_memory with, without;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &with);
    const struct sand_params params = sand_split_stage_params(&model, &split, with.stage);
    // 2 bytes of weights and 4 of gradients; 12 of optimizer state over the two copies of an
    // expert, and over the sixteen of all else.
    cr_assert_float_eq(with.experts_B, params.expert * (2 + 4 + 12 / 2.0), 1);
    cr_assert_float_eq(with.weights_B + with.gradients_B + with.optimizer_B - with.experts_B,
                       params.dense * (2 + 4 + 12 / 16.0), 1);
    // More ranks, fewer experts on each: expert memory shrinks, the other state does not.
    split.ep = 16;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &without);
    cr_assert_float_eq(without.experts_B, params.expert / 2 * (2 + 4 + 12), 1);
    cr_assert_lt(without.experts_B, with.experts_B);
    // Tokens pile up on the fullest rank.
    split.imbalance = 2;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &with);
    cr_assert_gt(with.activations_B, without.activations_B);
    cr_assert_gt(with.buffers_B, without.buffers_B);
}

Test(experts, hsdp_shares_out_inside_a_group)
{
    const struct sand_transformer model = llama(32, 4096, 32, 14336);
    const struct sand_gpu_type gpu = {.id = "gpu", .hbm_B = 80e9};
    const struct sand_kernel_costs kernels = {0};
    struct sand_split split = plain(1, 1, 64, 64);
    split.sharding = SAND_SHARD_PARAMETERS;
    struct sand_memory all, group;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &all);
    split.shard_group = 8;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &group);
    cr_assert_float_eq(group.optimizer_B / all.optimizer_B, 8, 1e-9);
    cr_assert_float_eq(group.weights_B / all.weights_B, 8, 1e-9);
    split.shard_group = 64;
    sand_memory_estimate(&model, &split, &gpu, &kernels, &group);
    cr_assert_eq(group.total_B, all.total_B);
    // Groups that are too small are widened, and that is told.
    struct sand_split nearest;
    char text[256];
    split.shard_group = 1;
    cr_assert(sand_memory_nearest(&model, &split, &gpu, &kernels, &nearest));
    sand_split_difference(&split, &nearest, text, sizeof text);
    cr_assert_str_eq(text, "shard_group=\"0\"");
}

Test(experts, the_nearest_split_fits_and_is_told)
{
    const struct sand_transformer model = deepseek();
    const struct sand_gpu_type gpu = {.id = "gpu", .hbm_B = 80e9};
    const struct sand_kernel_costs kernels = {.buffers_B = 4e9};
    struct sand_split split = experts_split(1, 8, 64, 8), nearest;
    split.sequence = 4096;
    split.distributed_optimizer = 1;
    struct sand_memory memory;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_memory_check(&model, &split, &gpu, &kernels, &memory, &diag), SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "of these experts") != NULL);
    cr_assert(strstr(diag.messages[0].text, "nearest split that fits") != NULL, "%s",
              diag.messages[0].text);
    cr_assert(sand_memory_nearest(&model, &split, &gpu, &kernels, &nearest));
    sand_memory_estimate(&model, &nearest, &gpu, &kernels, &memory);
    cr_assert_leq(memory.total_B, memory.capacity_B);
    cr_assert_eq(sand_split_check(&model, &nearest, 512, NULL), SAND_OK, "on as many GPUs");
    char text[256];
    sand_split_difference(&split, &nearest, text, sizeof text);
    cr_assert(strstr(diag.messages[0].text, text) != NULL, "%s", text);
    // What fits is left alone; what fits nowhere is said.
    const struct sand_gpu_type large = {.id = "large", .hbm_B = 1e15},
                               small = {.id = "small", .hbm_B = 1e6};
    cr_assert(sand_memory_nearest(&model, &split, &large, &kernels, &nearest));
    sand_split_difference(&split, &nearest, text, sizeof text);
    cr_assert_str_eq(text, "");
    cr_assert_not(sand_memory_nearest(&model, &split, &small, &kernels, &nearest));
    sand_diag_clear(&diag);
}
