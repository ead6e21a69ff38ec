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
        const struct sandtable_node *node = &w->node_views[j->nodes[rank]];
        if (node->state != SANDTABLE_NODE_ALLOCATED || node->job != j->index)
            return broken(w, "a job holds a node that is not its own", node->node);
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

static enum sand_rc check_pools(const struct sand_world *w)
{
    uint32_t idle = 0, spares = 0;
    for (uint32_t i = 0; i < w->cluster->n_nodes; i++) {
        idle += w->node_views[i].state == SANDTABLE_NODE_IDLE;
        spares += w->node_views[i].state == SANDTABLE_NODE_SPARE;
    }
    if (idle != w->n_idle || sand_ledger_gpus(w->ledger, 0) != (uint64_t)idle * w->gpus_per_node)
        return broken(w, "the idle pool miscounts", idle);
    if (spares != w->n_spares)
        return broken(w, "the spare pool miscounts", spares);
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
