// schedule/easy-counted-cqsim and schedule/conservative-cqsim: backfilling as CQSim does it.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// CQSim (github.com/SPEAR-UIC/CQSim), backfill modes 1 and 2, as its schedules show: nodes are
// counted, a job is expected to run as long as it really will, and after the jobs that start in
// queue order a profile of free nodes is made anew, in which the head takes the earliest place.
// Then each later job takes its earliest place too (conservative), or only one that begins now
// (EASY). CQSim passes after every event, so its schedules need events="each".
#include "sandtable/policy.h"

#include <stdlib.h>
#include <string.h>

#include "peerjobs.h"

struct cqsim_step {
    int64_t date_ns;
    uint64_t n_free;
};

struct cqsim {
    const struct sandtable_host *host;
    int conservative;
    struct sand_peer_jobs jobs;
    struct cqsim_step *steps;
    size_t n_steps, capacity;
    int64_t now_ns;
};

static int create(const struct sandtable_host *host, void **self, int conservative)
{
    struct cqsim *cqsim = calloc(1, sizeof *cqsim);
    if (cqsim == NULL)
        return host->fail(host, "out of memory");
    cqsim->host = host;
    cqsim->conservative = conservative;
    *self = cqsim;
    return 0;
}

static int create_easy(const struct sandtable_host *host, void **self)
{
    return create(host, self, 0);
}

static int create_conservative(const struct sandtable_host *host, void **self)
{
    return create(host, self, 1);
}

// Jobs that are not recorded have no duration to look at; their request stands in for it.
static int64_t expected_ns(const struct sandtable_host *host, const struct sandtable_job *view)
{
    const int64_t recorded_ns = host->recorded_ns(host, view->job);
    if (recorded_ns >= 0)
        return recorded_ns;
    return view->walltime_ns >= 0 ? view->walltime_ns : INT64_MAX;
}

static int cqsim_on_event(void *self, const struct sandtable_event *event)
{
    struct cqsim *cqsim = self;
    const struct sandtable_host *host = cqsim->host;
    if (event->kind == SANDTABLE_EVENT_JOB_ENDED)
        sand_peer_end(&cqsim->jobs, event->job);
    if (event->kind != SANDTABLE_EVENT_JOB_ARRIVED)
        return 0;
    const struct sandtable_job *view = host->job(host, event->job);
    const struct sand_peer_job job = {view->job, view->n_nodes, expected_ns(host, view)};
    return sand_peer_queue(&cqsim->jobs, host, job);
}

// Answers as the host does: 0 started, 1 no place.
static int start(struct cqsim *cqsim, size_t place)
{
    const struct sand_peer_job job = cqsim->jobs.queue[place];
    const int answer = cqsim->host->start(cqsim->host, job.job);
    if (answer != 0)
        return answer;
    sand_peer_unqueue(&cqsim->jobs, place);
    return sand_peer_run(&cqsim->jobs, cqsim->host,
                         (struct sand_peer_run){sand_peer_later(cqsim->now_ns, job.length_ns),
                                                job.job, job.n_nodes});
}

// ---- the profile --------------------------------------------------------------------------------

static int insert_step(struct cqsim *cqsim, size_t place, int64_t date_ns, uint64_t n_free)
{
    if (cqsim->n_steps == cqsim->capacity) {
        const size_t capacity = cqsim->capacity > 0 ? 2 * cqsim->capacity : 64;
        struct cqsim_step *steps = realloc(cqsim->steps, capacity * sizeof *steps);
        if (steps == NULL)
            return cqsim->host->fail(cqsim->host, "out of memory");
        cqsim->steps = steps;
        cqsim->capacity = capacity;
    }
    memmove(&cqsim->steps[place + 1], &cqsim->steps[place],
            (cqsim->n_steps - place) * sizeof *cqsim->steps);
    cqsim->steps[place] = (struct cqsim_step){date_ns, n_free};
    cqsim->n_steps++;
    return 0;
}

// A job that ends now but has not yet been seen to end makes a second step of the same date.
static int build_profile(struct cqsim *cqsim)
{
    uint64_t n_free = cqsim->host->free_nodes(cqsim->host);
    cqsim->n_steps = 0;
    int rc = insert_step(cqsim, 0, cqsim->now_ns, n_free);
    for (size_t i = 0; rc == 0 && i < cqsim->jobs.n_running; i++) {
        const struct sand_peer_run *run = &cqsim->jobs.running[i];
        const int64_t end_ns = run->end_ns > cqsim->now_ns ? run->end_ns : cqsim->now_ns;
        n_free += run->n_nodes;
        if (cqsim->n_steps > 1 && cqsim->steps[cqsim->n_steps - 1].date_ns == end_ns)
            cqsim->steps[cqsim->n_steps - 1].n_free = n_free;
        else
            rc = insert_step(cqsim, cqsim->n_steps, end_ns, n_free);
    }
    return rc;
}

