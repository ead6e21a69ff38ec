// The time lines of jobs on common links, and what a message meets there.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fluid.h"

#include <math.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

enum { PARTS = 8 }; // of a message: it meets the others at so many times

// ---- opening ------------------------------------------------------------------------------------

static const uint32_t *route_of(const struct step_run *run, uint32_t f, uint32_t *n)
{
    const struct step_flow *flow = &run->problem->flows[f];
    *n = flow->n_links;
    return run->route + flow->first_link;
}

// What the flow's own links let it have. `counts`: zeros, one per link of the engine.
static double own_rate_Bps(const struct joint *j, const struct step_run *run, uint32_t f,
                           uint32_t *counts)
{
    uint32_t n = 0;
    const uint32_t *route = route_of(run, f, &n);
    double rate_Bps = INFINITY;
    for (uint32_t i = 0; i < n; i++)
        counts[route[i]]++;
    for (uint32_t i = 0; i < n; i++)
        if (route[i] >= j->problem->n_links)
            rate_Bps = fmin(rate_Bps, j->link_Bps[route[i]] / counts[route[i]]);
    for (uint32_t i = 0; i < n; i++)
        counts[route[i]] = 0;
    return rate_Bps;
}

static void find_links(struct fluid *fluid, uint32_t i, uint32_t *counts)
{
    const struct step_run *run = &fluid->joint->bones[i];
    struct fluid_job *job = &fluid->jobs[i];
    for (uint32_t f = 0; f < run->problem->n_flows; f++) {
        uint32_t n = 0;
        const uint32_t *route = route_of(run, f, &n);
        if (!run->coupled[f])
            continue;
        job->rate_Bps = fmax(job->rate_Bps, own_rate_Bps(fluid->joint, run, f, counts));
        for (uint32_t k = 0; k < n; k++) {
            if (route[k] >= fluid->n_links || job->place[route[k]] != SAND_NONE)
                continue;
            job->place[route[k]] = job->n_links;
            job->links[job->n_links++] = route[k];
        }
    }
}

static enum sand_rc open_links(struct fluid *fluid, struct fluid_job *job)
{
    job->links = sand_calloc(fluid->n_links, sizeof *job->links);
    job->place = sand_calloc(fluid->n_links, sizeof *job->place);
    job->without_s = sand_calloc(fluid->n_all, sizeof *job->without_s);
    job->seen = sand_calloc(fluid->n, sizeof *job->seen);
    if (!job->links || !job->place || !job->without_s || !job->seen)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < fluid->n_links; l++)
        job->place[l] = SAND_NONE;
    for (uint32_t k = 0; k < fluid->n; k++)
        job->seen[k] = 1;
    return SAND_OK;
}

static enum sand_rc open_bins(struct fluid_job *job, uint32_t n_bins)
{
    job->n_bins = n_bins;
    job->rest = sand_calloc(job->n_links, sizeof *job->rest);
    job->flow = sand_calloc(job->n_links, sizeof *job->flow);
    job->on = sand_calloc((size_t)n_bins * job->n_links, sizeof *job->on);
    job->busy = sand_calloc(n_bins, sizeof *job->busy);
    return job->rest && job->flow && job->on && job->busy ? SAND_OK : SAND_ERR_NOMEM;
}

static enum sand_rc open_job(struct fluid *fluid, uint32_t i, uint32_t *counts)
{
    struct fluid_job *job = &fluid->jobs[i];
    job->length_s = 1; // until it is played
    SAND_TRY(open_links(fluid, job));
    find_links(fluid, i, counts);
    return open_bins(job, FLUID_BINS);
}

static enum sand_rc open_transfer(struct fluid *fluid, uint32_t t)
{
    const struct sand_joint_problem *p = fluid->joint->problem;
    const struct joint_transfer *transfer = &p->transfers[t];
    struct fluid_job *job = &fluid->jobs[fluid->n + t];
    job->length_s = 1;
    job->rate_Bps = transfer->stream_Bps;
    SAND_TRY(open_links(fluid, job));
    for (uint32_t u = transfer->first; u < transfer->first + transfer->n; u++) {
        job->place[p->uses[u].link] = job->n_links;
        job->links[job->n_links++] = p->uses[u].link;
    }
    SAND_TRY(open_bins(job, 1));
    for (uint32_t l = 0; l < job->n_links; l++)
        job->on[l] = p->uses[transfer->first + l].streams;
    job->busy[0] = 1;
    return SAND_OK;
}

