// Places of jobs on a torus of cubes, and the cubes that are switched for others.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabricslice.h"
#include "mem.h"
#include "units.h"
#include "world.h"

enum sand_rc sand_slices_open(struct sand_world *w)
{
    struct sand_slices *s = &w->slices;
    if (w->fabric->kind != SAND_FABRIC_TORUS || w->fabric->block == 0)
        return SAND_OK;
    s->cube_nodes = sand_fabric_cube_nodes(w->fabric);
    s->n_cubes = w->cluster->n_nodes / s->cube_nodes;
    s->n_free = sand_calloc(s->n_cubes, sizeof *s->n_free);
    s->in_box = sand_calloc(s->n_cubes, sizeof *s->in_box);
    s->nodes[0] = sand_calloc(w->cluster->n_nodes, sizeof *s->nodes[0]);
    s->nodes[1] = sand_calloc(w->cluster->n_nodes, sizeof *s->nodes[1]);
    return s->n_free && s->in_box && s->nodes[0] && s->nodes[1] ? SAND_OK : SAND_ERR_NOMEM;
}

void sand_slices_close(struct sand_world *w)
{
    sand_free(w->slices.n_free);
    sand_free(w->slices.in_box);
    sand_free(w->slices.nodes[0]);
    sand_free(w->slices.nodes[1]);
    w->slices = (struct sand_slices){0};
}

int sand_slices_rule(const struct sand_world *w, const struct sand_world_job *j)
{
    return w->slices.cube_nodes > 0 && !sand_job_is_record(j->spec) &&
           j->node_gpus == w->gpus_per_node;
}

static uint32_t cube_of(const struct sand_world *w, uint32_t node)
{
    return node / w->slices.cube_nodes;
}

static int is_part_of_a_cube(const struct sand_world *w, const struct sand_world_job *j)
{
    return j->spec->n_nodes < w->slices.cube_nodes;
}

static void count_free(struct sand_world *w, const uint32_t *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->slices.n_free[cube_of(w, nodes[i])]++;
}

// ---- boxes --------------------------------------------------------------------------------------

// Marks the cubes of a box of these sides at this origin, over the ends of the torus if need be;
// returns whether all their nodes are free.
static int mark_box(struct sand_world *w, const uint32_t grid[3], const uint32_t origin[3],
                    const uint32_t sides[3])
{
    struct sand_slices *s = &w->slices;
    memset(s->in_box, 0, s->n_cubes * sizeof *s->in_box);
    for (uint32_t z = 0; z < sides[2]; z++)
        for (uint32_t y = 0; y < sides[1]; y++)
            for (uint32_t x = 0; x < sides[0]; x++) {
                const uint32_t cube =
                    ((origin[2] + z) % grid[2] * grid[1] + (origin[1] + y) % grid[1]) * grid[0] +
                    (origin[0] + x) % grid[0];
                if (s->n_free[cube] != s->cube_nodes)
                    return 0;
                s->in_box[cube] = 1;
            }
    return 1;
}

static int box_at_any_origin(struct sand_world *w, const uint32_t sides[3])
{
    const struct sand_fabric *f = w->fabric;
    const uint32_t grid[3] = {f->size[0] / f->block, f->size[1] / f->block, f->size[2] / f->block};
    for (int d = 0; d < 3; d++)
        if (sides[d] > grid[d])
            return 0;
    for (uint32_t i = 0; i < w->slices.n_cubes; i++) {
        const uint32_t origin[3] = {i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]};
        if (mark_box(w, grid, origin, sides))
            return 1;
    }
    return 0;
}

// The first box of k cubes whose nodes are all among n_free; marks it. The nearest to a cube, which
// its circuits would make it, in any of its orientations.
static int find_box(struct sand_world *w, uint32_t k)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint32_t shape[3];
    sand_fabric_slice_grid(k, shape);
    for (int i = 0; i < 6; i++) {
        const uint32_t sides[3] = {shape[orders[i][0]], shape[orders[i][1]], shape[orders[i][2]]};
        if (box_at_any_origin(w, sides))
            return 1;
    }
    return 0;
}

static uint32_t cubes_of(const struct sand_world *w, const struct sand_world_job *j)
{
    return j->spec->n_nodes / w->slices.cube_nodes;
}

// ---- starting -----------------------------------------------------------------------------------

