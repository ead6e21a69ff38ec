// The library's choice inside a step: what each algorithm puts on the links, counted by hand;
// folded and unfolded alike; the user's wishes. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "collcost.h"
#include "estimate.h"
#include "mem.h"
#include "stepfixture.h"
#include "train.h"

static struct step_fixture f;

// One kernel of each kind, without latency or fill: the fastest is the one that moves least.
static struct sand_coll_kernel kernels[] = {
    {.id = "ring", .algorithm = SAND_ALG_RING, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "ring-ll", .algorithm = SAND_ALG_RING, .protocol = SAND_PROTO_LL, .rate = 0.5},
    {.id = "tree", .algorithm = SAND_ALG_TREE, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "nvls", .algorithm = SAND_ALG_NVLS, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "nvlstree", .algorithm = SAND_ALG_NVLSTREE, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "sharp", .algorithm = SAND_ALG_SHARP, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "pairwise", .algorithm = SAND_ALG_PAIRWISE, .protocol = SAND_PROTO_SIMPLE, .rate = 1}};

// Data parallelism alone, plain all-reduces of 32-bit gradients; switches reduce at full rate.
static void open_case(const struct step_case *what)
{
    fixture_init(&f, what);
    f.collectives.kernels = kernels;
    f.collectives.n_kernels = sizeof kernels / sizeof *kernels;
    f.scaleup.alone = f.scaleup.multicast = 0.5;
    f.nic.usable = 0.35; // NICs are the bottleneck, not ports
    f.fabric->sharp = 1;
    f.job.split.sequence_parallel = 0;
    f.job.split.collectives.nvls = 1;
}

static uint32_t word(enum sand_algorithm algorithm)
{
    return 1 + (uint32_t)algorithm;
}

static struct sand_step_profile ask(enum sand_algorithm algorithm)
{
    f.job.split.collectives.dp = word(algorithm);
    f.job.split.collectives.sharp = algorithm == SAND_ALG_SHARP;
    return fixture_solve(&f.question);
}

static void expect(const char *what, double is, double want)
{
    cr_expect(fabs(is - want) <= 1e-9 * want + 1e-6, "%s: %.15g, not %.15g", what, is, want);
}

// Four nodes of eight, each GPU a replica. S bytes: a ring leaves every node 2 (n-1)/n S; of two
// trees over four nodes six edges carry S/2 each way; switches take S from every node once.
Test(step_kernels, bytes_out_of_a_node_are_the_algorithms)
{
    open_case(&(struct step_case){.n_nodes = 4, .dp = 32, .no_overlap = 1, .no_sharding = 1});
    const double S = 4 * sand_split_stage_params(&f.model, &f.job.split, 0).dense;
    expect("ring", ask(SAND_ALG_RING).link_B[SAND_LINK_NIC_UP], 4 * 2 * 31.0 / 32 * S);
    expect("trees", ask(SAND_ALG_TREE).link_B[SAND_LINK_NIC_UP], 2 * 3 * 2 * S / 2);
    expect("trees", ask(SAND_ALG_NVLSTREE).link_B[SAND_LINK_NIC_DOWN], 2 * 3 * 2 * S / 2);
    const struct sand_step_profile sharp = ask(SAND_ALG_SHARP);
    expect("up", sharp.link_B[SAND_LINK_NIC_UP], 4 * S);
    expect("down", sharp.link_B[SAND_LINK_NIC_DOWN], 4 * S);
    expect("ports", sharp.link_B[SAND_LINK_SCALEUP_OUT], 32 * S);
    // An inner node of a tree sends twice: time 2 S over eight NICs; the switch 1 S.
    expect("time", sharp.exposed_dp_s, S / (8 * 50e9 * 0.35));
    expect("time", ask(SAND_ALG_TREE).exposed_dp_s, 2 * S / (8 * 50e9 * 0.35));
    fixture_free(&f);
}

// A leaf passes one reduced buffer on, however many nodes are below it.
Test(step_kernels, switches_reduce_before_the_taper)
{
    open_case(&(struct step_case){.n_nodes = 8,
                                  .nodes_per_leaf = 4,
                                  .dp = 64,
                                  .leaf_oversubscription = 4,
                                  .no_overlap = 1,
                                  .no_sharding = 1});
    const double S = 4 * sand_split_stage_params(&f.model, &f.job.split, 0).dense;
    const struct sand_step_profile sharp = ask(SAND_ALG_SHARP);
    expect("leaf up", sharp.link_B[SAND_LINK_LEAF_UP], 2 * S);
    expect("no slower than its NICs", sharp.exposed_dp_s, S / (8 * 50e9 * 0.35));
    cr_expect_gt(ask(SAND_ALG_TREE).exposed_dp_s, 1.5 * sharp.exposed_dp_s);
    fixture_free(&f);
}

