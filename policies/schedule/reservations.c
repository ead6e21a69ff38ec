// Reservations one after the other on the nodes' GPUs over time.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "reservations.h"

#include <stdlib.h>
#include <string.h>

static int64_t later(int64_t date_ns, int64_t length_ns)
{
    return length_ns < 0 || length_ns > INT64_MAX - date_ns ? INT64_MAX : date_ns + length_ns;
}

int sand_reservations_open(struct sand_reservations *plan, const struct sandtable_host *host,
                           size_t n)
{
    const struct sandtable_node *nodes;
    plan->n = 0;
    plan->n_nodes = host->nodes(host, &nodes);
    if (n <= plan->capacity)
        return 0;
    sand_reservations_free(plan);
    plan->n_nodes = host->nodes(host, &nodes);
    plan->items = calloc(n, sizeof *plan->items);
    plan->holds = calloc(n * plan->n_nodes + 1, sizeof *plan->holds);
    plan->node_gpus = calloc(n, sizeof *plan->node_gpus);
    plan->tried_gpus = calloc(plan->n_nodes + 1, sizeof *plan->tried_gpus);
    if (!plan->items || !plan->holds || !plan->node_gpus || !plan->tried_gpus)
        return -1;
    plan->capacity = n;
    return 0;
}

void sand_reservations_free(struct sand_reservations *plan)
{
    free(plan->items);
    free(plan->holds);
    free(plan->node_gpus);
    free(plan->tried_gpus);
    free(plan->dates);
    *plan = (struct sand_reservations){0};
}

// ---- a node over time ---------------------------------------------------------------------------

struct node_time {
    const struct sand_reservations *plan;
    const struct sandtable_node *node;
    const struct sandtable_tenant *tenants;
    size_t n_tenants;
    const struct sandtable_host *host;
    const struct sand_tried_job *tried;
};

static struct node_time time_of(const struct sand_reservations *plan,
                                const struct sandtable_host *host,
                                const struct sandtable_node *node,
                                const struct sand_tried_job *tried)
{
    struct node_time time = {.plan = plan, .node = node, .host = host, .tried = tried};
    time.n_tenants = host->tenants(host, node->node, &time.tenants);
    return time;
}

static int64_t end_of(const struct node_time *time, size_t tenant)
{
    const struct sandtable_job *job = time->host->job(time->host, time->tenants[tenant].job);
    return job->end_ns >= 0 ? job->end_ns : INT64_MAX;
}

// Free at a date beside the jobs that run, reservations left out of account.
static uint32_t free_beside_running(const struct node_time *time, int64_t date_ns)
{
    const uint32_t tried = time->plan->tried_gpus[time->node->node];
    uint32_t n = time->node->free_gpus;
    for (size_t k = 0; k < time->n_tenants; k++)
        n += end_of(time, k) <= date_ns ? time->tenants[k].n_gpus : 0;
    return n - (date_ns < time->tried->end_ns ? tried : 0);
}

static int64_t free_at(const struct node_time *time, int64_t date_ns)
{
    const struct sand_reservations *plan = time->plan;
    int64_t n = free_beside_running(time, date_ns);
    for (size_t r = 0; r < plan->n; r++)
        if (plan->holds[r * plan->n_nodes + time->node->node] &&
            plan->items[r].begin_ns <= date_ns && date_ns < plan->items[r].end_ns)
            n -= plan->node_gpus[r];
    return n;
}

// The fewest free from one date to another: at the first, or where a reservation begins.
static int64_t least_free(const struct node_time *time, int64_t begin_ns, int64_t end_ns)
{
    const struct sand_reservations *plan = time->plan;
    int64_t least = free_at(time, begin_ns);
    for (size_t r = 0; r < plan->n; r++) {
        const int64_t date_ns = plan->items[r].begin_ns;
        if (!plan->holds[r * plan->n_nodes + time->node->node] || date_ns <= begin_ns ||
            date_ns >= end_ns)
            continue;
        const int64_t n = free_at(time, date_ns);
        least = n < least ? n : least;
    }
    return least;
}

// The first date with that many free beside the jobs that run.
static int64_t earliest(const struct node_time *time, uint32_t n_gpus, int64_t now_ns)
{
    int64_t best_ns = INT64_MAX;
    if (free_beside_running(time, now_ns) >= n_gpus)
        return now_ns;
    for (size_t k = 0; k <= time->n_tenants; k++) {
        const int64_t end_ns = k < time->n_tenants ? end_of(time, k) : time->tried->end_ns;
        if (end_ns > now_ns && end_ns < best_ns && free_beside_running(time, end_ns) >= n_gpus)
            best_ns = end_ns;
    }
    return best_ns;
}