enum sand_rc fluid_open(struct fluid *fluid, struct joint *joint)
{
    const struct sand_joint_problem *p = joint->problem;
    size_t most_flows = 0;
    *fluid = (struct fluid){.joint = joint,
                            .n = p->n,
                            .n_all = p->n + (uint32_t)p->n_transfers,
                            .n_links = (uint32_t)p->n_links};
    for (uint32_t i = 0; i < p->n; i++)
        most_flows = p->parts[i]->n_flows > most_flows ? p->parts[i]->n_flows : most_flows;
    fluid->jobs = sand_calloc(fluid->n_all, sizeof *fluid->jobs);
    fluid->parties = sand_calloc(fluid->n_all + 2, sizeof *fluid->parties);
    fluid->met = sand_calloc(fluid->n_all, sizeof *fluid->met);
    fluid->is_met = sand_calloc(fluid->n_all, sizeof *fluid->is_met);
    fluid->left_Bps = sand_calloc(p->n_links, sizeof *fluid->left_Bps);
    fluid->sharing = sand_calloc(p->n_links, sizeof *fluid->sharing);
    fluid->tolls = sand_calloc(most_flows * fluid->n_all, sizeof *fluid->tolls);
    fluid->under_way = sand_calloc(most_flows, sizeof *fluid->under_way);
    uint32_t *counts = sand_calloc(joint->n_links, sizeof *counts);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (fluid->jobs && fluid->parties && fluid->met && fluid->is_met && fluid->left_Bps &&
        fluid->sharing && fluid->tolls && fluid->under_way && counts)
        rc = SAND_OK;
    for (uint32_t i = 0; rc == SAND_OK && i < p->n; i++)
        rc = open_job(fluid, i, counts);
    for (uint32_t t = 0; rc == SAND_OK && t < p->n_transfers; t++)
        rc = open_transfer(fluid, t);
    sand_free(counts);
    return rc;
}

void fluid_close(struct fluid *fluid)
{
    for (uint32_t i = 0; fluid->jobs && i < fluid->n_all; i++) {
        sand_free(fluid->jobs[i].links);
        sand_free(fluid->jobs[i].place);
        sand_free(fluid->jobs[i].without_s);
        sand_free(fluid->jobs[i].seen);
        sand_free(fluid->jobs[i].busy);
        sand_free(fluid->jobs[i].rest);
        sand_free(fluid->jobs[i].flow);
        sand_free(fluid->jobs[i].on);
    }
    sand_free(fluid->jobs);
    sand_free(fluid->parties);
    sand_free(fluid->met);
    sand_free(fluid->is_met);
    sand_free(fluid->left_Bps);
    sand_free(fluid->sharing);
    sand_free(fluid->tolls);
    sand_free(fluid->under_way);
    sand_free(fluid->spans);
}

// ---- sharing ------------------------------------------------------------------------------------

static size_t bin_at(const struct fluid_job *job, double turn)
{
    return (size_t)(job->n_bins * (turn - floor(turn))) % job->n_bins;
}

// What is on its way in a job's time line at a turn of it; NULL: nothing.
static const double *on_at(const struct fluid_job *job, double turn)
{
    const size_t bin = bin_at(job, turn);
    return job->busy[bin] ? job->on + bin * job->n_links : NULL;
}

static uint32_t add_party(struct fluid *fluid, uint32_t n, uint32_t k, const double *on)
{
    const struct fluid_job *job = &fluid->jobs[k];
    if (on != NULL)
        fluid->parties[n++] =
            (struct fluid_party){.job = job, .on = on, .most_Bps = job->rate_Bps, .number = k};
    return n;
}

