// Parameters, FLOPs, layers per chunk and the checks of a split.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <string.h>

#include "train.h"
#include "train_cases.h"

Test(counts, parameters_are_the_published_ones)
{
    // Llama 3 report: 8B, 70B and 405B; exact totals of the released checkpoints: 8,030,261,248;
    // 70,553,706,496; 405,853,388,800 parameters.
    const struct sand_transformer small = llama(32, 4096, 32, 14336);
    const struct sand_transformer middle = llama(80, 8192, 64, 28672);
    const struct sand_transformer large = llama(126, 16384, 128, 53248);
    cr_assert_eq(sand_model_params(&small), 8030261248.0);
    cr_assert_eq(sand_model_params(&middle), 70553706496.0);
    cr_assert_eq(sand_model_params(&large), 405853388800.0);
    // GPT-3 175B in Megatron's counting, P = 12 l h^2 (1 + 13/(12h) + (V+s)/(12lh)) (Narayanan et
    // al. 2021, eq. 2): ours lacks biases and positions, under 0.1 %.
    const struct sand_transformer gpt = gpt3();
    const double l = 96, h = 12288, v = 51200, s = 2048;
    const double megatron = 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
    cr_assert_float_eq(sand_model_params(&gpt) / megatron, 1.0, 1e-3);
}

Test(counts, tied_output_is_counted_once)
{
    struct sand_transformer model = llama(32, 4096, 32, 14336);
    const double untied = sand_model_params(&model);
    model.tied_embeddings = 1;
    cr_assert_eq(untied - sand_model_params(&model), 128256.0 * 4096);
    cr_assert_eq(sand_model_output_params(&model), 0.0);
}

Test(counts, gpus_of_a_replica_hold_the_model)
{
    // Norm weights are held by every tensor-parallel rank, all else once.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    const struct sand_split split = llama3_split();
    double sum = 0;
    for (uint32_t stage = 0; stage < split.pp; stage++)
        sum += split.tp * sand_split_gpu_params(&model, &split, stage);
    const double norms = (2.0 * 126 + 1) * 16384;
    cr_assert_float_eq(sum, sand_model_params(&model) + (split.tp - 1) * norms, 1.0);
}

Test(counts, tied_output_is_held_once_per_end)
{
    struct sand_transformer model = gpt3();
    struct sand_split split = plain(1, 1, 1, 1);
    cr_assert_eq(sand_split_gpu_params(&model, &split, 0), sand_model_params(&model));
    split.pp = 2;
    const double both =
        sand_split_gpu_params(&model, &split, 0) + sand_split_gpu_params(&model, &split, 1);
    cr_assert_float_eq(both, sand_model_params(&model) + sand_model_embedding_params(&model), 1.0);
}

Test(counts, model_flops_are_megatrons_formula)
{
    // Narayanan et al. 2021, eq. 3, without recomputation: 72 B s l h^2 (1 + s/(6h) + V/(12lh));
    // its attention is the full square, ours the causal half: s/(12h).
    const struct sand_transformer model = gpt3();
    struct sand_split split = plain(8, 8, 1, 64);
    split.sequence = 2048;
    const double b = 64, s = 2048, l = 96, h = 12288, v = 51200;
    const double want = 72 * b * s * l * h * h * (1 + s / (12 * h) + v / (12 * l * h));
    cr_assert_float_eq(sand_model_flops(&model, &split) / want, 1.0, 1e-12);
}

Test(counts, model_flops_per_token_are_those_of_llama3s_budget)
{
    // Llama 3 report, table 4: 16,384 GPUs, global batch 16M tokens, 400 TFLOPS per GPU. 38e24
    // FLOPs for 15.6T tokens (section 3.2) is 2.44e12 per token = 6 x 405B, without attention.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = llama3_split();
    split.sequence = 1; // attention vanishes
    const double per_token = sand_model_flops(&model, &split) / split.global_batch;
    cr_assert_float_eq(per_token / (3.8e25 / 15.6e12), 1.0, 0.02, "%g", per_token);
}

Test(counts, flops_do_not_depend_on_the_split_and_add_up)
{
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    struct sand_split split = llama3_split();
    const double flops = sand_model_flops(&model, &split);
    split.tp = 4;
    split.pp = 32;
    split.recompute = SAND_RECOMPUTE_FULL;
    cr_assert_eq(sand_model_flops(&model, &split), flops);
    // One more forward of the layers: a third of the model FLOPs but for the head.
    const double head = 6.0 * 128256 * 16384 * split.global_batch * split.sequence;
    cr_assert_float_eq(sand_recompute_flops(&model, &split) / ((flops - head) / 3), 1.0, 1e-12);
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    cr_assert_eq(sand_recompute_flops(&model, &split), 0.0, "fused: no GEMM runs again");
    split.attention = SAND_ATTENTION_UNFUSED;
    cr_assert_float_eq(sand_recompute_flops(&model, &split) /
                           (2.0 * 8192 * 16384 * 126 * 2048 * 8192),
                       1.0, 1e-12);
    split.recompute = SAND_RECOMPUTE_NONE;
    cr_assert_eq(sand_recompute_flops(&model, &split), 0.0);
}

Test(layers, llama3_has_an_empty_first_and_last_chunk)
{
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    const struct sand_split split = llama3_split();
    for (uint32_t stage = 0; stage < 16; stage++)
        for (uint32_t chunk = 0; chunk < 8; chunk++) {
            const int end = (stage == 0 && chunk == 0) || (stage == 15 && chunk == 7);
            cr_assert_eq(sand_split_layers(&model, &split, stage, chunk), end ? 0u : 1u);
        }
    // Without interleaving, as the report says: one layer fewer on the first and on the last stage.
    struct sand_split no_virtual = split;
    no_virtual.virtual_stages = 1;
    for (uint32_t stage = 0; stage < 16; stage++)
        cr_assert_eq(sand_split_layers(&model, &no_virtual, stage, 0),
                     stage == 0 || stage == 15 ? 7u : 8u);
}

