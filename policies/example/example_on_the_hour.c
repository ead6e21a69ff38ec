/* An example checkpoint plug-in with a parameter: saves when the simulated clock strikes, as a cron
 * job would, whatever the faults do.
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include <sandtable/policy.h>

#include <stdlib.h>

#define NS_PER_S 1000000000

struct on_the_hour {
    const struct sandtable_host *host;
    int64_t every_ns;
};

static int on_the_hour_create(const struct sandtable_host *host, void **self)
{
    struct on_the_hour *policy = malloc(sizeof *policy);
    if (policy == NULL)
        return host->fail(host, "out of memory");
    policy->host = host;
    policy->every_ns = (int64_t)(host->param(host, "every") * NS_PER_S);
    *self = policy;
    return 0;
}

/* Strictly after now: a save that ends on the stroke does not start another one. */
static int on_the_hour_next(void *self, const struct sandtable_checkpoint_context *context,
                            struct sandtable_checkpoint_plan *out)
{
    const struct on_the_hour *policy = self;
    const int64_t since_ns = policy->host->now_ns(policy->host) % policy->every_ns;
    const double least_s = sandtable_shortest_interval_s(context);
    out->save = 1;
    out->interval_s = (double)(policy->every_ns - since_ns) / NS_PER_S;
    while (out->interval_s < least_s) /* the last save is still being written: skip a stroke */
        out->interval_s += (double)policy->every_ns / NS_PER_S;
    return 0;
}

static void on_the_hour_destroy(void *self)
{
    free(self);
}

static const struct sandtable_param on_the_hour_params[] = {
    {.name = "every",
     .dim = SANDTABLE_TIME_S,
     .default_value = 3600.0,
     .min = 1.0,
     .max = 366.0 * 86400.0,
     .doc = "time between strokes of the clock, counted from the start of the experiment"},
};

static const struct sandtable_checkpoint on_the_hour_table = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/on-the-hour",
    .version = "1.0",
    .summary = "saves when the simulated clock strikes (example plug-in)",
    .params = on_the_hour_params,
    .n_params = sizeof on_the_hour_params / sizeof on_the_hour_params[0],
    .create = on_the_hour_create,
    .next = on_the_hour_next,
    .destroy = on_the_hour_destroy,
};

const struct sandtable_checkpoint *sandtable_checkpoint_v0(void)
{
    return &on_the_hour_table;
}
