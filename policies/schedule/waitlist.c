// A segment tree over an append-only array; removed jobs leave holes, which go when it is full.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "waitlist.h"

#include <math.h>
#include <stdlib.h>

static const struct sand_waitlist_minima nothing = {0, UINT32_MAX, INT64_MAX, INFINITY};

static struct sand_waitlist_minima of_job(const struct sand_waiting *job)
{
    return (struct sand_waitlist_minima){1, job->n_nodes, job->walltime_ns, job->key};
}

static struct sand_waitlist_minima join(struct sand_waitlist_minima a,
                                        const struct sand_waitlist_minima *b)
{
    a.n_live += b->n_live;
    if (b->n_nodes < a.n_nodes)
        a.n_nodes = b->n_nodes;
    if (b->walltime_ns < a.walltime_ns)
        a.walltime_ns = b->walltime_ns;
    if (b->key < a.key)
        a.key = b->key;
    return a;
}

static void refresh(struct sand_waitlist *list, size_t place)
{
    for (size_t i = (list->capacity + place) / 2; i > 0; i /= 2)
        list->minima[i] = join(list->minima[2 * i], &list->minima[2 * i + 1]);
}

static void rebuild(struct sand_waitlist *list)
{
    for (size_t i = 0; i < list->capacity; i++)
        list->minima[list->capacity + i] = i < list->n_used ? of_job(&list->jobs[i]) : nothing;
    for (size_t i = list->capacity - 1; i > 0; i--)
        list->minima[i] = join(list->minima[2 * i], &list->minima[2 * i + 1]);
}

// Moves the living to the front, in order.
static void close_holes(struct sand_waitlist *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n_used; i++) {
        if (list->minima[list->capacity + i].n_live > 0)
            list->jobs[kept++] = list->jobs[i];
    }
    list->n_used = kept;
}

static int enlarge(struct sand_waitlist *list)
{
    const size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
    struct sand_waiting *jobs = realloc(list->jobs, capacity * sizeof *jobs);
    if (jobs == NULL)
        return -1;
    list->jobs = jobs;
    struct sand_waitlist_minima *minima = malloc(2 * capacity * sizeof *minima);
    if (minima == NULL)
        return -1;
    if (list->capacity > 0)
        close_holes(list);
    free(list->minima);
    list->minima = minima;
    list->capacity = capacity;
    rebuild(list);
    return 0;
}

static int make_room(struct sand_waitlist *list)
{
    if (list->n_used < list->capacity)
        return 0;
    if (2 * sand_waitlist_count(list) >= list->capacity)
        return enlarge(list);
    close_holes(list);
    rebuild(list);
    return 0;
}

int sand_waitlist_push(struct sand_waitlist *list, struct sand_waiting job)
{
    if (make_room(list) != 0)
        return -1;
    const size_t place = list->n_used++;
    list->jobs[place] = job;
    list->minima[list->capacity + place] = of_job(&job);
    refresh(list, place);
    return 0;
}

void sand_waitlist_remove(struct sand_waitlist *list, size_t place)
{
    list->minima[list->capacity + place] = nothing;
    refresh(list, place);
}

size_t sand_waitlist_count(const struct sand_waitlist *list)
{
    return list->capacity > 0 ? list->minima[1].n_live : 0;
}

size_t sand_waitlist_nth(const struct sand_waitlist *list, size_t k)
{
    if (k >= sand_waitlist_count(list))
        return SAND_NO_PLACE;
    size_t i = 1;
    while (i < list->capacity) {
        i *= 2;
        if (k >= list->minima[i].n_live)
            k -= list->minima[i++].n_live;
    }
    return i - list->capacity;
}

struct search {
    const struct sand_waitlist *list;
    const struct sand_waitlist_query *query;
    size_t best;
    double best_key;
};

static int is_after(const struct search *search, size_t place)
{
    const double key = search->list->jobs[place].key;
    if (key != search->query->after_key)
        return key > search->query->after_key;
    return place > search->query->after_place;
}

// Subtree `node` covers places [low, low + width). Left before right: of equal keys the first wins.
static void visit(struct search *search, size_t node, size_t low, size_t width)
{
    const struct sand_waitlist_query *query = search->query;
    const struct sand_waitlist_minima *minima = &search->list->minima[node];
    if (low >= query->end || low + width <= query->first || minima->n_live == 0)
        return;
    if (minima->n_nodes > query->max_nodes || minima->key >= search->best_key)
        return;
    if (minima->walltime_ns > query->max_walltime_ns && minima->n_nodes > query->extra_nodes)
        return;
    if (width > 1) {
        visit(search, 2 * node, low, width / 2);
        visit(search, 2 * node + 1, low + width / 2, width / 2);
    } else if (is_after(search, low)) {
        search->best = low;
        search->best_key = minima->key;
    }
}

size_t sand_waitlist_find(const struct sand_waitlist *list, const struct sand_waitlist_query *query)
{
    struct search search = {list, query, SAND_NO_PLACE, INFINITY};
    if (list->capacity > 0)
        visit(&search, 1, 0, list->capacity);
    return search.best;
}

void sand_waitlist_free(struct sand_waitlist *list)
{
    free(list->jobs);
    free(list->minima);
    *list = (struct sand_waitlist){0};
}
