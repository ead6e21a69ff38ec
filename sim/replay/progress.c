// Counting steps at a rate that changes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "progress.h"

__extension__ typedef __int128 wide;

// round(amount x numerator / denominator); exact where numerator is a multiple of denominator.
static int64_t scale(int64_t amount, int64_t numerator, int64_t denominator)
{
    const wide product = (wide)amount * numerator;
    const wide half = product < 0 ? -(denominator / 2) : denominator / 2;
    return (int64_t)((product + half) / denominator);
}

static int64_t slow_of(const struct sand_rate *rate)
{
    return rate->step_ns > rate->healthy_ns ? rate->step_ns - rate->healthy_ns : 0;
}

static int64_t data_of(const struct sand_rate *rate)
{
    const int64_t rest = rate->step_ns - slow_of(rate);
    return rate->data_stall_ns < rest ? rate->data_stall_ns : rest;
}

// Adds the shares of `elapsed` at a rate.
static void add_shares(struct sand_spent *to, const struct sand_rate *rate, int64_t elapsed_ns)
{
    for (int c = 0; c < SAND_SLOW_CAUSES; c++)
        to->by_ns[c] += scale(rate->by_ns[c], elapsed_ns, rate->step_ns);
    to->slow_ns += scale(slow_of(rate), elapsed_ns, rate->step_ns);
    to->data_ns += scale(data_of(rate), elapsed_ns, rate->step_ns);
}

static void add(struct sand_spent *to, const struct sand_spent *what, int sign)
{
    to->steps += sign < 0 ? (uint64_t)0 - what->steps : what->steps;
    to->time_ns += sign * what->time_ns;
    for (int c = 0; c < SAND_SLOW_CAUSES; c++)
        to->by_ns[c] += sign * what->by_ns[c];
    to->slow_ns += sign * what->slow_ns;
    to->data_ns += sign * what->data_ns;
}

struct sand_spent sand_spent_since(const struct sand_spent *to, const struct sand_spent *from)
{
    struct sand_spent difference = *to;
    add(&difference, from, -1);
    return difference;
}

static void begin_step(struct sand_progress *p, int64_t date)
{
    p->began_ns = p->t0_ns = date;
    p->lead_ns = p->rate.step_ns;
    p->part = (struct sand_spent){0};
}

// Stands still until `resume`; before, it would have until `before`.
static void stand_still(struct sand_progress *p, int64_t before_ns, int64_t resume_ns)
{
    p->part.by_ns[SAND_SLOW_FAULTS] += resume_ns - before_ns;
    p->part.slow_ns += resume_ns - before_ns;
    p->still_ns += resume_ns - before_ns;
    p->t0_ns = resume_ns;
}

void sand_progress_open(struct sand_progress *p, uint64_t done, const struct sand_rate *rate)
{
    *p = (struct sand_progress){.rate = *rate, .first = done, .lead_ns = rate->step_ns};
}

void sand_progress_run(struct sand_progress *p, int64_t now_ns, int64_t resume_ns)
{
    p->running = 1;
    begin_step(p, now_ns);
    if (resume_ns > now_ns)
        stand_still(p, now_ns, resume_ns);
}

// The step under way, then as many whole ones as fit.
void sand_progress_count(struct sand_progress *p, int64_t now_ns)
{
    if (!p->running || now_ns - p->t0_ns < p->lead_ns)
        return;
    const int64_t end_ns = p->t0_ns + p->lead_ns;
    add_shares(&p->part, &p->rate, p->lead_ns);
    add(&p->spent, &p->part, 1);
    p->spent.time_ns += end_ns - p->began_ns;
    const int64_t more = (now_ns - end_ns) / p->rate.step_ns;
    add_shares(&p->spent, &p->rate, more * p->rate.step_ns);
    p->spent.time_ns += more * p->rate.step_ns;
    p->spent.steps += 1 + (uint64_t)more;
    p->first += 1 + (uint64_t)more;
    begin_step(p, end_ns + more * p->rate.step_ns);
}

