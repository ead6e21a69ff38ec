// Whether a mix is one: what no schema can say.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "arrivals.h"

struct check {
    const struct sand_mix *mix;
    struct sand_diag *diag;
    int bad;
};

#define SAY(check, ...)                                                                            \
    do {                                                                                           \
        (check)->bad = 1;                                                                          \
        sand_diag_add((check)->diag, SAND_ERROR, NULL, 0, __VA_ARGS__);                            \
    } while (0)

static int is_positive(double value)
{
    return isfinite(value) && value > 0.0;
}

static void check_weights(struct check *check, const char *what, const struct sand_mix_weight *w,
                          size_t n, uint32_t count)
{
    double sum = (double)count - (double)n;
    for (size_t i = 0; i < n; i++) {
        if (w[i].at >= count || !(isfinite(w[i].weight) && w[i].weight >= 0.0))
            SAY(check, "mix \"%s\": %s %u has weight %g; must be 0 or more, below %u",
                check->mix->id, what, w[i].at, w[i].weight, count);
        for (size_t k = 0; k < i; k++)
            if (w[k].at == w[i].at)
                SAY(check, "mix \"%s\": %s %u stands twice", check->mix->id, what, w[i].at);
        sum += w[i].weight;
    }
    if (!(sum > 0.0))
        SAY(check, "mix \"%s\": no %s has a weight above 0; nothing would arrive", check->mix->id,
            what);
}

static void check_sizes(struct check *check, const struct sand_mix_class *c)
{
    if (c->n_sizes == 0)
        SAY(check, "class \"%s\": has no sizes; give at least one", c->id);
    for (size_t i = 0; i < c->n_sizes; i++)
        if (c->sizes[i].gpus == 0 || !is_positive(c->sizes[i].weight))
            SAY(check, "class \"%s\": size of %u GPUs with weight %g; both must be above 0", c->id,
                c->sizes[i].gpus, c->sizes[i].weight);
}

static void check_ends(struct check *check, const struct sand_mix_class *c)
{
    double sum = 0.0;
    for (size_t i = 0; i < c->n_ends; i++) {
        const struct sand_mix_end *end = &c->ends[i];
        sum += end->share;
        if (!is_positive(end->share) || !is_positive(end->run.mean_s))
            SAY(check, "class \"%s\": an end with share %g and run %g s; both must be above 0",
                c->id, end->share, end->run.mean_s);
        for (size_t k = 0; k < i; k++)
            if (c->ends[k].outcome == end->outcome)
                SAY(check, "class \"%s\": one outcome stands twice", c->id);
    }
    if (!(fabs(sum - 1.0) <= 1e-6))
        SAY(check, "class \"%s\": shares of its ends sum to %.9g, must be 1", c->id, sum);
}

static void check_class(struct check *check, size_t index)
{
    const struct sand_mix_class *c = &check->mix->classes[index];
    if (!is_positive(c->share))
        SAY(check, "class \"%s\": share is %g, must be above 0", c->id, c->share);
    if (!(c->cycle >= 0.0 && c->cycle <= 1.0))
        SAY(check, "class \"%s\": cycle is %g, must be 0 to 1", c->id, c->cycle);
    if (c->request_factor != 0.0 && !(isfinite(c->request_factor) && c->request_factor >= 1.0))
        SAY(check, "class \"%s\": request factor is %g, must be 0 or at least 1", c->id,
            c->request_factor);
    if (c->speed == SAND_TRACE_MODEL && (!c->model || !c->software))
        SAY(check, "class \"%s\": speed=model needs a model, a software and a split", c->id);
    for (size_t i = 0; i < index; i++)
        if (strcmp(check->mix->classes[i].id, c->id) == 0)
            SAY(check, "class \"%s\" stands twice", c->id);
    check_sizes(check, c);
    check_ends(check, c);
}

enum sand_rc sand_mix_check(const struct sand_mix *mix, struct sand_diag *diag)
{
    struct check check = {mix, diag, 0};
    double sum = 0.0;
    if (!is_positive(mix->jobs_per_s))
        SAY(&check, "mix \"%s\": %g jobs a second, must be above 0", mix->id, mix->jobs_per_s);
    check_weights(&check, "hour", mix->hours, mix->n_hours, 24);
    check_weights(&check, "day", mix->days, mix->n_days, 7);
    for (size_t i = 0; i < mix->n_classes; i++) {
        check_class(&check, i);
        sum += mix->classes[i].share;
    }
    if (!(fabs(sum - 1.0) <= 1e-6))
        SAY(&check, "mix \"%s\": shares of its classes sum to %.9g, must be 1", mix->id, sum);
    return check.bad ? SAND_ERR_INPUT : SAND_OK;
}
