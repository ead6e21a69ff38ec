// Wait, completion time and slowdown by class, user and size of job, each kind of end apart.
// wait = first start - submit; completion = end - submit; bounded slowdown = max(1, completion /
// max(completion - wait, 10 s)) (Feitelson and Rudolph, "Metrics and Benchmarking for Parallel Job
// Scheduling", JSSPP 1998). Percentiles are by nearest rank. The values of all jobs go through a
// sorter, group by group and rising, so that they are exact and no job need be remembered.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "sizegroup.h"
#include "sorter.h"
#include "units.h"

static const double slowdown_bound_s = 10;

enum by { BY_ALL, BY_CLASS, BY_USER, BY_SIZE, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"all", "class", "user", "size"};

enum figure { FIGURE_WAIT, FIGURE_COMPLETION, FIGURE_SLOWDOWN, FIGURES };

struct measure {
    uint64_t n; // values
    double sum, p50, p95, max;
};

// Jobs of one name and one kind of end.
struct group {
    enum by by;
    const char *name, *ending;
    uint64_t jobs;
    sand_gpu_ns held_gpu_ns;
    double asked_gpu_s, useful_gpu_s;
    struct measure measures[FIGURES];
};

struct sand_groups {
    struct sand_names keys[BY_COUNT]; // "ending/name"
    uint32_t *numbers[BY_COUNT];      // of groups, by number of the key
    size_t capacities[BY_COUNT];
    struct group *groups;
    size_t n, capacity;
    struct sand_sorter *sorter;
};

// A value on its way through the sorter.
struct value {
    uint32_t group, figure;
    double value;
};

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    if (x->group != y->group)
        return x->group > y->group ? 1 : -1;
    if (x->figure != y->figure)
        return x->figure > y->figure ? 1 : -1;
    return (x->value > y->value) - (x->value < y->value);
}

enum sand_rc sand_groups_open(struct sand_world *w)
{
    w->groups = sand_calloc(1, sizeof *w->groups);
    if (!w->groups)
        return SAND_ERR_NOMEM;
    return sand_sorter_open(sizeof(struct value), compare_values, w->options->scratch,
                            &w->groups->sorter);
}

void sand_groups_close(struct sand_world *w)
{
    struct sand_groups *g = w->groups;
    if (!g)
        return;
    for (int by = 0; by < BY_COUNT; by++) {
        sand_names_clear(&g->keys[by]);
        sand_free(g->numbers[by]);
    }
    sand_free(g->groups);
    sand_sorter_close(g->sorter);
    sand_free(g);
    w->groups = NULL;
}

// ---- names --------------------------------------------------------------------------------------

static const char *name_of(const struct sand_world_job *j, enum by by)
{
    switch (by) {
    case BY_CLASS:
        return j->spec->job_class;
    case BY_USER:
        return j->spec->user;
    case BY_SIZE:
        return sand_size_group(j->gpus);
    default:
        return "all";
    }
}

// ---- counting -----------------------------------------------------------------------------------

static enum sand_rc add_group(struct sand_groups *g, enum by by, uint32_t key, const char *name,
                              const char *ending)
{
    void *groups = g->groups, *numbers = g->numbers[by];
    SAND_TRY(sand_grow(&groups, &g->capacity, g->n + 1, sizeof *g->groups));
    g->groups = groups;
    SAND_TRY(sand_grow(&numbers, &g->capacities[by], (size_t)key + 1, sizeof *g->numbers[by]));
    g->numbers[by] = numbers;
    g->numbers[by][key] = (uint32_t)g->n;
    g->groups[g->n++] = (struct group){.by = by, .name = name, .ending = ending};
    return SAND_OK;
}

// `ending` is one of few words without a slash, so a key is of one ending and one name only.
static enum sand_rc find_group(struct sand_groups *g, enum by by, const char *name,
                               const char *ending, uint32_t *number)
{
    char text[512];
    uint32_t key;
    snprintf(text, sizeof text, "%s/%s", ending, name);
    const size_t known = g->keys[by].n;
    SAND_TRY(sand_names_add(&g->keys[by], text, &key));
    if (key == known)
        SAND_TRY(
            add_group(g, by, key, strchr(sand_names_text(&g->keys[by], key), '/') + 1, ending));
    *number = g->numbers[by][key];
    return SAND_OK;
}

// NaN for ends at which the figure does not exist.
static double figure_of(const struct sand_world_job *j, enum figure figure)
{
    const double wait_s = sand_s_from_ns(j->start_ns - j->spec->submit_ns);
    if (j->start_ns < 0)
        return NAN;
    if (figure == FIGURE_WAIT)
        return wait_s;
    if (j->end_ns < 0)
        return NAN;
    const double completion_s = sand_s_from_ns(j->end_ns - j->spec->submit_ns);
    if (figure == FIGURE_COMPLETION)
        return completion_s;
    return fmax(1.0, completion_s / fmax(completion_s - wait_s, slowdown_bound_s));
}

