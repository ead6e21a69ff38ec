// Folding is exact: the quotient and the full simulation give the same step.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>

#include "rng.h"
#include "stepfixture.h"
#include "stepproblem.h"

static struct step_fixture f;

static void close_to(double a, double b, const char *what)
{
    cr_assert(fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))), "%s: folded %.15g, full %.15g",
              what, a, b);
}

// Compares the folded with the full answer for the question as it stands.
static struct sand_step_profile compare(void)
{
    f.question.folding = SAND_FOLD;
    const struct sand_step_profile folded = fixture_solve(&f.question);
    f.question.folding = SAND_NO_FOLD;
    const struct sand_step_profile full = fixture_solve(&f.question);
    f.question.folding = SAND_FOLD;
    close_to(folded.step_s, full.step_s, "step_s");
    close_to(folded.mfu, full.mfu, "mfu");
    close_to(folded.compute_s, full.compute_s, "compute_s");
    close_to(folded.optimizer_s, full.optimizer_s, "optimizer_s");
    close_to(folded.exposed_tp_s, full.exposed_tp_s, "exposed_tp_s");
    close_to(folded.exposed_cp_s, full.exposed_cp_s, "exposed_cp_s");
    close_to(folded.exposed_pp_s, full.exposed_pp_s, "exposed_pp_s");
    close_to(folded.exposed_dp_s, full.exposed_dp_s, "exposed_dp_s");
    close_to(folded.exposed_ep_s, full.exposed_ep_s, "exposed_ep_s");
    close_to(folded.bubble_s, full.bubble_s, "bubble_s");
    cr_assert_eq(folded.critical_stage, full.critical_stage);
    cr_assert_eq(folded.n_flows_full, full.n_flows_full, "flows of the unfolded problem");
    cr_assert_eq(folded.n_links_full, full.n_links_full, "links of the unfolded problem");
    cr_assert_eq(full.n_flows, full.n_flows_full);
    for (int c = 0; c < SAND_LINK_CLASSES; c++) {
        cr_assert_float_eq(folded.link_B[c], full.link_B[c], 1e-9 * full.link_B[c] + 1e-9,
                           "bytes of %s", sand_link_class_name((enum sand_link_class)c));
        close_to(folded.link_utilisation[c], full.link_utilisation[c],
                 sand_link_class_name((enum sand_link_class)c));
    }
    cr_assert_leq(folded.n_actors, full.n_actors);
    cr_assert_leq(folded.n_flows, full.n_flows);
    return folded;
}