// Marks the cubes that a job of whole cubes may get.
static void mark_whole(struct sand_world *w, const struct sand_world_job *j)
{
    struct sand_slices *s = &w->slices;
    if (j->spec->n_nodes % s->cube_nodes != 0)
        memset(s->in_box, 0, s->n_cubes * sizeof *s->in_box);
    else if (w->fabric->has_circuits)
        for (uint32_t c = 0; c < s->n_cubes; c++)
            s->in_box[c] = s->n_free[c] == s->cube_nodes;
    else if (!find_box(w, cubes_of(w, j)))
        memset(s->in_box, 0, s->n_cubes * sizeof *s->in_box);
}

// Marks the fullest cube that has room for a part.
static void mark_part(struct sand_world *w, const struct sand_world_job *j)
{
    struct sand_slices *s = &w->slices;
    uint32_t best = SAND_NONE;
    for (uint32_t c = 0; c < s->n_cubes; c++)
        if (s->n_free[c] >= j->spec->n_nodes &&
            (best == SAND_NONE || s->n_free[c] < s->n_free[best]))
            best = c;
    for (uint32_t c = 0; c < s->n_cubes; c++)
        s->in_box[c] = c == best;
}

const uint32_t *sand_slices_room(struct sand_world *w, const struct sand_world_job *j,
                                 const uint32_t *room, size_t *n)
{
    struct sand_slices *s = &w->slices;
    size_t kept = 0;
    memset(s->n_free, 0, s->n_cubes * sizeof *s->n_free);
    count_free(w, room, *n);
    if (is_part_of_a_cube(w, j))
        mark_part(w, j);
    else
        mark_whole(w, j);
    for (size_t i = 0; i < *n; i++)
        if (s->in_box[cube_of(w, room[i])])
            s->nodes[0][kept++] = room[i];
    *n = kept;
    return s->nodes[0];
}

int sand_slices_are_whole(struct sand_world *w, const struct sand_world_job *j,
                          const uint32_t *nodes)
{
    struct sand_slices *s = &w->slices;
    memset(s->n_free, 0, s->n_cubes * sizeof *s->n_free);
    count_free(w, nodes, j->spec->n_nodes);
    if (is_part_of_a_cube(w, j))
        return s->n_free[cube_of(w, nodes[0])] == j->spec->n_nodes;
    for (uint32_t c = 0; c < s->n_cubes; c++)
        if (s->n_free[c] != 0 && s->n_free[c] != s->cube_nodes)
            return 0;
    return w->fabric->has_circuits || find_box(w, cubes_of(w, j));
}

// ---- substitutes --------------------------------------------------------------------------------

// A node of the box that is not the job's; what is the job's comes back to it.
static uint32_t entry_of_box(const struct sand_world *w, const struct sand_world_job *j)
{
    for (uint32_t node = 0; node < w->cluster->n_nodes; node++)
        if (w->slices.in_box[cube_of(w, node)] && !sand_pool_is_on(w, j, node))
            return node;
    return SAND_NONE;
}

static int is_substitute(const struct sand_world *w, const struct sand_world_job *j,
                         uint32_t failed, uint32_t entry, uint32_t node)
{
    if (node == failed)
        return 1;
    if (is_part_of_a_cube(w, j) && cube_of(w, node) == cube_of(w, failed))
        return 1;
    if (w->fabric->has_circuits || is_part_of_a_cube(w, j))
        return w->slices.n_free[cube_of(w, node)] == w->slices.cube_nodes;
    return node == entry;
}

static size_t filter(struct sand_world *w, const struct sand_world_job *j, uint32_t failed,
                     uint32_t entry, const uint32_t *from, size_t n, uint32_t *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (is_substitute(w, j, failed, entry, from[i]))
            to[kept++] = from[i];
    return kept;
}

void sand_slices_substitutes(struct sand_world *w, const struct sand_world_job *j,
                             uint32_t failed_node, const uint32_t **spares, size_t *n_spares,
                             const uint32_t **idle, size_t *n_idle)
{
    struct sand_slices *s = &w->slices;
    uint32_t entry = SAND_NONE;
    memset(s->n_free, 0, s->n_cubes * sizeof *s->n_free);
    count_free(w, *spares, *n_spares);
    count_free(w, *idle, *n_idle);
    if (!w->fabric->has_circuits && !is_part_of_a_cube(w, j)) {
        for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++)
            if (j->nodes[rank] != SAND_NONE && !w->nodes[j->nodes[rank]].struck)
                s->n_free[cube_of(w, j->nodes[rank])]++;
        if (find_box(w, cubes_of(w, j)))
            entry = entry_of_box(w, j);
    }
    *n_spares = filter(w, j, failed_node, entry, *spares, *n_spares, s->nodes[0]);
    *n_idle = filter(w, j, failed_node, entry, *idle, *n_idle, s->nodes[1]);
    *spares = s->nodes[0];
    *idle = s->nodes[1];
}

