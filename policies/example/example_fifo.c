/* An example schedule plug-in: jobs start in submit order, the first without a place blocks.
 * It decides exactly as the built-in schedule/fifo does, so that the two can be compared.
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include <sandtable/policy.h>

#include <stdlib.h>

/* Everything the policy remembers. Nothing may be kept in globals: one process can hold two. */
struct example {
    const struct sandtable_host *host;
};

static int example_create(const struct sandtable_host *host, void **self)
{
    struct example *example = malloc(sizeof *example);
    if (example == NULL)
        return host->fail(host, "out of memory");
    example->host = host;
    *self = example;
    return 0;
}

/* Called once for every instant at which a job arrived or ended, a node failed or came back. */
static int example_decide(void *self)
{
    const struct example *example = self;
    const struct sandtable_host *host = example->host;
    for (;;) {
        const uint32_t *waiting;
        if (host->queue(host, &waiting) == 0)
            return 0;
        switch (host->start(host, waiting[0])) {
        case 0: /* started; the queue has changed, so look again */
            break;
        case 1: /* no place for it now; nothing behind it may overtake */
            return 0;
        default: /* the host refused the call; the run is over */
            return -1;
        }
    }
}

static void example_destroy(void *self)
{
    free(self);
}

static const struct sandtable_schedule example_table = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/example-fifo",
    .version = "1.0",
    .summary = "jobs start in submit order (example plug-in)",
    .create = example_create,
    .decide = example_decide,
    .destroy = example_destroy,
};

const struct sandtable_schedule *sandtable_schedule_v0(void)
{
    return &example_table;
}
