// Who has which node, or which GPUs of it: idle, spare, allocated, down; the exposure of allocated
// nodes to faults.
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
                                .n_gpus = w->gpus_per_node,
                                .free_gpus = w->gpus_per_node,
                                .leaf = sand_fabric_leaf_of_node(w->fabric, i),
                                .pod = sand_fabric_pod_of_node(w->fabric, i),
                                .rack = rack,
                                .row = row,
                                .hall = cluster->rows_per_hall ? row / cluster->rows_per_hall : 0};
}

static enum sand_rc open_tenants(struct sand_world *w)
{
    const int shared = w->experiment->allocation == SAND_ALLOCATE_GPUS;
    w->most_tenants = shared ? w->gpus_per_node : 1;
    w->tenants = sand_calloc((size_t)w->cluster->n_nodes * w->most_tenants, sizeof *w->tenants);
    w->room = sand_calloc(shared ? w->cluster->n_nodes : 1, sizeof *w->room);
    w->n_with_free = sand_calloc((size_t)w->gpus_per_node + 1, sizeof *w->n_with_free);
    return w->tenants && w->room && w->n_with_free ? SAND_OK : SAND_ERR_NOMEM;
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
    SAND_TRY(open_tenants(w));
    for (uint32_t i = 0; i < n; i++)
        init_node(w, i);
    w->n_spares = w->experiment->hot_spares;
    w->n_idle = n - w->n_spares;
    w->n_with_free[w->gpus_per_node] = w->n_idle;
    for (uint32_t i = w->n_idle; i < n; i++) {
        w->node_views[i].state = SANDTABLE_NODE_SPARE;
        w->node_views[i].free_gpus = 0;
    }
    sand_ledger_move(w->ledger, 0, w->group_spare, (uint64_t)w->n_spares * w->gpus_per_node, 0);
    w->pools_stale = 1;
    return SAND_OK;
}

// Brings the ascending lists of idle nodes and spares up to date.
static void refresh(struct sand_world *w)
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

// Is it among the nodes that n_with_free counts?
static int is_open(const struct sandtable_node *view)
{
    return view->state == SANDTABLE_NODE_IDLE || view->state == SANDTABLE_NODE_ALLOCATED;
}

static void set_state(struct sand_world *w, uint32_t node, enum sandtable_node_state state,
                      uint32_t free_gpus)
{
    struct sandtable_node *view = &w->node_views[node];
    w->n_idle -= view->state == SANDTABLE_NODE_IDLE;
    w->n_spares -= view->state == SANDTABLE_NODE_SPARE;
    w->n_with_free[view->free_gpus] -= (uint32_t)is_open(view);
    w->pools_stale |= view->state != state;
    view->state = state;
    view->free_gpus = free_gpus;
    w->n_with_free[free_gpus] += (uint32_t)is_open(view);
    w->n_idle += state == SANDTABLE_NODE_IDLE;
    w->n_spares += state == SANDTABLE_NODE_SPARE;
}

// ---- room ---------------------------------------------------------------------------------------

static int takes_part(const struct sand_world *w, const struct sand_world_job *j)
{
    return j->node_gpus < w->gpus_per_node;
}

int sand_pool_has_room(const struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    const struct sandtable_node *view = &w->node_views[node];
    return view->state == SANDTABLE_NODE_IDLE ||
           (takes_part(w, j) && view->free_gpus >= j->node_gpus);
}

const uint32_t *sand_pool_room(struct sand_world *w, const struct sand_world_job *j, size_t *n)
{
    refresh(w);
    *n = w->n_idle;
    if (!takes_part(w, j))
        return w->idle;
    *n = 0;
    for (uint32_t i = 0; i < w->cluster->n_nodes; i++)
        if (w->node_views[i].free_gpus >= j->node_gpus)
            w->room[(*n)++] = i;
    return w->room;
}