// ---- moving -------------------------------------------------------------------------------------

static enum sand_rc take(struct sand_world *w, struct sand_world_job *j, uint32_t rank,
                         uint32_t node)
{
    j->nodes[rank] = node;
    j->nodes_changed = 1;
    return sand_pool_take(w, j, node);
}

// The open incident whose node the rank is missing.
static struct sand_incident *missing_at(const struct sand_world *w, const struct sand_world_job *j,
                                        uint32_t rank)
{
    for (uint32_t i = j->first_open; i != SAND_NONE; i = w->incidents[i].next_open)
        if (w->incidents[i].missing_rank == rank)
            return &w->incidents[i];
    return NULL;
}

// Rank by rank from one cube to another, each to the place it had.
static enum sand_rc switch_cube(struct sand_world *w, struct sand_world_job *j, uint32_t old,
                                uint32_t other)
{
    const uint32_t per_cube = w->slices.cube_nodes;
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++) {
        struct sand_incident *missing = j->nodes[rank] == SAND_NONE ? missing_at(w, j, rank) : NULL;
        const uint32_t node = missing ? missing->fault.node : j->nodes[rank];
        if (node == SAND_NONE || cube_of(w, node) != old)
            continue;
        if (missing) {
            missing->missing_rank = SAND_NONE;
            missing->replacement = other * per_cube + node % per_cube;
        } else {
            SAND_TRY(sand_pool_release(w, j, node));
        }
        SAND_TRY(take(w, j, rank, other * per_cube + node % per_cube));
    }
    return SAND_OK;
}

// To the box that was found for the substitutes.
static enum sand_rc move_to_box(struct sand_world *w, struct sand_world_job *j, uint32_t entry)
{
    uint32_t rank = 0;
    for (uint32_t i = j->first_open; i != SAND_NONE; i = w->incidents[i].next_open)
        if (w->incidents[i].missing_rank != SAND_NONE) {
            w->incidents[i].missing_rank = SAND_NONE;
            w->incidents[i].replacement = entry;
        }
    for (uint32_t r = 0; r < j->spec->n_nodes; r++) {
        if (j->nodes[r] != SAND_NONE && !w->slices.in_box[cube_of(w, j->nodes[r])])
            SAND_TRY(sand_pool_release(w, j, j->nodes[r]));
        j->nodes[r] = SAND_NONE;
    }
    for (uint32_t node = 0; node < w->cluster->n_nodes; node++) {
        if (!w->slices.in_box[cube_of(w, node)])
            continue;
        if (sand_pool_is_on(w, j, node))
            j->nodes[rank++] = node;
        else
            SAND_TRY(take(w, j, rank++, node));
    }
    j->nodes_changed = 1;
    return SAND_OK;
}

enum sand_rc sand_slices_move(struct sand_world *w, struct sand_world_job *j, uint32_t number,
                              uint32_t node)
{
    const uint32_t failed = w->incidents[number].fault.node;
    const int spare = w->node_views[node].state == SANDTABLE_NODE_SPARE;
    if (is_part_of_a_cube(w, j) && cube_of(w, node) == cube_of(w, failed)) {
        const uint32_t rank = w->incidents[number].missing_rank;
        w->incidents[number].missing_rank = SAND_NONE;
        w->incidents[number].replacement = node;
        SAND_TRY(
            sand_emit_decision(w, &w->recover, spare ? "spare" : "idle node", j->index, node, NAN));
        return take(w, j, rank, node);
    }
    if (!w->fabric->has_circuits && !is_part_of_a_cube(w, j)) {
        SAND_TRY(sand_emit_decision(w, &w->recover, "move to box", j->index, node, NAN));
        return move_to_box(w, j, node);
    }
    if (!is_part_of_a_cube(w, j))
        j->switching_ns = sand_ns_from_s(w->cluster->fabric.switching_s);
    SAND_TRY(sand_emit_decision(w, &w->recover, spare ? "spare cube" : "idle cube", j->index, node,
                                sand_s_from_ns(j->switching_ns)));
    return switch_cube(w, j, cube_of(w, failed), cube_of(w, node));
}
