// Twisted tori: shortest ways, even loads.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricslice.h"

#include <string.h>

#include "fabric_walk.h"
#include "mem.h"

TestSuite(fabric_twist, .timeout = 60);

// Chips of one NIC at 50 GB/s.
static enum sand_rc try_torus(struct fixture *f, const uint32_t side[3], uint32_t block,
                              int twisted, struct sand_fabric **fabric)
{
    fixture_set(f);
    f->node.n_gpus = f->node.n_nics = 1;
    f->node.scaleup = SAND_SCALEUP_NONE;
    f->cluster.n_nodes = side[0] * side[1] * side[2];
    f->cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                  .size = {side[0], side[1], side[2]},
                                                  .block = block,
                                                  .circuits = block > 0,
                                                  .twisted = twisted,
                                                  .spreading = SAND_SPREAD_STATIC,
                                                  .link = &f->port};
    return sand_fabric_build(&f->cluster, fabric, NULL);
}

static struct sand_fabric *build_torus(struct fixture *f, const uint32_t side[3], int twisted)
{
    struct sand_fabric *fabric;
    cr_assert_eq(try_torus(f, side, 0, twisted, &fabric), SAND_OK);
    return fabric;
}

// Links from router 0 to every router, by search over the cables.
static void search_from_first(const struct sand_fabric *f, uint32_t *hops)
{
    uint32_t *queue = sand_calloc(f->n_endpoints, sizeof *queue), head = 0, tail = 0, ends[2];
    for (uint32_t i = 1; i < f->n_endpoints; i++)
        hops[i] = UINT32_MAX;
    queue[tail++] = 0;
    while (head < tail) {
        const uint32_t at = queue[head++];
        for (uint32_t p = 0; p < 2 * f->n_dims; p++) {
            sand_fabric_ends(f, f->first[SAND_LINK_TORUS] + at * 2 * f->n_dims + p, ends);
            const uint32_t next = ends[1] - f->n_endpoints;
            if (hops[next] != UINT32_MAX)
                continue;
            hops[next] = hops[at] + 1;
            queue[tail++] = next;
        }
    }
    sand_free(queue);
}

// Flows on the most loaded link if all send to all, and how many there would be on every link if
// all were equally loaded.
static void load_all_to_all(const struct sand_fabric *f, uint32_t *most, double *mean)
{
    uint32_t *load = sand_calloc(f->n_links, sizeof *load);
    uint64_t sum = 0, n = 0;
    cr_assert_eq(load_all_pairs(f, load), 0);
    *most = 0;
    for (uint32_t l = f->first[SAND_LINK_TORUS]; l < f->n_links; l++) {
        *most = load[l] > *most ? load[l] : *most;
        sum += load[l];
        n++;
    }
    *mean = (double)sum / (double)n;
    sand_free(load);
}

static const uint32_t shapes[][3] = {{4, 4, 8}, {4, 8, 8}, {8, 4, 4},  {8, 4, 8}, {2, 2, 4},
                                     {3, 6, 6}, {4, 8, 1}, {5, 5, 10}, {8, 8, 16}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// Every way is a shortest one, link by link where the cables lead.
Test(fabric_twist, ways_are_shortest)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct fixture f;
        uint32_t links[SAND_ROUTE_MAX];
        struct sand_fabric *fabric = build_torus(&f, shapes[i], 1);
        uint32_t *hops = sand_calloc(fabric->n_endpoints, sizeof *hops);
        search_from_first(fabric, hops);
        for (uint32_t to = 1; to < fabric->n_endpoints; to++) {
            const uint32_t n = sand_fabric_route(fabric, 0, to, links);
            walk_route(fabric, 0, to, links, n);
            cr_assert_eq(n, hops[to] + 2, "shape %d, to %u: %u links", (int)i, to, n);
            cr_assert_eq(sand_fabric_route(fabric, to, 0, links), n);
            walk_route(fabric, to, 0, links, n);
        }
        sand_free(hops);
        sand_fabric_free(fabric);
    }
}

