// Who is in a question, what is known of it, and asking the oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharedask.h"

#include <stdlib.h>
#include <string.h>

#include "joint.h"
#include "mem.h"
#include "world.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) sand_calloc(1, size)
#define uthash_free(block, size) sand_free(block)
#define uthash_nonfatal_oom(entry) ((entry)->refused = 1)
#include <uthash.h>

// Who loads none of a question's links by more than this share is not worth a place in it: the
// error that a phase average itself is allowed (see joint.h).
static const double least_load = 0.005;
// Start offsets of the jobs: a save's time need not be known to the half percent of a step's, and
// what steps lose is the difference of two answers from the same offsets.
enum { N_OFFSETS = 8 };

struct shared_answer {
    UT_hash_handle hh;
    int refused;
    double step_s[SHARED_MOST_JOBS], stream_Bps[SHARED_MOST_TRANSFERS];
    uint64_t key[];
};

// ---- the links ----------------------------------------------------------------------------------

void shared_question_begin(struct sand_shared *s)
{
    s->question++;
    s->n_chosen = s->n_asked = 0;
}

enum sand_rc shared_question_link(struct sand_shared *s, uint32_t link, double weight)
{
    SAND_TRY(
        sand_grow((void **)&s->chosen, &s->chosen_capacity, s->n_chosen + 1, sizeof *s->chosen));
    s->chosen[s->n_chosen++] = (struct shared_choice){link, weight};
    return SAND_OK;
}

static int compare_weights(const void *a, const void *b)
{
    const struct shared_choice *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->link > y->link) - (x->link < y->link);
}

static int compare_links(const void *a, const void *b)
{
    const struct shared_choice *x = a, *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

void shared_question_cut(struct sand_shared *s)
{
    if (s->n_chosen > SHARED_MOST_LINKS) {
        qsort(s->chosen, s->n_chosen, sizeof *s->chosen, compare_weights);
        s->n_chosen = SHARED_MOST_LINKS;
        qsort(s->chosen, s->n_chosen, sizeof *s->chosen, compare_links);
    }
    for (size_t i = 0; i < s->n_chosen; i++) {
        s->asked[s->n_asked++] = s->chosen[i].link;
        s->links[s->chosen[i].link].chosen = s->question;
    }
}

static int is_chosen(const struct sand_shared *s, uint32_t link)
{
    return s->links[link].chosen == s->question;
}

// ---- who is on them -----------------------------------------------------------------------------

struct member {
    uint32_t index; // among the steppers, or the transfers
    double load;    // sum of its shares of the links; infinite: it has to be there
};

static int compare_loads(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->load != y->load)
        return x->load > y->load ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int compare_indices(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

// Keeps the `most` who load the links most, in the order in which they stand.
static uint32_t choose(struct member *members, uint32_t n, uint32_t most)
{
    if (n > most) {
        qsort(members, n, sizeof *members, compare_loads);
        n = most;
    }
    if (n > 0)
        qsort(members, n, sizeof *members, compare_indices);
    return n;
}

static double load_of_job(const struct sand_shared *s, const struct shared_stepper *stepper)
{
    double load = 0;
    for (size_t i = 0; i < stepper->n_loads; i++) {
        const struct sand_link_load *own = &stepper->loads[i];
        const double share = own->mean_Bps / own->capacity_Bps;
        if (is_chosen(s, own->link) && share >= least_load)
            load += share;
    }
    return load;
}

static double load_of_transfer(const struct sand_shared *s, const struct shared_transfer *t)
{
    double load = 0;
    for (size_t i = 0; i < t->route->streams.n_links; i++) {
        const struct sand_stream_link *own = &t->route->streams.links[i];
        const double share = own->streams * t->most_Bps / own->capacity_Bps;
        if (is_chosen(s, own->link) && share >= least_load)
            load += share;
    }
    return load;
}

struct members {
    uint32_t jobs[SHARED_MOST_JOBS], transfers[SHARED_MOST_TRANSFERS];
    uint32_t n_jobs, n_transfers;
};

static enum sand_rc find_jobs(struct sand_shared *s, const struct sand_world_job *job,
                              struct members *found)
{
    struct member *members = sand_calloc(s->n_steppers, sizeof *members);
    uint32_t n = 0;
    if (!members)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < s->n_steppers; i++) {
        const double load = s->steppers[i].job == job ? 1e300 : load_of_job(s, &s->steppers[i]);
        if (load > 0)
            members[n++] = (struct member){i, load};
    }
    found->n_jobs = choose(members, n, SHARED_MOST_JOBS);
    s->n_cut += found->n_jobs < n;
    for (uint32_t i = 0; i < found->n_jobs; i++)
        found->jobs[i] = members[i].index;
    sand_free(members);
    return SAND_OK;
}

static enum sand_rc find_transfers(struct sand_shared *s, uint32_t transfer, struct members *found)
{
    struct member *members = sand_calloc(s->n_transfers, sizeof *members);
    uint32_t n = 0;
    if (!members)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < s->n_transfers; i++) {
        const double load = i == transfer ? 1e300 : load_of_transfer(s, &s->transfers[i]);
        if (load > 0)
            members[n++] = (struct member){i, load};
    }
    found->n_transfers = choose(members, n, SHARED_MOST_TRANSFERS);
    s->n_cut += found->n_transfers < n;
    for (uint32_t i = 0; i < found->n_transfers; i++)
        found->transfers[i] = members[i].index;
    sand_free(members);
    return SAND_OK;
}

