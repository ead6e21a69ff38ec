// A question answered: prepare, have it solved, check the links left out, report.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "mem.h"
#include "step.h"
#include "stepproblem.h"
#include "watch.h"

static void fill_times(const struct sand_step_solution *solution, struct sand_step_profile *profile)
{
    profile->step_s = solution->step_s;
    profile->compute_s = solution->compute_s;
    profile->recompute_s = solution->recompute_s;
    profile->optimizer_s = solution->optimizer_s;
    profile->overhead_s = solution->overhead_s;
    profile->exposed_tp_s = solution->exposed_tp_s;
    profile->exposed_cp_s = solution->exposed_cp_s;
    profile->exposed_ep_s = solution->exposed_ep_s;
    profile->exposed_pp_s = solution->exposed_pp_s;
    profile->exposed_dp_s = solution->exposed_dp_s;
    profile->bubble_s = solution->bubble_s;
    profile->critical_stage = solution->critical_stage;
    profile->n_events = solution->n_events;
}

static void fill_profile(const struct sand_step_problem *p,
                         const struct sand_step_solution *solution,
                         struct sand_step_profile *profile)
{
    const struct step_header *h = &p->header;
    memset(profile, 0, sizeof *profile);
    fill_times(solution, profile);
    profile->tokens_per_s = h->tokens / profile->step_s;
    profile->model_flops = h->model_flops;
    profile->hardware_flops = h->hardware_flops;
    profile->peak_flops = h->peak_flops;
    profile->mfu = h->model_flops / (profile->step_s * h->peak_flops);
    profile->hfu = h->hardware_flops / (profile->step_s * h->peak_flops);
    for (int c = 0; c < SAND_LINK_CLASSES; c++) {
        profile->link_B[c] = p->report.link_B[c];
        profile->link_utilisation[c] = p->report.link_busy_s[c] / profile->step_s;
    }
    profile->memory = p->report.memory;
    profile->n_flows_full = p->report.n_flows_full;
    profile->n_links_full = p->report.n_links_full;
    profile->n_actors_full = p->report.n_actors_full;
    profile->n_flows = p->n_flows;
    profile->n_links = p->n_links;
    profile->n_actors = p->n_actors;
}

// Fabric links that have to be in the problem.
struct binding_links {
    uint32_t *links;
    size_t n, capacity;
};

static int compare_links(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum sand_rc add_links(struct binding_links *binding, const uint32_t *links, size_t n)
{
    SAND_TRY(sand_grow((void **)&binding->links, &binding->capacity, binding->n + n,
                       sizeof *binding->links));
    memcpy(binding->links + binding->n, links, n * sizeof *links);
    binding->n += n;
    qsort(binding->links, binding->n, sizeof *binding->links, compare_links);
    return SAND_OK;
}

// One round; *n_over: how many links had to be added to `binding`, 0: *problem has its solution.
static enum sand_rc ask_once(const struct sand_step_question *question, sand_step_solver *solver,
                             void *self, struct binding_links *binding,
                             struct sand_step_problem **problem,
                             struct sand_step_solution *solution, size_t *n_over,
                             struct sand_diag *diag)
{
    uint32_t *over = NULL;
    SAND_TRY(sand_step_prepare(question, binding->links, binding->n, problem, diag));
    enum sand_rc rc = solver(self, *problem, solution, diag);
    if (rc == SAND_OK)
        rc = step_watches_check(*problem, solution, &over, n_over);
    if (rc == SAND_OK && *n_over > 0)
        rc = add_links(binding, over, *n_over);
    sand_free(over);
    if (rc == SAND_OK && *n_over == 0)
        return SAND_OK;
    sand_step_problem_free(*problem);
    *problem = NULL;
    return rc;
}

// Prepares and solves until no link that was left out is overloaded (see sand_step_ask). *problem:
// sand_step_problem_free it.
static enum sand_rc settle(const struct sand_step_question *question, sand_step_solver *solver,
                           void *self, struct binding_links *binding,
                           struct sand_step_problem **problem, struct sand_step_solution *solution,
                           struct sand_diag *diag)
{
    size_t n_over = 1;
    enum sand_rc rc = SAND_OK;
    while (rc == SAND_OK && n_over > 0)
        rc = ask_once(question, solver, self, binding, problem, solution, &n_over, diag);
    return rc;
}

static enum sand_rc settle_alone(const struct sand_step_question *question,
                                 sand_step_solver *solver, void *self,
                                 struct sand_step_problem **problem,
                                 struct sand_step_solution *solution, struct sand_diag *diag)
{
    struct binding_links binding = {0};
    const enum sand_rc rc = settle(question, solver, self, &binding, problem, solution, diag);
    sand_free(binding.links);
    return rc;
}

enum sand_rc step_settle_coupled(const struct sand_step_question *question, const uint32_t *links,
                                 size_t n_links, sand_step_solver *solver, void *self,
                                 struct sand_step_problem **problem, struct sand_diag *diag)
{
    struct binding_links binding = {0};
    struct sand_step_solution solution;
    struct sand_step_question coupled = *question;
    coupled.coupled = links;
    coupled.n_coupled = n_links;
    enum sand_rc rc = settle(question, solver, self, &binding, problem, &solution, diag);
    sand_step_problem_free(*problem);
    *problem = NULL;
    if (rc == SAND_OK)
        rc = sand_step_prepare(&coupled, binding.links, binding.n, problem, diag);
    sand_free(binding.links);
    return rc;
}

enum sand_rc sand_step_ask(const struct sand_step_question *question, sand_step_solver *solver,
                           void *self, struct sand_step_profile *profile, struct sand_diag *diag)
{
    struct sand_step_problem *problem = NULL;
    struct sand_step_solution solution;
    SAND_TRY(settle_alone(question, solver, self, &problem, &solution, diag));
    fill_profile(problem, &solution, profile);
    sand_step_problem_free(problem);
    return SAND_OK;
}

enum sand_rc sand_step_ask_loads(const struct sand_step_question *question,
                                 sand_step_solver *solver, void *self,
                                 struct sand_step_profile *profile, struct sand_link_load **loads,
                                 size_t *n_loads, struct sand_diag *diag)
{
    struct sand_step_problem *problem = NULL;
    struct sand_step_solution solution;
    SAND_TRY(settle_alone(question, solver, self, &problem, &solution, diag));
    fill_profile(problem, &solution, profile);
    const enum sand_rc rc = step_watches_load(problem, &solution, loads, n_loads);
    sand_step_problem_free(problem);
    return rc;
}
