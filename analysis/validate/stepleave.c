// One fit per group that is left out, one more pass over all rows.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepleave.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "stepfit.h"

enum { FULL_SOURCE = 10 };

static int same_generation(const struct sand_gpu_type *a, const struct sand_gpu_type *b)
{
    return a->peak_bf16_flops == b->peak_bf16_flops && a->peak_fp8_flops == b->peak_fp8_flops &&
           a->peak_fp4_flops == b->peak_fp4_flops;
}

int sand_step_same_group(enum sand_leave_out by, const struct sand_step_case *a,
                         const struct sand_step_case *b)
{
    return by == SAND_LEAVE_SOURCE ? a->stack == b->stack
                                   : same_generation(a->node.gpu, b->node.gpu);
}

struct leaving {
    const struct sand_step_pass *pass;
    const struct sand_step_results *results;
    const double *slopes;
    double *residual, *weight, *usual_weight; // per row
    double *log_factors;                      // rows x constants
    double *found;                            // constants
};

static enum sand_rc open_leaving(struct leaving *l)
{
    const size_t n = l->pass->n;
    l->residual = sand_calloc(n, sizeof *l->residual);
    l->weight = sand_calloc(n, sizeof *l->weight);
    l->usual_weight = sand_calloc(n, sizeof *l->usual_weight);
    l->log_factors = sand_calloc(n * l->pass->constants->n, sizeof *l->log_factors);
    l->found = sand_calloc(l->pass->constants->n, sizeof *l->found);
    return l->residual && l->weight && l->usual_weight && l->log_factors && l->found
               ? SAND_OK
               : SAND_ERR_NOMEM;
}

static void close_leaving(struct leaving *l)
{
    sand_free(l->residual);
    sand_free(l->weight);
    sand_free(l->usual_weight);
    sand_free(l->log_factors);
    sand_free(l->found);
}

static void weigh(struct leaving *l)
{
    const struct sand_step_results *r = l->results;
    for (size_t i = 0; i < r->n; i++) {
        double n = 0;
        if (!sand_step_is_scored(r, i))
            continue;
        for (size_t k = 0; k < r->n; k++)
            n += sand_step_is_scored(r, k) && r->cases[k].stack == r->cases[i].stack;
        l->usual_weight[i] = n > FULL_SOURCE ? FULL_SOURCE / n : 1;
        l->residual[i] = log(r->cases[i].measured_s) - log(r->predictions[i].step_s);
    }
}

static struct sand_step_fit fit_of(const struct leaving *l)
{
    return (struct sand_step_fit){.constants = l->pass->constants,
                                  .residual = l->residual,
                                  .slopes = l->slopes,
                                  .weight = l->weight,
                                  .n_rows = l->pass->n};
}

// Fits without the group of row `first` and notes the factors for its rows.
static enum sand_rc leave_group(struct leaving *l, size_t first, struct sand_step_leave *leave)
{
    const struct sand_step_case *cases = l->results->cases;
    const size_t n = l->pass->constants->n;
    for (size_t i = 0; i < l->pass->n; i++)
        l->weight[i] =
            l->usual_weight[i] > 0 && !sand_step_same_group(leave->by, &cases[i], &cases[first])
                ? l->usual_weight[i]
                : 0;
    const struct sand_step_fit fit = fit_of(l);
    SAND_TRY(sand_step_fit_solve(&fit, l->found));
    for (size_t i = first; i < l->pass->n; i++)
        if (l->usual_weight[i] > 0 && sand_step_same_group(leave->by, &cases[i], &cases[first]))
            memcpy(&l->log_factors[i * n], l->found, n * sizeof *l->found);
    for (size_t k = 0; k < n; k++)
        if (fabs(l->found[k]) > leave->moved && sand_step_fit_speaks(&fit, k))
            leave->moved = fabs(l->found[k]);
    leave->n_groups++;
    return SAND_OK;
}

static int is_first(const struct leaving *l, enum sand_leave_out by, size_t i)
{
    for (size_t k = 0; k < i && l->usual_weight[i] > 0; k++)
        if (l->usual_weight[k] > 0 &&
            sand_step_same_group(by, &l->results->cases[k], &l->results->cases[i]))
            return 0;
    return l->usual_weight[i] > 0;
}

