// Save times by size and rates.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "savetime.h"

#include "train.h"

double sand_savetime_B(const struct sand_job_spec *job)
{
    return job->model ? sand_checkpoint_B(job->model, job->checkpoint.bytes_per_param) : 0;
}

double sand_savetime_node_Bps(const struct sand_cluster *cluster)
{
    const struct sand_node_type *type = cluster->node_type;
    if (cluster->storage_ports.n_ports == 0)
        return type->n_storage_nics * type->storage_nic_Bps;
    return type->nic ? type->n_nics * type->nic->rate_Bps * type->nic->usable : 0;
}

double sand_savetime_servers_Bps(const struct sand_cluster *cluster, int reading)
{
    const struct sand_storage_spec *storage = &cluster->storage;
    const struct sand_storage_ports *ports = &cluster->storage_ports;
    const double server_Bps = reading ? storage->server_read_Bps : storage->server_write_Bps;
    const double ports_Bps = ports->n_ports * ports->port_Bps;
    const int binds = ports->n_ports > 0 && ports_Bps < server_Bps;
    return storage->n_servers * (binds ? ports_Bps : server_Bps);
}

double sand_savetime_Bps(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                         int reading)
{
    const double client = job->n_nodes * sand_savetime_node_Bps(cluster);
    const double servers = sand_savetime_servers_Bps(cluster, reading);
    return client < servers ? client : servers;
}

double sand_savetime_transfer_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                                int reading)
{
    const double bytes = sand_savetime_B(job);
    return bytes > 0 ? bytes / sand_savetime_Bps(cluster, job, reading) : 0;
}

double sand_savetime_stall_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                             uint64_t gpus)
{
    const struct sand_link_type *host_link = cluster->node_type->host_link;
    if (job->checkpoint.stall_s >= 0)
        return job->checkpoint.stall_s;
    if (job->checkpoint.mode == SAND_SAVE_BLOCKING)
        return sand_savetime_transfer_s(cluster, job, 0);
    return host_link ? sand_savetime_B(job) / (double)gpus / host_link->rate_Bps : 0;
}

double sand_savetime_durable_s(const struct sand_cluster *cluster, const struct sand_job_spec *job,
                               uint64_t gpus)
{
    const double stall_s = sand_savetime_stall_s(cluster, job, gpus);
    if (job->checkpoint.mode == SAND_SAVE_BLOCKING)
        return stall_s;
    return stall_s + sand_savetime_transfer_s(cluster, job, 0);
}
