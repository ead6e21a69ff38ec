// All-to-all by pairs, over rails (PXN) and by domains.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "alltoall.h"

#include <math.h>

#include "numbers.h"

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
        load.scaleup_B = all->per_rank * all->bytes * (p - 1) / p;
        load.network_B *= all->per_domain;
    }
    return load;
}

// ---- routing ------------------------------------------------------------------------------------

static double choose(double n, uint32_t k)
{
    double ways = 1;
    for (uint32_t i = 0; i < k; i++)
        ways *= n > i ? (n - i) / (i + 1.0) : 0;
    return ways;
}

// That `k` of `all` drawn without repetition miss `there` of them.
static double missing(double all, double there, uint32_t k)
{
    double none = 1;
    for (uint32_t i = 0; i < k; i++)
        none *= all - there > i ? (all - there - i) / (all - i) : 0;
    return none;
}

// That a token has none of the experts from `first` to before `end`. They are whole groups and, at
// either end, part of one: whatever groups are chosen, so many of their experts are among them.
static double misses(const struct sand_routing *r, double first, double end)
{
    const uint32_t groups = r->groups > 1 ? r->groups : 1;
    const uint32_t chosen = groups > 1 ? r->groups_per_token : 1;
    const double size = (double)r->experts / groups;
    const double front = sand_smaller(ceil(first / size) * size, end) - first;
    const double whole = floor((end - first - front) / size);
    const double back = end - first - front - whole * size;
    const uint32_t fronts = front > 0, backs = back > 0;
    const double others = groups - whole - fronts - backs;
    double none = 0;
    for (uint32_t f = 0; f <= fronts; f++)
        for (uint32_t b = 0; b <= backs; b++)
            for (uint32_t w = 0; w <= whole && w + f + b <= chosen; w++) {
                const double ways = choose(whole, w) * choose(others, chosen - w - f - b);
                const double there = f * front + b * back + w * size;
                none += ways * missing(chosen * size, there, r->top_k);
            }
    return none / choose(groups, chosen);
}

double sand_routing_reach(const struct sand_routing *routing, uint32_t parts)
{
    const uint32_t groups = routing->groups > 1 ? routing->groups : 1;
    const uint32_t alike = sand_gcd(parts, groups); // after so many they repeat
    const double share = (double)routing->experts / parts;
    double reached = 0;
    for (uint32_t i = 0; i < parts / alike; i++)
        reached += 1 - misses(routing, i * share, (i + 1) * share);
    return alike * reached;
}
