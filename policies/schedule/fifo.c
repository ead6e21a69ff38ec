// schedule/fifo: strict first come, first served; the head of the queue blocks all behind it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

#include <stdlib.h>

struct fifo {
    const struct sandtable_host *host;
};

static int fifo_create(const struct sandtable_host *host, void **self)
{
    struct fifo *fifo = malloc(sizeof *fifo);
    if (fifo == NULL)
        return host->fail(host, "schedule/fifo: out of memory");
    fifo->host = host;
    *self = fifo;
    return 0;
}

// Starts heads until one has no place or none is left. O(started jobs) calls of the host.
static int fifo_decide(void *self)
{
    const struct sandtable_host *host = ((struct fifo *)self)->host;
    const uint32_t *queue;
    while (host->queue(host, &queue) > 0) {
        const int answer = host->start(host, queue[0]);
        if (answer == 1)
            return 0;
        if (answer != 0)
            return answer;
    }
    return 0;
}

static void fifo_destroy(void *self)
{
    free(self);
}

const struct sandtable_schedule sand_schedule_fifo = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/fifo",
    .version = "1.0",
    .summary = "jobs start in submit order; the first that has no place blocks all behind it",
    .create = fifo_create,
    .decide = fifo_decide,
    .destroy = fifo_destroy,
    .shares_nodes = 1,
};