// The first step in [begin, ...) that is short of nodes while the job would run, or the step at
// which it would have ended; *fits says which.
static size_t walk(const struct cqsim *cqsim, const struct sand_peer_job *job, size_t begin,
                   int *fits)
{
    const int64_t end_ns = sand_peer_later(cqsim->steps[begin].date_ns, job->length_ns);
    size_t i = begin;
    *fits = 1;
    for (; i < cqsim->n_steps && cqsim->steps[i].date_ns < end_ns; i++) {
        if (cqsim->steps[i].n_free < job->n_nodes) {
            *fits = 0;
            return i;
        }
    }
    return i;
}

static int take(struct cqsim *cqsim, const struct sand_peer_job *job, size_t begin, size_t end)
{
    const int64_t end_ns = sand_peer_later(cqsim->steps[begin].date_ns, job->length_ns);
    int rc = 0;
    if (end_ns != INT64_MAX && (end == cqsim->n_steps || cqsim->steps[end].date_ns != end_ns))
        rc = insert_step(cqsim, end, end_ns, cqsim->steps[end - 1].n_free);
    for (size_t i = begin; rc == 0 && i < end; i++)
        cqsim->steps[i].n_free -= job->n_nodes;
    return rc;
}

// Takes the job's earliest place, or only one at the first step; *begins_now says if it is that.
static int reserve(struct cqsim *cqsim, const struct sand_peer_job *job, int only_now,
                   int *begins_now)
{
    const size_t last = only_now ? 1 : cqsim->n_steps;
    size_t begin = 0;
    *begins_now = 0;
    while (begin < last) {
        int fits;
        const size_t end = walk(cqsim, job, begin, &fits);
        if (fits) {
            *begins_now = begin == 0;
            return take(cqsim, job, begin, end);
        }
        begin = end + 1; // every place up to the short step would cover it
    }
    return 0;
}

// ---- a pass -------------------------------------------------------------------------------------

static int start_heads(struct cqsim *cqsim)
{
    while (cqsim->jobs.n_queue > 0 &&
           cqsim->jobs.queue[0].n_nodes <= cqsim->host->free_nodes(cqsim->host)) {
        const int answer = start(cqsim, 0);
        if (answer != 0)
            return answer == 1 ? 0 : answer;
    }
    return 0;
}

static int backfill(struct cqsim *cqsim)
{
    int begins_now;
    int rc = build_profile(cqsim);
    if (rc == 0)
        rc = reserve(cqsim, &cqsim->jobs.queue[0], 0, &begins_now);
    for (size_t i = 1; rc == 0 && i < cqsim->jobs.n_queue;) {
        rc = reserve(cqsim, &cqsim->jobs.queue[i], !cqsim->conservative, &begins_now);
        const int answer = rc == 0 && begins_now ? start(cqsim, i) : 1;
        if (answer == 1)
            i++;
        else if (answer != 0)
            rc = answer;
    }
    return rc;
}

static int cqsim_decide(void *self)
{
    struct cqsim *cqsim = self;
    cqsim->now_ns = cqsim->host->now_ns(cqsim->host);
    const int rc = start_heads(cqsim);
    return rc != 0 || cqsim->jobs.n_queue < 2 ? rc : backfill(cqsim);
}

static void cqsim_destroy(void *self)
{
    struct cqsim *cqsim = self;
    if (cqsim == NULL)
        return;
    sand_peer_free(&cqsim->jobs);
    free(cqsim->steps);
    free(cqsim);
}

const struct sandtable_schedule sand_peer_easy_counted = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/easy-counted-cqsim",
    .version = "1.0",
    .summary = "EASY as CQSim does it: counted nodes, fillers judged by their actual run time",
    .create = create_easy,
    .on_event = cqsim_on_event,
    .decide = cqsim_decide,
    .destroy = cqsim_destroy,
};

const struct sandtable_schedule sand_peer_conservative = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/conservative-cqsim",
    .version = "1.0",
    .summary = "conservative backfilling as CQSim does it: counted nodes, planned anew every time",
    .create = create_conservative,
    .on_event = cqsim_on_event,
    .decide = cqsim_decide,
    .destroy = cqsim_destroy,
};
