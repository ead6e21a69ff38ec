// Ring collectives: bytes per hop, steps, latency, bound.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collective.h"

const char *sand_collective_name(enum sand_collective_kind kind)
{
    static const char *const names[SAND_COLLECTIVES] = {
        "all_reduce", "all_gather", "reduce_scatter", "sendrecv",
        "broadcast",  "reduce",     "alltoall"};
    return kind < SAND_COLLECTIVES ? names[kind] : "?";
}

double sand_collective_bus_factor(enum sand_collective_kind kind, uint32_t ranks)
{
    const struct sand_collective one = {kind, ranks, 1};
    return sand_collective_hop_B(&one);
}

double sand_collective_hop_B(const struct sand_collective *collective)
{
    const double n = collective->ranks;
    if (collective->ranks < 2)
        return 0.0;
    switch (collective->kind) {
    case SAND_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n * collective->bytes;
    case SAND_ALL_GATHER:
    case SAND_REDUCE_SCATTER:
    case SAND_ALL_TO_ALL:
        return (n - 1.0) / n * collective->bytes;
    case SAND_SEND:
    case SAND_BROADCAST:
    case SAND_REDUCE:
    case SAND_COLLECTIVES:
        break;
    }
    return collective->bytes;
}

uint32_t sand_collective_steps(const struct sand_collective *collective)
{
    if (collective->ranks < 2)
        return 0;
    switch (collective->kind) {
    case SAND_ALL_REDUCE:
        return 2 * (collective->ranks - 1);
    case SAND_ALL_GATHER:
    case SAND_REDUCE_SCATTER:
    case SAND_BROADCAST:
    case SAND_REDUCE:
    case SAND_ALL_TO_ALL:
        return collective->ranks - 1;
    case SAND_SEND:
    case SAND_COLLECTIVES:
        break;
    }
    return 1;
}
