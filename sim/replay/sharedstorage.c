// Transfers in progress on the training fabric, and the rates that follow.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharedstorage.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "savetime.h"
#include "sharedask.h"
#include "units.h"
#include "world.h"

// A link counts for somebody who could lose this share on it (see coupling.c).
static const double least_loss = 0.005;
// The same for the streams of a transfer.
static const double least_stream_loss = 0.01;
// Where even the most that a job can lose to transfers is below this share of its step, the mean
// field is the answer (see coupling.c).
static const double mean_field_loss = 0.01;
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
    for (int reading = 0; reading < 2; reading++)
        SAND_TRY(sand_stream_router_open(w->cluster, w->ailing ? w->ailing->fabric : w->fabric,
                                         reading, &w->shared->routers[reading]));
    return w->shared->links ? SAND_OK : SAND_ERR_NOMEM;
}

void sand_shared_warn(const struct sand_world *w)
{
    if (w->shared == NULL || w->shared->n_cut == 0)
        return;
    sand_diag_add(w->diag, SAND_WARNING, NULL, 0,
                  "replication %u: %llu times more than %d jobs or %d transfers of storage were on "
                  "shared links at once; those that load the links least were left out of what the "
                  "others wait for",
                  w->options->replication, (unsigned long long)w->shared->n_cut, SHARED_MOST_JOBS,
                  SHARED_MOST_TRANSFERS);
}

