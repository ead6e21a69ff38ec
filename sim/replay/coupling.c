// Components of jobs on common links, and the rates that follow.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "coupling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "joint.h"
#include "mem.h"
#include "units.h"
#include "world.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) sand_calloc(1, size)
#define uthash_free(block, size) sand_free(block)
#define uthash_nonfatal_oom(entry) ((entry)->refused = 1)
#include <uthash.h>

// Less than this share of a step is not worth a question: the error that the phase average itself
// is allowed (see joint.h). A job that is on a link for a share u of its time, and finds others
// there for a share v, loses about u * v of its step.
static const double least_loss = 0.005;
// What a job loses with the others always at their peaks, times the share of the time that they
// are, is the most it can lose by chance: hidden traffic comes to light the more the longer it is
// held up. Where even that is below this share of the step, the mean field is the answer: traffic
// that is exposed already takes longer by what is taken from it for that share of the time (two
// jobs that compute, then send for a share s of their step, at half the rate while both do: s * s),
// and what compute hides stays hidden.
static const double mean_field_loss = 0.01;
// Jobs in one question. Of more neighbours, those who load its links least are there as their mean.
enum { MOST_JOBS = SAND_JOINT_JOBS };
// With the neighbours' neighbours no more than are played together, unless the former alone are.
enum { MOST_WIDE = SAND_JOINT_TOGETHER };

struct link_users {
    struct link_user {
        uint32_t slot, load; // of the job; place in its loads
    } * list;
    size_t n, capacity;
};

struct member {            // of a question
    uint32_t serial, slot; // of its loads; the job's
};

// What a job loses to others on given links. The key: the serial of its loads, those of the others,
// ascending, then the links, ascending, each with the 64ths of it that are taken by jobs that are
// not among them.
struct known_answer {
    int refused;
    UT_hash_handle hh;
    int64_t neighbours_ns;
    uint32_t key[];
};

struct sand_coupling {
    struct link_users *users; // per fabric link
    uint32_t n_links;
    uint32_t *queue; // slots of jobs that have to be asked anew
    size_t n_queue, queue_capacity;
    uint32_t *links;        // on which the present job can lose
    uint32_t *taken;        // of each, by others at worst: 64ths
    double *background_Bps; // the same in bytes per second
    double others_active;   // mean over peak of what others put on the links: the largest
    size_t n_links_now, links_capacity, taken_capacity, background_capacity;
    struct neighbour {
        uint32_t slot;
        int is_far;  // a neighbour's neighbour
        double load; // sum of its shares of the links
    } * near;        // far ones last
    size_t n_near, near_capacity;
    uint64_t search; // number of the present search
    uint32_t serials;
    struct known_answer *known;
    struct sand_coupling_counts counts;
    enum sand_rc rc; // of a note
};

enum sand_rc sand_coupling_open(struct sand_world *w)
{
    const struct sand_experiment *e = w->experiment;
    const int is_one = e->n_jobs < 2 && e->n_traces == 0 && e->n_mixes == 0;
    w->coupling = is_one ? NULL : sand_calloc(1, sizeof *w->coupling);
    return is_one || w->coupling ? SAND_OK : SAND_ERR_NOMEM;
}

void sand_coupling_close(struct sand_world *w)
{
    struct sand_coupling *c = w->coupling;
    if (!c)
        return;
    struct known_answer *entry, *next;
    HASH_ITER(hh, c->known, entry, next)
    {
        HASH_DELETE(hh, c->known, entry);
        sand_free(entry);
    }
    for (uint32_t l = 0; c->users && l < c->n_links; l++)
        sand_free(c->users[l].list);
    sand_free(c->users);
    sand_free(c->queue);
    sand_free(c->links);
    sand_free(c->taken);
    sand_free(c->background_Bps);
    sand_free(c->near);
    sand_free(c);
    w->coupling = NULL;
}

struct sand_coupling_counts sand_coupling_counts(const struct sand_world *w)
{
    return w->coupling ? w->coupling->counts : (struct sand_coupling_counts){0};
}

