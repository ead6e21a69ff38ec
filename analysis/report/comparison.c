// Pairs replications, checks that they are pairs, and summarises the differences.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparisonfigures.h"
#include "units.h"

static enum sand_rc load(struct sand_compared_side *side, struct sand_arena *arena,
                         struct sand_diag *diag)
{
    SAND_TRY(sand_compared_side_load(side, diag));
    side->values = sand_arena_alloc(arena, side->n_runs + 1, sizeof *side->values);
    return side->values ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// ---- are they pairs? ----------------------------------------------------------------------------

static enum sand_rc check_runs(const struct sand_compared_side *a,
                               const struct sand_compared_side *b, struct sand_diag *diag)
{
    if (a->meta->seed != b->meta->seed)
        return sand_fail(
            diag, SAND_ERR_INPUT,
            "seeds %llu and %llu: runs with other seeds have other jobs and faults and "
            "are no pairs; run both with the same seed",
            (unsigned long long)a->meta->seed, (unsigned long long)b->meta->seed);
    if (a->meta->duration_ns != b->meta->duration_ns)
        return sand_fail(
            diag, SAND_ERR_INPUT, "durations %.9g s and %.9g s: run both for the same time",
            sand_s_from_ns(a->meta->duration_ns), sand_s_from_ns(b->meta->duration_ns));
    int same = a->n_runs == b->n_runs;
    for (size_t i = 0; same && i < a->n_runs; i++)
        same = a->runs[i].replication == b->runs[i].replication;
    return same ? SAND_OK
                : sand_fail(diag, SAND_ERR_INPUT,
                            "%zu and %zu replications, or other numbers of them: run both with the "
                            "same replications",
                            a->n_runs, b->n_runs);
}

// Jobs stand by replication and number in both.
static enum sand_rc check_jobs(const struct sand_compared_side *a,
                               const struct sand_compared_side *b, struct sand_diag *diag)
{
    if (a->n_jobs != b->n_jobs)
        return sand_fail(diag, SAND_ERR_INPUT, "%zu and %zu jobs: these are not the same jobs",
                         a->n_jobs, b->n_jobs);
    for (size_t i = 0; i < a->n_jobs; i++) {
        const struct sand_jobs_row *x = &a->jobs[i], *y = &b->jobs[i];
        if (x->replication != y->replication || strcmp(x->id.text, y->id.text) != 0 ||
            x->submit_ns != y->submit_ns || x->nodes != y->nodes)
            return sand_fail(
                diag, SAND_ERR_INPUT,
                "replication %u: job \"%s\" (%u nodes, submitted at %.9g s) stands where "
                "the other file has \"%s\" (%u nodes, %.9g s); these are not the same jobs",
                x->replication, x->id.text, x->nodes, sand_s_from_ns(x->submit_ns), y->id.text,
                y->nodes, sand_s_from_ns(y->submit_ns));
    }
    return SAND_OK;
}

// Jobs stand by replication; one without jobs has no rows.
static void count_jobs(const struct sand_compared_side *side, struct sand_comparison *comparison)
{
    size_t next = 0;
    for (size_t run = 0; run < side->n_runs; run++) {
        const size_t begin = next;
        while (next < side->n_jobs && side->jobs[next].replication == side->runs[run].replication)
            next++;
        const size_t n = next - begin;
        if (run == 0 || n < comparison->jobs_least)
            comparison->jobs_least = n;
        if (n > comparison->jobs_most)
            comparison->jobs_most = n;
    }
}

// ---- the comparison -----------------------------------------------------------------------------

static enum sand_rc compare(struct sand_compared_side sides[2],
                            const struct sand_compared_figure *figure,
                            struct sand_comparison *comparison, struct sand_arena *arena)
{
    const size_t n = sides[0].n_runs;
    double *differences = sand_arena_alloc(arena, n + 1, sizeof *differences);
    if (!differences)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        double *a = &sides[0].values[i], *b = &sides[1].values[i];
        *a = figure->value(&sides[0], i, figure);
        *b = figure->value(&sides[1], i, figure);
        if (isnan(*a) || isnan(*b))
            *a = *b = NAN;
        differences[i] = *b - *a;
    }
    comparison->figures[comparison->n_figures++] =
        (struct sand_compared){.name = figure->name,
                               .kind = figure->kind,
                               .first = sand_summarise(sides[0].values, n),
                               .second = sand_summarise(sides[1].values, n),
                               .difference = sand_summarise(differences, n)};
    return SAND_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names of the groups of one kind in the first file, each once; *n of them.
static enum sand_rc names_of(const struct sand_compared_side *side, const char *by,
                             struct sand_arena *arena, const char ***names, size_t *n)
{
    size_t all = 0;
    *n = 0;
    *names = sand_arena_alloc(arena, side->n_groups + 1, sizeof **names);
    if (!*names)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < side->n_groups; i++)
        if (strcmp(side->groups[i].by.text, by) == 0)
            (*names)[all++] = side->groups[i].name.text;
    qsort(*names, all, sizeof **names, compare_names);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || strcmp((*names)[i], (*names)[*n - 1]) != 0)
            (*names)[(*n)++] = (*names)[i];
    return SAND_OK;
}

