// Gauss-Newton over the constants of links and kernels.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collfit.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mem.h"

enum { MOST_CONSTANTS = 512, MOST_ENTRIES = 64, ROUNDS = 12 };

// ---- which constants ----------------------------------------------------------------------------

struct field {
    const char *name;
    size_t offset;
    double prior; // standard deviation of the logarithm
    double most;  // no fit goes beyond; 0: no bound
};
#define FIELD(type, member, name, prior, most)                                                     \
    {                                                                                              \
        name, offsetof(struct type, member), prior, most                                           \
    }

static const struct field link_fields[] = {
    FIELD(sand_link_type, alone, "alone", 0.04, 0.98),
    FIELD(sand_link_type, multicast, "multicast", 0.05, 0.98),
    FIELD(sand_link_type, launch_s, "launch_latency", 0.7, 0),
    FIELD(sand_link_type, hop_s, "hop_latency", 0.7, 0),
    FIELD(sand_link_type, tree_channel_Bps, "tree_channel", 0.03, 0),
    FIELD(sand_link_type, peer_latency_s, "peer_latency", 0.3, 0)};
// Latencies of LL and LL128 are NCCL's; those of Simple hold a chunk's time and differ by release.
static const struct field kernel_fields[] = {
    FIELD(sand_coll_kernel, chunk_B, "chunk", 0.5, 0),
    FIELD(sand_coll_kernel, chunk_s, "chunk_latency", 0.3, 0),
    FIELD(sand_coll_kernel, scaleup_s, "scaleup_hop", 0.3, 0)};
static const struct field whole_fields[] = {
    FIELD(sand_collectives, tree_depth, "tree_depth", 0.2, 1),
    FIELD(sand_collectives, p2p_rate, "p2p_rate", 0.05, 1),
    FIELD(sand_collectives, incast, "incast", 0.3, 1)};

// What several entries give the same value is one constant.
struct constant {
    double *entries[MOST_ENTRIES];
    size_t n;
    double start, prior, most;
    const char *name;
};

struct constants {
    size_t n;
    struct constant list[MOST_CONSTANTS];
};

static double value_of(const struct constant *c)
{
    return *c->entries[0];
}

static void set(const struct constant *c, double value)
{
    for (size_t i = 0; i < c->n; i++)
        *c->entries[i] = value;
}

// NULL if there is no room.
static struct constant *same(struct constants *all, const struct field *field, double value)
{
    for (size_t i = 0; i < all->n; i++) {
        struct constant *c = &all->list[i];
        if (c->name == field->name && !(c->start < value || c->start > value) &&
            c->n < MOST_ENTRIES)
            return c;
    }
    if (all->n == MOST_CONSTANTS)
        return NULL;
    struct constant *c = &all->list[all->n++];
    *c = (struct constant){
        .start = value, .prior = field->prior, .most = field->most, .name = field->name};
    return c;
}

static void add(struct constants *all, void *entry, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *value = (double *)(void *)((char *)entry + fields[i].offset);
        struct constant *c = *value > 0 ? same(all, &fields[i], *value) : NULL;
        if (c != NULL)
            c->entries[c->n++] = value;
    }
}
#define ADD(all, entry, fields) add(all, entry, fields, sizeof(fields) / sizeof(fields)[0])

static void collect(struct sand_coll_model *model, struct constants *all)
{
    all->n = 0;
    for (size_t i = 0; i < model->n_links; i++)
        ADD(all, &model->links[i], link_fields);
    for (size_t i = 0; i < model->constants.n_kernels; i++)
        if (model->kernels[i].chunk_B > 0 || model->kernels[i].chunk_s > 0 ||
            model->kernels[i].algorithm == SAND_ALG_SYMMETRIC)
            ADD(all, &model->kernels[i], kernel_fields);
    ADD(all, &model->constants, whole_fields);
}

// ---- least squares ------------------------------------------------------------------------------

struct fit {
    const struct sand_coll_model *model;
    const struct sand_coll_case *cases;
    size_t n;
    const uint8_t *in;
    struct constants constants;
    double *residual, *moved; // logarithms of predicted over measured
    double *slope;            // per constant of a row: constants x rows
    double *matrix, *right;
};

static void residuals(const struct fit *f, double *out)
{
    for (size_t i = 0; i < f->n; i++) {
        struct sand_coll_terms terms;
        out[i] = 0;
        if (f->in[i] && sand_coll_case_predict(f->model, &f->cases[i], &terms) == SAND_OK)
            out[i] = log(terms.time_s / f->cases[i].measured_s);
    }
}

static void slopes(struct fit *f)
{
    const double step = 1e-4;
    residuals(f, f->residual);
    for (size_t k = 0; k < f->constants.n; k++) {
        const struct constant *c = &f->constants.list[k];
        const double value = value_of(c);
        set(c, value * (1 + step));
        residuals(f, f->moved);
        set(c, value);
        for (size_t i = 0; i < f->n; i++)
            f->slope[k * f->n + i] = (f->moved[i] - f->residual[i]) / log1p(step);
    }
}