// ---- users of links -----------------------------------------------------------------------------

static enum sand_rc enqueue(struct sand_coupling *c, struct sand_world_job *j)
{
    if (j->coupled.queued)
        return SAND_OK;
    SAND_TRY(sand_grow((void **)&c->queue, &c->queue_capacity, c->n_queue + 1, sizeof *c->queue));
    c->queue[c->n_queue++] = j->slot;
    j->coupled.queued = 1;
    return SAND_OK;
}

// Everybody on its links is asked anew, and the job itself.
static enum sand_rc enqueue_near(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_coupling *c = w->coupling;
    for (uint32_t i = 0; i < j->coupled.n_loads; i++) {
        const struct link_users *users = &c->users[j->coupled.loads[i].link];
        for (size_t u = 0; u < users->n; u++)
            SAND_TRY(enqueue(c, w->slots[users->list[u].slot]));
    }
    return SAND_OK;
}

static enum sand_rc join_links(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_coupling *c = w->coupling;
    j->coupled.present = 1;
    for (uint32_t i = 0; i < j->coupled.n_loads; i++) {
        struct link_users *users = &c->users[j->coupled.loads[i].link];
        SAND_TRY(
            sand_grow((void **)&users->list, &users->capacity, users->n + 1, sizeof *users->list));
        users->list[users->n++] = (struct link_user){j->slot, i};
    }
    return enqueue_near(w, j);
}

static enum sand_rc leave_links(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_coupling *c = w->coupling;
    SAND_TRY(enqueue_near(w, j));
    j->coupled.present = 0;
    for (uint32_t i = 0; i < j->coupled.n_loads; i++) {
        struct link_users *users = &c->users[j->coupled.loads[i].link];
        size_t kept = 0;
        for (size_t u = 0; u < users->n; u++)
            if (users->list[u].slot != j->slot)
                users->list[kept++] = users->list[u];
        users->n = kept;
    }
    return SAND_OK;
}

enum sand_rc sand_coupling_place(struct sand_world *w, struct sand_world_job *j,
                                 struct sand_link_load *loads, size_t n_loads)
{
    struct sand_coupling *c = w->coupling;
    const int was_present = j->coupled.present;
    enum sand_rc rc = was_present ? leave_links(w, j) : SAND_OK;
    sand_free(j->coupled.loads);
    j->coupled.loads = loads;
    j->coupled.n_loads = n_loads;
    j->coupled.serial = c->serials++;
    if (!c->users) {
        c->n_links = w->fabric->n_links;
        c->users = sand_calloc(c->n_links, sizeof *c->users);
    }
    if (!c->users)
        rc = SAND_ERR_NOMEM;
    return rc == SAND_OK && was_present ? join_links(w, j) : rc;
}

// A job that stands still for a save stays present: it is back in a moment.
static enum sand_rc note(struct sand_world *w, struct sand_world_job *j)
{
    const int steps = j->phase == SAND_PHASE_STEPPING;
    const int present = steps || j->phase == SAND_PHASE_SAVING;
    const int changed = steps != j->coupled.steps;
    j->coupled.steps = steps;
    if (present != j->coupled.present)
        return present ? join_links(w, j) : leave_links(w, j);
    return present && changed ? enqueue_near(w, j) : SAND_OK;
}

void sand_coupling_note(struct sand_world *w, struct sand_world_job *j)
{
    if (j->coupled.n_loads == 0)
        return;
    const enum sand_rc rc = note(w, j);
    if (rc != SAND_OK)
        w->coupling->rc = rc;
}

// ---- who is near --------------------------------------------------------------------------------

static const struct sand_link_load *load_of(const struct sand_world *w,
                                            const struct link_user *user)
{
    return &w->slots[user->slot]->coupled.loads[user->load];
}

enum { TAKEN_PARTS = 64 };

struct others { // on a link
    double peak_Bps, mean_Bps;
};

