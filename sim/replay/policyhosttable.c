// The host's table: what a policy may look at and do. Wrong calls are noted here and turned into
// the unit's failure when the callback returns (sand_glue_verdict).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "units.h"

// Returned to a policy whose call was wrong; differs from every answer.
enum { REFUSED = -1 };

static struct sand_glue *glue_of(const struct sandtable_host *host)
{
    return host->impl;
}

// Keeps the first complaint of a callback.
static int note(struct sand_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int note(struct sand_world *w, const char *format, ...)
{
    if (w->policy_failed)
        return REFUSED;
    w->policy_failed = 1;
    va_list args;
    va_start(args, format);
    vsnprintf(w->policy_message, sizeof w->policy_message, format, args);
    va_end(args);
    return REFUSED;
}

static int64_t host_now_ns(const struct sandtable_host *host)
{
    return glue_of(host)->world->now_ns;
}

static double host_draw(const struct sandtable_host *host, uint64_t index)
{
    const struct sand_glue *glue = glue_of(host);
    return sand_rng_uniform(glue->world->rng, SAND_STREAM_POLICY, glue->entity, index);
}

static double host_param(const struct sandtable_host *host, const char *name)
{
    return name ? sand_policy_param(&glue_of(host)->policy, name) : NAN;
}

static int host_fail(const struct sandtable_host *host, const char *message)
{
    return note(glue_of(host)->world, "%s", message ? message : "failed without a message");
}

static size_t host_nodes(const struct sandtable_host *host, const struct sandtable_node **out)
{
    const struct sand_world *w = glue_of(host)->world;
    *out = w->node_views;
    return w->cluster->n_nodes;
}

// A request that has run out ends in the next nanosecond, for all anyone knows.
static void move_overdue(const struct sand_world *w, struct sandtable_job *view)
{
    const int running =
        view->state == SANDTABLE_JOB_RUNNING || view->state == SANDTABLE_JOB_RECOVERING;
    if (running && view->end_ns >= 0 && view->end_ns <= w->now_ns)
        view->end_ns = w->now_ns + 1;
}

static size_t host_jobs(const struct sandtable_host *host, const struct sandtable_job **out)
{
    struct sand_world *w = glue_of(host)->world;
    size_t n = 0;
    for (size_t i = 0; i < w->n_queue; i++)
        w->job_views[n++] = sand_jobs_find(w, w->queue[i])->view;
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        if (j->phase == SAND_PHASE_ENDED)
            continue;
        move_overdue(w, &j->view);
        w->job_views[n++] = j->view;
    }
    *out = w->job_views;
    return n;
}

static const struct sandtable_job *host_job(const struct sandtable_host *host, uint32_t job)
{
    const struct sand_world *w = glue_of(host)->world;
    struct sand_world_job *j = sand_jobs_find(w, job);
    if (!j)
        return NULL;
    move_overdue(w, &j->view);
    return &j->view;
}

static size_t host_free_nodes(const struct sandtable_host *host)
{
    return glue_of(host)->world->n_idle;
}

static int64_t host_recorded_ns(const struct sandtable_host *host, uint32_t job)
{
    const struct sand_world_job *j = sand_jobs_find(glue_of(host)->world, job);
    if (!j || !sand_job_is_record(j->spec))
        return -1;
    return sand_ns_from_s(j->spec->work_s);
}

static int host_shares_nodes(const struct sandtable_host *host)
{
    return glue_of(host)->world->experiment->allocation == SAND_ALLOCATE_GPUS;
}

static int64_t host_recorded_start_ns(const struct sandtable_host *host, uint32_t job)
{
    const struct sand_world_job *j = sand_jobs_find(glue_of(host)->world, job);
    return j && j->spec->has_start ? j->spec->record_ns : -1;
}

static int host_fail_job(const struct sandtable_host *host, uint32_t job, const char *message)
{
    struct sand_world *w = glue_of(host)->world;
    const struct sand_world_job *j = sand_jobs_find(w, job);
    message = message ? message : "fails without a message";
    if (!j)
        return note(w, "job number %u, which neither waits nor runs, %s", job, message);
    if (j->spec->row_line > 0)
        return note(w, "job \"%s\" (line %ld of its trace) %s", j->spec->id, j->spec->row_line,
                    message);
    return note(w, "job \"%s\" %s", j->spec->id, message);
}

static size_t host_tenants(const struct sandtable_host *host, uint32_t node,
                           const struct sandtable_tenant **out)
{
    const struct sand_world *w = glue_of(host)->world;
    if (node >= w->cluster->n_nodes)
        return 0;
    *out = &w->tenants[(size_t)node * w->most_tenants];
    return w->nodes[node].n_tenants;
}

static int host_has_groups(const struct sandtable_host *host)
{
    return glue_of(host)->world->cluster->n_groups > 0;
}

static void host_eligible(const struct sandtable_host *host, uint32_t job, uint32_t *first,
                          uint32_t *end)
{
    struct sand_world *w = glue_of(host)->world;
    const struct sand_world_job *j = sand_jobs_find(w, job);
    sand_cluster_group_nodes(w->cluster, j ? j->spec->group : NULL, first, end);
}

static size_t host_queue(const struct sandtable_host *host, const uint32_t **out)
{
    const struct sand_world *w = glue_of(host)->world;
    *out = w->queue;
    return w->n_queue;
}

