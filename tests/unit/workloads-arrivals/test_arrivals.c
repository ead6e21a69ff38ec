// Synthetic jobs: the arrival process against its closed form, draws by address, common random
// numbers, constant memory. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"
#include "mem.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)
#define DAY_NS (24 * HOUR_NS)

static const struct sand_rng rng = {42, 3};

static const struct sand_mix_size sizes[] = {{1, 3}, {8, 1}, {64, 1}};
static const struct sand_mix_end ends[] = {
    {SAND_MIX_COMPLETE, 0.5, {SAND_LAW_LOGNORMAL, 1000, 1, 86400}},
    {SAND_MIX_CANCEL, 0.2, {SAND_LAW_EXPONENTIAL, 500, 0, 0}},
    {SAND_MIX_FAIL, 0.3, {SAND_LAW_CONSTANT, 60, 0, 0}}};
static const struct sand_mix_weight hours[] = {{0, 0}, {1, 0}, {2, 0}, {9, 4}, {23, 0}};
static const struct sand_mix_weight days[] = {{5, 0.5}, {6, 0}};

static struct sand_mix_class class_named(const char *id, double share, double cycle)
{
    return (struct sand_mix_class){.id = id,
                                   .share = share,
                                   .cycle = cycle,
                                   .users = 5,
                                   .request_factor = 2,
                                   .limit_ns = DAY_NS,
                                   .sizes = sizes,
                                   .n_sizes = 3,
                                   .ends = ends,
                                   .n_ends = 3};
}

static struct sand_mix mix_of(const struct sand_mix_class *classes, size_t n, double jobs_per_s)
{
    return (struct sand_mix){.id = "test",
                             .from = {"made up for tests", "2026", "share"},
                             .jobs_per_s = jobs_per_s,
                             .hours = hours,
                             .n_hours = 5,
                             .days = days,
                             .n_days = 2,
                             .classes = classes,
                             .n_classes = n};
}

static struct sand_arrivals *open_stream(const struct sand_mix *mix, int64_t duration_ns)
{
    struct sand_arrivals *arrivals = NULL;
    cr_assert_eq(sand_mix_check(mix, NULL), SAND_OK);
    cr_assert_eq(sand_arrivals_open(mix, rng, duration_ns, &arrivals, NULL), SAND_OK);
    return arrivals;
}

static double level_of(int hour, int day)
{
    double h = hour <= 2 || hour == 23 ? 0.0 : hour == 9 ? 4.0 : 1.0;
    return h * (day == 5 ? 0.5 : day == 6 ? 0.0 : 1.0);
}

// Counts by hour of the week are Poisson with the weekly intensity: chi-square of the hours with
// arrivals, and none where the weight is 0. 100 weeks, 168,000 jobs.
Test(arrivals, weekly_cycle)
{
    const struct sand_mix_class c = class_named("a", 1, 1);
    const struct sand_mix mix = mix_of(&c, 1, 1680.0 / (168 * 3600));
    struct sand_arrivals *arrivals = open_stream(&mix, 700 * DAY_NS);
    static int counts[168];
    struct sand_mix_job job;
    int64_t last = -1;
    double n = 0;
    for (; sand_arrivals_next(arrivals, &job); n++) {
        cr_assert(job.submit_ns > last && job.submit_ns < 700 * DAY_NS && job.index == n);
        last = job.submit_ns;
        counts[job.submit_ns / HOUR_NS % 168]++;
    }
    sand_arrivals_close(arrivals);
    double total = 0, chi = 0;
    for (int i = 0; i < 168; i++)
        total += level_of(i % 24, i / 24);
    int cells = 0;
    for (int i = 0; i < 168; i++) {
        double expected = 168000 * level_of(i % 24, i / 24) / total;
        if (expected == 0.0)
            cr_assert_eq(counts[i], 0, "hour %d", i);
        else
            chi += (counts[i] - expected) * (counts[i] - expected) / expected, cells++;
    }
    cr_assert(fabs(n - 168000) < 4.5 * sqrt(168000), "%g jobs", n);
    cr_assert(fabs(chi - cells) < 4.5 * sqrt(2.0 * cells), "chi-square %g of %d cells", chi, cells);
}