// Whether this message meets job k at all: so many of them do, spread evenly (by multiples of the
// golden ratio).
static int is_seen(const struct fluid *fluid, uint32_t k)
{
    const double turn = 0.6180339887498949 * (fluid->messages + 0.5) + 0.7548776662466927 * k;
    return turn - floor(turn) < fluid->jobs[k].seen[fluid->played];
}

// A message sets out: which jobs it meets.
static void meet(struct fluid *fluid)
{
    for (uint32_t k = 0; k < fluid->n_all; k++) {
        fluid->is_met[k] = k != fluid->played && is_seen(fluid, k);
        fluid->met[k] = NULL;
    }
}

// What every other job that a message meets has on its links at that time, less by how much its
// clock is behind. Whether anything of that is not as it was when this was asked last.
static int look_around(struct fluid *fluid, const struct fluid_toll *tolls, double at_s)
{
    int is_new = 0;
    for (uint32_t k = 0; k < fluid->n_all; k++) {
        const struct fluid_job *job = &fluid->jobs[k];
        if (!fluid->is_met[k])
            continue;
        const double turn =
            (job->begin_s + at_s - job->behind_s - tolls[k].behind_s) / job->length_s;
        const double *on = on_at(job, turn);
        is_new |= on != fluid->met[k];
        fluid->met[k] = on;
    }
    return is_new;
}

// The flow that sets out, the rest of its job, and the others that are there.
static uint32_t gather(struct fluid *fluid)
{
    const struct fluid_job *own = &fluid->jobs[fluid->played];
    uint32_t n = 2;
    fluid->parties[0] =
        (struct fluid_party){.job = own, .on = own->flow, .most_Bps = own->rate_Bps};
    fluid->parties[1] = fluid->parties[0];
    fluid->parties[1].on = own->rest;
    for (uint32_t k = 0; k < fluid->n_all; k++)
        n = add_party(fluid, n, k, fluid->met[k]);
    return n;
}

static void load_links(struct fluid *fluid, uint32_t first, uint32_t n)
{
    for (uint32_t l = 0; l < fluid->n_links; l++) {
        fluid->left_Bps[l] = fluid->joint->link_Bps[l];
        fluid->sharing[l] = 0;
    }
    for (uint32_t p = first; p < n; p++) {
        struct fluid_party *party = &fluid->parties[p];
        party->fixed = 0;
        for (uint32_t l = 0; l < party->job->n_links; l++)
            fluid->sharing[party->job->links[l]] += party->on[l];
    }
}

static void fix(struct fluid *fluid, struct fluid_party *party, double rate_Bps)
{
    party->fixed = 1;
    party->rate_Bps = rate_Bps;
    for (uint32_t l = 0; l < party->job->n_links; l++) {
        const double on = party->on[l];
        fluid->sharing[party->job->links[l]] -= on;
        fluid->left_Bps[party->job->links[l]] -= on * rate_Bps;
    }
}

static double on_link(const struct fluid_party *party, uint32_t link)
{
    const uint32_t place = party->job->place[link];
    return place == SAND_NONE ? 0 : party->on[place];
}

// The link that is full first, and the rate at which it is; SAND_NONE, INFINITY.
static uint32_t fullest(const struct fluid *fluid, double *rate_Bps)
{
    uint32_t link = SAND_NONE;
    *rate_Bps = INFINITY;
    for (uint32_t l = 0; l < fluid->n_links; l++)
        if (fluid->sharing[l] > 1e-9 && fluid->left_Bps[l] < *rate_Bps * fluid->sharing[l]) {
            *rate_Bps = fmax(0, fluid->left_Bps[l] / fluid->sharing[l]);
            link = l;
        }
    return link;
}

static struct fluid_party *slowest(const struct fluid *fluid, uint32_t first, uint32_t n)
{
    struct fluid_party *least = NULL;
    for (uint32_t p = first; p < n; p++)
        if (!fluid->parties[p].fixed &&
            (least == NULL || fluid->parties[p].most_Bps < least->most_Bps))
            least = &fluid->parties[p];
    return least;
}