// ---- asking -------------------------------------------------------------------------------------

// The most a stream gets from all that the question does not look at.
static double bound_Bps(const struct sand_shared *s, const struct shared_transfer *t)
{
    double Bps = t->most_Bps < t->server_Bps ? t->most_Bps : t->server_Bps;
    for (size_t i = 0; i < t->route->streams.n_links; i++) {
        const struct sand_stream_link *own = &t->route->streams.links[i];
        const double share_Bps = own->capacity_Bps / own->streams;
        if (!is_chosen(s, own->link) && share_Bps < Bps)
            Bps = share_Bps;
    }
    return Bps;
}

static enum sand_rc ask(struct sand_world *w, const struct members *m, struct shared_answer *answer)
{
    const struct sand_shared *s = w->shared;
    struct sand_step_question steps[SHARED_MOST_JOBS];
    struct sand_joint_transfer transfers[SHARED_MOST_TRANSFERS];
    struct sand_joint_solution solution;
    for (uint32_t i = 0; i < m->n_jobs; i++)
        steps[i] = sand_steptime_question(w, s->steppers[m->jobs[i]].job);
    for (uint32_t i = 0; i < m->n_transfers; i++) {
        const struct shared_transfer *t = &s->transfers[m->transfers[i]];
        transfers[i] = (struct sand_joint_transfer){t->route->streams.links,
                                                    t->route->streams.n_links, bound_Bps(s, t)};
    }
    const struct sand_joint_question question = {.steps = steps,
                                                 .n = m->n_jobs,
                                                 .transfers = transfers,
                                                 .n_transfers = m->n_transfers,
                                                 .n_offsets = m->n_jobs > 1 ? N_OFFSETS : 0,
                                                 .links = s->asked,
                                                 .n_links = s->n_asked};
    SAND_TRY(sand_oracle_joint(w->oracle, &question, &solution, w->diag));
    for (uint32_t i = 0; i < m->n_jobs; i++)
        answer->step_s[i] = solution.parts[i].step_s;
    for (uint32_t i = 0; i < m->n_transfers; i++)
        answer->stream_Bps[i] = solution.stream_Bps[i];
    return SAND_OK;
}

static enum sand_rc new_answer(const struct sand_shared *s, const struct members *m,
                               struct shared_answer **answer, unsigned *size)
{
    const size_t n = 1 + m->n_jobs + 2 * (size_t)m->n_transfers + s->n_asked;
    *size = (unsigned)(n * sizeof(uint64_t));
    *answer = sand_calloc(1, sizeof **answer + *size);
    if (!*answer)
        return SAND_ERR_NOMEM;
    uint64_t *key = (*answer)->key;
    *key++ = (uint64_t)m->n_jobs << 32 | m->n_transfers;
    for (uint32_t i = 0; i < m->n_jobs; i++)
        *key++ = s->steppers[m->jobs[i]].serial;
    for (uint32_t i = 0; i < m->n_transfers; i++) {
        const struct shared_transfer *t = &s->transfers[m->transfers[i]];
        const double Bps = bound_Bps(s, t);
        *key++ = t->route->mark.serial;
        memcpy(key++, &Bps, sizeof Bps);
    }
    for (size_t l = 0; l < s->n_asked; l++)
        *key++ = s->asked[l];
    return SAND_OK;
}

static enum sand_rc look_up(struct sand_world *w, const struct members *m,
                            const struct shared_answer **found)
{
    struct sand_shared *s = w->shared;
    struct shared_answer *answer = NULL, *known = NULL;
    unsigned size = 0;
    SAND_TRY(new_answer(s, m, &answer, &size));
    HASH_FIND(hh, s->known, answer->key, size, known);
    if (known) {
        sand_free(answer);
        *found = known;
        return SAND_OK;
    }
    enum sand_rc rc = ask(w, m, answer);
    if (rc == SAND_OK) {
        HASH_ADD(hh, s->known, key, size, answer);
        rc = answer->refused ? SAND_ERR_NOMEM : SAND_OK;
    }
    if (rc != SAND_OK)
        sand_free(answer);
    *found = answer;
    return rc;
}

enum sand_rc shared_question_ask(struct sand_world *w, struct sand_world_job *job,
                                 uint32_t transfer, int steps_only, double *step_s,
                                 double *stream_Bps)
{
    struct sand_shared *s = w->shared;
    const struct shared_answer *answer = NULL;
    struct members m = {0};
    SAND_TRY(find_jobs(s, job, &m));
    if (!steps_only)
        SAND_TRY(find_transfers(s, transfer, &m));
    SAND_TRY(look_up(w, &m, &answer));
    for (uint32_t i = 0; step_s && i < m.n_jobs; i++)
        if (s->steppers[m.jobs[i]].job == job)
            *step_s = answer->step_s[i];
    for (uint32_t i = 0; stream_Bps && i < m.n_transfers; i++)
        if (m.transfers[i] == transfer)
            *stream_Bps = answer->stream_Bps[i];
    return SAND_OK;
}

void shared_answers_free(struct sand_shared *s)
{
    struct shared_answer *entry, *next;
    HASH_ITER(hh, s->known, entry, next)
    {
        HASH_DELETE(hh, s->known, entry);
        sand_free(entry);
    }
}
