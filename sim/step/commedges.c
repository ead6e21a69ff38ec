// Blocks of members that share a domain, and what goes between blocks.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "commedges.h"

#include "comm.h"
#include "fabricreduce.h"
#include "ids.h"
#include "mem.h"

struct laying {
    struct step_traffic *traffic;
    uint32_t flow;
    const struct step_comm *comm;
    const struct step_place *members;
    uint32_t n, blocks; // members of a block, blocks
};

static struct step_place member(const struct laying *l, uint32_t block, uint32_t i)
{
    return l->members[block * l->n + i % l->n];
}

// From each member of every block to the next one there.
static enum sand_rc add_inside(const struct laying *l, uint32_t times)
{
    for (uint32_t b = 0; l->n > 1 && b < l->blocks; b++)
        for (uint32_t i = 0; i < l->n; i++)
            SAND_TRY(step_edge_add_times(l->traffic, l->flow, member(l, b, i), member(l, b, i + 1),
                                         times));
    return SAND_OK;
}

// One rotation a channel, so that every NIC of a block carries its part: channel c enters a block
// at member c and leaves it at the one before.
static enum sand_rc add_ring(const struct laying *l)
{
    SAND_TRY(add_inside(l, l->n - 1));
    for (uint32_t b = 0; b < l->blocks; b++)
        for (uint32_t c = 0; c < l->n; c++)
            SAND_TRY(step_edge_add(l->traffic, l->flow, member(l, b, c + l->n - 1),
                                   member(l, (b + 1) % l->blocks, c)));
    return SAND_OK;
}

// A channel's half goes up and down each of two trees over the blocks.
static enum sand_rc add_trees(const struct laying *l)
{
    SAND_TRY(add_inside(l, l->comm->scaleup_times));
    for (int second = 0; second < 2; second++)
        for (uint32_t b = 0; b < l->blocks; b++) {
            const uint32_t parent = sand_tree_parent(b, l->blocks, second);
            for (uint32_t c = 0; parent != SAND_NONE && c < l->n; c++) {
                SAND_TRY(step_edge_add(l->traffic, l->flow, member(l, b, c), member(l, parent, c)));
                SAND_TRY(step_edge_add(l->traffic, l->flow, member(l, parent, c), member(l, b, c)));
            }
        }
    return SAND_OK;
}

// Every cable of the tree once each way (fabricreduce.h), each an edge of its own.
static enum sand_rc add_reduction_tree(const struct laying *l, uint32_t channel, uint32_t *nics)
{
    const struct sand_fabric *fabric = l->traffic->question->fabric;
    struct sand_reduction_tree tree = {0};
    struct sand_diag diag = {0};
    for (uint32_t b = 0; b < l->blocks; b++) {
        const struct step_place at = member(l, b, channel);
        nics[b] = sand_fabric_nic_of_gpu(fabric, at.node, at.gpu);
    }
    enum sand_rc rc =
        sand_fabric_reduction_tree(fabric, nics, l->blocks, l->members[channel].gpu, &tree, &diag);
    for (size_t i = 0; rc == SAND_OK && i < tree.n_links; i++) {
        rc = step_edge_add_link(l->traffic, l->flow, tree.links[i]);
        if (rc == SAND_OK)
            rc =
                step_edge_add_link(l->traffic, l->flow, sand_fabric_reverse(fabric, tree.links[i]));
    }
    if (rc == SAND_ERR_INPUT) { // what works of the network does not join them
        l->traffic->cut_from = nics[0];
        l->traffic->cut_to = nics[1];
    }
    sand_reduction_tree_free(&tree);
    sand_diag_clear(&diag);
    return rc;
}

static enum sand_rc add_switches(const struct laying *l)
{
    uint32_t *nics = sand_calloc(l->blocks, sizeof *nics);
    enum sand_rc rc = nics == NULL ? SAND_ERR_NOMEM : add_inside(l, l->comm->scaleup_times);
    for (uint32_t c = 0; rc == SAND_OK && c < l->n; c++)
        rc = add_reduction_tree(l, c, nics);
    sand_free(nics);
    return rc;
}

enum sand_rc step_comm_edges(struct step_traffic *traffic, uint32_t flow,
                             const struct step_comm *comm, const struct step_place *members)
{
    const struct laying l = {.traffic = traffic,
                             .flow = flow,
                             .comm = comm,
                             .members = members,
                             .n = comm->ports,
                             .blocks = comm->ranks / comm->ports};
    if (comm->ranks < 2)
        return SAND_OK;
    if (comm->domains < 2)
        return add_ring(&l);
    switch (comm->reduction) {
    case SAND_ALG_TREE:
    case SAND_ALG_NVLSTREE:
        return add_trees(&l);
    case SAND_ALG_SHARP:
        return add_switches(&l);
    default:
        return add_ring(&l);
    }
}
