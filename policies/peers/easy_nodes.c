// schedule/easy-nodes: EASY as batsched's easy_bf does it.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// batsched (framagit.org/batsim/batsched), variant easy_bf, as its schedules show: the head's
// reservation holds concrete nodes, the lowest ids that are free long enough at the earliest date.
// A filler that runs past that date may only use others. Jobs take the lowest ids they may have,
// whatever the place policy. When jobs have ended the head is planned anew and every other job is
// tried once, in order; when jobs have only arrived, the arrivals alone are.
#include "sandtable/policy.h"

#include <stdlib.h>
#include <string.h>

#include "nodeset.h"
#include "peerjobs.h"

struct easy_nodes {
    const struct sandtable_host *host;
    struct sand_peer_jobs jobs;
    size_t n_nodes, n_words;
    uint64_t *busy;  // nodes that are not idle
    uint64_t *head;  // nodes the head's reservation holds
    uint64_t *set;   // scratch
    uint32_t *owner; // per node: the running job that holds it, or SANDTABLE_NONE
    int64_t *until;  // per node: when its owner is expected to end
    uint32_t *ids;   // scratch, n_nodes
    int64_t head_ns; // when the head's reservation begins; INT64_MAX: it has none
    size_t n_old;    // jobs that waited at the last decision
    int released;    // nodes came free since then
    int64_t now_ns;
};

static void nodes_destroy(void *self)
{
    struct easy_nodes *easy = self;
    if (easy == NULL)
        return;
    sand_peer_free(&easy->jobs);
    free(easy->busy);
    free(easy->head);
    free(easy->set);
    free(easy->owner);
    free(easy->until);
    free(easy->ids);
    free(easy);
}

static int nodes_create(const struct sandtable_host *host, void **self)
{
    const struct sandtable_node *nodes;
    struct easy_nodes *easy = calloc(1, sizeof *easy);
    if (easy == NULL)
        return host->fail(host, "out of memory");
    easy->host = host;
    easy->n_nodes = host->nodes(host, &nodes);
    easy->n_words = sand_nodeset_words(easy->n_nodes);
    easy->busy = calloc(easy->n_words, sizeof *easy->busy);
    easy->head = calloc(easy->n_words, sizeof *easy->head);
    easy->set = calloc(easy->n_words, sizeof *easy->set);
    easy->owner = calloc(easy->n_nodes, sizeof *easy->owner);
    easy->until = calloc(easy->n_nodes, sizeof *easy->until);
    easy->ids = calloc(easy->n_nodes, sizeof *easy->ids);
    easy->head_ns = INT64_MAX;
    if (!easy->busy || !easy->head || !easy->set || !easy->owner || !easy->until || !easy->ids) {
        nodes_destroy(easy);
        return host->fail(host, "out of memory");
    }
    for (size_t i = 0; i < easy->n_nodes; i++)
        easy->owner[i] = SANDTABLE_NONE;
    *self = easy;
    return 0;
}

// ---- who has which node -------------------------------------------------------------------------

static size_t count_idle(const struct easy_nodes *easy)
{
    return easy->n_nodes - sand_nodeset_count(easy->busy, easy->n_words);
}

static int64_t expected_end(const struct easy_nodes *easy, uint32_t job)
{
    const size_t place = sand_peer_find(&easy->jobs, job);
    return place < easy->jobs.n_running ? easy->jobs.running[place].end_ns : INT64_MAX;
}

// Nodes also change hands without us: they fail, are repaired, and replace one another.
static void read_nodes(struct easy_nodes *easy)
{
    const struct sandtable_node *nodes;
    easy->host->nodes(easy->host, &nodes);
    memset(easy->busy, 0, easy->n_words * sizeof *easy->busy);
    for (size_t i = 0; i < easy->n_nodes; i++) {
        if (nodes[i].state != SANDTABLE_NODE_IDLE)
            sand_nodeset_add(easy->busy, i);
        if (nodes[i].job == easy->owner[i])
            continue;
        easy->owner[i] = nodes[i].job;
        easy->until[i] = expected_end(easy, nodes[i].job);
    }
}

static int nodes_on_event(void *self, const struct sandtable_event *event)
{
    struct easy_nodes *easy = self;
    const struct sandtable_host *host = easy->host;
    switch ((enum sandtable_event_kind)event->kind) {
    case SANDTABLE_EVENT_JOB_ENDED:
        sand_peer_end(&easy->jobs, event->job);
        easy->released = 1;
        return 0;
    case SANDTABLE_EVENT_NODE_FAILED:
    case SANDTABLE_EVENT_NODE_REPAIRED:
        easy->released = 1;
        return 0;
    case SANDTABLE_EVENT_JOB_ARRIVED:
        break;
    default:
        return 0;
    }
    const struct sandtable_job *view = host->job(host, event->job);
    const struct sand_peer_job job = {view->job, view->n_nodes,
                                      view->walltime_ns >= 0 ? view->walltime_ns : INT64_MAX};
    return sand_peer_queue(&easy->jobs, host, job);
}

// ---- starting and reserving ---------------------------------------------------------------------

