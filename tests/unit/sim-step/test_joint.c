// Jobs on common links: skeletons against whole pipelines, closed forms, canonical order.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "mem.h"
#include "stepfixture.h"

// Two equal jobs on every other node, so that all leaf uplinks are shared.
struct pair {
    struct step_fixture f;
    uint32_t nodes[2][64];
    struct sand_step_question steps[2];
    uint32_t *links;
    size_t n_links;
};

static void pair_init(struct pair *p, const struct step_case *what)
{
    fixture_init(&p->f, what);
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < what->n_nodes; i++)
            p->nodes[k][i] = 2 * i + k;
        p->steps[k] = p->f.question;
        p->steps[k].nodes = p->nodes[k];
    }
    p->n_links = fixture_common(&p->steps[0], &p->steps[1], &p->links);
    cr_assert_gt(p->n_links, 0);
}

static void pair_free(struct pair *p)
{
    sand_free(p->links);
    fixture_free(&p->f);
}

static struct sand_joint_solution solve_pair(const struct pair *p, size_t n, int pipelines)
{
    const struct sand_joint_question question = {.steps = p->steps,
                                                 .n = n,
                                                 .links = p->links,
                                                 .n_links = p->n_links,
                                                 .pipelines = pipelines};
    return fixture_joint(&question, NULL);
}

// At most 8 nodes: the cluster of the fixture has 8 more than the job.
static const struct step_case shapes[] = {
    {.n_nodes = 8, .tp = 8, .dp = 8, .nodes_per_leaf = 4, .leaf_oversubscription = 4},
    {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4, .nodes_per_leaf = 2, .leaf_oversubscription = 4},
    {.n_nodes = 8, .tp = 8, .pp = 4, .dp = 2, .nodes_per_leaf = 4, .leaf_oversubscription = 8},
    {.n_nodes = 8,
     .tp = 8,
     .pp = 2,
     .dp = 4,
     .virtual_stages = 2,
     .nodes_per_leaf = 2,
     .leaf_oversubscription = 4},
    {.n_nodes = 4,
     .tp = 8,
     .dp = 4,
     .nodes_per_leaf = 2,
     .leaf_oversubscription = 4,
     .no_overlap = 1},
    {.n_nodes = 4,
     .tp = 1,
     .dp = 32,
     .nodes_per_leaf = 2,
     .leaf_oversubscription = 4,
     .sharding = SAND_SHARD_PARAMETERS,
     .dp_exposed = 0.2},
    {.n_nodes = 4,
     .tp = 1,
     .dp = 32,
     .nodes_per_leaf = 2,
     .leaf_oversubscription = 4,
     .sharding = SAND_SHARD_PARAMETERS,
     .shard_group = 8,
     .dp_exposed = 0.2},
    {.n_nodes = 4, .tp = 4, .dp = 4, .cp = 2, .nodes_per_leaf = 2, .leaf_oversubscription = 8},
};

Test(joint, alone_is_the_step_itself)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct pair p;
        pair_init(&p, &shapes[i]);
        const double alone_s = fixture_solve(&p.steps[0]).step_s;
        for (int pipelines = 0; pipelines < 2; pipelines++) {
            const struct sand_joint_solution s = solve_pair(&p, 1, pipelines);
            cr_expect_float_eq(s.parts[0].step_s, alone_s, 1e-9 * alone_s, "%zu: %.17g, %.17g", i,
                               s.parts[0].step_s, alone_s);
        }
        pair_free(&p);
    }
}

Test(joint, skeletons_are_within_a_percent_of_pipelines, .timeout = 300)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct pair p;
        pair_init(&p, &shapes[i]);
        const struct sand_joint_solution bones = solve_pair(&p, 2, 0), full = solve_pair(&p, 2, 1);
        for (int k = 0; k < 2; k++)
            cr_expect_float_eq(bones.parts[k].step_s, full.parts[k].step_s,
                               0.01 * full.parts[k].step_s, "shape %zu: %g, %g", i,
                               bones.parts[k].step_s, full.parts[k].step_s);
        pair_free(&p);
    }
}

static void digest_of(const struct pair *p, const struct sand_step_question *steps, size_t n,
                      uint32_t asked, uint8_t digest[32])
{
    const struct sand_joint_question question = {
        .steps = steps, .n = n, .links = p->links, .n_links = p->n_links, .asked = asked};
    struct sand_joint_problem *problem = fixture_prepare(&question);
    sand_joint_digest(problem, digest);
    sand_joint_problem_free(problem);
}

// Few jobs are one question, whoever is asked for. Of more, which of two equal jobs is asked for
// makes no problem of its own, which kind of job does.
Test(joint, equal_jobs_are_one_question)
{
    struct pair p;
    pair_init(&p, &shapes[0]);
    struct sand_job_spec other = p.f.job;
    other.split.global_batch *= 2;
    struct sand_step_question steps[5];
    for (int i = 0; i < 5; i++) {
        steps[i] = p.steps[i % 2];
        if (i == 4)
            steps[i].job = &other;
    }
    uint8_t digests[5][32], all[32];
    digest_of(&p, steps, 2, 0, all);
    digest_of(&p, steps, 2, 1, digests[0]);
    cr_expect_arr_eq(all, digests[0], 32);
    for (uint32_t i = 0; i < 5; i++)
        digest_of(&p, steps, 5, i + 1, digests[i]);
    digest_of(&p, steps, 5, 0, all);
    cr_expect_arr_eq(digests[0], digests[2], 32);
    cr_expect_arr_eq(digests[1], digests[3], 32);
    cr_expect_arr_neq(digests[0], digests[4], 32);
    cr_expect_arr_neq(digests[0], all, 32);
    pair_free(&p);
}

