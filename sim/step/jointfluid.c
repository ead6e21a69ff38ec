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

struct rounds {
    struct fluid fluid;
    double ratio;           // of the phases
    uint32_t step, round;   // of the job that is played; all rounds
    double *sum_s, *last_s; // per job: over the rounds that count; the mean at the last check
};

// The others are met from phases of their own, other ones in every step of every round.
static enum sand_rc begin_step(struct rounds *rounds, struct step_run *run)
{
    struct fluid *fluid = &rounds->fluid;
    for (uint32_t k = 0, other = 1; k < fluid->n; k++)
        if (k != fluid->played) {
            fluid->jobs[k].begin_s =
                joint_share(rounds->ratio, other++, rounds->step + rounds->round * STEPS) *
                fluid->jobs[k].length_s;
            fluid->jobs[k].behind_s = 0;
        }
    return step_run_begin(run);
}

static enum sand_rc step_over(void *self, struct step_run *run)
{
    struct rounds *rounds = self;
    if (++rounds->step < STEPS)
        return begin_step(rounds, run);
    run->engine->stopped = 1;
    return SAND_OK;
}

static double stretch(void *self, struct step_run *run, uint32_t f)
{
    return fluid_stretch(&((struct rounds *)self)->fluid, run, f);
}

static enum sand_rc through(void *self, struct step_run *run, uint32_t f)
{
    return fluid_through(&((struct rounds *)self)->fluid, run, f);
}

static enum sand_rc play(struct rounds *rounds, uint32_t i)
{
    struct joint *j = rounds->fluid.joint;
    const int64_t from = j->engine.now;
    rounds->step = 0;
    fluid_begin(&rounds->fluid, i);
    SAND_TRY(begin_step(rounds, &j->bones[i]));
    SAND_TRY(run_engine_go(&j->engine));
    fluid_end(&rounds->fluid, from, STEPS);
    if (rounds->round >= FIRST_ROUNDS)
        rounds->sum_s[i] += rounds->fluid.jobs[i].length_s / STEPS;
    return SAND_OK;
}

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
        for (uint32_t i = 0; i < rounds->fluid.n; i++)
            SAND_TRY(play(rounds, i));
        if (rounds->round + 1 < FIRST_ROUNDS + check)
            continue;
        solution->error = moved(rounds, check);
        if (solution->error <= enough_error || check == MOST_ROUNDS)
            return SAND_OK;
        check *= 2;
    }
}

static void fill_parts(const struct rounds *rounds, struct sand_joint_solution *solution)
{
    for (uint32_t i = 0; i < rounds->fluid.n; i++) {
        const struct step_skeleton *skeleton = &rounds->fluid.joint->skeletons[i];
        const double step_s = rounds->last_s[i] + skeleton->step_s - skeleton->alone_s;
        solution->parts[i] = (struct sand_joint_part){step_s, step_s, step_s};
    }
    solution->n_offsets = rounds->round + 1;
}

// What streams have while all jobs step, from many phases of theirs.
static void fill_transfers(struct rounds *rounds)
{
    enum { INSTANTS = 256 };
    struct fluid *fluid = &rounds->fluid;
    double shares[SAND_JOINT_JOBS];
    for (uint32_t k = 0; k < INSTANTS && fluid->n_all > fluid->n; k++) {
        for (uint32_t i = 0; i < fluid->n; i++)
            shares[i] = joint_share(rounds->ratio, i + 1, k);
        for (uint32_t t = 0; t < fluid->n_all - fluid->n; t++)
            fluid->joint->stream_Bps[t] += fluid_stream_Bps(fluid, t, shares) / INSTANTS;
    }
}

enum sand_rc joint_fluid(struct joint *j, struct sand_joint_solution *solution)
{
    struct rounds rounds = {.ratio = joint_ratio(j->problem->n + 1)};
    rounds.sum_s = sand_calloc(j->problem->n, sizeof *rounds.sum_s);
    rounds.last_s = sand_calloc(j->problem->n, sizeof *rounds.last_s);
    enum sand_rc rc = fluid_open(&rounds.fluid, j);
    if (rounds.sum_s == NULL || rounds.last_s == NULL)
        rc = SAND_ERR_NOMEM;
    j->engine.self = &rounds;
    j->engine.step_end = step_over;
    j->engine.stretch = stretch;
    j->engine.through = through;
    if (rc == SAND_OK)
        rc = play_rounds(&rounds, solution);
    if (rc == SAND_OK) {
        fill_parts(&rounds, solution);
        fill_transfers(&rounds);
    }
    fluid_close(&rounds.fluid);
    sand_free(rounds.sum_s);
    sand_free(rounds.last_s);
    return rc;
}
