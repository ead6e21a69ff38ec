// Invariants of the whole state, for hostile builds: checked after every event.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

static enum sand_rc broken(const struct sand_world *w, const char *what, uint32_t subject)
{
    return sand_fail(w->diag, SAND_ERR_INTERNAL, "replay at %lld ns: %s (%u)", (long long)w->now_ns,
                     what, subject);
}

// Every node a job holds is allocated to it, and it holds as many as it says.
static enum sand_rc check_job(const struct sand_world *w, const struct sand_world_job *j)
{
    uint32_t held = 0;
    for (uint32_t rank = 0; j->nodes && rank < j->spec->n_nodes; rank++) {
        if (j->nodes[rank] == SAND_NONE)
            continue;
        if (!sand_pool_is_on(w, j, j->nodes[rank]))
            return broken(w, "a job holds a node that is not its own", j->nodes[rank]);
        held++;
    }
    if (held != j->n_held)
        return broken(w, "a job holds another number of nodes than it counts", j->index);
    if (j->phase == SAND_PHASE_STEPPING && held != j->spec->n_nodes)
        return broken(w, "a job steps without all its nodes", j->index);
    if (j->durable > j->done || j->done > j->highest || j->since_ns > w->now_ns)
        return broken(w, "the steps of a job are out of order", j->index);
    return SAND_OK;
}

// What its jobs hold and what is free are the node's GPUs, save what a fault has taken.
static enum sand_rc check_node(const struct sand_world *w, uint32_t i)
{
    const struct sandtable_node *view = &w->node_views[i];
    uint32_t held = 0;
    for (uint32_t k = 0; k < w->nodes[i].n_tenants; k++)
        held += w->tenants[(size_t)i * w->most_tenants + k].n_gpus;
    if ((view->state == SANDTABLE_NODE_ALLOCATED) != (w->nodes[i].n_tenants > 0))
        return broken(w, "a node is allocated to nobody, or has jobs without", i);
    const int whole = view->state == SANDTABLE_NODE_IDLE ||
                      (view->state == SANDTABLE_NODE_ALLOCATED && !w->nodes[i].struck);
    if (whole ? held + view->free_gpus != view->n_gpus : view->free_gpus != 0)
        return broken(w, "the GPUs of a node do not add up", i);
    return SAND_OK;
}

static enum sand_rc check_pools(const struct sand_world *w)
{
    uint32_t idle = 0, spares = 0, fragments = 0;
    for (uint32_t i = 0; i < w->cluster->n_nodes; i++) {
        SAND_TRY(check_node(w, i));
        if (w->node_views[i].state == SANDTABLE_NODE_ALLOCATED)
            fragments += w->node_views[i].free_gpus;
        idle += w->node_views[i].state == SANDTABLE_NODE_IDLE;
        spares += w->node_views[i].state == SANDTABLE_NODE_SPARE;
    }
    if (idle != w->n_idle || sand_ledger_gpus(w->ledger, 0) != (uint64_t)idle * w->gpus_per_node)
        return broken(w, "the idle pool miscounts", idle);
    if (spares != w->n_spares)
        return broken(w, "the spare pool miscounts", spares);
    if (sand_ledger_gpus(w->ledger, w->group_fragment) != fragments)
        return broken(w, "the fragments miscount", fragments);
    return SAND_OK;
}

enum sand_rc sand_world_check(struct sand_world *w)
{
    if (!sand_ledger_balanced(w->ledger))
        return broken(w, "the ledger does not balance", 0);
    SAND_TRY(check_pools(w));
    for (const struct sand_world_job *j = w->first_active; j; j = j->active_after)
        SAND_TRY(check_job(w, j));
    return SAND_OK;
}
