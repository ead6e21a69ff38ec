// checkpoint/young: the first-order optimum interval, for saves far shorter than the time between
// faults. SPDX-License-Identifier: GPL-2.0-or-later
//
// J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974:
// D = sqrt(2 w M), w the time training stands still for a save, M the mean time between faults.
#include "optimum.h"

#include <math.h>

static double young_optimum_s(double stall_s, double mtbf_s)
{
    return sqrt(2.0 * stall_s * mtbf_s);
}

static int young_create(const struct sandtable_host *host, void **self)
{
    return sand_optimum_create(host, "checkpoint/young", young_optimum_s, self);
}

const struct sandtable_checkpoint sand_checkpoint_young = {
    .struct_size = sizeof(struct sandtable_checkpoint),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "checkpoint/young",
    .version = "1.0",
    .summary =
        "useful time between saves = sqrt(2 w M), w = stall of a save, M = MTBF (Young 1974)",
    .params = sand_optimum_params,
    .n_params = SAND_OPTIMUM_N_PARAMS,
    .create = young_create,
    .next = sand_optimum_next,
    .destroy = sand_optimum_destroy,
};
