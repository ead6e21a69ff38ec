// Where a replay gets its jobs: one after the other, as they are submitted.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_JOBSOURCE_H
#define SAND_SIM_MODEL_JOBSOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "workload.h"

struct sand_job_source {
    void *self;
    // The next job by submit date, equal dates by number; *job is NULL after the last one. Numbers
    // are those of the results: 0, 1, 2, ... without gaps once all have come, in whatever order.
    // The job and its texts are valid until the next call; model, software and policies it points
    // to outlive the run.
    enum sand_rc (*next)(void *self, const struct sand_job_spec **job, uint32_t *number,
                         struct sand_diag *diag);
    // At most so many jobs have checkpoints that are transfers; UINT32_MAX: not known.
    uint32_t max_savers;
};

// The jobs of a list, which must outlive it, numbered by their places. O(n log n).
struct sand_joblist;
enum sand_rc sand_joblist_open(const struct sand_job_spec *jobs, size_t n,
                               struct sand_joblist **list, struct sand_job_source *source);
void sand_joblist_close(struct sand_joblist *list); // NULL is fine

#endif