// cycle=0 is a homogeneous Poisson process: exponential gaps, by moments and by the
// Kolmogorov-Smirnov bound at a level of 1e-5.
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

Test(arrivals, gaps_are_exponential)
{
    enum { N = 50000 };
    const struct sand_mix_class c = class_named("a", 1, 0);
    const struct sand_mix mix = mix_of(&c, 1, 0.25);
    struct sand_arrivals *arrivals = open_stream(&mix, 0);
    static double gaps[N];
    struct sand_mix_job job;
    int64_t last = 0;
    for (int i = 0; i < N; i++) {
        cr_assert(sand_arrivals_next(arrivals, &job));
        gaps[i] = (double)(job.submit_ns - last) * 1e-9;
        last = job.submit_ns;
    }
    sand_arrivals_close(arrivals);
    qsort(gaps, N, sizeof gaps[0], by_value);
    double worst = 0;
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs(-expm1(-0.25 * gaps[i]) - (i + 0.5) / N));
    cr_assert_lt(worst, sqrt(log(2 / 1e-5) / 2 / N));
}

// Twice the rate: the same jobs in half the time, job by job. Thinning would not give this.
Test(arrivals, rates_stretch_the_same_jobs)
{
    const struct sand_mix_class c = class_named("a", 1, 0);
    const struct sand_mix slow = mix_of(&c, 1, 0.5), fast = mix_of(&c, 1, 1.0);
    struct sand_arrivals *a = open_stream(&slow, 0), *b = open_stream(&fast, 0);
    struct sand_mix_job x, y;
    for (int i = 0; i < 1000; i++) {
        cr_assert(sand_arrivals_next(a, &x) && sand_arrivals_next(b, &y));
        cr_assert(llabs(x.submit_ns - 2 * y.submit_ns) <= 2);
        cr_assert(x.run_ns == y.run_ns && x.gpus == y.gpus && x.outcome == y.outcome &&
                  x.user == y.user && x.request_ns == y.request_ns);
    }
    sand_arrivals_close(a);
    sand_arrivals_close(b);
}

// A class's jobs do not change when other classes come, go or move.
Test(arrivals, classes_do_not_disturb_each_other)
{
    const struct sand_mix_class both[] = {class_named("b", 0.5, 1), class_named("a", 0.5, 1)};
    const struct sand_mix_class alone = class_named("a", 1, 1);
    const struct sand_mix two = mix_of(both, 2, 0.02), one = mix_of(&alone, 1, 0.01);
    struct sand_arrivals *x = open_stream(&two, 0), *y = open_stream(&one, 0);
    struct sand_mix_job p, q;
    int others = 0;
    for (int i = 0; i < 2000; i++) {
        cr_assert(sand_arrivals_next(y, &q));
        do {
            cr_assert(sand_arrivals_next(x, &p));
            others += p.mix_class == 0;
        } while (p.mix_class == 0);
        cr_assert(p.submit_ns == q.submit_ns && p.run_ns == q.run_ns && p.gpus == q.gpus &&
                  p.class_rank == q.class_rank && p.class_rank == (uint64_t)i);
    }
    cr_assert(abs(others - 2000) < 4.5 * sqrt(4000));
    int equal = 0;
    for (uint64_t k = 0; k < 1000; k++) {
        sand_mix_draw(&two, rng, 0, k, &p);
        sand_mix_draw(&two, rng, 1, k, &q);
        equal += p.outcome != SAND_MIX_FAIL && p.run_ns == q.run_ns;
    }
    cr_assert_eq(equal, 0, "classes of one description still have draws of their own");
    sand_arrivals_close(x);
    sand_arrivals_close(y);
}

