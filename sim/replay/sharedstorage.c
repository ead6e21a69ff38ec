// Transfers in progress on the training fabric, and the rates that follow.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharedstorage.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "sharedask.h"
#include "units.h"
#include "world.h"

// A link counts for somebody who would lose at least this share of it (see coupling.c).
static const double least_loss = 0.005;
// What a transfer gets that nothing joins to the storage: it stands still until something does.
static const double cut_Bps = 1e-3;

enum sand_rc sand_shared_open(struct sand_world *w)
{
    if (w->cluster->storage_ports.n_ports == 0)
        return SAND_OK;
    w->shared = sand_calloc(1, sizeof *w->shared);
    if (!w->shared)
        return SAND_ERR_NOMEM;
    w->shared->links = sand_calloc(w->fabric->n_links, sizeof *w->shared->links);
    return w->shared->links ? SAND_OK : SAND_ERR_NOMEM;
}

void sand_shared_close(struct sand_world *w)
{
    struct sand_shared *s = w->shared;
    if (!s)
        return;
    shared_answers_free(s);
    sand_free(s->links);
    sand_free(s->touched);
    sand_free(s->steppers);
    sand_free(s->transfers);
    sand_free(s->chosen);
    sand_free(s);
    w->shared = NULL;
}

void sand_shared_note(struct sand_world *w)
{
    if (w->shared)
        w->shared->changed = 1;
}

// ---- ways ---------------------------------------------------------------------------------------

static void clear_route(struct sand_shared_route *route)
{
    sand_streams_free(&route->streams);
    sand_free(route->nodes);
    *route = (struct sand_shared_route){0};
}

void sand_shared_forget(struct sand_world_job *j)
{
    if (!j->shared)
        return;
    clear_route(&j->shared->routes[0]);
    clear_route(&j->shared->routes[1]);
    sand_free(j->shared);
    j->shared = NULL;
}

static int is_current(const struct sand_world *w, const struct sand_world_job *j,
                      const struct sand_shared_route *route)
{
    return route->known &&
           memcmp(route->nodes, j->nodes, route->n_nodes * sizeof *route->nodes) == 0 &&
           (!w->ailing || memcmp(route->state, w->ailing->state, sizeof route->state) == 0);
}

// Streams over its share of each node's NICs.
static struct sand_stream_question question_of(const struct sand_world *w,
                                               const struct sand_world_job *j, int reading)
{
    const uint32_t nics = w->fabric->nics_per_node * j->node_gpus / w->gpus_per_node;
    return (struct sand_stream_question){.cluster = w->cluster,
                                         .fabric = w->ailing ? w->ailing->fabric : w->fabric,
                                         .nodes = j->nodes,
                                         .n_nodes = j->spec->n_nodes,
                                         .n_nics = nics > 0 ? nics : 1,
                                         .reading = reading};
}

static enum sand_rc find_route(struct sand_world *w, struct sand_world_job *j, int reading,
                               const struct sand_shared_route **found)
{
    if (!j->shared)
        j->shared = sand_calloc(1, sizeof *j->shared);
    if (!j->shared)
        return SAND_ERR_NOMEM;
    struct sand_shared_route *route = &j->shared->routes[reading];
    *found = route;
    if (is_current(w, j, route))
        return SAND_OK;
    const struct sand_stream_question question = question_of(w, j, reading);
    clear_route(route);
    route->nodes = sand_calloc(question.n_nodes, sizeof *route->nodes);
    if (!route->nodes)
        return SAND_ERR_NOMEM;
    memcpy(route->nodes, j->nodes, question.n_nodes * sizeof *route->nodes);
    route->n_nodes = question.n_nodes;
    if (w->ailing)
        memcpy(route->state, w->ailing->state, sizeof route->state);
    const enum sand_rc rc = sand_streams_route(&question, &route->streams, NULL);
    route->cut = rc == SAND_ERR_INPUT;
    route->known = rc == SAND_OK || route->cut;
    route->serial = w->shared->serials++;
    return route->cut ? SAND_OK : rc;
}

// ---- what is in progress ------------------------------------------------------------------------

