// checkpoint/daly: the optimum interval to higher order, good for any stall below twice the MTBF.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS
// 22 (2006) 303-312. D is the useful time between two saves, w the time training stands still for
// a save, M the mean time between faults; the restart time does not move the optimum.
#include "sandtable/policy.h"

#include <math.h>
#include <stdlib.h>

struct daly {
    const struct sandtable_host *host;
    double no_fault_interval_s;
};

static int daly_create(const struct sandtable_host *host, void **self)
{
    struct daly *daly = malloc(sizeof *daly);
    if (daly == NULL)
        return host->fail(host, "checkpoint/daly: out of memory");
    daly->host = host;
    daly->no_fault_interval_s = host->param(host, "no_fault_interval");
    *self = daly;
    return 0;
}

static double daly_optimum_s(double stall_s, double mtbf_s)
{
    const double x = stall_s / (2.0 * mtbf_s);
    if (x >= 1.0)
        return mtbf_s;
    return sqrt(2.0 * stall_s * mtbf_s) * (1.0 + sqrt(x) / 3.0 + x / 9.0) - stall_s;
}

static int daly_next(void *self, const struct sandtable_checkpoint_context *context,
                     struct sandtable_checkpoint_plan *out)
{
    const struct daly *daly = self;
    const struct sandtable_host *host = daly->host;
    if (!(context->mtbf_s > 0.0) || !(context->stall_s >= 0.0))
        return host->fail(host, "checkpoint/daly: needs mtbf_s > 0 and stall_s >= 0");
    const int no_faults = isinf(context->mtbf_s);
    double interval_s =
        no_faults ? daly->no_fault_interval_s : daly_optimum_s(context->stall_s, context->mtbf_s);
    out->save = !no_faults || interval_s > 0.0;
    if (interval_s <= 0.0)
        interval_s = context->step_s; // saves that cost nothing: after every step
    out->interval_s = fmax(interval_s, sandtable_shortest_interval_s(context));
    return 0;
}

static void daly_destroy(void *self)
{
    free(self);
}

static const struct sandtable_param daly_params[] = {
    {.name = "no_fault_interval",
     .dim = SANDTABLE_TIME_S,
     .default_value = 0.0,
     .min = 0.0,
     .max = INFINITY,
     .doc = "useful time between saves of a job that no fault can hit; 0: such a job never saves"},
};

const struct sandtable_checkpoint sand_checkpoint_daly = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/daly",
    .version = "1.0",
    .summary = "useful time between saves = the optimum for exponential faults (Daly 2006)",
    .params = daly_params,
    .n_params = sizeof daly_params / sizeof daly_params[0],
    .create = daly_create,
    .next = daly_next,
    .destroy = daly_destroy,
};
