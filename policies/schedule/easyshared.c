// Fillers are judged on the nodes that the place policy gives them: on a node that is busy past the
// shadow time anyway they delay nobody, on one that the head could have they may.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "easyshared.h"

#include <math.h>
#include <stdlib.h>

// Sizes of job that were refused since the last start: all equal ones would be.
struct refusal {
    uint32_t n_nodes, node_gpus;
    int always; // no room; else only past the shadow time
};

enum { MAX_REFUSALS = 32 }; // more sizes are asked again

struct decision {
    const struct sandtable_host *host;
    struct sand_waitlist *waiting;
    struct sand_shared_plan *plan;
    uint32_t *nodes; // of a probe, as many as the cluster has
    int64_t now_ns;
    struct refusal refusals[MAX_REFUSALS];
    size_t n_refusals;
};

static int64_t end_if_started(const struct decision *d, const struct sandtable_job *job)
{
    const int unknown = job->walltime_ns < 0 || job->walltime_ns > INT64_MAX - d->now_ns;
    return unknown ? INT64_MAX : d->now_ns + job->walltime_ns;
}

// Answers as start() does; *head: the place of the one that has no room.
static int start_heads(struct decision *d, size_t *head)
{
    for (;;) {
        *head = sand_waitlist_nth(d->waiting, 0);
        if (*head == SAND_NO_PLACE)
            return 0;
        const int answer = d->host->start(d->host, d->waiting->jobs[*head].job);
        if (answer != 0)
            return answer == 1 ? 0 : answer;
        sand_waitlist_remove(d->waiting, *head);
    }
}

static int is_refused(const struct decision *d, const struct sandtable_job *job, int past)
{
    for (size_t i = 0; i < d->n_refusals; i++) {
        const struct refusal *r = &d->refusals[i];
        if (r->n_nodes == job->n_nodes && r->node_gpus == job->node_gpus && (r->always || past))
            return 1;
    }
    return 0;
}

static void refuse(struct decision *d, const struct sandtable_job *job, int always)
{
    if (d->n_refusals < MAX_REFUSALS)
        d->refusals[d->n_refusals++] = (struct refusal){job->n_nodes, job->node_gpus, always};
}

// Starts the waiting job at `place` if the head loses nothing: 0 started, 1 not.
static int try_filler(struct decision *d, size_t place)
{
    const struct sandtable_job *job = d->host->job(d->host, d->waiting->jobs[place].job);
    const int64_t end_ns = end_if_started(d, job);
    const int past = end_ns > d->plan->shadow_ns || end_ns == INT64_MAX;
    if (is_refused(d, job, past))
        return 1;
    int answer = d->host->probe(d->host, job->job, d->nodes, job->n_nodes);
    const int may = answer == 0 && sand_shared_may_start(d->plan, job, d->nodes, end_ns);
    if (!may) {
        refuse(d, job, answer != 0);
        return answer == 0 ? 1 : answer;
    }
    sand_shared_take(d->plan, job, d->nodes, end_ns);
    answer = d->host->start_on(d->host, job->job, d->nodes, job->n_nodes);
    if (answer == 0)
        sand_waitlist_remove(d->waiting, place);
    d->n_refusals = 0;
    return answer;
}

static void set_limits(const struct decision *d, struct sand_waitlist_query *query)
{
    uint64_t now, past;
    const int never = d->plan->shadow_ns == INT64_MAX;
    sand_shared_bounds(d->plan, &now, &past);
    query->max_nodes = (uint32_t)now;
    query->extra_nodes = never ? 0 : (uint32_t)past;
    query->max_walltime_ns = never ? INT64_MAX - 1 : d->plan->shadow_ns - d->now_ns;
}

static int fill(struct decision *d, size_t head, size_t queue_depth)
{
    struct sand_waitlist_query query = {.first = head + 1, .end = SIZE_MAX, .after_key = -INFINITY};
    if (queue_depth > 0 && queue_depth < SIZE_MAX)
        query.end = sand_waitlist_nth(d->waiting, 1 + queue_depth);
    set_limits(d, &query);
    while (query.max_nodes > 0) {
        const size_t place = sand_waitlist_find(d->waiting, &query);
        if (place == SAND_NO_PLACE)
            return 0;
        query.after_key = d->waiting->jobs[place].key;
        query.after_place = place;
        const int answer = try_filler(d, place);
        if (answer != 0 && answer != 1)
            return answer;
        if (answer == 0)
            set_limits(d, &query);
    }
    return 0;
}

static int plan_and_fill(struct decision *d, size_t head, size_t queue_depth)
{
    const struct sandtable_job *job = d->host->job(d->host, d->waiting->jobs[head].job);
    if (sand_shared_plan_head(d->plan, d->host, job) != 0)
        return d->host->fail(d->host, "out of memory");
    d->nodes = malloc(d->plan->n_nodes * sizeof *d->nodes);
    if (d->nodes == NULL)
        return d->host->fail(d->host, "out of memory");
    const int rc = fill(d, head, queue_depth);
    free(d->nodes);
    return rc;
}

static int is_full(const struct decision *d)
{
    const struct sandtable_node *nodes;
    const size_t n = d->host->nodes(d->host, &nodes);
    for (size_t i = 0; i < n; i++)
        if (nodes[i].free_gpus > 0)
            return 0;
    return 1;
}

int sand_easy_shared_decide(const struct sandtable_host *host, struct sand_waitlist *waiting,
                            struct sand_shared_plan *plan, size_t queue_depth)
{
    struct decision d = {
        .host = host, .waiting = waiting, .plan = plan, .now_ns = host->now_ns(host)};
    size_t head;
    const int rc = start_heads(&d, &head);
    if (rc != 0 || head == SAND_NO_PLACE || sand_waitlist_count(waiting) < 2 || is_full(&d))
        return rc;
    return plan_and_fill(&d, head, queue_depth);
}
