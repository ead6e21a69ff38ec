// Arrivals by inversion of the cumulative intensity, and draws by address.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "arrivals.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "units.h"

enum { HOURS = 168, HOUR_S = 3600 };
#define WEEK_S ((double)HOURS * HOUR_S)

// What is drawn of a job; append only, as in rng.h.
enum property { GAP, SIZE, END, RUN, USER };

// The entity of a draw: the class by its id (FNV-1a, Fowler, Noll, Vo), so that its place in the
// mix does not matter, and the property in the lowest bits.
static uint64_t entity_of(const char *id, enum property property)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *id != '\0'; id++)
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
    return hash << 4 | property;
}

// ---- properties
// ----------------------------------------------------------------------------------

static uint32_t size_at(const struct sand_mix_class *c, double u)
{
    double total = 0.0, sum = 0.0;
    for (size_t i = 0; i < c->n_sizes; i++)
        total += c->sizes[i].weight;
    for (size_t i = 0; i + 1 < c->n_sizes; i++) {
        sum += c->sizes[i].weight;
        if (u * total < sum)
            return c->sizes[i].gpus;
    }
    return c->sizes[c->n_sizes - 1].gpus;
}

static const struct sand_mix_end *end_at(const struct sand_mix_class *c, double u)
{
    double sum = 0.0;
    for (size_t i = 0; i + 1 < c->n_ends; i++) {
        sum += c->ends[i].share;
        if (u < sum)
            return &c->ends[i];
    }
    return &c->ends[c->n_ends - 1];
}

static int64_t run_of(const struct sand_law *law, double u)
{
    int64_t run = sand_ns_from_s(sand_law_quantile(law, u));
    return run > 0 ? run : 1;
}

// The run it would take to complete, at the same place in the law of those that do.
static int64_t planned(const struct sand_mix_class *c, double u, int64_t run)
{
    int64_t plan = 0;
    for (size_t i = 0; i < c->n_ends; i++)
        if (c->ends[i].outcome == SAND_MIX_COMPLETE)
            plan = run_of(&c->ends[i].run, u);
    return plan > run ? plan : run;
}

static int64_t request_of(const struct sand_mix_class *c, double u, int64_t run)
{
    int64_t request = c->limit_ns > 0 ? c->limit_ns : -1;
    if (c->request_factor > 0.0) {
        double wish = c->request_factor * (double)planned(c, u, run);
        if (request < 0 || wish < (double)request)
            request = wish < 9e18 ? (int64_t)wish : INT64_MAX;
    }
    return request >= 0 && request < run ? run : request;
}

void sand_mix_draw(const struct sand_mix *mix, struct sand_rng rng, uint32_t mix_class, uint64_t k,
                   struct sand_mix_job *job)
{
    const struct sand_mix_class *c = &mix->classes[mix_class];
    double u[USER + 1];
    for (int property = SIZE; property <= USER; property++)
        u[property] = sand_rng_uniform(rng, SAND_STREAM_ARRIVAL, entity_of(c->id, property), k);
    const struct sand_mix_end *end = end_at(c, u[END]);
    *job = (struct sand_mix_job){.mix_class = mix_class, .class_rank = k, .outcome = end->outcome};
    job->gpus = size_at(c, u[SIZE]);
    job->run_ns = run_of(&end->run, u[RUN]);
    job->request_ns = request_of(c, u[RUN], job->run_ns);
    job->user = (uint32_t)(u[USER] * c->users);
}

// ---- arrivals
// ------------------------------------------------------------------------------------

struct source {
    double rate; // jobs a second, mean over a week
    double sum;  // of k + 1 exponentials of mean 1: the cumulative intensity at arrival k
    uint64_t k;  // of the arrival at `next_s`
    double next_s;
    uint64_t entity;
    double until[HOURS + 1]; // integral of the relative intensity from the week's begin, seconds
    double level[HOURS];     // relative intensity, mean 1
};

struct sand_arrivals {
    const struct sand_mix *mix;
    struct sand_rng rng;
    double duration_s;
    uint64_t index;
    struct source sources[];
};

static double weight_at(const struct sand_mix_weight *weights, size_t n, uint32_t at)
{
    for (size_t i = 0; i < n; i++)
        if (weights[i].at == at)
            return weights[i].weight;
    return 1.0;
}

static void set_cycle(struct source *source, const struct sand_mix *mix, double cycle)
{
    double sum = 0.0;
    for (uint32_t h = 0; h < HOURS; h++) {
        source->level[h] =
            weight_at(mix->hours, mix->n_hours, h % 24) * weight_at(mix->days, mix->n_days, h / 24);
        sum += source->level[h];
    }
    for (int h = 0; h < HOURS; h++) {
        source->level[h] = 1.0 + cycle * (source->level[h] * HOURS / sum - 1.0);
        source->until[h + 1] = source->until[h] + source->level[h] * HOUR_S;
    }
    source->until[HOURS] = WEEK_S; // the mean is 1; rounding must not leave a gap at the week's end
}

// The time at which the integral of the relative intensity reaches `area`: whole weeks, then the
// hour by bisection, then a linear part.
static double invert(const struct source *source, double area)
{
    double weeks = floor(area / WEEK_S), rest = area - weeks * WEEK_S;
    int low = 0, high = HOURS; // until[low] <= rest < until[high]
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (source->until[middle] <= rest)
            low = middle;
        else
            high = middle;
    }
    double into = source->level[low] > 0.0 ? (rest - source->until[low]) / source->level[low] : 0.0;
    return weeks * WEEK_S + (double)low * HOUR_S + (into < HOUR_S ? into : HOUR_S);
}

static void advance(struct sand_arrivals *arrivals, struct source *source)
{
    double u = sand_rng_uniform(arrivals->rng, SAND_STREAM_ARRIVAL, source->entity, source->k);
    source->sum += -log1p(-u);
    source->next_s = invert(source, source->sum / source->rate);
}

enum sand_rc sand_arrivals_open(const struct sand_mix *mix, struct sand_rng rng,
                                int64_t duration_ns, struct sand_arrivals **arrivals,
                                struct sand_diag *diag)
{
    size_t size = sizeof(struct sand_arrivals) + mix->n_classes * sizeof(struct source);
    struct sand_arrivals *a = sand_calloc(1, size);
    if (!a)
        return sand_fail(diag, SAND_ERR_NOMEM, "mix \"%s\": out of memory", mix->id);
    a->mix = mix;
    a->rng = rng;
    a->duration_s = duration_ns > 0 ? sand_s_from_ns(duration_ns) : HUGE_VAL;
    for (size_t i = 0; i < mix->n_classes; i++) {
        struct source *source = &a->sources[i];
        source->rate = mix->jobs_per_s * mix->classes[i].share;
        source->entity = entity_of(mix->classes[i].id, GAP);
        set_cycle(source, mix, mix->classes[i].cycle);
        advance(a, source);
    }
    *arrivals = a;
    return SAND_OK;
}

int sand_arrivals_next(struct sand_arrivals *arrivals, struct sand_mix_job *job)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < arrivals->mix->n_classes; i++)
        if (arrivals->sources[i].next_s < arrivals->sources[first].next_s)
            first = i;
    struct source *source = &arrivals->sources[first];
    if (!(source->next_s < arrivals->duration_s))
        return 0;
    sand_mix_draw(arrivals->mix, arrivals->rng, first, source->k, job);
    job->index = arrivals->index++;
    job->submit_ns = sand_ns_from_s(source->next_s);
    source->k++;
    advance(arrivals, source);
    return 1;
}

void sand_arrivals_close(struct sand_arrivals *arrivals)
{
    sand_free(arrivals);
}
