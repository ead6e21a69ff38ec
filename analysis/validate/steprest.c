// A row's own numbers, put together.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "steprest.h"

#include "train.h"

enum { MOST_STAGES = 64 };

static int fits(const struct sand_step_rules *rules, uint32_t gpus, const struct sand_step_case *c)
{
    const struct sand_split *s = &c->job.split;
    struct sand_memory memory;
    if (sand_split_check(&c->model, s, gpus, NULL) != SAND_OK)
        return 0;
    return sand_memory_check(&c->model, s, c->machine->node->gpu, rules->kernels, &memory, NULL) ==
           SAND_OK;
}

static int take(uint32_t gpus, uint32_t tp, uint32_t pp, struct sand_split *s)
{
    const uint64_t group = (uint64_t)tp * pp * s->cp;
    if (gpus % group != 0)
        return 0;
    s->tp = tp;
    s->pp = pp;
    s->dp = (uint32_t)(gpus / group);
    s->virtual_stages = pp > 1 ? s->virtual_stages : 1;
    return 1;
}

void sand_step_rest_split(const struct sand_step_rules *rules, uint32_t gpus, uint32_t domain_gpus,
                          struct sand_step_case *c)
{
    struct sand_split *s = &c->job.split;
    const uint32_t tp_given = s->tp, pp_given = s->pp;
    const uint32_t tp_first = tp_given > 0 ? tp_given : 1, pp_first = pp_given > 0 ? pp_given : 1;
    const uint32_t tp_most = tp_given > 0 ? tp_given : domain_gpus < 8 ? domain_gpus : 8;
    const uint32_t pp_most = pp_given > 0 ? pp_given : MOST_STAGES;
    for (uint32_t pp = pp_first; pp <= pp_most; pp *= 2)
        for (uint32_t tp = tp_first; tp <= tp_most; tp *= 2)
            if (take(gpus, tp, pp, s) && fits(rules, gpus, c))
                return;
    if (!take(gpus, tp_first, pp_first, s))
        s->dp = 0;
}

double sand_step_rest_time(const struct sand_step_case *c, uint32_t gpus, double flops)
{
    // What unfused attention would recompute is a forward pass through all of attention.
    struct sand_split attention = c->job.split;
    attention.recompute = SAND_RECOMPUTE_SELECTIVE;
    attention.attention = SAND_ATTENTION_UNFUSED;
    double counted = sand_model_flops(&c->model, &c->job.split);
    if (c->stack->counts == SAND_COUNTS_UNKNOWN || !(flops > 0))
        return 0;
    if (c->stack->counts == SAND_COUNTS_FULL)
        counted += 3 * sand_recompute_flops(&c->model, &attention);
    return counted / (flops * gpus);
}