static const struct step_case shapes[] = {
    // GPUs: 8 to 1,024
    {.n_nodes = 1, .tp = 8, .dp = 1},
    {.n_nodes = 1, .tp = 2, .pp = 2, .dp = 2},
    {.n_nodes = 4, .tp = 2, .pp = 4, .dp = 4, .schedule = SAND_SCHEDULE_ZERO_BUBBLE},
    {.n_nodes = 4, .tp = 2, .pp = 4, .dp = 4, .schedule = SAND_SCHEDULE_GPIPE},
    // experts: inside a node, across nodes, cut by tensor parallelism or not, folded over it
    {.n_nodes = 2, .tp = 1, .pp = 2, .dp = 8, .ep = 4},
    {.n_nodes = 4, .tp = 1, .pp = 1, .dp = 32, .ep = 16},
    {.n_nodes = 4, .tp = 4, .pp = 2, .dp = 4, .ep = 4},
    {.n_nodes = 4, .tp = 8, .pp = 1, .dp = 4, .ep = 16, .expert_tp = 1},
    {.n_nodes = 4,
     .tp = 2,
     .pp = 2,
     .dp = 8,
     .ep = 16,
     .expert_tp = 1,
     .dispatch = SAND_DISPATCH_DEDUPLICATED,
     .leaf_oversubscription = 4},
    {.n_nodes = 8,
     .tp = 2,
     .pp = 2,
     .dp = 8,
     .cp = 2,
     .ep = 8,
     .virtual_stages = 2,
     .order = SAND_RANKS_TP_CP_DP_PP,
     .nics_per_node = 4},
    // shard groups: a node, two nodes, part of a node; with experts on fewer copies, and on more
    {.n_nodes = 4, .dp = 32, .shard_group = 8, .sharding = SAND_SHARD_PARAMETERS},
    {.n_nodes = 4,
     .dp = 32,
     .shard_group = 16,
     .sharding = SAND_SHARD_GRADIENTS,
     .leaf_oversubscription = 4},
    {.n_nodes = 4,
     .tp = 2,
     .pp = 2,
     .dp = 4,
     .cp = 2,
     .shard_group = 2,
     .sharding = SAND_SHARD_PARAMETERS,
     .nics_per_node = 4},
    {.n_nodes = 4, .dp = 32, .shard_group = 8, .no_overlap = 1},
    {.n_nodes = 4, .dp = 32, .ep = 4, .shard_group = 8, .sharding = SAND_SHARD_PARAMETERS},
    {.n_nodes = 4, .dp = 32, .ep = 16, .shard_group = 8},
    {.n_nodes = 2, .tp = 1, .dp = 16},
    {.n_nodes = 4, .tp = 4, .pp = 4, .dp = 2},
    {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4},
    {.n_nodes = 8, .tp = 8, .pp = 4, .dp = 2, .virtual_stages = 2},
    {.n_nodes = 8, .tp = 8, .pp = 8, .dp = 1, .no_overlap = 1},
    {.n_nodes = 8, .tp = 8, .dp = 8, .no_sharding = 1},
    {.n_nodes = 8, .tp = 2, .pp = 2, .dp = 16, .nics_per_node = 4},
    {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .nics_per_node = 1, .leaf_oversubscription = 4},
    {.n_nodes = 8, .tp = 16, .pp = 2, .dp = 2},
    {.n_nodes = 8,
     .gpus_per_node = 4,
     .nics_per_node = 4,
     .tp = 4,
     .pp = 2,
     .dp = 4,
     .is_static = 1},
    {.n_nodes = 12, .tp = 8, .pp = 3, .dp = 4, .leaf_oversubscription = 3},
    {.n_nodes = 16,
     .tp = 8,
     .pp = 4,
     .dp = 4,
     .tiers = 3,
     .leaf_oversubscription = 2,
     .pod_oversubscription = 8,
     .leaves_per_pod = 2},
    {.n_nodes = 16,
     .tp = 8,
     .pp = 4,
     .dp = 4,
     .virtual_stages = 2,
     .tiers = 3,
     .pod_oversubscription = 7,
     .leaves_per_pod = 3,
     .nodes_per_leaf = 2},
    {.n_nodes = 16,
     .tp = 4,
     .pp = 4,
     .dp = 8,
     .nodes_per_leaf = 3,
     .leaf_oversubscription = 5,
     .full_recompute = 1},
    {.n_nodes = 16, .tp = 8, .pp = 2, .dp = 8, .is_static = 1, .leaf_oversubscription = 2},
    {.n_nodes = 32,
     .tp = 8,
     .pp = 8,
     .dp = 4,
     .tiers = 3,
     .leaf_oversubscription = 0.5,
     .pod_oversubscription = 7,
     .leaves_per_pod = 4},
    {.n_nodes = 64, .tp = 8, .pp = 4, .dp = 16, .leaf_oversubscription = 7},
    {.n_nodes = 128,
     .tp = 8,
     .pp = 8,
     .dp = 16,
     .tiers = 3,
     .pod_oversubscription = 7,
     .leaves_per_pod = 16,
     .micro_batches = 8},
    {.n_nodes = 128, .tp = 8, .pp = 4, .dp = 32, .leaf_oversubscription = 3, .micro_batches = 4},
    // Sharded: weights and gradients travel with every micro-batch.
    {.n_nodes = 1, .dp = 8, .sharding = SAND_SHARD_PARAMETERS, .micro_batches = 2},
    {.n_nodes = 4, .dp = 32, .sharding = SAND_SHARD_PARAMETERS, .dp_exposed = 0.4},
    {.n_nodes = 4, .dp = 32, .sharding = SAND_SHARD_GRADIENTS, .dp_exposed = 0.4},
    {.n_nodes = 4, .dp = 32, .sharding = SAND_SHARD_PARAMETERS, .no_overlap = 1},
    {.n_nodes = 8,
     .nics_per_node = 4,
     .dp = 64,
     .sharding = SAND_SHARD_PARAMETERS,
     .leaf_oversubscription = 3,
     .dp_exposed = 0.2},
    {.n_nodes = 8,
     .tp = 4,
     .pp = 4,
     .dp = 4,
     .sharding = SAND_SHARD_PARAMETERS,
     .virtual_stages = 2,
     .dp_exposed = 0.3,
     .leaf_oversubscription = 2},
    {.n_nodes = 8, .tp = 2, .pp = 2, .dp = 16, .sharding = SAND_SHARD_GRADIENTS, .dp_exposed = 1},
    // Context parallelism, inside a node, across nodes, and under both rank orders.
    {.n_nodes = 2, .tp = 2, .cp = 4, .dp = 2},
    {.n_nodes = 8, .tp = 4, .cp = 4, .pp = 2, .dp = 2, .leaf_oversubscription = 2},
    {.n_nodes = 8, .tp = 8, .cp = 2, .pp = 2, .dp = 2, .order = SAND_RANKS_TP_CP_DP_PP},
    {.n_nodes = 8,
     .tp = 2,
     .cp = 2,
     .dp = 16,
     .sharding = SAND_SHARD_PARAMETERS,
     .dp_exposed = 0.3,
     .leaf_oversubscription = 3},
    {.n_nodes = 8, .tp = 2, .pp = 4, .dp = 8, .order = SAND_RANKS_TP_CP_DP_PP, .dp_exposed = 0.5},
    {.n_nodes = 16,
     .tp = 4,
     .cp = 2,
     .pp = 4,
     .dp = 4,
     .virtual_stages = 2,
     .order = SAND_RANKS_TP_CP_DP_PP,
     .dp_exposed = 0.2,
     .partial_recompute = 0.5,
     .leaf_oversubscription = 3},
};

