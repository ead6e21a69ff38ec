// recover/spare: a hot spare at once, else an idle node, else wait; near the failed node first.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

#include <stdlib.h>

struct spare {
    const struct sandtable_host *host;
};

static int spare_create(const struct sandtable_host *host, void **self)
{
    struct spare *spare = malloc(sizeof *spare);
    if (spare == NULL)
        return host->fail(host, "recover/spare: out of memory");
    spare->host = host;
    *self = spare;
    return 0;
}

// 0: the same node, back from repair; then same leaf, same pod, anywhere. A neighbour keeps the
// ranks of the job on the leaves they were placed on.
static unsigned distance(const struct sandtable_node *a, const struct sandtable_node *b)
{
    if (a->node == b->node)
        return 0;
    if (a->leaf == b->leaf)
        return 1;
    return a->pod == b->pod ? 2 : 3;
}

// The nearest of the candidates, lowest id first among equals; SANDTABLE_NONE if there are none.
static uint32_t nearest(const struct sandtable_recover_request *request, const uint32_t *candidates,
                        size_t n)
{
    const struct sandtable_node *failed = &request->nodes[request->failed_node];
    uint32_t best = SANDTABLE_NONE;
    unsigned best_distance = 4;
    for (size_t i = 0; i < n; i++) {
        const unsigned d = distance(failed, &request->nodes[candidates[i]]);
        if (d < best_distance || (d == best_distance && candidates[i] < best)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

// A job of less than a node: room beside others does as well, and leaves the spare whole.
static int takes_part(const struct sandtable_recover_request *request)
{
    return request->node_gpus < request->nodes[request->failed_node].n_gpus;
}

static int spare_plan(void *self, const struct sandtable_recover_request *request,
                      struct sandtable_recover_plan *out)
{
    const struct sandtable_host *host = ((struct spare *)self)->host;
    if (request->failed_node >= request->n_all)
        return host->fail(host, "recover/spare: the failed node is not a node of the cluster");
    out->node = request->failed_node;
    if (!request->must_replace) {
        out->action = SANDTABLE_RECOVER_SAME;
        return 0;
    }
    uint32_t node = nearest(request, request->spares, request->n_spares);
    const uint32_t other = nearest(request, request->idle, request->n_idle);
    if (node == SANDTABLE_NONE || (takes_part(request) && other != SANDTABLE_NONE))
        node = other;
    out->action = node == SANDTABLE_NONE ? SANDTABLE_RECOVER_WAIT : SANDTABLE_RECOVER_REPLACE;
    out->node = node;
    return 0;
}

static void spare_destroy(void *self)
{
    free(self);
}

const struct sandtable_recover sand_recover_spare = {
    .struct_size = sizeof(struct sandtable_recover),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "recover/spare",
    .version = "1.0",
    .summary = "replaces a failed node by a hot spare, else an idle node, else waits; same leaf "
               "first, then same pod, then lowest id; a job of less than a node takes room beside "
               "others before a spare",
    .create = spare_create,
    .plan = spare_plan,
    .destroy = spare_destroy,
};
