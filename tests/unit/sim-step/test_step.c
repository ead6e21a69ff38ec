// A step against closed forms.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "collective.h"
#include "cost.h"
#include "mem.h"
#include "stepfixture.h"
#include "train.h"

static struct step_fixture f;

// Compute only: no overheads, no latency, links too fast to matter.
static void without_traffic(void)
{
    f.software.step_overhead_s = 0;
    f.software.tp_exposed = 0;
    for (int k = 0; k < 2; k++)
        f.coll_kernels[k].base_s = f.coll_kernels[k].network_s = f.coll_kernels[k].scaleup_s = 0;
    for (uint32_t i = 0; i < f.fabric->n_links; i++)
        f.fabric->links[i].capacity_Bps = 1e18;
}

static double head_pass_s(void)
{
    const struct sand_cost cost = {&f.gpu, &f.kernels, &f.software};
    struct sand_layer_times times;
    sand_cost_head(&cost, &f.model, &f.job.split, &times);
    return times.forward_s + times.backward_s;
}

static double last_optimizer_s(void)
{
    const struct sand_cost cost = {&f.gpu, &f.kernels, &f.software};
    const struct sand_split *split = &f.job.split;
    return sand_cost_optimizer_s(&cost,
                                 sand_split_gpu_params(&f.model, split, split->pp - 1) / split->dp);
}

static double layer_pass_s(void)
{
    const struct sand_cost cost = {&f.gpu, &f.kernels, &f.software};
    struct sand_layer_times times;
    sand_cost_layer(&cost, &f.model, &f.job.split, 0, &times);
    return times.forward_s + times.backward_s + times.recompute_s;
}

// 1F1B: every stage but the slowest waits; with equal stages the bubble is (p - 1) passes
// (Narayanan et al. 2021, section 2.2). The head makes the last stage slower, so it is left out
// here.
Test(step, bubble_of_1f1b)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 4, .tp = 8, .pp = 4, .micro_batches = 8});
    without_traffic();
    const struct sand_step_profile p = fixture_solve(&f.question);
    const double pass_s = 2 * layer_pass_s();
    const double work_s = 8 * (pass_s + head_pass_s()) + last_optimizer_s();
    cr_assert_float_eq(p.step_s, work_s + 3 * pass_s, 1e-6, "step %.9f, expected %.9f", p.step_s,
                       work_s + 3 * pass_s);
    fixture_free(&f);
}

// Interleaving divides the bubble by the number of model chunks (same source, section 2.2).
Test(step, bubble_of_interleaved_1f1b)
{
    fixture_init(&f, &(struct step_case){
                         .n_nodes = 4, .tp = 8, .pp = 4, .virtual_stages = 3, .micro_batches = 8});
    without_traffic();
    const struct sand_step_profile p = fixture_solve(&f.question);
    const double pass_s = 2 * layer_pass_s(); // of one chunk
    const double expected_s = 8 * (3 * pass_s + head_pass_s()) + last_optimizer_s() + 3 * pass_s;
    cr_assert_float_eq(p.step_s, expected_s, 0.05 * pass_s, "step %.9f, expected %.9f", p.step_s,
                       expected_s);
    fixture_free(&f);
}

// Bytes of one layer's weights on the wire of a ring over n GPUs of one node, in seconds.
static double ring_s(enum sand_collective_kind kind, double params_B)
{
    const struct sand_collective c = {kind, 8, params_B};
    return fixture_ring_latency_s(&f, &c, 0) +
           c.bytes * 7 / 8 / (f.scaleup.rate_Bps * f.scaleup.usable);
}

// Fully sharded without prefetch: every layer of every micro-batch waits for two gathers of its
// weights (2 bytes) and one reduction of its gradients (4 bytes); ZeRO-2 gathers once.
Test(step, sharded_without_overlap_pays_every_collective)
{
    const enum sand_sharding kinds[] = {SAND_SHARD_PARAMETERS, SAND_SHARD_GRADIENTS};
    for (int k = 0; k < 2; k++) {
        fixture_init(
            &f,
            &(struct step_case){
                .n_nodes = 1, .dp = 8, .sharding = kinds[k], .no_overlap = 1, .micro_batches = 3});
        const struct sand_step_profile p = fixture_solve(&f.question);
        const double layer_params = sand_split_gpu_params(&f.model, &f.job.split, 0) / 2;
        const double gather_s = ring_s(SAND_ALL_GATHER, 2 * layer_params);
        const double reduce_s = ring_s(SAND_REDUCE_SCATTER, 4 * layer_params);
        const double expected_s = 3 * 2 * ((k == 0 ? 2 : 1) * gather_s + reduce_s);
        cr_assert_float_eq(p.exposed_dp_s, expected_s, 1e-7, "exposed %.9f, expected %.9f",
                           p.exposed_dp_s, expected_s);
        fixture_free(&f);
    }
}