int sand_pool_may_fit(const struct sand_world *w, const struct sand_world_job *j)
{
    if (!takes_part(w, j))
        return j->spec->n_nodes <= w->n_idle;
    for (uint32_t free = j->node_gpus; free <= w->gpus_per_node; free++)
        if (w->n_with_free[free] > 0)
            return 1;
    return 0;
}

// ---- tenants ------------------------------------------------------------------------------------

// Place of the job among the node's tenants, n_tenants if it is none.
static uint32_t tenancy(const struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    const struct sandtable_tenant *tenants = &w->tenants[(size_t)node * w->most_tenants];
    uint32_t k = 0;
    while (k < w->nodes[node].n_tenants && tenants[k].job != j->index)
        k++;
    return k;
}

int sand_pool_is_on(const struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    return tenancy(w, j, node) < w->nodes[node].n_tenants;
}

// The view's word for who is there.
static void name_tenant(struct sand_world *w, uint32_t node)
{
    w->node_views[node].job = w->nodes[node].n_tenants == 1
                                  ? w->tenants[(size_t)node * w->most_tenants].job
                                  : SANDTABLE_NONE;
}

static void add_tenant(struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    const size_t k = (size_t)node * w->most_tenants + w->nodes[node].n_tenants++;
    w->tenants[k] = (struct sandtable_tenant){.job = j->index, .n_gpus = j->node_gpus};
    name_tenant(w, node);
}

static void remove_tenant(struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    struct sandtable_tenant *tenants = &w->tenants[(size_t)node * w->most_tenants];
    w->nodes[node].n_tenants--;
    for (uint32_t k = tenancy(w, j, node); k < w->nodes[node].n_tenants; k++)
        tenants[k] = tenants[k + 1];
    name_tenant(w, node);
}

// ---- taking and giving back ---------------------------------------------------------------------

enum sand_rc sand_pool_await_fault(struct sand_world *w, uint32_t node, int64_t date)
{
    return sand_world_put(w, date, SAND_RANK_FAULT, SAND_EVENT_FAULT, node,
                          &w->nodes[node].fault_token);
}

// From the group of the node's free GPUs; those left beside the first job are a fragment.
static void move_to_job(struct sand_world *w, const struct sand_world_job *j, uint32_t node,
                        uint32_t left)
{
    const uint32_t state = w->node_views[node].state;
    const uint32_t group = state == SANDTABLE_NODE_SPARE  ? w->group_spare
                           : state == SANDTABLE_NODE_IDLE ? 0
                                                          : w->group_fragment;
    sand_ledger_move(w->ledger, group, j->group, j->node_gpus, w->now_ns);
    if (group != w->group_fragment && left > 0)
        sand_ledger_move(w->ledger, group, w->group_fragment, left, w->now_ns);
}

enum sand_rc sand_pool_take(struct sand_world *w, struct sand_world_job *j, uint32_t node)
{
    const struct sandtable_node *view = &w->node_views[node];
    const int first = w->nodes[node].n_tenants == 0;
    const uint32_t left = (first ? w->gpus_per_node : view->free_gpus) - j->node_gpus;
    move_to_job(w, j, node, left);
    set_state(w, node, SANDTABLE_NODE_ALLOCATED, left);
    add_tenant(w, j, node);
    j->n_held++;
    if (!w->faults || !first)
        return SAND_OK;
    return sand_pool_await_fault(w, node, sand_fault_expose(w->faults, node, w->now_ns));
}

// The last job has left: the whole node is idle, or in repair.
static void empty(struct sand_world *w, uint32_t node)
{
    const int down = w->nodes[node].struck;
    const uint32_t left = w->node_views[node].free_gpus;
    if (left > 0)
        sand_ledger_move(w->ledger, w->group_fragment, down ? w->group_down : 0, left, w->now_ns);
    set_state(w, node, down ? SANDTABLE_NODE_DOWN : SANDTABLE_NODE_IDLE,
              down ? 0 : w->gpus_per_node);
    w->nodes[node].struck = 0;
    if (w->faults)
        sand_fault_rest(w->faults, node, w->now_ns);
    w->nodes[node].fault_token = SAND_NO_ENTRY;
}

