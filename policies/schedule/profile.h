// How many nodes are going to be free, as far as requests tell: a step function of time, from which
// reservations are taken.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_PROFILE_H
#define SAND_POLICIES_SCHEDULE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

struct sand_profile_step {
    int64_t date_ns; // from here to the next step's date
    uint64_t n_free;
};

// Zero-initialise to start; the first step is now, the last holds for ever.
struct sand_profile {
    struct sand_profile_step *steps;
    size_t n, capacity;
};

// Starts afresh with n_free nodes from now on. 0, or -1 when out of memory.
int sand_profile_begin(struct sand_profile *profile, int64_t now_ns, uint64_t n_free);
// More nodes are free from `date_ns` on, which is not before the last step's.
int sand_profile_release(struct sand_profile *profile, int64_t date_ns, uint64_t n_nodes);
// The earliest date from which n_nodes are free for length_ns (INT64_MAX: for ever); INT64_MAX when
// there is none. O(steps).
int64_t sand_profile_earliest(const struct sand_profile *profile, uint64_t n_nodes,
                              int64_t length_ns);
// Are n_nodes free from now on for length_ns? O(steps).
int sand_profile_fits_now(const struct sand_profile *profile, uint64_t n_nodes, int64_t length_ns);
// Takes n_nodes, which are free then, from `begin_ns` for length_ns. O(steps).
int sand_profile_take(struct sand_profile *profile, int64_t begin_ns, int64_t length_ns,
                      uint64_t n_nodes);
uint64_t sand_profile_free_at(const struct sand_profile *profile, int64_t date_ns);
void sand_profile_free(struct sand_profile *profile);

#endif
