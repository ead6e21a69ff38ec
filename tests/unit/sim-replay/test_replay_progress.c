// Counting steps at a rate that changes: by hand, and against a reference that goes step by step.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdint.h>

#include <criterion/criterion.h>

#include "progress.h"
#include "rng.h"

#define S INT64_C(1000000000)

TestSuite(replay_progress, .timeout = 30);

static struct sand_rate rate_of(int64_t healthy_ns, int64_t placement_ns, int64_t neighbours_ns,
                                int64_t faults_ns)
{
    return (struct sand_rate){.step_ns = healthy_ns + placement_ns + neighbours_ns + faults_ns,
                              .healthy_ns = healthy_ns,
                              .by_ns = {placement_ns, neighbours_ns, faults_ns}};
}

// Steps of 10 s from 100 s on; at 135 s neighbours make them 20 s. The fourth is half done: its
// other half takes 10 s. Its 15 s are 10 s of healthy step and 5 s of neighbours.
Test(replay_progress, half_a_step_goes_on_at_the_new_rate)
{
    const struct sand_rate healthy = rate_of(10 * S, 0, 0, 0), slow = rate_of(10 * S, 0, 10 * S, 0);
    struct sand_progress p;
    sand_progress_open(&p, 7, &healthy);
    sand_progress_run(&p, 100 * S, 0);
    cr_assert_eq(sand_progress_date(&p, 11), 140 * S);
    sand_progress_change(&p, 135 * S, &slow, 0);
    cr_assert_eq(p.first, 10u);
    cr_assert_eq(sand_progress_date(&p, 10), 130 * S);
    cr_assert_eq(sand_progress_date(&p, 11), 145 * S);
    cr_assert_eq(sand_progress_date(&p, 13), 185 * S);
    cr_assert_eq(sand_progress_steps_at(&p, 145 * S), 11u);
    cr_assert_eq(sand_progress_steps_at(&p, 145 * S + 1), 12u);
    sand_progress_count(&p, 150 * S);
    cr_assert_eq(p.spent.steps, 4u);
    cr_assert_eq(p.spent.time_ns, 45 * S);
    cr_assert_eq(p.spent.by_ns[SAND_SLOW_NEIGHBOURS], 5 * S);
    cr_assert_eq(p.spent.slow_ns, 5 * S);
    cr_assert_eq(sand_progress_stop(&p, 150 * S), 5 * S);
}

// Back at 140 s: between 135 and 140 s a quarter of a step was done, a quarter is left.
Test(replay_progress, two_changes_within_one_step)
{
    const struct sand_rate healthy = rate_of(10 * S, 0, 0, 0), slow = rate_of(10 * S, 0, 0, 10 * S);
    struct sand_progress p;
    sand_progress_open(&p, 0, &healthy);
    sand_progress_run(&p, 130 * S, 0);
    sand_progress_change(&p, 135 * S, &slow, 0);
    sand_progress_change(&p, 140 * S, &healthy, 0);
    cr_assert_eq(sand_progress_date(&p, 1), 142500000000);
    sand_progress_count(&p, 143 * S);
    cr_assert_eq(p.spent.time_ns, 12500000000);
    cr_assert_eq(p.spent.by_ns[SAND_SLOW_FAULTS], 2500000000);
}

// Standing still from 135 to 165 s while routes are found, then steps of 12 s: half a step of 10 s
// is left, which takes 6. A change of the neighbours' part at 150 s leaves the standstill as it is;
// one that ends it early gives the rest of it back.
Test(replay_progress, stands_still_and_goes_on)
{
    const struct sand_rate healthy = rate_of(10 * S, 0, 0, 0),
                           faulty = rate_of(10 * S, 0, 0, 2 * S);
    struct sand_progress p;
    sand_progress_open(&p, 0, &healthy);
    sand_progress_run(&p, 130 * S, 0);
    sand_progress_change(&p, 135 * S, &faulty, 165 * S);
    cr_assert_eq(sand_progress_date(&p, 1), 171 * S);
    cr_assert_eq(sand_progress_moving_ns(&p, 130 * S, 160 * S), 0);
    cr_assert_eq(sand_progress_moving_ns(&p, 150 * S, 170 * S), 5 * S);
    sand_progress_change(&p, 150 * S, &faulty, 165 * S);
    cr_assert_eq(sand_progress_date(&p, 1), 171 * S);
    sand_progress_change(&p, 155 * S, &faulty, 155 * S);
    cr_assert_eq(sand_progress_date(&p, 1), 161 * S);
    sand_progress_count(&p, 161 * S);
    cr_assert_eq(p.spent.time_ns, 31 * S);
    cr_assert_eq(p.spent.by_ns[SAND_SLOW_FAULTS], 20 * S + 1 * S);
}

// Between stretches a change only sets the rate of the next step.
Test(replay_progress, a_change_while_stopped_waits_for_the_next_step)
{
    const struct sand_rate healthy = rate_of(10 * S, 0, 0, 0), slow = rate_of(10 * S, 0, 3 * S, 0);
    struct sand_progress p;
    sand_progress_open(&p, 0, &healthy);
    sand_progress_run(&p, 0, 0);
    cr_assert_eq(sand_progress_stop(&p, 20 * S), 0);
    sand_progress_change(&p, 25 * S, &slow, 0);
    cr_assert_eq(p.spent.time_ns, 20 * S);
    sand_progress_run(&p, 30 * S, 0);
    cr_assert_eq(sand_progress_date(&p, 3), 43 * S);
    sand_progress_run(&p, 43 * S, 50 * S); // stands still first
    cr_assert_eq(sand_progress_date(&p, 3), 63 * S);
}