// Two equal jobs that compute and then send for a share s of their period over a link that each can
// fill: from evenly spread offsets each loses half of the time both send. By the ergodic mean that
// is s^2 of the period (each other's traffic meets a share s of the time, and costs as much again
// as it takes): the steps grow to 1 + s^2.
Test(joint, two_jobs_lose_the_square_of_their_share, .timeout = 60)
{
    struct pair p;
    pair_init(&p, &shapes[4]); // nothing overlaps: all traffic is exposed
    struct sand_link_load *loads;
    size_t n = 0;
    const double alone_s = fixture_loads(p.steps[0], &loads, &n).step_s;
    double share = 0;
    for (size_t i = 0; i < n; i++)
        share = fmax(share, loads[i].mean_Bps / loads[i].capacity_Bps);
    const struct sand_joint_solution s = solve_pair(&p, 2, 0);
    cr_expect_gt(share, 0.1);
    cr_expect_float_eq(s.parts[0].step_s / alone_s, 1 + share * share, 0.02, "%g against %g",
                       s.parts[0].step_s / alone_s, 1 + share * share);
    sand_free(loads);
    pair_free(&p);
}

// The same jobs in another order, or each on the other's nodes (which changes nothing but names):
// the same numbers, part by part.
Test(joint, order_and_names_change_nothing, .timeout = 60)
{
    struct pair p;
    pair_init(&p, &shapes[1]);
    p.f.job.split.global_batch = 8;
    struct sand_job_spec other = p.f.job;
    other.split.global_batch *= 2;
    p.steps[1].job = &other;
    uint32_t places[2];
    struct sand_joint_question question = {
        .steps = p.steps, .n = 2, .links = p.links, .n_links = p.n_links};
    const struct sand_joint_solution s = fixture_joint(&question, places);
    const double first_s = s.parts[places[0]].step_s, second_s = s.parts[places[1]].step_s;
    cr_expect_gt(second_s, first_s);
    const struct sand_step_question swapped[2] = {p.steps[1], p.steps[0]};
    question.steps = swapped;
    const struct sand_joint_solution again = fixture_joint(&question, places);
    cr_expect_eq(again.parts[places[1]].step_s, first_s);
    cr_expect_eq(again.parts[places[0]].step_s, second_s);
    struct sand_step_question renamed[2] = {p.steps[0], p.steps[1]};
    renamed[0].nodes = p.nodes[1];
    renamed[1].nodes = p.nodes[0];
    question.steps = renamed;
    const struct sand_joint_solution other_names = fixture_joint(&question, places);
    cr_expect_eq(other_names.parts[places[0]].step_s, first_s);
    cr_expect_eq(other_names.parts[places[1]].step_s, second_s);
    pair_free(&p);
}

// A problem packed and unpacked is the same; cut or bent bytes are refused, never read beyond.
Test(joint, bytes_are_checked)
{
    struct pair p;
    pair_init(&p, &shapes[0]);
    const struct sand_joint_question question = {
        .steps = p.steps, .n = 2, .links = p.links, .n_links = p.n_links};
    fixture_joint_bytes(&question);
    pair_free(&p);
}

// The twin: 64 GPUs, two jobs over shared 4:1 uplinks, whole pipelines, everything in one engine
// for 1,000 steps from each of 8 spread start offsets. Against what the oracle answers: the mean
// within 3 %, and the mean of every run within the printed 5-95 % band widened by 3 %. Jobs of
// equal periods, where the offset a run starts from decides; of nearly equal ones; and of others.
static void check_twin(uint32_t micro_batches)
{
    struct pair p;
    pair_init(&p, &(struct step_case){.n_nodes = 4,
                                      .tp = 8,
                                      .dp = 4,
                                      .micro_batches = 4,
                                      .nodes_per_leaf = 4,
                                      .leaf_oversubscription = 4});
    struct sand_job_spec other = p.f.job;
    other.split.global_batch = 4 * micro_batches;
    p.steps[1].job = &other;
    struct sand_joint_question question = {
        .steps = p.steps, .n = 2, .links = p.links, .n_links = p.n_links};
    const struct sand_joint_solution oracle = fixture_joint(&question, NULL);
    question.pipelines = 1;
    question.n_steps = 1000;
    question.n_offsets = 8;
    const struct sand_joint_solution twin = fixture_joint(&question, NULL);
    for (int k = 0; k < 2; k++) {
        const struct sand_joint_part *said = &oracle.parts[k], *seen = &twin.parts[k];
        cr_expect_float_eq(said->step_s, seen->step_s, 0.03 * seen->step_s, "mean %g, twin %g",
                           said->step_s, seen->step_s);
        cr_expect_gt(seen->low_s, 0.97 * said->low_s, "%g under the band from %g", seen->low_s,
                     said->low_s);
        cr_expect_lt(seen->high_s, 1.03 * said->high_s, "%g over the band to %g", seen->high_s,
                     said->high_s);
    }
    const double alone_s = fixture_solve(&p.steps[0]).step_s;
    cr_expect_gt(fmin(twin.parts[0].step_s, twin.parts[1].step_s), 1.01 * alone_s, "they meet");
    pair_free(&p);
}

Test(joint, a_thousand_steps_agree_with_the_phase_average, .timeout = 600)
{
    check_twin(4);
    check_twin(5);
    check_twin(9);
}
