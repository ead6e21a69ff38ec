/* What the policies share that save at an optimum of stall and MTBF.
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SAND_POLICIES_CHECKPOINT_OPTIMUM_H
#define SAND_POLICIES_CHECKPOINT_OPTIMUM_H

#include "sandtable/policy.h"

// Useful time between two saves, seconds, for a stall w and a mean time between faults M (finite,
// > 0). May be 0 or below: then saves cost nothing.
typedef double sand_optimum_fn(double stall_s, double mtbf_s);

// The one declared parameter: no_fault_interval.
extern const struct sandtable_param sand_optimum_params[];
enum { SAND_OPTIMUM_N_PARAMS = 1 };

// A policy's three functions; `type` is named in messages.
int sand_optimum_create(const struct sandtable_host *host, const char *type,
                        sand_optimum_fn *optimum_s, void **self);
int sand_optimum_next(void *self, const struct sandtable_checkpoint_context *context,
                      struct sandtable_checkpoint_plan *out);
void sand_optimum_destroy(void *self);

#endif