// sand_mix_draw gives job k without the jobs before it; other seeds and replications other jobs.
Test(arrivals, draws_are_addresses)
{
    const struct sand_mix_class c = class_named("a", 1, 1);
    const struct sand_mix mix = mix_of(&c, 1, 0.01);
    struct sand_arrivals *arrivals = open_stream(&mix, 0);
    struct sand_mix_job streamed, drawn, other;
    int different = 0;
    for (uint64_t k = 0; k < 500; k++) {
        cr_assert(sand_arrivals_next(arrivals, &streamed));
        sand_mix_draw(&mix, rng, 0, k, &drawn);
        cr_assert(drawn.run_ns == streamed.run_ns && drawn.gpus == streamed.gpus &&
                  drawn.user == streamed.user && drawn.outcome == streamed.outcome);
        sand_mix_draw(&mix, (struct sand_rng){42, 4}, 0, k, &other);
        different += other.run_ns != drawn.run_ns;
    }
    cr_assert_gt(different, 400);
    sand_arrivals_close(arrivals);
}

// Sizes, ends, users: within 4.5 standard deviations of their weights.
Test(arrivals, frequencies)
{
    enum { N = 40000 };
    const struct sand_mix_class c = class_named("a", 1, 1);
    const struct sand_mix mix = mix_of(&c, 1, 0.01);
    struct sand_mix_job job;
    int by_size[65] = {0}, by_end[3] = {0}, by_user[5] = {0};
    for (uint64_t k = 0; k < N; k++) {
        sand_mix_draw(&mix, rng, 0, k, &job);
        by_size[job.gpus]++;
        by_end[job.outcome]++;
        by_user[job.user]++;
    }
    const struct {
        int count;
        double share;
    } cells[] = {{by_size[1], 0.6}, {by_size[8], 0.2}, {by_size[64], 0.2}, {by_end[0], 0.5},
                 {by_end[1], 0.2},  {by_end[2], 0.3},  {by_user[0], 0.2},  {by_user[1], 0.2},
                 {by_user[2], 0.2}, {by_user[3], 0.2}, {by_user[4], 0.2}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        double p = cells[i].share;
        cr_assert(fabs(cells[i].count - N * p) < 4.5 * sqrt(N * p * (1 - p)), "cell %zu: %d", i,
                  cells[i].count);
    }
}

// The standard errors are right: over replications, errors in units of them have a variance of 1.
Test(arrivals, standard_errors)
{
    enum { REPLICATIONS = 500, JOBS = 500 };
    const enum sand_mix_quantity checked[] = {SAND_MIX_mean_gpus,     SAND_MIX_mean_run,
                                              SAND_MIX_median_run,    SAND_MIX_fail_rate,
                                              SAND_MIX_complete_time, SAND_MIX_cancel_time};
    enum { N = sizeof checked / sizeof checked[0] };
    // Light tails, so that a mean of 500 is as good as normal.
    const struct sand_mix_end light[] = {
        {SAND_MIX_COMPLETE, 0.5, {SAND_LAW_EXPONENTIAL, 800, 0, 0}},
        {SAND_MIX_CANCEL, 0.2, {SAND_LAW_EXPONENTIAL, 500, 0, 0}},
        {SAND_MIX_FAIL, 0.3, {SAND_LAW_CONSTANT, 60, 0, 0}}};
    struct sand_mix_class c = class_named("a", 1, 1);
    c.ends = light;
    c.n_sizes = 2;
    const struct sand_mix mix = mix_of(&c, 1, 0.01);
    double squares[N] = {0};
    for (uint32_t r = 0; r < REPLICATIONS; r++) {
        struct sand_mix_tally tally = {0};
        struct sand_mix_job job;
        for (uint64_t k = 0; k < JOBS; k++) {
            sand_mix_draw(&mix, (struct sand_rng){9, r}, 0, k, &job);
            sand_mix_count(&tally, &mix, &job);
        }
        for (int i = 0; i < N; i++) {
            double error, value = sand_mix_generated(&tally, checked[i], &error);
            double expected =
                checked[i] == SAND_MIX_median_run ? 0.5 : sand_mix_expect(&mix, checked[i]);
            squares[i] += (value - expected) * (value - expected) / (error * error);
        }
    }
    // 4.5 standard deviations of a chi-square with as many degrees of freedom.
    for (int i = 0; i < N; i++)
        cr_assert(fabs(squares[i] / REPLICATIONS - 1) < 4.5 * sqrt(2.0 / REPLICATIONS), "%s: %g",
                  sand_mix_quantity_name(checked[i]), squares[i] / REPLICATIONS);
}