static enum sand_rc fit_all(struct leaving *l, struct sand_step_leave *leave)
{
    const size_t n = l->pass->constants->n;
    double sum = 0, rows = 0;
    memcpy(l->weight, l->usual_weight, l->pass->n * sizeof *l->weight);
    const struct sand_step_fit fit = fit_of(l);
    SAND_TRY(sand_step_fit_solve(&fit, l->found));
    for (size_t i = 0; i < l->pass->n; i++) {
        double error = l->residual[i];
        for (size_t k = 0; k < n; k++)
            error -= l->slopes[i * n + k] * l->found[k];
        sum += l->weight[i] > 0 ? fabs(exp(-error) - 1) : 0;
        rows += l->weight[i] > 0;
    }
    leave->fitted_mean = rows > 0 ? sum / rows : NAN;
    return SAND_OK;
}

// Counts the constants that rows speak for.
static void describe(struct leaving *l, enum sand_leave_out by, struct sand_step_leave *leave)
{
    *leave = (struct sand_step_leave){.by = by};
    memcpy(l->weight, l->usual_weight, l->pass->n * sizeof *l->weight);
    const struct sand_step_fit fit = fit_of(l);
    for (size_t k = 0; k < l->pass->constants->n; k++) {
        if (!sand_step_fit_speaks(&fit, k))
            continue;
        leave->n_constants++;
        leave->of_class[l->pass->constants->list[k].class]++;
    }
}

enum sand_rc sand_step_leave_out(const struct sand_step_pass *pass,
                                 const struct sand_step_results *results, const double *slopes,
                                 enum sand_leave_out by, struct sand_step_prediction *predictions,
                                 struct sand_step_leave *leave, struct sand_diag *diag)
{
    struct leaving l = {.pass = pass, .results = results, .slopes = slopes};
    enum sand_rc rc = open_leaving(&l);
    if (rc == SAND_OK) {
        weigh(&l);
        describe(&l, by, leave);
        rc = fit_all(&l, leave);
    }
    for (size_t i = 0; rc == SAND_OK && i < pass->n; i++)
        if (is_first(&l, by, i))
            rc = leave_group(&l, i, leave);
    struct sand_step_pass again = *pass;
    again.log_factors = l.log_factors;
    if (rc == SAND_OK)
        rc = sand_step_predict(&again, predictions, NULL, diag);
    close_leaving(&l);
    return rc == SAND_ERR_NOMEM ? sand_fail(diag, rc, "out of memory") : rc;
}

enum sand_rc sand_step_refit(const struct sand_step_pass *pass,
                             const struct sand_step_results *results, const double *slopes,
                             double *log_factors, struct sand_diag *diag)
{
    struct leaving l = {.pass = pass, .results = results, .slopes = slopes};
    enum sand_rc rc = open_leaving(&l);
    if (rc == SAND_OK) {
        weigh(&l);
        for (size_t i = 0; i < pass->n; i++)
            l.weight[i] = l.usual_weight[i] > 0;
        const struct sand_step_fit fit = fit_of(&l);
        rc = sand_step_fit_solve(&fit, log_factors);
    }
    close_leaving(&l);
    return rc == SAND_ERR_NOMEM ? sand_fail(diag, rc, "out of memory") : rc;
}

void sand_step_refit_print(const struct sand_step_constants *constants, const double *log_factors,
                           FILE *out)
{
    fprintf(out, "\n%-30s %-18s %-24s %12s %12s %8s\n", "constant refitted to all rows",
            "attribute", "first of", "catalogue", "refitted", "factor");
    for (size_t k = 0; k < constants->n; k++) {
        const struct sand_step_constant *c = &constants->list[k];
        fprintf(out, "%-30s %-18s %-24s %12.5g %12.5g %8.3f\n",
                sand_step_constant_class_name(c->class), c->name, c->owner, c->value,
                c->value * exp(log_factors[k]), exp(log_factors[k]));
    }
}
