// Sets up a run of the step, plays it, and reads the solution off its actors.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "run.h"
#include "step.h"
#include "stepproblem.h"

// Adds an actor's times for every group it stands for. From its own end to the step's it waits for
// others.
static void add_times(const struct step_run *run, uint32_t a, int64_t end,
                      struct sand_step_solution *sum)
{
    const struct step_actor *what = &run->problem->actors[a];
    const struct run_actor *actor = &run->actors[a];
    const double n = what->members;
    sum->compute_s += n * actor->compute_s;
    sum->recompute_s += n * actor->recompute_s;
    sum->optimizer_s += n * what->slowness * run->problem->stages[what->stage].optimizer_s;
    sum->exposed_tp_s += n * actor->tp_s;
    sum->exposed_cp_s += n * actor->cp_s;
    sum->exposed_ep_s += n * actor->experts_s;
    sum->exposed_pp_s += n * actor->pp_s;
    sum->exposed_dp_s += n * actor->dp_s;
    sum->bubble_s += n * (actor->bubble_s + (double)(end - actor->end) / STEP_TICKS_PER_S);
}

// The stage that computes longest; the first of equal ones.
static uint32_t busiest_stage(const struct step_run *run)
{
    uint32_t stage = 0;
    double most_s = -1;
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        const uint32_t here = run->problem->actors[a].stage;
        const double compute_s = run->actors[a].compute_s;
        if (compute_s > most_s || (compute_s == most_s && here < stage)) {
            most_s = compute_s;
            stage = here;
        }
    }
    return stage;
}

static void fill_solution(struct step_run *run, struct sand_step_solution *solution)
{
    int64_t end = 0;
    double members = 0;
    for (uint32_t a = 0; a < run->problem->n_actors; a++) {
        end = run->actors[a].end > end ? run->actors[a].end : end;
        members += run->problem->actors[a].members;
    }
    for (uint32_t a = 0; a < run->problem->n_actors; a++)
        add_times(run, a, end, solution);
    solution->compute_s /= members;
    solution->recompute_s /= members;
    solution->optimizer_s /= members;
    solution->exposed_tp_s /= members;
    solution->exposed_cp_s /= members;
    solution->exposed_ep_s /= members;
    solution->exposed_pp_s /= members;
    solution->exposed_dp_s /= members;
    solution->bubble_s /= members;
    solution->overhead_s = run->problem->header.overhead_s;
    solution->critical_stage = busiest_stage(run);
    solution->step_s = (double)end / STEP_TICKS_PER_S;
    solution->n_events = run->engine->n_events;
    step_activity_write(&run->activity, solution);
}

static enum sand_rc stop_engine(void *self, struct step_run *run)
{
    (void)self;
    run->engine->stopped = 1;
    return SAND_OK;
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    struct step_run *run = argument;
    run->engine->bridge = bridge;
    SAND_TRY(step_run_begin(run));
    return run_engine_go(run->engine);
}

static enum sand_rc play(struct step_run *run, struct sand_diag *diag)
{
    const struct sand_step_problem *p = run->problem;
    const struct sand_bridge_platform platform = {.link_Bps = p->link_Bps,
                                                  .n_links = (uint32_t)p->n_links,
                                                  .max_flows = (uint32_t)p->n_flows};
    run->engine->diag = diag;
    run->engine->runs = &run;
    run->engine->n_runs = 1;
    run->engine->step_end = stop_engine;
    return sand_bridge_run(&platform, pump, run, diag);
}

enum sand_rc sand_step_solve(const struct sand_step_problem *problem,
                             struct sand_step_solution *solution, struct sand_diag *diag)
{
    struct run_engine engine;
    struct step_run run = {0};
    enum sand_rc rc = run_engine_open(&engine, (uint32_t)problem->n_flows);
    if (rc == SAND_OK)
        rc = step_run_open(&run, &engine, problem, NULL);
    if (rc == SAND_OK)
        rc = play(&run, diag);
    else
        sand_fail(diag, rc, "step: %s", sand_rc_text(rc));
    if (rc == SAND_OK) {
        memset(solution, 0, sizeof *solution);
        fill_solution(&run, solution);
    }
    step_run_close(&run);
    run_engine_close(&engine);
    return rc;
}
