// Routes: every pair has one, of the right length, over the right switches, and evenly spread.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fabric_fixture.h"
#include "mem.h"
#include "rng.h"

// Draws trees of two and three tiers, chassis and given counts, partly filled, both spreadings.
static int draw_tree(uint64_t i, struct fixture *f, struct sand_fabric **fabric)
{
    static const uint32_t nics[] = {1, 2, 4, 8};
    static const double ratios[] = {0.5, 1, 2, 3.7};
    uint64_t d = sand_rng_u64((struct sand_rng){.seed = 3}, SAND_STREAM_TEST, i, 0);
    fixture_set(f);
    f->node.n_nics = nics[d % 4];
    f->cluster.n_nodes = 1 + (uint32_t)(d >> 2) % 90;
    struct sand_fabric_spec *s = &f->cluster.fabric;
    s->radix = 0;
    s->n_tiers = 2 + (d >> 12) % 2;
    s->endpoints_per_leaf = 1 + (uint32_t)(d >> 14) % 24;
    s->leaf_oversubscription = ratios[(d >> 20) % 4];
    s->pod_oversubscription = s->leaf_oversubscription * ratios[1 + (d >> 22) % 3];
    s->leaves_per_pod = 1 + (uint32_t)(d >> 26) % 7;
    s->spines = (uint32_t)(d >> 32) % 6;
    s->cores = s->n_tiers == 3 ? (uint32_t)(d >> 36) % 9 : 0;
    s->spreading = (d >> 40) % 2 ? SAND_SPREAD_STATIC : SAND_SPREAD_EVEN;
    return sand_fabric_build(&f->cluster, fabric, NULL) == SAND_OK;
}

static struct sand_fabric_owner at(const struct sand_fabric *f, const uint32_t *route, uint32_t hop)
{
    return sand_fabric_link_owner(f, route[hop]);
}

// Checks one route hop by hop against the switches it must pass.
static void check_route(const struct sand_fabric *f, uint32_t from, uint32_t to)
{
    uint32_t r[SAND_ROUTE_MAX], n = sand_fabric_route(f, from, to, r);
    uint32_t from_leaf = from / f->endpoints_per_leaf, to_leaf = to / f->endpoints_per_leaf;
    uint32_t from_pod = from_leaf / f->leaves_per_pod, to_pod = to_leaf / f->leaves_per_pod;
    cr_assert_eq(n, from_leaf == to_leaf ? 2 : from_pod == to_pod ? 4 : 6);
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_lt(r[i], f->n_links);
        for (uint32_t j = 0; j < i; j++)
            cr_assert_neq(r[i], r[j]);
    }
    struct sand_fabric_owner first = at(f, r, 0), last = at(f, r, n - 1);
    cr_assert_eq(first.link_class, SAND_LINK_NIC_UP);
    cr_assert_eq(first.owner * f->nics_per_node + first.port, from);
    cr_assert_eq(last.link_class, SAND_LINK_NIC_DOWN);
    cr_assert_eq(last.owner * f->nics_per_node + last.port, to);
    if (n < 4)
        return;
    struct sand_fabric_owner up = at(f, r, 1), down = at(f, r, n - 2);
    cr_assert(up.link_class == SAND_LINK_LEAF_UP && up.owner == from_leaf);
    cr_assert(down.link_class == SAND_LINK_LEAF_DOWN && down.owner == to_leaf);
    cr_assert_eq(up.port, down.port); // the same spine, or the same of the other pod
    if (n < 6)
        return;
    struct sand_fabric_owner rise = at(f, r, 2), fall = at(f, r, 3);
    cr_assert(rise.link_class == SAND_LINK_SPINE_UP && rise.owner == from_pod);
    cr_assert(fall.link_class == SAND_LINK_SPINE_DOWN && fall.owner == to_pod);
    cr_assert(rise.port == up.port && fall.port == up.port);
    cr_assert_eq(rise.core, fall.core); // both pods' spines are joined to this core
    if (f->spreading == SAND_SPREAD_STATIC)
        cr_assert_lt(rise.core, f->n_cores);
}

Test(fabric_routes, every_pair_of_random_trees)
{
    unsigned n_trees = 0, n_six = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct fixture f;
        struct sand_fabric *fabric;
        if (!draw_tree(i, &f, &fabric))
            continue;
        n_trees++;
        n_six += fabric->n_pods > 1;
        uint32_t step = 1 + fabric->n_endpoints / 60, links[SAND_ROUTE_MAX];
        for (uint32_t from = 0; from < fabric->n_endpoints; from += step) {
            cr_assert_eq(sand_fabric_route(fabric, from, from, links), 0);
            for (uint32_t to = 0; to < fabric->n_endpoints; to++)
                if (from != to)
                    check_route(fabric, from, to);
        }
        sand_fabric_free(fabric);
    }
    cr_expect_gt(n_trees, 120);
    cr_expect_gt(n_six, 40);
}

