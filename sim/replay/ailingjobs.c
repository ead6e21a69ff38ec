// What ailing parts do to jobs: who crosses them, who stands still, how long a step takes now.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "ailing.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "units.h"
#include "world.h"

// ---- links --------------------------------------------------------------------------------------

// Whether two ascending lists share a member. O(shorter x log longer).
static int meet(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    if (n_a > n_b)
        return meet(b, n_b, a, n_a);
    for (size_t i = 0; i < n_a; i++) {
        size_t low = 0, high = n_b;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (b[middle] < a[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (low < n_b && b[low] == a[i])
            return 1;
    }
    return 0;
}

static const struct sand_ailing_answer *answer_of(const struct sand_job_ailing *ja)
{
    return ja->now ? ja->now : &ja->built;
}

// Where a job has had to leave its way, any change may give it a better one.
static int is_detoured(const struct sand_job_ailing *ja)
{
    const struct sand_ailing_answer *built = &ja->built, *now = answer_of(ja);
    return now->cut || now->n_links != built->n_links ||
           memcmp(now->links, built->links, built->n_links * sizeof *built->links) != 0;
}

enum sand_rc sand_ailing_concerns(struct sand_world *w, const struct sand_world_job *j,
                                  const struct sand_degradation *d, int *concerned)
{
    const struct sand_job_ailing *ja = j->ailing;
    const uint32_t *part;
    size_t n;
    *concerned = 0;
    if (ja == NULL || !ja->built.known)
        return SAND_OK;
    if (d->gpu != SAND_NONE) {
        *concerned = sand_pool_is_on(w, j, d->node);
        return SAND_OK;
    }
    const struct sand_ailing_answer *built = &ja->built, *now = answer_of(ja);
    SAND_TRY(sand_fabric_health_links(w->ailing->health, &d->part, &part, &n));
    *concerned = is_detoured(ja) || meet(part, n, built->links, built->n_links) ||
                 meet(part, n, now->links, now->n_links);
    return SAND_OK;
}

// ---- touches ------------------------------------------------------------------------------------

static struct sand_touch *find_touch(const struct sand_degradation *d, uint32_t job)
{
    for (size_t i = 0; i < d->n_touches; i++)
        if (d->touches[i].job == job)
            return &d->touches[i];
    return NULL;
}

static enum sand_rc touch(struct sand_degradation *d, const struct sand_world_job *j,
                          struct sand_touch **made)
{
    void *touches = d->touches;
    *made = find_touch(d, j->index);
    if (*made != NULL)
        return SAND_OK;
    SAND_TRY(sand_grow(&touches, &d->touches_capacity, d->n_touches + 1, sizeof *d->touches));
    d->touches = touches;
    *made = &d->touches[d->n_touches++];
    **made = (struct sand_touch){.job = j->index, .gpus = j->gpus};
    return SAND_OK;
}

// The job stands still if its way crosses the part.
static enum sand_rc hold(struct sand_world *w, struct sand_degradation *d, struct sand_world_job *j,
                         const struct sand_ailing_answer *way)
{
    const uint32_t *part;
    struct sand_touch *held;
    size_t n;
    SAND_TRY(sand_fabric_health_links(w->ailing->health, &d->part, &part, &n));
    if (!meet(part, n, way->links, way->n_links))
        return SAND_OK;
    SAND_TRY(touch(d, j, &held));
    held->held = 1;
    return SAND_OK;
}

enum sand_rc sand_ailing_hold(struct sand_world *w, struct sand_degradation *d)
{
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        if (j->in_attempt && j->ailing && j->ailing->built.known)
            SAND_TRY(hold(w, d, j, answer_of(j->ailing)));
    return SAND_OK;
}

// Routes that the job would take are not found yet.
static enum sand_rc hold_newcomer(struct sand_world *w, struct sand_world_job *j)
{
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        struct sand_degradation *d = w->ailing->active[i];
        if (d->is_down && d->routed_ns > w->now_ns)
            SAND_TRY(hold(w, d, j, &j->ailing->built));
    }
    return SAND_OK;
}

void sand_ailing_let_go(struct sand_degradation *d)
{
    for (size_t i = 0; i < d->n_touches; i++)
        d->touches[i].held = 0;
}

// The one that holds the job longest; NULL: none.
static struct sand_degradation *holder(const struct sand_world *w, const struct sand_world_job *j)
{
    struct sand_degradation *longest = NULL;
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        struct sand_degradation *d = w->ailing->active[i];
        const struct sand_touch *t = find_touch(d, j->index);
        if (t && t->held && (!longest || d->routed_ns > longest->routed_ns))
            longest = d;
    }
    return longest;
}

