// What the head of the queue waits for where jobs of less than a node share nodes, node by node.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_SHAREDPLAN_H
#define SAND_POLICIES_SCHEDULE_SHAREDPLAN_H

#include <stddef.h>
#include <stdint.h>

#include "sandtable/policy.h"

// What a node offers the head of the queue.
struct sand_shared_node {
    int64_t date_ns; // from when on it has the GPUs the head needs of a node; INT64_MAX: never
    uint32_t free_gpus, shadow_gpus; // now, and at the shadow time
    uint32_t is_good;                // the head could have it at the shadow time
};

// Zero-initialise. The head needs n_nodes nodes with node_gpus free GPUs each. The shadow time is
// the earliest date at which requests leave it so many, the extra nodes those beyond. A later job
// may start on a node past the shadow time if the node stays good, was none, or is an extra one.
struct sand_shared_plan {
    struct sand_shared_node *nodes;
    int64_t *dates; // scratch
    size_t n_nodes, capacity;
    uint32_t head_gpus; // on each node
    int64_t shadow_ns;  // INT64_MAX: none
    uint64_t extra;
};

// Plans for the head as things stand. 0, or -1 when out of memory. O(nodes log nodes).
int sand_shared_plan_head(struct sand_shared_plan *plan, const struct sandtable_host *host,
                          const struct sandtable_job *head);
// May a job start now on `nodes` until end_ns? O(1) where it ends by the shadow time.
int sand_shared_may_start(const struct sand_shared_plan *plan, const struct sandtable_job *job,
                          const uint32_t *nodes, int64_t end_ns);
// It did.
void sand_shared_take(struct sand_shared_plan *plan, const struct sandtable_job *job,
                      const uint32_t *nodes, int64_t end_ns);
// Upper bounds for what can start at all and past the shadow time, GPUs. O(nodes).
void sand_shared_bounds(const struct sand_shared_plan *plan, uint64_t *now, uint64_t *past);
void sand_shared_free(struct sand_shared_plan *plan);

#endif
