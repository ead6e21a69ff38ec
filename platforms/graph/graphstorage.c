// Ports of storage servers on the switches: evenly on the leaves that have some, as the flows of
// saves go (sim/step/transfer.c), or evenly over the topmost switches. SPDX-License-Identifier:
// GPL-2.0-or-later
#include "graphstorage.h"

#include "mem.h"

// The first NIC of the first node of every leaf.
static uint32_t find_leaves(const struct sand_graph *g, const struct sand_fabric *f,
                            uint32_t *first)
{
    uint32_t n = 0;
    for (uint32_t node = 0; node < g->n_nodes; node++)
        if (node == 0 || sand_fabric_leaf_of_node(f, node) != sand_fabric_leaf_of_node(f, node - 1))
            first[n++] = node * g->nics_per_node;
    return n;
}

static enum sand_rc seat_at_leaves(struct sand_graph *g, const struct sand_fabric *f,
                                   uint32_t asked, double all_Bps)
{
    uint32_t *first = sand_calloc(g->n_nodes, sizeof *first);
    if (first == NULL)
        return SAND_ERR_NOMEM;
    const uint32_t n = find_leaves(g, f, first);
    const uint32_t seats = asked == 0 || asked >= n ? n : asked;
    for (uint32_t i = 0; i < seats; i++) {
        const size_t nic = first[(uint64_t)i * n / seats];
        for (uint32_t p = 0; p < g->n_planes; p++)
            g->storage_Bps[g->leaf_of[nic * g->n_planes + p]] += all_Bps / seats / g->n_planes;
    }
    sand_free(first);
    return SAND_OK;
}

static void seat_at_top(struct sand_graph *g, double all_Bps)
{
    const enum sand_tier top = g->n_tier[SAND_TIER_CORE] > 0    ? SAND_TIER_CORE
                               : g->n_tier[SAND_TIER_SPINE] > 0 ? SAND_TIER_SPINE
                                                                : SAND_TIER_LEAF;
    for (uint32_t i = 0; i < g->n_switches; i++)
        if (g->switches[i].tier == top)
            g->storage_Bps[i] = all_Bps / g->n_tier[top];
}

enum sand_rc graph_seat_storage(struct sand_graph *graph, const struct sand_fabric *fabric,
                                const struct sand_cluster *cluster)
{
    const struct sand_storage_ports *ports = &cluster->storage_ports;
    const double all_Bps = (double)cluster->storage.n_servers * ports->n_ports * ports->port_Bps;
    if (!(all_Bps > 0))
        return SAND_OK;
    graph->storage_Bps = sand_calloc(graph->n_switches, sizeof *graph->storage_Bps);
    if (graph->storage_Bps == NULL)
        return SAND_ERR_NOMEM;
    if (ports->at == SAND_STORAGE_AT_LEAVES)
        return seat_at_leaves(graph, fabric, ports->n_leaves, all_Bps);
    seat_at_top(graph, all_Bps);
    return SAND_OK;
}

double sand_graph_storage_Bps(const struct sand_graph *graph)
{
    double sum_Bps = 0;
    for (uint32_t i = 0; graph->storage_Bps && i < graph->n_switches; i++)
        sum_Bps += graph->storage_Bps[i];
    return sum_Bps;
}