// ---- what it has cost ---------------------------------------------------------------------------

static int is_strained(const struct sand_degradation *d)
{
    const enum sand_effect effect = d->class->effect;
    return d->is_down || d->is_drained || effect == SAND_EFFECT_SLOW || effect == SAND_EFFECT_LOSS;
}

static enum sand_rc strains(struct sand_world *w, const struct sand_world_job *j,
                            const struct sand_degradation *d, int *does)
{
    *does = 0;
    return is_strained(d) ? sand_ailing_concerns(w, j, d, does) : SAND_OK;
}

// In equal shares to those that strain the job; what a division leaves goes to the first.
static enum sand_rc credit_slow(struct sand_world *w, const struct sand_world_job *j,
                                int64_t slow_ns)
{
    int64_t n = 0, given = 0;
    int does;
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        SAND_TRY(strains(w, j, w->ailing->active[i], &does));
        n += does;
    }
    for (size_t i = 0; n > 0 && i < w->ailing->n_active; i++) {
        struct sand_touch *t;
        SAND_TRY(strains(w, j, w->ailing->active[i], &does));
        if (!does)
            continue;
        SAND_TRY(touch(w->ailing->active[i], j, &t));
        t->slow_ns += given++ == 0 ? slow_ns - (n - 1) * (slow_ns / n) : slow_ns / n;
    }
    return SAND_OK;
}

static enum sand_rc credit_still(struct sand_world *w, const struct sand_world_job *j,
                                 int64_t still_ns)
{
    struct sand_degradation *d = j->ailing->cut_by ? j->ailing->cut_by : holder(w, j);
    struct sand_touch *t;
    if (d == NULL)
        return credit_slow(w, j, still_ns);
    SAND_TRY(touch(d, j, &t));
    t->still_ns += still_ns;
    return SAND_OK;
}

enum sand_rc sand_ailing_credit(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_job_ailing *ja = j->ailing;
    if (ja == NULL || !j->in_attempt)
        return SAND_OK;
    sand_life_settle(w, j);
    const int64_t faults_ns = sand_progress_by_ns(&j->progress, SAND_SLOW_FAULTS, w->now_ns);
    const int64_t stood_ns = sand_progress_stood_ns(&j->progress, w->now_ns);
    const int64_t still_ns = stood_ns - ja->credited_still_ns;
    const int64_t slow_ns = faults_ns - ja->credited_ns - still_ns;
    ja->credited_ns = faults_ns;
    ja->credited_still_ns = stood_ns;
    if (still_ns != 0)
        SAND_TRY(credit_still(w, j, still_ns));
    return slow_ns != 0 ? credit_slow(w, j, slow_ns) : SAND_OK;
}

enum sand_rc sand_ailing_credit_all(struct sand_world *w)
{
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        SAND_TRY(sand_ailing_credit(w, j));
    return SAND_OK;
}

// ---- asking -------------------------------------------------------------------------------------

static int is_well(const struct sand_ailing *a)
{
    for (size_t i = 0; i < a->n_active; i++)
        if (is_strained(a->active[i]))
            return 0;
    return 1;
}

static void clear(struct sand_ailing_answer *answer)
{
    sand_free(answer->links);
    sand_free(answer->loads);
    *answer = (struct sand_ailing_answer){0};
}

static enum sand_rc ask(struct sand_world *w, const struct sand_step_question *question,
                        struct sand_ailing_answer *answer)
{
    struct sand_steptime_alone alone;
    const enum sand_rc rc = sand_step_links(question, &answer->links, &answer->n_links, NULL);
    answer->cut = rc == SAND_ERR_INPUT;
    answer->known = rc == SAND_OK || answer->cut;
    if (answer->cut)
        return SAND_OK;
    SAND_TRY(rc);
    SAND_TRY(sand_steptime_alone(w, question, w->coupling != NULL, &alone));
    answer->step_ns = sand_ns_from_s(alone.profile.step_s);
    answer->loads = alone.loads;
    answer->n_loads = alone.n_loads;
    return SAND_OK;
}

