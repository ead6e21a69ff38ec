// The search against its twin: every split of a small model on 16 GPUs, found by plain loops over
// whole numbers and simulated. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "longstep.h"
#include "mem.h"
#include "oracle.h"
#include "search.h"
#include "searchreport.h"
#include "small_question.h"
#include "train.h"

struct setting {
    struct small small;
    struct sand_oracle *oracle;
};

static void open_setting(struct setting *s)
{
    struct sand_diag diag = {0};
    cr_assert_eq(small_set_up(&s->small, &diag), SAND_OK);
    s->small.software.dp_exposed = 0.2;
    s->small.model.hidden = 8192; // few and wide layers: few splits, of which compute is the most
    s->small.model.ffn_hidden = 32768;
    s->small.model.n_heads = s->small.model.n_kv_heads = 4;
    s->small.model.head_dim = 2048;
    s->small.job.split.sequence = 4096;
    s->small.job.split.overlap_grad_reduce = s->small.job.split.overlap_param_gather = 1;
    s->small.gpu.hbm_B = 25e9; // a part of the splits does not fit
    cr_assert_eq(sand_oracle_open(&s->oracle, &diag), SAND_OK);
    sand_diag_clear(&diag);
}

static void close_setting(struct setting *s)
{
    sand_oracle_close(s->oracle);
    sand_fabric_free(s->small.fabric);
}

static enum sand_rc search(struct setting *s, size_t simulate, struct sand_search_result *result,
                           struct sand_diag *diag)
{
    const struct sand_search_question q = {&s->small.cluster,
                                           &s->small.kernels,
                                           &test_kernels,
                                           s->small.fabric,
                                           &s->small.job,
                                           simulate,
                                           0};
    return sand_search(&q, s->oracle, NULL, NULL, result, diag);
}

// ---- the twin -----------------------------------------------------------------------------------

struct twin {
    struct setting *setting;
    double best_s, worst_ratio;
    uint64_t grouped, fitting, close, near; // splits; of them the closed form within 3 and 10 %
};

static void try_split(struct twin *twin, const struct sand_split *split)
{
    struct small *s = &twin->setting->small;
    struct sand_memory memory;
    struct sand_step_profile profile;
    struct sand_step_layout layout;
    struct sand_step_estimate estimate;
    if (sand_split_check(&s->model, split, 16, NULL) != SAND_OK)
        return;
    sand_memory_estimate(&s->model, split, &s->gpu, &s->kernels, &memory);
    if (memory.total_B > memory.capacity_B)
        return;
    s->job.split = *split;
    struct sand_step_question q = s->question;
    q.gpu_speed = NULL;
    cr_assert_eq(sand_oracle_step(twin->setting->oracle, &q, &profile, NULL), SAND_OK);
    cr_assert_eq(sand_step_layout_find(&q, &layout, NULL), SAND_OK);
    sand_step_estimate(&q, &layout, &estimate);
    const double off = fabs(estimate.step_s / profile.step_s - 1);
    twin->fitting++;
    twin->close += off <= 0.03;
    twin->near += off <= 0.1;
    twin->worst_ratio = off > twin->worst_ratio ? off : twin->worst_ratio;
    if (twin->best_s <= 0 || profile.step_s < twin->best_s)
        twin->best_s = profile.step_s;
    const double parts = estimate.compute_s + estimate.exposed_tp_s + estimate.exposed_pp_s +
                         estimate.exposed_dp_s + estimate.bubble_s;
    cr_assert_float_eq(parts, estimate.step_s, 0.02 * estimate.step_s, "parts %g of %g", parts,
                       estimate.step_s);
}

// Copies of the first stage, from its first on, whose GPUs are on the first node: 0 if that is one,
// all, or groups of as many do not come out even.
static uint32_t copies_on_a_node(const struct sand_split *s, uint32_t per_node)
{
    const uint32_t all = s->dp * s->cp;
    uint32_t n = 0;
    for (uint32_t d = 0; d < s->dp; d++)
        for (uint32_t c = 0; c < s->cp && n == d * s->cp + c; c++) {
            const uint32_t replica = s->order == SAND_RANKS_TP_CP_PP_DP ? d * s->pp : d;
            n += (replica * s->cp + c + 1) * s->tp <= per_node;
        }
    return n > 1 && n < all && all % n == 0 ? n : 0;
}

static void try_groups(struct twin *twin, struct sand_split split)
{
    split.shard_group = 0;
    try_split(twin, &split);
    split.shard_group = copies_on_a_node(&split, twin->setting->small.node.n_gpus);
    if (split.shard_group > 0 && split.sharding != SAND_SHARD_OPTIMIZER) {
        twin->grouped++;
        try_split(twin, &split);
    }
}