static double capacity_sum(const struct sand_fabric *f, enum sand_link_class c, uint32_t *n)
{
    double sum = 0;
    *n = 0;
    for (uint32_t i = 0; i < f->n_links; i++)
        if (f->links[i].link_class == c) {
            sum += f->links[i].capacity_Bps;
            ++*n;
        }
    return sum;
}

static void expect_sum(const struct sand_fabric *f, enum sand_link_class c, double expected)
{
    uint32_t n;
    double sum = capacity_sum(f, c, &n);
    cr_expect_float_eq(sum, expected, 1e-9 * expected + 1e-300, "%s: %g, not %g",
                       sand_link_class_name(c), sum, expected);
}

// Whatever the spreading and the counts, a tier's uplinks sum to NIC rate / oversubscription, and
// what goes up comes down.
Test(fabric_routes, capacities_sum)
{
    for (uint64_t i = 0; i < 300; i++) {
        struct fixture f;
        struct sand_fabric *b;
        if (!draw_tree(i, &f, &b))
            continue;
        const struct sand_fabric_spec *s = &f.cluster.fabric;
        double leaf_Bps = b->endpoints_per_leaf * f.nic.rate_Bps;
        expect_sum(b, SAND_LINK_NIC_UP, b->n_endpoints * f.nic.rate_Bps);
        expect_sum(b, SAND_LINK_NIC_DOWN, b->n_endpoints * f.nic.rate_Bps);
        expect_sum(b, SAND_LINK_LEAF_UP, b->n_leaves * leaf_Bps / s->leaf_oversubscription);
        expect_sum(b, SAND_LINK_LEAF_DOWN, b->n_leaves * leaf_Bps / s->leaf_oversubscription);
        double pods_Bps =
            s->n_tiers < 3 ? 0
                           : b->n_pods * (b->leaves_per_pod * leaf_Bps) / s->pod_oversubscription;
        expect_sum(b, SAND_LINK_SPINE_UP, pods_Bps);
        expect_sum(b, SAND_LINK_SPINE_DOWN, pods_Bps);
        expect_sum(b, SAND_LINK_SCALEUP_OUT, f.cluster.n_nodes * 8 * f.scaleup.rate_Bps);
        expect_sum(b, SAND_LINK_SCALEUP_IN, f.cluster.n_nodes * 8 * f.scaleup.rate_Bps);
        sand_fabric_free(b);
    }
}

// The full tree's cut between two halves of the pods carries half of all NICs at line rate.
Test(fabric_routes, full_bisection)
{
    struct fixture f;
    struct sand_fabric *b;
    fixture_set_kary(&f, 8, 128);
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    double cut = 0;
    for (uint32_t i = 0; i < b->n_links; i++)
        if (b->links[i].link_class == SAND_LINK_SPINE_UP &&
            sand_fabric_link_owner(b, i).owner < b->n_pods / 2)
            cut += b->links[i].capacity_Bps;
    cr_expect_float_eq(cut, 64 * f.nic.rate_Bps, 1);
    sand_fabric_free(b);
}

// Destination-based routing of a full tree carries every shift of all endpoints without two flows
// ever sharing a link (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
// permutations on real life fat trees", 2010).
Test(fabric_routes, shifts_do_not_collide)
{
    struct fixture f;
    struct sand_fabric *b;
    fixture_set_kary(&f, 8, 128);
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    uint8_t *users = sand_calloc(b->n_links, 1);
    for (uint32_t shift = 1; shift < 128; shift++) {
        memset(users, 0, b->n_links);
        for (uint32_t from = 0; from < 128; from++) {
            uint32_t r[SAND_ROUTE_MAX], n = sand_fabric_route(b, from, (from + shift) % 128, r);
            for (uint32_t i = 0; i < n; i++)
                cr_assert_eq(++users[r[i]], 1, "shift %u", shift);
        }
    }
    sand_free(users);
    sand_fabric_free(b);
}