// Max-min sharing among some of the parties, by filling. *held_by: the link that holds the first
// of all.
static void fill(struct fluid *fluid, uint32_t first, uint32_t n, uint32_t *held_by)
{
    struct fluid_party *least;
    load_links(fluid, first, n);
    while ((least = slowest(fluid, first, n)) != NULL) {
        double rate_Bps = 0;
        const uint32_t link = fullest(fluid, &rate_Bps);
        if (least->most_Bps <= rate_Bps) {
            fix(fluid, least, least->most_Bps);
            continue;
        }
        if (first == 0 && on_link(&fluid->parties[0], link) > 0 && !fluid->parties[0].fixed)
            *held_by = link;
        for (uint32_t p = first; p < n; p++)
            if (!fluid->parties[p].fixed && on_link(&fluid->parties[p], link) > 0)
                fix(fluid, &fluid->parties[p], rate_Bps);
        fluid->sharing[link] = 0;
    }
}

double fluid_stream_Bps(struct fluid *fluid, uint32_t transfer, const double *shares)
{
    uint32_t n = add_party(fluid, 0, fluid->n + transfer, fluid->jobs[fluid->n + transfer].on);
    uint32_t held_by = SAND_NONE;
    for (uint32_t k = 0; k < fluid->n_all; k++)
        if (k != fluid->n + transfer)
            n = add_party(fluid, n, k, on_at(&fluid->jobs[k], k < fluid->n ? shares[k] : 0));
    fill(fluid, 0, n, &held_by);
    return fluid->parties[0].rate_Bps;
}

static void weigh(const struct fluid *fluid, uint32_t f, double *on)
{
    const struct fluid_job *job = &fluid->jobs[fluid->played];
    uint32_t n = 0;
    const uint32_t *route = route_of(&fluid->joint->bones[fluid->played], f, &n);
    for (uint32_t i = 0; i < n; i++)
        if (route[i] < fluid->n_links)
            on[job->place[route[i]]]++;
}

// The job's other flows that will still be on their way then. Returns how many.
static uint32_t weigh_rest(struct fluid *fluid, uint32_t f, int64_t then)
{
    struct fluid_job *job = &fluid->jobs[fluid->played];
    uint32_t n = 0;
    memset(job->rest, 0, job->n_links * sizeof *job->rest);
    for (uint32_t i = 0; i < fluid->n_under_way; i++)
        if (fluid->under_way[i].flow != f && fluid->under_way[i].until > then) {
            weigh(fluid, fluid->under_way[i].flow, job->rest);
            n++;
        }
    return n;
}

struct part {                    // of a message: what it meets
    uint32_t n, n_rest, held_by; // parties; other flows of the job; the link that holds it
    double alone_Bps, longer;    // with the others away; so many times as long with them
};

// A part of a message sets out.
static void share(struct fluid *fluid, struct part *part)
{
    part->held_by = SAND_NONE;
    part->longer = 1;
    part->n = gather(fluid);
    fill(fluid, 0, 2, &part->held_by);
    part->alone_Bps = fluid->parties[0].rate_Bps;
    if (part->n == 2)
        return;
    fill(fluid, 2, part->n, &part->held_by);
    for (uint32_t p = 2; p < part->n; p++)
        fluid->parties[p].apart_Bps = fluid->parties[p].rate_Bps;
    part->held_by = SAND_NONE;
    fill(fluid, 0, part->n, &part->held_by);
    part->longer = fmax(1, part->alone_Bps / fluid->parties[0].rate_Bps);
}

// What another job loses while a part of a message is on its way, and what that part loses to it.
static void blame(struct fluid *fluid, const struct fluid_party *party, uint32_t held_by,
                  double part_s, double longer, struct fluid_toll *toll)
{
    toll->behind_s += longer * part_s * fmax(0, 1 - party->rate_Bps / party->apart_Bps);
    if (held_by != SAND_NONE)
        toll->without_s +=
            part_s * fmin(longer - 1, longer * on_link(party, held_by) * party->rate_Bps /
                                          fluid->joint->link_Bps[held_by]);
}