static enum sand_rc count_in(struct sand_world *w, const struct sand_world_job *j, uint32_t number)
{
    struct group *group = &w->groups->groups[number];
    group->jobs++;
    group->held_gpu_ns += j->held_gpu_ns;
    const double asked = sand_job_gpus(j->spec, w->gpus_per_node);
    group->asked_gpu_s += sand_gpu_s(j->held_gpu_ns) * asked / (double)j->gpus;
    group->useful_gpu_s += sand_s_from_ns(j->useful_ns) * asked;
    for (uint32_t figure = 0; figure < FIGURES; figure++) {
        const struct value value = {number, figure, figure_of(j, (enum figure)figure)};
        if (isnan(value.value))
            continue;
        group->measures[figure].n++;
        SAND_TRY(sand_sorter_add(w->groups->sorter, &value, w->diag));
    }
    return SAND_OK;
}

enum sand_rc sand_groups_count(struct sand_world *w, const struct sand_world_job *j)
{
    for (int by = 0; by < BY_COUNT; by++) {
        const char *name = name_of(j, (enum by)by);
        uint32_t number;
        if (!name)
            continue;
        SAND_TRY(find_group(w->groups, (enum by)by, name, sand_job_state_name(j), &number));
        SAND_TRY(count_in(w, j, number));
    }
    return SAND_OK;
}

// ---- figures ------------------------------------------------------------------------------------

// Place of a percentile among n values, from 0.
static uint64_t rank_of(uint64_t n, double share)
{
    const uint64_t rank = (uint64_t)ceil(share * (double)n);
    return rank > 0 ? rank - 1 : 0;
}

static enum sand_rc measure(struct sand_groups *g, struct sand_diag *diag)
{
    const void *row;
    uint64_t place = 0;
    const struct measure *last = NULL;
    for (;;) {
        SAND_TRY(sand_sorter_next(g->sorter, &row, diag));
        if (!row)
            return SAND_OK;
        const struct value *value = row;
        struct measure *m = &g->groups[value->group].measures[value->figure];
        place = m == last ? place + 1 : 0;
        last = m;
        m->sum += value->value;
        m->max = value->value;
        if (place == rank_of(m->n, 0.5))
            m->p50 = value->value;
        if (place == rank_of(m->n, 0.95))
            m->p95 = value->value;
    }
}

// ---- rows ---------------------------------------------------------------------------------------

static int compare_groups(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->by != right->by)
        return left->by > right->by ? 1 : -1;
    const int order = strcmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->ending, right->ending);
}

static enum sand_rc emit(struct sand_world *w, struct group *group)
{
    struct measure *m = group->measures;
    double mean[FIGURES];
    for (int figure = 0; figure < FIGURES; figure++) {
        if (m[figure].n == 0)
            m[figure] = (struct measure){0, NAN, NAN, NAN, NAN};
        mean[figure] = m[figure].sum / (double)m[figure].n;
    }
    struct sand_groups_row row = {.replication = w->options->replication,
                                  .jobs = group->jobs,
                                  .gpu_s = sand_gpu_s(group->held_gpu_ns),
                                  .asked_gpu_s = group->asked_gpu_s,
                                  .useful_gpu_s = group->useful_gpu_s,
                                  .wait_mean_s = mean[FIGURE_WAIT],
                                  .wait_p50_s = m[FIGURE_WAIT].p50,
                                  .wait_p95_s = m[FIGURE_WAIT].p95,
                                  .wait_max_s = m[FIGURE_WAIT].max,
                                  .completion_mean_s = mean[FIGURE_COMPLETION],
                                  .completion_p50_s = m[FIGURE_COMPLETION].p50,
                                  .completion_p95_s = m[FIGURE_COMPLETION].p95,
                                  .slowdown_mean = mean[FIGURE_SLOWDOWN],
                                  .slowdown_p50 = m[FIGURE_SLOWDOWN].p50,
                                  .slowdown_p95 = m[FIGURE_SLOWDOWN].p95};
    sand_cell_set(&row.by, by_names[group->by]);
    sand_cell_set(&row.name, group->name);
    sand_cell_set(&row.ending, group->ending);
    return sand_emit_row(w, SAND_TABLE_groups, &row);
}

enum sand_rc sand_groups_emit(struct sand_world *w)
{
    struct sand_groups *g = w->groups;
    SAND_TRY(measure(g, w->diag));
    if (g->n > 0)
        qsort(g->groups, g->n, sizeof *g->groups, compare_groups);
    for (size_t i = 0; i < g->n; i++)
        SAND_TRY(emit(w, &g->groups[i]));
    return SAND_OK;
}
