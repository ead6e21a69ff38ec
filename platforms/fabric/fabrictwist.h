// Twisted tori: what closes a short dimension to rings also moves half way along the long ones.
// Private to the room. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICTWIST_H
#define SAND_PLATFORMS_FABRIC_FABRICTWIST_H

#include <stdint.h>

#include "rc.h"

// Sides of n and 2n (and 1, which counts for nothing), at least one of either: the rectangular
// twisted torus of 2n x n and the prismatic ones of 2n x n x n and 2n x 2n x n (Camara et al., IEEE
// TPDS 21(12), 2010), of which TPU v4 has the last two (Jouppi et al., ISCA 2023; Cloud TPU
// documentation, "TPU v4": 2A = B = C or 2A = 2B = C, such as 4x4x8, 4x8x8). A link that closes a
// ring of n also moves n places in every dimension of 2n.
struct fabric_twist {
    uint32_t side[3];
    uint32_t shift;    // n
    int16_t (*way)[3]; // steps that lead from place 0 to each place, places with x fastest
};

int fabric_twist_fits(const uint32_t side[3]);

// Plans the ways: shortest ones, of equally short ones that which leaves the six directions of
// links most equally loaded if every place sends to every other; the way from a to b is the way
// back of that from b to a. The way from one place to another depends on where the other is as
// seen from the one alone, so that links of one direction are equally loaded. O(places).
enum sand_rc fabric_twist_open(const uint32_t side[3], struct fabric_twist **twist);
void fabric_twist_free(struct fabric_twist *twist); // NULL is fine

// One place on, way 0 towards larger coordinates.
void fabric_twist_step(const struct fabric_twist *twist, uint32_t at[3], uint32_t dim,
                       uint32_t way);

// Steps in each dimension from one place to another.
const int16_t *fabric_twist_way(const struct fabric_twist *twist, const uint32_t from[3],
                                const uint32_t to[3]);

#endif
