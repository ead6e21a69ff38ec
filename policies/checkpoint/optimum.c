// Saving at an optimum of stall and MTBF: everything but the formula.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "optimum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct optimum {
    const struct sandtable_host *host;
    const char *type;
    sand_optimum_fn *optimum_s;
    double no_fault_interval_s;
};

const struct sandtable_param sand_optimum_params[SAND_OPTIMUM_N_PARAMS] = {
    {.name = "no_fault_interval",
     .dim = SANDTABLE_TIME_S,
     .default_value = 0.0,
     .min = 0.0,
     .max = INFINITY,
     .doc = "useful time between saves of a job that no fault can hit; 0: such a job never saves"},
};

static int fail(const struct sandtable_host *host, const char *type, const char *why)
{
    char message[128];
    snprintf(message, sizeof message, "%s: %s", type, why);
    return host->fail(host, message);
}

int sand_optimum_create(const struct sandtable_host *host, const char *type,
                        sand_optimum_fn *optimum_s, void **self)
{
    struct optimum *policy = malloc(sizeof *policy);
    if (policy == NULL)
        return fail(host, type, "out of memory");
    *policy = (struct optimum){.host = host,
                               .type = type,
                               .optimum_s = optimum_s,
                               .no_fault_interval_s = host->param(host, "no_fault_interval")};
    *self = policy;
    return 0;
}

int sand_optimum_next(void *self, const struct sandtable_checkpoint_context *context,
                      struct sandtable_checkpoint_plan *out)
{
    const struct optimum *policy = self;
    if (!(context->mtbf_s > 0.0) || !(context->stall_s >= 0.0))
        return fail(policy->host, policy->type, "needs mtbf_s > 0 and stall_s >= 0");
    const int no_faults = isinf(context->mtbf_s);
    double interval_s = no_faults ? policy->no_fault_interval_s
                                  : policy->optimum_s(context->stall_s, context->mtbf_s);
    out->save = !no_faults || interval_s > 0.0;
    if (interval_s <= 0.0)
        interval_s = context->step_s; // saves that cost nothing: after every step
    out->interval_s = fmax(interval_s, sandtable_shortest_interval_s(context));
    return 0;
}

void sand_optimum_destroy(void *self)
{
    free(self);
}
