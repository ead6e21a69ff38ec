// checkpoint/none: never saves; a fault costs everything since the job's start.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

static int none_create(const struct sandtable_host *host, void **self)
{
    (void)host;
    *self = NULL; // remembers nothing
    return 0;
}

static int none_next(void *self, const struct sandtable_checkpoint_context *context,
                     struct sandtable_checkpoint_plan *out)
{
    (void)self;
    (void)context;
    out->save = 0;
    out->interval_s = 0.0;
    return 0;
}

static void none_destroy(void *self)
{
    (void)self;
}

const struct sandtable_checkpoint sand_checkpoint_none = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/none",
    .version = "1.0",
    .summary = "never saves; a fault costs everything since the job's start",
    .create = none_create,
    .next = none_next,
    .destroy = none_destroy,
};
