// Composes the cubes of a job to a torus.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricslice.h"

#include <inttypes.h>

#include "fabrictwist.h"
#include "ids.h"
#include "mem.h"

void sand_fabric_slice_grid(uint32_t k, uint32_t grid[3])
{
    grid[0] = grid[1] = 1;
    grid[2] = k;
    for (uint32_t a = 1; (uint64_t)a * a * a <= k; a++)
        for (uint32_t b = a; k % a == 0 && (uint64_t)a * b * b <= k; b++)
            if (k / a % b == 0 && (k / a / b < grid[2] || (k / a / b == grid[2] && b < grid[1]))) {
                grid[0] = a;
                grid[1] = b;
                grid[2] = k / a / b;
            }
}

static enum sand_rc number_cubes(const struct sand_fabric *f, const uint32_t *nodes, uint32_t n,
                                 struct sand_fabric_slice *slice, uint32_t *n_cubes)
{
    const uint32_t per_cube = sand_fabric_cube_nodes(f), all = f->n_nodes / per_cube;
    slice->cube_at = sand_calloc(all, sizeof *slice->cube_at);
    slice->place_of = sand_calloc(all, sizeof *slice->place_of);
    if (slice->cube_at == NULL || slice->place_of == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t c = 0; c < all; c++)
        slice->place_of[c] = SAND_NONE;
    *n_cubes = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t cube = (nodes ? nodes[i] : i) / per_cube;
        if (slice->place_of[cube] != SAND_NONE)
            continue;
        slice->place_of[cube] = *n_cubes;
        slice->cube_at[(*n_cubes)++] = cube;
    }
    return SAND_OK;
}

static enum sand_rc check_whole(const struct sand_fabric *f, uint32_t n, uint32_t n_cubes,
                                struct sand_diag *diag)
{
    const uint32_t per_cube = sand_fabric_cube_nodes(f);
    if (n_cubes == 1 || n == n_cubes * per_cube)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "%" PRIu32 " nodes in %" PRIu32 " cubes of %" PRIu32
                     ": circuits join whole cubes; take part of one, or all nodes of each",
                     n, n_cubes, per_cube);
}

static enum sand_rc check_length(const struct sand_fabric *f, const uint32_t grid[3],
                                 struct sand_diag *diag)
{
    const uint32_t hops = f->block * grid[0] / 2 + f->block * grid[1] / 2 + f->block * grid[2] / 2;
    if (hops + 2 <= SAND_ROUTE_MAX - 8)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "a slice of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " cubes has ways of %" PRIu32
                     " links, more than the %d of a route; take a number of cubes with smaller "
                     "divisors",
                     grid[0], grid[1], grid[2], hops, SAND_ROUTE_MAX - 10);
}

static enum sand_rc twist(const struct sand_fabric *f, struct sand_fabric_slice *slice,
                          struct sand_diag *diag)
{
    const uint32_t side[3] = {slice->grid[0] * f->block, slice->grid[1] * f->block,
                              slice->grid[2] * f->block};
    slice->fabric.twist = NULL;
    if (!f->twisted || slice->is_mesh || !fabric_twist_fits(side))
        return SAND_OK;
    if (fabric_twist_open(side, &slice->twist) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the ways of a twisted slice");
    slice->fabric.twist = slice->twist;
    return SAND_OK;
}

enum sand_rc sand_fabric_slice_open(const struct sand_fabric *f, const uint32_t *nodes, uint32_t n,
                                    struct sand_fabric_slice *slice, struct sand_diag *diag)
{
    uint32_t n_cubes = 0;
    *slice = (struct sand_fabric_slice){.fabric = *f};
    if (!f->has_circuits || n == 0)
        return SAND_OK;
    enum sand_rc rc = number_cubes(f, nodes, n, slice, &n_cubes);
    if (rc != SAND_OK) {
        sand_fabric_slice_close(slice);
        return sand_fail(diag, rc, "no memory for the cubes of a slice");
    }
    if (n_cubes == f->n_nodes / sand_fabric_cube_nodes(f))
        for (int d = 0; d < 3; d++)
            slice->grid[d] = f->size[d] / f->block;
    else
        sand_fabric_slice_grid(n_cubes, slice->grid);
    slice->is_mesh = n < sand_fabric_cube_nodes(f);
    slice->fabric.slice = slice;
    rc = check_whole(f, n, n_cubes, diag);
    if (rc == SAND_OK)
        rc = check_length(f, slice->grid, diag);
    if (rc == SAND_OK)
        rc = twist(f, slice, diag);
    if (rc != SAND_OK)
        sand_fabric_slice_close(slice);
    return rc;
}

void sand_fabric_slice_close(struct sand_fabric_slice *slice)
{
    sand_free(slice->cube_at);
    sand_free(slice->place_of);
    fabric_twist_free(slice->twist);
    *slice = (struct sand_fabric_slice){.cube_at = NULL};
}
