// From counts to the list of parts; see fabricparts.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricparts.h"

#include "fabricports.h"
#include "numbers.h"

static void set_run(struct sand_fabric_parts *parts, enum sand_cable_run run, uint64_t cables,
                    double length_m, const struct sand_price_list *prices)
{
    struct sand_cable_parts *at = &parts->runs[run];
    at->cables = cables;
    at->length_m = length_m;
    at->is_copper = prices != NULL && length_m > 0 && length_m <= prices->copper_reach_m;
    at->transceivers = at->is_copper ? 0 : 2 * cables;
}

static void price(struct sand_fabric_parts *parts, const struct sand_price_list *prices)
{
    const double circuits = (double)parts->counts.circuit_switches;
    parts->switch_W =
        (double)parts->switches * prices->switch_W + circuits * prices->circuit_switch_W;
    parts->transceiver_W = (double)parts->transceivers * prices->transceiver_W;
    parts->switch_usd =
        (double)parts->switches * prices->switch_usd + circuits * prices->circuit_switch_usd;
    parts->transceiver_usd = (double)parts->transceivers * prices->transceiver_usd;
    for (int i = 0; i < SAND_CABLE_RUNS; i++)
        parts->cable_usd += (double)parts->runs[i].cables *
                            (parts->runs[i].is_copper ? prices->copper_usd : prices->fibre_usd);
    parts->cable_usd +=
        (double)(parts->storage_cables + parts->storage_uplinks) * prices->fibre_usd;
}

// Without a radix a leaf of storage takes all servers.
static void count_storage(struct sand_fabric_parts *parts, const struct sand_cluster *cluster)
{
    const uint64_t ports = fabric_storage_ports(cluster), half = cluster->fabric.radix / 2;
    parts->storage_cables = (uint64_t)cluster->storage.n_servers * cluster->storage_ports.n_ports;
    if (ports > 0 && cluster->storage_ports.at == SAND_STORAGE_AT_SPINES) {
        parts->storage_leaves = half > 0 ? sand_ceil_div(ports, half) : 1;
        parts->storage_uplinks = ports;
    }
    parts->switches += parts->storage_leaves;
    parts->cables += parts->storage_cables + parts->storage_uplinks;
    parts->transceivers += 2 * (parts->storage_cables + parts->storage_uplinks);
}

void sand_fabric_parts_list(const struct sand_fabric *fabric, const struct sand_cluster *cluster,
                            struct sand_fabric_parts *parts)
{
    const struct sand_price_list *prices = cluster->prices;
    *parts = (struct sand_fabric_parts){0};
    struct sand_fabric_counts *c = &parts->counts;
    sand_fabric_count(fabric, c);
    // The routers of a torus are part of its nodes.
    parts->switches = c->leaves + c->spines + c->cores;
    if (fabric->kind == SAND_FABRIC_DRAGONFLY)
        parts->switches += c->routers;
    set_run(parts, SAND_CABLE_NODE, c->endpoint_cables, fabric->cable_m[SAND_CABLE_NODE], prices);
    set_run(parts, SAND_CABLE_LEAF, c->leaf_spine_cables + c->local_cables + c->torus_cables,
            fabric->cable_m[SAND_CABLE_LEAF], prices);
    set_run(parts, SAND_CABLE_CORE, c->spine_core_cables + c->global_cables + c->optical_cables,
            fabric->cable_m[SAND_CABLE_CORE], prices);
    if (c->optical_cables > 0)
        parts->runs[SAND_CABLE_CORE].transceivers = c->optical_cables;
    for (int i = 0; i < SAND_CABLE_RUNS; i++) {
        parts->cables += parts->runs[i].cables;
        parts->transceivers += parts->runs[i].transceivers;
        parts->cable_m += (double)parts->runs[i].cables * parts->runs[i].length_m;
    }
    count_storage(parts, cluster);
    if (prices != NULL)
        price(parts, prices);
}
