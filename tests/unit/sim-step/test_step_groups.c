// Who reduces with whom: shard groups inside data parallelism, and experts on rings of their own.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "estimate.h"
#include "stepfixture.h"
#include "train.h"

static struct step_fixture f;

static struct sand_step_profile solve_case(const struct step_case *what)
{
    fixture_init(&f, what);
    return fixture_solve(&f.question);
}

// Parameters on a GPU of the only stage.
static struct sand_params held(void)
{
    return sand_split_stage_params(&f.model, &f.job.split, 0);
}

static void expect_bytes(const struct sand_step_profile *p, enum sand_link_class class, double want)
{
    cr_expect_float_eq(p->link_B[class], want, 1e-9 * want + 1e-6, "%s: %.15g, not %.15g",
                       sand_link_class_name(class), p->link_B[class], want);
}

static void expect_same(const struct sand_step_profile *a, const struct sand_step_profile *b)
{
    cr_expect_eq(a->step_s, b->step_s, "%.17g, %.17g", a->step_s, b->step_s);
    cr_expect_eq(a->exposed_dp_s, b->exposed_dp_s);
    cr_expect_eq(a->memory.total_B, b->memory.total_B, "%.17g, %.17g", a->memory.total_B,
                 b->memory.total_B);
    cr_expect_arr_eq(a->link_B, b->link_B, sizeof a->link_B);
}

// Two nodes of eight GPUs, 32-bit gradients, 16-bit weights, one ring a GPU in each direction.
Test(step_groups, hybrid_sharding_gathers_inside_and_reduces_across)
{
    struct step_case what = {.n_nodes = 2,
                             .dp = 16,
                             .shard_group = 8,
                             .sharding = SAND_SHARD_PARAMETERS,
                             .dp_exposed = 0.4,
                             .micro_batches = 3};
    const struct sand_step_profile p = solve_case(&what);
    const double params = held().dense, m = 3;
    // Inside: weights twice a micro-batch, gradients once, seven eighths each.
    expect_bytes(&p, SAND_LINK_SCALEUP_OUT, 16 * m * 7 / 8 * params * (2 * 2 + 4));
    // Across: of each pair all-reduces the eighth that both hold, 2 (n - 1) / n with n = 2.
    expect_bytes(&p, SAND_LINK_NIC_UP, 16 * m * params / 8 * 4);
    // It pays where the network is slow against the ports, not everywhere.
    f.nic.usable = 0.1;
    const double grouped_s = fixture_solve(&f.question).step_s;
    f.job.split.shard_group = 0;
    const struct sand_step_profile whole = fixture_solve(&f.question);
    cr_expect_gt(whole.link_B[SAND_LINK_NIC_UP], p.link_B[SAND_LINK_NIC_UP]);
    cr_expect_gt(whole.step_s, grouped_s);
    // Each group holds all, so each of its GPUs twice as much as with one group.
    cr_expect_float_eq(p.memory.weights_B, 2 * whole.memory.weights_B, 1);
    cr_expect_float_eq(p.memory.gradients_B, 2 * whole.memory.gradients_B, 1);
    cr_expect_float_eq(p.memory.optimizer_B, 2 * whole.memory.optimizer_B, 1);
    fixture_free(&f);
}

Test(step_groups, an_optimizer_in_groups_reduces_over_all_and_gathers_inside)
{
    struct step_case what = {.n_nodes = 2, .dp = 16, .shard_group = 8, .no_overlap = 1};
    const struct sand_step_profile p = solve_case(&what);
    const double params = held().dense;
    // One rotation a channel: eight rings of sixteen, each an eighth of the bytes. Inside the node
    // seven of eight hops of every ring; between nodes the eighth.
    const double ring_B = 2.0 * 15 / 16 * params * 4 / 8;
    expect_bytes(&p, SAND_LINK_NIC_UP, 2 * 8 * ring_B);
    expect_bytes(&p, SAND_LINK_SCALEUP_OUT, 2 * 7 * 8 * ring_B + 16 * 7.0 / 8 * params * 2);
    fixture_free(&f);
}

