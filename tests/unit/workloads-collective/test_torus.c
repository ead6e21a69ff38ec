// Collectives from chip to chip: closed forms of rings in several dimensions, all-to-all against a
// walk over every route of a torus that is built link by link, and processors between GPUs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collcost.h"
#include "ids.h"

#define LINK_Bps 50e9

static struct sand_gpu_type gpu = {.id = "chip"};
static struct sand_link_type chip, line, dcn, host;
static struct sand_node_type node;
static struct sand_cluster cluster;
static struct sand_coll_kernel kernels[] = {
    {.id = "ring", .algorithm = SAND_ALG_RING, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "ring-ll", .algorithm = SAND_ALG_RING, .protocol = SAND_PROTO_LL, .rate = 0.5},
    {.id = "tree", .algorithm = SAND_ALG_TREE, .protocol = SAND_PROTO_SIMPLE, .rate = 1},
    {.id = "pairwise", .algorithm = SAND_ALG_PAIRWISE, .protocol = SAND_PROTO_SIMPLE, .rate = 1}};
static struct sand_collectives constants = {.id = "test",
                                            .tier_sharpness = 50,
                                            .channels = 16,
                                            .p2p_rate = 1,
                                            .incast_peers = 64,
                                            .kernels = kernels,
                                            .n_kernels = 4};
static const struct sand_coll_wish any = {SAND_ALGORITHMS, SAND_PROTOCOLS};

static void build_hosts(uint32_t n_nodes, uint32_t dims, uint32_t slice_nodes)
{
    const double all_Bps = 2 * dims * LINK_Bps;
    chip = (struct sand_link_type){
        .id = "chip", .rate_Bps = all_Bps, .usable = 1, .alone = 1, .medium = SAND_MEDIUM_TORUS};
    line = chip;
    line.rate_Bps = LINK_Bps;
    dcn = (struct sand_link_type){
        .id = "dcn", .rate_Bps = 25e9, .usable = 1, .alone = 1, .medium = SAND_MEDIUM_NETWORK};
    host = (struct sand_link_type){
        .id = "host", .rate_Bps = 32e9, .usable = 1, .alone = 1, .medium = SAND_MEDIUM_PCIE};
    node = (struct sand_node_type){.id = "host",
                                   .gpu = &gpu,
                                   .n_gpus = 4,
                                   .scaleup = SAND_SCALEUP_TORUS,
                                   .scaleup_link = &chip,
                                   .scaleup_dims = dims,
                                   .scaleup_ring = 4,
                                   .scaleup_nodes = slice_nodes,
                                   .n_nics = 1,
                                   .nic = &dcn,
                                   .host_link = &host};
    cluster = (struct sand_cluster){.name = "pod", .node_type = &node, .n_nodes = n_nodes};
    cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                               .endpoints_per_leaf = 4,
                                               .leaf_oversubscription = 1,
                                               .spines = 1,
                                               .spreading = SAND_SPREAD_EVEN,
                                               .link = &dcn};
}

// The same chips as places of a fabric: x x y x z.
static void build_places(uint32_t x, uint32_t y, uint32_t z)
{
    build_hosts(x * y * z, z > 1 ? 3 : 2, 1);
    node.n_gpus = node.n_nics = 1;
    node.scaleup = SAND_SCALEUP_NONE;
    node.scaleup_link = NULL;
    node.scaleup_dims = node.scaleup_ring = 0;
    node.nic = &chip;
    cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                               .size = {x, y, z},
                                               .spreading = SAND_SPREAD_STATIC,
                                               .link = &line};
}

static struct sand_comm place_on(const struct sand_fabric *fabric, uint32_t ranks)
{
    const struct sand_comm_options options = {0};
    struct sand_comm comm;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_comm_place(&cluster, fabric, ranks, 0, &options, &comm, &diag), SAND_OK);
    sand_diag_clear(&diag);
    return comm;
}

static struct sand_comm place(uint32_t ranks)
{
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
    const struct sand_comm comm = place_on(fabric, ranks);
    sand_fabric_free(fabric);
    return comm;
}

