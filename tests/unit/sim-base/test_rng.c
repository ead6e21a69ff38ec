// Draws by address: the known answers of Philox, no two addresses alike, and uniformity.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <Random123/philox.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "rng.h"

// Known answers from the kat_vectors file of the Random123 distribution.
Test(rng, philox4x32_known_answers)
{
    philox4x32_ctr_t zero = {{0, 0, 0, 0}};
    philox4x32_key_t key = {{0, 0}};
    philox4x32_ctr_t out = philox4x32_R(10, zero, key);
    static const uint32_t expected[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    cr_assert_arr_eq(out.v, expected, sizeof expected);
}

Test(rng, philox4x64_known_answers)
{
    static const uint64_t zeros[4] = {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b,
                                      0x7e68b68aec7ba23b};
    static const uint64_t ones[4] = {0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6,
                                     0xa09caebf594f0ba0};
    philox4x64_ctr_t counter = {{0, 0, 0, 0}};
    philox4x64_key_t key = {{0, 0}};
    philox4x64_ctr_t out = philox4x64_R(10, counter, key);
    cr_assert_arr_eq(out.v, zeros, sizeof zeros);
    for (int i = 0; i < 4; i++)
        counter.v[i] = UINT64_MAX;
    key.v[0] = key.v[1] = UINT64_MAX;
    out = philox4x64_R(10, counter, key);
    cr_assert_arr_eq(out.v, ones, sizeof ones);
}

// Our draw at address zero is the first word of the block above: the mapping is the written one.
Test(rng, mapping_of_the_address)
{
    struct sand_rng origin = {0, 0};
    cr_assert_eq(sand_rng_u64(origin, (enum sand_stream)0, 0, 0), 0x16554d9eca36314cu);
    struct sand_rng ones = {UINT64_MAX, UINT32_MAX};
    philox4x64_ctr_t counter = {{UINT64_MAX, UINT64_MAX, 0, 0}};
    philox4x64_key_t key = {{UINT64_MAX, 0xffffffff00000000u | SAND_STREAM_REPAIR}};
    cr_assert_eq(sand_rng_u64(ones, SAND_STREAM_REPAIR, UINT64_MAX, UINT64_MAX),
                 philox4x64_R(10, counter, key).v[0]);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// 3^5 neighbouring addresses and both ends of every field: no draw twice (a chance of 1e-14).
Test(rng, neighbouring_addresses_differ)
{
    enum { N = 243 };
    static const uint64_t ends[3] = {0, 1, UINT64_MAX};
    uint64_t draws[N];
    for (unsigned i = 0; i < N; i++) {
        struct sand_rng rng = {ends[i % 3], (uint32_t)ends[i / 3 % 3]};
        enum sand_stream stream = (enum sand_stream)(1 + i / 9 % 3);
        draws[i] = sand_rng_u64(rng, stream, ends[i / 27 % 3], ends[i / 81 % 3]);
    }
    qsort(draws, N, sizeof draws[0], compare_u64);
    for (unsigned i = 1; i < N; i++)
        cr_assert_neq(draws[i], draws[i - 1]);
}

// Kolmogorov-Smirnov at 100,000 draws: D * sqrt(n) stays below 1.95 (p = 0.001); fixed seed.
static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Test(rng, uniform_is_open_and_uniform)
{
    enum { N = 100000 };
    double *u = malloc(N * sizeof *u);
    cr_assert(u);
    struct sand_rng rng = {42, 7};
    for (uint64_t i = 0; i < N; i++) {
        u[i] = sand_rng_uniform(rng, SAND_STREAM_TEST, 3, i);
        cr_assert(u[i] > 0.0 && u[i] < 1.0);
    }
    qsort(u, N, sizeof *u, compare_double);
    double d = 0.0;
    for (size_t i = 0; i < N; i++) {
        d = fmax(d, fabs(u[i] - (double)i / N));
        d = fmax(d, fabs(u[i] - (double)(i + 1) / N));
    }
    free(u);
    cr_assert_lt(d * sqrt(N), 1.95);
}
