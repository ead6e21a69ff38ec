// Steps on every kind of fabric: folding stays exact, spreading, loss and failures act on the
// flows, scale-up domains of several nodes keep traffic off the network. SPDX-License-Identifier:
// GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "collective.h"
#include "mem.h"
#include "stepfixture.h"
#include "train.h"

static struct step_fixture f;

// The fixture's question on another fabric; `spec` without its link.
static void rewire(const struct step_case *what, const struct sand_fabric_spec *spec)
{
    fixture_init(&f, what);
    sand_fabric_free(f.fabric);
    f.cluster.fabric = *spec;
    f.cluster.fabric.link = &f.trunk;
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_fabric_build(&f.cluster, &f.fabric, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
    f.question.fabric = f.fabric;
}

// Folding is exact but where a hash picks links: there the flows of a class keep pace with the
// slowest of them. How far that may be off all flows played: with one queue pair few flows share a
// link, and those of experts, which are on their way all the time, differ most.
static double paced(void)
{
    if (f.fabric->spreading != SAND_SPREAD_HASH)
        return 1e-9;
    return f.fabric->n_paths > 1 ? 0.02 : f.job.split.ep > 1 ? 0.08 : 0.03;
}

static double compare(void)
{
    f.question.folding = SAND_NO_FOLD;
    const struct sand_step_profile full = fixture_solve(&f.question);
    f.question.folding = SAND_FOLD;
    const struct sand_step_profile folded = fixture_solve(&f.question);
    cr_assert_float_eq(folded.step_s, full.step_s, paced() * full.step_s,
                       "folded %.15g, full %.15g", folded.step_s, full.step_s);
    for (int c = 0; c < SAND_LINK_CLASSES; c++)
        cr_assert_float_eq(folded.link_B[c], full.link_B[c], 1e-9 * full.link_B[c] + 1e-9);
    return folded.step_s;
}

#define RAILS .kind = SAND_FABRIC_RAIL_OPTIMISED, .n_tiers = 2, .nodes_per_unit = 4

static const struct sand_fabric_spec fabrics[] = {
    {RAILS, .leaf_oversubscription = 2},
    {RAILS, .leaf_oversubscription = 2, .cross_rail = SAND_CROSS_RAIL_SPINE, .planes = 2},
    {RAILS, .leaf_oversubscription = 2, .spreading = SAND_SPREAD_ADAPTIVE,
     .adaptive_efficiency = 0.7},
    {RAILS, .leaf_oversubscription = 0.5, .spines = 4, .planes = 2,
     .spreading = SAND_SPREAD_STATIC},
    {RAILS, .leaf_oversubscription = 0.5, .spines = 4, .spreading = SAND_SPREAD_HASH,
     .queue_pairs = 4, .loss = 1e-4, .loss_window = 122},
    {RAILS, .leaf_oversubscription = 0.5, .spines = 4, .planes = 2, .spreading = SAND_SPREAD_HASH,
     .queue_pairs = 3},
    {.kind = SAND_FABRIC_RAIL_ONLY, .n_tiers = 1, .nodes_per_unit = 16, .leaf_oversubscription = 1},
    {.kind = SAND_FABRIC_RAIL_ONLY, .n_tiers = 2, .nodes_per_unit = 4, .leaf_oversubscription = 4},
    {.kind = SAND_FABRIC_DRAGONFLY_PLUS,
     .groups = 5,
     .leaves_per_pod = 2,
     .spines = 4,
     .endpoints_per_leaf = 16,
     .global_links = 2,
     .leaf_links = 2},
    {.kind = SAND_FABRIC_DRAGONFLY_PLUS,
     .groups = 5,
     .leaves_per_pod = 2,
     .spines = 4,
     .endpoints_per_leaf = 16,
     .global_links = 2,
     .leaf_links = 1,
     .nonminimal = 0.5,
     .spreading = SAND_SPREAD_HASH,
     .queue_pairs = 3},
    {.kind = SAND_FABRIC_DRAGONFLY,
     .groups = 9,
     .routers = 4,
     .endpoints_per_router = 4,
     .global_links = 2,
     .spreading = SAND_SPREAD_STATIC},
    {.kind = SAND_FABRIC_TORUS, .size = {8, 4, 4}, .spreading = SAND_SPREAD_STATIC},
    {.n_tiers = 3,
     .endpoints_per_leaf = 16,
     .leaf_oversubscription = 2,
     .leaves_per_pod = 2,
     .pod_oversubscription = 2,
     .spines = 4,
     .cores = 8,
     .spreading = SAND_SPREAD_HASH,
     .queue_pairs = 2},
};

Test(step_fabrics, folding_is_exact_on_every_kind, .timeout = 60)
{
    static const struct step_case shapes[] = {
        {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4},
        {.n_nodes = 8, .tp = 2, .pp = 1, .dp = 32, .no_overlap = 1},
    };
    for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
        for (size_t s = 0; s < 2; s++) {
            rewire(&shapes[s], &fabrics[i]);
            compare();
            f.fabric->links[f.fabric->first[SAND_LINK_NIC_UP] + 5].speed = 0.5;
            compare();
            fixture_free(&f);
        }
}

static const struct step_case one_ring = {
    .n_nodes = 8, .tp = 8, .dp = 8, .no_overlap = 1, .no_sharding = 1};

static double ring_s(double share)
{
    const struct sand_collective c = {SAND_ALL_REDUCE, 8,
                                      4 * sand_split_gpu_params(&f.model, &f.job.split, 0)};
    return fixture_ring_latency_s(&f, &c, 14) +
           c.bytes * 2 * 7 / 8 / (f.nic.rate_Bps * f.nic.usable * share);
}

// Loss: goodput (1-p)/(1-p+pW) of the line rate on every link.
Test(step_fabrics, loss_slows_every_flow)
{
    const struct sand_fabric_spec spec = {.n_tiers = 2,
                                          .endpoints_per_leaf = 16,
                                          .leaf_oversubscription = 1,
                                          .loss = 1e-3,
                                          .loss_window = 122};
    rewire(&one_ring, &spec);
    const double expected_s = ring_s((1 - 1e-3) / (1 - 1e-3 + 1e-3 * 122));
    cr_expect_float_eq(fixture_solve(&f.question).exposed_dp_s, expected_s, 1e-8);
    fixture_free(&f);
}

// Adaptive routing at 60 % of uplinks that carry all rings of a leaf: 60 % of the rate.
Test(step_fabrics, adaptive_efficiency_limits_the_uplinks)
{
    const struct sand_fabric_spec spec = {.n_tiers = 2,
                                          .endpoints_per_leaf = 8,
                                          .leaf_oversubscription = 1,
                                          .spreading = SAND_SPREAD_ADAPTIVE,
                                          .adaptive_efficiency = 0.6};
    rewire(&one_ring, &spec);
    cr_expect_float_eq(fixture_solve(&f.question).exposed_dp_s, ring_s(0.6), 1e-8);
    fixture_free(&f);
}

// Hash: all hops of the rings wait for the most loaded link: queue pairs / most queue pairs on one,
// counted here over the routes.
Test(step_fabrics, hash_costs_its_worst_collision)
{
    for (uint32_t pairs = 1; pairs <= 16; pairs *= 4) {
        const struct sand_fabric_spec spec = {.n_tiers = 2,
                                              .endpoints_per_leaf = 8,
                                              .leaf_oversubscription = 1,
                                              .spines = 8,
                                              .spreading = SAND_SPREAD_HASH,
                                              .hash_seed = 3,
                                              .queue_pairs = pairs};
        rewire(&one_ring, &spec);
        uint32_t *load = sand_calloc(f.fabric->n_links, sizeof *load), links[SAND_ROUTE_MAX];
        uint32_t most = 0;
        for (uint32_t nic = 0; nic < 64; nic++)
            for (uint32_t q = 0; q < pairs; q++) {
                const uint32_t n = sand_fabric_route_path(f.fabric, nic, (nic + 8) % 64, q, links);
                for (uint32_t i = 0; i < n; i++)
                    most = ++load[links[i]] > most ? load[links[i]] : most;
            }
        cr_assert_gt(most, pairs);
        cr_expect_float_eq(fixture_solve(&f.question).exposed_dp_s, ring_s((double)pairs / most),
                           1e-8, "%u pairs", pairs);
        sand_free(load);
        fixture_free(&f);
    }
}

// Seeds, queue pairs and shapes of jobs: near all flows played; the same seed gives the same step,
// another one another.
Test(step_fabrics, hashed_flows_keep_pace, .timeout = 120)
{
    static const struct step_case shapes[] = {
        {.n_nodes = 16, .tp = 8, .pp = 4, .dp = 4, .micro_batches = 8},
        {.n_nodes = 16, .tp = 4, .pp = 4, .dp = 8, .virtual_stages = 2, .micro_batches = 8},
        {.n_nodes = 8, .tp = 4, .pp = 2, .cp = 2, .dp = 4},
        {.n_nodes = 8, .tp = 2, .pp = 2, .dp = 16, .ep = 8},
    };
    for (uint32_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t pairs = 1; pairs <= 16; pairs *= 4) {
            double seen[3];
            for (uint32_t seed = 0; seed < 3; seed++) {
                const struct sand_fabric_spec spec = {.n_tiers = 3,
                                                      .endpoints_per_leaf = 8,
                                                      .leaf_oversubscription = 1,
                                                      .leaves_per_pod = 4,
                                                      .pod_oversubscription = 1,
                                                      .spines = 8,
                                                      .cores = 32,
                                                      .spreading = SAND_SPREAD_HASH,
                                                      .hash_seed = seed / 2,
                                                      .queue_pairs = pairs};
                rewire(&shapes[s], &spec);
                seen[seed] = compare();
                fixture_free(&f);
            }
            cr_expect_eq(seen[0], seen[1]);
            cr_expect_neq(seen[0], seen[2]);
        }
}

// 16,384 GPUs with 16 queue pairs: the engine gets few flows, and of 100,000 links those that may
// be the fullest.
Test(step_fabrics, hashed_steps_stay_small, .timeout = 120)
{
    const struct step_case shape = {.n_nodes = 2048, .tp = 8, .pp = 16, .dp = 128};
    const struct sand_fabric_spec spec = {.n_tiers = 3,
                                          .endpoints_per_leaf = 32,
                                          .leaf_oversubscription = 1,
                                          .leaves_per_pod = 32,
                                          .pod_oversubscription = 1,
                                          .spines = 32,
                                          .cores = 256,
                                          .spreading = SAND_SPREAD_HASH,
                                          .queue_pairs = 16};
    rewire(&shape, &spec);
    const struct sand_step_profile p = fixture_solve(&f.question);
    cr_expect_leq(p.n_flows, 100);
    cr_expect_leq(p.n_links, 2000);
    cr_expect_geq(p.n_links_full, 100000);
    fixture_free(&f);
}

// Nodes of one scale-up domain exchange nothing over the network.
Test(step_fabrics, a_domain_of_several_nodes)
{
    for (uint32_t domain = 1; domain <= 8; domain *= 2) {
        fixture_init(
            &f,
            &(struct step_case){
                .n_nodes = 8, .gpus_per_node = 4, .nics_per_node = 4, .tp = 8, .pp = 1, .dp = 4});
        f.node.scaleup_nodes = domain;
        const struct sand_fabric_spec spec = f.cluster.fabric;
        sand_fabric_free(f.fabric);
        f.cluster.fabric = spec;
        cr_assert_eq(sand_fabric_build(&f.cluster, &f.fabric, NULL), SAND_OK);
        f.question.fabric = f.fabric;
        const struct sand_step_profile p = fixture_solve(&f.question);
        cr_expect_eq(p.link_B[SAND_LINK_NIC_UP] > 0, domain < 8, "domains of %u nodes", domain);
        compare();
        fixture_free(&f);
    }
}

// Rails without a way between them and without a scale-up domain: said, with both ends.
Test(step_fabrics, what_is_cut_off_is_said)
{
    const struct sand_fabric_spec spec = {.kind = SAND_FABRIC_RAIL_ONLY,
                                          .n_tiers = 1,
                                          .nodes_per_unit = 16,
                                          .leaf_oversubscription = 1};
    rewire(&one_ring, &spec);
    cr_assert_eq(sand_fabric_fail_switch(f.fabric, 0, 3, NULL), SAND_OK);
    struct sand_diag diag = {0};
    struct sand_step_problem *problem = NULL;
    cr_expect_eq(sand_step_prepare(&f.question, NULL, 0, &problem, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect(strstr(diag.messages[0].text, "node 0 NIC 3 cannot reach node 1 NIC 3") != NULL, "%s",
              diag.messages[0].text);
    sand_diag_clear(&diag);
    fixture_free(&f);
}