Test(step_groups, one_group_of_all_is_plain_sharding)
{
    for (int sharding = 0; sharding < 3; sharding++) {
        struct step_case what = {
            .n_nodes = 2, .dp = 8, .cp = 2, .sharding = (enum sand_sharding)sharding};
        const struct sand_step_profile plain = solve_case(&what);
        f.job.split.shard_group = 16;
        const struct sand_step_profile grouped = fixture_solve(&f.question);
        expect_same(&plain, &grouped);
        fixture_free(&f);
    }
}

Test(step_groups, groups_of_one_are_data_parallelism)
{
    struct step_case what = {.n_nodes = 2, .dp = 16, .no_sharding = 1};
    const struct sand_step_profile plain = solve_case(&what);
    f.job.split.shard_group = 1;
    for (int sharding = 0; sharding < 3; sharding++) {
        f.job.split.sharding = (enum sand_sharding)sharding;
        f.job.split.distributed_optimizer = 1;
        const struct sand_step_profile grouped = fixture_solve(&f.question);
        expect_same(&plain, &grouped);
    }
    fixture_free(&f);
}

// Sixteen copies, groups of eight: every expert is on two, in different nodes.
Test(step_groups, gradients_of_experts_go_round_their_own_copies)
{
    struct step_case what = {.n_nodes = 2, .dp = 16, .ep = 8, .no_overlap = 1, .no_sharding = 1};
    fixture_init(&f, &what);
    f.software.ep_exposed = 0; // no tokens on the links
    const struct sand_step_profile p = fixture_solve(&f.question);
    const struct sand_params on = held();
    const double dense_B = 2.0 * 15 / 16 * on.dense * 4 / 8, expert_B = 2.0 / 2 * on.expert * 4;
    expect_bytes(&p, SAND_LINK_NIC_UP, 16 * (dense_B + expert_B));
    expect_bytes(&p, SAND_LINK_SCALEUP_OUT, 2 * 7 * 8 * dense_B);
    // On one copy each, nothing of theirs is reduced.
    f.job.split.ep = 16;
    const struct sand_step_profile single = fixture_solve(&f.question);
    expect_bytes(&single, SAND_LINK_NIC_UP, 16 * dense_B);
    cr_expect_lt(single.exposed_dp_s, p.exposed_dp_s);
    fixture_free(&f);
}

// Groups of eight copies with experts over four: two copies of an expert in each group share it
// out, four groups reduce what they hold.
Test(step_groups, experts_are_sharded_inside_a_group)
{
    struct step_case what = {.n_nodes = 4,
                             .dp = 32,
                             .ep = 4,
                             .shard_group = 8,
                             .sharding = SAND_SHARD_GRADIENTS,
                             .micro_batches = 2};
    fixture_init(&f, &what);
    f.software.ep_exposed = 0;
    const struct sand_step_profile p = fixture_solve(&f.question);
    const struct sand_params on = held();
    const double m = 2, shards = on.dense / 8 + on.expert / 2;
    expect_bytes(&p, SAND_LINK_NIC_UP, 32 * m * 2.0 * 3 / 4 * shards * 4);
    const double inside = 7.0 / 8 * on.dense + 1.0 / 2 * on.expert;
    expect_bytes(&p, SAND_LINK_SCALEUP_OUT, 32 * m * inside * (2 + 4));
    fixture_free(&f);
}

