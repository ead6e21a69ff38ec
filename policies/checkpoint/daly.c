// checkpoint/daly: the optimum interval to higher order, good for any stall below twice the MTBF.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS
// 22 (2006) 303-312. D is the useful time between two saves, w the time training stands still for
// a save, M the mean time between faults; the restart time does not move the optimum.
#include "optimum.h"

#include <math.h>

static double daly_optimum_s(double stall_s, double mtbf_s)
{
    const double x = stall_s / (2.0 * mtbf_s);
    if (x >= 1.0)
        return mtbf_s;
    return sqrt(2.0 * stall_s * mtbf_s) * (1.0 + sqrt(x) / 3.0 + x / 9.0) - stall_s;
}

static int daly_create(const struct sandtable_host *host, void **self)
{
    return sand_optimum_create(host, "checkpoint/daly", daly_optimum_s, self);
}

const struct sandtable_checkpoint sand_checkpoint_daly = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/daly",
    .version = "1.0",
    .summary = "useful time between saves = the optimum for exponential faults (Daly 2006)",
    .params = sand_optimum_params,
    .n_params = SAND_OPTIMUM_N_PARAMS,
    .create = daly_create,
    .next = sand_optimum_next,
    .destroy = sand_optimum_destroy,
};
