// What a split asks of a model's experts.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

#define REFUSE(condition, ...)                                                                     \
    do {                                                                                           \
        if (condition) {                                                                           \
            sand_diag_add(diag, SAND_ERROR, NULL, 0, __VA_ARGS__);                                 \
            n_bad++;                                                                               \
        }                                                                                          \
    } while (0)

// The other rules divide by these.
static size_t check_sizes(const struct sand_experts *experts, const struct sand_split *split,
                          struct sand_diag *diag)
{
    size_t n_bad = 0;
    REFUSE(experts->per_token == 0 || experts->per_token > experts->n,
           "model: experts_per_token is %u of %u experts; it must be 1 to %u", experts->per_token,
           experts->n, experts->n);
    const uint32_t groups = experts->groups > 0 ? experts->groups : 1;
    const uint32_t chosen = groups > 1 ? experts->groups_per_token : 1;
    REFUSE(experts->n % groups != 0,
           "model: %u groups do not divide %u experts; groups are equal: choose a divisor", groups,
           experts->n);
    REFUSE(chosen == 0 || chosen > groups ||
               (double)chosen * experts->n < (double)experts->per_token * groups,
           "model: groups_per_token is %u of %u groups, %u experts each, for %u experts per token; "
           "it must be 1 to %u, with as many experts in all",
           chosen, groups, experts->n / groups, experts->per_token, groups);
    REFUSE(experts->ffn_hidden == 0, "model: expert_ffn is 0; it must be at least 1");
    REFUSE(split->ep == 0, "split: ep is 0; it must be at least 1");
    REFUSE(
        !(split->imbalance >= 1.0),
        "split: imbalance is %g; the fullest expert-parallel rank has at least the mean: write 1 "
        "or more",
        split->imbalance);
    return n_bad;
}

static size_t check_group(const struct sand_experts *experts, const struct sand_split *split,
                          struct sand_diag *diag)
{
    const uint32_t expert_tp = sand_split_expert_tp(split);
    const uint64_t group = (uint64_t)split->ep * expert_tp;
    const uint64_t gpus = (uint64_t)split->tp * split->cp * split->dp;
    size_t n_bad = 0;
    REFUSE(experts->n % split->ep != 0,
           "split: ep %u does not divide the model's %u experts; every rank holds as many",
           split->ep, experts->n);
    REFUSE(experts->ffn_hidden % expert_tp != 0,
           "split: expert_tp %u does not divide the model's expert_ffn %u; write expert_tp=\"1\"",
           expert_tp, experts->ffn_hidden);
    REFUSE(group % split->tp != 0,
           "split: ep %u x expert_tp %u is no multiple of tp %u; experts are shared out over whole "
           "tensor-parallel groups: change ep or expert_tp",
           split->ep, expert_tp, split->tp);
    REFUSE(
        gpus % group != 0,
        "split: ep %u x expert_tp %u does not divide the %llu GPUs of a stage (tp %u x cp %u x dp "
        "%u); lower ep or write expert_tp=\"1\"",
        split->ep, expert_tp, (unsigned long long)gpus, split->tp, split->cp, split->dp);
    const uint64_t apart =
        group / split->tp; // copies of the stage from one of an expert to the next
    REFUSE(apart > 0 && group % split->tp == 0 && split->shard_group > apart &&
               split->shard_group % apart != 0,
           "split: shard_group %u is no multiple of the %llu copies that hold all experts once (ep "
           "%u x expert_tp %u / tp %u); groups would hold unequally many: choose a multiple",
           split->shard_group, (unsigned long long)apart, split->ep, expert_tp, split->tp);
    REFUSE(
        split->tp > 1 && !split->sequence_parallel,
        "split: experts with tp %u need sequence_parallel=\"yes\": a token is dispatched once, not "
        "by every tensor-parallel rank",
        split->tp);
    return n_bad;
}

size_t sand_experts_check(const struct sand_transformer *model, const struct sand_split *split,
                          struct sand_diag *diag)
{
    size_t n_bad = 0;
    if (model->experts.n == 0) {
        REFUSE(split->ep > 1 || split->expert_tp > 1,
               "split: ep %u and expert_tp %u, but the model has no experts; leave them out",
               split->ep, split->expert_tp);
        return n_bad;
    }
    n_bad = check_sizes(&model->experts, split, diag);
    return n_bad > 0 ? n_bad : check_group(&model->experts, split, diag);
}