// In one domain: a ring 2 (n-1)/n S through every port, the switch S; LL twice the bytes.
Test(step_kernels, tensor_parallel_ports)
{
    open_case(&(struct step_case){.n_nodes = 1, .tp = 8});
    const double S = 2.0 * 4096 * 4096, layers = f.model.n_layers;
    const double times = 8 * 4 * layers * 2 * f.software.tp_exposed; // ports, all-reduces, batches
    const struct sand_step_profile best = fixture_solve(&f.question);
    expect("nvls", best.link_B[SAND_LINK_SCALEUP_OUT], times * S);
    f.job.split.collectives.tp = word(SAND_ALG_RING);
    const struct sand_step_profile ring = fixture_solve(&f.question);
    expect("ring", ring.link_B[SAND_LINK_SCALEUP_OUT], times * 2 * 7.0 / 8 * S);
    f.job.split.collectives.protocol = 1 + SAND_PROTO_LL;
    expect("LL", fixture_solve(&f.question).link_B[SAND_LINK_SCALEUP_OUT], times * 4 * 7.0 / 8 * S);
    cr_expect_lt(best.exposed_tp_s, ring.exposed_tp_s);
    // Half the rate in the switch: twice as long, and a ring is the faster again.
    f.job.split.collectives = (struct sand_split_collectives){.nvls = 1};
    f.scaleup.multicast = 0.25;
    expect("slow switch", fixture_solve(&f.question).exposed_tp_s, ring.exposed_tp_s);
    fixture_free(&f);
}