static void try_variants(struct twin *twin, struct sand_split split)
{
    for (int order = 0; order < 2; order++)
        for (int kind = 0; kind < 3 * 2 * 4; kind++) {
            split.order = order ? SAND_RANKS_TP_CP_DP_PP : SAND_RANKS_TP_CP_PP_DP;
            split.recompute = (enum sand_recompute)(kind % 3);
            split.sequence_parallel = kind / 3 % 2;
            split.sharding = (enum sand_sharding)(kind / 6 > 1 ? kind / 6 - 1 : 0);
            split.distributed_optimizer = kind / 6 > 0;
            if (split.tp > 1 || !split.sequence_parallel)
                try_groups(twin, split);
        }
}

static void try_all(struct twin *twin)
{
    struct sand_split split = twin->setting->small.job.split;
    for (split.tp = 1; split.tp <= 16; split.tp++)
        for (split.cp = 1; split.cp <= 16; split.cp++)
            for (split.pp = 1; split.pp <= 16; split.pp++)
                for (split.dp = 1; split.dp <= 16; split.dp++)
                    for (split.micro_batch = 1; split.micro_batch <= 8; split.micro_batch++)
                        for (split.virtual_stages = 1; split.virtual_stages <= 6;
                             split.virtual_stages++)
                            if (split.tp * split.cp * split.pp * split.dp == 16)
                                try_variants(twin, split);
}

Test(search, the_best_is_that_of_simulating_all, .timeout = 240)
{
    struct setting s;
    struct sand_search_result result;
    open_setting(&s);
    const struct sand_job_spec job = s.small.job;
    cr_assert_eq(search(&s, 24, &result, NULL), SAND_OK);
    struct twin twin = {.setting = &s};
    try_all(&twin);
    s.small.job = job;
    cr_expect_float_eq(result.hits[0].profile.step_s, twin.best_s, 1e-12, "search %.9f, twin %.9f",
                       result.hits[0].profile.step_s, twin.best_s);
    cr_expect_gt(twin.grouped, 20);
    cr_expect_gt(twin.fitting, 200);
    cr_expect_gt((double)twin.close, 0.6 * (double)twin.fitting);
    cr_expect_gt((double)twin.near, 0.9 * (double)twin.fitting);
    cr_expect_lt(twin.worst_ratio, 0.45, "%g", twin.worst_ratio);
    cr_expect_gt(result.too_big_state + result.too_big_activations, 0);
    sand_search_result_clear(&result);
    close_setting(&s);
}

// Ranks follow simulated time, shapes are numbered by their first, all of it fits; and when the
// memory shrinks, the best of before is what it refuses, faster than all that fits.
Test(search, ranks_and_refusals_are_consistent)
{
    struct setting s;
    struct sand_search_result result;
    open_setting(&s);
    const double whole_B = s.small.gpu.hbm_B;
    cr_assert_eq(search(&s, 8, &result, NULL), SAND_OK);
    cr_expect_eq(result.hits[0].of.memory.capacity_B, whole_B);
    uint32_t shapes = 0;
    for (size_t i = 0; i < result.n_hits; i++) {
        const struct sand_search_hit *hit = &result.hits[i];
        cr_expect(i == 0 || hit->profile.step_s >= result.hits[i - 1].profile.step_s);
        cr_expect_leq(hit->of.memory.total_B, hit->of.memory.capacity_B);
        if (hit->shape_rank > 0)
            cr_expect_eq(hit->shape_rank, ++shapes);
    }
    cr_expect_geq(shapes, 8);
    double least_B = INFINITY; // of those whose closed form is the best
    for (size_t i = 0; i < result.n_hits; i++)
        least_B = fmin(least_B, result.hits[i].of.memory.total_B);
    sand_search_result_clear(&result);
    s.small.gpu.hbm_B = 0.95 * least_B;
    cr_assert_eq(search(&s, 8, &result, NULL), SAND_OK);
    cr_expect_gt(result.n_refused, 0);
    for (size_t i = 0; i < result.n_refused; i++) {
        cr_expect_gt(result.refused[i].memory.total_B, s.small.gpu.hbm_B);
        cr_expect_leq(result.refused[i].memory.total_B, 1.5 * s.small.gpu.hbm_B);
        for (size_t k = 0; k < result.n_hits; k++)
            cr_expect_lt(result.refused[i].estimate.step_s, result.hits[k].of.estimate.step_s);
    }
    sand_search_result_clear(&result);
    close_setting(&s);
}