Test(step_groups, a_group_that_cuts_through_experts_is_refused)
{
    struct step_case what = {.n_nodes = 3, .dp = 24, .ep = 8};
    struct sand_diag diag = {0};
    fixture_init(&f, &what);
    f.job.split.shard_group = 12; // experts come back after 8 copies
    cr_expect_eq(sand_split_check(&f.model, &f.job.split, 24, &diag), SAND_ERR_INPUT);
    cr_expect_not_null(strstr(diag.messages[0].text, "shard_group 12"), "%s",
                       diag.messages[0].text);
    sand_diag_clear(&diag);
    f.job.split.shard_group = 4; // no copy twice in a group: not cut at all
    cr_expect_eq(sand_split_check(&f.model, &f.job.split, 24, NULL), SAND_OK);
    fixture_free(&f);
}

// Sharded parameters tensor by tensor: the same bytes as in one piece a layer, and the latency of
// every collective; a third gather where all is recomputed.
Test(step_groups, tensors_are_gathered_one_after_another)
{
    struct step_case what = {.n_nodes = 1, .dp = 8, .no_overlap = 1};
    fixture_init(&f, &what);
    f.job.split.sharding = SAND_SHARD_PARAMETERS;
    const struct sand_step_profile whole = fixture_solve(&f.question);
    f.software.gathers_tensors = 1;
    const struct sand_step_profile apart = fixture_solve(&f.question);
    const double tensors = sand_split_chunk_tensors(&f.model, &f.job.split, 0, 0).dense, layers = 2;
    const double params = held().dense, more = tensors - layers;
    const double one_s = f.coll_kernels[0].base_s + 7 * f.coll_kernels[0].scaleup_s;
    const double m = sand_split_micro_batches(&f.job.split);
    cr_expect_float_eq(apart.exposed_dp_s - whole.exposed_dp_s, m * 3 * more * one_s, 1e-8);
    cr_expect_float_eq(apart.step_s - whole.step_s, m * 3 * more * one_s, 1e-8);
    f.job.split.recompute = SAND_RECOMPUTE_FULL;
    const struct sand_step_profile again = fixture_solve(&f.question);
    const double gather_s =
        tensors * one_s + params * 2 * 7 / 8 / (f.scaleup.rate_Bps * f.scaleup.usable);
    cr_expect_float_eq(again.exposed_dp_s - apart.exposed_dp_s, m * gather_s, 1e-8);
    fixture_free(&f);
}

// Whole tensors: gradients are all-reduced, and each of the eight owners broadcasts, one after
// another: all weights over every hop, and eight times the latency of a broadcast.
Test(step_groups, owners_of_tensors_broadcast_one_after_another)
{
    struct step_case what = {.n_nodes = 1, .dp = 8, .no_overlap = 1};
    fixture_init(&f, &what);
    f.software.state_shards = SAND_STATE_TENSORS;
    const struct sand_step_profile p = fixture_solve(&f.question);
    const double params = held().dense, reduced_B = 2.0 * 7 / 8 * params * 4;
    expect_bytes(&p, SAND_LINK_SCALEUP_OUT, 8 * (reduced_B + params * 2));
    const double Bps = f.scaleup.rate_Bps * f.scaleup.usable;
    const struct sand_coll_kernel *ring = &f.coll_kernels[0];
    const double want_s =
        (reduced_B + params * 2) / Bps + 9 * ring->base_s + (14 + 8 * 7) * ring->scaleup_s;
    cr_expect_float_eq(p.exposed_dp_s, want_s, 1e-8, "%.9g, not %.9g", p.exposed_dp_s, want_s);
    // No more owners than tensors: two layers of seven, embedding, norm and output.
    cr_expect_eq(sand_split_chunk_tensors(&f.model, &f.job.split, 0, 0).dense, 2 * 7 + 1 + 2);
    // Sharded parameters are slices whatever the optimizer owned.
    f.job.split.sharding = SAND_SHARD_PARAMETERS;
    const struct sand_step_profile sharded = fixture_solve(&f.question);
    f.software.state_shards = SAND_STATE_FLAT;
    const struct sand_step_profile flat = fixture_solve(&f.question);
    expect_same(&sharded, &flat);
    fixture_free(&f);
}