// All algorithms, over static routes and a taper, with rails folded or not: no difference.
Test(step_kernels, folded_is_unfolded)
{
    static const enum sand_algorithm all[] = {SAND_ALG_RING, SAND_ALG_TREE, SAND_ALG_NVLSTREE,
                                              SAND_ALG_SHARP};
    static const struct step_case cases[] = {
        {.n_nodes = 4, .tp = 2, .pp = 2, .dp = 8, .no_sharding = 1, .leaf_oversubscription = 3},
        {.n_nodes = 4, .tp = 4, .dp = 8, .no_sharding = 1, .dp_exposed = 0.3},
        {.n_nodes = 6, .tp = 8, .dp = 6, .no_sharding = 1, .is_static = 1},
        {.n_nodes = 4, .tp = 16, .dp = 2, .no_sharding = 1, .leaf_oversubscription = 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            if (all[k] == SAND_ALG_NVLSTREE && cases[i].tp >= 8)
                continue; // one rank a domain: nothing for its switch to reduce
            open_case(&cases[i]);
            f.nic.usable = 0.7;
            f.question.folding = SAND_FOLD;
            const struct sand_step_profile folded = ask(all[k]);
            f.question.folding = SAND_NO_FOLD;
            const struct sand_step_profile whole = fixture_solve(&f.question);
            cr_expect_float_eq(folded.step_s, whole.step_s, 1e-9 * whole.step_s,
                               "case %zu, %s: %.12g, not %.12g", i, sand_algorithm_name(all[k]),
                               folded.step_s, whole.step_s);
            for (int c = 0; c < SAND_LINK_CLASSES; c++)
                expect("bytes", folded.link_B[c], whole.link_B[c]);
            fixture_free(&f);
        }
}

// The same with optimizers that share out: gradients of S bytes go up the reduction trees and down
// again, of the weights, half as many bytes, every node gets what the three others have.
Test(step_kernels, switches_scatter_and_gather)
{
    open_case(&(struct step_case){.n_nodes = 4, .dp = 32, .no_overlap = 1});
    const double S = 4 * sand_split_stage_params(&f.model, &f.job.split, 0).dense;
    const struct sand_step_profile sharp = ask(SAND_ALG_SHARP);
    expect("up", sharp.link_B[SAND_LINK_NIC_UP], 4 * (S + 0.75 * S / 2));
    expect("down", sharp.link_B[SAND_LINK_NIC_DOWN], 4 * (S + 0.75 * S / 2));
    expect("time", sharp.exposed_dp_s, (S + 0.75 * S / 2) / (8 * 50e9 * 0.35));
    // Left to itself the library looks at the gradients, of which a ring moves 31/32.
    const double ring_s = ask(SAND_ALG_RING).step_s;
    f.job.split.collectives.sharp = 1;
    f.job.split.collectives.dp = 0;
    cr_expect_float_eq(fixture_solve(&f.question).step_s, ring_s, 1e-12);
    fixture_free(&f);
}

// The closed form has the same calls on the same routes.
Test(step_kernels, closed_form_follows_the_algorithm)
{
    open_case(&(struct step_case){.n_nodes = 8,
                                  .tp = 4,
                                  .dp = 16,
                                  .no_sharding = 1,
                                  .no_overlap = 1,
                                  .leaf_oversubscription = 2});
    static const enum sand_algorithm all[] = {SAND_ALG_RING, SAND_ALG_TREE, SAND_ALG_SHARP};
    for (size_t k = 0; k < 3; k++) {
        struct sand_step_layout layout;
        struct sand_step_estimate estimate;
        const double step_s = ask(all[k]).step_s;
        cr_assert_eq(sand_step_layout_find(&f.question, &layout, NULL), SAND_OK);
        sand_step_estimate(&f.question, &layout, &estimate);
        cr_expect_float_eq(estimate.step_s, step_s, 0.01 * step_s, "%s: %.9g, not %.9g",
                           sand_algorithm_name(all[k]), estimate.step_s, step_s);
    }
    fixture_free(&f);
}

static void expect_refusal(const char *words)
{
    struct sand_step_problem *problem = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_step_prepare(&f.question, NULL, 0, &problem, &diag), SAND_ERR_INPUT);
    cr_assert_gt(diag.n_messages, 0);
    cr_expect(strstr(diag.messages[0].text, words), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

Test(step_kernels, what_cannot_run_is_refused_with_the_reason)
{
    open_case(&(struct step_case){.n_nodes = 4, .tp = 4, .dp = 8});
    f.job.split.collectives.dp = word(SAND_ALG_TREE);
    expect_refusal("reduce_scatter cannot run under algorithm tree");
    f.job.split.distributed_optimizer = 0;
    f.job.split.collectives.dp = word(SAND_ALG_SHARP);
    expect_refusal("not switched on");
    f.fabric->sharp = 0;
    f.job.split.collectives.sharp = 1;
    expect_refusal("a network whose switches reduce");
    f.job.split.collectives.dp = 0;
    f.job.split.collectives.nvls = 0;
    f.job.split.collectives.tp = word(SAND_ALG_NVLS);
    expect_refusal("switched off");
    f.job.split.collectives.tp = 0;
    f.job.split.collectives.protocol = 1 + SAND_PROTO_LL128;
    expect_refusal("no such kernel");
    fixture_free(&f);
}

// Two wishes, two problems: no answer of the one is taken for the other's.
Test(step_kernels, wishes_are_in_the_digest)
{
    uint8_t digest[2][32];
    open_case(&(struct step_case){.n_nodes = 2, .tp = 8, .dp = 2, .no_sharding = 1});
    for (uint32_t k = 0; k < 2; k++) {
        struct sand_step_problem *problem = NULL;
        f.job.split.collectives.tp = k;
        cr_assert_eq(sand_step_prepare(&f.question, NULL, 0, &problem, NULL), SAND_OK);
        sand_step_digest(problem, digest[k]);
        sand_step_problem_free(problem);
    }
    cr_expect_neq(memcmp(digest[0], digest[1], 32), 0);
    fixture_free(&f);
}

Test(step_kernels, survives_running_out_of_memory)
{
    open_case(&(struct step_case){.n_nodes = 4, .tp = 4, .dp = 8, .no_sharding = 1});
    f.job.split.collectives.sharp = 1;
    f.job.split.collectives.dp = word(SAND_ALG_SHARP);
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t n = 1; rc != SAND_OK && n < 2000; n++) {
        struct sand_step_problem *problem = NULL;
        sand_mem_fail_at(n);
        rc = sand_step_prepare(&f.question, NULL, 0, &problem, NULL);
        sand_mem_fail_at(0);
        cr_expect(rc == SAND_OK || rc == SAND_ERR_NOMEM, "%d at allocation %d", (int)rc, (int)n);
        sand_step_problem_free(problem);
    }
    cr_expect_eq(rc, SAND_OK);
    fixture_free(&f);
}
