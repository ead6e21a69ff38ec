// Expectations of a mix, sums over what was generated, and both beside the source's figures.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "arrivals.h"
#include "units.h"

static const struct {
    const char *name, *text;
} quantities[] = {
#define ROW(name, text) {#name, text},
    SAND_MIX_QUANTITIES(ROW)
#undef ROW
};

enum { LARGE_GPUS = 256 }; // of large_time

const char *sand_mix_quantity_name(enum sand_mix_quantity quantity)
{
    return quantities[quantity].name;
}

static const char *quantity_text(enum sand_mix_quantity quantity)
{
    return quantities[quantity].text;
}

// ---- expectations
// --------------------------------------------------------------------------------

// Mean over a class's sizes of gpus^power, of sizes in [low, high].
static double size_moment(const struct sand_mix_class *c, int power, double low, double high)
{
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < c->n_sizes; i++) {
        const struct sand_mix_size *size = &c->sizes[i];
        total += size->weight;
        if (size->gpus >= low && size->gpus <= high)
            sum += size->weight * (power ? (double)size->gpus : 1.0);
    }
    return sum / total;
}

static double mean_run(const struct sand_mix_class *c, int outcome)
{
    double sum = 0.0;
    for (size_t i = 0; i < c->n_ends; i++)
        if (outcome < 0 || (int)c->ends[i].outcome == outcome)
            sum += c->ends[i].share * sand_law_mean(&c->ends[i].run);
    return sum;
}

// GPU-seconds a job of the mix, of jobs with this outcome (-1: any) and at least `low` GPUs.
static double mean_gpu_s(const struct sand_mix *mix, int outcome, double low)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++) {
        const struct sand_mix_class *c = &mix->classes[i];
        sum += c->share * size_moment(c, 1, low, HUGE_VAL) * mean_run(c, outcome);
    }
    return sum;
}

// Probability that a law's value is at most x: its quantile function, inverted by bisection.
static double below(const struct sand_law *law, double x)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (sand_law_quantile(law, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double share_with_run(const struct sand_mix *mix, double x)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++)
        for (size_t k = 0; k < mix->classes[i].n_ends; k++)
            sum += mix->classes[i].share * mix->classes[i].ends[k].share *
                   below(&mix->classes[i].ends[k].run, x);
    return sum;
}

static double share_with_gpus(const struct sand_mix *mix, double low, double high)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++)
        sum += mix->classes[i].share * size_moment(&mix->classes[i], 0, low, high);
    return sum;
}

static double rate_of(const struct sand_mix *mix, enum sand_mix_outcome outcome)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++)
        for (size_t k = 0; k < mix->classes[i].n_ends; k++)
            if (mix->classes[i].ends[k].outcome == outcome)
                sum += mix->classes[i].share * mix->classes[i].ends[k].share;
    return sum;
}

static double median_run(const struct sand_mix *mix)
{
    double low = 1e-3, high = 1e9;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        if (share_with_run(mix, middle) < 0.5)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

static double median_gpus(const struct sand_mix *mix)
{
    double gpus = 1.0;
    while (share_with_gpus(mix, 0, gpus) < 0.5 && gpus < UINT32_MAX)
        gpus += 1.0;
    return gpus;
}

static double all_run(const struct sand_mix *mix)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++)
        sum += mix->classes[i].share * mean_run(&mix->classes[i], -1);
    return sum;
}

static double all_gpus(const struct sand_mix *mix)
{
    double sum = 0.0;
    for (size_t i = 0; i < mix->n_classes; i++)
        sum += mix->classes[i].share * size_moment(&mix->classes[i], 1, 0, HUGE_VAL);
    return sum;
}

double sand_mix_expect(const struct sand_mix *mix, enum sand_mix_quantity quantity)
{
    switch (quantity) {
    case SAND_MIX_mean_gpus:
        return all_gpus(mix);
    case SAND_MIX_median_gpus:
        return median_gpus(mix);
    case SAND_MIX_mean_run:
        return all_run(mix);
    case SAND_MIX_median_run:
        return median_run(mix);
    case SAND_MIX_mean_gpu_s:
        return mean_gpu_s(mix, -1, 0);
    case SAND_MIX_complete_rate:
    case SAND_MIX_cancel_rate:
    case SAND_MIX_fail_rate:
        return rate_of(mix, (enum sand_mix_outcome)(quantity - SAND_MIX_complete_rate));
    case SAND_MIX_complete_time:
    case SAND_MIX_cancel_time:
    case SAND_MIX_fail_time:
        return mean_gpu_s(mix, (int)(quantity - SAND_MIX_complete_time), 0) /
               mean_gpu_s(mix, -1, 0);
    case SAND_MIX_one_gpu:
        return share_with_gpus(mix, 1, 1);
    case SAND_MIX_large_time:
        return mean_gpu_s(mix, -1, LARGE_GPUS) / mean_gpu_s(mix, -1, 0);
    case SAND_MIX_QUANTITY_COUNT:
        break;
    }
    return 0.0;
}

