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

// Splits that differ only in recomputation, sequence parallelism and sharding, over all copies and
// in the frame's groups. In SPACE_MODES equal blocks, one for each recomputation.
enum { SPACE_MODES = 3, SPACE_FAMILY = SPACE_MODES * 2 * 6 };
typedef enum sand_rc space_visit(void *self, const struct sand_split *family, size_t n);

// Calls `visit` with every family of a frame: virtual stages and micro-batches. Not all of their
// splits are possible.
enum sand_rc space_families(const struct sand_job_spec *job, const struct sand_split *frame,
                            space_visit *visit, void *self);

#endif