// With links too fast to matter, sharding costs nothing but compute; with prefetch never more than
// without it.
Test(step, prefetch_hides_gathers_behind_compute)
{
    double exposed_s[3];
    for (int k = 0; k < 3; k++) {
        fixture_init(&f, &(struct step_case){.n_nodes = 1,
                                             .dp = 8,
                                             .sharding = SAND_SHARD_PARAMETERS,
                                             .no_overlap = k == 2,
                                             .dp_exposed = k == 1 ? 0.5 : 0,
                                             .micro_batches = 3});
        exposed_s[k] = fixture_solve(&f.question).exposed_dp_s;
        fixture_free(&f);
    }
    cr_assert_lt(exposed_s[0], 0.5 * exposed_s[2]);
    cr_assert_lt(exposed_s[0], exposed_s[1]);
    cr_assert_lt(exposed_s[1], exposed_s[2]);
}

// Ring attention: keys and values of every layer pass cp - 1 hops forwards, and twice that
// backwards, exposed by the software's share. (Beside gradients on the same ports it takes longer.)
Test(step, context_parallel_ring_time)
{
    fixture_init(&f, &(struct step_case){
                         .n_nodes = 1, .cp = 8, .dp = 1, .micro_batches = 2, .no_overlap = 1});
    f.coll_kernels[1].scaleup_s = 0;
    const struct sand_step_profile p = fixture_solve(&f.question);
    const double kv_B = 2.0 * 2 * (4096 / 8) * 16 * 128;
    const double expected_s = 2 * 2 * 3 * 7 * 0.4 * kv_B / (f.scaleup.rate_Bps * f.scaleup.usable);
    cr_assert_float_eq(p.exposed_cp_s, expected_s, 1e-8, "ring %.12f, expected %.12f",
                       p.exposed_cp_s, expected_s);
    cr_assert_eq(p.exposed_tp_s, 0);
    fixture_free(&f);
}

// Tensor parallelism shares a node with data parallelism only if ranks are laid out data first.
Test(step, rank_order_decides_which_traffic_stays_in_the_node)
{
    double leaf_B[2];
    for (int k = 0; k < 2; k++) {
        fixture_init(&f, &(struct step_case){.n_nodes = 4,
                                             .tp = 2,
                                             .pp = 4,
                                             .dp = 4,
                                             .order = k == 0 ? SAND_RANKS_TP_CP_PP_DP
                                                             : SAND_RANKS_TP_CP_DP_PP});
        const struct sand_step_profile p = fixture_solve(&f.question);
        leaf_B[k] = p.link_B[SAND_LINK_NIC_UP];
        fixture_free(&f);
    }
    cr_assert_gt(leaf_B[0], 0, "pipeline in the node: gradients cross the network");
    cr_assert_gt(leaf_B[1], 0, "gradients in the node: activations cross the network");
    cr_assert_neq(leaf_B[0], leaf_B[1]);
}

// Without overlap the gradient all-reduce stands alone at the end: latency + 2 (n-1)/n bytes /
// rate.
Test(step, ring_all_reduce_time)
{
    fixture_init(
        &f, &(struct step_case){.n_nodes = 8, .tp = 8, .dp = 8, .no_overlap = 1, .no_sharding = 1});
    const struct sand_step_profile p = fixture_solve(&f.question);
    const struct sand_collective c = {SAND_ALL_REDUCE, 8,
                                      4 * sand_split_gpu_params(&f.model, &f.job.split, 0)};
    const double expected_s =
        fixture_ring_latency_s(&f, &c, 14) + c.bytes * 2 * 7 / 8 / (f.nic.rate_Bps * f.nic.usable);
    cr_assert_float_eq(p.exposed_dp_s, expected_s, 1e-8, "all-reduce %.12f, expected %.12f",
                       p.exposed_dp_s, expected_s);
    fixture_free(&f);
}

// The same over a 4:1 leaf: sixteen NICs of a leaf, eight hops of the ring up and eight down.
Test(step, ring_all_reduce_over_a_tapered_leaf)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 8,
                                         .tp = 8,
                                         .dp = 8,
                                         .no_overlap = 1,
                                         .no_sharding = 1,
                                         .leaf_oversubscription = 4});
    const struct sand_step_profile p = fixture_solve(&f.question);
    const struct sand_collective c = {SAND_ALL_REDUCE, 8,
                                      4 * sand_split_gpu_params(&f.model, &f.job.split, 0)};
    // A leaf's uplinks carry 16/4 = 4 NICs' worth for the 8 rails that leave it.
    const double expected_s = fixture_ring_latency_s(&f, &c, 14) +
                              c.bytes * 2 * 7 / 8 / (f.nic.rate_Bps * f.nic.usable / 2);
    cr_assert_float_eq(p.exposed_dp_s, expected_s, 1e-8, "all-reduce %.12f, expected %.12f",
                       p.exposed_dp_s, expected_s);
    fixture_free(&f);
}

