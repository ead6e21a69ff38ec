// Figures over predicted rows. All sums run in the order of the file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "predictedrows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "stats.h"

double sand_predicted_error(const struct sand_predicted_rows *rows, size_t i)
{
    const double measured_s = rows->kind->measured_s(rows->results, i);
    const double predicted_s = rows->kind->predicted_s(rows->results, i);
    return measured_s > 0 && predicted_s > 0 ? predicted_s / measured_s - 1 : NAN;
}

int sand_predicted_is_scored(const struct sand_predicted_rows *rows, size_t i)
{
    return rows->kind->is_specified(rows->results, i) &&
           rows->kind->predicted_s(rows->results, i) > 0;
}

enum sand_rc sand_predicted_figures(const struct sand_predicted_rows *rows, const uint8_t *in,
                                    struct sand_error_figures *f)
{
    double *size = sand_calloc(rows->n + 1, sizeof *size), sum = 0;
    if (size == NULL)
        return SAND_ERR_NOMEM;
    *f = (struct sand_error_figures){0};
    for (size_t i = 0; i < rows->n; i++) {
        if (!in[i])
            continue;
        const double one = sand_predicted_error(rows, i);
        sum += one;
        size[f->n++] = fabs(one);
        f->within5 += fabs(one) <= 0.05;
        f->within10 += fabs(one) <= 0.10;
    }
    const struct sand_summary summary = sand_summarise(size, f->n);
    f->median = summary.median;
    f->mean = summary.mean;
    f->bias = f->n > 0 ? sum / (double)f->n : NAN;
    sand_free(size);
    return SAND_OK;
}

// ---- noise floor --------------------------------------------------------------------------------

struct group_search {
    const struct sand_predicted_rows *rows;
    const uint8_t *in;
    uint8_t *seen;
};

static int belongs(const struct group_search *s, size_t i, size_t j)
{
    return s->in[j] && s->rows->kind->is_equal(s->rows->results, i, j);
}

// The group of row i, if it is the first of one.
static void add_group(const struct group_search *s, size_t i, struct sand_noise_floor *floor,
                      double *sum)
{
    const struct sand_predicted_rows *rows = s->rows;
    double total = 0, n = 0;
    for (size_t j = i; j < rows->n; j++)
        if (belongs(s, i, j)) {
            total += rows->kind->measured_s(rows->results, j);
            n++;
        }
    if (n < 2)
        return;
    floor->n_groups++;
    for (size_t j = i; j < rows->n; j++)
        if (belongs(s, i, j)) {
            s->seen[j] = 1;
            floor->n_rows++;
            *sum += fabs(rows->kind->measured_s(rows->results, j) * n / total - 1);
        }
}

enum sand_rc sand_predicted_floor(const struct sand_predicted_rows *rows, const uint8_t *in,
                                  struct sand_noise_floor *floor)
{
    const struct group_search s = {rows, in, sand_calloc(rows->n + 1, 1)};
    double sum = 0;
    if (s.seen == NULL)
        return SAND_ERR_NOMEM;
    *floor = (struct sand_noise_floor){0};
    for (size_t i = 0; i < rows->n; i++)
        if (in[i] && !s.seen[i])
            add_group(&s, i, floor, &sum);
    floor->mean = floor->n_rows > 0 ? sum / (double)floor->n_rows : NAN;
    sand_free(s.seen);
    return SAND_OK;
}

// ---- tables -------------------------------------------------------------------------------------

void sand_predicted_heading(const char *what, FILE *out)
{
    fprintf(out, "\n%-24s %5s %8s %8s %8s %6s %6s  %s\n", what, "rows", "median", "mean", "bias",
            "<=5%", "<=10%", "noise floor (rows equal in every input)");
}

enum sand_rc sand_predicted_line(const struct sand_predicted_rows *rows, const char *name,
                                 const uint8_t *in, FILE *out)
{
    struct sand_error_figures f;
    struct sand_noise_floor floor;
    SAND_TRY(sand_predicted_figures(rows, in, &f));
    SAND_TRY(sand_predicted_floor(rows, in, &floor));
    if (f.n == 0)
        return SAND_OK;
    fprintf(out, "%-24s %5zu %7.1f%% %7.1f%% %+7.1f%% %5.0f%% %5.0f%%  ", name, f.n, 100 * f.median,
            100 * f.mean, 100 * f.bias, 100.0 * (double)f.within5 / (double)f.n,
            100.0 * (double)f.within10 / (double)f.n);
    if (floor.n_rows > 0)
        fprintf(out, "%.1f%% over %zu rows in %zu groups\n", 100 * floor.mean, floor.n_rows,
                floor.n_groups);
    else
        fprintf(out, "no two rows\n");
    return SAND_OK;
}

void sand_predicted_overall(const char *what, const struct sand_error_figures *all, FILE *out)
{
    fprintf(out, "%s: %zu rows", what, all->n);
    if (all->n > 0)
        fprintf(out, ", median %.2f %%, mean %.2f %%, bias %+.2f %%", 100 * all->median,
                100 * all->mean, 100 * all->bias);
    fputc('\n', out);
}

// ---- rows ---------------------------------------------------------------------------------------

struct ranked {
    double size;
    size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->size < y->size || x->size > y->size)
        return x->size < y->size ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

enum sand_rc sand_predicted_worst(const struct sand_predicted_rows *rows, size_t n_worst,
                                  const char *(*text)(const void *results, size_t i), FILE *out)
{
    struct ranked *list = sand_calloc(rows->n + 1, sizeof *list);
    size_t n = 0;
    if (list == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < rows->n; i++)
        if (sand_predicted_is_scored(rows, i))
            list[n++] = (struct ranked){fabs(sand_predicted_error(rows, i)), i};
    qsort(list, n, sizeof *list, compare_ranked);
    for (size_t k = 0; k < n && k < n_worst; k++)
        rows->kind->print(rows->results, list[k].row, text(rows->results, list[k].row), out);
    sand_free(list);
    return SAND_OK;
}

// How many rows from 0 on have the reason of row i; 0 if an earlier one has it, or i has none.
static size_t count_reason(const struct sand_predicted_rows *rows, size_t i)
{
    const char *why = rows->kind->reason(rows->results, i);
    size_t n = 0;
    for (size_t j = 0; why && j < rows->n; j++) {
        const char *other = rows->kind->reason(rows->results, j);
        if (other == NULL || strcmp(why, other) != 0)
            continue;
        if (j < i)
            return 0;
        n++;
    }
    return n;
}

void sand_predicted_skipped(const struct sand_predicted_rows *rows, FILE *out)
{
    fprintf(out, "\nskipped\n");
    for (size_t i = 0; i < rows->n; i++) {
        const size_t n = count_reason(rows, i);
        if (n > 0)
            fprintf(out, "  %4zu  %s (%s%s)\n", n, rows->kind->reason(rows->results, i),
                    rows->kind->id(rows->results, i), n > 1 ? ", ..." : "");
    }
}
