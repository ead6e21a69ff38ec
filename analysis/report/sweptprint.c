// A sweep's figures as tables for people and as CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "comparisonfigures.h"
#include "csvtext.h"
#include "filegate.h"
#include "summaryparts.h"
#include "swept.h"
#include "textout.h"

enum { LABEL_LEAST = 16, LABEL_MOST = 40, COLUMN = 12 };

// ---- pairs
// --------------------------------------------------------------------------------------

static size_t first_with_results(const struct sand_swept *swept)
{
    size_t i = 0;
    while (i + 1 < swept->n_points && swept->points[i].n_runs == 0)
        i++;
    return i;
}

// The figure at `point` beside that at `base`, over the replications that both have.
static enum sand_rc pair_up(const struct sand_swept_point *base,
                            const struct sand_swept_point *point, size_t figure,
                            struct sand_compared *compared)
{
    size_t n_figures, n = 0;
    const struct sand_compared_figure *kind = &sand_compared_figures(&n_figures)[figure];
    *compared = (struct sand_compared){.name = kind->name, .kind = kind->kind};
    double *differences = sand_calloc(base->n_runs + 1, sizeof *differences);
    if (!differences)
        return SAND_ERR_NOMEM;
    for (size_t r = 0, k = 0; r < point->n_runs && k < base->n_runs; r++) {
        while (k < base->n_runs && base->replications[k] < point->replications[r])
            k++;
        if (k < base->n_runs && base->replications[k] == point->replications[r])
            differences[n++] =
                point->values[figure * point->n_runs + r] - base->values[figure * base->n_runs + k];
    }
    compared->first = sand_summarise(base->values + figure * base->n_runs, base->n_runs);
    compared->second = sand_summarise(point->values + figure * point->n_runs, point->n_runs);
    compared->difference = sand_summarise(differences, n);
    sand_free(differences);
    return SAND_OK;
}

// ---- tables
// -------------------------------------------------------------------------------------

static int label_width(const struct sand_swept *swept)
{
    size_t longest = LABEL_LEAST;
    for (size_t i = 0; i < swept->n_points; i++) {
        const size_t length = strlen(swept->points[i].name) + 4;
        longest = length > longest ? length : longest;
    }
    return longest < LABEL_MOST ? (int)longest : LABEL_MOST;
}

// Blank where one replication says nothing about the spread.
static void print_spread(FILE *out, enum sand_style style, const struct sand_summary *summary,
                         const struct sand_compared *figure)
{
    if (summary->n >= 2)
        sand_summary_spread(out, style, summary->ci95,
                            sand_compared_text_of_part(summary->ci95, figure).s, COLUMN + 1);
    else
        fprintf(out, "%*s", COLUMN + 1, "");
}

static enum sand_rc print_point(const struct sand_swept *swept, size_t i, size_t figure, int width,
                                enum sand_style style, FILE *out)
{
    const size_t first = first_with_results(swept);
    struct sand_compared compared;
    fputs("  ", out);
    sand_text_pad(out, swept->points[i].name, width - 2);
    if (swept->points[i].n_runs == 0) {
        fprintf(out, "%*s\n", COLUMN, "no results");
        return SAND_OK;
    }
    SAND_TRY(pair_up(&swept->points[first], &swept->points[i], figure, &compared));
    sand_text_pad_left(out, sand_compared_text(compared.second.mean, compared.kind).s, COLUMN);
    const int is_base = i == first || compared.difference.n == 0;
    if (!is_base || compared.second.n >= 2)
        print_spread(out, style, &compared.second, &compared);
    if (!is_base) {
        const double mean = compared.difference.mean;
        sand_text_pad_left(out, sand_compared_text_of_part(mean, &compared).s, COLUMN);
        if (compared.difference.n >= 2)
            print_spread(out, style, &compared.difference, &compared);
        fputs(sand_compared_is_clear(&compared) ? "  yes" : "", out);
    }
    fputc('\n', out);
    return SAND_OK;
}