// Overlap hides data-parallel traffic, it does not remove it.
Test(step, overlap_is_between_free_and_exposed)
{
    struct step_case shape = {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .micro_batches = 8};
    fixture_init(&f, &shape);
    const struct sand_step_profile overlapped = fixture_solve(&f.question);
    fixture_free(&f);
    shape.no_overlap = 1;
    fixture_init(&f, &shape);
    const struct sand_step_profile exposed = fixture_solve(&f.question);
    fixture_free(&f);
    cr_assert_lt(overlapped.step_s, exposed.step_s);
    cr_assert_gt(overlapped.exposed_dp_s, 0);
    cr_assert_float_eq(overlapped.link_B[SAND_LINK_NIC_UP], exposed.link_B[SAND_LINK_NIC_UP], 1);
}

Test(step, mfu_and_hfu_follow_their_definitions)
{
    fixture_init(&f,
                 &(struct step_case){.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .full_recompute = 1});
    const struct sand_step_profile p = fixture_solve(&f.question);
    const double peak = 64 * 1000e12 * p.step_s;
    cr_assert_float_eq(p.mfu, sand_model_flops(&f.model, &f.job.split) / peak, 1e-12);
    cr_assert_float_eq(
        p.hfu,
        (sand_model_flops(&f.model, &f.job.split) + sand_recompute_flops(&f.model, &f.job.split)) /
            peak,
        1e-12);
    cr_assert_gt(p.recompute_s, 0);
    fixture_free(&f);
}

Test(step, more_bandwidth_never_slows)
{
    const struct step_case shape = {
        .n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .leaf_oversubscription = 4};
    double before_s = INFINITY;
    for (double factor = 0.25; factor < 5; factor *= 2) {
        fixture_init(&f, &shape);
        for (uint32_t i = 0; i < f.fabric->n_links; i++)
            f.fabric->links[i].capacity_Bps *= factor;
        const double step_s = fixture_solve(&f.question).step_s;
        cr_assert_leq(step_s, before_s);
        before_s = step_s;
        fixture_free(&f);
    }
}

Test(step, impossible_split_is_refused)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4});
    f.job.split.dp = 5;
    struct sand_diag diag = {0};
    struct sand_step_problem *problem = NULL;
    cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, &diag), SAND_ERR_INPUT);
    cr_assert_gt(diag.n_errors, 0);
    cr_assert_null(problem);
    sand_diag_clear(&diag);
    fixture_free(&f);
}

Test(step, packed_and_unpacked_is_the_same_problem)
{
    fixture_init(&f, &(struct step_case){
                         .n_nodes = 16, .tp = 4, .pp = 4, .dp = 8, .leaf_oversubscription = 3});
    struct sand_step_problem *problem = NULL, *again = NULL;
    cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, NULL), SAND_OK);
    void *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(sand_step_pack(problem, &bytes, &size), SAND_OK);
    cr_assert_eq(sand_step_unpack(bytes, size, &again), SAND_OK);
    uint8_t a[32], b[32];
    sand_step_digest(problem, a);
    sand_step_digest(again, b);
    cr_assert_arr_eq(a, b, 32);
    struct sand_step_problem *none = NULL;
    cr_assert_eq(sand_step_unpack(bytes, size - 1, &none), SAND_ERR_INTERNAL, "truncated");
    cr_assert_eq(sand_step_unpack("x", 1, &none), SAND_ERR_INTERNAL, "foreign");
    cr_assert_null(none);
    sand_free(bytes);
    sand_step_problem_free(problem);
    sand_step_problem_free(again);
    fixture_free(&f);
}

// Every allocation on the way may fail: an error comes back, nothing else.
Test(step, out_of_memory, .timeout = 60)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 4, .tp = 4, .pp = 2, .dp = 4});
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t k = 1; rc != SAND_OK; k++) {
        struct sand_step_problem *problem = NULL;
        sand_mem_fail_at(k);
        rc = sand_step_prepare(&f.question, NULL, 0, &problem, NULL);
        sand_mem_fail_at(0);
        cr_assert(rc == SAND_OK || rc == SAND_ERR_NOMEM, "allocation %lu: %s", (unsigned long)k,
                  sand_rc_text(rc));
        sand_step_problem_free(problem);
        cr_assert_lt(k, 100000);
    }
    fixture_free(&f);
}

// What takes longer than clocks can count is refused by name, whether it is computed or sent.
static void expect_too_long(void)
{
    struct sand_step_problem *problem = NULL;
    struct sand_step_solution solution;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, &diag), SAND_OK);
    cr_expect_eq(sand_step_solve(problem, &solution, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect(strstr(diag.messages[0].text, "longer than 1e+06 s") != NULL, "%s",
              diag.messages[0].text);
    sand_step_problem_free(problem);
    sand_diag_clear(&diag);
    fixture_free(&f);
}

Test(step, work_without_end_is_refused)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 2, .tp = 8, .dp = 2});
    f.gpu.gemm_bf16_flops = 1e-20;
    expect_too_long();
}

Test(step, bytes_without_end_are_refused)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 2, .tp = 8, .dp = 2, .no_overlap = 1});
    for (uint32_t l = 0; l < f.fabric->n_links; l++)
        f.fabric->links[l].speed = 1e-12;
    expect_too_long();
}
