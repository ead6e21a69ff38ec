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

// A job that is alone on a link for a share u of the time and meets others for a share v loses no
// more than about u * v of its step there; below this it is not worth a question. It is the error
// that the phase average itself is allowed (see joint.h).
static const double least_loss = 0.005;
// Components larger than this lose their weakest links: asking grows with their jobs.
enum { MOST_JOBS = 16 };

struct link_users {
    struct link_user {
        uint32_t slot, load; // of the job; place in its loads
    } * list;
    size_t n, capacity;
};

struct known_answer {
    uint32_t n; // serials, ascending
    int refused;
    UT_hash_handle hh;
    int64_t neighbours_ns[SAND_JOINT_JOBS];
    uint32_t serials[]; // the key
};

struct sand_coupling {
    struct link_users *users; // per fabric link
    uint32_t n_links;
    uint32_t *queue; // slots of jobs whose component has to be asked anew
    size_t n_queue, queue_capacity;
    uint32_t *component;
    size_t n_component, component_capacity;
    uint32_t *links; // that couple the component
    size_t n_coupling, links_capacity;
    uint64_t search; // number of the present search
    uint32_t serials;
    struct known_answer *known;
    struct sand_coupling_counts counts;
    enum sand_rc rc; // of a note
};

enum sand_rc sand_coupling_open(struct sand_world *w)
{
    if (w->experiment->n_jobs < 2 && !w->options->source)
        return SAND_OK;
    w->coupling = sand_calloc(1, sizeof *w->coupling);
    return w->coupling ? SAND_OK : SAND_ERR_NOMEM;
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
    sand_free(c->component);
    sand_free(c->links);
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

static enum sand_rc join_links(struct sand_coupling *c, struct sand_world_job *j)
{
    j->coupled.stepping = 1;
    for (uint32_t i = 0; i < j->coupled.n_loads; i++) {
        struct link_users *users = &c->users[j->coupled.loads[i].link];
        SAND_TRY(
            sand_grow((void **)&users->list, &users->capacity, users->n + 1, sizeof *users->list));
        users->list[users->n++] = (struct link_user){j->slot, i};
    }
    return enqueue(c, j);
}

// Who stays on its links is asked anew.
static enum sand_rc leave_links(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_coupling *c = w->coupling;
    j->coupled.stepping = 0;
    for (uint32_t i = 0; i < j->coupled.n_loads; i++) {
        struct link_users *users = &c->users[j->coupled.loads[i].link];
        size_t kept = 0;
        for (size_t u = 0; u < users->n; u++)
            if (users->list[u].slot != j->slot)
                users->list[kept++] = users->list[u];
        users->n = kept;
        for (size_t u = 0; u < kept; u++)
            SAND_TRY(enqueue(c, w->slots[users->list[u].slot]));
    }
    return SAND_OK;
}

enum sand_rc sand_coupling_place(struct sand_world *w, struct sand_world_job *j,
                                 struct sand_link_load *loads, size_t n_loads)
{
    struct sand_coupling *c = w->coupling;
    const int was_stepping = j->coupled.stepping;
    enum sand_rc rc = was_stepping ? leave_links(w, j) : SAND_OK;
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
    return rc == SAND_OK && was_stepping ? join_links(c, j) : rc;
}

void sand_coupling_note(struct sand_world *w, struct sand_world_job *j)
{
    const int steps = j->phase == SAND_PHASE_STEPPING;
    if (steps == j->coupled.stepping || j->coupled.n_loads == 0)
        return;
    const enum sand_rc rc = steps ? join_links(w->coupling, j) : leave_links(w, j);
    if (rc != SAND_OK)
        w->coupling->rc = rc;
}

// ---- components ---------------------------------------------------------------------------------

// How much of a step the link can cost the one it can cost most; 0 if it cannot bind.
static double link_loss(const struct sand_world *w, const struct link_users *users)
{
    double peak_Bps = 0, sum = 0, worst = 0, capacity_Bps = 0;
    for (size_t u = 0; u < users->n; u++) {
        const struct sand_link_load *load =
            &w->slots[users->list[u].slot]->coupled.loads[users->list[u].load];
        capacity_Bps = load->capacity_Bps;
        peak_Bps += load->peak_Bps;
        sum += load->mean_Bps / load->capacity_Bps;
    }
    if (users->n < 2 || peak_Bps <= capacity_Bps * (1 + 1e-9))
        return 0;
    for (size_t u = 0; u < users->n; u++) {
        const struct sand_link_load *load =
            &w->slots[users->list[u].slot]->coupled.loads[users->list[u].load];
        const double own = load->mean_Bps / load->capacity_Bps;
        worst = fmax(worst, own * (sum - own));
    }
    return worst;
}

static enum sand_rc add_to_component(struct sand_coupling *c, struct sand_world_job *j)
{
    if (j->coupled.seen == c->search)
        return SAND_OK;
    j->coupled.seen = c->search;
    SAND_TRY(sand_grow((void **)&c->component, &c->component_capacity, c->n_component + 1,
                       sizeof *c->component));
    c->component[c->n_component++] = j->slot;
    return SAND_OK;
}

static enum sand_rc add_link(struct sand_coupling *c, uint32_t link)
{
    SAND_TRY(
        sand_grow((void **)&c->links, &c->links_capacity, c->n_coupling + 1, sizeof *c->links));
    c->links[c->n_coupling++] = link;
    return SAND_OK;
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_unique(uint32_t *list, size_t *n)
{
    if (*n == 0)
        return;
    qsort(list, *n, sizeof *list, compare_u32);
    size_t kept = 1;
    for (size_t i = 1; i < *n; i++)
        if (list[i] != list[kept - 1])
            list[kept++] = list[i];
    *n = kept;
}

// All jobs reached from `first` over links that can cost at least `loss`, and those links.
static enum sand_rc find_component(struct sand_world *w, uint32_t first, double loss)
{
    struct sand_coupling *c = w->coupling;
    c->search++;
    c->n_component = c->n_coupling = 0;
    SAND_TRY(add_to_component(c, w->slots[first]));
    for (size_t next = 0; next < c->n_component; next++) {
        const struct sand_coupled *coupled = &w->slots[c->component[next]]->coupled;
        for (size_t i = 0; i < coupled->n_loads; i++) {
            const struct link_users *users = &c->users[coupled->loads[i].link];
            if (users->n < 2 || link_loss(w, users) < loss)
                continue;
            SAND_TRY(add_link(c, coupled->loads[i].link));
            for (size_t u = 0; u < users->n; u++)
                SAND_TRY(add_to_component(c, w->slots[users->list[u].slot]));
        }
    }
    sort_unique(c->links, &c->n_coupling);
    qsort(c->component, c->n_component, sizeof *c->component, compare_u32);
    return SAND_OK;
}

// ---- asking -------------------------------------------------------------------------------------

// Questions name the jobs in the order of their serials, so that the memo does too.
static uint32_t component_serials(const struct sand_world *w, uint32_t *serials, uint32_t *jobs)
{
    const struct sand_coupling *c = w->coupling;
    const uint32_t n = (uint32_t)c->n_component;
    for (uint32_t i = 0; i < n; i++)
        serials[i] = w->slots[c->component[i]]->coupled.serial;
    qsort(serials, n, sizeof *serials, compare_u32);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (w->slots[c->component[k]]->coupled.serial == serials[i])
                jobs[i] = c->component[k];
    return n;
}

static enum sand_rc ask(struct sand_world *w, const uint32_t *jobs, struct known_answer *answer)
{
    struct sand_coupling *c = w->coupling;
    struct sand_step_question steps[MOST_JOBS];
    struct sand_joint_solution solution;
    for (uint32_t i = 0; i < answer->n; i++)
        steps[i] = sand_steptime_question(w, w->slots[jobs[i]]);
    const struct sand_joint_question question = {
        .steps = steps, .n = answer->n, .links = c->links, .n_links = c->n_coupling};
    SAND_TRY(sand_oracle_joint(w->oracle, &question, &solution, w->diag));
    for (uint32_t i = 0; i < answer->n; i++) {
        const double more_s = solution.parts[i].step_s - w->slots[jobs[i]]->profile->step_s;
        answer->neighbours_ns[i] = sand_ns_from_s(fmax(0, more_s));
    }
    return SAND_OK;
}

// What the jobs of the component lose to each other, known or asked.
static enum sand_rc look_up(struct sand_world *w, const uint32_t *serials, uint32_t n,
                            const uint32_t *jobs, const struct known_answer **found)
{
    struct sand_coupling *c = w->coupling;
    struct known_answer *answer = NULL;
    const unsigned size = n * (unsigned)sizeof *serials;
    c->counts.questions++;
    HASH_FIND(hh, c->known, serials, size, answer);
    if (answer) {
        c->counts.known++;
        *found = answer;
        return SAND_OK;
    }
    answer = sand_calloc(1, sizeof *answer + size);
    if (!answer)
        return SAND_ERR_NOMEM;
    answer->n = n;
    memcpy(answer->serials, serials, size);
    enum sand_rc rc = ask(w, jobs, answer);
    if (rc == SAND_OK) {
        HASH_ADD(hh, c->known, serials, size, answer);
        rc = answer->refused ? SAND_ERR_NOMEM : SAND_OK;
    }
    if (rc != SAND_OK)
        sand_free(answer);
    *found = answer;
    return rc;
}

static enum sand_rc set_neighbours(struct sand_world *w, struct sand_world_job *j, int64_t more_ns)
{
    struct sand_rate rate = j->rate;
    j->coupled.queued = 0;
    if (rate.by_ns[SAND_SLOW_NEIGHBOURS] == more_ns)
        return SAND_OK;
    rate.step_ns += more_ns - rate.by_ns[SAND_SLOW_NEIGHBOURS];
    rate.by_ns[SAND_SLOW_NEIGHBOURS] = more_ns;
    return sand_life_rate(w, j, &rate);
}

static enum sand_rc settle_component(struct sand_world *w, uint32_t first)
{
    struct sand_coupling *c = w->coupling;
    uint32_t serials[MOST_JOBS], jobs[MOST_JOBS];
    const struct known_answer *answer = NULL;
    double loss = least_loss;
    c->counts.changes++;
    SAND_TRY(find_component(w, first, loss));
    while (c->n_component > MOST_JOBS) {
        c->counts.cut += loss == least_loss;
        loss *= 1.5;
        SAND_TRY(find_component(w, first, loss));
    }
    if (c->n_component > c->counts.largest)
        c->counts.largest = (uint32_t)c->n_component;
    if (c->n_component == 1)
        return set_neighbours(w, w->slots[first], 0);
    const uint32_t n = component_serials(w, serials, jobs);
    SAND_TRY(look_up(w, serials, n, jobs, &answer));
    for (uint32_t i = 0; i < n; i++)
        SAND_TRY(set_neighbours(w, w->slots[jobs[i]], answer->neighbours_ns[i]));
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
        if (j->coupled.stepping)
            SAND_TRY(settle_component(w, j->slot));
        j->coupled.queued = 0;
    }
    c->n_queue = 0;
    return SAND_OK;
}