static struct sand_coll_terms best(const struct sand_comm *comm, enum sand_collective_kind kind,
                                   double bytes)
{
    const struct sand_collective collective = {kind, comm->ranks, bytes};
    struct sand_coll_terms terms;
    cr_assert_eq(sand_coll_best(&constants, comm, &collective, any, &terms, NULL), SAND_OK);
    return terms;
}

// n chips all-reduce B bytes over 2 d links each: 2 (n - 1)/n B / (2 d r). Groups of a few chips
// have the links of their dimensions alone, and a side that does not close half of those.
Test(torus, rings_use_the_links_of_their_dimensions)
{
    static const struct {
        uint32_t dims, nodes, ranks, links;
    } cases[] = {{3, 16, 64, 6}, {3, 16, 4, 2}, {3, 16, 16, 4}, {2, 64, 256, 4},
                 {2, 64, 16, 2}, {3, 16, 2, 1}, {2, 1, 4, 2}};
    const double bytes = 1e9;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build_hosts(cases[i].nodes, cases[i].dims, cases[i].nodes);
        const struct sand_comm comm = place(cases[i].ranks);
        const double n = cases[i].ranks, links_Bps = cases[i].links * LINK_Bps;
        const double expected_s = 2 * (n - 1) / n * bytes / links_Bps;
        cr_expect_eq(comm.domains, 1u);
        cr_expect_float_eq(best(&comm, SAND_ALL_REDUCE, bytes).time_s / expected_s, 1, 1e-9,
                           "%u of %u: %g, expected %g", cases[i].ranks, 4 * cases[i].nodes,
                           best(&comm, SAND_ALL_REDUCE, bytes).time_s, expected_s);
        cr_expect_float_eq(best(&comm, SAND_ALL_GATHER, bytes).time_s / expected_s, 0.5, 1e-9);
    }
}

// Sides are walked one after the other, not all chips: 2 d (k - 1) hops.
Test(torus, hops_are_those_of_the_sides)
{
    build_hosts(16, 3, 16);
    const struct sand_comm comm = place(64);
    cr_expect_float_eq(best(&comm, SAND_ALL_REDUCE, 1e6).scaleup_hops, 2 * 3 * 3, 1e-9);
    cr_expect_float_eq(best(&comm, SAND_ALL_GATHER, 1e6).scaleup_hops, 3 * 3, 1e-9);
}

// Scattered inside, a chip's part around the slices, gathered: of the buffer, 2 (s - 1)/s leave a
// slice of 16 hosts with one port each.
Test(torus, slices_meet_on_the_network)
{
    build_hosts(64, 3, 16);
    const struct sand_comm comm = place(256);
    const struct sand_coll_terms terms = best(&comm, SAND_ALL_REDUCE, 1e9);
    cr_expect_eq(comm.domains, 4u);
    cr_expect_float_eq(terms.network_B / 1e9, 1.5, 1e-9);
    cr_expect_float_eq(terms.network_Bps / (16 * 25e9), 1, 1e-9);
    cr_expect_float_eq(terms.scaleup_B / 1e9, 2 * 63.0 / 64, 1e-9);
}

// The fullest link when every place sends every other its part, route by route.
static double walked_s(const struct sand_fabric *fabric, double bytes)
{
    double *load = calloc(fabric->n_links, sizeof *load), most_s = 0;
    const uint32_t n = fabric->n_endpoints;
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            const uint32_t hops = a == b ? 0 : sand_fabric_route(fabric, a, b, links);
            for (uint32_t i = 0; i < hops; i++)
                load[links[i]] += bytes / n;
        }
    for (uint32_t i = 0; i < fabric->n_links; i++)
        most_s = fmax(most_s, load[i] / fabric->links[i].capacity_Bps);
    free(load);
    return most_s;
}

// Sides are odd, so that no way is as long as its opposite and routes of one kind load both alike.
Test(torus, alltoall_is_as_long_as_its_fullest_link)
{
    static const uint32_t sides[][3] = {{5, 5, 1}, {9, 9, 1}, {5, 5, 5}, {7, 7, 7}};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        struct sand_fabric *fabric = NULL;
        build_places(sides[i][0], sides[i][1], sides[i][2]);
        cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
        const struct sand_comm comm = place_on(fabric, fabric->n_endpoints);
        const double closed_s = best(&comm, SAND_ALL_TO_ALL, 1e9).time_s;
        cr_expect_float_eq(closed_s / walked_s(fabric, 1e9), 1, 0.05, "%u: %g, walked %g",
                           sides[i][0], closed_s, walked_s(fabric, 1e9));
        sand_fabric_free(fabric);
    }
}

