// The torus that optical circuit switches make of a job's cubes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICSLICE_H
#define SAND_PLATFORMS_FABRIC_FABRICSLICE_H

#include "fabric.h"

// Circuits join any cubes: those of a job are a torus of their own, wherever they stand (Jouppi et
// al., "TPU v4", ISCA 2023). Not to be moved while open.
struct sand_fabric_slice {
    struct sand_fabric fabric;  // the fabric as the job sees it, on the links it was made of
    uint32_t grid[3];           // cubes in each dimension
    uint32_t *cube_at;          // by place, x fastest
    uint32_t *place_of;         // of a cube; SAND_NONE: not in the slice
    int is_mesh;                // part of a cube: nothing closes its rings
    struct fabric_twist *twist; // NULL: not twisted
};

// The nodes' cubes (NULL: nodes 0 to n - 1), in the order of their first nodes. All cubes of the
// torus are joined as it is described; fewer so that the longest side is as short as can be (k
// cubes: the divisors a <= b <= c of k with the least c, then the least b). Fabrics without
// circuits stay what they are. Where the description says `twisted`, slices whose sides allow it
// are (fabrictwist.h). Refuses parts of several cubes, and slices so long that no route holds their
// ways. O(cubes + n).
enum sand_rc sand_fabric_slice_open(const struct sand_fabric *fabric, const uint32_t *nodes,
                                    uint32_t n, struct sand_fabric_slice *slice,
                                    struct sand_diag *diag);
void sand_fabric_slice_close(struct sand_fabric_slice *slice);

// Sides in cubes of a slice of k > 0 cubes, the shortest first.
void sand_fabric_slice_grid(uint32_t k, uint32_t grid[3]);

// Nodes in a cube; 0: the fabric has no cubes.
static inline uint32_t sand_fabric_cube_nodes(const struct sand_fabric *fabric)
{
    return fabric->block * fabric->block * fabric->block / fabric->nics_per_node;
}

#endif
