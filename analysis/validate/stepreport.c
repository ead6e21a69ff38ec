// Tables over predicted rows. All sums run in the order of the file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepreport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "stepleave.h"
#include "steprank.h"

enum { N_WORST = 15 };

// ---- what the rows answer -----------------------------------------------------------------------

static double measured_s(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    return r->cases[i].measured_s;
}

static double predicted_s(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    return r->predictions[i].step_s;
}

static int is_specified(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    return r->cases[i].class == SAND_STEP_SCORED;
}

static int is_equal(const void *results, size_t i, size_t j)
{
    static const uint8_t output[SAND_STEP_COLUMNS] = {
        [SAND_STEP_ID] = 1,     [SAND_STEP_SOURCE] = 1,  [SAND_STEP_CONFIRMED] = 1,
        [SAND_STEP_MODEL] = 1,  [SAND_STEP_NETWORK] = 1, [SAND_STEP_TIME] = 1,
        [SAND_STEP_TOKENS] = 1, [SAND_STEP_TFLOPS] = 1};
    const struct sand_step_results *r = results;
    const struct sand_step_case *a = &r->cases[i], *b = &r->cases[j];
    if (a->stack != b->stack || a->machine != b->machine ||
        a->model.n_layers != b->model.n_layers || a->model.hidden != b->model.hidden ||
        a->model.ffn_hidden != b->model.ffn_hidden || a->model.n_heads != b->model.n_heads)
        return 0; // widths may come from the model's name
    for (int c = 0; c < SAND_STEP_COLUMNS; c++)
        if (!output[c] && strcmp(a->row->cell[c], b->row->cell[c]) != 0)
            return 0;
    return 1;
}

static const char *id(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    return r->cases[i].row->cell[SAND_STEP_ID];
}

static const char *reason(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    if (r->cases[i].class == SAND_STEP_SKIPPED)
        return r->cases[i].why;
    return r->predictions[i].step_s > 0 ? NULL : r->predictions[i].why;
}

static void print_row(const void *results, size_t i, const char *text, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(results);
    char predicted[40] = "no prediction";
    if (predicted_s(results, i) > 0)
        snprintf(predicted, sizeof predicted, "%9.3f s %+6.1f%%", predicted_s(results, i),
                 100 * sand_predicted_error(&rows, i));
    fprintf(out, "  %-22s %9.3f s %19s  %s\n", id(results, i), measured_s(results, i), predicted,
            text);
}

struct sand_predicted_rows sand_step_predicted(const struct sand_step_results *r)
{
    static const struct sand_predicted_kind kind = {.measured_s = measured_s,
                                                    .predicted_s = predicted_s,
                                                    .is_specified = is_specified,
                                                    .is_equal = is_equal,
                                                    .id = id,
                                                    .reason = reason,
                                                    .print = print_row};
    return (struct sand_predicted_rows){.kind = &kind, .results = r, .n = r->n};
}

int sand_step_is_scored(const struct sand_step_results *r, size_t i)
{
    return is_specified(r, i) && predicted_s(r, i) > 0;
}

// ---- a selection of rows ------------------------------------------------------------------------

static void select_stack(const struct sand_step_results *r, const struct sand_step_stack *stack,
                         uint8_t *in)
{
    for (size_t i = 0; i < r->n; i++)
        in[i] = sand_step_is_scored(r, i) && (stack == NULL || r->cases[i].stack == stack);
}

// The floor of a stack's scored rows, or of all (NULL); n_rows 0: no two rows are equal.
static enum sand_rc find_floor(const struct sand_step_results *r,
                               const struct sand_step_stack *stack, struct sand_noise_floor *floor)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    uint8_t *in = sand_calloc(r->n, 1);
    if (in == NULL)
        return SAND_ERR_NOMEM;
    select_stack(r, stack, in);
    const enum sand_rc rc = sand_predicted_floor(&rows, in, floor);
    sand_free(in);
    return rc;
}

// ---- tables -------------------------------------------------------------------------------------

static enum sand_rc print_sources(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    sand_predicted_heading("by source", out);
    for (size_t s = 0; s < r->rules->n_stacks; s++) {
        select_stack(r, &r->rules->stacks[s], in);
        SAND_TRY(sand_predicted_line(&rows, r->rules->stacks[s].id, in, out));
    }
    return SAND_OK;
}

