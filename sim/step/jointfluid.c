// Many jobs on common links: a fixed point of each alone against what the others put on the links.
// Its twin is to play them all together (jointsolve.c).
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "fluid.h"
#include "mem.h"

// Steps of each job a round; rounds until the time lines have settled; rounds whose steps count, at
// most.
enum { STEPS = 16, FIRST_ROUNDS = 3, MOST_ROUNDS = 32 };
static const double enough_error = 0.0025;
// Of the only job that is asked for: steps to begin with, and at most; how far the last doubling of
// them may move its mean.
enum { LEAST_STEPS = 3, FIRST_STEPS = 8, MOST_STEPS = 512 };
static const double enough_asked = 0.005;
// What it loses is too little for what the others lose to each other to matter; the product of both
// losses, which is by how much it does, is. The latter seen in so many steps of each. If it loses
// much, all are played together.
enum { FEW_STEPS = 4 };
static const double little_loss = 0.02, much_loss = 0.06;

struct rounds {
    struct fluid fluid;
    double ratio;           // of the phases
    uint32_t phase, left;   // of the next step of the job that is played; its steps to come
    uint32_t round, absent; // of all; the job that takes no part in them
    double *sum_s, *last_s; // per job: over the rounds that count; the mean at the last check
};

// The others are met from phases of their own, other ones in every step of every round.
static enum sand_rc begin_step(struct rounds *rounds, struct step_run *run)
{
    struct fluid *fluid = &rounds->fluid;
    for (uint32_t k = 0, other = 1; k < fluid->n; k++)
        if (k != fluid->played) {
            fluid->jobs[k].begin_s =
                joint_share(rounds->ratio, other++, rounds->phase) * fluid->jobs[k].length_s;
            fluid->jobs[k].behind_s = 0;
        }
    rounds->phase++;
    return step_run_begin(run);
}

static enum sand_rc step_over(void *self, struct step_run *run)
{
    struct rounds *rounds = self;
    if (--rounds->left > 0)
        return begin_step(rounds, run);
    run->engine->stopped = 1;
    return SAND_OK;
}

static enum sand_rc set_out(void *self, struct step_run *run, uint32_t f, double *bytes)
{
    return fluid_set_out(&((struct rounds *)self)->fluid, run, f, bytes);
}

static enum sand_rc set_out_alone(void *self, struct step_run *run, uint32_t f, double *bytes)
{
    return fluid_set_out_alone(&((struct rounds *)self)->fluid, run, f, bytes);
}

static enum sand_rc through(void *self, struct step_run *run, uint32_t f)
{
    return fluid_through(&((struct rounds *)self)->fluid, run, f);
}

// n steps of a job, the others' phases from that number on. *took_s: how long.
static enum sand_rc play(struct rounds *rounds, uint32_t i, uint32_t phase, uint32_t n,
                         double *took_s)
{
    struct joint *j = rounds->fluid.joint;
    const int64_t from = j->engine.now;
    rounds->phase = phase;
    rounds->left = n;
    fluid_begin(&rounds->fluid, i);
    SAND_TRY(begin_step(rounds, &j->bones[i]));
    SAND_TRY(run_engine_go(&j->engine));
    fluid_end(&rounds->fluid, from, n);
    *took_s = run_seconds(j->engine.now - from);
    return SAND_OK;
}

// A step of each, nobody else there.
static enum sand_rc play_alone(struct rounds *rounds)
{
    struct joint *j = rounds->fluid.joint;
    j->engine.set_out = set_out_alone;
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        SAND_TRY(play(rounds, i, 0, 1, &j->skeletons[i].alone_s));
        rounds->last_s[i] = j->skeletons[i].alone_s;
    }
    j->engine.set_out = set_out;
    return SAND_OK;
}

static enum sand_rc play_round(struct rounds *rounds)
{
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        double took_s = 0;
        if (i == rounds->absent)
            continue;
        SAND_TRY(play(rounds, i, rounds->round * STEPS, STEPS, &took_s));
        if (rounds->round >= FIRST_ROUNDS)
            rounds->sum_s[i] += took_s / STEPS;
    }
    return SAND_OK;
}

// ---- all jobs -----------------------------------------------------------------------------------

// How far the rounds since the last check, as many as before it, moved the mean of any job.
static double moved(struct rounds *rounds, uint32_t counted)
{
    double most = counted > 1 ? 0 : 1;
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        const double mean_s = rounds->sum_s[i] / counted;
        most = fmax(most, fabs(mean_s - rounds->last_s[i]) / mean_s);
        rounds->last_s[i] = mean_s;
    }
    return most;
}

static enum sand_rc play_rounds(struct rounds *rounds, struct sand_joint_solution *solution)
{
    for (uint32_t check = 1;; rounds->round++) {
        SAND_TRY(play_round(rounds));
        if (rounds->round + 1 < FIRST_ROUNDS + check)
            continue;
        solution->error = moved(rounds, check);
        solution->n_offsets = rounds->round + 1;
        if (solution->error <= enough_error || check == MOST_ROUNDS)
            return SAND_OK;
        check *= 2;
    }
}

// ---- one job ------------------------------------------------------------------------------------

// As many steps as make FIRST_STEPS of the others in the mean, but LEAST_STEPS: a long one meets as
// much in fewer.
static uint32_t first_steps(const struct rounds *rounds, uint32_t asked)
{
    const struct step_skeleton *skeletons = rounds->fluid.joint->skeletons;
    double others_s = 0;
    for (uint32_t i = 0; i < rounds->fluid.n; i++)
        if (i != asked)
            others_s += skeletons[i].alone_s / (rounds->fluid.n - 1);
    const double steps = ceil(FIRST_STEPS * others_s / skeletons[asked].alone_s);
    return (uint32_t)fmin(FIRST_STEPS, fmax(LEAST_STEPS, steps));
}

