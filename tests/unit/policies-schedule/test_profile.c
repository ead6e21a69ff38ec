// The profile of free nodes against counting, date by date.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "profile.h"
#include "rng.h"

enum { DATES = 64, TRIALS = 300 };

static uint64_t draw(uint64_t seed, uint64_t i, uint64_t below)
{
    return sand_rng_u64((struct sand_rng){seed, 0}, SAND_STREAM_TEST, i, below) % below;
}

// Free nodes at dates 0, 1, ...; the last holds for ever.
static int fits(const uint64_t *n_free, int64_t begin, uint64_t need, int64_t length)
{
    for (int64_t t = begin; t < DATES && (length == INT64_MAX || t < begin + length); t++) {
        if (n_free[t] < need)
            return 0;
    }
    return length == 0 || n_free[DATES - 1] >= need ||
           (length < INT64_MAX && begin + length <= DATES);
}

static int64_t earliest(const uint64_t *n_free, uint64_t need, int64_t length)
{
    for (int64_t t = 0; t < DATES; t++) {
        if (fits(n_free, t, need, length))
            return t;
    }
    return INT64_MAX;
}

static void compare(const struct sand_profile *profile, const uint64_t *n_free)
{
    for (int64_t t = 0; t < DATES; t++)
        cr_assert_eq(sand_profile_free_at(profile, t), n_free[t], "at %ld", (long)t);
}

static void release(struct sand_profile *profile, uint64_t *n_free, int64_t date, uint64_t n)
{
    cr_assert_eq(sand_profile_release(profile, date, n), 0);
    for (int64_t t = date; t < DATES; t++)
        n_free[t] += n;
}

static void begin(struct sand_profile *profile, uint64_t *n_free, uint64_t seed)
{
    const uint64_t now_free = draw(seed, 0, 9);
    cr_assert_eq(sand_profile_begin(profile, 0, now_free), 0);
    for (size_t t = 0; t < DATES; t++)
        n_free[t] = now_free;
    int64_t date = 1;
    for (uint64_t i = 1; i <= 8; i++) {
        release(profile, n_free, date, 1 + draw(seed, i, 4));
        date += (int64_t)draw(seed, i, 3); // also several at a time
    }
}

Test(profile, earliest_places_are_those_of_counting)
{
    struct sand_profile profile = {0};
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        uint64_t n_free[DATES];
        begin(&profile, n_free, seed);
        for (uint64_t i = 0; i < 12; i++) {
            const uint64_t need = 1 + draw(seed, 100 + i, 12);
            const int64_t length =
                draw(seed, 200 + i, 8) == 0 ? INT64_MAX : 1 + (int64_t)draw(seed, 300 + i, 4);
            const int64_t date = earliest(n_free, need, length);
            cr_assert_eq(sand_profile_earliest(&profile, need, length), date, "seed %lu",
                         (unsigned long)seed);
            cr_assert_eq(sand_profile_fits_now(&profile, need, length), date == 0);
            if (date == INT64_MAX || date > DATES / 2)
                continue;
            cr_assert_eq(sand_profile_take(&profile, date, length, need), 0);
            for (int64_t t = date; t < DATES && (length == INT64_MAX || t < date + length); t++)
                n_free[t] -= need;
            compare(&profile, n_free);
        }
    }
    sand_profile_free(&profile);
}

// A job of no length needs nothing; one larger than the machine never fits.
Test(profile, extremes)
{
    struct sand_profile profile = {0};
    cr_assert_eq(sand_profile_begin(&profile, 5, 2), 0);
    cr_assert_eq(sand_profile_release(&profile, 9, 2), 0);
    cr_assert_eq(sand_profile_earliest(&profile, 9, 0), 5);
    cr_assert_eq(sand_profile_earliest(&profile, 5, 1), INT64_MAX);
    cr_assert_eq(sand_profile_earliest(&profile, 4, INT64_MAX), 9);
    cr_assert_eq(sand_profile_earliest(&profile, 2, INT64_MAX - 1), 5);
    sand_profile_free(&profile);
}
