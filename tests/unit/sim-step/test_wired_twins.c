// A fabric and its twin wired switch by switch give the same step, to the last digit.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "stepfixture.h"
#include "wired_twin.h"

static struct step_fixture f;

#define RAILS .kind = SAND_FABRIC_RAIL_OPTIMISED, .n_tiers = 2, .nodes_per_unit = 4

static const struct sand_leaf_group groups[] = {{1, 1}, {3, 2}, {9, 1}, {8, 1}};

static const struct sand_fabric_spec fabrics[] = {
    {.n_tiers = 2, .endpoints_per_leaf = 16, .leaf_oversubscription = 4, .spines = 2},
    {.n_tiers = 3,
     .endpoints_per_leaf = 16,
     .leaf_oversubscription = 2,
     .leaves_per_pod = 2,
     .pod_oversubscription = 4,
     .spines = 4,
     .cores = 8},
    {.n_tiers = 3,
     .endpoints_per_leaf = 16,
     .leaf_oversubscription = 1,
     .leaves_per_pod = 2,
     .pod_oversubscription = 1,
     .spines = 4,
     .cores = 8,
     .spreading = SAND_SPREAD_STATIC},
    {.n_tiers = 2,
     .endpoints_per_leaf = 72,
     .leaf_oversubscription = 3,
     .spines = 3,
     .leaf_groups = groups,
     .n_leaf_groups = 4},
    {RAILS, .leaf_oversubscription = 2},
    {RAILS, .leaf_oversubscription = 2, .cross_rail = SAND_CROSS_RAIL_SPINE, .planes = 2},
    {RAILS, .leaf_oversubscription = 2, .spreading = SAND_SPREAD_ADAPTIVE,
     .adaptive_efficiency = 0.7},
    {RAILS, .leaf_oversubscription = 0.5, .spines = 4, .planes = 2, .spreading = SAND_SPREAD_STATIC,
     .loss = 1e-4, .loss_window = 122},
    {RAILS, .leaf_oversubscription = 0.5, .spines = 4, .spreading = SAND_SPREAD_HASH,
     .queue_pairs = 4},
    {.kind = SAND_FABRIC_RAIL_ONLY, .n_tiers = 2, .nodes_per_unit = 4, .leaf_oversubscription = 4},
};

static double solve_on(const struct sand_cluster *cluster)
{
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_fabric_build(cluster, &fabric, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
    struct sand_step_question question = f.question;
    question.fabric = fabric;
    question.cluster = cluster;
    const double step_s = fixture_solve(&question).step_s;
    sand_fabric_free(fabric);
    return step_s;
}

Test(wired_twins, same_step_on_every_kind, .timeout = 120)
{
    static const struct step_case shapes[] = {
        {.n_nodes = 16, .tp = 8, .pp = 2, .dp = 8},
        {.n_nodes = 16, .tp = 2, .pp = 1, .dp = 64, .no_overlap = 1},
    };
    for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
        for (size_t s = 0; s < 2; s++) {
            struct wired_twin twin;
            fixture_init(&f, &shapes[s]);
            f.cluster.fabric = fabrics[i];
            f.cluster.fabric.link = &f.trunk;
            cr_assert(wired_twin_make(&f.cluster, &twin), "fabric %zu", i);
            cr_expect_eq(solve_on(&twin.cluster), solve_on(&f.cluster), "fabric %zu, shape %zu", i,
                         s);
            wired_twin_free(&twin);
            fixture_free(&f);
        }
}
