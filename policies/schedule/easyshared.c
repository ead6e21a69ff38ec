// Fillers are judged on the nodes that the place policy gives them: on a node that is busy past the
// shadow time anyway they delay nobody, on one that the head could have they may.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "easyshared.h"

#include <math.h>
#include <stdlib.h>

// Kinds of job that were refused since the last start: equal ones would be, and so would those that
// run longer.
struct refusal {
    uint32_t n_nodes, node_gpus, first, end; // eligible nodes
    int64_t end_ns;                          // INT64_MIN: no room, however short
};

enum { MAX_REFUSALS = 32 }; // more kinds are asked again

struct decision {
    const struct sandtable_host *host;
    const struct sand_easy_shared_limits *limits;
    struct sand_waitlist *waiting;
    struct sand_easy_shared *plan;
    uint32_t *nodes; // of a probe, as many as the cluster has
    int64_t now_ns;
    size_t n_reserved;
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

// ---- what the reservations allow
// ------------------------------------------------------------------ One is the usual case, and is
// kept up as jobs start; several are planned anew for every job tried.

static int is_several(const struct decision *d)
{
    return d->limits->reservation_depth > 1;
}

static int64_t first_reserved_ns(const struct decision *d)
{
    return is_several(d) ? sand_reservations_first(&d->plan->several) : d->plan->one.shadow_ns;
}

// 1 yes, 0 no, negative: out of memory.
static int may_start(struct decision *d, const struct sandtable_job *job, int64_t end_ns)
{
    const struct sand_tried_job tried = {d->nodes, job->n_nodes, job->node_gpus, end_ns};
    if (is_several(d))
        return sand_reservations_allow(&d->plan->several, d->host, &tried);
    if (!sand_shared_may_start(&d->plan->one, job, d->nodes, end_ns))
        return 0;
    sand_shared_take(&d->plan->one, job, d->nodes, end_ns);
    return 1;
}

// Past the date of the only reservation all are alike.
static int64_t refused_from_ns(const struct decision *d, int64_t end_ns)
{
    const int64_t shadow_ns = d->plan->one.shadow_ns;
    return is_several(d) || shadow_ns == INT64_MAX || end_ns <= shadow_ns ? end_ns : shadow_ns + 1;
}

static struct refusal kind_of(const struct decision *d, const struct sandtable_job *job)
{
    struct refusal kind = {.n_nodes = job->n_nodes, .node_gpus = job->node_gpus};
    d->host->eligible(d->host, job->job, &kind.first, &kind.end);
    return kind;
}

static int is_refused(const struct decision *d, const struct sandtable_job *job, int64_t end_ns)
{
    const struct refusal kind = kind_of(d, job);
    for (size_t i = 0; i < d->n_refusals; i++) {
        const struct refusal *r = &d->refusals[i];
        if (r->n_nodes == kind.n_nodes && r->node_gpus == kind.node_gpus &&
            r->first == kind.first && r->end == kind.end && end_ns >= r->end_ns)
            return 1;
    }
    return 0;
}

static void refuse(struct decision *d, const struct sandtable_job *job, int64_t end_ns)
{
    struct refusal kind = kind_of(d, job);
    kind.end_ns = end_ns;
    if (d->n_refusals < MAX_REFUSALS)
        d->refusals[d->n_refusals++] = kind;
}

// Starts the waiting job at `place` if no reservation loses anything: 0 started, 1 not.
static int try_filler(struct decision *d, size_t place)
{
    const struct sandtable_job *job = d->host->job(d->host, d->waiting->jobs[place].job);
    const uint32_t number = job->job, n_nodes = job->n_nodes;
    const int64_t end_ns = end_if_started(d, job);
    if (is_refused(d, job, end_ns))
        return 1;
    int answer = d->host->probe(d->host, number, d->nodes, n_nodes);
    const int may = answer == 0 ? may_start(d, job, end_ns) : 0;
    if (may < 0)
        return d->host->fail(d->host, "out of memory");
    if (!may) {
        refuse(d, job, answer != 0 ? INT64_MIN : refused_from_ns(d, end_ns));
        return answer == 0 ? 1 : answer;
    }
    answer = d->host->start_on(d->host, number, d->nodes, n_nodes);
    if (answer == 0)
        sand_waitlist_remove(d->waiting, place);
    d->n_refusals = 0;
    return answer;
}

// ---- those that hold a reservation
// ----------------------------------------------------------------

// The head has no room. Those behind it that hold one too may start beside those before them.
static int reserve_heads(struct decision *d)
{
    struct sand_reservations *several = &d->plan->several;
    const size_t n_waiting = sand_waitlist_count(d->waiting);
    const size_t depth =
        d->limits->reservation_depth < n_waiting ? d->limits->reservation_depth : n_waiting;
    if (sand_reservations_open(several, d->host, depth) != 0)
        return d->host->fail(d->host, "out of memory");
    while (d->n_reserved < d->limits->reservation_depth) {
        const size_t place = sand_waitlist_nth(d->waiting, d->n_reserved);
        const int answer = place == SAND_NO_PLACE ? 0
                           : d->n_reserved == 0   ? 1
                                                  : try_filler(d, place);
        if (place == SAND_NO_PLACE || (answer != 0 && answer != 1))
            return answer;
        if (answer == 0)
            continue;
        if (sand_reservations_add(several, d->host, d->waiting->jobs[place].job) != 0)
            return d->host->fail(d->host, "out of memory");
        d->n_reserved++;
        d->n_refusals = 0;
    }
    return 0;
}

static int reserve_head(struct decision *d, size_t head)
{
    const struct sandtable_job *job = d->host->job(d->host, d->waiting->jobs[head].job);
    d->n_reserved = 1;
    return sand_shared_plan_head(&d->plan->one, d->host, job) == 0
               ? 0
               : d->host->fail(d->host, "out of memory");
}

// ---- fillers
// --------------------------------------------------------------------------------------

static uint64_t free_gpus(const struct decision *d)
{
    const struct sandtable_node *nodes;
    uint64_t n_free = 0;
    const size_t n = d->host->nodes(d->host, &nodes);
    for (size_t i = 0; i < n; i++)
        n_free += nodes[i].free_gpus;
    return n_free;
}

static void set_limits(const struct decision *d, struct sand_waitlist_query *query)
{
    uint64_t now = 0, past = 0;
    const int64_t first_ns = first_reserved_ns(d);
    const int never = first_ns == INT64_MAX;
    if (is_several(d))
        now = past = free_gpus(d);
    else
        sand_shared_bounds(&d->plan->one, &now, &past);
    query->max_nodes = (uint32_t)now;
    query->extra_nodes = never ? 0 : (uint32_t)past;
    query->max_walltime_ns = never ? INT64_MAX - 1 : first_ns - d->now_ns;
}

static int fill(struct decision *d)
{
    const size_t queue_depth = d->limits->queue_depth;
    struct sand_waitlist_query query = {.first = sand_waitlist_nth(d->waiting, d->n_reserved),
                                        .end = SIZE_MAX,
                                        .after_key = -INFINITY};
    if (query.first == SAND_NO_PLACE)
        return 0;
    if (queue_depth > 0 && queue_depth < SIZE_MAX - d->n_reserved)
        query.end = sand_waitlist_nth(d->waiting, d->n_reserved + queue_depth);
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

static int plan_and_fill(struct decision *d, size_t head)
{
    const struct sandtable_node *nodes;
    d->nodes = malloc((d->host->nodes(d->host, &nodes) + 1) * sizeof *d->nodes);
    if (d->nodes == NULL)
        return d->host->fail(d->host, "out of memory");
    int rc = is_several(d) ? reserve_heads(d) : reserve_head(d, head);
    if (rc == 0)
        rc = fill(d);
    free(d->nodes);
    return rc;
}

int sand_easy_shared_decide(const struct sandtable_host *host, struct sand_waitlist *waiting,
                            struct sand_easy_shared *plan,
                            const struct sand_easy_shared_limits *limits)
{
    struct decision d = {.host = host,
                         .limits = limits,
                         .waiting = waiting,
                         .plan = plan,
                         .now_ns = host->now_ns(host)};
    size_t head;
    const int rc = start_heads(&d, &head);
    if (rc != 0 || head == SAND_NO_PLACE || sand_waitlist_count(waiting) < 2 || free_gpus(&d) == 0)
        return rc;
    return plan_and_fill(&d, head);
}

void sand_easy_shared_free(struct sand_easy_shared *plan)
{
    sand_shared_free(&plan->one);
    sand_reservations_free(&plan->several);
}