static struct others others_on(const struct sand_world *w, const struct sand_link_load *own)
{
    const struct link_users *users = &w->coupling->users[own->link];
    struct others others = {-own->peak_Bps, -own->mean_Bps};
    for (size_t u = 0; u < users->n; u++) {
        others.peak_Bps += load_of(w, &users->list[u])->peak_Bps;
        others.mean_Bps += load_of(w, &users->list[u])->mean_Bps;
    }
    return others;
}

// About what it costs the user of `own`, as a share of its step.
static double share_of(const struct sand_link_load *own, const struct others *others)
{
    return own->mean_Bps * others->mean_Bps / (own->capacity_Bps * own->capacity_Bps);
}

// Whether the link can bind and cost the user of `own` anything worth asking for.
static int can_lose(const struct sand_link_load *own, const struct others *others)
{
    const double capacity_Bps = own->capacity_Bps;
    return own->peak_Bps + others->peak_Bps > capacity_Bps * (1 + 1e-9) &&
           share_of(own, others) >= least_loss;
}

// What the others leave a link without when all are at their peaks, in 64ths, rounded up but
// never all.
static uint32_t taken_of(const struct sand_link_load *own, const struct others *others)
{
    const double left = own->peak_Bps / (own->peak_Bps + others->peak_Bps);
    const uint32_t taken = (uint32_t)ceil(TAKEN_PARTS * (1 - left));
    return taken < TAKEN_PARTS ? taken : TAKEN_PARTS - 1;
}

static enum sand_rc add_neighbour(struct sand_coupling *c, struct sand_world_job *j, double load)
{
    if (j->coupled.seen == c->search) {
        for (size_t i = 0; i < c->n_near; i++)
            if (c->near[i].slot == j->slot)
                c->near[i].load += load;
        return SAND_OK;
    }
    j->coupled.seen = c->search;
    SAND_TRY(sand_grow((void **)&c->near, &c->near_capacity, c->n_near + 1, sizeof *c->near));
    c->near[c->n_near++] = (struct neighbour){j->slot, 0, load};
    return SAND_OK;
}

// Its place among the links, which ascend, or that before which it belongs.
static size_t place_of(const struct sand_coupling *c, uint32_t link)
{
    size_t at = c->n_links_now;
    while (at > 0 && c->links[at - 1] >= link)
        at--;
    return at;
}

static int is_among(const struct sand_coupling *c, uint32_t link)
{
    const size_t at = place_of(c, link);
    return at < c->n_links_now && c->links[at] == link;
}

static enum sand_rc add_link(struct sand_coupling *c, const struct sand_link_load *own,
                             uint32_t taken)
{
    const size_t n = c->n_links_now + 1;
    SAND_TRY(sand_grow((void **)&c->links, &c->links_capacity, n, sizeof *c->links));
    SAND_TRY(sand_grow((void **)&c->taken, &c->taken_capacity, n, sizeof *c->taken));
    SAND_TRY(sand_grow((void **)&c->background_Bps, &c->background_capacity, n,
                       sizeof *c->background_Bps));
    const size_t at = place_of(c, own->link), n_behind = c->n_links_now - at;
    memmove(c->links + at + 1, c->links + at, n_behind * sizeof *c->links);
    memmove(c->taken + at + 1, c->taken + at, n_behind * sizeof *c->taken);
    memmove(c->background_Bps + at + 1, c->background_Bps + at,
            n_behind * sizeof *c->background_Bps);
    c->links[at] = own->link;
    c->taken[at] = taken;
    c->background_Bps[at] = own->capacity_Bps * taken / TAKEN_PARTS;
    c->n_links_now = n;
    return SAND_OK;
}

// The links on which the job can lose, and everybody on them but itself.
static enum sand_rc find_near(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_coupling *c = w->coupling;
    c->search++;
    c->n_near = c->n_links_now = 0;
    c->others_active = 0;
    j->coupled.seen = c->search;
    for (size_t i = 0; i < j->coupled.n_loads; i++) {
        const struct sand_link_load *own = &j->coupled.loads[i];
        const struct link_users *users = &c->users[own->link];
        if (users->n < 2)
            continue;
        const struct others others = others_on(w, own);
        if (!can_lose(own, &others))
            continue;
        SAND_TRY(add_link(c, own, taken_of(own, &others)));
        c->others_active = fmax(c->others_active, others.mean_Bps / others.peak_Bps);
        for (size_t u = 0; u < users->n; u++)
            if (users->list[u].slot != j->slot)
                SAND_TRY(add_neighbour(c, w->slots[users->list[u].slot],
                                       load_of(w, &users->list[u])->mean_Bps / own->capacity_Bps));
    }
    return SAND_OK;
}