static void give_up(struct sand_world *w, struct sand_world_job *j, uint32_t node)
{
    const int down = w->nodes[node].struck;
    const uint32_t free_gpus = w->node_views[node].free_gpus;
    remove_tenant(w, j, node);
    j->n_held--;
    if (w->nodes[node].n_tenants == 0) {
        sand_ledger_move(w->ledger, j->group, down ? w->group_down : 0, j->node_gpus, w->now_ns);
        empty(w, node);
        return;
    }
    sand_ledger_move(w->ledger, j->group, down ? w->group_down : w->group_fragment, j->node_gpus,
                     w->now_ns);
    if (!down)
        set_state(w, node, SANDTABLE_NODE_ALLOCATED, free_gpus + j->node_gpus);
}

static enum sand_rc begin_repair(struct sand_world *w, uint32_t node, uint32_t job,
                                 int64_t repair_ns)
{
    w->n_repairs_ahead++; // also beyond the end: it would come
    SAND_TRY(sand_ailing_node_left(w, node));
    SAND_TRY(sand_glue_event(w, SANDTABLE_EVENT_NODE_FAILED, job, node));
    return sand_world_put(w, sand_world_later(w->now_ns, repair_ns), SAND_RANK_REPAIR,
                          SAND_EVENT_REPAIR, node, &w->nodes[node].repair_token);
}

enum sand_rc sand_pool_release(struct sand_world *w, struct sand_world_job *j, uint32_t node)
{
    const int struck = w->nodes[node].struck;
    give_up(w, j, node);
    if (!struck)
        w->nodes_freed = 1;
    if (!struck || w->nodes[node].n_tenants > 0)
        return SAND_OK;
    return begin_repair(w, node, j->index, w->nodes[node].repair_ns);
}

// ---- faults and repair --------------------------------------------------------------------------

void sand_pool_strike(struct sand_world *w, uint32_t node, int64_t repair_ns)
{
    const uint32_t left = w->node_views[node].free_gpus;
    if (w->nodes[node].struck)
        return;
    w->nodes[node].struck = 1;
    w->nodes[node].repair_ns = repair_ns;
    if (left > 0)
        sand_ledger_move(w->ledger, w->group_fragment, w->group_down, left, w->now_ns);
    set_state(w, node, SANDTABLE_NODE_ALLOCATED, 0);
}

enum sand_rc sand_pool_withdraw(struct sand_world *w, uint32_t node, int64_t repair_ns)
{
    const int spare = w->node_views[node].state == SANDTABLE_NODE_SPARE;
    sand_ledger_move(w->ledger, spare ? w->group_spare : 0, w->group_down, w->gpus_per_node,
                     w->now_ns);
    set_state(w, node, SANDTABLE_NODE_DOWN, 0);
    return begin_repair(w, node, SANDTABLE_NONE, repair_ns);
}

// Spares are made up first.
enum sand_rc sand_pool_repaired(struct sand_world *w, uint32_t node)
{
    const int spare = w->n_spares < w->experiment->hot_spares;
    set_state(w, node, spare ? SANDTABLE_NODE_SPARE : SANDTABLE_NODE_IDLE,
              spare ? 0 : w->gpus_per_node);
    sand_ledger_move(w->ledger, w->group_down, spare ? w->group_spare : 0, w->gpus_per_node,
                     w->now_ns);
    w->nodes[node].repair_token = SAND_NO_ENTRY;
    w->n_repairs_ahead--;
    w->nodes_freed = 1;
    return sand_glue_event(w, SANDTABLE_EVENT_NODE_REPAIRED, SANDTABLE_NONE, node);
}