// The reason names the terms that grew, largest first, and nothing that did not.
Test(search, reasons_are_the_terms_that_grew)
{
    const struct sand_search_hit best = {
        .profile = {.compute_s = 10, .recompute_s = 2, .exposed_tp_s = 1, .bubble_s = 1}};
    struct sand_search_hit hit = best;
    char text[160];
    hit.profile.bubble_s = 3;
    hit.profile.exposed_dp_s = 1;
    hit.profile.exposed_tp_s = 0;
    cr_expect_str_eq(sand_search_reason(&best, &hit, text, sizeof text),
                     "bubble +2 s, exposed DP +1 s");
    hit = best;
    hit.profile.compute_s = 11;
    hit.profile.recompute_s = 3;
    cr_expect_str_eq(sand_search_reason(&best, &hit, text, sizeof text), "recomputation +1 s");
    cr_expect_str_eq(sand_search_reason(&best, &best, text, sizeof text), "");
}

static int says(const struct sand_diag *diag, const char *text)
{
    for (size_t i = 0; i < diag->n_messages; i++)
        if (strstr(diag->messages[i].text, text))
            return 1;
    return 0;
}

Test(search, what_does_not_fit_is_refused_with_the_nearest)
{
    struct setting s;
    struct sand_search_result result;
    struct sand_diag diag = {0};
    open_setting(&s);
    s.small.gpu.hbm_B = 1e9;
    cr_expect_eq(search(&s, 8, &result, &diag), SAND_ERR_INPUT);
    cr_expect(says(&diag, "the nearest (tp ") && says(&diag, "1 GB"));
    cr_expect_gt(result.nearest.memory.total_B, 1e9);
    sand_search_result_clear(&result);
    sand_diag_clear(&diag);
    s.small.gpu.hbm_B = 1e7; // out of reach: told by memory alone, nothing is placed
    cr_expect_eq(search(&s, 8, &result, &diag), SAND_ERR_INPUT);
    cr_expect_gt(result.too_big_state + result.too_big_activations, 0);
    cr_expect_eq(result.layouts, 0);
    sand_search_result_clear(&result);
    sand_diag_clear(&diag);
    s.small.model.n_kv_heads = 3; // divides nothing, nor the heads
    cr_expect_eq(search(&s, 8, &result, &diag), SAND_ERR_INPUT);
    cr_expect(says(&diag, "is possible"));
    sand_search_result_clear(&result);
    sand_diag_clear(&diag);
    close_setting(&s);
}

// Every allocation of the search fails once; none leaks or crashes, and then it works.
Test(search, survives_running_out_of_memory)
{
    struct setting s;
    struct sand_search_result result;
    open_setting(&s);
    s.small.job.split.global_batch = 2;
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t n = 1; rc != SAND_OK && n < 1000000; n += 1 + n / 64) {
        sand_mem_fail_at(n);
        rc = search(&s, 1, &result, NULL);
        sand_mem_fail_at(0);
        cr_expect(rc == SAND_OK || rc == SAND_ERR_NOMEM, "%d", rc);
        sand_search_result_clear(&result);
    }
    cr_expect_eq(rc, SAND_OK);
    close_setting(&s);
}

// A pipeline that is full does the same in every round, so a straight line through two shorter
// steps is the long one, interleaved or not, sharded or not.
Test(search, long_steps_are_straight, .timeout = 120)
{
    struct setting s;
    open_setting(&s);
    for (int kind = 0; kind < 3; kind++) {
        struct sand_split *split = &s.small.job.split;
        struct sand_step_profile whole, straight;
        int shortened = 0;
        split->tp = 1;
        split->cp = 1;
        split->pp = 4;
        split->dp = 4;
        split->virtual_stages = kind == 1 ? 2 : 1;
        s.small.model.n_layers = 8;
        split->sharding = kind == 2 ? SAND_SHARD_PARAMETERS : SAND_SHARD_OPTIMIZER;
        split->micro_batch = 1;
        split->global_batch = 4 * 4 * 601;
        struct sand_step_question q = s.small.question;
        q.gpu_speed = NULL;
        cr_assert_eq(sand_oracle_step(s.oracle, &q, &whole, NULL), SAND_OK);
        cr_assert_eq(long_step(s.oracle, &q, &straight, &shortened, NULL), SAND_OK);
        cr_expect(shortened);
        cr_expect_float_eq(straight.step_s, whole.step_s, 1e-3 * whole.step_s, "%d: %g, %g", kind,
                           straight.step_s, whole.step_s);
        cr_expect_float_eq(straight.mfu, whole.mfu, 1e-3 * whole.mfu);
        cr_expect_float_eq(straight.bubble_s, whole.bubble_s, 1e-2 * whole.step_s);
        cr_expect_float_eq(straight.tokens_per_s, whole.tokens_per_s, 1e-3 * whole.tokens_per_s);
        split->global_batch = 4 * 4 * 8;
        cr_assert_eq(sand_oracle_step(s.oracle, &q, &whole, NULL), SAND_OK);
        cr_assert_eq(long_step(s.oracle, &q, &straight, &shortened, NULL), SAND_OK);
        cr_expect(!shortened && straight.step_s == whole.step_s);
    }
    close_setting(&s);
}
