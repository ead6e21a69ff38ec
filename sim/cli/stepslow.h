// Stragglers of `sandtable step`: --slow NODE[.GPU]=SPEED.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_STEPSLOW_H
#define SAND_SIM_CLI_STEPSLOW_H

#include <stddef.h>

#include "cluster.h"
#include "diag.h"

// Speeds of all GPUs of the cluster, 1 unless one of the n texts says otherwise; a later one holds.
// *speeds: sand_free it; NULL without texts. SAND_ERR_USAGE for a text that is none.
enum sand_rc sand_cli_slow(const char *const *texts, size_t n, const struct sand_cluster *cluster,
                           float **speeds, struct sand_diag *diag);

#endif