// Part by part, a message takes as long as what is there at that time lets it. While another job
// waits for this one as well, its clock stands still by what that costs it: so both meet each other
// for as long as they would. Returns how many times as long it takes as with the others away.
static double expect(struct fluid *fluid, struct fluid_under_way *u)
{
    const struct run_engine *engine = &fluid->joint->engine;
    const struct step_run *run = &fluid->joint->bones[fluid->played];
    struct fluid_job *job = &fluid->jobs[fluid->played];
    struct fluid_toll *tolls = fluid->tolls + (size_t)u->flow * fluid->n_all;
    const double since_s = run_seconds(engine->now - run->step_begun);
    struct part part = {0};
    u->took_s = u->alone_s = 0;
    fluid->messages++;
    memset(tolls, 0, fluid->n_all * sizeof *tolls);
    memset(job->flow, 0, job->n_links * sizeof *job->flow);
    weigh(fluid, u->flow, job->flow);
    meet(fluid);
    for (uint32_t k = 0; k < PARTS; k++) {
        const uint32_t n_rest = weigh_rest(fluid, u->flow, engine->now + run_ticks(u->took_s));
        // What it meets is often what the part before it met.
        if (look_around(fluid, tolls, since_s + u->took_s) || k == 0 || n_rest != part.n_rest)
            share(fluid, &part);
        part.n_rest = n_rest;
        const double part_s = u->bytes / PARTS / part.alone_Bps;
        u->alone_s += part_s;
        u->took_s += part.longer * part_s;
        for (uint32_t p = 2; p < part.n; p++)
            blame(fluid, &fluid->parties[p], part.held_by, part_s, part.longer,
                  &tolls[fluid->parties[p].number]);
    }
    u->until = engine->now + run_ticks(u->took_s);
    return u->alone_s > 0 ? u->took_s / u->alone_s : 1;
}

// A share of what was expected of a flow has come about.
static void book(struct fluid *fluid, const struct fluid_under_way *u, double done)
{
    struct fluid_job *job = &fluid->jobs[fluid->played];
    const struct fluid_toll *tolls = fluid->tolls + (size_t)u->flow * fluid->n_all;
    job->undisturbed_s += done * u->alone_s;
    job->on_s += done * u->took_s;
    for (uint32_t k = 0; k < fluid->n_all; k++) {
        fluid->jobs[k].behind_s += done * tolls[k].behind_s;
        job->without_s[k] += done * tolls[k].without_s;
    }
}

static int share_links(const struct step_run *run, uint32_t f, uint32_t g, uint32_t n_links)
{
    uint32_t n_f = 0, n_g = 0;
    const uint32_t *of_f = route_of(run, f, &n_f), *of_g = route_of(run, g, &n_g);
    for (uint32_t i = 0; i < n_f; i++)
        for (uint32_t k = 0; of_f[i] < n_links && k < n_g; k++)
            if (of_f[i] == of_g[k])
                return 1;
    return 0;
}

// A flow of the job that set out before did not know that another would come. What is left of it
// sets out anew.
static enum sand_rc expect_again(struct fluid *fluid, struct step_run *run,
                                 struct fluid_under_way *u)
{
    const double left = run_flow_left_B(run, u->flow) / u->sent_B;
    if (!(left > 0))
        return SAND_OK;
    book(fluid, u, 1 - left);
    u->bytes *= left;
    u->sent_B = u->bytes * expect(fluid, u);
    return run_flow_replace(run, u->flow, u->sent_B);
}

enum sand_rc fluid_set_out(void *self, struct step_run *run, uint32_t f, double *bytes)
{
    struct fluid *fluid = self;
    const int64_t now = run->engine->now;
    struct fluid_under_way *u = &fluid->under_way[fluid->n_under_way++];
    *u = (struct fluid_under_way){.flow = f, .from = now, .until = now, .bytes = *bytes};
    *bytes = u->sent_B = u->bytes * expect(fluid, u);
    uint32_t n_met = 0;
    for (uint32_t i = 0; i + 1 < fluid->n_under_way; i++)
        if (share_links(run, f, fluid->under_way[i].flow, fluid->n_links)) {
            SAND_TRY(expect_again(fluid, run, &fluid->under_way[i]));
            n_met++;
        }
    if (n_met > 0)
        *bytes = u->sent_B = u->bytes * expect(fluid, u);
    return SAND_OK;
}