// ---- what was generated
// --------------------------------------------------------------------------

static int is_share_of_time(enum sand_mix_quantity quantity)
{
    return (quantity >= SAND_MIX_complete_time && quantity <= SAND_MIX_fail_time) ||
           quantity == SAND_MIX_large_time;
}

static double observe(const struct sand_mix_tally *tally, const struct sand_mix_job *job,
                      enum sand_mix_quantity quantity)
{
    double run = sand_s_from_ns(job->run_ns), gpus = job->gpus, gpu_s = run * gpus;
    switch (quantity) {
    case SAND_MIX_mean_gpus:
        return gpus;
    case SAND_MIX_median_gpus:
        return gpus <= tally->median_gpus;
    case SAND_MIX_mean_run:
        return run;
    case SAND_MIX_median_run:
        return run <= tally->median_run;
    case SAND_MIX_mean_gpu_s:
        return gpu_s;
    case SAND_MIX_complete_rate:
    case SAND_MIX_cancel_rate:
    case SAND_MIX_fail_rate:
        return job->outcome == (enum sand_mix_outcome)(quantity - SAND_MIX_complete_rate);
    case SAND_MIX_complete_time:
    case SAND_MIX_cancel_time:
    case SAND_MIX_fail_time:
        return job->outcome == (enum sand_mix_outcome)(quantity - SAND_MIX_complete_time) ? gpu_s
                                                                                          : 0.0;
    case SAND_MIX_one_gpu:
        return job->gpus == 1;
    case SAND_MIX_large_time:
        return job->gpus >= LARGE_GPUS ? gpu_s : 0.0;
    case SAND_MIX_QUANTITY_COUNT:
        break;
    }
    return 0.0;
}

void sand_mix_count(struct sand_mix_tally *tally, const struct sand_mix *mix,
                    const struct sand_mix_job *job)
{
    double x = sand_s_from_ns(job->run_ns) * job->gpus;
    if (tally->n == 0.0) {
        tally->median_gpus = sand_mix_expect(mix, SAND_MIX_median_gpus);
        tally->median_run = sand_mix_expect(mix, SAND_MIX_median_run);
    }
    for (int q = 0; q < SAND_MIX_QUANTITY_COUNT; q++) {
        double y = observe(tally, job, q);
        tally->y[q] += y;
        tally->yy[q] += y * y;
        tally->xy[q] += x * y;
    }
    tally->x += x;
    tally->xx += x * x;
    tally->n += 1.0;
}

double sand_mix_generated(const struct sand_mix_tally *tally, enum sand_mix_quantity quantity,
                          double *standard_error)
{
    double n = tally->n, y = tally->y[quantity], yy = tally->yy[quantity];
    double value, squares, scale;
    if (is_share_of_time(quantity)) {
        value = y / tally->x;
        squares = yy - 2.0 * value * tally->xy[quantity] + value * value * tally->xx;
        scale = tally->x / n;
    } else {
        value = y / n;
        squares = yy - n * value * value;
        scale = 1.0;
    }
    *standard_error = n > 1.0 && squares > 0.0 ? sqrt(squares / (n * (n - 1.0))) / scale : 0.0;
    return value;
}

static int is_median(enum sand_mix_quantity quantity)
{
    return quantity == SAND_MIX_median_gpus || quantity == SAND_MIX_median_run;
}

static void print_figure(const struct sand_mix *mix, const struct sand_mix_tally *tally,
                         const struct sand_mix_figure *figure, FILE *out)
{
    double error, expected = sand_mix_expect(mix, figure->quantity);
    double value = sand_mix_generated(tally, figure->quantity, &error);
    char text[48];
    if (is_median(figure->quantity))
        snprintf(text, sizeof text, "%.4f at or below", value);
    else
        snprintf(text, sizeof text, "%.5g +- %.2g", value, error);
    fprintf(out, "  %-46s %20s %12.5g %12.6g\n", quantity_text(figure->quantity), text, expected,
            figure->value);
    const double off = fabs(expected / figure->value - 1);
    if (off > figure->within)
        fprintf(out, "    expected is %.3g %% off the source, meant to be within %.3g %%\n",
                100 * off, 100 * figure->within);
}

void sand_mix_print(const struct sand_mix *mix, const struct sand_mix_tally *tally, FILE *out)
{
    fprintf(out, "mix %s, %.0f jobs\n  %-46s %20s %12s %12s\n", mix->id, tally->n, "", "generated",
            "expected", "source");
    for (size_t i = 0; i < mix->n_figures; i++)
        print_figure(mix, tally, &mix->figures[i], out);
    fprintf(out, "  source: %s\n", mix->from.source);
    if (*mix->from.assumed != '\0')
        fprintf(out, "  assumed: %s\n", mix->from.assumed);
}
