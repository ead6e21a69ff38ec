// The shadow time from the requests of the jobs on every node.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharedplan.h"

#include <stdlib.h>

static int room_for(struct sand_shared_plan *plan, size_t n)
{
    if (plan->capacity >= n)
        return 0;
    struct sand_shared_node *nodes = realloc(plan->nodes, n * sizeof *nodes);
    if (nodes == NULL)
        return -1;
    plan->nodes = nodes;
    int64_t *dates = realloc(plan->dates, n * sizeof *dates);
    if (dates == NULL)
        return -1;
    plan->dates = dates;
    plan->capacity = n;
    return 0;
}

static int64_t end_of(const struct sandtable_host *host, const struct sandtable_tenant *tenant)
{
    const struct sandtable_job *job = host->job(host, tenant->job);
    return job->end_ns >= 0 ? job->end_ns : INT64_MAX;
}

// GPUs of the node that are free by the date. What has failed or is set apart never is.
static uint32_t free_by(const struct sandtable_host *host, const struct sandtable_node *node,
                        int64_t date_ns)
{
    const struct sandtable_tenant *tenants;
    uint32_t n_free = node->free_gpus;
    const size_t n = host->tenants(host, node->node, &tenants);
    for (size_t k = 0; k < n; k++)
        n_free += end_of(host, &tenants[k]) <= date_ns ? tenants[k].n_gpus : 0;
    return n_free;
}

// The earliest date with that many free GPUs: now, or an end. O(tenants^2), and they are few.
static int64_t earliest(const struct sandtable_host *host, const struct sandtable_node *node,
                        uint32_t n_gpus, int64_t now_ns)
{
    const struct sandtable_tenant *tenants;
    int64_t date_ns = INT64_MAX;
    if (node->free_gpus >= n_gpus)
        return now_ns;
    const size_t n = host->tenants(host, node->node, &tenants);
    for (size_t k = 0; k < n; k++) {
        const int64_t end_ns = end_of(host, &tenants[k]);
        if (end_ns < date_ns && free_by(host, node, end_ns) >= n_gpus)
            date_ns = end_ns;
    }
    return date_ns;
}

static int compare_dates(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void mark_good(struct sand_shared_plan *plan, const struct sandtable_host *host,
                      const struct sandtable_node *nodes, uint32_t n_needed)
{
    uint64_t n_good = 0;
    for (size_t i = 0; i < plan->n_nodes; i++) {
        struct sand_shared_node *node = &plan->nodes[i];
        node->free_gpus = nodes[i].free_gpus;
        node->is_good = plan->shadow_ns < INT64_MAX && node->date_ns <= plan->shadow_ns;
        node->shadow_gpus = node->is_good ? free_by(host, &nodes[i], plan->shadow_ns) : 0;
        n_good += node->is_good;
    }
    plan->extra = n_good > n_needed ? n_good - n_needed : 0;
}

int sand_shared_plan_head(struct sand_shared_plan *plan, const struct sandtable_host *host,
                          const struct sandtable_job *head)
{
    const struct sandtable_node *nodes;
    const int64_t now_ns = host->now_ns(host);
    plan->n_nodes = host->nodes(host, &nodes);
    if (room_for(plan, plan->n_nodes) != 0)
        return -1;
    uint32_t first, end;
    host->eligible(host, head->job, &first, &end);
    for (size_t i = 0; i < plan->n_nodes; i++)
        plan->dates[i] = plan->nodes[i].date_ns =
            i >= first && i < end ? earliest(host, &nodes[i], head->node_gpus, now_ns) : INT64_MAX;
    qsort(plan->dates, plan->n_nodes, sizeof *plan->dates, compare_dates);
    plan->head_gpus = head->node_gpus;
    plan->shadow_ns = head->n_nodes <= plan->n_nodes ? plan->dates[head->n_nodes - 1] : INT64_MAX;
    mark_good(plan, host, nodes, head->n_nodes);
    return 0;
}

// Would the node be lost to the head with so many GPUs fewer at the shadow time?
static int spoils(const struct sand_shared_plan *plan, uint32_t node, uint32_t n_gpus)
{
    const struct sand_shared_node *n = &plan->nodes[node];
    return n->is_good && n->shadow_gpus < n_gpus + plan->head_gpus;
}

int sand_shared_may_start(const struct sand_shared_plan *plan, const struct sandtable_job *job,
                          const uint32_t *nodes, int64_t end_ns)
{
    uint64_t spoilt = 0;
    if (end_ns < INT64_MAX && end_ns <= plan->shadow_ns)
        return 1;
    if (plan->shadow_ns == INT64_MAX)
        return 0; // the head waits for what no request promises; so do all who promise nothing
    for (uint32_t i = 0; i < job->n_nodes; i++)
        spoilt += (uint64_t)spoils(plan, nodes[i], job->node_gpus);
    return spoilt <= plan->extra;
}

void sand_shared_take(struct sand_shared_plan *plan, const struct sandtable_job *job,
                      const uint32_t *nodes, int64_t end_ns)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        struct sand_shared_node *node = &plan->nodes[nodes[i]];
        node->free_gpus -= job->node_gpus;
        if (!node->is_good || end_ns <= plan->shadow_ns)
            continue;
        plan->extra -= (uint64_t)spoils(plan, nodes[i], job->node_gpus);
        node->is_good = !spoils(plan, nodes[i], job->node_gpus);
        node->shadow_gpus -= job->node_gpus;
    }
}

void sand_shared_bounds(const struct sand_shared_plan *plan, uint64_t *now, uint64_t *past)
{
    *now = *past = 0;
    for (size_t i = 0; i < plan->n_nodes; i++) {
        const struct sand_shared_node *node = &plan->nodes[i];
        const uint32_t beside = node->shadow_gpus - plan->head_gpus; // of a good node
        *now += node->free_gpus;
        *past += node->is_good && beside < node->free_gpus ? beside : node->free_gpus;
    }
    if (plan->extra > 0)
        *past = *now;
}

void sand_shared_free(struct sand_shared_plan *plan)
{
    free(plan->nodes);
    free(plan->dates);
    *plan = (struct sand_shared_plan){0};
}