// A job by a policy's number; NULL, with a complaint, unless it waits in the queue.
static struct sand_world_job *waiting_job(struct sand_world *w, uint32_t job, const char *verb)
{
    struct sand_world_job *j = sand_jobs_find(w, job);
    if (!j)
        note(w, "%s job number %u, which neither waits nor runs", verb, job);
    else if (j->phase != SAND_PHASE_QUEUED)
        note(w, "%s job \"%s\", which is not waiting in the queue", verb, j->spec->id);
    return j && j->phase == SAND_PHASE_QUEUED ? j : NULL;
}

// Places a job into the scratch array: 0 found, 1 no place, REFUSED.
static int find_place(struct sand_world *w, const struct sand_world_job *j)
{
    int found = 0;
    const enum sand_rc rc = sand_glue_place(w, j, w->placement, &found);
    if (rc != SAND_OK) {
        w->inner_rc = rc;
        return REFUSED;
    }
    return found ? 0 : 1;
}

static int host_probe(const struct sandtable_host *host, uint32_t job, uint32_t *nodes, size_t n)
{
    struct sand_glue *glue = glue_of(host);
    struct sand_world *w = glue->world;
    if (w->policy_failed || w->inner_rc != SAND_OK)
        return REFUSED;
    if (glue != &w->schedule)
        return note(w, "called probe(), which only schedule policies may");
    const struct sand_world_job *j = waiting_job(w, job, "probes");
    if (!j)
        return REFUSED;
    if (nodes && n < j->spec->n_nodes)
        return note(w, "probes job \"%s\" with room for %zu nodes; it asks for %u", j->spec->id, n,
                    j->spec->n_nodes);
    const int answer = find_place(w, j);
    for (uint32_t rank = 0; answer == 0 && nodes && rank < j->spec->n_nodes; rank++)
        nodes[rank] = w->placement[rank];
    return answer;
}

// The job that is to start, or NULL if none may.
static struct sand_world_job *starting_job(struct sand_glue *glue, uint32_t job)
{
    struct sand_world *w = glue->world;
    if (w->policy_failed || w->inner_rc != SAND_OK)
        return NULL;
    if (glue != &w->schedule || !w->deciding) {
        note(w, "called start() outside decide() of the schedule policy");
        return NULL;
    }
    return waiting_job(w, job, "starts");
}

static int host_start_on(const struct sandtable_host *host, uint32_t job, const uint32_t *nodes,
                         size_t n)
{
    struct sand_glue *glue = glue_of(host);
    struct sand_world *w = glue->world;
    struct sand_world_job *j = starting_job(glue, job);
    if (!j)
        return REFUSED;
    if (n != j->spec->n_nodes)
        return note(w, "starts job \"%s\" on %zu nodes; it asks for %u", j->spec->id, n,
                    j->spec->n_nodes);
    w->inner_rc = sand_glue_check_nodes(glue, j, nodes);
    if (w->inner_rc == SAND_OK)
        w->inner_rc = sand_life_start(w, j, nodes);
    return w->inner_rc == SAND_OK ? 0 : REFUSED;
}

static int host_start(const struct sandtable_host *host, uint32_t job)
{
    struct sand_glue *glue = glue_of(host);
    struct sand_world *w = glue->world;
    struct sand_world_job *j = starting_job(glue, job);
    if (!j)
        return REFUSED;
    const int answer = find_place(w, j);
    if (answer != 0)
        return answer;
    w->inner_rc = sand_life_start(w, j, w->placement);
    return w->inner_rc == SAND_OK ? 0 : REFUSED;
}

static int host_wake_at(const struct sandtable_host *host, int64_t date_ns)
{
    struct sand_glue *glue = glue_of(host);
    struct sand_world *w = glue->world;
    if (glue != &w->schedule)
        return note(w, "called wake_at(), which only schedule policies may");
    if (date_ns <= w->now_ns)
        return note(w, "asks to be woken at %lld ns, which is not after now, %lld ns",
                    (long long)date_ns, (long long)w->now_ns);
    if (date_ns == w->wake_ns)
        return 0;
    w->wake_ns = date_ns;
    w->n_wakes_ahead++; // also beyond the end: it would come
    w->inner_rc = sand_world_put(w, date_ns, SAND_RANK_TIMER, SAND_EVENT_WAKE, SAND_NONE, NULL);
    return w->inner_rc == SAND_OK ? 0 : REFUSED;
}

void sand_glue_table(struct sand_glue *glue)
{
    glue->host = (struct sandtable_host){.struct_size = sizeof(struct sandtable_host),
                                         .impl = glue,
                                         .now_ns = host_now_ns,
                                         .draw = host_draw,
                                         .param = host_param,
                                         .fail = host_fail,
                                         .nodes = host_nodes,
                                         .jobs = host_jobs,
                                         .queue = host_queue,
                                         .probe = host_probe,
                                         .start = host_start,
                                         .wake_at = host_wake_at,
                                         .job = host_job,
                                         .free_nodes = host_free_nodes,
                                         .recorded_ns = host_recorded_ns,
                                         .start_on = host_start_on,
                                         .shares_nodes = host_shares_nodes,
                                         .tenants = host_tenants,
                                         .recorded_start_ns = host_recorded_start_ns,
                                         .fail_job = host_fail_job,
                                         .has_groups = host_has_groups,
                                         .eligible = host_eligible};
}
