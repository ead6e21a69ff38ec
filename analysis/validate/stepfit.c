// Iterated least squares on logarithms: the normal equations of constants and class means, solved
// by Cholesky's method. SPDX-License-Identifier: GPL-2.0-or-later
#include "stepfit.h"

#include <math.h>

#include "mem.h"

enum { ROUNDS = 12 };
static const double ROW_NOISE = 0.10, SQUARE_BELOW = 0.02;

static double spread_of(enum sand_step_constant_class class)
{
    static const double spreads[SAND_CONSTANT_CLASSES] = {
        [SAND_CONSTANT_GEMM_16] = 0.12, [SAND_CONSTANT_GEMM_8] = 0.12,
        [SAND_CONSTANT_GEMM_4] = 0.12,  [SAND_CONSTANT_ATTENTION] = 0.20,
        [SAND_CONSTANT_SCALEUP] = 0.10, [SAND_CONSTANT_NETWORK] = 0.10,
        [SAND_CONSTANT_TP] = 0.20,      [SAND_CONSTANT_TP_BARE] = 0.20,
        [SAND_CONSTANT_DP] = 0.20,      [SAND_CONSTANT_EP] = 0.50,
        [SAND_CONSTANT_LAYER] = 0.15,   [SAND_CONSTANT_KERNEL] = 0.10};
    return spreads[class];
}

// Unknowns: the constants, then the means of the classes.
struct system {
    const struct sand_step_fit *fit;
    size_t n;       // unknowns
    double *matrix; // n x n
    double *right;  // n; the solution afterwards
    size_t members[SAND_CONSTANT_CLASSES];
    double centre[SAND_CONSTANT_CLASSES]; // present mean of those that rows speak for
};

static double *at(const struct system *s, size_t row, size_t column)
{
    return &s->matrix[row * s->n + column];
}

int sand_step_fit_speaks(const struct sand_step_fit *fit, size_t k)
{
    for (size_t i = 0; i < fit->n_rows; i++)
        if (fit->weight[i] > 0 && fit->slopes[i * fit->constants->n + k] != 0)
            return 1;
    return 0;
}

static void look_at_classes(struct system *s)
{
    size_t spoken[SAND_CONSTANT_CLASSES] = {0};
    for (size_t k = 0; k < s->fit->constants->n; k++) {
        const struct sand_step_constant *c = &s->fit->constants->list[k];
        s->members[c->class]++;
        if (!sand_step_fit_speaks(s->fit, k))
            continue;
        spoken[c->class]++;
        s->centre[c->class] += log(c->share);
    }
    for (int c = 0; c < SAND_CONSTANT_CLASSES; c++)
        if (spoken[c] > 0)
            s->centre[c] /= (double)spoken[c];
        else
            s->members[c] = 0; // no mean to go by
}

static int has_mean(const struct system *s, enum sand_step_constant_class class)
{
    return class != SAND_CONSTANT_KERNEL && s->members[class] > 1;
}

static void add_prior(struct system *s, size_t k)
{
    const struct sand_step_constant *c = &s->fit->constants->list[k];
    const double w = 1 / (spread_of(c->class) * spread_of(c->class));
    const size_t mean = s->fit->constants->n + c->class;
    *at(s, k, k) += w;
    if (!has_mean(s, c->class))
        return;
    *at(s, mean, mean) += w;
    *at(s, k, mean) -= w;
    *at(s, mean, k) -= w;
    s->right[k] -= w * log(c->share);
    s->right[mean] += w * log(c->share);
}

static void add_mean_prior(struct system *s, enum sand_step_constant_class class)
{
    const double w = 1 / (spread_of(class) * spread_of(class));
    const size_t mean = s->fit->constants->n + class;
    *at(s, mean, mean) += w;
    s->right[mean] += w * s->centre[class];
}

static double error_of(const struct sand_step_fit *fit, size_t i, const double *x)
{
    const size_t n = fit->constants->n;
    double error = fit->residual[i];
    for (size_t k = 0; k < n; k++)
        error -= fit->slopes[i * n + k] * x[k];
    return error;
}

static void add_row(struct system *s, size_t i, const double *x)
{
    const struct sand_step_fit *fit = s->fit;
    const size_t n = fit->constants->n;
    const double error = fabs(error_of(fit, i, x));
    const double w = fit->weight[i] / (ROW_NOISE * (error > SQUARE_BELOW ? error : SQUARE_BELOW));
    const double *slopes = &fit->slopes[i * n];
    for (size_t a = 0; a < n; a++) {
        if (slopes[a] == 0)
            continue;
        s->right[a] += w * slopes[a] * fit->residual[i];
        for (size_t b = 0; b < n; b++)
            *at(s, a, b) += w * slopes[a] * slopes[b];
    }
}

// In place; the matrix is symmetric and, with a trace of weight on the diagonal, positive definite.
static enum sand_rc solve(struct system *s)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        *at(s, i, i) += 1e-9;
        for (size_t j = 0; j <= i; j++) {
            double sum = *at(s, i, j);
            for (size_t k = 0; k < j; k++)
                sum -= *at(s, i, k) * *at(s, j, k);
            if (i == j && !(sum > 0))
                return SAND_ERR_INTERNAL;
            *at(s, i, j) = i == j ? sqrt(sum) : sum / *at(s, j, j);
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            s->right[i] -= *at(s, i, k) * s->right[k];
        s->right[i] /= *at(s, i, i);
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            s->right[i] -= *at(s, k, i) * s->right[k];
        s->right[i] /= *at(s, i, i);
    }
    return SAND_OK;
}

static enum sand_rc improve(struct system *s, double *x)
{
    for (size_t i = 0; i < s->n * s->n; i++)
        s->matrix[i] = 0;
    for (size_t i = 0; i < s->n; i++)
        s->right[i] = 0;
    for (size_t k = 0; k < s->fit->constants->n; k++)
        add_prior(s, k);
    for (int c = 0; c < SAND_CONSTANT_CLASSES; c++)
        add_mean_prior(s, (enum sand_step_constant_class)c);
    for (size_t i = 0; i < s->fit->n_rows; i++)
        if (s->fit->weight[i] > 0)
            add_row(s, i, x);
    SAND_TRY(solve(s));
    for (size_t k = 0; k < s->fit->constants->n; k++)
        x[k] = s->right[k];
    return SAND_OK;
}

enum sand_rc sand_step_fit_solve(const struct sand_step_fit *fit, double *log_factors)
{
    struct system s = {.fit = fit, .n = fit->constants->n + SAND_CONSTANT_CLASSES};
    look_at_classes(&s);
    s.matrix = sand_calloc(s.n * s.n, sizeof *s.matrix);
    s.right = sand_calloc(s.n, sizeof *s.right);
    enum sand_rc rc = s.matrix == NULL || s.right == NULL ? SAND_ERR_NOMEM : SAND_OK;
    for (size_t k = 0; k < fit->constants->n; k++)
        log_factors[k] = 0;
    for (int round = 0; rc == SAND_OK && round < ROUNDS; round++)
        rc = improve(&s, log_factors);
    sand_free(s.matrix);
    sand_free(s.right);
    return rc;
}
