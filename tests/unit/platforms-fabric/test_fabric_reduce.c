// Reduction trees: every NIC's way leads to the root, nothing is listed twice, nothing is down.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "fabric_walk.h"
#include "fabricreduce.h"
#include "mem.h"

static struct sand_fabric *build(struct fixture *f)
{
    struct sand_fabric *fabric = NULL;
    f->cluster.fabric.sharp = 1;
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    return fabric;
}

// The link of the tree that leaves `vertex`, or n_links.
static size_t leaves(const struct sand_fabric *f, const struct sand_reduction_tree *t,
                     uint32_t vertex)
{
    uint32_t ends[2];
    size_t found = t->n_links;
    for (size_t i = 0; i < t->n_links; i++) {
        sand_fabric_ends(f, t->links[i], ends);
        if (ends[0] != vertex)
            continue;
        cr_assert_eq(found, t->n_links, "two links leave one vertex: no tree");
        found = i;
    }
    return found;
}

// From every NIC up to the root; all links together are used, none is down.
static void check_tree(const struct sand_fabric *f, const uint32_t *nics, uint32_t n,
                       const struct sand_reduction_tree *t)
{
    uint8_t used[4096] = {0};
    uint32_t highest = 0, ends[2];
    cr_assert(t->n_links <= sizeof used);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = nics[i], hops = 0;
        while (at != t->root) {
            const size_t link = leaves(f, t, at);
            cr_assert(link < t->n_links, "NIC %u does not reach the root", nics[i]);
            cr_assert(!f->links[t->links[link]].is_down);
            cr_assert(++hops < 8);
            used[link] = 1;
            sand_fabric_ends(f, t->links[link], ends);
            at = ends[1];
        }
        highest = hops > highest ? hops : highest;
    }
    cr_expect_eq(highest, t->height);
    for (size_t i = 0; i < t->n_links; i++)
        cr_expect(used[i], "link %zu carries nothing", i);
}

// 32 NICs a leaf, 16 leaves (256 nodes of 8 NICs: 64 leaves of 2 tiers): by hand. Two NICs of one
// leaf: their two cables. One NIC on each of four leaves: four NIC cables and four uplinks.
Test(fabric_reduce, by_hand)
{
    struct fixture f;
    struct sand_reduction_tree t;
    fixture_set(&f);
    f.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    struct sand_fabric *fabric = build(&f);
    cr_assert_eq(sand_fabric_reduction_tree(fabric, (const uint32_t[]){3, 5}, 2, 0, &t, NULL),
                 SAND_OK);
    cr_expect_eq(t.n_links, 2);
    cr_expect_eq(t.height, 1);
    cr_expect_eq(t.root, fabric->n_endpoints);
    sand_reduction_tree_free(&t);
    const uint32_t far[] = {0, 32, 64, 1024};
    for (uint32_t tree = 0; tree < 3; tree++) {
        cr_assert_eq(sand_fabric_reduction_tree(fabric, far, 4, tree, &t, NULL), SAND_OK);
        cr_expect_eq(t.n_links, 8);
        cr_expect_eq(t.height, 2);
        cr_expect_eq(t.root, fabric->n_endpoints + fabric->n_leaves + tree);
        check_tree(fabric, far, 4, &t);
        sand_reduction_tree_free(&t);
    }
    sand_fabric_free(fabric);
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

// Random groups on random trees of all spreadings, with a dead spine cable: always a tree over what
// works.
Test(fabric_reduce, random_groups)
{
    uint32_t state = 7, nics[64];
    for (int trial = 0; trial < 60; trial++) {
        struct fixture f;
        struct sand_reduction_tree t;
        fixture_set_kary(&f, 8, 128);
        f.cluster.fabric.spreading = (enum sand_spreading)draw(&state, 4);
        f.cluster.fabric.adaptive_efficiency = 0.9;
        f.cluster.fabric.queue_pairs = 4;
        struct sand_fabric *fabric = build(&f);
        if (!sand_fabric_is_aggregate(fabric))
            cr_assert_eq(sand_fabric_fail_link(
                             fabric, fabric->first[SAND_LINK_LEAF_UP] + draw(&state, 128), NULL),
                         SAND_OK);
        const uint32_t n = 2 + draw(&state, 62), first = draw(&state, 128);
        for (uint32_t i = 0; i < n; i++)
            nics[i] = (first + i * 2) % 128; // n <= 63 and a stride of 2: all different
        cr_assert_eq(sand_fabric_reduction_tree(fabric, nics, n, draw(&state, 9), &t, NULL),
                     SAND_OK);
        check_tree(fabric, nics, n, &t);
        sand_reduction_tree_free(&t);
        sand_fabric_free(fabric);
    }
}

// Rails reduce each for itself; a fabric that cannot is told so.
Test(fabric_reduce, refusals)
{
    struct fixture f;
    struct sand_reduction_tree t;
    struct sand_diag diag = {0};
    fixture_set(&f);
    f.cluster.fabric.kind = SAND_FABRIC_RAIL_ONLY;
    f.cluster.fabric.nodes_per_unit = 32;
    struct sand_fabric *fabric = build(&f);
    cr_expect_eq(sand_fabric_reduction_tree(fabric, (const uint32_t[]){0, 1}, 2, 0, &t, &diag),
                 SAND_ERR_INPUT);
    cr_expect(strstr(diag.messages[0].text, "nic1"));
    cr_expect_eq(sand_fabric_reduction_tree(fabric, (const uint32_t[]){0, 8}, 2, 0, &t, NULL),
                 SAND_OK);
    sand_reduction_tree_free(&t);
    cr_expect_eq(sand_fabric_reduction_tree(fabric, (const uint32_t[]){0}, 1, 0, &t, NULL),
                 SAND_ERR_INPUT);
    fabric->sharp = 0;
    cr_expect_eq(sand_fabric_reduction_tree(fabric, (const uint32_t[]){0, 8}, 2, 0, &t, NULL),
                 SAND_ERR_INPUT);
    sand_diag_clear(&diag);
    sand_fabric_free(fabric);
}
