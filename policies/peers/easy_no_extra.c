// schedule/easy-no-extra: EASY as batsched's easy_bf_fast does it.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// batsched (framagit.org/batsim/batsched), variant easy_bf_fast, as its schedules show: nodes are
// counted, there are no extra nodes, so a filler must end by the shadow time, and the shadow time
// is computed once, when a job becomes the head, and not again when jobs end early.
#include "sandtable/policy.h"

#include <stdlib.h>

#include "peerjobs.h"

struct no_extra {
    const struct sandtable_host *host;
    struct sand_peer_jobs jobs; // its queue: the jobs behind the head
    struct sand_peer_job head;
    int has_head;
    int64_t shadow_ns;
    struct sand_peer_jobs arrived; // its queue: arrivals since the last decision
    int released;                  // nodes came free since the last decision
    int64_t now_ns;
};

static int no_extra_create(const struct sandtable_host *host, void **self)
{
    struct no_extra *easy = calloc(1, sizeof *easy);
    if (easy == NULL)
        return host->fail(host, "out of memory");
    easy->host = host;
    *self = easy;
    return 0;
}

static int no_extra_on_event(void *self, const struct sandtable_event *event)
{
    struct no_extra *easy = self;
    const struct sandtable_host *host = easy->host;
    if (event->kind == SANDTABLE_EVENT_JOB_ENDED)
        sand_peer_end(&easy->jobs, event->job);
    if (event->kind == SANDTABLE_EVENT_JOB_ENDED || event->kind == SANDTABLE_EVENT_NODE_REPAIRED)
        easy->released = 1;
    if (event->kind != SANDTABLE_EVENT_JOB_ARRIVED)
        return 0;
    const struct sandtable_job *view = host->job(host, event->job);
    const struct sand_peer_job job = {view->job, view->n_nodes,
                                      view->walltime_ns >= 0 ? view->walltime_ns : INT64_MAX};
    return sand_peer_queue(&easy->arrived, host, job);
}

// Answers as the host does: 0 started, 1 no place.
static int start(struct no_extra *easy, const struct sand_peer_job *job)
{
    if (job->n_nodes > easy->host->free_nodes(easy->host))
        return 1;
    const int answer = easy->host->start(easy->host, job->job);
    if (answer != 0)
        return answer;
    return sand_peer_run(&easy->jobs, easy->host,
                         (struct sand_peer_run){sand_peer_later(easy->now_ns, job->length_ns),
                                                job->job, job->n_nodes});
}

static void make_head(struct no_extra *easy, const struct sand_peer_job *job)
{
    uint64_t n_free = easy->host->free_nodes(easy->host);
    easy->head = *job;
    easy->has_head = 1;
    easy->shadow_ns = INT64_MAX - 1; // when no end is known: whoever has a request may overtake
    for (size_t i = 0; i < easy->jobs.n_running; i++) {
        if (easy->jobs.running[i].end_ns == INT64_MAX)
            return;
        n_free += easy->jobs.running[i].n_nodes;
        if (n_free >= job->n_nodes) {
            easy->shadow_ns = easy->jobs.running[i].end_ns;
            return;
        }
    }
}

static int ends_in_time(const struct no_extra *easy, const struct sand_peer_job *job)
{
    return sand_peer_later(easy->now_ns, job->length_ns) <= easy->shadow_ns;
}

// The head, then the queue in order; the first that does not fit is the new head.
static int start_heads(struct no_extra *easy)
{
    int answer = start(easy, &easy->head);
    if (answer != 0)
        return answer == 1 ? 0 : answer;
    easy->has_head = 0;
    while (easy->jobs.n_queue > 0 && !easy->has_head) {
        const struct sand_peer_job job = easy->jobs.queue[0];
        sand_peer_unqueue(&easy->jobs, 0);
        answer = start(easy, &job);
        if (answer == 1)
            make_head(easy, &job);
        else if (answer != 0)
            return answer;
    }
    return 0;
}

static int fill(struct no_extra *easy)
{
    for (size_t i = 0; i < easy->jobs.n_queue && easy->host->free_nodes(easy->host) > 0;) {
        const struct sand_peer_job job = easy->jobs.queue[i];
        const int answer = ends_in_time(easy, &job) ? start(easy, &job) : 1;
        if (answer == 0)
            sand_peer_unqueue(&easy->jobs, i);
        else if (answer == 1)
            i++;
        else
            return answer;
    }
    return 0;
}

static int take_in(struct no_extra *easy, const struct sand_peer_job *job)
{
    const int may_start = !easy->has_head || ends_in_time(easy, job);
    const int answer = may_start ? start(easy, job) : 1;
    if (answer != 1)
        return answer;
    if (easy->has_head)
        return sand_peer_queue(&easy->jobs, easy->host, *job);
    make_head(easy, job);
    return 0;
}

static int no_extra_decide(void *self)
{
    struct no_extra *easy = self;
    int rc = 0;
    easy->now_ns = easy->host->now_ns(easy->host);
    if (easy->released && easy->has_head)
        rc = start_heads(easy);
    if (rc == 0 && easy->released && easy->has_head)
        rc = fill(easy);
    easy->released = 0;
    for (size_t i = 0; rc == 0 && i < easy->arrived.n_queue; i++)
        rc = take_in(easy, &easy->arrived.queue[i]);
    easy->arrived.n_queue = 0;
    return rc;
}

static void no_extra_destroy(void *self)
{
    struct no_extra *easy = self;
    if (easy == NULL)
        return;
    sand_peer_free(&easy->jobs);
    sand_peer_free(&easy->arrived);
    free(easy);
}

const struct sandtable_schedule sand_peer_easy_no_extra = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/easy-no-extra",
    .version = "1.0",
    .summary =
        "EASY as batsched's easy_bf_fast: no extra nodes, a shadow time that is never renewed",
    .create = no_extra_create,
    .on_event = no_extra_on_event,
    .decide = no_extra_decide,
    .destroy = no_extra_destroy,
};