// Steps of the job that is asked for, twice as many until its mean stands still.
static enum sand_rc play_asked(struct rounds *rounds, struct sand_joint_solution *solution)
{
    const uint32_t asked = rounds->fluid.joint->problem->asked;
    double sum_s = 0, took_s = 0;
    uint32_t n = first_steps(rounds, asked);
    SAND_TRY(play(rounds, asked, 0, n, &sum_s));
    do {
        rounds->last_s[asked] = sum_s / n;
        SAND_TRY(play(rounds, asked, n, n, &took_s));
        sum_s += took_s;
        n *= 2;
        solution->error = fabs(sum_s / n - rounds->last_s[asked]) / (sum_s / n);
    } while (solution->error > enough_asked && n < MOST_STEPS);
    rounds->last_s[asked] = sum_s / n;
    solution->n_offsets = n;
    return SAND_OK;
}

static double lost(const struct rounds *rounds, uint32_t i, double step_s)
{
    return step_s / rounds->fluid.joint->skeletons[i].alone_s - 1;
}

// The most any of the others loses to them while the one that is asked for is away.
static enum sand_rc look_at_others(struct rounds *rounds, double *most)
{
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        double took_s = 0;
        if (i == rounds->absent)
            continue;
        SAND_TRY(play(rounds, i, 0, FEW_STEPS, &took_s));
        *most = fmax(*most, lost(rounds, i, took_s / FEW_STEPS));
    }
    return SAND_OK;
}

// The one that is asked for meets the others as they would be without it: as they are alone, while
// what they lose to each other makes no difference to it, or settled among themselves.
static enum sand_rc play_one(struct rounds *rounds, struct sand_joint_solution *solution,
                             int *is_answered)
{
    const uint32_t asked = rounds->fluid.joint->problem->asked;
    double others_lose = 0;
    SAND_TRY(play_asked(rounds, solution));
    const double loses = lost(rounds, asked, rounds->last_s[asked]);
    if (loses < little_loss)
        return SAND_OK;
    *is_answered = loses <= much_loss;
    if (!*is_answered)
        return SAND_OK;
    rounds->absent = asked;
    fluid_take_away(&rounds->fluid, asked);
    SAND_TRY(look_at_others(rounds, &others_lose));
    if (loses * others_lose < SAND_JOINT_SECOND_ORDER)
        return SAND_OK;
    for (; rounds->round < FIRST_ROUNDS; rounds->round++)
        SAND_TRY(play_round(rounds));
    return play_asked(rounds, solution);
}

// ---- the answer ---------------------------------------------------------------------------------

static enum sand_rc play_what_is_asked(struct rounds *rounds, struct sand_joint_solution *solution,
                                       int *is_answered)
{
    SAND_TRY(play_alone(rounds));
    return rounds->fluid.joint->problem->asked < rounds->fluid.n
               ? play_one(rounds, solution, is_answered)
               : play_rounds(rounds, solution);
}

static void fill_parts(const struct rounds *rounds, struct sand_joint_solution *solution)
{
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        const struct step_skeleton *skeleton = &rounds->fluid.joint->skeletons[i];
        const double step_s = rounds->last_s[i] + skeleton->step_s - skeleton->alone_s;
        solution->parts[i] = (struct sand_joint_part){step_s, step_s, step_s};
    }
}

// What streams have while all jobs step, from many phases of theirs.
static void fill_transfers(struct rounds *rounds)
{
    enum { INSTANTS = 256 };
    struct fluid *fluid = &rounds->fluid;
    double shares[SAND_JOINT_JOBS];
    for (uint32_t k = 0; k < INSTANTS && fluid->n_all > fluid->n; k++) {
        for (uint32_t i = 0; i < fluid->n; i++)
            shares[i] = joint_share(joint_ratio(fluid->n + 1), i + 1, k);
        for (uint32_t t = 0; t < fluid->n_all - fluid->n; t++)
            fluid->joint->stream_Bps[t] += fluid_stream_Bps(fluid, t, shares) / INSTANTS;
    }
}

static enum sand_rc answer(struct rounds *rounds, struct sand_joint_solution *solution,
                           int *is_answered)
{
    struct run_engine *engine = &rounds->fluid.joint->engine;
    engine->self = rounds;
    engine->step_end = step_over;
    engine->set_out = set_out;
    engine->through = through;
    const enum sand_rc rc = play_what_is_asked(rounds, solution, is_answered);
    engine->set_out = NULL;
    engine->through = NULL;
    if (rc != SAND_OK)
        return rc;
    fill_parts(rounds, solution);
    fill_transfers(rounds);
    return SAND_OK;
}

enum sand_rc joint_fluid(struct joint *j, struct sand_joint_solution *solution, int *is_answered)
{
    struct rounds rounds = {.ratio = joint_ratio(j->problem->n), .absent = j->problem->n};
    *is_answered = 1;
    rounds.sum_s = sand_calloc(j->problem->n, sizeof *rounds.sum_s);
    rounds.last_s = sand_calloc(j->problem->n, sizeof *rounds.last_s);
    enum sand_rc rc = fluid_open(&rounds.fluid, j);
    if (rounds.sum_s == NULL || rounds.last_s == NULL)
        rc = SAND_ERR_NOMEM;
    if (rc == SAND_OK)
        rc = answer(&rounds, solution, is_answered);
    fluid_close(&rounds.fluid);
    sand_free(rounds.sum_s);
    sand_free(rounds.last_s);
    return rc;
}
