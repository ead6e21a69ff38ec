// All-to-all by pairs, over rails (PXN) and by domains.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "alltoall.h"

struct sand_alltoall_load sand_alltoall_load(const struct sand_alltoall *all)
{
    const double n = all->ranks, p = all->domain_ranks;
    const uint32_t remote = all->ranks - all->domain_ranks;
    struct sand_alltoall_load load = {0};
    if (all->ranks < 2)
        return load;
    load.scaleup_B = all->bytes * (p - 1) / n;
    load.network_B = all->bytes * (n - p) / n;
    load.scaleup_messages = all->domain_ranks - 1;
    load.network_messages = remote;
    if (all->kind == SAND_ALLTOALL_PAIRWISE || all->domain_ranks < 2)
        return load;
    load.network_messages = remote / all->domain_ranks;
    if (all->kind == SAND_ALLTOALL_PXN) {
        load.scaleup_B += load.network_B * (p - 1) / p;
    } else {
        load.scaleup_B = all->bytes * (p - 1) / p;
        load.network_B *= all->distinct;
    }
    return load;
}

double sand_alltoall_distinct(uint32_t ranks, uint32_t domain_ranks, uint32_t experts_per_rank,
                              uint32_t top_k, uint32_t most_domains)
{
    const double experts = (double)ranks * experts_per_rank;
    const double here = (double)domain_ranks * experts_per_rank;
    const double domains = (double)ranks / domain_ranks;
    double none = 1;
    if (top_k == 0)
        return 1;
    for (uint32_t i = 0; i < top_k && none > 0; i++)
        none *= here < experts - i ? (experts - here - i) / (experts - i) : 0;
    double reached = domains * (1 - none); // of a token, its own domain included
    if (most_domains > 0 && reached > most_domains)
        reached = most_domains;
    const double distinct = reached / top_k;
    return distinct < 1 ? distinct : 1;
}
