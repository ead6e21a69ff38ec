// Tables over predicted rows. All sums run in the order of the file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepreport.h"
#include "errorfigures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "stats.h"
#include "stepleave.h"
#include "steprank.h"

enum { N_WORST = 15 };

double sand_step_error(const struct sand_step_results *r, size_t i)
{
    const double measured_s = r->cases[i].measured_s, step_s = r->predictions[i].step_s;
    return measured_s > 0 && step_s > 0 ? step_s / measured_s - 1 : NAN;
}

int sand_step_is_scored(const struct sand_step_results *r, size_t i)
{
    return r->cases[i].class == SAND_STEP_SCORED && r->predictions[i].step_s > 0;
}

// ---- a selection of rows ------------------------------------------------------------------------

struct selection {
    const char *name;
    uint8_t *in; // per row
};

static double error_of(const void *results, size_t i)
{
    return sand_step_error(results, i);
}

static enum sand_rc figure_out(const struct sand_step_results *r, const uint8_t *in,
                               struct sand_error_figures *f)
{
    return sand_error_figure_out(r, r->n, in, error_of, f);
}

// ---- noise floor --------------------------------------------------------------------------------

static int same_inputs(const struct sand_step_case *a, const struct sand_step_case *b)
{
    static const uint8_t output[SAND_STEP_COLUMNS] = {
        [SAND_STEP_ID] = 1,    [SAND_STEP_SOURCE] = 1,  [SAND_STEP_CONFIRMED] = 1,
        [SAND_STEP_MODEL] = 1, [SAND_STEP_NETWORK] = 1, [SAND_STEP_TIME] = 1,
        [SAND_STEP_TOKENS] = 1};
    if (a->stack != b->stack || a->machine != b->machine)
        return 0;
    for (int c = 0; c < SAND_STEP_COLUMNS; c++)
        if (!output[c] && strcmp(a->row->cell[c], b->row->cell[c]) != 0)
            return 0;
    return 1;
}

// Pairs up every row with the first of its equals: O(n^2) comparisons that mostly end early.
static enum sand_rc find_floor(const struct sand_step_results *r, const uint8_t *in,
                               struct sand_step_floor *floor)
{
    uint8_t *seen = sand_calloc(r->n, 1);
    double sum = 0;
    if (seen == NULL)
        return SAND_ERR_NOMEM;
    *floor = (struct sand_step_floor){0};
    for (size_t i = 0; i < r->n; i++) {
        double total = 0, n = 0;
        for (size_t j = i; in[i] && !seen[i] && j < r->n; j++)
            if (in[j] && same_inputs(&r->cases[i], &r->cases[j])) {
                total += r->cases[j].measured_s;
                n++;
            }
        if (n < 2)
            continue;
        floor->n_groups++;
        for (size_t j = i; j < r->n; j++)
            if (in[j] && same_inputs(&r->cases[i], &r->cases[j])) {
                seen[j] = 1;
                floor->n_rows++;
                sum += fabs(r->cases[j].measured_s * n / total - 1);
            }
    }
    floor->mean = floor->n_rows > 0 ? sum / (double)floor->n_rows : NAN;
    sand_free(seen);
    return SAND_OK;
}

static void select_stack(const struct sand_step_results *r, const struct sand_step_stack *stack,
                         uint8_t *in)
{
    for (size_t i = 0; i < r->n; i++)
        in[i] = sand_step_is_scored(r, i) && (stack == NULL || r->cases[i].stack == stack);
}

enum sand_rc sand_step_find_floor(const struct sand_step_results *r,
                                  const struct sand_step_stack *stack,
                                  struct sand_step_floor *floor)
{
    uint8_t *in = sand_calloc(r->n, 1);
    if (in == NULL)
        return SAND_ERR_NOMEM;
    select_stack(r, stack, in);
    const enum sand_rc rc = find_floor(r, in, floor);
    sand_free(in);
    return rc;
}

// ---- tables -------------------------------------------------------------------------------------

static void print_heading(FILE *out, const char *what)
{
    fprintf(out, "\n%-24s %5s %8s %8s %8s %6s %6s  %s\n", what, "rows", "median", "mean", "bias",
            "<=5%", "<=10%", "noise floor (rows equal in every input)");
}