static enum sand_rc print_figure(const struct sand_swept *swept, size_t figure,
                                 enum sand_style style, FILE *out)
{
    size_t n;
    const struct sand_compared_figure *kind = &sand_compared_figures(&n)[figure];
    const int width = label_width(swept);
    char title[80];
    snprintf(title, sizeof title, "%s%s", kind->name,
             kind->kind == SAND_COMPARED_SHARE ? ", %" : "");
    fputc('\n', out);
    if ((int)strlen(title) < width)
        sand_text_pad(out, title, width);
    else
        fprintf(out, "%s\n%*s", title, width, "");
    fprintf(out, "%*s%*s%*s%*s  clear\n", COLUMN, "mean", COLUMN + 1, "+-", COLUMN, "to first",
            COLUMN + 1, "+-");
    for (size_t i = 0; i < swept->n_points; i++)
        SAND_TRY(print_point(swept, i, figure, width, style, out));
    return SAND_OK;
}

static const char definitions[] =
    "mean: over the replications, with the 95 % interval of Student's t; to first: what the point "
    "has more than the first one, replication by replication, with the interval over the pairs; "
    "\"yes\" where that leaves zero out. Differences of shares are percentage points. `sandtable "
    "show` defines the figures, `sandtable compare` puts all of two points side by side.";

enum sand_rc sand_swept_print(const struct sand_swept *swept, const size_t *figures, size_t n,
                              enum sand_style style, FILE *out, struct sand_diag *diag)
{
    for (size_t i = 0; i < n; i++)
        if (print_figure(swept, figures[i], style, out) != SAND_OK)
            return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    fputc('\n', out);
    sand_text_wrap(out, definitions, 0);
    return sand_stream_finish(out, "the sweep", diag);
}

// ---- CSV
// ----------------------------------------------------------------------------------------

// "recovery, mean" is recovery_mean_s, "facility energy, MWh" facility_energy_J: words by "_", and
// the SI unit in place of people's.
static void put_column(FILE *out, const struct sand_compared_figure *figure)
{
    static const char *const units[] = {[SAND_COMPARED_SHARE] = "",
                                        [SAND_COMPARED_TIME] = "_s",
                                        [SAND_COMPARED_NUMBER] = "",
                                        [SAND_COMPARED_GPU_TIME] = "_gpu_s",
                                        [SAND_COMPARED_ENERGY] = "_J"};
    const char *comma = strrchr(figure->name, ','), *end = figure->name + strlen(figure->name);
    if (figure->kind == SAND_COMPARED_GPU_TIME || figure->kind == SAND_COMPARED_ENERGY)
        end = comma;
    int gap = 0;
    for (const char *c = figure->name; c < end; c++) {
        if (isalnum((unsigned char)*c)) {
            fputs(gap ? "_" : "", out);
            fputc(c[1] == '\0' && !islower((unsigned char)*c) && c[-1] == ' '
                      ? *c // a unit: "J"
                      : tolower((unsigned char)*c),
                  out);
        }
        gap = !isalnum((unsigned char)*c);
    }
    fputs(units[figure->kind], out);
}

static void put_head(const struct sand_swept *swept, FILE *out)
{
    size_t n;
    const struct sand_compared_figure *figures = sand_compared_figures(&n);
    fputs("point", out);
    for (size_t i = 0; i < swept->n_columns; i++) {
        fputc(',', out);
        sand_csv_text(out, swept->columns[i]);
    }
    fputs(",replication", out);
    for (size_t f = 0; f < n; f++) {
        fputc(',', out);
        put_column(out, &figures[f]);
    }
    fputc('\n', out);
}

static void put_run(const struct sand_swept *swept, const struct sand_swept_point *point, size_t r,
                    FILE *out)
{
    size_t n;
    sand_compared_figures(&n);
    sand_csv_text(out, point->name);
    for (size_t i = 0; i < swept->n_columns; i++) {
        fputc(',', out);
        sand_csv_text(out, point->levels[i]);
    }
    fprintf(out, ",%u", point->replications[r]);
    for (size_t f = 0; f < n; f++) {
        const double value = point->values[f * point->n_runs + r];
        fputc(',', out);
        if (!isnan(value))
            fprintf(out, "%.17g", value);
    }
    fputc('\n', out);
}

enum sand_rc sand_swept_csv(const struct sand_swept *swept, FILE *out, struct sand_diag *diag)
{
    put_head(swept, out);
    for (size_t i = 0; i < swept->n_points; i++)
        for (size_t r = 0; r < swept->points[i].n_runs; r++)
            put_run(swept, &swept->points[i], r, out);
    return sand_stream_finish(out, "the table of the sweep", diag);
}
