// Slices of cubes: wherever their cubes stand, they are the torus that would be built of them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricslice.h"

#include <stdlib.h>
#include <string.h>

#include "fabric_walk.h"
#include "mem.h"
#include "rng.h"

TestSuite(fabric_slice, .timeout = 60);

enum { SIDE = 2, CUBE = SIDE * SIDE * SIDE }; // cubes of eight chips, one chip a node

static struct sand_fabric *build(struct fixture *f, uint32_t x, uint32_t y, uint32_t z,
                                 int circuits)
{
    struct sand_fabric *fabric;
    fixture_set(f);
    f->node.n_gpus = f->node.n_nics = 1;
    f->node.scaleup = SAND_SCALEUP_NONE;
    f->cluster.n_nodes = x * y * z;
    f->cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                  .size = {x, y, z},
                                                  .block = SIDE,
                                                  .circuits = circuits,
                                                  .spreading = SAND_SPREAD_STATIC,
                                                  .link = &f->port};
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    return fabric;
}

Test(fabric_slice, grids_are_as_cubic_as_divisors_allow)
{
    static const uint32_t rows[][4] = {{1, 1, 1, 1},  {2, 1, 1, 2}, {4, 1, 2, 2},  {6, 1, 2, 3},
                                       {7, 1, 1, 7},  {8, 2, 2, 2}, {12, 2, 2, 3}, {36, 3, 3, 4},
                                       {60, 3, 4, 5}, {64, 4, 4, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t grid[3];
        sand_fabric_slice_grid(rows[i][0], grid);
        cr_expect(memcmp(grid, rows[i] + 1, sizeof grid) == 0, "%u: %u x %u x %u", rows[i][0],
                  grid[0], grid[1], grid[2]);
    }
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Loads of all-to-all among n chips, walked and sorted; links of other chips carry nothing.
static uint32_t *loads_among(const struct sand_fabric *f, const uint32_t *chips, uint32_t n,
                             uint32_t *n_loads)
{
    uint32_t *load = sand_calloc(f->n_links, sizeof *load), links[SAND_ROUTE_MAX];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            if (i == j)
                continue;
            const uint32_t length = sand_fabric_route(f, chips[i], chips[j], links);
            walk_route(f, chips[i], chips[j], links, length);
            for (uint32_t k = 0; k < length; k++)
                load[links[k]]++;
        }
    *n_loads = 0;
    for (uint32_t l = 0; l < f->n_links; l++)
        if (load[l] > 0)
            load[(*n_loads)++] = load[l];
    qsort(load, *n_loads, sizeof *load, ascending);
    return load;
}

// Eight random cubes out of 27, in random order, against a torus of 4 x 4 x 4 that stands alone.
Test(fabric_slice, any_cubes_are_a_torus_of_their_own)
{
    struct fixture f, g;
    struct sand_fabric *all = build(&f, 6, 6, 6, 1), *alone = build(&g, 4, 4, 4, 1);
    uint32_t chips[8 * CUBE], own[8 * CUBE], n_expected, n_loads;
    for (uint32_t i = 0; i < 8 * CUBE; i++)
        own[i] = i;
    uint32_t *expected = loads_among(alone, own, 8 * CUBE, &n_expected);
    for (uint64_t trial = 0; trial < 20; trial++) {
        struct sand_fabric_slice slice;
        uint32_t cubes[27];
        for (uint32_t i = 0; i < 27; i++)
            cubes[i] = i;
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t k = i + (uint32_t)(sand_rng_u64((struct sand_rng){.seed = 5},
                                                           SAND_STREAM_TEST, trial, i) %
                                              (27 - i));
            const uint32_t cube = cubes[k];
            cubes[k] = cubes[i];
            cubes[i] = cube;
            for (uint32_t c = 0; c < CUBE; c++)
                chips[i * CUBE + c] = cube * CUBE + c;
        }
        cr_assert_eq(sand_fabric_slice_open(all, chips, 8 * CUBE, &slice, NULL), SAND_OK);
        uint32_t *loads = loads_among(&slice.fabric, chips, 8 * CUBE, &n_loads);
        cr_assert_eq(n_loads, n_expected);
        cr_assert(memcmp(loads, expected, n_loads * sizeof *loads) == 0);
        uint32_t links[SAND_ROUTE_MAX];
        cr_assert_eq(sand_fabric_route(&slice.fabric, chips[0], cubes[8] * CUBE, links), SAND_NONE);
        sand_free(loads);
        sand_fabric_slice_close(&slice);
    }
    sand_free(expected);
    sand_fabric_free(all);
    sand_fabric_free(alone);
}

