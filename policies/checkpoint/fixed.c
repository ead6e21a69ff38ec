// checkpoint/fixed: the same useful time between saves, whatever the faults do.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

#include <math.h>
#include <stdlib.h>

struct fixed {
    double interval_s;
};

static int fixed_create(const struct sandtable_host *host, void **self)
{
    struct fixed *fixed = malloc(sizeof *fixed);
    if (fixed == NULL)
        return host->fail(host, "checkpoint/fixed: out of memory");
    fixed->interval_s = host->param(host, "interval");
    *self = fixed;
    return 0;
}

static int fixed_next(void *self, const struct sandtable_checkpoint_context *context,
                      struct sandtable_checkpoint_plan *out)
{
    const struct fixed *fixed = self;
    out->save = 1;
    out->interval_s = fmax(fixed->interval_s, sandtable_shortest_interval_s(context));
    return 0;
}

static void fixed_destroy(void *self)
{
    free(self);
}

static const struct sandtable_param fixed_params[] = {
    {.name = "interval",
     .dim = SANDTABLE_TIME_S,
     .required = 1,
     .min = 1e-3,
     .max = INFINITY,
     .doc = "useful time between the end of one save's stall and the start of the next save; an "
            "asynchronous save that takes longer to become durable delays the next one"},
};

const struct sandtable_checkpoint sand_checkpoint_fixed = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/fixed",
    .version = "1.0",
    .summary = "saves every `interval` of useful time",
    .params = fixed_params,
    .n_params = sizeof fixed_params / sizeof fixed_params[0],
    .create = fixed_create,
    .next = fixed_next,
    .destroy = fixed_destroy,
};
