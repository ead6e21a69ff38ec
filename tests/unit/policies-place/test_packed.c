// place/packed: cases by hand, and random small clusters against every subset of their leaves.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "builtin_place.h"

enum { MOST_NODES = 64, MOST_LEAVES = 12 };

struct cluster {
    struct sandtable_node nodes[MOST_NODES];
    uint32_t allowed[MOST_NODES];
    size_t n_all, n_allowed;
};

// A leaf of `free` free nodes; ids ascend in the order of the calls.
static void add_leaf(struct cluster *c, uint32_t leaf, uint32_t pod, uint32_t free)
{
    for (uint32_t i = 0; i < free; i++) {
        const uint32_t node = (uint32_t)c->n_all++;
        c->nodes[node] = (struct sandtable_node){.node = node, .leaf = leaf, .pod = pod};
        c->allowed[c->n_allowed++] = node;
    }
}

static int place(const struct cluster *c, uint32_t n, uint32_t *out)
{
    const struct sandtable_place *policy = sand_builtin_place[1];
    const struct sandtable_host host = {.struct_size = sizeof host};
    const struct sandtable_place_request request = {.n_nodes = n,
                                                    .nodes = c->nodes,
                                                    .n_all = c->n_all,
                                                    .allowed = c->allowed,
                                                    .n_allowed = c->n_allowed};
    void *self = NULL;
    int found = -1;
    memset(out, 0xff, MOST_NODES * sizeof *out);
    cr_assert_str_eq(policy->type, "place/packed");
    cr_assert_eq(policy->create(&host, &self), 0);
    cr_assert_eq(policy->place(self, &request, out, &found), 0);
    policy->destroy(self);
    return found;
}

static void expect(const struct cluster *c, uint32_t n, const uint32_t *expected)
{
    uint32_t out[MOST_NODES];
    cr_assert_eq(place(c, n, out), 1);
    for (uint32_t rank = 0; rank < n; rank++)
        cr_assert_eq(out[rank], expected[rank], "rank %u on node %u, not %u", rank, out[rank],
                     expected[rank]);
    cr_assert_eq(out[n], SANDTABLE_NONE); // not a node more
}

// ---- by hand ------------------------------------------------------------------------------------

Test(packed, fills_an_empty_cluster_like_first_fit)
{
    struct cluster c = {0};
    for (uint32_t leaf = 0; leaf < 8; leaf++)
        add_leaf(&c, leaf, leaf / 4, 4);
    expect(&c, 16, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    expect(&c, 5, (const uint32_t[]){0, 1, 2, 3, 4});
}

Test(packed, takes_the_leaf_that_fits_best)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 0, 5); // nodes 0-4
    add_leaf(&c, 1, 0, 3); // 5-7
    add_leaf(&c, 2, 1, 4); // 8-11
    expect(&c, 3, (const uint32_t[]){5, 6, 7});
    expect(&c, 4, (const uint32_t[]){8, 9, 10, 11});
    expect(&c, 2, (const uint32_t[]){5, 6}); // one stays in leaf 1, two or three elsewhere
}

// 6 nodes: leaves of 4 and 2 sit in different pods; two of 3 share one. Both are two leaves.
Test(packed, prefers_one_pod_to_larger_leaves)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 0, 4); // 0-3
    add_leaf(&c, 1, 1, 3); // 4-6
    add_leaf(&c, 2, 1, 3); // 7-9
    expect(&c, 6, (const uint32_t[]){4, 5, 6, 7, 8, 9});
}

// 8 nodes: two leaves of 4 in two pods against three leaves in one pod.
Test(packed, prefers_fewer_leaves_to_fewer_pods)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 0, 4); // 0-3
    add_leaf(&c, 1, 1, 3); // 4-6
    add_leaf(&c, 2, 1, 3); // 7-9
    add_leaf(&c, 3, 1, 2); // 10-11
    add_leaf(&c, 4, 2, 4); // 12-15
    expect(&c, 8, (const uint32_t[]){0, 1, 2, 3, 12, 13, 14, 15});
}

