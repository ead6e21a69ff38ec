// Arithmetic that C's library lacks or does not inline.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_NUMBERS_H
#define SAND_SIM_BASE_NUMBERS_H

#include <stdint.h>

// The greatest common divisor; of 0 and n, n. Euclid, O(log).
static inline uint32_t sand_gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// a / b rounded up, b above 0; never overflows.
static inline uint64_t sand_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

// Of two numbers that are no NaN, where fmax and fmin cost a call.
static inline double sand_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double sand_smaller(double a, double b)
{
    return a < b ? a : b;
}

#endif
