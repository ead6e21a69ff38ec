// Gathers the figures of a sweep's points and sums them up.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "swept.h"

#include <math.h>
#include <string.h>

#include "comparisonfigures.h"

enum { FIGURES_MOST = 128 };

// ---- figures
// ------------------------------------------------------------------------------------

enum sand_rc sand_swept_find(const char *name, size_t *figure, struct sand_diag *diag)
{
    size_t n;
    const struct sand_compared_figure *figures = sand_compared_figures(&n);
    const char *names[FIGURES_MOST];
    for (size_t i = 0; i < n && i < FIGURES_MOST; i++) {
        names[i] = figures[i].name;
        *figure = i;
        if (strcmp(name, names[i]) == 0)
            return SAND_OK;
    }
    const char *near = sand_nearest(name, names, n);
    for (size_t i = 0; !near && i < n && *name; i++)
        near = strstr(names[i], name) ? names[i] : NULL;
    if (near)
        return sand_fail(diag, SAND_ERR_USAGE, "there is no figure \"%s\"; did you mean \"%s\"?",
                         name, near);
    return sand_fail(diag, SAND_ERR_USAGE,
                     "there is no figure \"%s\"; `sandtable compare` lists them, e.g. \"%s\"", name,
                     names[0]);
}

const char *sand_swept_name(size_t figure)
{
    size_t n;
    return sand_compared_figures(&n)[figure].name;
}

// ---- values
// -------------------------------------------------------------------------------------

enum sand_rc sand_swept_take(struct sand_swept_point *point, struct sand_results *results,
                             struct sand_arena *arena, struct sand_diag *diag)
{
    size_t n;
    const struct sand_compared_figure *figures = sand_compared_figures(&n);
    struct sand_compared_side side = {.results = results};
    SAND_TRY(sand_compared_side_load(&side, diag));
    uint32_t *replications = sand_arena_alloc(arena, side.n_runs + 1, sizeof *replications);
    double *values = sand_arena_alloc(arena, n * side.n_runs + 1, sizeof *values);
    if (!replications || !values)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t r = 0; r < side.n_runs; r++) {
        replications[r] = side.runs[r].replication;
        for (size_t f = 0; f < n; f++)
            values[f * side.n_runs + r] = figures[f].value(&side, r, &figures[f]);
    }
    point->replications = replications;
    point->values = values;
    point->n_runs = side.n_runs;
    return SAND_OK;
}

struct sand_summary sand_swept_summary(const struct sand_swept *swept, size_t point, size_t figure,
                                       const char **unit)
{
    static const struct {
        const char *unit;
        double scale;
    } shown[] = {[SAND_COMPARED_SHARE] = {"%", 100},
                 [SAND_COMPARED_TIME] = {"h", 1 / 3600.0},
                 [SAND_COMPARED_NUMBER] = {"", 1},
                 [SAND_COMPARED_GPU_TIME] = {"GPU-hours", 1 / 3600.0},
                 [SAND_COMPARED_ENERGY] = {"MWh", 1 / 3.6e9}};
    size_t n;
    const enum sand_compared_kind kind = sand_compared_figures(&n)[figure].kind;
    const struct sand_swept_point *p = &swept->points[point];
    struct sand_summary summary = {.mean = NAN, .ci95 = NAN};
    if (p->n_runs > 0)
        summary = sand_summarise(p->values + figure * p->n_runs, p->n_runs);
    summary.mean *= shown[kind].scale;
    summary.ci95 *= shown[kind].scale;
    if (unit)
        *unit = shown[kind].unit;
    return summary;
}

// ---- what to show
// -------------------------------------------------------------------------------

// Differs by more than rounding between two points that both have it.
static int differs(const struct sand_swept *swept, size_t figure)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < swept->n_points; i++) {
        const double mean = sand_swept_summary(swept, i, figure, NULL).mean;
        if (isnan(mean))
            continue;
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    return most - least > 1e-9 * fmax(fabs(least), fabs(most));
}

size_t sand_swept_usual(const struct sand_swept *swept, size_t *figures, size_t most)
{
    static const char *const usual[] = {"MFU while stepping",
                                        "goodput MFU",
                                        "tokens of surviving steps, billion",
                                        "recovery, mean",
                                        "cost of interruptions, GPU-hours",
                                        "cost of degradations, GPU-hours",
                                        "wait, mean",
                                        "energy per token, J"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && n < most; i++)
        if (sand_swept_find(usual[i], &figures[n], NULL) == SAND_OK && differs(swept, figures[n]))
            n++;
    if (n == 0 && most > 0 && sand_swept_find("goodput MFU", &figures[0], NULL) == SAND_OK)
        n = 1;
    return n;
}
