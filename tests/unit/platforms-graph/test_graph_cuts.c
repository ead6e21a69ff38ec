// Cuts against closed forms and against every partition there is.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "graph_fixture.h"

static struct sand_graph_cut bisection_of(const struct sand_graph *g)
{
    struct sand_graph_cut cut;
    cr_assert_eq(sand_graph_bisection(g, NULL, &cut, NULL), SAND_OK);
    return cut;
}

static double bisection(const struct plant *p)
{
    struct sand_graph *g = plant_graph(p);
    double value = bisection_of(g).value_Bps;
    sand_graph_free(g);
    return value;
}

// A non-blocking k-ary fat tree (Al-Fares et al., SIGCOMM 2008) bisects with k^3/8 NICs.
Test(graph_cuts, kary_trees_have_full_bisection)
{
    for (uint32_t k = 4; k <= 16; k += 4) {
        struct plant p;
        plant_set(&p, k * k * k / 4, k / 2, k / 2);
        p.cluster.fabric.radix = k;
        double full = k * k * k / 8 * 50e9;
        cr_expect_float_eq(bisection(&p) / full, 1, 1e-12, "k = %u", k);
    }
}

// 3:1 above the leaf or above the pod gives exactly a third; 1:2 more uplinks give no more than
// NICs.
Test(graph_cuts, oversubscription_divides)
{
    struct plant p;
    plant_set(&p, 96, 12, 0);
    double full = 48 * 50e9;
    cr_expect_float_eq(bisection(&p) / full, 1, 1e-12);
    p.cluster.fabric.leaf_oversubscription = 3;
    cr_expect_float_eq(bisection(&p) / full, 1 / 3.0, 1e-12);
    p.cluster.fabric.leaf_oversubscription = 7; // no whole number of ports
    cr_expect_float_eq(bisection(&p) / full, 1 / 7.0, 1e-12);
    p.cluster.fabric.leaf_oversubscription = 0.5;
    cr_expect_float_eq(bisection(&p) / full, 1, 1e-12);
    plant_set(&p, 96, 6, 4);
    p.cluster.fabric.pod_oversubscription = 3;
    cr_expect_float_eq(bisection(&p) / full, 1 / 3.0, 1e-12);
}

// The spreading of flows does not change what the cables can carry.
Test(graph_cuts, spreading_does_not_matter)
{
    struct plant p;
    plant_set(&p, 64, 8, 4);
    p.cluster.fabric.radix = 16;
    double even = bisection(&p);
    p.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    cr_expect_eq(bisection(&p), even);
}

// The least cut over every assignment of switches to sides, without any flow.
static double least_cut(const struct sand_graph *g, const uint8_t *sides)
{
    double least = INFINITY;
    for (uint32_t set = 0; set < 1u << g->n_switches; set++) {
        double crossing = 0;
        for (uint32_t i = 0; i < g->n_edges; i++)
            if ((set >> g->edges[i].a & 1) != (set >> g->edges[i].b & 1))
                crossing += g->edges[i].capacity_Bps;
        for (uint32_t e = 0; e < g->n_endpoints; e++) {
            uint8_t side = sides[e / g->nics_per_node];
            if (side != SAND_SIDE_NONE && (set >> g->leaf_of[e] & 1) != (side == SAND_SIDE_A))
                crossing += g->nic_Bps[e];
        }
        least = fmin(least, crossing);
    }
    return least;
}

// Two NICs at 0, 1/2 or full speed.
static void impair_two(struct plant *p, uint64_t draw, struct sand_impaired slow[2])
{
    static char names[2][32];
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "node%u nic0 up",
                 pick(draw, 200 + i, 0, p->cluster.n_nodes - 1));
        slow[i] =
            (struct sand_impaired){.part = names[i], .speed = pick(draw, 210 + i, 0, 2) / 2.0};
    }
    p->cluster.impaired = slow;
    p->cluster.n_impaired = 2;
}

// Random trees, random sides, impaired NICs: the flow's value is the least cut; it is never more
// than the NICs.
Test(graph_cuts, random_trees_against_every_partition)
{
    uint32_t tested = 0;
    for (uint64_t draw = 0; draw < 300; draw++) {
        struct plant p;
        plant_random(&p, draw);
        struct sand_impaired slow[2];
        impair_two(&p, draw, slow);
        struct sand_graph *g = NULL;
        if (sand_graph_build(&p.cluster, &g, NULL) != SAND_OK)
            continue;
        uint8_t sides[16];
        for (uint32_t i = 0; i < g->n_nodes; i++)
            sides[i] = (uint8_t)pick(draw, 100 + i, 0, 2);
        struct sand_graph_cut cut;
        cr_assert_eq(sand_graph_cut(g, sides, NULL, &cut, NULL), SAND_OK);
        cr_expect(cut.value_Bps <= cut.injection_Bps * (1 + 1e-12));
        if (g->n_switches <= 14) {
            double least = least_cut(g, sides);
            cr_expect(fabs(cut.value_Bps - least) <= 1e-9 * (least + 1), "draw %d: %g, not %g",
                      (int)draw, cut.value_Bps, least);
            tested++;
        }
        sand_graph_free(g);
    }
    cr_expect_geq(tested, 100);
}