static enum sand_rc add_far(struct sand_world *w, const struct sand_link_load *on)
{
    struct sand_coupling *c = w->coupling;
    const struct link_users *users = &c->users[on->link];
    SAND_TRY(add_link(c, on, 0));
    for (size_t u = 0; u < users->n; u++) {
        struct sand_world_job *user = w->slots[users->list[u].slot];
        if (user->coupled.seen == c->search)
            continue;
        SAND_TRY(add_neighbour(c, user, load_of(w, &users->list[u])->mean_Bps / on->capacity_Bps));
        c->near[c->n_near - 1].is_far = 1;
    }
    return SAND_OK;
}

// To what was found for a job that loses a share of its step: the links on which its neighbours
// lose so much that it matters to that job, and everybody on them.
static enum sand_rc find_far(struct sand_world *w, double loss)
{
    struct sand_coupling *c = w->coupling;
    const size_t n_near = c->n_near;
    for (size_t i = 0; i < n_near; i++) {
        const struct sand_world_job *near = w->slots[c->near[i].slot];
        for (size_t k = 0; k < near->coupled.n_loads; k++) {
            const struct sand_link_load *own = &near->coupled.loads[k];
            if (c->users[own->link].n < 2)
                continue;
            const struct others others = others_on(w, own);
            if (can_lose(own, &others) &&
                loss * share_of(own, &others) >= SAND_JOINT_SECOND_ORDER && !is_among(c, own->link))
                SAND_TRY(add_far(w, own));
        }
    }
    return SAND_OK;
}