static enum sand_rc print_gpus(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    sand_predicted_heading("by GPU", out);
    for (size_t m = 0; m < r->rules->n_machines; m++) {
        const struct sand_gpu_type *gpu = r->rules->machines[m].node->gpu;
        int seen = 0;
        for (size_t k = 0; k < m && !seen; k++)
            seen = r->rules->machines[k].node->gpu == gpu;
        for (size_t i = 0; i < r->n; i++)
            in[i] = sand_step_is_scored(r, i) && r->cases[i].machine->node->gpu == gpu;
        if (!seen)
            SAND_TRY(sand_predicted_line(&rows, gpu->id, in, out));
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
    struct sand_noise_floor of_all, floor;
    SAND_TRY(find_floor(r, NULL, &of_all));
    struct sand_step_ranking all = {0};
    const double usual = of_all.n_rows > 0 ? of_all.mean : 0;
    fprintf(out, "\n%-24s %5s %8s  (differ in layout alone, by more than twice the floor)\n",
            "which layout is faster", "pairs", "right");
    for (size_t s = 0; s < r->rules->n_stacks; s++) {
        const struct sand_step_stack *stack = &r->rules->stacks[s];
        SAND_TRY(find_floor(r, stack, &floor));
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

static const char *model_of(const void *results, size_t i)
{
    const struct sand_step_results *r = results;
    return r->cases[i].row->cell[SAND_STEP_MODEL];
}

// Their times are derived from FLOP/s, counted as their stacks' rules say.
static enum sand_rc print_apart(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += in[i] = r->cases[i].class == SAND_STEP_APART;
    if (n == 0)
        return SAND_OK;
    fprintf(out, "\nfrom FLOP/s as their source counts them, not in the figures above and below\n");
    for (size_t i = 0; i < r->n; i++)
        if (in[i])
            print_row(r, i, r->cases[i].why, out);
    for (size_t i = 0; i < r->n; i++)
        in[i] = in[i] && predicted_s(r, i) > 0;
    sand_predicted_heading("from FLOP/s", out);
    SAND_TRY(sand_predicted_line(&rows, "all of them", in, out));
    select_stack(r, NULL, in);
    return SAND_OK;
}

static void print_ill(const struct sand_step_results *r, FILE *out)
{
    fprintf(out, "\nill specified or contradicted, listed without score\n");
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].class == SAND_STEP_ILL)
            print_row(r, i, r->cases[i].why, out);
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

// Dense models and mixtures of experts apart: releases alone move the latter by 14 %.
static enum sand_rc print_kind(const struct sand_step_results *r, int experts, uint8_t *in,
                               FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    for (size_t i = 0; i < r->n; i++)
        in[i] = sand_step_is_scored(r, i) && (r->cases[i].model.experts.n > 0) == experts;
    return sand_predicted_line(&rows, experts ? "mixtures of experts" : "dense", in, out);
}

// By source, by GPU, by kind of model, all.
static enum sand_rc print_tables(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    SAND_TRY(print_sources(r, in, out));
    SAND_TRY(print_gpus(r, in, out));
    sand_predicted_heading("by model", out);
    SAND_TRY(print_kind(r, 0, in, out));
    SAND_TRY(print_kind(r, 1, in, out));
    select_stack(r, NULL, in);
    return sand_predicted_line(&rows, "all", in, out);
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
    const struct sand_predicted_rows rows = sand_step_predicted(&left);
    print_refit(r->leave, out);
    SAND_TRY(print_tables(&left, in, out));
    SAND_TRY(sand_predicted_figures(&rows, in, &all));
    fputc('\n', out);
    sand_predicted_overall(r->leave->by == SAND_LEAVE_SOURCE ? "leave one source out"
                                                             : "leave one GPU generation out",
                           &all, out);
    return SAND_OK;
}

// ---- all together -------------------------------------------------------------------------------

static enum sand_rc print_report(const struct sand_step_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_step_predicted(r);
    struct sand_error_figures all;
    SAND_TRY(print_tables(r, in, out));
    SAND_TRY(sand_predicted_figures(&rows, in, &all));
    SAND_TRY(print_rankings(r, out));
    if (r->left_out)
        SAND_TRY(print_left_out(r, in, out));
    fprintf(out, "\nworst rows (measured, predicted, error)\n");
    SAND_TRY(sand_predicted_worst(&rows, N_WORST, model_of, out));
    SAND_TRY(print_apart(r, in, out));
    print_ill(r, out);
    sand_predicted_skipped(&rows, out);
    print_bad_cells(r, out);
    fputc('\n', out);
    sand_predicted_overall("overall", &all, out);
    return SAND_OK;
}

enum sand_rc sand_step_report_print(const struct sand_step_results *r, FILE *out)
{
    uint8_t *in = sand_calloc(r->n, 1);
    const enum sand_rc rc = in == NULL ? SAND_ERR_NOMEM : print_report(r, in, out);
    sand_free(in);
    return rc;
}