// A rate that does not change gives the same sums however often it is looked at.
Test(replay_progress, looking_changes_nothing)
{
    const struct sand_rate odd = rate_of(3333333331, 777777777, -12345, 5);
    struct sand_progress often, once;
    sand_progress_open(&often, 0, &odd);
    sand_progress_run(&often, 17, 0);
    once = often;
    for (int64_t date = 17; date < 400 * S; date += 1234567891)
        sand_progress_count(&often, date);
    sand_progress_count(&often, 400 * S);
    sand_progress_count(&once, 400 * S);
    cr_assert_eq(often.spent.steps, once.spent.steps);
    cr_assert_eq(often.spent.time_ns, (int64_t)often.spent.steps * odd.step_ns);
    cr_assert_eq(often.began_ns, once.began_ns);
    for (int c = 0; c < SAND_SLOW_CAUSES; c++) {
        cr_assert_eq(often.spent.by_ns[c], (int64_t)often.spent.steps * odd.by_ns[c]);
        cr_assert_eq(often.spent.by_ns[c], once.spent.by_ns[c]);
    }
}

// 0 to n - 1, another at every call.
static int64_t draw(uint32_t history, uint64_t *k, int64_t n)
{
    const struct sand_rng rng = {42, 0};
    return (int64_t)(sand_rng_uniform(rng, SAND_STREAM_FAULT_GAP, history, (*k)++) * (double)n);
}

static struct sand_rate draw_rate(uint32_t history, uint64_t *k, const struct sand_rate *before)
{
    const int64_t neighbours_ns = draw(history, k, 3 * S);
    const int64_t faults_ns = draw(history, k, 2) ? draw(history, k, 9 * S) : 0;
    return rate_of(before->healthy_ns, before->by_ns[SAND_SLOW_PLACEMENT], neighbours_ns,
                   faults_ns);
}

// 300 random histories of 60 changes, some with a standstill. Steps done equal the integral of
// 1 / step time over the time not stood still, to 1e-6 of a step; the times of whole steps and what
// was spent in the one under way sum to the time that passed, exactly; so do the causes, to a
// nanosecond a change.
Test(replay_progress, random_histories_add_up)
{
    for (uint32_t history = 0; history < 300; history++) {
        uint64_t k = 0;
        struct sand_rate rate = rate_of(5 * S + 123456789, 987654321, 0, 0);
        struct sand_progress p;
        double steps = 0, faults_ns = 0;
        int64_t now = draw(history, &k, 1000 * S), still_until = 0;
        const int64_t begin = now;
        sand_progress_open(&p, 0, &rate);
        sand_progress_run(&p, now, 0);
        for (int change = 0; change < 60; change++) {
            const int64_t next =
                now + (draw(history, &k, 3) ? draw(history, &k, 40 * S) : draw(history, &k, 4 * S));
            const int64_t from =
                still_until > now ? (still_until < next ? still_until : next) : now;
            steps += (double)(next - from) / (double)rate.step_ns;
            faults_ns += (double)(from - now) + (double)(next - from) / (double)rate.step_ns *
                                                    (double)rate.by_ns[SAND_SLOW_FAULTS];
            now = next;
            rate = draw_rate(history, &k, &rate);
            if (draw(history, &k, 4) == 0)
                still_until = now + draw(history, &k, 30 * S);
            sand_progress_change(&p, now, &rate, still_until);
        }
        // On to a boundary, so that every share is settled.
        const int64_t end = sand_progress_date(&p, p.first + 1);
        const int64_t from = still_until > now ? still_until : now;
        steps += (double)(end - from) / (double)rate.step_ns;
        faults_ns += (double)(from - now) +
                     (double)(end - from) / (double)rate.step_ns * (double)rate.by_ns[2];
        sand_progress_count(&p, end);
        cr_assert_float_eq((double)p.first, steps, 1e-6);
        cr_assert_eq(p.spent.time_ns, end - begin);
        cr_assert_float_eq((double)p.spent.by_ns[SAND_SLOW_FAULTS], faults_ns, 200);
        const int64_t slow = p.spent.by_ns[0] + p.spent.by_ns[1] + p.spent.by_ns[2];
        cr_assert_float_eq((double)slow, (double)p.spent.slow_ns, 200);
        cr_assert_float_eq((double)(p.spent.time_ns - slow),
                           (double)p.first * (double)rate.healthy_ns, 200);
    }
}

// The last nanosecond: a boundary that never comes, and a rate a million times slower.
Test(replay_progress, boundaries_beyond_time_never_come)
{
    const struct sand_rate year = rate_of(INT64_C(31536000) * S, 0, 0, 0);
    const struct sand_rate fast = rate_of(1, 0, 0, 0);
    struct sand_progress p;
    sand_progress_open(&p, 0, &year);
    sand_progress_run(&p, INT64_MAX / 2, 0);
    cr_assert_eq(sand_progress_date(&p, 1000), INT64_MAX);
    cr_assert_eq(sand_progress_date(&p, UINT64_MAX), INT64_MAX);
    sand_progress_open(&p, 0, &fast);
    sand_progress_run(&p, 0, 0);
    sand_progress_change(&p, 10, &year, 0);
    cr_assert_eq(p.first, 10u);
    cr_assert_eq(sand_progress_date(&p, 11), 10 + year.step_ns);
    sand_progress_change(&p, 10 + year.step_ns - 1, &fast, 0); // less than a nanosecond is left
    cr_assert_eq(sand_progress_date(&p, 11), 10 + year.step_ns);
}