static enum sand_rc answer_now(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_job_ailing *ja = j->ailing;
    ja->now = NULL;
    if (is_well(w->ailing))
        return SAND_OK;
    for (int i = 0; i < SAND_AILING_ANSWERS && ja->now == NULL; i++)
        if (ja->answers[i].known &&
            memcmp(ja->answers[i].state, w->ailing->state, sizeof w->ailing->state) == 0)
            ja->now = &ja->answers[i];
    if (ja->now != NULL)
        return SAND_OK;
    const struct sand_step_question question = sand_steptime_question(w, j);
    struct sand_ailing_answer *answer = &ja->answers[ja->n_answers++ % SAND_AILING_ANSWERS];
    clear(answer);
    answer->number = ja->n_answers;
    memcpy(answer->state, w->ailing->state, sizeof answer->state);
    SAND_TRY(ask(w, &question, answer));
    ja->now = answer;
    return SAND_OK;
}

// Neighbours share links with what the job puts on them now.
static enum sand_rc place_loads(struct sand_world *w, struct sand_world_job *j)
{
    const struct sand_ailing_answer *now = answer_of(j->ailing);
    if (!w->coupling || now->number == j->ailing->placed)
        return SAND_OK;
    struct sand_link_load *loads = sand_calloc(now->n_loads + 1, sizeof *loads);
    if (!loads)
        return SAND_ERR_NOMEM;
    if (now->n_loads > 0)
        memcpy(loads, now->loads, now->n_loads * sizeof *loads);
    j->ailing->placed = now->number;
    return sand_coupling_place(w, j, loads, now->n_loads);
}

// ---- cut off ------------------------------------------------------------------------------------

// Whose timeout runs out first, of those that are down on the job's way.
static enum sand_rc find_cutter(struct sand_world *w, const struct sand_world_job *j,
                                struct sand_degradation **cutter)
{
    *cutter = NULL;
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        struct sand_degradation *d = w->ailing->active[i];
        const double timeout_s = d->class->timeout_s;
        int concerned;
        SAND_TRY(sand_ailing_concerns(w, j, d, &concerned));
        if (concerned && (d->is_down || d->is_drained) &&
            (*cutter == NULL || (timeout_s >= 0 && (timeout_s < (*cutter)->class->timeout_s ||
                                                    (*cutter)->class->timeout_s < 0))))
            *cutter = d;
    }
    return SAND_OK;
}

static enum sand_rc watch_cut(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_job_ailing *ja = j->ailing;
    if (!ja->now || !ja->now->cut) {
        ja->cut_by = NULL;
        ja->cut_token = SAND_NO_ENTRY;
        return SAND_OK;
    }
    if (ja->cut_by != NULL) // waits already
        return SAND_OK;
    SAND_TRY(find_cutter(w, j, &ja->cut_by));
    ja->cut_token = SAND_NO_ENTRY;
    if (ja->cut_by == NULL || ja->cut_by->class->timeout_s < 0)
        return SAND_OK;
    const int64_t timeout_ns = sand_ns_from_s(ja->cut_by->class->timeout_s);
    return sand_world_put(w, sand_world_later(w->now_ns, timeout_ns), SAND_RANK_FAULT,
                          SAND_EVENT_TIMEOUT, j->slot, &ja->cut_token);
}

// What is struck stands for the incident: the node of a NIC, else the job's first.
enum sand_rc sand_ailing_timeout(struct sand_world *w, struct sand_world_job *j)
{
    const struct sand_degradation *d = j->ailing->cut_by;
    const int holds = d->node != SAND_NONE && sand_pool_is_on(w, j, d->node);
    const struct sand_fault fault = sand_degradation_fault(
        w->faults, d->class_index, d->index, holds ? d->node : j->nodes[0], SAND_NONE);
    if (holds && d->class->remedy == SAND_PART_REPLACED)
        return sand_recovery_evict(w, d->node, &fault);
    return sand_recovery_interrupt(w, j, &fault);
}

// ---- the rate -----------------------------------------------------------------------------------