static enum sand_rc add_transfer(struct sand_world *w, struct sand_world_job *j, int reading,
                                 double demand_Bps)
{
    struct sand_shared *s = w->shared;
    const struct sand_shared_route *route;
    SAND_TRY(find_route(w, j, reading, &route));
    SAND_TRY(sand_grow((void **)&s->transfers, &s->transfers_capacity, s->n_transfers + 1,
                       sizeof *s->transfers));
    const double stream_Bps = route->cut ? cut_Bps : demand_Bps / route->streams.n;
    const double alone_Bps = route->cut ? cut_Bps : sand_streams_alone_Bps(&route->streams);
    s->transfers[s->n_transfers++] =
        (struct shared_transfer){.job = j,
                                 .route = route,
                                 .reading = reading,
                                 .is_data = isfinite(demand_Bps),
                                 .most_Bps = fmin(stream_Bps, alone_Bps)};
    return SAND_OK;
}

// Bytes per second that its steps read, at their pace alone.
static double data_Bps(const struct sand_world_job *j)
{
    const struct sand_job_spec *spec = j->spec;
    if (j->phase != SAND_PHASE_STEPPING || !(spec->sequence_B > 0))
        return 0;
    const int64_t alone_ns = j->rate.healthy_ns + j->rate.by_ns[SAND_SLOW_PLACEMENT];
    return spec->split.global_batch * spec->sequence_B / sand_s_from_ns(alone_ns);
}

static enum sand_rc add_job(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_shared *s = w->shared;
    if (j->flow != SAND_NONE)
        SAND_TRY(add_transfer(w, j, j->phase == SAND_PHASE_RESTORING, INFINITY));
    if (data_Bps(j) > 0)
        SAND_TRY(add_transfer(w, j, 1, data_Bps(j)));
    if (j->phase != SAND_PHASE_STEPPING || j->coupled.n_loads == 0)
        return SAND_OK;
    SAND_TRY(sand_grow((void **)&s->steppers, &s->steppers_capacity, s->n_steppers + 1,
                       sizeof *s->steppers));
    s->steppers[s->n_steppers++] = j;
    return SAND_OK;
}

static enum sand_rc collect(struct sand_world *w)
{
    w->shared->n_transfers = w->shared->n_steppers = 0;
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        if (j->nodes)
            SAND_TRY(add_job(w, j));
    return SAND_OK;
}

// What the servers give is shared out evenly among the transfers of a direction; what one cannot
// take goes to the others (max-min, as the replay's engine does).
static void share_servers(struct sand_world *w, int reading)
{
    struct sand_shared *s = w->shared;
    double left_Bps = reading ? w->read_Bps : w->write_Bps;
    uint32_t left = 0;
    for (size_t i = 0; i < s->n_transfers; i++)
        if (s->transfers[i].reading == reading) {
            s->transfers[i].server_Bps = INFINITY;
            left++;
        }
    for (int more = 1; more && left > 0;) {
        const double share_Bps = left_Bps / left;
        more = 0;
        for (size_t i = 0; i < s->n_transfers; i++) {
            struct shared_transfer *t = &s->transfers[i];
            const double most_Bps = t->most_Bps * t->route->streams.n;
            if (t->reading != reading || isfinite(t->server_Bps) || most_Bps > share_Bps)
                continue;
            t->server_Bps = t->most_Bps;
            left_Bps -= most_Bps;
            left--;
            more = 1;
        }
    }
    for (size_t i = 0; i < s->n_transfers; i++)
        if (s->transfers[i].reading == reading && !isfinite(s->transfers[i].server_Bps))
            s->transfers[i].server_Bps = left_Bps / left / s->transfers[i].route->streams.n;
}

// ---- what is on the links -----------------------------------------------------------------------

static enum sand_rc touch(struct sand_shared *s, uint32_t link, double capacity_Bps)
{
    if (s->links[link].capacity_Bps > 0)
        return SAND_OK;
    SAND_TRY(sand_grow((void **)&s->touched, &s->touched_capacity, s->n_touched + 1,
                       sizeof *s->touched));
    s->touched[s->n_touched++] = link;
    s->links[link].capacity_Bps = capacity_Bps;
    return SAND_OK;
}

static enum sand_rc sum_links(struct sand_shared *s)
{
    for (size_t i = 0; i < s->n_transfers; i++)
        for (size_t l = 0; l < s->transfers[i].route->streams.n_links; l++) {
            const struct shared_transfer *t = &s->transfers[i];
            const struct sand_stream_link *own = &t->route->streams.links[l];
            SAND_TRY(touch(s, own->link, own->capacity_Bps));
            const double Bps = own->streams * fmin(t->most_Bps, t->server_Bps);
            s->links[own->link].peak_Bps += Bps;
            s->links[own->link].transfers_Bps += Bps;
        }
    for (size_t i = 0; i < s->n_steppers; i++)
        for (size_t l = 0; l < s->steppers[i]->coupled.n_loads; l++) {
            const struct sand_link_load *own = &s->steppers[i]->coupled.loads[l];
            SAND_TRY(touch(s, own->link, own->capacity_Bps));
            s->links[own->link].peak_Bps += own->peak_Bps;
            s->links[own->link].steps_Bps += own->mean_Bps;
        }
    return SAND_OK;
}

