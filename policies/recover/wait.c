// recover/wait: the job waits until its failed node is back from repair; never takes another.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

static int wait_create(const struct sandtable_host *host, void **self)
{
    (void)host;
    *self = NULL; // remembers nothing
    return 0;
}

static int holds(const uint32_t *nodes, size_t n, uint32_t node)
{
    for (size_t i = 0; i < n; i++) {
        if (nodes[i] == node)
            return 1;
    }
    return 0;
}

static int wait_plan(void *self, const struct sandtable_recover_request *request,
                     struct sandtable_recover_plan *out)
{
    (void)self;
    const uint32_t failed = request->failed_node;
    out->node = failed;
    if (!request->must_replace)
        out->action = SANDTABLE_RECOVER_SAME;
    else if (holds(request->spares, request->n_spares, failed) ||
             holds(request->idle, request->n_idle, failed))
        out->action = SANDTABLE_RECOVER_REPLACE; // repaired
    else
        out->action = SANDTABLE_RECOVER_WAIT;
    return 0;
}

static void wait_destroy(void *self)
{
    (void)self;
}

const struct sandtable_recover sand_recover_wait = {
    .struct_size = sizeof(struct sandtable_recover),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "recover/wait",
    .version = "1.0",
    .summary = "waits until the failed node is back from its repair; takes no other",
    .create = wait_create,
    .plan = wait_plan,
    .destroy = wait_destroy,
};
