// Cuts over cells against the same flow with every switch apart.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "graph_fixture.h"

// Whole fabrics of every kind, small enough for the flow of all their switches.
static void plant_kind(struct plant *p, uint64_t draw)
{
    struct sand_fabric_spec *s = &p->cluster.fabric;
    plant_random(p, draw);
    switch (pick(draw, 20, 0, 3)) {
    case 0:
        return;
    case 1:
        *s = (struct sand_fabric_spec){
            .kind = SAND_FABRIC_TORUS,
            .size = {pick(draw, 21, 2, 6), pick(draw, 22, 2, 6), pick(draw, 23, 1, 4)},
            .spreading = SAND_SPREAD_STATIC};
        p->cluster.n_nodes = s->size[0] * s->size[1] * s->size[2];
        break;
    case 2:
        *s = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY,
                                       .groups = pick(draw, 21, 1, 5),
                                       .routers = 4,
                                       .endpoints_per_router = pick(draw, 22, 1, 3),
                                       .global_links = 1,
                                       .spreading = SAND_SPREAD_STATIC};
        p->cluster.n_nodes = s->groups * 4 * s->endpoints_per_router;
        break;
    default:
        p->cluster.n_nodes = pick(draw, 24, 20, 60);
        s->planes = pick(draw, 25, 1, 2);
        break;
    }
    s->link = &p->port;
}

static void lose_some(const struct sand_graph *g, uint64_t draw, uint8_t *switches, uint8_t *nodes)
{
    for (uint32_t i = 0; i < pick(draw, 30, 0, 2); i++)
        switches[pick(draw, 31 + i, 0, g->n_switches - 1)] = 1;
    for (uint32_t i = 0; i < pick(draw, 40, 0, 3); i++)
        nodes[pick(draw, 41 + i, 0, g->n_nodes - 1)] = 1;
}

// The halves of the bisection, or any sides at all.
static void take_sides(const struct sand_graph *g, uint64_t draw, uint8_t *sides)
{
    if (pick(draw, 50, 0, 2) > 0) {
        sand_graph_halves(g, sides);
        return;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        sides[i] = (uint8_t)pick(draw, 1000 + i, 0, 2);
}

static void expect_equal_cuts(const struct sand_graph *g, uint64_t draw)
{
    uint8_t *switches = sand_calloc(g->n_switches, 1), *nodes = sand_calloc(g->n_nodes, 1);
    uint8_t *sides = sand_calloc(g->n_nodes, 1);
    const struct sand_graph_loss loss = {switches, nodes};
    struct sand_graph_cut cells, apart;
    lose_some(g, draw, switches, nodes);
    take_sides(g, draw, sides);
    cr_assert_eq(sand_graph_cut(g, sides, &loss, &cells, NULL), SAND_OK);
    cr_assert_eq(sand_graph_cut_apart(g, sides, &loss, &apart, NULL), SAND_OK);
    cr_expect_eq(cells.value_Bps, apart.value_Bps, "draw %d: %.17g, not %.17g", (int)draw,
                 cells.value_Bps, apart.value_Bps);
    cr_expect_arr_eq(cells.n_cut, apart.n_cut, sizeof cells.n_cut, "draw %d", (int)draw);
    cr_expect_eq(cells.n_cut_nics, apart.n_cut_nics, "draw %d", (int)draw);
    cr_expect_eq(cells.injection_Bps, apart.injection_Bps);
    sand_free(switches);
    sand_free(nodes);
    sand_free(sides);
}

// Trees, planes, tori and dragonflies, whole and with dead switches and nodes and a slow NIC,
// between their halves and between any two sets: the same value to the last digit, and the same
// cables in the cut.
Test(graph_cells, cuts_equal_those_of_all_switches)
{
    uint32_t tested = 0;
    for (uint64_t draw = 0; draw < 400; draw++) {
        struct plant p;
        plant_kind(&p, draw);
        const struct sand_impaired slow = {.part = "node0 nic0 up", .speed = 0.3};
        p.cluster.impaired = &slow;
        p.cluster.n_impaired = pick(draw, 60, 0, 1) && p.cluster.fabric.planes < 2 ? 1 : 0;
        struct sand_graph *g = NULL;
        if (sand_graph_build(&p.cluster, &g, NULL) != SAND_OK)
            continue;
        expect_equal_cuts(g, draw);
        sand_graph_free(g);
        tested++;
    }
    cr_expect_geq(tested, 300);
}

// A cut of a whole torus and of one that lost a router finds the same where all memory is there,
// and says so at every allocation of ours where it is not.
Test(graph_cells, out_of_memory_is_reported)
{
    struct plant p;
    plant_set(&p, 64, 1, 0);
    p.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                 .size = {4, 4, 4},
                                                 .spreading = SAND_SPREAD_STATIC,
                                                 .link = &p.port};
    struct sand_graph *g = plant_graph(&p);
    struct sand_graph_cut cut, whole;
    cr_assert_eq(sand_graph_bisection(g, NULL, &whole, NULL), SAND_OK);
    cr_expect_float_eq(whole.value_Bps, 2 * 16 * 50e9, 1);
    for (uint64_t n = 1;; n++) {
        sand_mem_fail_at(n);
        const enum sand_rc rc = sand_graph_bisection(g, NULL, &cut, NULL);
        sand_mem_fail_at(0);
        if (rc == SAND_OK) {
            cr_expect_geq(n, 10);
            cr_expect_eq(cut.value_Bps, whole.value_Bps);
            break;
        }
        cr_assert_eq(rc, SAND_ERR_NOMEM);
    }
    sand_graph_free(g);
}