static enum sand_rc print_line(const struct sand_step_results *r, const char *name,
                               const uint8_t *in, FILE *out)
{
    struct sand_error_figures f;
    struct sand_step_floor floor;
    SAND_TRY(figure_out(r, in, &f));
    SAND_TRY(find_floor(r, in, &floor));
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

static enum sand_rc print_sources(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    print_heading(out, "by source");
    for (size_t s = 0; s < r->rules->n_stacks; s++) {
        select_stack(r, &r->rules->stacks[s], in);
        SAND_TRY(print_line(r, r->rules->stacks[s].id, in, out));
    }
    return SAND_OK;
}

static enum sand_rc print_gpus(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    print_heading(out, "by GPU");
    for (size_t m = 0; m < r->rules->n_machines; m++) {
        const struct sand_gpu_type *gpu = r->rules->machines[m].node->gpu;
        int seen = 0;
        for (size_t k = 0; k < m && !seen; k++)
            seen = r->rules->machines[k].node->gpu == gpu;
        for (size_t i = 0; i < r->n; i++)
            in[i] = sand_step_is_scored(r, i) && r->cases[i].machine->node->gpu == gpu;
        if (!seen)
            SAND_TRY(print_line(r, gpu->id, in, out));
    }
    return SAND_OK;
}

// ---- ranking ------------------------------------------------------------------------------------

static void print_ranking(const char *name, struct sand_step_ranking ranking, double threshold,
                          FILE *out)
{
    if (ranking.n_pairs > 0)
        fprintf(out, "%-24s %5zu %7.0f%%  by more than %.1f%%\n", name, ranking.n_pairs,
                100.0 * (double)ranking.n_right / (double)ranking.n_pairs, 100 * threshold);
}

// Twice the floor of the stack's own rows; of all where it has no two equal ones.
static enum sand_rc print_rankings(const struct sand_step_results *r, FILE *out)
{
    struct sand_step_floor of_all, floor;
    SAND_TRY(sand_step_find_floor(r, NULL, &of_all));
    struct sand_step_ranking all = {0};
    const double usual = of_all.n_rows > 0 ? of_all.mean : 0;
    fprintf(out, "\n%-24s %5s %8s  (differ in layout alone, by more than twice the floor)\n",
            "which layout is faster", "pairs", "right");
    for (size_t s = 0; s < r->rules->n_stacks; s++) {
        const struct sand_step_stack *stack = &r->rules->stacks[s];
        SAND_TRY(sand_step_find_floor(r, stack, &floor));
        const double threshold = 2 * (floor.n_rows > 0 ? floor.mean : usual);
        const struct sand_step_ranking one = sand_step_rank(r, stack, threshold);
        print_ranking(stack->id, one, threshold, out);
        all.n_pairs += one.n_pairs;
        all.n_right += one.n_right;
    }
    fprintf(out, "ranking: %zu pairs", all.n_pairs);
    if (all.n_pairs > 0)
        fprintf(out, ", %.1f %% right", 100.0 * (double)all.n_right / (double)all.n_pairs);
    fputc('\n', out);
    return SAND_OK;
}

// ---- rows ---------------------------------------------------------------------------------------

static void print_row(const struct sand_step_results *r, size_t i, const char *why, FILE *out)
{
    const struct sand_step_case *c = &r->cases[i];
    char predicted[40] = "no prediction";
    if (r->predictions[i].step_s > 0)
        snprintf(predicted, sizeof predicted, "%9.3f s %+6.1f%%", r->predictions[i].step_s,
                 100 * sand_step_error(r, i));
    fprintf(out, "  %-22s %9.3f s %19s  %s\n", c->row->cell[SAND_STEP_ID], c->measured_s, predicted,
            why);
}

struct ranked {
    double size;
    size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static enum sand_rc print_worst(const struct sand_step_results *r, FILE *out)
{
    struct ranked *list = sand_calloc(r->n, sizeof *list);
    size_t n = 0;
    if (list == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < r->n; i++)
        if (sand_step_is_scored(r, i))
            list[n++] = (struct ranked){fabs(sand_step_error(r, i)), i};
    qsort(list, n, sizeof *list, compare_ranked);
    fprintf(out, "\nworst rows (measured, predicted, error)\n");
    for (size_t k = 0; k < n && k < N_WORST; k++)
        print_row(r, list[k].row, r->cases[list[k].row].row->cell[SAND_STEP_MODEL], out);
    sand_free(list);
    return SAND_OK;
}

static void print_ill(const struct sand_step_results *r, FILE *out)
{
    fprintf(out, "\nill specified or contradicted, listed without score\n");
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].class == SAND_STEP_ILL)
            print_row(r, i, r->cases[i].why, out);
}