static double weight(double residual)
{
    const double size = fabs(residual);
    return 1 / (0.03 * (size > 0.03 ? size : 0.03));
}

static void normal_equations(struct fit *f)
{
    const size_t n = f->constants.n;
    for (size_t a = 0; a < n; a++) {
        const struct constant *c = &f->constants.list[a];
        const double *sa = &f->slope[a * f->n];
        const double precision = 1 / (c->prior * c->prior);
        f->right[a] = -precision * log(value_of(c) / c->start);
        for (size_t i = 0; i < f->n; i++)
            f->right[a] -= weight(f->residual[i]) * sa[i] * f->residual[i];
        for (size_t b = 0; b <= a; b++) {
            const double *sb = &f->slope[b * f->n];
            double sum = a == b ? precision : 0;
            for (size_t i = 0; i < f->n; i++)
                sum += weight(f->residual[i]) * sa[i] * sb[i];
            f->matrix[a * n + b] = sum;
        }
    }
}

// Cholesky in place, then both triangles; the matrix is positive definite by its priors.
static void solve(struct fit *f)
{
    const size_t n = f->constants.n;
    double *m = f->matrix, *x = f->right;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = m[a * n + b];
            for (size_t k = 0; k < b; k++)
                sum -= m[a * n + k] * m[b * n + k];
            m[a * n + b] = a == b ? sqrt(sum) : sum / m[b * n + b];
        }
    for (size_t a = 0; a < n; a++) {
        for (size_t k = 0; k < a; k++)
            x[a] -= m[a * n + k] * x[k];
        x[a] /= m[a * n + a];
    }
    for (size_t a = n; a-- > 0;) {
        for (size_t k = a + 1; k < n; k++)
            x[a] -= m[k * n + a] * x[k];
        x[a] /= m[a * n + a];
    }
}

// No constant moves by more than a fifth in a round, as choices of kernels change on the way.
static void take_step(struct fit *f)
{
    for (size_t k = 0; k < f->constants.n; k++) {
        const struct constant *c = &f->constants.list[k];
        const double step = f->right[k];
        const double value = value_of(c) * exp(step > 0.2 ? 0.2 : step < -0.2 ? -0.2 : step);
        set(c, c->most > 0 && value > c->most ? c->most : value);
    }
}

static enum sand_rc run(struct fit *f, struct sand_coll_model *model)
{
    collect(model, &f->constants);
    const size_t k = f->constants.n;
    f->residual = sand_calloc(f->n, sizeof *f->residual);
    f->moved = sand_calloc(f->n, sizeof *f->moved);
    f->slope = sand_calloc(k * f->n, sizeof *f->slope);
    f->matrix = sand_calloc(k * k, sizeof *f->matrix);
    f->right = sand_calloc(k, sizeof *f->right);
    const int ok = f->residual && f->moved && f->slope && f->matrix && f->right;
    for (int round = 0; ok && round < ROUNDS; round++) {
        slopes(f);
        normal_equations(f);
        solve(f);
        take_step(f);
    }
    sand_free(f->residual);
    sand_free(f->moved);
    sand_free(f->slope);
    sand_free(f->matrix);
    sand_free(f->right);
    return ok ? SAND_OK : SAND_ERR_NOMEM;
}

enum sand_rc sand_coll_fit(struct sand_coll_model *model, const struct sand_coll_case *cases,
                           size_t n, const uint8_t *in)
{
    struct fit *f = sand_calloc(1, sizeof *f);
    if (f == NULL)
        return SAND_ERR_NOMEM;
    f->model = model;
    f->cases = cases;
    f->n = n;
    f->in = in;
    const enum sand_rc rc = run(f, model);
    sand_free(f);
    return rc;
}

// ---- leaving out --------------------------------------------------------------------------------

struct leaving {
    struct sand_coll_model *model, *saved;
    const struct sand_coll_case *cases;
    size_t n;
    struct sand_coll_terms *terms, *own; // as the catalogue stands; with its source left out
    uint8_t *in, *done;
};

static void predict_all(const struct leaving *l, struct sand_coll_terms *terms)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->cases[i].class != SAND_COLL_SCORED ||
            sand_coll_case_predict(l->model, &l->cases[i], &terms[i]) != SAND_OK)
            terms[i] = (struct sand_coll_terms){0};
}

