// Who has which node: idle, spare, allocated, down; the exposure of allocated nodes to faults.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include "mem.h"
#include "units.h"

// The view of a node; racks, rows and halls fill up in order of node numbers.
static void init_node(struct sand_world *w, uint32_t i)
{
    const struct sand_cluster *cluster = w->cluster;
    const uint32_t rack = cluster->nodes_per_rack ? i / cluster->nodes_per_rack : 0;
    const uint32_t row = cluster->racks_per_row ? rack / cluster->racks_per_row : 0;
    w->nodes[i].fault_token = w->nodes[i].repair_token = SAND_NO_ENTRY;
    w->node_views[i] =
        (struct sandtable_node){.node = i,
                                .state = SANDTABLE_NODE_IDLE,
                                .job = SANDTABLE_NONE,
                                .leaf = sand_fabric_leaf_of_node(w->fabric, i),
                                .pod = sand_fabric_pod_of_node(w->fabric, i),
                                .rack = rack,
                                .row = row,
                                .hall = cluster->rows_per_hall ? row / cluster->rows_per_hall : 0};
}

enum sand_rc sand_pool_open(struct sand_world *w)
{
    const uint32_t n = w->cluster->n_nodes;
    w->nodes = sand_calloc(n, sizeof *w->nodes);
    w->node_views = sand_calloc(n, sizeof *w->node_views);
    w->idle = sand_calloc(n, sizeof *w->idle);
    w->spares = sand_calloc(n, sizeof *w->spares);
    w->stamp = sand_calloc(n, sizeof *w->stamp);
    w->placement = sand_calloc(n, sizeof *w->placement);
    if (!w->nodes || !w->node_views || !w->idle || !w->spares || !w->stamp || !w->placement)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        init_node(w, i);
    w->n_spares = w->experiment->hot_spares;
    w->n_idle = n - w->n_spares;
    for (uint32_t i = w->n_idle; i < n; i++)
        w->node_views[i].state = SANDTABLE_NODE_SPARE;
    sand_ledger_move(w->ledger, 0, w->group_spare, (uint64_t)w->n_spares * w->gpus_per_node, 0);
    w->pools_stale = 1;
    return SAND_OK;
}

void sand_pool_refresh(struct sand_world *w)
{
    if (!w->pools_stale)
        return;
    uint32_t idle = 0, spares = 0;
    for (uint32_t i = 0; i < w->cluster->n_nodes; i++) {
        if (w->node_views[i].state == SANDTABLE_NODE_IDLE)
            w->idle[idle++] = i;
        else if (w->node_views[i].state == SANDTABLE_NODE_SPARE)
            w->spares[spares++] = i;
    }
    w->pools_stale = 0;
}

static void set_state(struct sand_world *w, uint32_t node, enum sandtable_node_state state,
                      uint32_t job)
{
    struct sandtable_node *view = &w->node_views[node];
    w->n_idle -= view->state == SANDTABLE_NODE_IDLE;
    w->n_spares -= view->state == SANDTABLE_NODE_SPARE;
    w->n_idle += state == SANDTABLE_NODE_IDLE;
    w->n_spares += state == SANDTABLE_NODE_SPARE;
    view->state = state;
    view->job = job;
    w->pools_stale = 1;
}

enum sand_rc sand_pool_await_fault(struct sand_world *w, uint32_t node, int64_t date)
{
    return sand_world_put(w, date, SAND_RANK_FAULT, SAND_EVENT_FAULT, node,
                          &w->nodes[node].fault_token);
}

enum sand_rc sand_pool_take(struct sand_world *w, struct sand_world_job *j, uint32_t node)
{
    const int spare = w->node_views[node].state == SANDTABLE_NODE_SPARE;
    sand_ledger_move(w->ledger, spare ? w->group_spare : 0, j->group, w->gpus_per_node, w->now_ns);
    set_state(w, node, SANDTABLE_NODE_ALLOCATED, j->index);
    j->n_held++;
    if (!w->faults)
        return SAND_OK;
    return sand_pool_await_fault(w, node, sand_fault_expose(w->faults, node, w->now_ns));
}

// The job gives the node up, for a state in ledger group `group`.
static void give_up(struct sand_world *w, struct sand_world_job *j, uint32_t node,
                    enum sandtable_node_state state, uint32_t group)
{
    sand_ledger_move(w->ledger, j->group, group, w->gpus_per_node, w->now_ns);
    set_state(w, node, state, SANDTABLE_NONE);
    j->n_held--;
    if (w->faults)
        sand_fault_rest(w->faults, node, w->now_ns);
    w->nodes[node].fault_token = SAND_NO_ENTRY;
}

void sand_pool_release(struct sand_world *w, struct sand_world_job *j, uint32_t node)
{
    give_up(w, j, node, SANDTABLE_NODE_IDLE, 0);
    w->nodes_freed = 1;
}

enum sand_rc sand_pool_fail(struct sand_world *w, struct sand_world_job *j, uint32_t node,
                            int64_t repair_ns)
{
    give_up(w, j, node, SANDTABLE_NODE_DOWN, w->group_down);
    w->n_repairs_ahead++; // also beyond the end: it would come
    SAND_TRY(sand_glue_event(w, SANDTABLE_EVENT_NODE_FAILED, j->index, node));
    return sand_world_put(w, sand_world_later(w->now_ns, repair_ns), SAND_RANK_REPAIR,
                          SAND_EVENT_REPAIR, node, &w->nodes[node].repair_token);
}

// Spares are made up first.
enum sand_rc sand_pool_repaired(struct sand_world *w, uint32_t node)
{
    const int spare = w->n_spares < w->experiment->hot_spares;
    set_state(w, node, spare ? SANDTABLE_NODE_SPARE : SANDTABLE_NODE_IDLE, SANDTABLE_NONE);
    sand_ledger_move(w->ledger, w->group_down, spare ? w->group_spare : 0, w->gpus_per_node,
                     w->now_ns);
    w->nodes[node].repair_token = SAND_NO_ENTRY;
    w->n_repairs_ahead--;
    w->nodes_freed = 1;
    return sand_glue_event(w, SANDTABLE_EVENT_NODE_REPAIRED, SANDTABLE_NONE, node);
}