// Both directions of every link of a slice's chips, circuits included.
Test(fabric_slice, links_of_a_slice_have_two_directions)
{
    struct fixture f;
    struct sand_fabric_slice slice;
    struct sand_fabric *fabric = build(&f, 4, 4, 4, 1);
    uint32_t chips[4 * CUBE], there[2], back[2];
    for (uint32_t i = 0; i < 4 * CUBE; i++)
        chips[i] = (i / CUBE * 2 + 1) * CUBE + i % CUBE; // cubes 1, 3, 5, 7
    cr_assert_eq(sand_fabric_slice_open(fabric, chips, 4 * CUBE, &slice, NULL), SAND_OK);
    for (uint32_t l = fabric->first[SAND_LINK_TORUS]; l < fabric->n_links; l++) {
        sand_fabric_ends(&slice.fabric, l, there);
        if ((there[0] - fabric->n_endpoints) / CUBE % 2 == 0)
            continue;
        const uint32_t other = sand_fabric_reverse(&slice.fabric, l);
        cr_assert_eq(sand_fabric_reverse(&slice.fabric, other), l);
        sand_fabric_ends(&slice.fabric, other, back);
        cr_assert(there[0] == back[1] && there[1] == back[0]);
        cr_assert_eq((there[1] - fabric->n_endpoints) / CUBE % 2, 1);
    }
    sand_fabric_slice_close(&slice);
    sand_fabric_free(fabric);
}

// Part of a cube: 3 hops at most from corner to corner, none over a face; a whole one: its rings
// are closed. Without circuits everything stays as it is.
Test(fabric_slice, part_of_a_cube_is_a_mesh)
{
    struct fixture f;
    struct sand_fabric_slice slice;
    struct sand_fabric *fabric = build(&f, 4, 4, 4, 1);
    const uint32_t half[] = {16, 17, 18, 19}, whole[] = {16, 17, 18, 19, 20, 21, 22, 23};
    uint32_t links[SAND_ROUTE_MAX], n_loads;
    cr_assert_eq(sand_fabric_slice_open(fabric, half, 4, &slice, NULL), SAND_OK);
    uint32_t *loads = loads_among(&slice.fabric, half, 4, &n_loads);
    cr_expect_eq(n_loads, 2 * 4 + 8); // NICs, and the 4 edges of a square both ways
    cr_expect_eq(sand_fabric_route(&slice.fabric, 16, 19, links), 2 + 2);
    cr_expect_eq(sand_fabric_route(&slice.fabric, 18, 17, links), 2 + 2);
    cr_expect_eq(sand_fabric_link_owner(fabric, links[1]).port, 0); // x+, inside
    sand_free(loads);
    sand_fabric_slice_close(&slice);
    cr_assert_eq(sand_fabric_slice_open(fabric, whole, 8, &slice, NULL), SAND_OK);
    cr_expect_eq(sand_fabric_route(&slice.fabric, 18, 17, links), 2 + 2);
    cr_expect_eq(sand_fabric_link_owner(fabric, links[1]).port, 1); // x-, over the face
    sand_fabric_slice_close(&slice);
    sand_fabric_free(fabric);
    fabric = build(&f, 4, 4, 4, 0);
    cr_assert_eq(sand_fabric_slice_open(fabric, whole, 8, &slice, NULL), SAND_OK);
    cr_expect_null(slice.fabric.slice);
    sand_fabric_slice_close(&slice);
    sand_fabric_free(fabric);
}

// A broken link of the slice is gone round, over the slice's own circuits.
Test(fabric_slice, failures_are_gone_round)
{
    struct fixture f;
    struct sand_fabric_slice slice;
    struct sand_fabric *fabric = build(&f, 4, 4, 4, 1);
    const uint32_t nodes[] = {0, 1, 2, 3, 4, 5, 6, 7, 56, 57, 58, 59, 60, 61, 62, 63};
    uint32_t links[SAND_ROUTE_MAX];
    cr_assert_eq(sand_fabric_fail_switch(fabric, 0, 58, NULL), SAND_OK);
    cr_assert_eq(sand_fabric_slice_open(fabric, nodes, 16, &slice, NULL), SAND_OK);
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t j = 0; j < 16; j++) {
            if (i == j)
                continue;
            const uint32_t n = sand_fabric_route(&slice.fabric, nodes[i], nodes[j], links);
            if (nodes[i] == 58 || nodes[j] == 58)
                cr_assert_eq(n, SAND_NONE);
            else
                walk_route(&slice.fabric, nodes[i], nodes[j], links, n);
        }
    sand_fabric_slice_close(&slice);
    sand_fabric_free(fabric);
}

// Twelve nodes in two cubes of eight.
Test(fabric_slice, parts_of_two_cubes)
{
    struct fixture f;
    struct sand_fabric_slice slice;
    struct sand_diag diag = {0};
    struct sand_fabric *fabric = build(&f, 4, 4, 4, 1);
    cr_expect_eq(sand_fabric_slice_open(fabric, NULL, 12, &slice, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect(strstr(diag.messages[0].text, "12 nodes in 2 cubes of 8: circuits join whole cubes"));
    sand_diag_clear(&diag);
    sand_fabric_free(fabric);
}

// 127 cubes are 1 x 1 x 127: refused, with what to do.
Test(fabric_slice, too_long_a_slice)
{
    struct fixture f;
    struct sand_fabric_slice slice;
    struct sand_diag diag = {0};
    struct sand_fabric *fabric = build(&f, 16, 16, 16, 1);
    cr_expect_eq(sand_fabric_slice_open(fabric, NULL, 127 * CUBE, &slice, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect(strstr(diag.messages[0].text, "1 x 1 x 127 cubes has ways of 129 links"), "%s",
              diag.messages[0].text);
    sand_diag_clear(&diag);
    sand_fabric_free(fabric);
}