ParameterizedTestParameters(fold, equals_full)
{
    return cr_make_param_array(const struct step_case, shapes, sizeof shapes / sizeof *shapes);
}

ParameterizedTest(const struct step_case *what, fold, equals_full, .timeout = 120)
{
    fixture_init(&f, what);
    const struct sand_step_profile p = compare();
    const double sum = p.compute_s + p.exposed_tp_s + p.exposed_cp_s + p.exposed_pp_s +
                       p.exposed_dp_s + p.bubble_s;
    cr_assert_float_eq(sum, p.step_s, 1e-9, "the parts sum to %.12g, the step takes %.12g", sum,
                       p.step_s);
    fixture_free(&f);
}

Test(fold, one_actor_per_stage_when_all_replicas_are_equal)
{
    fixture_init(&f, &(struct step_case){.n_nodes = 64, .tp = 8, .pp = 4, .dp = 16});
    const struct sand_step_profile p = fixture_solve(&f.question);
    cr_assert_eq(p.n_actors, 4);
    cr_assert_eq(p.n_actors_full, 64);
    fixture_free(&f);
}

static uint32_t draw(uint64_t index, uint64_t choice, uint32_t n)
{
    const struct sand_rng rng = {2026, 0};
    return (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, index, choice) % n);
}

// Degrades one random component: a GPU's clock, or any link of the fabric that is in use.
static void degrade(uint64_t index)
{
    const double speed = 0.2 + 0.1 * draw(index, 0, 8);
    if (draw(index, 1, 4) == 0) {
        f.gpu_speed[draw(index, 2, f.job.n_nodes * f.node.n_gpus)] = (float)speed;
        return;
    }
    f.fabric->links[draw(index, 3, f.fabric->n_links)].speed = speed;
}

static const struct step_case degraded_shapes[] = {
    {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .leaf_oversubscription = 2},
    {.n_nodes = 16,
     .tp = 8,
     .pp = 4,
     .dp = 4,
     .tiers = 3,
     .leaves_per_pod = 2,
     .pod_oversubscription = 7},
    {.n_nodes = 8, .tp = 4, .pp = 4, .dp = 4, .virtual_stages = 2, .leaf_oversubscription = 3},
    {.n_nodes = 8, .tp = 2, .pp = 2, .dp = 16, .nics_per_node = 4},
    {.n_nodes = 16, .tp = 8, .pp = 2, .dp = 8, .is_static = 1, .leaf_oversubscription = 2},
    {.n_nodes = 8,
     .tp = 2,
     .cp = 2,
     .dp = 16,
     .sharding = SAND_SHARD_PARAMETERS,
     .dp_exposed = 0.3,
     .leaf_oversubscription = 3},
};