void sand_shared_close(struct sand_world *w)
{
    struct sand_shared *s = w->shared;
    if (!s)
        return;
    shared_answers_free(s);
    sand_stream_router_close(s->routers[0]);
    sand_stream_router_close(s->routers[1]);
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

// ---- what was found for nodes -------------------------------------------------------------------

static void clear_mark(struct sand_shared_mark *mark)
{
    sand_free(mark->nodes);
    *mark = (struct sand_shared_mark){0};
}

static int is_current(const struct sand_world *w, const struct sand_world_job *j,
                      const struct sand_shared_mark *mark)
{
    return mark->nodes && memcmp(mark->nodes, j->nodes, mark->n_nodes * sizeof *mark->nodes) == 0 &&
           (!w->ailing || memcmp(mark->state, w->ailing->state, sizeof mark->state) == 0);
}

static enum sand_rc set_mark(struct sand_world *w, const struct sand_world_job *j,
                             struct sand_shared_mark *mark)
{
    mark->n_nodes = j->spec->n_nodes;
    mark->serial = w->shared->serials++;
    mark->nodes = sand_calloc(mark->n_nodes, sizeof *mark->nodes);
    if (!mark->nodes)
        return SAND_ERR_NOMEM;
    memcpy(mark->nodes, j->nodes, mark->n_nodes * sizeof *mark->nodes);
    if (w->ailing)
        memcpy(mark->state, w->ailing->state, sizeof mark->state);
    return SAND_OK;
}

static void clear_route(struct sand_shared_route *route)
{
    sand_streams_free(&route->streams);
    clear_mark(&route->mark);
    route->cut = 0;
    route->found_ns = 0;
}

static void clear_loads(struct sand_shared_loads *own)
{
    sand_free(own->loads);
    clear_mark(&own->mark);
    own->loads = NULL;
    own->n_loads = 0;
}

void sand_shared_forget(struct sand_world_job *j)
{
    if (!j->shared)
        return;
    clear_route(&j->shared->routes[0]);
    clear_route(&j->shared->routes[1]);
    clear_loads(&j->shared->own);
    sand_free(j->shared);
    j->shared = NULL;
}

static enum sand_rc open_job(struct sand_world_job *j)
{
    if (!j->shared)
        j->shared = sand_calloc(1, sizeof *j->shared);
    return j->shared ? SAND_OK : SAND_ERR_NOMEM;
}

// The router for the parts as they are now.
static struct sand_stream_router *router_now(struct sand_world *w, int reading)
{
    struct sand_shared *s = w->shared;
    if (w->ailing && memcmp(s->routed[reading], w->ailing->state, sizeof s->routed[reading]) != 0) {
        memcpy(s->routed[reading], w->ailing->state, sizeof s->routed[reading]);
        sand_stream_router_forget(s->routers[reading]);
    }
    return s->routers[reading];
}

static int crosses(const struct sand_streams *streams, const uint32_t *links, size_t n)
{
    for (size_t i = 0, k = 0; i < streams->n_links && k < n;) {
        if (streams->links[i].link == links[k])
            return 1;
        if (streams->links[i].link < links[k])
            i++;
        else
            k++;
    }
    return 0;
}

// When streams that cross parts which have gone down go on by another way; 0: they cross none.
static enum sand_rc find_rerouted(struct sand_world *w, const struct sand_streams *streams,
                                  int64_t *found_ns)
{
    *found_ns = 0;
    for (size_t i = 0; w->ailing && i < w->ailing->n_active; i++) {
        const struct sand_degradation *d = w->ailing->active[i];
        const uint32_t *links;
        size_t n;
        if (!d->is_down || d->gpu != SAND_NONE || d->routed_ns <= w->now_ns)
            continue;
        SAND_TRY(sand_fabric_health_links(w->ailing->health, &d->part, &links, &n));
        if (crosses(streams, links, n) && d->routed_ns > *found_ns)
            *found_ns = d->routed_ns;
    }
    if (*found_ns == 0)
        return SAND_OK;
    return sand_world_put(w, *found_ns, SAND_RANK_TIMER, SAND_EVENT_FOUND, 0, NULL);
}

// Streams over its share of each node's NICs.
static enum sand_rc find_route(struct sand_world *w, struct sand_world_job *j, int reading,
                               const struct sand_shared_route **found)
{
    const uint32_t nics = w->fabric->nics_per_node * j->node_gpus / w->gpus_per_node;
    SAND_TRY(open_job(j));
    struct sand_shared_route *route = &j->shared->routes[reading];
    *found = route;
    if (is_current(w, j, &route->mark))
        return SAND_OK;
    int64_t found_ns = route->found_ns, later_ns;
    SAND_TRY(find_rerouted(w, &route->streams, &later_ns));
    clear_route(route);
    route->found_ns = later_ns > found_ns ? later_ns : found_ns;
    const enum sand_rc rc = sand_streams_route(router_now(w, reading), j->nodes, j->spec->n_nodes,
                                               nics > 0 ? nics : 1, &route->streams, NULL);
    route->cut = rc == SAND_ERR_INPUT;
    if (rc != SAND_OK && !route->cut)
        return rc;
    return set_mark(w, j, &route->mark);
}

int sand_shared_meets_own(const struct sand_world *w, const struct sand_world_job *j)
{
    const int saves = j->checkpoint && j->spec->checkpoint.mode == SAND_SAVE_ASYNC;
    return w->shared && !w->ailing && (saves || j->spec->sequence_B > 0);
}

enum sand_rc sand_shared_keep(struct sand_world *w, struct sand_world_job *j,
                              struct sand_link_load *loads, size_t n_loads)
{
    enum sand_rc rc = open_job(j);
    if (rc != SAND_OK) {
        sand_free(loads);
        return rc;
    }
    clear_loads(&j->shared->own);
    j->shared->own.loads = loads;
    j->shared->own.n_loads = n_loads;
    return set_mark(w, j, &j->shared->own.mark);
}

// A job alone in its cluster has its loads found here, when a transfer first meets its steps.
static enum sand_rc find_own_loads(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_steptime_alone alone;
    SAND_TRY(open_job(j));
    struct sand_shared_loads *own = &j->shared->own;
    if (is_current(w, j, &own->mark))
        return SAND_OK;
    const struct sand_step_question question = sand_steptime_question(w, j);
    SAND_TRY(sand_steptime_alone(w, &question, 1, &alone));
    return sand_shared_keep(w, j, alone.loads, alone.n_loads);
}

// What goes wrong here goes wrong again, and is said, when the transfer begins.
double sand_shared_longer_s(struct sand_world *w, struct sand_world_job *j, int reading)
{
    const struct sand_shared_route *route;
    if (!w->shared || !(j->bytes > 0) || find_route(w, j, reading, &route) != SAND_OK || route->cut)
        return 0;
    const double alone_Bps = sand_streams_alone_Bps(&route->streams) * route->streams.n;
    const double said_Bps = sand_savetime_Bps(w->cluster, j->spec, reading);
    return alone_Bps < said_Bps ? j->bytes / alone_Bps - j->bytes / said_Bps : 0;
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
    const int stands = route->cut || route->found_ns > w->now_ns;
    const double stream_Bps = stands ? cut_Bps : demand_Bps / route->streams.n;
    const double alone_Bps = stands ? cut_Bps : sand_streams_alone_Bps(&route->streams);
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

static enum sand_rc add_transfers(struct sand_world *w, struct sand_world_job *j)
{
    if (j->flow != SAND_NONE)
        SAND_TRY(add_transfer(w, j, j->phase == SAND_PHASE_RESTORING, INFINITY));
    return data_Bps(j) > 0 ? add_transfer(w, j, 1, data_Bps(j)) : SAND_OK;
}

static int is_cut(const struct sand_world_job *j)
{
    return j->ailing && j->ailing->now && j->ailing->now->cut;
}

static enum sand_rc add_stepper(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_shared *s = w->shared;
    if (j->phase != SAND_PHASE_STEPPING || !sand_steptime_is_simulated(j) || is_cut(j))
        return SAND_OK;
    if (!w->coupling && s->n_transfers > 0)
        SAND_TRY(find_own_loads(w, j));
    SAND_TRY(sand_grow((void **)&s->steppers, &s->steppers_capacity, s->n_steppers + 1,
                       sizeof *s->steppers));
    struct shared_stepper *stepper = &s->steppers[s->n_steppers++];
    *stepper = (struct shared_stepper){.job = j};
    if (w->coupling) {
        stepper->loads = j->coupled.loads;
        stepper->n_loads = j->coupled.n_loads;
        stepper->serial = j->coupled.serial;
    } else if (s->n_transfers > 0) {
        stepper->loads = j->shared->own.loads;
        stepper->n_loads = j->shared->own.n_loads;
        stepper->serial = j->shared->own.mark.serial;
    }
    return SAND_OK;
}

static enum sand_rc collect(struct sand_world *w)
{
    w->shared->n_transfers = w->shared->n_steppers = 0;
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        if (j->nodes)
            SAND_TRY(add_transfers(w, j));
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        SAND_TRY(add_stepper(w, j));
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
            s->links[own->link].streams += own->streams;
        }
    for (size_t i = 0; i < s->n_steppers; i++)
        for (size_t l = 0; l < s->steppers[i].n_loads; l++) {
            const struct sand_link_load *own = &s->steppers[i].loads[l];
            SAND_TRY(touch(s, own->link, own->capacity_Bps));
            s->links[own->link].peak_Bps += own->peak_Bps;
            s->links[own->link].steps_Bps += own->mean_Bps;
            s->links[own->link].hops += own->hops;
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

// How much longer a job's traffic takes on a link at worst, as long as the transfers go on: by what
// each of its connections is sure to get. Max-min gives every one its even share, and steps
// together what transfers cannot take.
static double longer_by(const struct shared_link *link, const struct sand_link_load *own)
{
    const double capacity_Bps = own->capacity_Bps;
    const double without_Bps = fmin(own->peak_Bps / own->hops, capacity_Bps / link->hops);
    const double even_Bps = capacity_Bps / (link->hops + link->streams);
    const double left_Bps = (capacity_Bps - link->transfers_Bps) / link->hops;
    return fmax(0, without_Bps / fmax(even_Bps, left_Bps) - 1);
}

// What the job loses at worst on the links it shares with transfers, as a share of its step: with
// all its traffic there exposed, on the worst of them. *longer: how much longer that one takes.
static double worst_loss(const struct sand_shared *s, const struct shared_stepper *stepper,
                         double *longer)
{
    double most = 0;
    *longer = 0;
    for (size_t i = 0; i < stepper->n_loads; i++) {
        const struct sand_link_load *own = &stepper->loads[i];
        const struct shared_link *link = &s->links[own->link];
        if (!is_full(link) || !(link->streams > 0) || !(own->mean_Bps > 0))
            continue;
        const double by = longer_by(link, own);
        *longer = fmax(*longer, by);
        most = fmax(most, by * own->mean_Bps / own->peak_Bps);
    }
    return most;
}

// Links on which transfers may cost the job something: the worst, as far as there is room.
static enum sand_rc find_job_links(struct sand_shared *s, const struct shared_stepper *stepper)
{
    shared_question_begin(s);
    for (size_t i = 0; i < stepper->n_loads; i++) {
        const struct sand_link_load *own = &stepper->loads[i];
        const struct shared_link *link = &s->links[own->link];
        if (!is_full(link) || !(link->streams > 0) || !(own->mean_Bps > 0))
            continue;
        const double loss = longer_by(link, own) * own->mean_Bps / own->peak_Bps;
        if (loss >= least_loss)
            SAND_TRY(shared_question_link(s, own->link, loss));
    }
    shared_question_cut(s);
    return SAND_OK;
}

// Below mean_field_loss the mean field: exposed traffic takes longer by what the links have left.
static enum sand_rc find_loss(struct sand_world *w, const struct shared_stepper *stepper,
                              int64_t *more_ns)
{
    struct sand_world_job *j = stepper->job;
    const struct sand_step_profile *p = j->profile;
    double longer = 0, with_s = 0, without_s = 0;
    const double worst = worst_loss(w->shared, stepper, &longer);
    *more_ns = 0;
    if (worst < mean_field_loss) {
        const double exposed_s = p->exposed_dp_s + p->exposed_pp_s + p->exposed_cp_s;
        *more_ns = sand_ns_from_s(fmin(exposed_s * longer, worst * p->step_s));
        return SAND_OK;
    }
    SAND_TRY(find_job_links(w->shared, stepper));
    SAND_TRY(shared_question_ask(w, j, SAND_NONE, 0, &with_s, NULL));
    SAND_TRY(shared_question_ask(w, j, SAND_NONE, 1, &without_s, NULL));
    *more_ns = sand_ns_from_s(fmax(0, with_s - without_s));
    return SAND_OK;
}

static enum sand_rc rate_job(struct sand_world *w, const struct shared_stepper *stepper)
{
    int64_t more_ns;
    SAND_TRY(find_loss(w, stepper, &more_ns));
    if (more_ns == stepper->job->rate.by_ns[SAND_SLOW_TRANSFERS])
        return SAND_OK;
    return sand_life_slow(w, stepper->job, SAND_SLOW_TRANSFERS, more_ns);
}

// Of what a stream wants, what others may cost it on a link: steps for the share of time that they
// are there, other transfers always.
static double stream_loss(const struct shared_link *link, const struct sand_stream_link *own,
                          double want_Bps)
{
    const double others_Bps = link->transfers_Bps - own->streams * want_Bps;
    const double even_Bps = own->capacity_Bps / (link->hops + link->streams);
    const double steps = link->peak_Bps > link->transfers_Bps
                             ? link->steps_Bps / (link->peak_Bps - link->transfers_Bps)
                             : 0;
    const double present = others_Bps > least_loss * own->capacity_Bps ? 1 : steps;
    return is_full(link) ? present * fmax(0, 1 - even_Bps / want_Bps) : 0;
}

// Links on which others may cost the transfer something.
static enum sand_rc find_transfer_links(struct sand_shared *s, const struct shared_transfer *t)
{
    const double want_Bps = fmin(t->most_Bps, t->server_Bps);
    shared_question_begin(s);
    for (size_t i = 0; i < t->route->streams.n_links; i++) {
        const struct sand_stream_link *own = &t->route->streams.links[i];
        const double loss = stream_loss(&s->links[own->link], own, want_Bps);
        if (loss >= least_stream_loss)
            SAND_TRY(shared_question_link(s, own->link, loss));
    }
    shared_question_cut(s);
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
        SAND_TRY(rate_job(w, &s->steppers[i]));
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
