// The bisection of every kind of fabric against its closed form.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "graph_fixture.h"

TestSuite(graph_bisection, .timeout = 60);

static double bisect(const struct plant *p)
{
    struct sand_graph *g = plant_graph(p);
    struct sand_graph_cut cut;
    cr_assert_eq(sand_graph_bisection(g, NULL, &cut, NULL), SAND_OK);
    sand_graph_free(g);
    return cut.value_Bps;
}

// NICs of six ports, which bound no cut between switches.
static void plant_wide(struct plant *p, const struct sand_fabric_spec *spec, uint32_t nodes)
{
    plant_spec(p, spec, nodes);
    p->nic.rate_Bps = 6 * p->port.rate_Bps;
}

static double bisect_torus(uint32_t x, uint32_t y, uint32_t z, int twisted)
{
    struct plant p;
    const struct sand_fabric_spec spec = {
        .kind = SAND_FABRIC_TORUS, .size = {x, y, z}, .twisted = twisted};
    plant_wide(&p, &spec, x * y * z);
    return bisect(&p) / 50e9;
}

// Across the longest side, wherever it is: 2 N / k links each way (Dally and Towles, "Principles
// and Practices", chapter 5).
Test(graph_bisection, tori)
{
    cr_expect_float_eq(bisect_torus(4, 4, 4, 0), 2 * 64 / 4, 1e-9);
    cr_expect_float_eq(bisect_torus(8, 4, 2, 0), 2 * 64 / 8, 1e-9);
    cr_expect_float_eq(bisect_torus(4, 8, 2, 0), 2 * 64 / 8, 1e-9);
    cr_expect_float_eq(bisect_torus(2, 4, 8, 0), 2 * 64 / 8, 1e-9);
    cr_expect_float_eq(bisect_torus(6, 6, 1, 0), 2 * 36 / 6, 1e-9);
}

// A twist doubles the bisection: 4 n n links for 2n x n x n instead of 2 n n, 8 n n for 2n x 2n x n
// instead of 4 n n.
Test(graph_bisection, twisted_tori_have_twice_as_much)
{
    for (uint32_t n = 2; n <= 8; n += 2) {
        cr_expect_float_eq(bisect_torus(n, n, 2 * n, 0), 2 * n * n, 1e-9);
        cr_expect_float_eq(bisect_torus(n, n, 2 * n, 1), 4 * n * n, 1e-9);
        cr_expect_float_eq(bisect_torus(n, 2 * n, 2 * n, 0), 4 * n * n, 1e-9);
        cr_expect_float_eq(bisect_torus(n, 2 * n, 2 * n, 1), 8 * n * n, 1e-9);
    }
}

// Half of the groups have h (g - h) m cables to the others; one group is all routers joined; one
// router passes on whatever its NICs send. Of a dragonfly+ the largest of 36 ports per switch, 325
// groups with a cable between any two (Shpiner et al. 2017).
Test(graph_bisection, dragonflies)
{
    struct plant p;
    struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                    .groups = 9,
                                    .routers = 4,
                                    .endpoints_per_router = 2,
                                    .global_links = 2};
    plant_wide(&p, &spec, 72);
    cr_expect_float_eq(bisect(&p) / 50e9, 4 * 5, 1e-9);
    spec.groups = 1;
    spec.endpoints_per_router = 4;
    plant_wide(&p, &spec, 16);
    cr_expect_float_eq(bisect(&p) / 50e9, 2 * 2, 1e-9);
    spec.routers = 1;
    plant_wide(&p, &spec, 4);
    cr_expect_float_eq(bisect(&p) / 50e9, 2 * 6, 1e-9);
    spec = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                     .groups = 325,
                                     .leaves_per_pod = 18,
                                     .spines = 18,
                                     .endpoints_per_leaf = 18,
                                     .global_links = 18,
                                     .leaf_links = 1};
    plant_wide(&p, &spec, 325 * 18 * 18);
    cr_expect_float_eq(bisect(&p) / 50e9, 162 * 163, 1e-6);
}

// Meta's 24K cluster (Llama 3 report, section 3.3.1): eight pods, 7:1 between them.
Test(graph_bisection, meta_24k)
{
    struct plant p;
    plant_set(&p, 24576, 16, 192);
    p.cluster.fabric.leaf_oversubscription = 0.5;
    p.cluster.fabric.pod_oversubscription = 7;
    p.cluster.fabric.spines = p.cluster.fabric.cores = 32;
    cr_expect_float_eq(bisect(&p) / (24576 * 50e9 / 2 / 7), 1, 1e-9);
}

// Never more than the NICs of the smaller half of the nodes send: one leaf joins its nodes without
// any uplink.
Test(graph_bisection, within_the_nics)
{
    struct plant p;
    for (uint32_t n = 2; n <= 5; n++) {
        plant_set(&p, n, 8, 0);
        cr_expect_float_eq(bisect(&p) / 50e9, n / 2, 1e-9);
    }
}

// Rails alone join the halves of the nodes, each rail its own NICs: all that the NICs send where a
// rail is one leaf, what the uplinks of half its leaves carry where it is two tiers.
Test(graph_bisection, rails_alone)
{
    struct plant p;
    plant_set(&p, 16, 8, 0);
    p.node.n_gpus = p.node.n_nics = 4;
    p.cluster.fabric.kind = SAND_FABRIC_RAIL_ONLY;
    p.cluster.fabric.n_tiers = 1;
    p.cluster.fabric.nodes_per_unit = 16;
    cr_expect_float_eq(bisect(&p) / 50e9, 4 * 8, 1e-9);
    p.cluster.fabric.n_tiers = 2;
    p.cluster.fabric.nodes_per_unit = 4;
    p.cluster.fabric.leaf_oversubscription = 2;
    cr_expect_float_eq(bisect(&p) / 50e9, 4 * 8 / 2, 1e-9);
}
