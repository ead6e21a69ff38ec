// What is left after a loss, found from a flow that is kept, against igraph's flow of all switches.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "graph_fixture.h"

TestSuite(graph_kept, .timeout = 120);

// Any number of groups that the ports of a group reach, so that some ports stay free and routers
// have different numbers of cables.
static void plant_dragonfly(struct plant *p, uint64_t draw)
{
    const uint32_t routers = pick(draw, 1, 1, 6), links = pick(draw, 2, 1, 4);
    const uint32_t most = routers * links + 1 < 12 ? routers * links + 1 : 12;
    const struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                          .groups = pick(draw, 3, 2, most),
                                          .routers = routers,
                                          .endpoints_per_router = pick(draw, 4, 1, 5),
                                          .global_links = links};
    plant_spec(p, &spec, spec.groups * routers * spec.endpoints_per_router);
    if (pick(draw, 5, 0, 1))
        p->cluster.n_nodes -= pick(draw, 6, 0, p->cluster.n_nodes / 3); // the last are not filled
}

static void plant_other(struct plant *p, uint64_t draw)
{
    struct sand_fabric_spec spec = {
        .kind = SAND_FABRIC_TORUS,
        .size = {pick(draw, 1, 2, 5), pick(draw, 2, 2, 5), pick(draw, 3, 1, 4)}};
    if (draw % 3 == 0) {
        plant_random(p, draw);
        return;
    }
    if (draw % 3 == 1) {
        plant_spec(p, &spec, spec.size[0] * spec.size[1] * spec.size[2]);
        return;
    }
    spec = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                     .groups = pick(draw, 1, 2, 7),
                                     .leaves_per_pod = pick(draw, 2, 1, 4),
                                     .spines = 3,
                                     .endpoints_per_leaf = pick(draw, 3, 1, 3),
                                     .global_links = 2,
                                     .leaf_links = 1};
    plant_spec(p, &spec, spec.groups * spec.leaves_per_pod * spec.endpoints_per_leaf);
}

static void lose_some(const struct sand_graph *g, uint64_t draw, uint8_t *switches, uint8_t *nodes)
{
    memset(switches, 0, g->n_switches);
    memset(nodes, 0, g->n_nodes);
    for (uint32_t i = 0; i < pick(draw, 30, 0, 1 + g->n_switches / 4); i++)
        switches[pick(draw, 100 + i, 0, g->n_switches - 1)] = 1;
    for (uint32_t i = 0; i < pick(draw, 40, 0, 1 + g->n_nodes / 4); i++)
        nodes[pick(draw, 5000 + i, 0, g->n_nodes - 1)] = 1;
}

// Losses one after the other from one flow: each is as cut anew, and nothing lost once more is
// as nothing lost first.
static void expect_same(const struct sand_graph *g, uint64_t draw)
{
    uint8_t *switches = sand_calloc(g->n_switches, 1), *nodes = sand_calloc(g->n_nodes, 1);
    uint8_t *sides = sand_calloc(g->n_nodes, 1);
    const struct sand_graph_loss loss = {switches, nodes};
    struct sand_graph_kept *kept = NULL;
    struct sand_graph_cut apart;
    sand_graph_halves(g, sides);
    cr_assert_eq(sand_graph_keep(g, &kept, NULL), SAND_OK);
    const double whole = sand_graph_kept_bisection(kept, NULL);
    for (uint64_t i = 0; i < 8; i++) {
        lose_some(g, draw * 8 + i, switches, nodes);
        const double value = sand_graph_kept_bisection(kept, &loss);
        cr_assert_eq(sand_graph_cut_apart(g, sides, &loss, &apart, NULL), SAND_OK);
        cr_expect_eq(value, apart.value_Bps, "draw %d, loss %d: %.17g, not %.17g", (int)draw,
                     (int)i, value, apart.value_Bps);
        cr_expect_leq(value, whole);
    }
    cr_expect_eq(sand_graph_kept_bisection(kept, NULL), whole);
    sand_graph_kept_free(kept);
    sand_free(switches);
    sand_free(nodes);
    sand_free(sides);
}

// Half of the fabrics have a slow NIC, and cables each of a rate of its own.
static struct sand_graph *graph_of(struct plant *p, uint64_t draw)
{
    const struct sand_impaired slow[] = {{.part = "node0 nic0 up", .speed = 0.3}};
    p->cluster.impaired = slow;
    p->cluster.n_impaired = draw % 2;
    struct sand_graph *g = plant_graph(p);
    for (uint32_t i = 0; i < g->n_edges && draw % 2; i++)
        g->edges[i].capacity_Bps *= pick(draw, 20000 + i, 1, 1000) / 700.0;
    p->cluster.n_impaired = 0;
    return g;
}

static void expect_same_draws(void (*plant)(struct plant *, uint64_t), uint64_t n)
{
    for (uint64_t draw = 0; draw < n; draw++) {
        struct plant p;
        plant(&p, draw);
        struct sand_graph *g = graph_of(&p, draw);
        expect_same(g, draw);
        sand_graph_free(g);
    }
}

Test(graph_kept, of_random_dragonflies)
{
    expect_same_draws(plant_dragonfly, 150);
}

Test(graph_kept, of_other_kinds)
{
    expect_same_draws(plant_other, 150);
}

Test(graph_kept, says_when_memory_runs_out)
{
    struct plant p;
    plant_dragonfly(&p, 3);
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_kept *kept = NULL;
    enum sand_rc rc = SAND_ERR_NOMEM;
    uint64_t n = 0;
    while (rc == SAND_ERR_NOMEM) {
        sand_mem_fail_at(++n);
        rc = sand_graph_keep(g, &kept, NULL);
        sand_mem_fail_at(0);
    }
    cr_expect_eq(rc, SAND_OK);
    cr_expect_geq(n, 15);
    sand_graph_kept_free(kept);
    sand_graph_free(g);
}
