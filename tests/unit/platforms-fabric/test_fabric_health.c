// Parts that ail for a time: what is left of their links, that routes follow, and that everything
// is as built when they are well again.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fabric_fixture.h"
#include "fabrichealth.h"
#include "mem.h"
#include "rng.h"

TestSuite(fabric_health, .timeout = 60);

static const double window = 100;

// A fat tree of 8 leaves, 4 nodes of 2 NICs each, 4 spines, 8 uplinks a leaf: 2 cables to a spine.
static struct sand_fabric *tree(struct fixture *f, enum sand_spreading spreading)
{
    struct sand_fabric *fabric = NULL;
    fixture_set(f);
    f->cluster.n_nodes = 32;
    f->node.n_gpus = f->node.n_nics = 2;
    f->cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_FAT_TREE,
                                                  .n_tiers = 2,
                                                  .endpoints_per_leaf = 8,
                                                  .leaf_oversubscription = 1,
                                                  .spines = 4,
                                                  .spreading = spreading,
                                                  .loss_window = window,
                                                  .link = f->cluster.fabric.link};
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    return fabric;
}

static struct sand_fabric_part part_of(const struct sand_fabric *fabric, enum sand_part_kind kind,
                                       const char *name)
{
    struct sand_fabric_part part;
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_fabric_part_find(fabric, kind, name, &part, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    cr_assert_eq(rc, SAND_OK, "%s", name);
    return part;
}

static const struct sand_fabric_link *link_of(const struct sand_fabric *fabric, const char *name)
{
    char buffer[64];
    for (uint32_t l = 0; l < fabric->n_links; l++)
        if (strcmp(sand_fabric_link_name(fabric, l, buffer, sizeof buffer), name) == 0)
            return &fabric->links[l];
    cr_assert_fail("no link %s", name);
    return NULL;
}

// Of the two cables between leaf 0 and spine 1 one is down: half is left, both ways; both down:
// the route of that destination moves to the next spine. The names read back.
Test(fabric_health, cables_of_a_bundle_add_up)
{
    struct fixture f;
    struct sand_fabric *fabric = tree(&f, SAND_SPREAD_STATIC);
    struct sand_fabric_health *health;
    char name[64];
    uint32_t before[SAND_ROUTE_MAX], after[SAND_ROUTE_MAX];
    cr_assert_eq(sand_fabric_health_open(fabric, window, &health, NULL), SAND_OK);
    const struct sand_fabric_part cable = part_of(fabric, SAND_KIND_LINK, "leaf0-spine1 down");
    cr_assert_str_eq(sand_fabric_part_name(fabric, &cable, name, sizeof name), "leaf0-spine1 up");
    const struct sand_fabric_ailment one[] = {{cable, 0, 0}},
                                     two[] = {{cable, 0, 0}, {cable, 0, 0}};
    const uint32_t to = 9; // 9 mod 4: spine 1
    const uint32_t n = sand_fabric_route(fabric, 0, to, before);
    cr_assert_eq(sand_fabric_health_set(health, one, 1, NULL), SAND_OK);
    cr_assert_eq(link_of(fabric, "leaf0-spine1 up")->speed, 0.5);
    cr_assert_eq(link_of(fabric, "leaf0-spine1 down")->speed, 0.5);
    cr_assert_eq(sand_fabric_route(fabric, 0, to, after), n);
    cr_assert_arr_eq(before, after, n * sizeof *before);
    cr_assert_eq(sand_fabric_health_set(health, two, 2, NULL), SAND_OK);
    cr_assert_eq(sand_fabric_route(fabric, 0, to, after), n);
    cr_assert_neq(after[1], before[1]);
    cr_assert_eq(sand_fabric_health_set(health, NULL, 0, NULL), SAND_OK);
    cr_assert_eq(sand_fabric_route(fabric, 0, to, after), n);
    cr_assert_arr_eq(before, after, n * sizeof *before);
    sand_fabric_health_close(health);
    sand_fabric_free(fabric);
}

// Lanes and packets: a cable at half its lanes leaves 3/4 of its bundle of two; one that loses 1 %
// of its packets loses 0.5 % of the bundle's, and (1 - p)/(1 - p + pW) of the rate is left. In an
// aggregate of 8 cables it is an eighth.
Test(fabric_health, lanes_and_packets_are_shares_of_a_bundle)
{
    struct fixture f;
    struct sand_fabric *fabric = tree(&f, SAND_SPREAD_STATIC);
    struct sand_fabric_health *health;
    cr_assert_eq(sand_fabric_health_open(fabric, window, &health, NULL), SAND_OK);
    const struct sand_fabric_part cable = part_of(fabric, SAND_KIND_LINK, "leaf3-spine2 up");
    const struct sand_fabric_part nic = part_of(fabric, SAND_KIND_NIC, "node1 nic1 up");
    const struct sand_fabric_ailment ailments[] = {
        {cable, 0.5, 0}, {cable, 1, 0.01}, {nic, 0.25, 0}};
    cr_assert_eq(sand_fabric_health_set(health, ailments, 3, NULL), SAND_OK);
    const struct sand_fabric_link *link = link_of(fabric, "leaf3-spine2 up");
    cr_assert_float_eq(link->speed, 0.75, 1e-15);
    cr_assert_float_eq(link->goodput, 0.995 / (0.995 + 0.005 * window), 1e-12);
    cr_assert_float_eq(link_of(fabric, "node1 nic1 down")->speed, 0.25, 1e-15);
    sand_fabric_health_close(health);
    sand_fabric_free(fabric);

    fabric = tree(&f, SAND_SPREAD_EVEN);
    cr_assert_eq(sand_fabric_health_open(fabric, window, &health, NULL), SAND_OK);
    const struct sand_fabric_ailment bundled[] = {
        {part_of(fabric, SAND_KIND_LINK, "leaf3 up"), 0, 0}};
    cr_assert_eq(sand_fabric_health_set(health, bundled, 1, NULL), SAND_OK);
    cr_assert_float_eq(link_of(fabric, "leaf3 down")->speed, 7.0 / 8, 1e-15);
    sand_fabric_health_close(health);
    sand_fabric_free(fabric);
}

// The parts of a kind are as many as the list of parts counts, every number has one, and every
// cable of the two kinds comes as often as it has cables.
Test(fabric_health, parts_are_counted_as_they_are_bought)
{
    static const enum sand_spreading spreadings[] = {SAND_SPREAD_EVEN, SAND_SPREAD_STATIC};
    for (int s = 0; s < 2; s++) {
        struct fixture f;
        struct sand_fabric *fabric = tree(&f, spreadings[s]);
        struct sand_fabric_counts counts;
        sand_fabric_count(fabric, &counts);
        cr_assert_eq(sand_fabric_n_parts(fabric, SAND_KIND_NIC), counts.endpoint_cables);
        cr_assert_eq(sand_fabric_n_parts(fabric, SAND_KIND_LINK), counts.leaf_spine_cables);
        cr_assert_eq(sand_fabric_n_parts(fabric, SAND_KIND_LEAF), counts.leaves);
        cr_assert_eq(sand_fabric_n_parts(fabric, SAND_KIND_SPINE), counts.spines);
        cr_assert_eq(sand_fabric_n_parts(fabric, SAND_KIND_CORE), 0u);
        uint32_t *times = sand_calloc(fabric->n_links, sizeof *times);
        for (uint64_t k = 0; k < counts.leaf_spine_cables; k++)
            times[sand_fabric_part_at(fabric, SAND_KIND_LINK, k).index]++;
        for (uint32_t l = 0; l < fabric->n_links; l++) {
            const int is_up = fabric->links[l].link_class == SAND_LINK_LEAF_UP;
            cr_assert_eq(times[l], is_up ? (s == 0 ? 8u : 2u) : 0u);
        }
        sand_free(times);
        sand_fabric_free(fabric);
    }
}

// A switch that ails is a switch that was never there: the same links as sand_fabric_fail_switch.
Test(fabric_health, a_switch_down_is_as_one_that_failed)
{
    static const enum sand_spreading spreadings[] = {SAND_SPREAD_EVEN, SAND_SPREAD_STATIC};
    static const char *const names[] = {"leaf2", "spine3"};
    for (int i = 0; i < 4; i++) {
        struct fixture f, g;
        struct sand_fabric *ailing = tree(&f, spreadings[i / 2]);
        struct sand_fabric *failed = tree(&g, spreadings[i / 2]);
        struct sand_fabric_health *health;
        const enum sand_part_kind kind = i % 2 ? SAND_KIND_SPINE : SAND_KIND_LEAF;
        cr_assert_eq(sand_fabric_health_open(ailing, window, &health, NULL), SAND_OK);
        const struct sand_fabric_ailment ailment = {part_of(ailing, kind, names[i % 2]), 0, 0};
        cr_assert_eq(sand_fabric_health_set(health, &ailment, 1, NULL), SAND_OK);
        cr_assert_eq(sand_fabric_fail_switch(failed, i % 2 ? 1 : 0, i % 2 ? 3 : 2, NULL), SAND_OK);
        for (uint32_t l = 0; l < ailing->n_links; l++) {
            cr_assert_eq(ailing->links[l].is_down, failed->links[l].is_down);
            cr_assert_float_eq(ailing->links[l].speed, failed->links[l].speed, 1e-15);
        }
        sand_fabric_health_close(health);
        sand_fabric_free(ailing);
        sand_fabric_free(failed);
    }
}

// What a link says; not the bytes behind its last member, which nobody sets.
static int link_differs(const struct sand_fabric_link *a, const struct sand_fabric_link *b)
{
    return memcmp(a, b, offsetof(struct sand_fabric_link, is_down) + sizeof a->is_down) != 0;
}

static int any_differs(const struct sand_fabric_link *a, const struct sand_fabric_link *b,
                       uint32_t n)
{
    for (uint32_t l = 0; l < n; l++)
        if (link_differs(&a[l], &b[l]))
            return 1;
    return 0;
}

// 500 random sets of ailments one after another: the links are a function of the set alone (a
// fabric set afresh has the same), and in the end all is as built.
Test(fabric_health, the_past_leaves_no_trace)
{
    struct fixture f;
    struct sand_fabric *fabric = tree(&f, SAND_SPREAD_STATIC);
    struct sand_fabric_health *health;
    const struct sand_rng rng = {7, 0};
    const size_t size = fabric->n_links * sizeof *fabric->links;
    struct sand_fabric_link *built = sand_calloc(fabric->n_links, sizeof *built);
    memcpy(built, fabric->links, size);
    cr_assert_eq(sand_fabric_health_open(fabric, window, &health, NULL), SAND_OK);
    for (uint64_t i = 0; i < 500; i++) {
        struct sand_fabric_ailment set[5];
        const size_t n = sand_rng_u64(rng, SAND_STREAM_TEST, i, 0) % 6;
        for (size_t k = 0; k < n; k++) {
            const uint64_t d = sand_rng_u64(rng, SAND_STREAM_TEST, i, k + 1);
            const enum sand_part_kind kind = (enum sand_part_kind)(SAND_KIND_NIC + d % 4);
            const uint64_t n_parts = sand_fabric_n_parts(fabric, kind);
            const double speed = kind >= SAND_KIND_LEAF ? 0 : (double)(d >> 8 & 3) / 3;
            set[k] =
                (struct sand_fabric_ailment){sand_fabric_part_at(fabric, kind, (d >> 16) % n_parts),
                                             speed, speed > 0 ? 0.01 : 0};
        }
        cr_assert_eq(sand_fabric_health_set(health, set, n, NULL), SAND_OK);
        struct fixture g;
        struct sand_fabric *fresh = tree(&g, SAND_SPREAD_STATIC);
        struct sand_fabric_health *other;
        cr_assert_eq(sand_fabric_health_open(fresh, window, &other, NULL), SAND_OK);
        cr_assert_eq(sand_fabric_health_set(other, set, n, NULL), SAND_OK);
        cr_assert_not(any_differs(fabric->links, fresh->links, fabric->n_links));
        sand_fabric_health_close(other);
        sand_fabric_free(fresh);
    }
    cr_assert_eq(sand_fabric_health_set(health, NULL, 0, NULL), SAND_OK);
    cr_assert_not(any_differs(fabric->links, built, fabric->n_links));
    sand_free(built);
    sand_fabric_health_close(health);
    sand_fabric_free(fabric);
}

// Names of what is not there are refused, with one that is.
Test(fabric_health, refuses_names_of_nothing)
{
    static const struct {
        enum sand_part_kind kind;
        const char *name, *message;
    } cases[] = {{SAND_KIND_SPINE, "spine4", "\"spine0\""},
                 {SAND_KIND_LINK, "node0 nic0 up", "\"leaf0-spine0 up\""},
                 {SAND_KIND_NIC, "leaf0-spine0 up", "\"node0 nic0 up\""},
                 {SAND_KIND_LEAF, "spine1", "\"leaf0\""},
                 {SAND_KIND_LINK, "", "\"leaf0-spine0 up\""},
                 {SAND_KIND_CORE, "core0", "no part of the kind"}};
    struct fixture f;
    struct sand_fabric *fabric = tree(&f, SAND_SPREAD_STATIC);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sand_fabric_part part;
        struct sand_diag diag = {0};
        cr_assert_eq(sand_fabric_part_find(fabric, cases[i].kind, cases[i].name, &part, &diag),
                     SAND_ERR_INPUT);
        cr_assert_not_null(strstr(diag.messages[0].text, cases[i].message), "%s",
                           diag.messages[0].text);
        sand_diag_clear(&diag);
    }
    sand_fabric_free(fabric);
}
