// Stragglers of `sandtable step`: --slow NODE[.GPU]=SPEED.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_STEPSLOW_H
#define SAND_SIM_CLI_STEPSLOW_H

#include <stddef.h>

#include "cluster.h"
#include "diag.h"
#include "workload.h"

// Speeds of all GPUs of the cluster, 1 unless one of the n texts says otherwise; a later one holds.
// *speeds: sand_free it; NULL without texts. Warns of nodes that the job does not run on, and of
// GPUs named twice but for one of a node that was named whole. SAND_ERR_USAGE for a text that is
// none.
enum sand_rc sand_cli_slow(const char *const *texts, size_t n, const struct sand_cluster *cluster,
                           const struct sand_job_spec *job, const uint32_t *nodes, float **speeds,
                           struct sand_diag *diag);

#endif
