// The waiting jobs in queue order, with a tree of minima over them: the next job that may overtake
// is found without looking at those that may not.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_WAITLIST_H
#define SAND_POLICIES_SCHEDULE_WAITLIST_H

#include <stddef.h>
#include <stdint.h>

#define SAND_NO_PLACE SIZE_MAX

struct sand_waiting {
    uint32_t job, n_nodes;
    int64_t walltime_ns; // INT64_MAX: unknown
    double key;          // low keys overtake first; equal keys in queue order
};

struct sand_waitlist_minima {
    uint32_t n_live, n_nodes;
    int64_t walltime_ns;
    double key;
};

// Zero-initialise to start. Places grow along the queue and stay valid until the next push.
struct sand_waitlist {
    struct sand_waiting *jobs;           // `capacity` places, of which n_used were given out
    size_t capacity, n_used;             // capacity: a power of two
    struct sand_waitlist_minima *minima; // a heap-shaped tree: 1 the root, capacity + i place i
};

// Which jobs a search takes: at most max_nodes nodes, and either at most max_walltime_ns or at most
// extra_nodes nodes, on places [first, end), after `after` in the order of (key, place).
struct sand_waitlist_query {
    size_t first, end;
    uint32_t max_nodes, extra_nodes;
    int64_t max_walltime_ns;
    double after_key; // -INFINITY: from the beginning
    size_t after_place;
};

// Appends a job; 0, or -1 when out of memory (the list is unchanged). O(log n) amortised.
int sand_waitlist_push(struct sand_waitlist *list, struct sand_waiting job);
// O(log n).
void sand_waitlist_remove(struct sand_waitlist *list, size_t place);
size_t sand_waitlist_count(const struct sand_waitlist *list);
// The place of the k-th waiting job, k from 0; SAND_NO_PLACE past the last. O(log n).
size_t sand_waitlist_nth(const struct sand_waitlist *list, size_t k);
// The first job in (key, place) order that the query takes, or SAND_NO_PLACE. Subtrees whose minima
// exclude a hit are skipped: O(log n) when sizes and times rise together, O(n) at worst.
size_t sand_waitlist_find(const struct sand_waitlist *list,
                          const struct sand_waitlist_query *query);
void sand_waitlist_free(struct sand_waitlist *list);

#endif