// From outside its pod, the destinations of a pod are spread over its trunks to within one.
Test(fabric_routes, static_spreads_destinations)
{
    for (uint32_t cores = 2; cores <= 12; cores += 2) { // a divisor of 4 spines, multiples, neither
        struct fixture f;
        struct sand_fabric *b;
        fixture_set(&f);
        f.cluster.fabric = (struct sand_fabric_spec){.n_tiers = 3,
                                                     .endpoints_per_leaf = 24,
                                                     .leaf_oversubscription = 1,
                                                     .leaves_per_pod = 5,
                                                     .pod_oversubscription = 2,
                                                     .spines = 4,
                                                     .cores = cores,
                                                     .spreading = SAND_SPREAD_STATIC,
                                                     .link = &f.port};
        cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
        uint32_t *users = sand_calloc(b->n_links, sizeof *users);
        uint32_t far = b->n_endpoints - 1, per_pod = 5 * 24, r[SAND_ROUTE_MAX];
        for (uint32_t to = 0; to < per_pod; to++) {
            cr_assert_eq(sand_fabric_route(b, far, to, r), 6);
            users[r[3]]++;
        }
        uint32_t trunks = 4 * b->spine_trunks;
        for (uint32_t i = 0; i < trunks; i++) {
            uint32_t n = users[b->first[SAND_LINK_SPINE_DOWN] + i];
            cr_expect(n == per_pod / trunks || n == per_pod / trunks + 1, "trunk %u: %u", i, n);
        }
        sand_free(users);
        sand_fabric_free(b);
    }
}

Test(fabric_routes, places_of_gpus_and_nodes)
{
    struct fixture f;
    struct sand_fabric *b;
    fixture_set(&f);
    f.node.n_nics = 4;
    f.cluster.fabric.n_tiers = 3;
    f.cluster.fabric.leaves_per_pod = 4;
    f.cluster.fabric.pod_oversubscription = 1;
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    cr_expect_eq(sand_fabric_nic_of_gpu(b, 3, 0), 12); // two GPUs share a NIC
    cr_expect_eq(sand_fabric_nic_of_gpu(b, 3, 1), 12);
    cr_expect_eq(sand_fabric_nic_of_gpu(b, 3, 7), 15);
    cr_expect_eq(sand_fabric_leaf_of_node(b, 7), 0); // 8 nodes x 4 NICs under a leaf
    cr_expect_eq(sand_fabric_leaf_of_node(b, 8), 1);
    cr_expect_eq(sand_fabric_pod_of_node(b, 31), 0);
    cr_expect_eq(sand_fabric_pod_of_node(b, 32), 1);
    cr_expect_eq(sand_fabric_scaleup_out(b, 2, 5), 21);
    cr_expect_eq(sand_fabric_scaleup_in(b, 2, 5), 256 * 8 + 21);
    sand_fabric_free(b);
    f.node.scaleup = SAND_SCALEUP_NONE;
    f.node.scaleup_link = NULL;
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    cr_expect_eq(sand_fabric_scaleup_out(b, 2, 5), SAND_NONE);
    cr_expect_eq(sand_fabric_scaleup_in(b, 2, 5), SAND_NONE);
    cr_expect_eq(b->first[SAND_LINK_NIC_UP], 0);
    sand_fabric_free(b);
}

static void expect_name(const struct sand_fabric *f, enum sand_link_class c, uint32_t i,
                        const char *expected)
{
    char name[48];
    cr_expect_str_eq(sand_fabric_link_name(f, f->first[c] + i, name, sizeof name), expected);
}

Test(fabric_routes, names)
{
    struct fixture f;
    struct sand_fabric *b;
    fixture_set(&f);
    f.cluster.fabric.n_tiers = 3;
    f.cluster.fabric.leaves_per_pod = 8;
    f.cluster.fabric.pod_oversubscription = 1;
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    expect_name(b, SAND_LINK_SCALEUP_IN, 17, "node2 gpu1 in");
    expect_name(b, SAND_LINK_NIC_DOWN, 25, "node3 nic1 down");
    expect_name(b, SAND_LINK_LEAF_UP, 3, "leaf3 up");
    expect_name(b, SAND_LINK_SPINE_DOWN, 1, "pod1 down");
    sand_fabric_free(b);
    // 8 pods of 8 spines with 32 uplinks, 32 cores: every spine has 4 cores of its own.
    f.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    cr_assert_eq(sand_fabric_build(&f.cluster, &b, NULL), SAND_OK);
    cr_expect_eq(b->n_cores, 32);
    expect_name(b, SAND_LINK_LEAF_DOWN, 3 * 8 + 1, "leaf3-spine1 down");
    expect_name(b, SAND_LINK_SPINE_UP, (2 * 8 + 1) * 4 + 3, "pod2-spine1-core7 up");
    char name[48];
    cr_expect_str_eq(sand_fabric_link_name(b, b->n_links, name, sizeof name), "link 9728?");
    sand_fabric_free(b);
}

Test(fabric_routes, no_memory)
{
    struct fixture f;
    fixture_set(&f);
    for (uint64_t n = 1; n <= 2; n++) {
        struct sand_fabric *fabric = NULL;
        sand_mem_fail_at(n);
        cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_ERR_NOMEM);
        cr_expect_null(fabric);
    }
    sand_mem_fail_at(0);
}
