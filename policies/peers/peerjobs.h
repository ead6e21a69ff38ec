// The lists every peer variant keeps: waiting jobs in queue order, running jobs by expected end.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_PEERS_PEERJOBS_H
#define SAND_POLICIES_PEERS_PEERJOBS_H

#include <stddef.h>
#include <stdint.h>

#include "sandtable/policy.h"

struct sand_peer_job {
    uint32_t job, n_nodes;
    int64_t length_ns; // how long the peer expects it to run; INT64_MAX: unknown
};

struct sand_peer_run {
    int64_t end_ns; // expected
    uint32_t job, n_nodes;
};

// Zero-initialise to start.
struct sand_peer_jobs {
    struct sand_peer_job *queue;
    size_t n_queue, queue_capacity;
    struct sand_peer_run *running; // by end, then in the order of their starts
    size_t n_running, running_capacity;
};

// date + length, INT64_MAX (never) instead of an overflow.
int64_t sand_peer_later(int64_t date_ns, int64_t length_ns);

// Both return 0, or what host->fail returned when memory ran out.
int sand_peer_queue(struct sand_peer_jobs *jobs, const struct sandtable_host *host,
                    struct sand_peer_job job);
int sand_peer_run(struct sand_peer_jobs *jobs, const struct sandtable_host *host,
                  struct sand_peer_run run);

void sand_peer_unqueue(struct sand_peer_jobs *jobs, size_t place);
// The place among the running jobs; n_running when it is not there. O(running).
size_t sand_peer_find(const struct sand_peer_jobs *jobs, uint32_t job);
void sand_peer_end(struct sand_peer_jobs *jobs, uint32_t job);
void sand_peer_free(struct sand_peer_jobs *jobs);

#endif
