// The way between two NICs, and where nodes and GPUs sit in the fabric.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabric.h"
#include "ids.h"

// The link of `link_class` that serves owner `owner` (a leaf, a pod) on the way to NIC `to`.
static uint32_t leaf_link(const struct sand_fabric *f, enum sand_link_class link_class,
                          uint32_t leaf, uint32_t to)
{
    return f->first[link_class] + leaf * f->leaf_trunks + to % f->leaf_trunks;
}

static uint32_t spine_link(const struct sand_fabric *f, enum sand_link_class link_class,
                           uint32_t pod, uint32_t to)
{
    if (f->spreading == SAND_SPREAD_EVEN)
        return f->first[link_class] + pod;
    uint32_t spine = pod * f->spines_per_pod + to % f->spines_per_pod;
    uint32_t trunk = to / f->spines_per_pod % f->spine_trunks;
    return f->first[link_class] + spine * f->spine_trunks + trunk;
}

uint32_t sand_fabric_route(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                           uint32_t links[SAND_ROUTE_MAX])
{
    if (from == to)
        return 0;
    uint32_t from_leaf = from / fabric->endpoints_per_leaf;
    uint32_t to_leaf = to / fabric->endpoints_per_leaf;
    uint32_t n = 0;
    links[n++] = fabric->first[SAND_LINK_NIC_UP] + from;
    if (from_leaf != to_leaf) {
        uint32_t from_pod = from_leaf / fabric->leaves_per_pod;
        uint32_t to_pod = to_leaf / fabric->leaves_per_pod;
        links[n++] = leaf_link(fabric, SAND_LINK_LEAF_UP, from_leaf, to);
        if (from_pod != to_pod) {
            links[n++] = spine_link(fabric, SAND_LINK_SPINE_UP, from_pod, to);
            links[n++] = spine_link(fabric, SAND_LINK_SPINE_DOWN, to_pod, to);
        }
        links[n++] = leaf_link(fabric, SAND_LINK_LEAF_DOWN, to_leaf, to);
    }
    links[n++] = fabric->first[SAND_LINK_NIC_DOWN] + to;
    return n;
}

uint32_t sand_fabric_nic_of_gpu(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu)
{
    uint64_t nic = (uint64_t)gpu * fabric->nics_per_node / fabric->gpus_per_node;
    return node * fabric->nics_per_node + (uint32_t)nic;
}

static uint32_t scaleup_port(const struct sand_fabric *f, enum sand_link_class link_class,
                             uint32_t node, uint32_t gpu)
{
    if (f->first[SAND_LINK_SCALEUP_OUT] == f->first[SAND_LINK_SCALEUP_IN])
        return SAND_NONE;
    return f->first[link_class] + node * f->gpus_per_node + gpu;
}

uint32_t sand_fabric_scaleup_out(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu)
{
    return scaleup_port(fabric, SAND_LINK_SCALEUP_OUT, node, gpu);
}

uint32_t sand_fabric_scaleup_in(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu)
{
    return scaleup_port(fabric, SAND_LINK_SCALEUP_IN, node, gpu);
}

uint32_t sand_fabric_leaf_of_node(const struct sand_fabric *fabric, uint32_t node)
{
    return node * fabric->nics_per_node / fabric->endpoints_per_leaf;
}

uint32_t sand_fabric_pod_of_node(const struct sand_fabric *fabric, uint32_t node)
{
    return sand_fabric_leaf_of_node(fabric, node) / fabric->leaves_per_pod;
}