// Waits and slowdowns of every class and size.
static enum sand_rc compare_groups(struct sand_compared_side sides[2], const char *by,
                                   struct sand_comparison *comparison, struct sand_arena *arena)
{
    const char **names;
    size_t n;
    SAND_TRY(names_of(&sides[0], by, arena, &names, &n));
    for (size_t i = 0; i < n; i++) {
        const char *wait = sand_arena_printf(arena, "wait, mean: %s %s", by, names[i]);
        const char *slow = sand_arena_printf(arena, "bounded slowdown: %s %s", by, names[i]);
        if (!wait || !slow)
            return SAND_ERR_NOMEM;
        const struct sand_compared_figure both[] = {
            {wait, SAND_COMPARED_TIME, sand_figure_of_finished, by, names[i],
             offsetof(struct sand_groups_row, wait_mean_s), 1},
            {slow, SAND_COMPARED_NUMBER, sand_figure_of_finished, by, names[i],
             offsetof(struct sand_groups_row, slowdown_mean), 1}};
        SAND_TRY(compare(sides, &both[0], comparison, arena));
        SAND_TRY(compare(sides, &both[1], comparison, arena));
    }
    return SAND_OK;
}

static enum sand_rc make(struct sand_compared_side sides[2], struct sand_arena *arena,
                         struct sand_comparison *comparison)
{
    size_t n;
    const struct sand_compared_figure *figures = sand_compared_figures(&n);
    const size_t most = n + 2 * sides[0].n_groups;
    comparison->figures = sand_arena_alloc(arena, most, sizeof *comparison->figures);
    if (!comparison->figures)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        SAND_TRY(compare(sides, &figures[i], comparison, arena));
    SAND_TRY(compare_groups(sides, "class", comparison, arena));
    return compare_groups(sides, "size", comparison, arena);
}

enum sand_rc sand_comparison_make(struct sand_results *first, struct sand_results *second,
                                  struct sand_arena *arena, struct sand_comparison *comparison,
                                  struct sand_diag *diag)
{
    struct sand_compared_side sides[2] = {{.results = first}, {.results = second}};
    *comparison = (struct sand_comparison){0};
    SAND_TRY(load(&sides[0], arena, diag));
    SAND_TRY(load(&sides[1], arena, diag));
    SAND_TRY(check_runs(&sides[0], &sides[1], diag));
    SAND_TRY(check_jobs(&sides[0], &sides[1], diag));
    comparison->first = sides[0].meta;
    comparison->second = sides[1].meta;
    comparison->n_pairs = sides[0].n_runs;
    count_jobs(&sides[0], comparison);
    if (make(sides, arena, comparison) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    return SAND_OK;
}