// Both pods hold 4 nodes in one leaf and leave none over; pod 1 has fewer other free nodes.
Test(packed, keeps_emptier_pods_free)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 0, 4); // 0-3
    add_leaf(&c, 1, 0, 4); // 4-7
    add_leaf(&c, 2, 1, 2); // 8-9
    add_leaf(&c, 3, 1, 4); // 10-13
    expect(&c, 4, (const uint32_t[]){10, 11, 12, 13});
}

// The whole leaf first, then the part of the other: no leaf's ranks are split.
Test(packed, puts_the_part_used_leaf_last)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 0, 2); // 0-1
    add_leaf(&c, 1, 0, 4); // 2-5
    expect(&c, 5, (const uint32_t[]){2, 3, 4, 5, 0});
}

// 14 nodes in leaves of 4, 4, 3, 3 | 4, 3 | 4: four leaves hold them. The largest four use three
// pods; pods 0 and 1 do with 4 + 4 + 4 + 3 = 15 or 4 + 4 + 3 + 4, pod 0 alone with 4 + 4 + 3 + 3.
Test(packed, looks_beyond_the_largest_leaves)
{
    struct cluster c = {0};
    add_leaf(&c, 0, 2, 4);
    add_leaf(&c, 1, 1, 4);
    add_leaf(&c, 2, 1, 3);
    add_leaf(&c, 3, 0, 4); // 11-14
    add_leaf(&c, 4, 0, 4); // 15-18
    add_leaf(&c, 5, 0, 3); // 19-21
    add_leaf(&c, 6, 0, 3); // 22-24
    expect(&c, 14, (const uint32_t[]){11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
}

// A restart: exactly its nodes, to be laid out anew.
Test(packed, orders_the_nodes_of_a_restart)
{
    struct cluster c = {0};
    for (uint32_t i = 0; i < 6; i++)
        add_leaf(&c, i % 3, 0, 1); // leaf 0: 0 3, leaf 1: 1 4, leaf 2: 2 5
    expect(&c, 6, (const uint32_t[]){0, 3, 1, 4, 2, 5});
}

Test(packed, says_when_there_is_no_place)
{
    struct cluster c = {0};
    uint32_t out[MOST_NODES];
    add_leaf(&c, 0, 0, 3);
    cr_assert_eq(place(&c, 4, out), 0);
    cr_assert_eq(out[0], SANDTABLE_NONE);
    cr_assert_eq(place(&c, 0, out), 1);
    cr_assert_eq(out[0], SANDTABLE_NONE);
}

// ---- against every subset -----------------------------------------------------------------------

struct leaves {
    uint32_t pod[MOST_LEAVES], free[MOST_LEAVES];
    uint32_t n;
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static struct leaves random_leaves(uint64_t *state, struct cluster *c)
{
    const uint32_t n_pods = 1 + draw(state, 5), size = 1 + draw(state, 5);
    struct leaves leaves = {.n = 1 + draw(state, MOST_LEAVES)};
    for (uint32_t l = 0; l < leaves.n; l++) {
        leaves.pod[l] = draw(state, n_pods);
        leaves.free[l] = 1 + draw(state, size);
        add_leaf(c, l, leaves.pod[l], leaves.free[l]);
    }
    return leaves;
}

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

// The fewest leaves, and of the subsets with so few the fewest pods.
static void try_all(const struct leaves *leaves, uint32_t n, uint32_t *n_leaves, uint32_t *n_pods)
{
    *n_leaves = *n_pods = UINT32_MAX;
    for (uint32_t set = 1; set < 1u << leaves->n; set++) {
        uint32_t held = 0, pods = 0;
        for (uint32_t l = 0; l < leaves->n; l++)
            if (set >> l & 1) {
                held += leaves->free[l];
                pods |= 1u << leaves->pod[l];
            }
        if (held < n || bits(set) > *n_leaves)
            continue;
        if (bits(set) < *n_leaves || bits(pods) < *n_pods)
            *n_pods = bits(pods);
        *n_leaves = bits(set);
    }
}

// Counts what the answer uses; consecutive ranks share leaves, then pods: each is entered once.
static void check_answer(const struct cluster *c, const uint32_t *out, uint32_t n,
                         uint32_t *n_leaves, uint32_t *n_pods)
{
    uint32_t seen_leaves = 0, seen_pods = 0;
    uint64_t seen = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        cr_assert_lt(out[rank], c->n_all);
        cr_assert_eq(seen >> out[rank] & 1, 0, "node %u twice", out[rank]);
        seen |= (uint64_t)1 << out[rank];
        const struct sandtable_node *node = &c->nodes[out[rank]];
        const struct sandtable_node *before = rank > 0 ? &c->nodes[out[rank - 1]] : NULL;
        if (!before || node->leaf != before->leaf)
            cr_assert_eq(seen_leaves >> node->leaf & 1, 0, "leaf %u entered twice", node->leaf);
        if (!before || node->pod != before->pod)
            cr_assert_eq(seen_pods >> node->pod & 1, 0, "pod %u entered twice", node->pod);
        seen_leaves |= 1u << node->leaf;
        seen_pods |= 1u << node->pod;
    }
    *n_leaves = bits(seen_leaves);
    *n_pods = bits(seen_pods);
}

Test(packed, uses_the_fewest_leaves_and_then_the_fewest_pods)
{
    uint64_t state = 7;
    uint32_t several = 0;
    for (int trial = 0; trial < 3000; trial++) {
        struct cluster c = {0};
        const struct leaves leaves = random_leaves(&state, &c);
        const uint32_t n = 1 + draw(&state, (uint32_t)c.n_allowed);
        uint32_t out[MOST_NODES], used_leaves, used_pods, fewest_leaves, fewest_pods;
        cr_assert_eq(place(&c, n, out), 1);
        check_answer(&c, out, n, &used_leaves, &used_pods);
        try_all(&leaves, n, &fewest_leaves, &fewest_pods);
        cr_assert_eq(used_leaves, fewest_leaves, "trial %d: %u leaves, not %u", trial, used_leaves,
                     fewest_leaves);
        cr_assert_eq(used_pods, fewest_pods, "trial %d: %u pods, not %u", trial, used_pods,
                     fewest_pods);
        several += fewest_pods > 1 && fewest_pods < fewest_leaves;
    }
    cr_assert_gt(several, 300); // cases in which pods had to be chosen
}

// No free leaf of a pod in use would hold the part-used leaf's ranks more tightly.
Test(packed, leaves_least_over_in_the_last_leaf)
{
    uint64_t state = 11;
    for (int trial = 0; trial < 1000; trial++) {
        struct cluster c = {0};
        const struct leaves leaves = random_leaves(&state, &c);
        const uint32_t n = 1 + draw(&state, (uint32_t)c.n_allowed);
        uint32_t out[MOST_NODES], used[MOST_LEAVES] = {0}, pods = 0;
        place(&c, n, out);
        for (uint32_t rank = 0; rank < n; rank++) {
            used[c.nodes[out[rank]].leaf]++;
            pods |= 1u << c.nodes[out[rank]].pod;
        }
        for (uint32_t l = 0; l < leaves.n; l++)
            for (uint32_t other = 0; other < leaves.n; other++) {
                const int better =
                    used[l] > 0 && used[other] == 0 && (pods >> leaves.pod[other] & 1) &&
                    leaves.free[other] >= used[l] && leaves.free[other] < leaves.free[l];
                cr_assert(!better, "trial %d: leaf %u is tighter than %u", trial, other, l);
            }
    }
}

// What is called first and second does not matter: ids alone decide.
Test(packed, depends_on_places_alone)
{
    uint64_t state = 13;
    for (int trial = 0; trial < 200; trial++) {
        struct cluster c = {0};
        uint32_t out[MOST_NODES], again[MOST_NODES];
        random_leaves(&state, &c);
        const uint32_t n = 1 + draw(&state, (uint32_t)c.n_allowed);
        place(&c, n, out);
        for (size_t i = 0; i < c.n_all; i++) { // other names, same order
            c.nodes[i].leaf = c.nodes[i].leaf * 7 + 3;
            c.nodes[i].pod = c.nodes[i].pod * 5 + 1;
        }
        place(&c, n, again);
        cr_assert_arr_eq(out, again, n * sizeof *out);
    }
}