// What is left of the step under way goes on at the new rate.
static void rescale(struct sand_progress *p, int64_t now_ns, const struct sand_rate *rate)
{
    const int64_t elapsed = now_ns > p->t0_ns ? now_ns - p->t0_ns : 0;
    const int64_t left = scale(p->lead_ns - elapsed, rate->step_ns, p->rate.step_ns);
    add_shares(&p->part, &p->rate, elapsed);
    p->lead_ns = left > 0 ? left : 1;
}

void sand_progress_change(struct sand_progress *p, int64_t now_ns, const struct sand_rate *rate,
                          int64_t resume_ns)
{
    sand_progress_count(p, now_ns);
    p->n_changes++;
    if (p->running) {
        rescale(p, now_ns, rate);
        const int64_t before_ns = p->t0_ns > now_ns ? p->t0_ns : now_ns;
        stand_still(p, before_ns, resume_ns > now_ns ? resume_ns : now_ns);
    } else {
        p->lead_ns = rate->step_ns;
    }
    p->rate = *rate;
}

int64_t sand_progress_stop(struct sand_progress *p, int64_t now_ns)
{
    sand_progress_count(p, now_ns);
    p->running = 0;
    p->part = (struct sand_spent){0};
    return now_ns - p->began_ns;
}

// ---- looking ahead ------------------------------------------------------------------------------

int64_t sand_progress_date(const struct sand_progress *p, uint64_t steps)
{
    if (steps == p->first)
        return p->began_ns;
    int64_t date;
    if (__builtin_add_overflow(p->t0_ns, p->lead_ns, &date) ||
        steps - p->first - 1 > (uint64_t)((INT64_MAX - date) / p->rate.step_ns))
        return INT64_MAX;
    return date + (int64_t)(steps - p->first - 1) * p->rate.step_ns;
}

uint64_t sand_progress_steps_at(const struct sand_progress *p, int64_t date)
{
    if (date <= p->began_ns)
        return p->first;
    const int64_t past = date - p->t0_ns - p->lead_ns, step = p->rate.step_ns;
    return p->first + 1 + (past > 0 ? (uint64_t)(past / step + (past % step != 0)) : 0);
}

int64_t sand_progress_part_ns(const struct sand_progress *p, int64_t now_ns)
{
    const int64_t elapsed = now_ns > p->t0_ns ? now_ns - p->t0_ns : 0;
    return p->rate.healthy_ns - scale(p->lead_ns - elapsed, p->rate.healthy_ns, p->rate.step_ns);
}

int64_t sand_progress_part_date(const struct sand_progress *p, int64_t part_ns)
{
    const int64_t left = scale(p->rate.healthy_ns - part_ns, p->rate.step_ns, p->rate.healthy_ns);
    return p->t0_ns + (p->lead_ns - left);
}

int64_t sand_progress_moving_ns(const struct sand_progress *p, int64_t since_ns, int64_t now_ns)
{
    const int64_t from = p->t0_ns > since_ns ? p->t0_ns : since_ns;
    return now_ns > from ? now_ns - from : 0;
}

int64_t sand_progress_stood_ns(const struct sand_progress *p, int64_t now_ns)
{
    return p->running && p->t0_ns > now_ns ? p->still_ns - (p->t0_ns - now_ns) : p->still_ns;
}

int64_t sand_progress_by_ns(struct sand_progress *p, enum sand_slow_cause cause, int64_t now_ns)
{
    sand_progress_count(p, now_ns);
    int64_t by_ns = p->spent.by_ns[cause];
    if (!p->running)
        return by_ns;
    by_ns += p->part.by_ns[cause];
    if (now_ns > p->t0_ns)
        return by_ns + scale(p->rate.by_ns[cause], now_ns - p->t0_ns, p->rate.step_ns);
    return cause == SAND_SLOW_FAULTS ? by_ns - (p->t0_ns - now_ns) : by_ns;
}