enum sand_rc fluid_set_out_alone(void *self, struct step_run *run, uint32_t f, double *bytes)
{
    struct fluid *fluid = self;
    const int64_t now = run->engine->now;
    (void)bytes;
    memset(fluid->tolls + (size_t)f * fluid->n_all, 0, fluid->n_all * sizeof *fluid->tolls);
    fluid->under_way[fluid->n_under_way++] =
        (struct fluid_under_way){.flow = f, .from = now, .until = now};
    return SAND_OK;
}

enum sand_rc fluid_through(void *self, struct step_run *run, uint32_t f)
{
    struct fluid *fluid = self;
    uint32_t i = 0;
    while (fluid->under_way[i].flow != f)
        i++;
    book(fluid, &fluid->under_way[i], 1);
    SAND_TRY(sand_grow((void **)&fluid->spans, &fluid->spans_capacity, fluid->n_spans + 1,
                       sizeof *fluid->spans));
    fluid->spans[fluid->n_spans++] =
        (struct fluid_span){fluid->under_way[i].from, run->engine->now, f};
    for (fluid->n_under_way--; i < fluid->n_under_way; i++)
        fluid->under_way[i] = fluid->under_way[i + 1];
    return SAND_OK;
}

// ---- time lines ---------------------------------------------------------------------------------

void fluid_begin(struct fluid *fluid, uint32_t i)
{
    struct fluid_job *job = &fluid->jobs[i];
    fluid->played = i;
    fluid->n_spans = 0;
    job->on_s = job->undisturbed_s = 0;
    fluid->n_under_way = 0;
    memset(job->without_s, 0, fluid->n_all * sizeof *job->without_s);
}

void fluid_take_away(struct fluid *fluid, uint32_t i)
{
    struct fluid_job *job = &fluid->jobs[i];
    memset(job->busy, 0, FLUID_BINS * sizeof *job->busy);
    memset(job->on, 0, (size_t)FLUID_BINS * job->n_links * sizeof *job->on);
}

static void add_span(struct fluid *fluid, const struct fluid_span *span, int64_t from,
                     double bin_ticks)
{
    struct fluid_job *job = &fluid->jobs[fluid->played];
    const double begin = ceil((double)(span->from - from) / bin_ticks - 0.5);
    const double end = fmin(FLUID_BINS, ceil((double)(span->to - from) / bin_ticks - 0.5));
    memset(job->flow, 0, job->n_links * sizeof *job->flow);
    weigh(fluid, span->flow, job->flow);
    for (size_t bin = (size_t)begin; (double)bin < end; bin++) {
        job->busy[bin] = 1;
        for (uint32_t l = 0; l < job->n_links; l++)
            job->on[bin * job->n_links + l] += job->flow[l];
    }
}

// Were job k away, this one would be on its links for less time and, by what of that is exposed,
// come back sooner.
static double seen_by(const struct fluid_job *job, uint32_t k, double more_s)
{
    const double longer_s = job->on_s - job->undisturbed_s;
    const double exposed = longer_s > 0 ? fmin(1, fmax(0, more_s / longer_s)) : 0;
    if (!(job->on_s > 0))
        return 1;
    return (1 - job->without_s[k] / job->on_s) * job->length_s /
           (job->length_s - exposed * job->without_s[k]);
}

void fluid_end(struct fluid *fluid, int64_t from, uint32_t n_steps)
{
    struct fluid_job *job = &fluid->jobs[fluid->played];
    const int64_t ticks = fluid->joint->engine.now - from;
    job->length_s = run_seconds(ticks);
    fluid_take_away(fluid, fluid->played);
    for (size_t s = 0; s < fluid->n_spans; s++)
        add_span(fluid, &fluid->spans[s], from, (double)ticks / FLUID_BINS);
    const double alone_s = fluid->joint->skeletons[fluid->played].alone_s;
    for (uint32_t k = 0; k < fluid->n; k++)
        job->seen[k] = seen_by(job, k, job->length_s - n_steps * alone_s);
}