static int compare_neighbours(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    if (x->is_far != y->is_far)
        return x->is_far - y->is_far;
    if (x->load != y->load)
        return x->load > y->load ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

// What the neighbours from the n-th on put on the links in the mean is taken from the others.
static void take_means(struct sand_world *w, size_t n)
{
    struct sand_coupling *c = w->coupling;
    for (size_t l = 0; l < c->n_links_now; l++) {
        double mean_Bps = 0, capacity_Bps = 1;
        for (size_t i = n; i < c->n_near; i++) {
            const struct sand_world_job *other = w->slots[c->near[i].slot];
            for (size_t k = 0; k < other->coupled.n_loads; k++)
                if (other->coupled.loads[k].link == c->links[l]) {
                    mean_Bps += other->coupled.loads[k].mean_Bps;
                    capacity_Bps = other->coupled.loads[k].capacity_Bps;
                }
        }
        c->taken[l] = (uint32_t)fmin(TAKEN_PARTS - 1, ceil(TAKEN_PARTS * mean_Bps / capacity_Bps));
        c->background_Bps[l] = capacity_Bps * c->taken[l] / TAKEN_PARTS;
    }
}

static int compare_serials(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

// The job, and its neighbours in the order of their serials, so that the memo knows the same jobs
// again; taken from the links is what is not among the `most` of them. Returns how many.
static uint32_t choose_jobs(struct sand_world *w, const struct sand_world_job *j, size_t most,
                            struct member members[MOST_JOBS])
{
    struct sand_coupling *c = w->coupling;
    if (c->n_near > most - 1)
        qsort(c->near, c->n_near, sizeof *c->near, compare_neighbours);
    const uint32_t n_near = (uint32_t)(c->n_near < most - 1 ? c->n_near : most - 1);
    take_means(w, n_near);
    members[0] = (struct member){j->coupled.serial, j->slot};
    for (uint32_t i = 0; i < n_near; i++)
        members[i + 1] =
            (struct member){w->slots[c->near[i].slot]->coupled.serial, c->near[i].slot};
    qsort(members + 1, n_near, sizeof *members, compare_serials);
    return n_near + 1;
}

// ---- asking -------------------------------------------------------------------------------------

static enum sand_rc ask(struct sand_world *w, const struct member *members, uint32_t n,
                        int64_t *neighbours_ns)
{
    struct sand_coupling *c = w->coupling;
    struct sand_step_question steps[MOST_JOBS];
    struct sand_joint_solution solution;
    for (uint32_t i = 0; i < n; i++)
        steps[i] = sand_steptime_question(w, w->slots[members[i].slot]);
    const struct sand_joint_question question = {.steps = steps,
                                                 .n = n,
                                                 .links = c->links,
                                                 .n_links = c->n_links_now,
                                                 .background_Bps = c->background_Bps,
                                                 .asked = 1};
    SAND_TRY(sand_oracle_joint(w->oracle, &question, &solution, w->diag));
    const double more_s = solution.parts[0].step_s - w->slots[members[0].slot]->profile->step_s;
    *neighbours_ns = sand_ns_from_s(fmax(0, more_s));
    return SAND_OK;
}

static enum sand_rc new_answer(const struct sand_coupling *c, const struct member *members,
                               uint32_t n, struct known_answer **answer, unsigned *size)
{
    *size = (unsigned)((n + 2 * c->n_links_now) * sizeof *(*answer)->key);
    *answer = sand_calloc(1, sizeof **answer + *size);
    if (!*answer)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        (*answer)->key[i] = members[i].serial;
    for (size_t l = 0; l < c->n_links_now; l++) {
        (*answer)->key[n + 2 * l] = c->links[l];
        (*answer)->key[n + 2 * l + 1] = c->taken[l];
    }
    return SAND_OK;
}

// What the first of the jobs loses to the others on the present links, known or asked. One job:
// what it loses while the others take from it what they can at worst, all the time.
static enum sand_rc look_up(struct sand_world *w, const struct member *members, uint32_t n,
                            int64_t *neighbours_ns)
{
    struct sand_coupling *c = w->coupling;
    struct known_answer *answer = NULL, *known = NULL;
    unsigned size = 0;
    SAND_TRY(new_answer(c, members, n, &answer, &size));
    HASH_FIND(hh, c->known, answer->key, size, known);
    c->counts.questions += n > 1;
    if (known) {
        sand_free(answer);
        c->counts.known += n > 1;
        *neighbours_ns = known->neighbours_ns;
        return SAND_OK;
    }
    enum sand_rc rc = ask(w, members, n, &answer->neighbours_ns);
    *neighbours_ns = answer->neighbours_ns;
    if (rc == SAND_OK) {
        HASH_ADD(hh, c->known, key, size, answer);
        rc = answer->refused ? SAND_ERR_NOMEM : SAND_OK;
    }
    if (rc != SAND_OK)
        sand_free(answer);
    return rc;
}

static enum sand_rc set_neighbours(struct sand_world *w, struct sand_world_job *j, int64_t more_ns)
{
    struct sand_rate rate = j->rate;
    if (rate.by_ns[SAND_SLOW_NEIGHBOURS] == more_ns)
        return SAND_OK;
    rate.step_ns += more_ns - rate.by_ns[SAND_SLOW_NEIGHBOURS];
    rate.by_ns[SAND_SLOW_NEIGHBOURS] = more_ns;
    return sand_life_rate(w, j, &rate);
}

// Of the load that neighbours put on the job's links, what those put who step at this moment.
static double stepping_share(const struct sand_world *w)
{
    const struct sand_coupling *c = w->coupling;
    double all = 0, stepping = 0;
    for (size_t i = 0; i < c->n_near; i++) {
        all += c->near[i].load;
        stepping += w->slots[c->near[i].slot]->coupled.steps ? c->near[i].load : 0;
    }
    return stepping / all;
}

static double mean_field_ns(const struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_coupling *c = w->coupling;
    const struct sand_step_profile *p = j->profile;
    uint32_t taken = 0;
    for (size_t l = 0; l < c->n_links_now; l++)
        taken = c->taken[l] > taken ? c->taken[l] : taken;
    const double longer = (double)taken / (TAKEN_PARTS - taken);
    const double exposed_s = p->exposed_dp_s + p->exposed_pp_s + p->exposed_cp_s;
    return 1e9 * exposed_s * longer * c->others_active;
}

// What the job loses to everybody near, and where that and what these lose elsewhere make it worth
// asking, to those and their neighbours together.
static enum sand_rc ask_near(struct sand_world *w, const struct sand_world_job *j,
                             struct member members[MOST_JOBS], int64_t *neighbours_ns)
{
    struct sand_coupling *c = w->coupling;
    uint32_t n = choose_jobs(w, j, MOST_JOBS, members);
    SAND_TRY(look_up(w, members, n, neighbours_ns));
    const size_t n_links = c->n_links_now;
    SAND_TRY(find_far(w, (double)*neighbours_ns / (double)j->rate.healthy_ns));
    if (c->n_links_now > n_links) {
        n = choose_jobs(w, j, n > MOST_WIDE ? n : MOST_WIDE, members);
        SAND_TRY(look_up(w, members, n, neighbours_ns));
    }
    c->counts.largest = n > c->counts.largest ? n : c->counts.largest;
    return SAND_OK;
}

// What the job loses now: what it loses to all who are present, less the share of those who save.
static enum sand_rc find_loss(struct sand_world *w, struct sand_world_job *j, int64_t *more_ns)
{
    struct sand_coupling *c = w->coupling;
    struct member members[MOST_JOBS] = {{j->coupled.serial, j->slot}};
    int64_t neighbours_ns = 0;
    *more_ns = 0;
    SAND_TRY(find_near(w, j));
    if (c->n_near == 0)
        return SAND_OK;
    SAND_TRY(look_up(w, members, 1, &neighbours_ns));
    const double most_ns = (double)neighbours_ns * c->others_active;
    if (most_ns < mean_field_loss * (double)j->rate.healthy_ns) {
        const double lost_ns = fmin(mean_field_ns(w, j), most_ns);
        *more_ns = (int64_t)llround(lost_ns * stepping_share(w));
        return SAND_OK;
    }
    const double stepping = stepping_share(w);
    SAND_TRY(ask_near(w, j, members, &neighbours_ns));
    *more_ns = (int64_t)llround((double)neighbours_ns * stepping);
    return SAND_OK;
}

// Those on the links on which it can lose.
static enum sand_rc name_neighbours(struct sand_world *w, struct sand_world_job *j)
{
    for (size_t i = 0; i < j->coupled.n_loads; i++) {
        const struct sand_link_load *own = &j->coupled.loads[i];
        const struct link_users *users = &w->coupling->users[own->link];
        for (size_t u = 0; is_among(w->coupling, own->link) && u < users->n; u++)
            SAND_TRY(sand_neighbours_meet(j, w->slots[users->list[u].slot], own,
                                          load_of(w, &users->list[u])));
    }
    return SAND_OK;
}

// Jobs that no longer step have lost their neighbours with their links.
enum sand_rc sand_coupling_settle(struct sand_world *w)
{
    struct sand_coupling *c = w->coupling;
    if (!c)
        return SAND_OK;
    SAND_TRY(c->rc);
    for (size_t i = 0; i < c->n_queue; i++) {
        struct sand_world_job *j = w->slots[c->queue[i]];
        if (!j->coupled.queued)
            continue;
        j->coupled.queued = 0;
        if (!j->coupled.steps)
            continue;
        int64_t more_ns = 0;
        c->counts.changes++;
        SAND_TRY(sand_neighbours_credit(w, j));
        SAND_TRY(find_loss(w, j, &more_ns));
        if (more_ns > 0)
            SAND_TRY(name_neighbours(w, j));
        SAND_TRY(set_neighbours(w, j, more_ns));
    }
    c->n_queue = 0;
    return SAND_OK;
}
