// EASY backfilling on counted nodes, written against the ABI alone to show that it offers enough.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// D. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995. The head of the queue gets a reservation
// at the shadow time, the earliest date at which the running jobs' requests leave it enough nodes;
// others may start if they end by then or use only nodes the head will not need.
#include <sandtable/policy.h>

#include <stdlib.h>

struct easy {
    const struct sandtable_host *host;
};

struct release {
    int64_t end_ns;
    uint32_t n_nodes;
};

struct reservation {
    int64_t shadow_ns;
    uint64_t extra; // nodes that stay free when the head starts
};

static int create(const struct sandtable_host *host, void **self)
{
    struct easy *easy = malloc(sizeof *easy);
    if (easy == NULL)
        return host->fail(host, "out of memory");
    easy->host = host;
    *self = easy;
    return 0;
}

static int by_end(const void *a, const void *b)
{
    const struct release *x = a, *y = b;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static uint64_t count_free(const struct sandtable_host *host)
{
    const struct sandtable_node *nodes;
    const size_t n = host->nodes(host, &nodes);
    uint64_t n_free = 0;
    for (size_t i = 0; i < n; i++)
        n_free += nodes[i].state == SANDTABLE_NODE_IDLE;
    return n_free;
}

// Jobs that hold nodes and say when they end. Without a request a job never lets go.
static size_t collect(const struct sandtable_job *jobs, size_t n, struct release *out)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].state != SANDTABLE_JOB_RUNNING && jobs[i].state != SANDTABLE_JOB_RECOVERING)
            continue;
        if (jobs[i].end_ns >= 0)
            out[n_out++] = (struct release){jobs[i].end_ns, jobs[i].n_nodes};
    }
    return n_out;
}

// Everything that ends at the shadow time counts, so that ties do not hide extra nodes.
static struct reservation reserve(uint64_t n_free, uint32_t need, struct release *ends, size_t n)
{
    qsort(ends, n, sizeof *ends, by_end);
    for (size_t i = 0; i < n; i++) {
        n_free += ends[i].n_nodes;
        const int last_of_date = i + 1 == n || ends[i + 1].end_ns > ends[i].end_ns;
        if (n_free >= need && last_of_date)
            return (struct reservation){ends[i].end_ns, n_free - need};
    }
    return (struct reservation){INT64_MAX, 0};
}

static int may_pass(const struct sandtable_job *job, int64_t now_ns, struct reservation *reserved)
{
    if (job->walltime_ns >= 0 && job->walltime_ns <= reserved->shadow_ns - now_ns)
        return 1;
    return job->n_nodes <= reserved->extra;
}

static int backfill(const struct sandtable_host *host, struct reservation reserved)
{
    const uint32_t *queue;
    const int64_t now_ns = host->now_ns(host);
    for (size_t i = 1; i < host->queue(host, &queue);) {
        const struct sandtable_job job = *host->job(host, queue[i]);
        const int in_time = job.walltime_ns >= 0 && job.walltime_ns <= reserved.shadow_ns - now_ns;
        const int answer = may_pass(&job, now_ns, &reserved) ? host->start(host, job.job) : 1;
        if (answer == 1)
            i++;
        else if (answer != 0)
            return answer;
        else if (!in_time)
            reserved.extra -= job.n_nodes;
    }
    return 0;
}

static int decide(void *self)
{
    const struct sandtable_host *host = ((struct easy *)self)->host;
    const struct sandtable_job *jobs;
    const uint32_t *queue;
    while (host->queue(host, &queue) > 0) {
        const int answer = host->start(host, queue[0]);
        if (answer == 1)
            break;
        if (answer != 0)
            return answer;
    }
    if (host->queue(host, &queue) < 2)
        return 0;
    const size_t n = host->jobs(host, &jobs);
    struct release *ends = calloc(n, sizeof *ends);
    if (ends == NULL)
        return host->fail(host, "out of memory");
    const size_t n_ends = collect(jobs, n, ends);
    const struct reservation reserved =
        reserve(count_free(host), host->job(host, queue[0])->n_nodes, ends, n_ends);
    free(ends);
    return backfill(host, reserved);
}

static void destroy(void *self)
{
    free(self);
}

static const struct sandtable_schedule table = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/easy-by-abi",
    .version = "1.0",
    .summary = "EASY backfilling on counted nodes (test)",
    .create = create,
    .decide = decide,
    .destroy = destroy,
};

const struct sandtable_schedule *sandtable_schedule_v0(void)
{
    return &table;
}