// Why a row has no prediction; NULL if it has one.
static const char *reason(const struct sand_step_results *r, size_t i)
{
    if (r->cases[i].class == SAND_STEP_SKIPPED)
        return r->cases[i].why;
    return r->predictions[i].step_s > 0 ? NULL : r->predictions[i].why;
}

static void print_skipped(const struct sand_step_results *r, FILE *out)
{
    fprintf(out, "\nskipped\n");
    for (size_t i = 0; i < r->n; i++) {
        size_t n = 0;
        int first = reason(r, i) != NULL;
        for (size_t j = 0; j < r->n && first; j++) {
            if (reason(r, j) == NULL || strcmp(reason(r, i), reason(r, j)) != 0)
                continue;
            first = j >= i;
            n++;
        }
        if (first)
            fprintf(out, "  %4zu  %s (%s%s)\n", n, reason(r, i), r->cases[i].row->cell[0],
                    n > 1 ? ", ..." : "");
    }
}

// The cells behind "cells that are no numbers", each with its row, column and value.
static void print_bad_cells(const struct sand_step_results *r, FILE *out)
{
    int any = 0;
    for (size_t i = 0; i < r->n; i++)
        for (int c = 0; c < SAND_STEP_COLUMNS; c++) {
            const enum sand_step_column column = (enum sand_step_column)c;
            if (!(r->cases[i].bad_cells >> c & 1))
                continue;
            if (!any)
                fprintf(out, "\nbad cells (their rows are skipped)\n");
            any = 1;
            fprintf(out, "  row \"%s\": %s \"%.60s\" is not %s\n",
                    r->cases[i].row->cell[SAND_STEP_ID], sand_step_column_name(column),
                    r->cases[i].row->cell[c], sand_step_column_rule(column));
        }
}

size_t sand_step_count_scored(const struct sand_step_results *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += sand_step_is_scored(r, i) != 0;
    return n;
}

static void print_figures(const char *what, const struct sand_error_figures *all, FILE *out)
{
    fprintf(out, "%s: %zu rows", what, all->n);
    if (all->n > 0)
        fprintf(out, ", median %.2f %%, mean %.2f %%, bias %+.2f %%", 100 * all->median,
                100 * all->mean, 100 * all->bias);
    fputc('\n', out);
}

// Dense models and mixtures of experts apart: releases alone move the latter by 14 %.
static enum sand_rc print_kind(const struct sand_step_results *r, int experts, uint8_t *in,
                               FILE *out)
{
    for (size_t i = 0; i < r->n; i++)
        in[i] = sand_step_is_scored(r, i) && (r->cases[i].model.experts.n > 0) == experts;
    return print_line(r, experts ? "mixtures of experts" : "dense", in, out);
}

// By source, by GPU, by kind of model, all.
static enum sand_rc print_tables(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    SAND_TRY(print_sources(r, in, out));
    SAND_TRY(print_gpus(r, in, out));
    print_heading(out, "by model");
    SAND_TRY(print_kind(r, 0, in, out));
    SAND_TRY(print_kind(r, 1, in, out));
    select_stack(r, NULL, in);
    return print_line(r, "all", in, out);
}

// ---- left out -----------------------------------------------------------------------------------