// Starts the job at `place` on the lowest ids of the scratch set.
static int start(struct easy_nodes *easy, size_t place)
{
    const struct sand_peer_job job = easy->jobs.queue[place];
    sand_nodeset_keep_lowest(easy->set, easy->n_words, job.n_nodes);
    const size_t n = sand_nodeset_list(easy->set, easy->n_words, easy->ids);
    const int answer = easy->host->start_on(easy->host, job.job, easy->ids, n);
    if (answer != 0)
        return answer;
    const int64_t end_ns = sand_peer_later(easy->now_ns, job.length_ns);
    for (size_t i = 0; i < n; i++) {
        easy->owner[easy->ids[i]] = job.job;
        easy->until[easy->ids[i]] = end_ns;
        sand_nodeset_add(easy->busy, easy->ids[i]);
    }
    sand_peer_unqueue(&easy->jobs, place);
    return sand_peer_run(&easy->jobs, easy->host,
                         (struct sand_peer_run){end_ns, job.job, job.n_nodes});
}

static void set_to_idle(struct easy_nodes *easy)
{
    for (size_t i = 0; i < easy->n_words; i++)
        easy->set[i] = ~easy->busy[i];
    if (easy->n_nodes % 64 != 0)
        easy->set[easy->n_words - 1] &= ((uint64_t)1 << (easy->n_nodes % 64)) - 1;
}

// The earliest expected end by which enough nodes for the head are free; INT64_MAX: never.
static int64_t head_date(const struct easy_nodes *easy)
{
    uint64_t n_free = count_idle(easy);
    for (size_t i = 0; i < easy->jobs.n_running; i++) {
        n_free += easy->jobs.running[i].n_nodes;
        if (n_free >= easy->jobs.queue[0].n_nodes)
            return easy->jobs.running[i].end_ns;
    }
    return INT64_MAX;
}

// The head holds the lowest of the nodes that are free by then. A job past its expected end counts
// as ending in the next nanosecond.
static void reserve_head(struct easy_nodes *easy)
{
    const int64_t date_ns = head_date(easy);
    if (date_ns == INT64_MAX)
        return;
    set_to_idle(easy);
    for (size_t i = 0; i < easy->n_nodes; i++) {
        if (easy->until[i] <= date_ns && easy->owner[i] != SANDTABLE_NONE)
            sand_nodeset_add(easy->set, i);
    }
    sand_nodeset_keep_lowest(easy->set, easy->n_words, easy->jobs.queue[0].n_nodes);
    memcpy(easy->head, easy->set, easy->n_words * sizeof *easy->head);
    easy->head_ns = date_ns > easy->now_ns ? date_ns : easy->now_ns + 1;
}

// Starts heads until one has to wait; that one holds a reservation.
static int start_heads(struct easy_nodes *easy)
{
    easy->head_ns = INT64_MAX;
    while (easy->jobs.n_queue > 0 && easy->jobs.queue[0].n_nodes <= count_idle(easy)) {
        set_to_idle(easy);
        const int answer = start(easy, 0);
        if (answer != 0)
            return answer;
    }
    if (easy->jobs.n_queue > 0)
        reserve_head(easy);
    return 0;
}

static int overlaps_head(const struct easy_nodes *easy, const struct sand_peer_job *job)
{
    return easy->head_ns < sand_peer_later(easy->now_ns, job->length_ns);
}

// What a filler may have: idle nodes, without the head's if it runs past their date.
static void set_to_allowed(struct easy_nodes *easy, const struct sand_peer_job *job)
{
    set_to_idle(easy);
    for (size_t i = 0; overlaps_head(easy, job) && i < easy->n_words; i++)
        easy->set[i] &= ~easy->head[i];
}

// Tries the jobs from `place` on, once each, in order.
static int fill(struct easy_nodes *easy, size_t place)
{
    size_t n_idle = count_idle(easy);
    while (n_idle > 0 && place < easy->jobs.n_queue) {
        const struct sand_peer_job job = easy->jobs.queue[place];
        int answer = 1;
        if (job.n_nodes <= n_idle) {
            set_to_allowed(easy, &job);
            if (sand_nodeset_count(easy->set, easy->n_words) >= job.n_nodes)
                answer = start(easy, place);
        }
        if (answer == 0)
            n_idle -= job.n_nodes;
        else if (answer == 1)
            place++;
        else
            return answer;
    }
    return 0;
}

static int nodes_decide(void *self)
{
    struct easy_nodes *easy = self;
    easy->now_ns = easy->host->now_ns(easy->host);
    read_nodes(easy);
    int rc = 0;
    if (easy->released || easy->n_old == 0)
        rc = start_heads(easy);
    if (rc == 0)
        rc = fill(easy, easy->released || easy->n_old == 0 ? 1 : easy->n_old);
    easy->released = 0;
    easy->n_old = easy->jobs.n_queue;
    return rc;
}

const struct sandtable_schedule sand_peer_easy_nodes = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/easy-nodes",
    .version = "1.0",
    .summary = "EASY as batsched's easy_bf: the head's reservation holds concrete nodes",
    .create = nodes_create,
    .on_event = nodes_on_event,
    .decide = nodes_decide,
    .destroy = nodes_destroy,
};