static enum sand_rc leave_one(struct leaving *l, const char *source,
                              struct sand_coll_terms *scratch, FILE *out)
{
    const struct sand_coll_results r = {l->model, l->cases, scratch, l->n};
    const struct sand_predicted_rows rows = sand_coll_predicted(&r);
    struct sand_error_figures f;
    for (size_t i = 0; i < l->n; i++)
        l->in[i] = l->terms[i].time_s > 0 && strcmp(l->cases[i].source, source) != 0;
    *l->model = *l->saved;
    l->model->constants.kernels = l->model->kernels;
    SAND_TRY(sand_coll_fit(l->model, l->cases, l->n, l->in));
    predict_all(l, scratch);
    for (size_t i = 0; i < l->n; i++) {
        l->in[i] = l->terms[i].time_s > 0 && !l->in[i];
        if (l->in[i]) {
            l->own[i] = scratch[i];
            l->done[i] = 1;
        }
    }
    SAND_TRY(sand_predicted_figures(&rows, l->in, &f));
    fprintf(out, "%-24s %5zu %7.1f%% %7.1f%% %+7.1f%%\n", source, f.n, 100 * f.median, 100 * f.mean,
            100 * f.bias);
    return SAND_OK;
}

static enum sand_rc leave_each(struct leaving *l, struct sand_coll_terms *scratch, FILE *out)
{
    const struct sand_coll_results r = {l->model, l->cases, l->own, l->n};
    const struct sand_predicted_rows rows = sand_coll_predicted(&r);
    struct sand_error_figures all;
    fprintf(out, "%-24s %5s %8s %8s %8s\n", "source left out", "rows", "median", "mean", "bias");
    predict_all(l, l->terms);
    for (size_t i = 0; i < l->n; i++)
        if (l->terms[i].time_s > 0 && !l->done[i])
            SAND_TRY(leave_one(l, l->cases[i].source, scratch, out));
    static const double from[] = {0, 1048576, 67108864}, below[] = {65536, 1e300, 1e300};
    static const char *const names[] = {"below 64 KiB", "from 1 MiB", "of it, from 64 MiB"};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < l->n; i++)
            l->in[i] = sand_coll_is_scored(&r, i) && l->cases[i].collective.bytes >= from[k] &&
                       l->cases[i].collective.bytes < below[k];
        SAND_TRY(sand_predicted_figures(&rows, l->in, &all));
        fprintf(out, "%-24s %5zu %7.1f%% %7.1f%% %+7.1f%%\n", names[k], all.n, 100 * all.median,
                100 * all.mean, 100 * all.bias);
    }
    for (size_t i = 0; i < l->n; i++)
        l->in[i] = (uint8_t)sand_coll_is_scored(&r, i);
    SAND_TRY(sand_predicted_figures(&rows, l->in, &all));
    fputc('\n', out);
    sand_predicted_overall("overall", &all, out);
    return SAND_OK;
}

enum sand_rc sand_coll_leave_out(struct sand_coll_model *model, const struct sand_coll_case *cases,
                                 size_t n, FILE *out)
{
    struct leaving l = {.model = model, .cases = cases, .n = n};
    l.saved = sand_calloc(1, sizeof *l.saved);
    l.terms = sand_calloc(n, sizeof *l.terms);
    l.own = sand_calloc(n, sizeof *l.own);
    l.in = sand_calloc(n, 1);
    l.done = sand_calloc(n, 1);
    struct sand_coll_terms *scratch = sand_calloc(n, sizeof *scratch);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (l.saved && l.terms && l.own && l.in && l.done && scratch) {
        *l.saved = *model;
        rc = leave_each(&l, scratch, out);
        *model = *l.saved;
        model->constants.kernels = model->kernels;
    }
    sand_free(l.saved);
    sand_free(l.terms);
    sand_free(l.own);
    sand_free(l.in);
    sand_free(l.done);
    sand_free(scratch);
    return rc;
}

// ---- what changed -------------------------------------------------------------------------------

static void print_changed(const char *id, const void *before, const void *after,
                          const struct field *fields, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const double a = *(const double *)(const void *)((const char *)before + fields[i].offset);
        const double b = *(const double *)(const void *)((const char *)after + fields[i].offset);
        if (fabs(b - a) > 1e-3 * fabs(a))
            fprintf(out, "%s %s %.4g %.4g\n", id, fields[i].name, a, b);
    }
}
#define CHANGED(id, before, after, fields, out)                                                    \
    print_changed(id, before, after, fields, sizeof(fields) / sizeof(fields)[0], out)

void sand_coll_fit_print(const struct sand_coll_model *before, const struct sand_coll_model *after,
                         FILE *out)
{
    for (size_t i = 0; i < after->n_links; i++)
        CHANGED(after->links[i].id, &before->links[i], &after->links[i], link_fields, out);
    for (size_t i = 0; i < after->constants.n_kernels; i++)
        CHANGED(after->kernels[i].id, &before->kernels[i], &after->kernels[i], kernel_fields, out);
    CHANGED(after->constants.id, &before->constants, &after->constants, whole_fields, out);
}