// Described as a slice or as places of a fabric, a torus gives the same times.
Test(torus, slices_and_places_agree)
{
    build_hosts(64, 2, 64);
    const struct sand_comm slice = place(256);
    build_places(16, 16, 1);
    const struct sand_comm places = place(256);
    cr_expect_float_eq(best(&slice, SAND_ALL_REDUCE, 1e8).time_s,
                       best(&places, SAND_ALL_REDUCE, 1e8).time_s, 1e-12);
}

// A link at half its rate halves what rings over it reach; one elsewhere does not.
Test(torus, a_slow_link_holds_its_rings_back)
{
    struct sand_fabric *fabric = NULL;
    build_places(8, 8, 1);
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
    const struct sand_comm before = place_on(fabric, 32);
    fabric->links[fabric->first[SAND_LINK_TORUS] + 63 * 4].speed = 0.5;
    const struct sand_comm elsewhere = place_on(fabric, 32);
    fabric->links[fabric->first[SAND_LINK_TORUS] + 5 * 4].speed = 0.5;
    const struct sand_comm slow = place_on(fabric, 32);
    cr_expect_float_eq(elsewhere.scaleup_share, before.scaleup_share, 1e-12);
    cr_expect_float_eq(slow.scaleup_share, before.scaleup_share / 2, 1e-12);
    sand_fabric_free(fabric);
}

Test(torus, kernels_of_switches_are_refused)
{
    build_hosts(16, 3, 16);
    const struct sand_comm comm = place(64);
    const struct sand_collective collective = {SAND_ALL_REDUCE, 64, 1e6};
    struct sand_coll_terms terms;
    cr_expect(strstr(sand_coll_cost(&constants, &comm, &collective, &kernels[1], &terms),
                     "share a switch") != NULL);
    cr_expect(strstr(sand_coll_cost(&constants, &comm, &collective, &kernels[2], &terms),
                     "share a switch") != NULL);
    cr_expect_null(sand_coll_cost(&constants, &comm, &collective, &kernels[0], &terms));
}

// Eight GPUs behind two processors with 20 GB/s between: a ring passes there once each way, in
// an all-to-all 16 messages of 64: 2 GB of 1 GB each, 0.1 s in which a GPU sends 7/8 GB. Four GPUs
// behind one do not meet it.
Test(sockets, hold_back_what_passes_between_them)
{
    build_hosts(1, 2, 1);
    node.n_gpus = 8;
    node.scaleup = SAND_SCALEUP_NVSWITCH;
    node.scaleup_dims = node.scaleup_ring = 0;
    host.rate_Bps = 30e9;
    node.scaleup_link = &host;
    node.socket_Bps = 20e9;
    const struct sand_comm all = place(8), half = place(4);
    cr_expect_float_eq(best(&all, SAND_ALL_REDUCE, 1e9).scaleup_Bps, 20e9, 1);
    cr_expect_float_eq(best(&half, SAND_ALL_REDUCE, 1e9).scaleup_Bps, 30e9, 1);
    cr_expect_float_eq(best(&all, SAND_ALL_TO_ALL, 1e9).scaleup_Bps, 8.75e9, 1);
    // Four rings of two GPUs each, four apart, share it.
    const struct sand_comm_ports ports = {.node = &node,
                                          .nic = &dcn,
                                          .ranks = 2,
                                          .domains = 1,
                                          .domain_ranks = 2,
                                          .ports = 1,
                                          .stride = 4,
                                          .domain_gpus = 8};
    const struct sand_comm_options options = {0};
    struct sand_comm apart;
    sand_comm_by_ports(&ports, &options, &apart);
    cr_expect_float_eq(best(&apart, SAND_ALL_REDUCE, 1e9).scaleup_Bps, 5e9, 1);
}
