// How long a job's saves take while nothing else uses the storage.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_SAVETIME_H
#define SAND_SIM_REPLAY_SAVETIME_H

#include <stdint.h>

#include "cluster.h"
#include "workload.h"

// Bytes of a checkpoint of the job; 0: unknown, as it has no model.
double sand_savetime_B(const struct sand_job_spec *job);
// What a node and all servers carry, over the storage network or the training fabric.
double sand_savetime_node_Bps(const struct sand_cluster *cluster);
double sand_savetime_servers_Bps(const struct sand_cluster *cluster, int reading);
// What its clients and the storage carry, whichever is less; B/s.
double sand_savetime_Bps(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                         int reading);
// The transfer of a checkpoint; 0 if its size is unknown.
double sand_savetime_transfer_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                                int reading);
// Training stands still: as given, the transfer (blocking), or the copy of each GPU's share to host
// memory, all of the job's GPUs at once over their own host links.
double sand_savetime_stall_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                             uint64_t gpus);
// From the beginning of the save until it is durable.
double sand_savetime_durable_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                               uint64_t gpus);

#endif