static void degrade_ten(size_t shape)
{
    for (uint64_t k = 0; k < 10; k++) {
        fixture_init(&f, &degraded_shapes[shape]);
        degrade(shape * 10 + k);
        compare();
        fixture_free(&f);
    }
}

// Fifty random components, ten a shape; one test each so that they run side by side.
Test(fold, degraded_two_tiers, .timeout = 120)
{
    degrade_ten(0);
}
Test(fold, degraded_three_tiers, .timeout = 120)
{
    degrade_ten(1);
}
Test(fold, degraded_interleaved, .timeout = 120)
{
    degrade_ten(2);
}
Test(fold, degraded_shared_nics, .timeout = 120)
{
    degrade_ten(3);
}
Test(fold, degraded_static_spreading, .timeout = 120)
{
    degrade_ten(4);
}

Test(fold, degraded_sharded_context_parallel, .timeout = 120)
{
    degrade_ten(5);
}

// One of every class of link, and a GPU: the slow one must also slow the step or leave it alone,
// never speed it up.
Test(fold, degraded_one_of_every_class, .timeout = 120)
{
    const struct step_case shape = {.n_nodes = 16,
                                    .tp = 8,
                                    .pp = 4,
                                    .dp = 4,
                                    .tiers = 3,
                                    .leaves_per_pod = 2,
                                    .pod_oversubscription = 7};
    fixture_init(&f, &shape);
    const double healthy_s = fixture_solve(&f.question).step_s;
    fixture_free(&f);
    for (int c = 0; c <= SAND_LINK_CLASSES; c++) {
        fixture_init(&f, &shape);
        const uint32_t end = c + 1 < SAND_LINK_CLASSES ? f.fabric->first[c + 1] : f.fabric->n_links;
        if (c == SAND_LINK_CLASSES)
            f.gpu_speed[37] = 0.5f;
        else if (f.fabric->first[c] + 1 < end) // a tree has no torus links
            f.fabric->links[f.fabric->first[c] + 1].speed = 0.1;
        cr_assert_geq(compare().step_s, healthy_s * (1 - 1e-12));
        fixture_free(&f);
    }
}

// Two jobs that differ only by which equal nodes they got are the same problem.
Test(fold, digest_knows_equal_placements)
{
    const struct step_case shape = {
        .n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .leaf_oversubscription = 3};
    uint8_t digest[3][32];
    for (uint32_t k = 0; k < 3; k++) {
        fixture_init(&f, &shape);
        for (uint32_t i = 0; i < 8; i++)
            f.nodes[i] += k == 1 ? 2 : 0; // one leaf further
        if (k == 2)
            f.fabric->links[f.fabric->first[SAND_LINK_NIC_UP] + 5].speed = 0.5;
        struct sand_step_problem *problem = NULL;
        cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, NULL), SAND_OK);
        sand_step_digest(problem, digest[k]);
        sand_step_problem_free(problem);
        fixture_free(&f);
    }
    cr_assert_arr_eq(digest[0], digest[1], 32, "moved by a leaf: the same problem");
    cr_assert_neq(memcmp(digest[0], digest[2], 32), 0, "a slow NIC: another problem");
}

// How many shared links are left out of the first problem and checked afterwards.
static size_t watched(void)
{
    struct sand_step_problem *problem = NULL;
    cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, NULL), SAND_OK);
    const size_t n = problem->n_watches;
    sand_step_problem_free(problem);
    return n;
}

// Links that might bind are left out first; where the solution would overload them they come in.
// Two stages a leaf: what leaves it upwards is one stage's forward sends and the other's backward
// sends, sixteen NICs in all, which never send at the same time in this pipeline.
Test(fold, shared_links_come_in_only_where_they_bind)
{
    struct step_case shape = {
        .n_nodes = 8, .tp = 8, .pp = 8, .micro_batches = 12, .leaf_oversubscription = 1.5};
    fixture_init(&f, &shape);
    cr_assert_gt(watched(), 0, "sixteen NICs could fill a 1.5:1 leaf");
    compare();
    fixture_solve(&f.question);
    cr_assert_eq(fixture_rounds, 1, "but they never do");
    fixture_free(&f);
    shape.leaf_oversubscription = 6;
    fixture_init(&f, &shape);
    compare();
    fixture_solve(&f.question);
    cr_assert_eq(fixture_rounds, 2, "one stage's eight NICs overload a 6:1 leaf");
    fixture_free(&f);
}
