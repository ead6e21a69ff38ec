// The splits that a search considers, in a fixed order. Internal to analysis/search.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_SPACE_H
#define SAND_ANALYSIS_SEARCH_SPACE_H

#include <stddef.h>

#include "rc.h"
#include "workload.h"

// Splits that differ only in tp, cp, pp, dp, ep and rank order from the job's, and in shard_group:
// the copies of a stage in one scale-up domain of `domain_gpus`, where that is some but not all.
// Owned by the caller: sand_free.
enum sand_rc space_frames(const struct sand_job_spec *job, uint32_t gpus, uint32_t domain_gpus,
                          struct sand_split **frames, size_t *n);

typedef enum sand_rc space_visit(void *self, const struct sand_split *split);

// Calls `visit` with every variant of a frame: virtual stages, micro-batch, sequence parallelism,
// recomputation, sharding over all copies and in the frame's groups. Not all of them are possible.
enum sand_rc space_variants(const struct sand_job_spec *job, const struct sand_split *frame,
                            space_visit *visit, void *self);

#endif
