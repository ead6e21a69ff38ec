// Switch ports that nodes and storage take; see fabricports.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricports.h"

#include <inttypes.h>
#include <math.h>

#include "numbers.h"

static double nic_Bps(const struct sand_cluster *c, uint32_t planes)
{
    return c->node_type->nic->rate_Bps / planes;
}

enum sand_rc fabric_check_breakout(const struct sand_cluster *c, uint32_t planes,
                                   struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &c->fabric;
    if (s->breakout <= 1 || s->breakout * nic_Bps(c, planes) <= s->link->rate_Bps * (1 + 1e-9))
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "cluster \"%s\": breakout %" PRIu32 " shares a port of %.4g GB/s between NIC "
                     "ports of %.4g GB/s; at most %.0f fit",
                     c->name, s->breakout, s->link->rate_Bps / 1e9, nic_Bps(c, planes) / 1e9,
                     fmax(1, floor(s->link->rate_Bps / nic_Bps(c, planes) * (1 + 1e-9))));
}

uint64_t fabric_ports_below(const struct sand_cluster *c, uint64_t endpoints, uint32_t planes,
                            uint32_t nic_ports)
{
    const double fit = floor(c->fabric.link->rate_Bps / nic_Bps(c, planes) * (1 + 1e-9));
    uint64_t shared = c->fabric.breakout;
    if (shared == 0)
        shared = planes > 1 && fit >= 2 && fit <= UINT32_MAX ? (uint64_t)fit : 1;
    return shared > 1 ? sand_ceil_div(endpoints, shared) : endpoints * nic_ports;
}

uint64_t fabric_storage_ports(const struct sand_cluster *c)
{
    const struct sand_storage_ports *ports = &c->storage_ports;
    const double each = ceil(ports->port_Bps / c->fabric.link->rate_Bps * (1 - 1e-9));
    if (ports->n_ports == 0)
        return 0;
    return (uint64_t)c->storage.n_servers * ports->n_ports *
           (each > 1 && each < UINT16_MAX ? (uint64_t)each : 1);
}

uint64_t fabric_storage_per_leaf(const struct sand_cluster *c, uint64_t units, uint64_t copies)
{
    const struct sand_storage_ports *ports = &c->storage_ports;
    const uint64_t seats = ports->n_leaves > 0 && ports->n_leaves < units ? ports->n_leaves : units;
    if (ports->at != SAND_STORAGE_AT_LEAVES || seats == 0)
        return 0;
    return sand_ceil_div(fabric_storage_ports(c), seats * copies);
}

uint64_t fabric_storage_per_top(const struct sand_cluster *c, uint64_t n)
{
    return c->storage_ports.at == SAND_STORAGE_AT_SPINES && n > 0
               ? sand_ceil_div(fabric_storage_ports(c), n)
               : 0;
}