static void forget_links(struct sand_shared *s)
{
    for (size_t i = 0; i < s->n_touched; i++)
        s->links[s->touched[i]] = (struct shared_link){0};
    s->n_touched = 0;
}

static int is_full(const struct shared_link *link)
{
    return link->peak_Bps > link->capacity_Bps * (1 + 1e-9);
}

// ---- rates --------------------------------------------------------------------------------------

// Links on which transfers may cost the job something.
static enum sand_rc find_job_links(struct sand_shared *s, const struct sand_world_job *j)
{
    shared_question_begin(s);
    for (size_t i = 0; i < j->coupled.n_loads; i++) {
        const struct sand_link_load *own = &j->coupled.loads[i];
        const struct shared_link *link = &s->links[own->link];
        const double transfers_Bps = fmin(link->transfers_Bps, own->capacity_Bps);
        if (is_full(link) &&
            own->mean_Bps * transfers_Bps >= least_loss * own->capacity_Bps * own->capacity_Bps)
            SAND_TRY(shared_question_link(s, own->link));
    }
    return SAND_OK;
}

static enum sand_rc rate_job(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_shared *s = w->shared;
    int64_t more_ns = 0;
    SAND_TRY(find_job_links(s, j));
    if (s->n_chosen > 0) {
        double with_s = 0, without_s = 0;
        SAND_TRY(shared_question_ask(w, j, SAND_NONE, 0, &with_s, NULL));
        SAND_TRY(shared_question_ask(w, j, SAND_NONE, 1, &without_s, NULL));
        more_ns = sand_ns_from_s(fmax(0, with_s - without_s));
    }
    if (more_ns == j->rate.by_ns[SAND_SLOW_TRANSFERS])
        return SAND_OK;
    return sand_life_slow(w, j, SAND_SLOW_TRANSFERS, more_ns);
}

// Links on which others may cost the transfer something.
static enum sand_rc find_transfer_links(struct sand_shared *s, const struct shared_transfer *t)
{
    shared_question_begin(s);
    for (size_t i = 0; i < t->route->streams.n_links; i++) {
        const struct sand_stream_link *own = &t->route->streams.links[i];
        const struct shared_link *link = &s->links[own->link];
        const double own_Bps = own->streams * fmin(t->most_Bps, t->server_Bps);
        const double others_Bps = link->steps_Bps + link->transfers_Bps - own_Bps;
        if (is_full(link) && others_Bps >= least_loss * own->capacity_Bps)
            SAND_TRY(shared_question_link(s, own->link));
    }
    return SAND_OK;
}

static enum sand_rc rate_transfer(struct sand_world *w, uint32_t i)
{
    struct sand_shared *s = w->shared;
    struct shared_transfer *t = &s->transfers[i];
    t->rate_Bps = fmin(t->most_Bps, t->server_Bps);
    SAND_TRY(find_transfer_links(s, t));
    if (s->n_chosen > 0)
        SAND_TRY(shared_question_ask(w, NULL, i, 0, NULL, &t->rate_Bps));
    const double Bps = t->route->cut ? cut_Bps : t->rate_Bps * t->route->streams.n;
    if (t->is_data || Bps == t->job->shared->granted_Bps[t->reading])
        return SAND_OK;
    t->job->shared->granted_Bps[t->reading] = Bps;
    return sand_bridge_link_set(w->bridge, t->job->client_link + (uint32_t)t->reading, Bps);
}

static enum sand_rc rate_all(struct sand_world *w)
{
    struct sand_shared *s = w->shared;
    for (uint32_t i = 0; i < s->n_transfers; i++)
        SAND_TRY(rate_transfer(w, i));
    for (size_t i = 0; i < s->n_steppers; i++)
        SAND_TRY(rate_job(w, s->steppers[i]));
    return SAND_OK;
}

enum sand_rc sand_shared_settle(struct sand_world *w)
{
    struct sand_shared *s = w->shared;
    if (!s || !s->changed)
        return SAND_OK;
    s->changed = 0;
    SAND_TRY(collect(w));
    share_servers(w, 0);
    share_servers(w, 1);
    enum sand_rc rc = sum_links(s);
    if (rc == SAND_OK)
        rc = rate_all(w);
    forget_links(s);
    return rc;
}
