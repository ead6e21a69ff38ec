// Dates kept for several jobs at the head of the queue, node by node, where jobs share nodes or ask
// for a group of them.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_RESERVATIONS_H
#define SAND_POLICIES_SCHEDULE_RESERVATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "sandtable/policy.h"

struct sand_reservation {
    uint32_t job;
    int64_t begin_ns, end_ns; // begin INT64_MAX: nothing known to come lets it start
};

// A job that might start now on nodes until a date; n 0: none.
struct sand_tried_job {
    const uint32_t *nodes;
    uint32_t n, node_gpus;
    int64_t end_ns;
};

// Zero-initialise. Reservations are made in order: each takes the earliest date from which enough
// nodes have the GPUs it needs for as long as it asks, beside those that run, by their requests,
// and those reserved before it; of these nodes those with the fewest GPUs left over, then the
// lowest.
struct sand_reservations {
    struct sand_reservation *items;
    uint8_t *holds; // [reservation][node]: GPUs of the node are its
    int64_t *dates; // scratch
    size_t n, capacity, n_nodes, n_dates, dates_capacity;
    uint32_t *node_gpus;  // of each reservation, on each of its nodes
    uint32_t *tried_gpus; // [node]
};

// Room for `n` reservations on the cluster's nodes; none is made. 0, or -1 when out of memory.
int sand_reservations_open(struct sand_reservations *plan, const struct sandtable_host *host,
                           size_t n);
// Adds the job's. O(dates x nodes) at worst, O(nodes log nodes) where the first date does.
int sand_reservations_add(struct sand_reservations *plan, const struct sandtable_host *host,
                          uint32_t job);
// Would a job that starts now delay one? 1: no, and the dates are now as if it had; 0: yes; -1: out
// of memory.
int sand_reservations_allow(struct sand_reservations *plan, const struct sandtable_host *host,
                            const struct sand_tried_job *tried);
// The first date kept; INT64_MAX: none.
int64_t sand_reservations_first(const struct sand_reservations *plan);
void sand_reservations_free(struct sand_reservations *plan);

#endif