// Requests: twice the run that completing takes, at most the limit, at least the run.
Test(arrivals, requests)
{
    struct sand_mix_class c = class_named("a", 1, 1);
    struct sand_mix mix = mix_of(&c, 1, 0.01);
    struct sand_mix_job job;
    int capped = 0, complete = 0, failed = 0;
    for (uint64_t k = 0; k < 3000; k++) {
        sand_mix_draw(&mix, rng, 0, k, &job);
        cr_assert(job.request_ns >= job.run_ns && job.user < 5);
        cr_assert(job.request_ns <= DAY_NS || job.request_ns == job.run_ns);
        if (job.outcome == SAND_MIX_COMPLETE && job.request_ns < DAY_NS) {
            cr_assert(llabs(job.request_ns - 2 * job.run_ns) <= 1);
            complete++;
        }
        capped += job.request_ns == DAY_NS;
        // A job that fails after a minute was meant to run as long as those that complete: half of
        // them longer than 1000 s.
        failed += job.outcome == SAND_MIX_FAIL && job.request_ns > INT64_C(2000000000000);
    }
    cr_assert(complete > 1000 && capped < 30);
    cr_assert(fabs(failed - 450.0) < 4.5 * sqrt(3000 * 0.15 * 0.85));
    c.limit_ns = INT64_C(30000000000);
    for (uint64_t k = 0; k < 100; k++) {
        sand_mix_draw(&mix, rng, 0, k, &job);
        cr_assert(job.request_ns == c.limit_ns || job.request_ns == job.run_ns);
        cr_assert_geq(job.request_ns, job.run_ns);
    }
    c.limit_ns = DAY_NS;
    c.request_factor = 0;
    sand_mix_draw(&mix, rng, 0, 1, &job);
    cr_assert_eq(job.request_ns, DAY_NS);
    c.limit_ns = 0;
    sand_mix_draw(&mix, rng, 0, 1, &job);
    cr_assert_eq(job.request_ns, -1);
}

// Expectations by hand: sizes 0.6 x 1, 0.2 x 8, 0.2 x 64; runs a cut lognormal, 500, 60.
Test(arrivals, expectations)
{
    const struct sand_mix_class c = class_named("a", 1, 1);
    const struct sand_mix mix = mix_of(&c, 1, 0.01);
    // E[min(X, 86400)] of the lognormal with median 1000 and sigma 1.
    double z = log(86.4), phi = 0.5 * erfc(-(z - 1) / sqrt(2)), tail = 0.5 * erfc(z / sqrt(2));
    double complete = 0.5 * (1000 * exp(0.5) * phi + 86400 * tail);
    double gpus = 0.6 + 1.6 + 12.8, run = complete + 100 + 18;
    cr_assert_float_eq(sand_mix_expect(&mix, SAND_MIX_mean_gpus), gpus, 1e-12);
    cr_assert_float_eq(sand_mix_expect(&mix, SAND_MIX_median_gpus), 1, 0);
    cr_assert(fabs(sand_mix_expect(&mix, SAND_MIX_mean_run) / run - 1) < 1e-12);
    cr_assert(fabs(sand_mix_expect(&mix, SAND_MIX_mean_gpu_s) / (run * gpus) - 1) < 1e-12);
    cr_assert_float_eq(sand_mix_expect(&mix, SAND_MIX_cancel_rate), 0.2, 1e-12);
    cr_assert(fabs(sand_mix_expect(&mix, SAND_MIX_complete_time) / (complete / run) - 1) < 1e-12);
    cr_assert(fabs(sand_mix_expect(&mix, SAND_MIX_fail_time) / (18 / run) - 1) < 1e-12);
    cr_assert_float_eq(sand_mix_expect(&mix, SAND_MIX_one_gpu), 0.6, 1e-12);
    cr_assert_eq(sand_mix_expect(&mix, SAND_MIX_large_time), 0);
    // At the median half of the jobs are at or below: 0.3 + 0.2 (1 - e^(-m/500)) + 0.5
    // Phi(ln(m/1000)).
    double m = sand_mix_expect(&mix, SAND_MIX_median_run);
    double share = 0.3 + 0.2 * -expm1(-m / 500) + 0.25 * erfc(-log(m / 1000) / sqrt(2));
    cr_assert_float_eq(share, 0.5, 1e-9);
}

