// Expert parallelism in a step: bytes of the all-to-alls, what they cost, and what they leave as it
// was. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "stepfixture.h"

static struct step_fixture f;

static struct sand_step_profile solve_case(const struct step_case *what)
{
    fixture_init(&f, what);
    return fixture_solve(&f.question);
}

// Sixteen experts, two a token, hidden 4096, 16 bit, 4,096 tokens; dispatch and combine, forwards
// and backwards, in two layers a stage.
static double all_to_all_B(double micro_batches)
{
    return 2 * 2 * 2 * micro_batches * 4096.0 * 2 * 4096 * 2;
}

Test(step_experts, volume_inside_a_domain_is_the_closed_form)
{
    // Every rank keeps 1/ep of its copies and sends the others.
    struct step_case what = {.n_nodes = 1, .dp = 8, .ep = 8, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile with = solve_case(&what);
    const double m = f.job.split.global_batch / f.job.split.dp;
    f.software.ep_exposed = 0; // neither time nor bytes are left
    const struct sand_step_profile without = fixture_solve(&f.question);
    const double each_B = all_to_all_B(m) * 7 / 8;
    cr_assert_float_eq(with.link_B[SAND_LINK_SCALEUP_OUT] - without.link_B[SAND_LINK_SCALEUP_OUT],
                       8 * each_B, 1);
    const double want_s = each_B / (450e9 * 0.5) + 2 * 2 * 2 * m * 5e-6;
    cr_assert_float_eq(with.exposed_ep_s, want_s, 1e-8);
    cr_assert_eq(without.exposed_ep_s, 0.0);
    cr_assert_float_eq(with.step_s - without.step_s, want_s, 1e-8);
    fixture_free(&f);
}

Test(step_experts, volume_between_nodes_is_the_closed_form)
{
    struct step_case what = {.n_nodes = 2, .dp = 16, .ep = 16, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile with = solve_case(&what);
    const double m = f.job.split.global_batch / f.job.split.dp;
    f.software.ep_exposed = 0;
    const struct sand_step_profile without = fixture_solve(&f.question);
    // Half of the experts are on the other node: every GPU sends half of its copies by its NIC.
    const double out_B = all_to_all_B(m) / 2;
    cr_assert_float_eq(with.link_B[SAND_LINK_NIC_UP] - without.link_B[SAND_LINK_NIC_UP], 16 * out_B,
                       1);
    cr_assert_float_eq(with.exposed_ep_s, out_B / (50e9 * 0.7) + 8 * m * (5e-6 + 15e-6), 1e-8);
    // One copy a node instead: of 16 experts 8 there, two draws without repetition miss them with
    // probability 8/16 x 7/15.
    f.software.ep_exposed = 1;
    f.job.split.dispatch = SAND_DISPATCH_DEDUPLICATED;
    const struct sand_step_profile once = fixture_solve(&f.question);
    const double reach = 1 - 8.0 / 16 * 7 / 15;
    cr_assert_float_eq(once.link_B[SAND_LINK_NIC_UP] - without.link_B[SAND_LINK_NIC_UP],
                       16 * all_to_all_B(m) / 2 * reach, 1);
    // There all copies are spread, to seven of eight GPUs: one expert each, so none is a second.
    cr_assert_float_eq(once.link_B[SAND_LINK_SCALEUP_OUT] - without.link_B[SAND_LINK_SCALEUP_OUT],
                       16 * all_to_all_B(m) * 7 / 8, 1);
    cr_assert_lt(once.step_s, with.step_s);
    // Of four groups of four experts a token's two are in one: on one node.
    f.model.experts.groups = 4;
    f.model.experts.groups_per_token = 1;
    const struct sand_step_profile grouped = fixture_solve(&f.question);
    cr_assert_float_eq(grouped.link_B[SAND_LINK_NIC_UP] - without.link_B[SAND_LINK_NIC_UP],
                       16 * all_to_all_B(m) / 4, 1);
    // One byte an element there and two back.
    f.job.split.dispatch_B = 1;
    const struct sand_step_profile narrow = fixture_solve(&f.question);
    cr_assert_float_eq(narrow.link_B[SAND_LINK_NIC_UP] - without.link_B[SAND_LINK_NIC_UP],
                       16 * all_to_all_B(m) / 4 * 0.75, 1);
    fixture_free(&f);
}

Test(step_experts, a_gpu_gets_a_token_once)
{
    // Two experts on each of eight GPUs: two draws of 16 are on one GPU with probability 1/15.
    struct step_case what = {.n_nodes = 1, .dp = 8, .ep = 8, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile all = solve_case(&what);
    f.job.split.dispatch = SAND_DISPATCH_DEDUPLICATED;
    const struct sand_step_profile once = fixture_solve(&f.question);
    f.software.ep_exposed = 0;
    const struct sand_step_profile none = fixture_solve(&f.question);
    const double all_B = all.link_B[SAND_LINK_SCALEUP_OUT] - none.link_B[SAND_LINK_SCALEUP_OUT];
    const double once_B = once.link_B[SAND_LINK_SCALEUP_OUT] - none.link_B[SAND_LINK_SCALEUP_OUT];
    cr_assert_float_eq(once_B / all_B, (1 + 14.0 / 15) / 2, 1e-9);
    fixture_free(&f);
}

// What runs beside compute takes its multiprocessors while it does, and cannot take longer than it.
Test(step_experts, hidden_all_to_alls_are_not_free)
{
    struct step_case what = {.n_nodes = 2, .dp = 16, .ep = 16, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile exposed = solve_case(&what);
    f.software.ep_exposed = 0;
    const struct sand_step_profile hidden = fixture_solve(&f.question);
    f.software.ep_multiprocessors = f.gpu.n_sm / 4;
    const struct sand_step_profile taken = fixture_solve(&f.question);
    cr_assert_float_eq(exposed.step_s - hidden.step_s, exposed.exposed_ep_s, 1e-8);
    cr_assert_float_eq(taken.compute_s - hidden.compute_s, exposed.exposed_ep_s / 4, 1e-8);
    cr_assert_eq(taken.exposed_ep_s, 0.0);
    // Sixteen copies to narrow experts take longer than compute: what is left over is waited for.
    f.software.ep_multiprocessors = 0;
    f.model.experts.per_token = 16;
    f.model.experts.ffn_hidden = 64;
    const struct sand_step_profile slow = fixture_solve(&f.question);
    f.software.ep_exposed = 1;
    const struct sand_step_profile slow_exposed = fixture_solve(&f.question);
    cr_assert_gt(slow.exposed_ep_s, 0.0);
    cr_assert_lt(slow.exposed_ep_s, slow_exposed.exposed_ep_s);
    const double hidden_s = slow_exposed.exposed_ep_s - slow.exposed_ep_s;
    cr_assert_gt(hidden_s, 0.5 * (slow.compute_s - slow.overhead_s));
    cr_assert_leq(hidden_s, slow.compute_s - slow.overhead_s);
    fixture_free(&f);
}

Test(step_experts, without_groups_nothing_is_exchanged)
{
    // Experts on every GPU: no all-to-all, and the same step as the same layer told by hand.
    struct step_case what = {.n_nodes = 1, .dp = 8, .ep = 1, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile one = solve_case(&what);
    cr_assert_eq(one.exposed_ep_s, 0.0);
    cr_assert_eq(one.exposed_tp_s, 0.0);
    fixture_free(&f);
    // One expert that everybody takes is the dense layer and its router.
    struct step_case dense = {.n_nodes = 1, .dp = 8, .no_overlap = 1, .no_sharding = 1};
    const struct sand_step_profile ffn = solve_case(&dense);
    f.model.experts = (struct sand_experts){.n = 1, .per_token = 1, .ffn_hidden = 14336};
    f.kernels.permute_B = 0;
    const struct sand_step_profile expert = fixture_solve(&f.question);
    const double m = f.job.split.global_batch / f.job.split.dp;
    // The router: a product of 4096 x 1 x 4096, three times for each layer and micro-batch.
    const double router_s = 2 * 4096.0 * 4096 / 700e12; // at the peak rate; tiles cost more
    cr_assert_geq(expert.compute_s - ffn.compute_s, 3 * 2 * m * (router_s + 7e-6));
    cr_assert_lt(expert.compute_s - ffn.compute_s, 0.02 * ffn.compute_s);
    fixture_free(&f);
}

Test(step_experts, schedules_cost_their_bubbles)
{
    // Equal stages (no head to speak of), sends that take no time: GPipe idles as 1F1B does, ZB-H1
    // (p - 1) 2 W less (Qi et al. 2023, table 2).
    struct step_case what = {.n_nodes = 4, .tp = 8, .pp = 4, .micro_batches = 12};
    fixture_init(&f, &what);
    f.model.vocab = 8;
    f.coll_kernels[1].network_s = 0;
    f.software.tp_exposed = 0;
    f.kernels.logit_B = 0;
    const double plain_s = fixture_solve(&f.question).bubble_s;
    f.job.split.schedule = SAND_SCHEDULE_GPIPE;
    const double gpipe_s = fixture_solve(&f.question).bubble_s;
    f.job.split.schedule = SAND_SCHEDULE_ZERO_BUBBLE;
    const double zero_s = fixture_solve(&f.question).bubble_s;
    cr_assert_float_eq(gpipe_s / plain_s, 1, 0.02);
    cr_assert_gt(plain_s, 0.0);
    // Two layers a stage: their products are a third of forward and backward but for attention.
    cr_assert_lt(zero_s, 0.6 * plain_s);
    cr_assert_gt(zero_s, 0.2 * plain_s);
    fixture_free(&f);
}

Test(step_experts, imbalance_costs_more_the_larger_it_is)
{
    struct step_case what = {.n_nodes = 4, .dp = 32, .ep = 16};
    double before_s = solve_case(&what).step_s;
    for (double imbalance = 1.25; imbalance <= 4; imbalance *= 1.5) {
        f.job.split.imbalance = imbalance;
        const double now_s = fixture_solve(&f.question).step_s;
        cr_assert_gt(now_s, before_s, "imbalance %g", imbalance);
        before_s = now_s;
    }
    fixture_free(&f);
}

Test(step_experts, a_slow_gpu_holds_up_its_group_only)
{
    // Without gradients to wait for, another group ends when it always did: its GPUs wait.
    struct step_case what = {.n_nodes = 4, .dp = 32, .ep = 8, .micro_batches = 4};
    const struct sand_step_profile healthy = solve_case(&what);
    f.gpu_speed[3] = 0.5F;
    const struct sand_step_profile slow = fixture_solve(&f.question);
    cr_assert_gt(slow.step_s, 1.3 * healthy.step_s);
    f.question.folding = SAND_NO_FOLD;
    const struct sand_step_profile full = fixture_solve(&f.question);
    cr_assert_float_eq(slow.step_s, full.step_s, 1e-9);
    cr_assert_float_eq(slow.exposed_ep_s, full.exposed_ep_s, 1e-9);
    // Eight GPUs compute twice as long, in the mean a quarter more.
    cr_assert_float_eq(slow.compute_s - slow.overhead_s,
                       1.25 * (healthy.compute_s - healthy.overhead_s), 1e-6);
    fixture_free(&f);
}

Test(step_experts, a_degraded_nic_folds_exactly)
{
    struct step_case what = {.n_nodes = 4, .tp = 2, .pp = 2, .dp = 8, .ep = 8};
    solve_case(&what);
    f.fabric->links[f.fabric->first[SAND_LINK_NIC_UP] + 5].speed = 0.25;
    const struct sand_step_profile folded = fixture_solve(&f.question);
    f.question.folding = SAND_NO_FOLD;
    const struct sand_step_profile full = fixture_solve(&f.question);
    cr_assert_float_eq(folded.step_s, full.step_s, 1e-9);
    cr_assert_float_eq(folded.exposed_ep_s, full.exposed_ep_s, 1e-9);
    fixture_free(&f);
}
