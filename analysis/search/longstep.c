// Two shorter steps and the straight line through them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "longstep.h"

#include "train.h"

enum { FEW_PASSES = 128, LEAST_ROUNDS = 3, LONG = 4 };

// Micro-batches of the shorter of the two steps: whole rounds, enough of them to fill the pipeline.
static uint64_t few_micro_batches(const struct sand_split *split)
{
    const uint64_t round = split->pp, of_chunk = FEW_PASSES / split->virtual_stages;
    const uint64_t rounds = (of_chunk + round - 1) / round;
    return (rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds) * round;
}

static enum sand_rc solve(struct sand_oracle *oracle, const struct sand_step_question *question,
                          uint64_t micro_batches, struct sand_step_profile *profile,
                          struct sand_diag *diag)
{
    struct sand_step_question shorter = *question;
    struct sand_job_spec job = *question->job;
    job.split.global_batch = (uint32_t)(micro_batches * job.split.micro_batch * job.split.dp);
    shorter.job = &job;
    return sand_oracle_step(oracle, &shorter, profile, diag);
}

// The line through *few and *more at `times` the distance between them beyond *more.
static double beyond(double few, double more, double times)
{
    return more + (more - few) * times;
}

static void extend(const struct sand_step_profile *few, double times,
                   struct sand_step_profile *more)
{
    const double tokens = more->tokens_per_s * more->step_s;
    const double all = beyond(few->tokens_per_s * few->step_s, tokens, times) / tokens;
    struct sand_step_profile p = *more;
    double *const parts[] = {&p.step_s,         &p.compute_s,    &p.recompute_s,  &p.optimizer_s,
                             &p.overhead_s,     &p.exposed_tp_s, &p.exposed_cp_s, &p.exposed_pp_s,
                             &p.exposed_dp_s,   &p.exposed_ep_s, &p.bubble_s,     &p.model_flops,
                             &p.hardware_flops, &p.data_stall_s};
    const double firsts[] = {few->step_s,         few->compute_s,    few->recompute_s,
                             few->optimizer_s,    few->overhead_s,   few->exposed_tp_s,
                             few->exposed_cp_s,   few->exposed_pp_s, few->exposed_dp_s,
                             few->exposed_ep_s,   few->bubble_s,     few->model_flops,
                             few->hardware_flops, few->data_stall_s};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] = beyond(firsts[i], *parts[i], times);
    for (int c = 0; c < SAND_LINK_CLASSES; c++) {
        const double busy_s = beyond(few->link_utilisation[c] * few->step_s,
                                     more->link_utilisation[c] * more->step_s, times);
        p.link_B[c] = beyond(few->link_B[c], more->link_B[c], times);
        p.link_utilisation[c] = busy_s / p.step_s;
    }
    const double slower = p.step_s / more->step_s;
    p.tokens_per_s *= all / slower;
    p.mfu *= all / slower;
    p.hfu *= all / slower;
    *more = p;
}

enum sand_rc long_step(struct sand_oracle *oracle, const struct sand_step_question *question,
                       struct sand_step_profile *profile, int *shortened, struct sand_diag *diag)
{
    const uint64_t all = sand_split_micro_batches(&question->job->split);
    const uint64_t few = few_micro_batches(&question->job->split);
    struct sand_step_profile first;
    *shortened = all > LONG * few;
    if (!*shortened)
        return sand_oracle_step(oracle, question, profile, diag);
    SAND_TRY(solve(oracle, question, few, &first, diag));
    SAND_TRY(solve(oracle, question, 2 * few, profile, diag));
    extend(&first, (double)(all - 2 * few) / (double)few, profile);
    return SAND_OK;
}
