// checkpoint/young: the first-order optimum interval, for saves far shorter than the time between
// faults. SPDX-License-Identifier: GPL-2.0-or-later
//
// J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974:
// D = sqrt(2 w M), w the time training stands still for a save, M the mean time between faults.
#include "sandtable/policy.h"

#include <math.h>
#include <stdlib.h>

struct young {
    const struct sandtable_host *host;
    double no_fault_interval_s;
};

static int young_create(const struct sandtable_host *host, void **self)
{
    struct young *young = malloc(sizeof *young);
    if (young == NULL)
        return host->fail(host, "checkpoint/young: out of memory");
    young->host = host;
    young->no_fault_interval_s = host->param(host, "no_fault_interval");
    *self = young;
    return 0;
}

static double young_optimum_s(double stall_s, double mtbf_s)
{
    return sqrt(2.0 * stall_s * mtbf_s);
}

static int young_next(void *self, const struct sandtable_checkpoint_context *context,
                      struct sandtable_checkpoint_plan *out)
{
    const struct young *young = self;
    const struct sandtable_host *host = young->host;
    if (!(context->mtbf_s > 0.0) || !(context->stall_s >= 0.0))
        return host->fail(host, "checkpoint/young: needs mtbf_s > 0 and stall_s >= 0");
    const int no_faults = isinf(context->mtbf_s);
    double interval_s =
        no_faults ? young->no_fault_interval_s : young_optimum_s(context->stall_s, context->mtbf_s);
    out->save = !no_faults || interval_s > 0.0;
    if (interval_s <= 0.0)
        interval_s = context->step_s; // saves that cost nothing: after every step
    out->interval_s = fmax(interval_s, sandtable_shortest_interval_s(context));
    return 0;
}

static void young_destroy(void *self)
{
    free(self);
}

static const struct sandtable_param young_params[] = {
    {.name = "no_fault_interval",
     .dim = SANDTABLE_TIME_S,
     .default_value = 0.0,
     .min = 0.0,
     .max = INFINITY,
     .doc = "useful time between saves of a job that no fault can hit; 0: such a job never saves"},
};

const struct sandtable_checkpoint sand_checkpoint_young = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/young",
    .version = "1.0",
    .summary =
        "useful time between saves = sqrt(2 w M), w = stall of a save, M = MTBF (Young 1974)",
    .params = young_params,
    .n_params = sizeof young_params / sizeof young_params[0],
    .create = young_create,
    .next = young_next,
    .destroy = young_destroy,
};