static int64_t by_faults(const struct sand_world_job *j)
{
    const struct sand_ailing_answer *now = j->ailing->now;
    const int64_t own_ns = j->rate.healthy_ns + j->rate.by_ns[SAND_SLOW_PLACEMENT];
    return now && !now->cut ? now->step_ns - own_ns : 0;
}

static int64_t still_until(const struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_degradation *d = holder(w, j);
    if (j->ailing->now && j->ailing->now->cut)
        return SAND_STANDS_STILL;
    return d ? d->routed_ns : 0;
}

enum sand_rc sand_ailing_update(struct sand_world *w, struct sand_world_job *j)
{
    SAND_TRY(answer_now(w, j));
    SAND_TRY(place_loads(w, j));
    SAND_TRY(watch_cut(w, j));
    const int64_t by_ns = by_faults(j), resume_ns = still_until(w, j);
    const int still = resume_ns > w->now_ns || j->resume_ns > w->now_ns;
    if (by_ns == j->rate.by_ns[SAND_SLOW_FAULTS] && !(still && resume_ns != j->resume_ns))
        return SAND_OK;
    j->resume_ns = resume_ns;
    return sand_life_slow(w, j, SAND_SLOW_FAULTS, by_ns);
}

// ---- attempts -----------------------------------------------------------------------------------

static enum sand_rc open_job(struct sand_world *w, struct sand_world_job *j)
{
    if (j->ailing == NULL)
        j->ailing = sand_calloc(1, sizeof *j->ailing);
    if (j->ailing == NULL)
        return SAND_ERR_NOMEM;
    if (j->ailing->built.known)
        return SAND_OK;
    struct sand_step_question question = sand_steptime_question(w, j);
    question.fabric = w->fabric;
    question.gpu_speed = NULL;
    return ask(w, &question, &j->ailing->built);
}

static void forget_answers(struct sand_job_ailing *ja)
{
    clear(&ja->built);
    for (int i = 0; i < SAND_AILING_ANSWERS; i++)
        clear(&ja->answers[i]);
    *ja = (struct sand_job_ailing){.cut_token = SAND_NO_ENTRY};
}

void sand_ailing_forget(struct sand_world_job *j)
{
    if (j->ailing == NULL)
        return;
    forget_answers(j->ailing);
    sand_free(j->ailing);
    j->ailing = NULL;
}

static void warn_given(struct sand_world *w, const struct sand_world_job *j)
{
    if (!w->ailing->warned)
        sand_diag_add(w->diag, SAND_WARNING, NULL, 0,
                      "job \"%s\": its step time is given, so that degradations of parts cannot "
                      "slow it; leave step_time out to have it simulated",
                      j->spec->id);
    w->ailing->warned = 1;
}

enum sand_rc sand_ailing_attempt(struct sand_world *w, struct sand_world_job *j)
{
    j->resume_ns = 0;
    if (w->ailing == NULL)
        return SAND_OK;
    if (!sand_steptime_is_simulated(j)) {
        warn_given(w, j);
        return SAND_OK;
    }
    if (j->ailing != NULL && j->moved)
        forget_answers(j->ailing);
    j->moved = 0;
    SAND_TRY(open_job(w, j));
    j->ailing->credited_ns = j->ailing->credited_still_ns = 0;
    SAND_TRY(hold_newcomer(w, j));
    SAND_TRY(answer_now(w, j));
    SAND_TRY(place_loads(w, j));
    SAND_TRY(watch_cut(w, j));
    j->rate.step_ns += by_faults(j) - j->rate.by_ns[SAND_SLOW_FAULTS];
    j->rate.by_ns[SAND_SLOW_FAULTS] = by_faults(j);
    j->resume_ns = still_until(w, j);
    return SAND_OK;
}

enum sand_rc sand_ailing_rest(struct sand_world *w, struct sand_world_job *j)
{
    if (w->ailing == NULL || j->ailing == NULL)
        return SAND_OK;
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        struct sand_touch *t = find_touch(w->ailing->active[i], j->index);
        if (t != NULL)
            t->held = 0;
    }
    j->ailing->cut_by = NULL;
    j->ailing->cut_token = SAND_NO_ENTRY;
    return SAND_OK;
}