// A cut names where it lies: the leaf uplinks when those are thin, the NICs when nothing else is.
Test(graph_cuts, says_where_the_cut_is)
{
    struct plant p;
    plant_set(&p, 32, 8, 0);
    p.cluster.fabric.leaf_oversubscription = 4;
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_cut cut = bisection_of(g);
    cr_expect_eq(cut.n_cut[SAND_TIER_LEAF], 2 * g->n_tier[SAND_TIER_SPINE]);
    cr_expect_eq(cut.n_cut_nics, 0);
    cr_expect_eq(cut.endpoints[0], 16);
    cr_expect_eq(cut.endpoints[1], 16);
    sand_graph_free(g);
    plant_set(&p, 6, 8, 0); // one leaf: half its NICs
    cr_expect_float_eq(bisection(&p), 3 * 50e9, 1);
}

// NICs count with the rate that impairments leave them: half of one, nothing of a dead one.
Test(graph_cuts, impaired_nics_send_less)
{
    struct plant p;
    plant_set(&p, 32, 8, 0);
    const struct sand_impaired slow[] = {{.part = "node3 nic0 up", .speed = 0.5},
                                         {.part = "node4 nic0 up", .speed = 0}};
    p.cluster.impaired = slow;
    p.cluster.n_impaired = 2;
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_cut cut = bisection_of(g);
    cr_expect_float_eq(cut.value_Bps, 14.5 * 50e9, 1);
    cr_expect_float_eq(cut.injection_Bps, 14.5 * 50e9, 1);
    cr_expect_eq(cut.endpoints[0], 15);
    cr_expect_eq(cut.endpoints[1], 16);
    sand_graph_free(g);
}

// Where paths are aggregated, impaired parts bear the names of bundles: every cable of the bundle
// is slow, of its NIC in every plane; switches beside them are down as ever.
Test(graph_cuts, impaired_bundles_are_their_cables)
{
    struct plant p;
    plant_set(&p, 32, 8, 0);
    p.cluster.fabric.planes = 2;
    p.cluster.fabric.spines = 4;
    const struct sand_impaired slow[] = {{.part = "leaf0 up", .speed = 0.5},
                                         {.part = "node9 nic0 up", .speed = 0},
                                         {.part = "spine0", .speed = 0}};
    p.cluster.impaired = slow;
    p.cluster.n_impaired = 2;
    struct sand_graph *g = plant_graph(&p);
    cr_expect_float_eq(bisection_of(g).value_Bps, (4 + 7) * 50e9, 1);
    sand_graph_free(g);
    p.cluster.n_impaired = 3; // plane 0 keeps 3 of 4 uplinks: 1.5 of leaf0, 3 of leaf1
    g = plant_graph(&p);
    cr_expect_float_eq(bisection_of(g).value_Bps, (1.5 + 2 + 3 + 3.5) * 50e9, 1);
    sand_graph_free(g);
}

// A node whose NIC was down before is not what the loss of its leaf cuts off.
Test(graph_cuts, a_loss_takes_no_dead_nic)
{
    struct plant p;
    plant_set(&p, 32, 8, 0);
    const struct sand_impaired dead = {.part = "node3 nic0 up", .speed = 0};
    p.cluster.impaired = &dead;
    p.cluster.n_impaired = 1;
    struct sand_graph *g = plant_graph(&p);
    uint8_t *switches = sand_calloc(g->n_switches, 1);
    struct sand_graph_effect effect;
    switches[sand_graph_find(g, "leaf0")] = 1;
    const struct sand_graph_loss loss = {.switches = switches};
    cr_assert_eq(sand_graph_lose(g, NULL, &loss, &effect, NULL), SAND_OK);
    cr_expect_eq(effect.nodes_cut, 7);
    sand_free(switches);
    sand_graph_free(g);
}

// Out of memory is an answer at every allocation of ours, and the graph stays usable.
Test(graph_cuts, out_of_memory_is_reported)
{
    struct plant p;
    plant_set(&p, 32, 8, 2);
    for (uint64_t n = 1;; n++) {
        struct sand_graph *g = NULL;
        sand_mem_fail_at(n);
        enum sand_rc rc = sand_graph_build(&p.cluster, &g, NULL);
        sand_mem_fail_at(0);
        if (rc == SAND_OK) {
            sand_graph_free(g);
            cr_expect_geq(n, 6);
            break;
        }
        cr_assert_eq(rc, SAND_ERR_NOMEM);
        cr_assert_null(g);
    }
}