Test(layers, always_sum_to_the_depth_and_differ_by_one)
{
    struct sand_transformer model = llama(1, 4096, 32, 14336);
    struct sand_split split = plain(1, 1, 1, 1);
    for (model.n_layers = 1; model.n_layers <= 130; model.n_layers++)
        for (split.pp = 1; split.pp <= 16; split.pp++)
            for (split.virtual_stages = 1; split.virtual_stages <= 8; split.virtual_stages += 3) {
                uint32_t sum = 0, least = UINT32_MAX, most = 0;
                for (uint32_t stage = 0; stage < split.pp; stage++) {
                    sum += sand_split_stage_layers(&model, &split, stage);
                    for (uint32_t chunk = 0; chunk < split.virtual_stages; chunk++) {
                        const uint32_t n = sand_split_layers(&model, &split, stage, chunk);
                        least = n < least ? n : least;
                        most = n > most ? n : most;
                    }
                }
                cr_assert_eq(sum, model.n_layers);
                cr_assert_leq(most - least, 1u);
            }
}

static size_t errors_of(const struct sand_transformer *model, const struct sand_split *split,
                        uint32_t gpus, const char *part)
{
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_split_check(model, split, gpus, &diag);
    const size_t n = diag.n_errors;
    cr_assert_eq(rc, n > 0 ? SAND_ERR_INPUT : SAND_OK);
    int found = part == NULL;
    for (size_t i = 0; i < diag.n_messages; i++)
        found |= part && strstr(diag.messages[i].text, part) != NULL;
    cr_assert(found, "no message says \"%s\"", part ? part : "");
    sand_diag_clear(&diag);
    return n;
}

Test(check, accepts_published_splits)
{
    const struct sand_transformer large = llama(126, 16384, 128, 53248);
    const struct sand_split split = llama3_split();
    cr_assert_eq(errors_of(&large, &split, 16384, NULL), 0u);
    cr_assert_eq(errors_of(&large, &split, 0, NULL), 0u, "0 GPUs: not checked");
    const struct sand_transformer gpt = gpt3();
    struct sand_split korthikanti = plain(8, 8, 1, 64);
    korthikanti.virtual_stages = 3;
    cr_assert_eq(errors_of(&gpt, &korthikanti, 64, NULL), 0u);
}

Test(check, refuses_each_broken_rule)
{
    const struct sand_transformer model = llama(32, 4096, 32, 14336);
    struct sand_split split = plain(2, 2, 2, 16);
    cr_assert_eq(errors_of(&model, &split, 8, NULL), 0u);
    cr_assert_eq(errors_of(&model, &split, 16, "the job has 16"), 1u);
    split.tp = 16; // 8 key and value heads
    cr_assert_eq(errors_of(&model, &split, 0, "largest divisor of both is tp 8"), 1u);
    split = plain(2, 2, 2, 15);
    cr_assert_eq(errors_of(&model, &split, 0, "the next one is 16"), 1u);
    split = plain(2, 64, 1, 64);
    cr_assert_eq(errors_of(&model, &split, 0, "only the first and the last"), 1u);
    split = plain(2, 34, 1, 34);
    cr_assert_eq(errors_of(&model, &split, 0, NULL), 0u, "two chunks without a layer");
    split = plain(2, 4, 1, 6);
    split.virtual_stages = 2;
    cr_assert_eq(errors_of(&model, &split, 0, "groups of pp"), 1u);
    split = plain(2, 1, 1, 4);
    split.virtual_stages = 2;
    cr_assert_eq(errors_of(&model, &split, 0, "virtual_stages=\"1\""), 1u);
    split = plain(2, 1, 1, 4);
    split.sequence = 8191;
    cr_assert_eq(errors_of(&model, &split, 0, NULL), 0u);
    split.sequence_parallel = 1;
    cr_assert_eq(errors_of(&model, &split, 0, "sequence 8191"), 1u);
}

Test(check, reports_every_zero_and_never_divides_by_it)
{
    const struct sand_transformer nothing = {0};
    const struct sand_split none = {0};
    cr_assert_eq(errors_of(&nothing, &none, 0, "micro_batch"), 7u + 9u + 1u);
    cr_assert_eq(sand_split_check(&nothing, &none, 0, NULL), SAND_ERR_INPUT, "no diag is fine");
}

Test(check, huge_products_do_not_wrap)
{
    const struct sand_transformer model = llama(32, 4096, 32, 14336);
    struct sand_split split = plain(1, 65536, 1, 65536);
    split.virtual_stages = 65535;
    cr_assert_geq(errors_of(&model, &split, 0, "chunks"), 1u);
    split = plain(1, 1, 1, 1);
    split.dp = UINT32_MAX;
    split.micro_batch = UINT32_MAX;
    cr_assert_geq(errors_of(&model, &split, 1, "the job has 1"), 2u);
}

Test(counts, checkpoint_bytes)
{
    // MLPerf Storage v2 rules: 405B is 5.29 TB, 13 bytes a parameter.
    const struct sand_transformer model = llama(126, 16384, 128, 53248);
    cr_assert_float_eq(sand_checkpoint_B(&model, 13.0), 5.28e12, 0.02e12);
}
