// The way between two NICs, and where nodes and GPUs sit in the fabric.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabric.h"
#include "fabricwiring.h"
#include "ids.h"

uint64_t fabric_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t fabric_hash(const struct sand_fabric *fabric, uint32_t tier, uint32_t from, uint32_t to,
                     uint32_t path)
{
    const uint64_t salt = (uint64_t)fabric->hash_seed << 8 | (fabric->hash_polarised ? 0 : tier);
    return fabric_mix(fabric_mix(fabric_mix(salt) ^ ((uint64_t)from << 32 | to)) + path);
}

int fabric_route_works(const struct sand_fabric *fabric, const uint32_t *links, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (fabric->links[links[i]].is_down)
            return 0;
    return 1;
}

uint32_t sand_fabric_route_path(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                                uint32_t path, uint32_t links[SAND_ROUTE_MAX])
{
    if (from == to)
        return 0;
    uint32_t n = fabric->wiring->route(fabric, from, to, path, 0, links);
    if (fabric->detour == NULL || n == SAND_NONE || fabric_route_works(fabric, links, n))
        return n;
    const uint32_t attempts = fabric->wiring->attempts(fabric);
    for (uint32_t i = 1; i < attempts; i++) {
        n = fabric->wiring->route(fabric, from, to, path, i, links);
        if (n != SAND_NONE && fabric_route_works(fabric, links, n))
            return n;
    }
    return fabric_detour_find(fabric, from, to, links);
}

uint32_t sand_fabric_route(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                           uint32_t links[SAND_ROUTE_MAX])
{
    return sand_fabric_route_path(fabric, from, to, 0, links);
}

uint32_t sand_fabric_nic_of_gpu(const struct sand_fabric *fabric, uint32_t node, uint32_t gpu)
{
    uint64_t nic = (uint64_t)gpu * fabric->nics_per_node / fabric->gpus_per_node;
    return node * fabric->nics_per_node + (uint32_t)nic;
}

static uint32_t gpu_of_nic(const struct sand_fabric *f, uint32_t nic)
{
    return (uint32_t)((uint64_t)(nic % f->nics_per_node) * f->gpus_per_node / f->nics_per_node);
}

int fabric_relays(const struct sand_fabric *fabric, uint32_t from, uint32_t to)
{
    return fabric->n_rails > 1 && from % fabric->n_rails != to % fabric->n_rails &&
           fabric->cross_rail == SAND_CROSS_RAIL_SCALEUP &&
           sand_fabric_scaleup_out(fabric, 0, 0) != SAND_NONE;
}

uint32_t fabric_relay(const struct sand_fabric *fabric, uint32_t from, uint32_t to, uint32_t *links)
{
    const uint32_t node = from / fabric->nics_per_node;
    const uint32_t relay = node * fabric->nics_per_node + to % fabric->n_rails;
    links[0] = sand_fabric_scaleup_out(fabric, node, gpu_of_nic(fabric, from));
    links[1] = sand_fabric_scaleup_in(fabric, node, gpu_of_nic(fabric, relay));
    return relay;
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
    uint32_t leaf, pod;
    fabric->wiring->place(fabric, node * fabric->nics_per_node, &leaf, &pod);
    return leaf;
}

uint32_t sand_fabric_pod_of_node(const struct sand_fabric *fabric, uint32_t node)
{
    uint32_t leaf, pod;
    fabric->wiring->place(fabric, node * fabric->nics_per_node, &leaf, &pod);
    return pod;
}
