// Random draws by address, through Random123's Philox.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "rng.h"

#include <Random123/philox.h>

// The address has 64 + 32 + 32 + 64 + 64 bits, more than the 192 of Philox4x32, so the 64-bit
// member of the family is used, whose key and counter hold it whole:
//
//   key     = (seed, replication << 32 | stream)
//   counter = (index, entity, 0, 0)
//
// The map is one to one, so two addresses never share a draw. Of the 256 output bits the first 64
// are used: a draw costs one block, and no draw depends on how many were made before it.
uint64_t sand_rng_u64(struct sand_rng rng, enum sand_stream stream, uint64_t entity, uint64_t index)
{
    philox4x64_key_t key = {{rng.seed, (uint64_t)rng.replication << 32 | (uint32_t)stream}};
    philox4x64_ctr_t counter = {{index, entity, 0, 0}};
    return philox4x64_R(10, counter, key).v[0];
}

// 52 bits and a half: the 2^52 values (k + 1/2) / 2^52 are exact doubles, none is 0 or 1.
double sand_rng_uniform(struct sand_rng rng, enum sand_stream stream, uint64_t entity,
                        uint64_t index)
{
    uint64_t bits = sand_rng_u64(rng, stream, entity, index) >> 12;
    return ((double)bits + 0.5) * 0x1p-52;
}