// ---- one reservation ----------------------------------------------------------------------------

struct search {
    struct sand_reservations *plan;
    const struct sandtable_host *host;
    const struct sandtable_node *nodes;
    const struct sandtable_job *job;
    const struct sand_tried_job *tried;
    uint32_t first, end; // nodes the job may have
    int64_t now_ns;
};

static int compare_dates(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int note_date(struct sand_reservations *plan, int64_t date_ns)
{
    if (plan->n_dates == plan->dates_capacity) {
        const size_t capacity = plan->dates_capacity > 0 ? 2 * plan->dates_capacity : 256;
        int64_t *dates = realloc(plan->dates, capacity * sizeof *dates);
        if (dates == NULL)
            return -1;
        plan->dates = dates;
        plan->dates_capacity = capacity;
    }
    plan->dates[plan->n_dates++] = date_ns;
    return 0;
}

// Nothing can start before enough nodes are free beside what runs. INT64_MAX: never.
static int lower_bound(const struct search *s, int64_t *date_ns)
{
    struct sand_reservations *plan = s->plan;
    plan->n_dates = 0;
    for (uint32_t i = s->first; i < s->end; i++) {
        const struct node_time time = time_of(plan, s->host, &s->nodes[i], s->tried);
        if (note_date(plan, earliest(&time, s->job->node_gpus, s->now_ns)) != 0)
            return -1;
    }
    *date_ns = INT64_MAX;
    if (plan->n_dates < s->job->n_nodes)
        return 0;
    qsort(plan->dates, plan->n_dates, sizeof *plan->dates, compare_dates);
    *date_ns = plan->dates[s->job->n_nodes - 1];
    return 0;
}

// All dates from the bound on at which a node may come to have more free.
static int list_dates(const struct search *s, int64_t bound_ns)
{
    struct sand_reservations *plan = s->plan;
    plan->n_dates = 0;
    int failed = note_date(plan, bound_ns);
    for (uint32_t i = s->first; i < s->end; i++) {
        const struct node_time time = time_of(plan, s->host, &s->nodes[i], s->tried);
        for (size_t k = 0; k < time.n_tenants; k++)
            if (end_of(&time, k) > bound_ns && end_of(&time, k) < INT64_MAX)
                failed |= note_date(plan, end_of(&time, k));
    }
    if (s->tried->n > 0 && s->tried->end_ns > bound_ns && s->tried->end_ns < INT64_MAX)
        failed |= note_date(plan, s->tried->end_ns);
    for (size_t r = 0; r < plan->n; r++)
        if (plan->items[r].end_ns > bound_ns && plan->items[r].end_ns < INT64_MAX)
            failed |= note_date(plan, plan->items[r].end_ns);
    if (failed == 0)
        qsort(plan->dates, plan->n_dates, sizeof *plan->dates, compare_dates);
    return failed;
}

static int64_t left_over(const struct search *s, uint32_t node, int64_t date_ns)
{
    const struct node_time time = time_of(s->plan, s->host, &s->nodes[node], s->tried);
    if (free_beside_running(&time, date_ns) < s->job->node_gpus)
        return -1;
    return least_free(&time, date_ns, later(date_ns, s->job->walltime_ns)) -
           (int64_t)s->job->node_gpus;
}

static int suffices(const struct search *s, int64_t date_ns)
{
    uint32_t n = 0;
    for (uint32_t i = s->first; i < s->end && n < s->job->n_nodes; i++)
        n += left_over(s, i, date_ns) >= 0;
    return n == s->job->n_nodes;
}

static int find_date(const struct search *s, int64_t *date_ns)
{
    int64_t bound_ns;
    *date_ns = INT64_MAX;
    if (lower_bound(s, &bound_ns) != 0)
        return -1;
    if (bound_ns == INT64_MAX)
        return 0;
    if (list_dates(s, bound_ns) != 0)
        return -1;
    for (size_t i = 0; i < s->plan->n_dates; i++) {
        if (i > 0 && s->plan->dates[i] == s->plan->dates[i - 1])
            continue;
        if (suffices(s, s->plan->dates[i])) {
            *date_ns = s->plan->dates[i];
            return 0;
        }
    }
    return 0;
}

// Marks its nodes: the fullest that have room, so that what is left stays in one piece.
static void hold(const struct search *s, size_t reservation, int64_t date_ns)
{
    uint8_t *holds = &s->plan->holds[reservation * s->plan->n_nodes];
    uint32_t n = 0, most = 0;
    memset(holds, 0, s->plan->n_nodes);
    for (uint32_t i = s->first; i < s->end; i++)
        most = s->nodes[i].n_gpus > most ? s->nodes[i].n_gpus : most;
    for (uint32_t spare = 0; date_ns < INT64_MAX && spare <= most; spare++)
        for (uint32_t i = s->first; i < s->end && n < s->job->n_nodes; i++)
            if (left_over(s, i, date_ns) == (int64_t)spare) {
                holds[i] = 1;
                n++;
            }
}

static int reserve(struct sand_reservations *plan, const struct sandtable_host *host, uint32_t job,
                   const struct sand_tried_job *tried, struct sand_reservation *made)
{
    struct search s = {.plan = plan,
                       .host = host,
                       .job = host->job(host, job),
                       .tried = tried,
                       .now_ns = host->now_ns(host)};
    host->nodes(host, &s.nodes);
    host->eligible(host, job, &s.first, &s.end);
    *made = (struct sand_reservation){.job = job};
    if (find_date(&s, &made->begin_ns) != 0)
        return -1;
    made->end_ns = later(made->begin_ns, s.job->walltime_ns);
    hold(&s, plan->n, made->begin_ns);
    plan->node_gpus[plan->n] = s.job->node_gpus;
    plan->items[plan->n++] = *made;
    return 0;
}

int sand_reservations_add(struct sand_reservations *plan, const struct sandtable_host *host,
                          uint32_t job)
{
    static const struct sand_tried_job none = {.end_ns = INT64_MIN};
    struct sand_reservation made;
    return reserve(plan, host, job, &none, &made);
}

// ---- several ------------------------------------------------------------------------------------

int64_t sand_reservations_first(const struct sand_reservations *plan)
{
    int64_t first_ns = INT64_MAX;
    for (size_t r = 0; r < plan->n; r++)
        first_ns = plan->items[r].begin_ns < first_ns ? plan->items[r].begin_ns : first_ns;
    return first_ns;
}

static int has_dateless(const struct sand_reservations *plan)
{
    for (size_t r = 0; r < plan->n; r++)
        if (plan->items[r].begin_ns == INT64_MAX)
            return 1;
    return 0;
}

// Plans all anew beside the tried job; *worse: one would begin later than `before`. Those behind it
// keep their places unplanned.
static int plan_again(struct sand_reservations *plan, const struct sandtable_host *host,
                      const struct sand_tried_job *tried, const struct sand_reservation *before,
                      size_t n, int *worse)
{
    struct sand_reservation made;
    plan->n = 0;
    *worse = 0;
    for (size_t r = 0; r < n && !*worse; r++) {
        if (reserve(plan, host, before[r].job, tried, &made) != 0)
            return -1;
        *worse = made.begin_ns > before[r].begin_ns;
    }
    return 0;
}

int sand_reservations_allow(struct sand_reservations *plan, const struct sandtable_host *host,
                            const struct sand_tried_job *tried)
{
    const size_t n = plan->n;
    int worse = 0, failed;
    if (tried->end_ns <= sand_reservations_first(plan) && tried->end_ns < INT64_MAX)
        return 1;
    if (tried->end_ns == INT64_MAX && has_dateless(plan))
        return 0; // a job waits for what no request promises; so do all who promise nothing
    struct sand_reservation *before = malloc((n + 1) * sizeof *before);
    if (before == NULL)
        return -1;
    memcpy(before, plan->items, n * sizeof *before);
    for (uint32_t i = 0; i < tried->n; i++)
        plan->tried_gpus[tried->nodes[i]] = tried->node_gpus;
    failed = plan_again(plan, host, tried, before, n, &worse);
    for (uint32_t i = 0; i < tried->n; i++)
        plan->tried_gpus[tried->nodes[i]] = 0;
    if (failed == 0 && worse) { // as it was
        static const struct sand_tried_job none = {.end_ns = INT64_MIN};
        failed = plan_again(plan, host, &none, before, n, &worse);
        worse = 1;
    }
    free(before);
    return failed != 0 ? -1 : !worse;
}