// A million jobs take no more memory than ten: nothing is allocated after the stream is open.
Test(arrivals, constant_memory)
{
    const struct sand_mix_class classes[] = {class_named("a", 0.25, 1),
                                             class_named("b", 0.75, 0.5)};
    const struct sand_mix mix = mix_of(classes, 2, 0.5);
    struct sand_arrivals *arrivals = open_stream(&mix, 0);
    uint64_t before = sand_mem_count();
    struct sand_mix_job job;
    struct sand_mix_tally tally = {0};
    for (int i = 0; i < 100000; i++) {
        cr_assert(sand_arrivals_next(arrivals, &job));
        sand_mix_count(&tally, &mix, &job);
    }
    cr_assert_eq(sand_mem_count(), before);
    sand_arrivals_close(arrivals);
    sand_mem_fail_at(1);
    arrivals = NULL;
    cr_assert_eq(sand_arrivals_open(&mix, rng, 0, &arrivals, NULL), SAND_ERR_NOMEM);
    cr_assert_null(arrivals);
}

Test(arrivals, bad_mixes_are_refused)
{
    struct sand_mix_class classes[] = {class_named("a", 0.5, 2), class_named("a", 0.4, 1)};
    struct sand_mix mix = mix_of(classes, 2, -1);
    const struct sand_mix_weight none[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}};
    const struct sand_mix_end off[] = {{SAND_MIX_FAIL, 0.9, {SAND_LAW_CONSTANT, 0, 0, 0}}};
    const struct sand_mix_size zero[] = {{0, 1}};
    mix.days = none;
    mix.n_days = 7;
    classes[0].sizes = zero;
    classes[0].n_sizes = 1;
    classes[1].ends = off;
    classes[1].n_ends = 1;
    classes[1].request_factor = 0.5;
    classes[1].speed = SAND_TRACE_MODEL;
    const char *const words[] = {"jobs a second",      "no day has a weight",   "cycle is 2",
                                 "\"a\" stands twice", "size of 0 GPUs",        "run 0 s",
                                 "sum to 0.9",         "request factor is 0.5", "needs a model",
                                 "classes sum to 0.9"};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_mix_check(&mix, &diag), SAND_ERR_INPUT);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int found = 0;
        for (size_t k = 0; k < diag.n_messages; k++)
            found |= strstr(diag.messages[k].text, words[i]) != NULL;
        cr_assert(found, "no message says \"%s\"", words[i]);
    }
    sand_diag_clear(&diag);
}

// Jobs of 1, 8 and 64 GPUs, 3 to 1 to 1: 15 on average.
Test(arrivals, figures_off_the_source_are_told)
{
    const struct sand_mix_class c = class_named("a", 1, 0);
    const struct sand_mix_figure near = {SAND_MIX_mean_gpus, 15.5, 0.05};
    const struct sand_mix_figure far = {SAND_MIX_mean_gpus, 20, 0.05};
    struct sand_mix mix = mix_of(&c, 1, 1e-3);
    const struct sand_mix_tally none = {.n = 1};
    char text[2][4096];
    for (int i = 0; i < 2; i++) {
        mix.figures = i ? &far : &near;
        mix.n_figures = 1;
        FILE *out = fmemopen(text[i], sizeof text[i], "w");
        sand_mix_print(&mix, &none, out);
        fclose(out);
    }
    cr_assert_null(strstr(text[0], "off the source"), "%s", text[0]);
    cr_assert_not_null(strstr(text[1], "expected is 25 % off the source, meant to be within 5 %"),
                       "%s", text[1]);
}
