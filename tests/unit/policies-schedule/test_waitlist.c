// The list of waiting jobs against a plain array that is searched from end to end.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "rng.h"
#include "waitlist.h"

enum { MAX = 700 };

static uint64_t draw(uint64_t seed, uint64_t i, uint64_t below)
{
    return sand_rng_u64((struct sand_rng){seed, 0}, SAND_STREAM_TEST, i, below) % below;
}

// What waits, in queue order.
struct model {
    struct sand_waiting jobs[MAX];
    size_t n;
};

static void model_remove(struct model *model, size_t k)
{
    model->n--;
    for (size_t i = k; i < model->n; i++)
        model->jobs[i] = model->jobs[i + 1];
}

static int takes(const struct sand_waitlist_query *query, const struct sand_waiting *job)
{
    return job->n_nodes <= query->max_nodes &&
           (job->walltime_ns <= query->max_walltime_ns || job->n_nodes <= query->extra_nodes);
}

// The job number that a search from the k-th on has to find; UINT32_MAX: none.
static uint32_t model_find(const struct model *model, size_t first,
                           const struct sand_waitlist_query *query)
{
    uint32_t found = UINT32_MAX;
    double key = INFINITY;
    for (size_t i = first; i < model->n; i++) {
        const struct sand_waiting *job = &model->jobs[i];
        if (!takes(query, job) || job->key <= query->after_key || job->key >= key)
            continue;
        key = job->key;
        found = job->job;
    }
    return found;
}

static void check(const struct sand_waitlist *list, const struct model *model, uint64_t seed,
                  uint64_t step)
{
    cr_assert_eq(sand_waitlist_count(list), model->n);
    cr_assert_eq(sand_waitlist_nth(list, model->n), SAND_NO_PLACE);
    if (model->n == 0)
        return;
    const size_t k = draw(seed, step, model->n);
    const size_t place = sand_waitlist_nth(list, k);
    cr_assert_eq(list->jobs[place].job, model->jobs[k].job);
    const struct sand_waitlist_query query = {
        .first = place,
        .end = SIZE_MAX,
        .max_nodes = (uint32_t)draw(seed, step, 20),
        .extra_nodes = (uint32_t)draw(seed, step, 6),
        .max_walltime_ns = (int64_t)draw(seed, step, 1000),
        .after_key = draw(seed, step, 2) ? -INFINITY : (double)draw(seed, step, 300),
        .after_place = SIZE_MAX};
    const size_t found = sand_waitlist_find(list, &query);
    cr_assert_eq(found == SAND_NO_PLACE ? UINT32_MAX : list->jobs[found].job,
                 model_find(model, k, &query), "seed %lu step %lu", (unsigned long)seed,
                 (unsigned long)step);
}

// Growing and shrinking queues, so that holes are closed and the array is doubled.
Test(waitlist, finds_what_a_scan_finds)
{
    struct model *model = malloc(sizeof *model);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sand_waitlist list = {0};
        model->n = 0;
        for (uint64_t step = 0; step < 2000; step++) {
            const int grow = draw(seed, step, 10) < (step / 500 % 2 ? 4u : 6u);
            if (grow && model->n < MAX) {
                const struct sand_waiting job = {.job = (uint32_t)step,
                                                 .n_nodes = 1 + (uint32_t)draw(seed, step, 19),
                                                 .walltime_ns = (int64_t)draw(seed, step, 1001),
                                                 .key =
                                                     seed % 2 ? (double)draw(seed, step, 301) : 0};
                cr_assert_eq(sand_waitlist_push(&list, job), 0);
                model->jobs[model->n++] = job;
            } else if (model->n > 0) {
                const size_t k = draw(seed, step, model->n);
                sand_waitlist_remove(&list, sand_waitlist_nth(&list, k));
                model_remove(model, k);
            }
            check(&list, model, seed, step);
        }
        sand_waitlist_free(&list);
    }
    free(model);
}

// Of equal keys the first in the queue comes first, and the search goes on behind the last answer.
Test(waitlist, goes_on_in_key_and_queue_order)
{
    static const double keys[] = {3, 1, 2, 1, 3, 1};
    static const uint32_t order[] = {1, 3, 5, 2, 0, 4};
    struct sand_waitlist list = {0};
    for (uint32_t i = 0; i < 6; i++)
        cr_assert_eq(sand_waitlist_push(&list, (struct sand_waiting){i, 1, 1, keys[i]}), 0);
    struct sand_waitlist_query query = {
        .end = SIZE_MAX, .max_nodes = 1, .max_walltime_ns = 1, .after_key = -INFINITY};
    for (size_t i = 0; i < 6; i++) {
        const size_t place = sand_waitlist_find(&list, &query);
        cr_assert_neq(place, SAND_NO_PLACE);
        cr_assert_eq(list.jobs[place].job, order[i]);
        query.after_key = list.jobs[place].key;
        query.after_place = place;
    }
    cr_assert_eq(sand_waitlist_find(&list, &query), SAND_NO_PLACE);
    sand_waitlist_free(&list);
}

Test(waitlist, an_empty_list_has_nothing)
{
    struct sand_waitlist list = {0};
    const struct sand_waitlist_query query = {.end = SIZE_MAX, .after_key = -INFINITY};
    cr_assert_eq(sand_waitlist_count(&list), 0u);
    cr_assert_eq(sand_waitlist_nth(&list, 0), SAND_NO_PLACE);
    cr_assert_eq(sand_waitlist_find(&list, &query), SAND_NO_PLACE);
    sand_waitlist_free(&list);
}