// All-to-all in closed form: the links share the sum of the distances equally, to 1 % where a twist
// is symmetric between its dimensions and the counts divide (a link carries a whole number of
// flows). Twists of 2n x n x n beat the torus by 128 / (sum of distances / links) = 1.75, of 2n x
// 2n x n by 1.39.
Test(fabric_twist, all_to_all_loads_links_equally)
{
    static const struct {
        uint32_t side[3], torus;
        double mean;
    } rows[] = {{{4, 4, 8}, 128, 220.0 / 3}, {{4, 8, 8}, 256, 184}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        uint32_t most;
        double mean;
        struct sand_fabric *twisted = build_torus(&f, rows[i].side, 1);
        load_all_to_all(twisted, &most, &mean);
        cr_expect_float_eq(mean, rows[i].mean, 1e-9);
        cr_expect_leq(most, 1.01 * mean, "%u, mean %g", most, mean);
        sand_fabric_free(twisted);
        struct sand_fabric *torus = build_torus(&f, rows[i].side, 0);
        load_all_to_all(torus, &most, &mean);
        cr_expect_eq(most, rows[i].torus);
        sand_fabric_free(torus);
    }
}

// Two cubes of a pod, wherever they stand, are the twisted torus that would be built of them; eight
// are a plain torus, because a cube of cubes has nothing to twist.
Test(fabric_twist, slices_are_twisted_where_they_can)
{
    const uint32_t pod[3] = {8, 8, 8}, two[3] = {4, 4, 8};
    struct fixture f, g;
    struct sand_fabric *all, *alone;
    cr_assert_eq(try_torus(&f, pod, 4, 1, &all), SAND_OK);
    cr_assert_eq(try_torus(&g, two, 4, 1, &alone), SAND_OK);
    uint32_t nodes[128], links[SAND_ROUTE_MAX], own[SAND_ROUTE_MAX];
    for (uint32_t i = 0; i < 128; i++)
        nodes[i] = i < 64 ? 5 * 64 + i : 2 * 64 + i - 64;
    struct sand_fabric_slice slice;
    cr_assert_eq(sand_fabric_slice_open(all, nodes, 128, &slice, NULL), SAND_OK);
    for (uint32_t a = 0; a < 128; a++)
        for (uint32_t b = 0; b < 128; b++) {
            if (a == b)
                continue;
            const uint32_t n = sand_fabric_route(&slice.fabric, nodes[a], nodes[b], links);
            cr_assert_eq(n, sand_fabric_route(alone, a, b, own));
            walk_route(&slice.fabric, nodes[a], nodes[b], links, n);
        }
    sand_fabric_slice_close(&slice);
    cr_assert_eq(sand_fabric_slice_open(all, NULL, 512, &slice, NULL), SAND_OK);
    cr_expect_null(slice.fabric.twist);
    sand_fabric_slice_close(&slice);
    sand_fabric_free(all);
    sand_fabric_free(alone);
}

// What cannot be twisted is refused where cables join it; memory that is missing is said.
Test(fabric_twist, refusals)
{
    static const uint32_t bad[][3] = {{4, 4, 4}, {4, 8, 16}, {4, 6, 8}, {3, 3, 1}, {4, 12, 4}};
    struct fixture f;
    struct sand_fabric *fabric;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(try_torus(&f, bad[i], 0, 1, &fabric), SAND_ERR_INPUT, "%d", (int)i);
    const uint32_t good[3] = {4, 4, 8};
    for (uint64_t n = 1;; n++) {
        sand_mem_fail_at(n);
        const enum sand_rc rc = try_torus(&f, good, 0, 1, &fabric);
        sand_mem_fail_at(0);
        if (rc == SAND_OK)
            break;
        cr_assert_eq(rc, SAND_ERR_NOMEM);
    }
    sand_fabric_free(fabric);
}