static void print_refit(const struct sand_step_leave *leave, FILE *out)
{
    fprintf(
        out,
        "\nleft out: %zu %s, one after the other; %zu constants refitted to the other rows, then\n"
        "the rows left out predicted at flow level with what came out. Refitted:\n",
        leave->n_groups, leave->by == SAND_LEAVE_SOURCE ? "sources" : "GPU generations",
        leave->n_constants);
    for (int c = 0; c < SAND_CONSTANT_CLASSES; c++)
        if (leave->of_class[c] > 0)
            fprintf(out, "  %3zu  %s\n", leave->of_class[c],
                    sand_step_constant_class_name((enum sand_step_constant_class)c));
    fprintf(
        out,
        "least squares on logarithms, errors above 2 %% linear, sources above 10 rows as 10; a\n"
        "constant without a row left is the mean of its class (docs/validation.md). Fitted to all\n"
        "rows the mean error is %.2f %% (linearised); no other constant moved by more than %.0f "
        "%%.\n",
        100 * leave->fitted_mean, 100 * (exp(leave->moved) - 1));
}

static enum sand_rc print_left_out(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    struct sand_step_results left = *r;
    struct sand_error_figures all;
    left.predictions = r->left_out;
    print_refit(r->leave, out);
    SAND_TRY(print_tables(&left, in, out));
    SAND_TRY(figure_out(&left, in, &all));
    fputc('\n', out);
    print_figures(r->leave->by == SAND_LEAVE_SOURCE ? "leave one source out"
                                                    : "leave one GPU generation out",
                  &all, out);
    return SAND_OK;
}

// ---- all together -------------------------------------------------------------------------------

static enum sand_rc print_report(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    struct sand_error_figures all;
    SAND_TRY(print_tables(r, in, out));
    SAND_TRY(figure_out(r, in, &all));
    SAND_TRY(print_rankings(r, out));
    if (r->left_out)
        SAND_TRY(print_left_out(r, in, out));
    SAND_TRY(print_worst(r, out));
    print_ill(r, out);
    print_skipped(r, out);
    print_bad_cells(r, out);
    fputc('\n', out);
    print_figures("overall", &all, out);
    return SAND_OK;
}

enum sand_rc sand_step_report_print(const struct sand_step_results *r, FILE *out)
{
    uint8_t *in = sand_calloc(r->n, 1);
    const enum sand_rc rc = in == NULL ? SAND_ERR_NOMEM : print_report(r, in, out);
    sand_free(in);
    return rc;
}

// ---- CSV ----------------------------------------------------------------------------------------

static void write_text(FILE *out, const char *text)
{
    fputs(",\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_number(FILE *out, double value)
{
    if (isnan(value) || value == 0)
        fputc(',', out);
    else
        fprintf(out, ",%.9g", value);
}

void sand_step_report_csv(const struct sand_step_results *r, FILE *out)
{
    static const char *const classes[] = {"scored", "listed", "skipped"};
    fputs("id,class,stack,machine,measured_s,predicted_s,error,compute_s,recompute_s,exposed_tp_s,"
          "exposed_pp_s,exposed_dp_s,bubble_s,why",
          out);
    fputs(r->left_out ? ",left_out_s,left_out_error\n" : "\n", out);
    for (size_t i = 0; i < r->n; i++) {
        const struct sand_step_case *c = &r->cases[i];
        const struct sand_step_prediction *p = &r->predictions[i];
        const double numbers[] = {c->measured_s,   p->step_s,       sand_step_error(r, i),
                                  p->compute_s,    p->recompute_s,  p->exposed_tp_s,
                                  p->exposed_pp_s, p->exposed_dp_s, p->bubble_s};
        fprintf(out, "%s,%s", c->row->cell[SAND_STEP_ID], classes[c->class]);
        write_text(out, c->stack ? c->stack->id : "");
        write_text(out, c->machine ? c->machine->id : "");
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            write_number(out, numbers[k]);
        write_text(out, reason(r, i) ? reason(r, i) : c->why);
        if (r->left_out) {
            struct sand_step_results left = *r;
            left.predictions = r->left_out;
            write_number(out, r->left_out[i].step_s);
            write_number(out, sand_step_error(&left, i));
        }
        fputc('\n', out);
    }
}
