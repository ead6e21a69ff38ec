// Jobs on a torus of cubes: where they may be placed, what takes the place of a cube that failed.
// With circuits a job has any whole cubes; without, cubes that form a box; or part of one cube.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_SLICES_H
#define SAND_SIM_REPLAY_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"

struct sand_world;
struct sand_world_job;

// Scratch; nothing where the fabric has no cubes.
struct sand_slices {
    uint32_t cube_nodes, n_cubes; // 0: no cubes
    uint32_t *n_free;             // of each cube
    uint8_t *in_box;              // of each cube
    uint32_t *nodes[2];           // ids, as many as the cluster has
};

enum sand_rc sand_slices_open(struct sand_world *w);
void sand_slices_close(struct sand_world *w);

// Does the job take cubes? Recorded jobs and those of less than a node do not.
int sand_slices_rule(const struct sand_world *w, const struct sand_world_job *j);

// Of the nodes with room for the job, ascending, those it may get: any n_nodes of them with the
// lowest ids are a slice. They stay until the next call. O(nodes), without circuits O(cubes^2).
const uint32_t *sand_slices_room(struct sand_world *w, const struct sand_world_job *j,
                                 const uint32_t *room, size_t *n);

// Are these nodes part of one cube, whole cubes, or a box of them?
int sand_slices_are_whole(struct sand_world *w, const struct sand_world_job *j,
                          const uint32_t *nodes);

// Of spares and of idle nodes, those by which a missing node can be replaced: the node itself when
// it is back; its neighbours in the cube, for a job of less than a cube; any node of a cube that
// nobody has; without circuits one node of the first box that is free or the job's own. O(nodes).
void sand_slices_substitutes(struct sand_world *w, const struct sand_world_job *j,
                             uint32_t failed_node, const uint32_t **spares, size_t *n_spares,
                             const uint32_t **idle, size_t *n_idle);

// `node` is one of these: the job moves what it has in the cube of the incident's node to the cube
// of `node`, or all it has to the box. Incidents whose nodes are made up thereby miss none any
// more.
enum sand_rc sand_slices_move(struct sand_world *w, struct sand_world_job *j, uint32_t incident,
                              uint32_t node);

#endif
