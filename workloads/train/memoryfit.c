// The nearest split that fits into memory, when one does not: as few changes as possible, the cheap
// ones first. SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "train.h"

// One change of a split, on as many GPUs; 0 if it changes nothing. In the order of what they cost.
typedef int change_f(const struct sand_transformer *model, struct sand_split *split);

static int shard_optimizer(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = !split->distributed_optimizer && split->dp * split->cp > 1;
    split->distributed_optimizer = 1;
    return changes;
}

// Groups hold a full copy each; all copies share out one.
static int widen_groups(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = split->shard_group > 0 && split->shard_group < split->dp * split->cp;
    split->shard_group = 0;
    return changes;
}

static int spread_experts(const struct sand_transformer *model, struct sand_split *split)
{
    if (model->experts.n == 0 || split->ep == 0 || split->ep > model->experts.n / 2)
        return 0;
    split->ep *= 2;
    return 1;
}

static int recompute_selective(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = split->recompute == SAND_RECOMPUTE_NONE;
    split->recompute = SAND_RECOMPUTE_SELECTIVE;
    return changes;
}

static int halve_micro_batch(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    if (split->micro_batch % 2 != 0)
        return 0;
    split->micro_batch /= 2;
    return 1;
}

static int plain_pipeline(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = split->virtual_stages > 1;
    split->virtual_stages = 1;
    return changes;
}

static int double_of(uint32_t *size, uint32_t *dp)
{
    if (*dp % 2 != 0 || *size > UINT32_MAX / 2)
        return 0;
    *size *= 2;
    *dp /= 2;
    return 1;
}

static int double_pp(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    if (split->first_layers + split->last_layers > 0)
        return 0;
    return double_of(&split->pp, &split->dp);
}

static int double_tp(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    split->sequence_parallel = 1;
    return double_of(&split->tp, &split->dp);
}

static int recompute_full(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = split->recompute != SAND_RECOMPUTE_FULL;
    split->recompute = SAND_RECOMPUTE_FULL;
    return changes;
}

static int shard_parameters(const struct sand_transformer *model, struct sand_split *split)
{
    (void)model;
    const int changes = split->sharding != SAND_SHARD_PARAMETERS && split->dp * split->cp > 1 &&
                        split->schedule != SAND_SCHEDULE_ZERO_BUBBLE;
    split->sharding = SAND_SHARD_PARAMETERS;
    return changes;
}

static change_f *const changes[] = {
    shard_optimizer, widen_groups, spread_experts, recompute_selective, halve_micro_batch,
    plain_pipeline,  double_pp,    double_tp,      recompute_full,      shard_parameters};
enum { N_CHANGES = sizeof changes / sizeof changes[0], MOST_CHANGES = 4 };

struct fit {
    const struct sand_transformer *model;
    const struct sand_gpu_type *gpu;
    const struct sand_kernel_costs *kernels;
    struct sand_memory memory;
};

static int fits(struct fit *fit, const struct sand_split *split)
{
    const uint64_t rounds = (uint64_t)split->micro_batch * split->dp;
    if (rounds == 0 || split->global_batch % rounds != 0 ||
        sand_split_check(fit->model, split, 0, NULL) != SAND_OK)
        return 0;
    sand_memory_estimate(fit->model, split, fit->gpu, fit->kernels, &fit->memory);
    return fit->memory.total_B <= fit->memory.capacity_B;
}

// Splits that are `left` changes away, later changes never before earlier ones.
static int fit_within(struct fit *fit, struct sand_split *split, int first, int left)
{
    if (left == 0)
        return fits(fit, split);
    for (int i = first; i < N_CHANGES; i++) {
        struct sand_split changed = *split;
        if (changes[i](fit->model, &changed) && fit_within(fit, &changed, i, left - 1)) {
            *split = changed;
            return 1;
        }
    }
    return 0;
}

int sand_memory_nearest(const struct sand_transformer *model, const struct sand_split *split,
                        const struct sand_gpu_type *gpu, const struct sand_kernel_costs *kernels,
                        struct sand_split *nearest)
{
    struct fit fit = {.model = model, .gpu = gpu, .kernels = kernels};
    for (int n = 0; n <= MOST_CHANGES; n++) {
        *nearest = *split;
        if (fit_within(&fit, nearest, 0, n))
            return 1;
    }
    return 0;
}

// ---- in words -----------------------------------------------------------------------------------

struct words {
    char *text;
    size_t size, used;
};

static void add_number(struct words *words, const char *name, uint32_t was, uint32_t is)
{
    if (was == is || words->used >= words->size)
        return;
    const int n = snprintf(words->text + words->used, words->size - words->used, "%s%s=\"%u\"",
                           words->used > 0 ? " " : "", name, is);
    words->used += n > 0 ? (size_t)n : 0;
}

static void add_word(struct words *words, const char *setting, int changed)
{
    if (!changed || words->used >= words->size)
        return;
    const int n = snprintf(words->text + words->used, words->size - words->used, "%s%s",
                           words->used > 0 ? " " : "", setting);
    words->used += n > 0 ? (size_t)n : 0;
}

void sand_split_difference(const struct sand_split *was, const struct sand_split *is, char *text,
                           size_t size)
{
    struct words words = {.text = text, .size = size};
    text[0] = '\0';
    add_number(&words, "tp", was->tp, is->tp);
    add_number(&words, "pp", was->pp, is->pp);
    add_number(&words, "dp", was->dp, is->dp);
    add_number(&words, "ep", was->ep, is->ep);
    add_number(&words, "shard_group", was->shard_group, is->shard_group);
    add_number(&words, "virtual_stages", was->virtual_stages, is->virtual_stages);
    add_number(&words, "micro_batch", was->micro_batch, is->micro_batch);
    add_word(&words, "sequence_parallel=\"yes\"",
             !was->sequence_parallel && is->sequence_parallel && is->tp > 1);
    add_word(&words, "distributed_optimizer=\"yes\"",
             !was->distributed_optimizer && is->distributed_optimizer);
    add_word(&words, "sharding=\"parameters\"", was->sharding != is->sharding);
    add_word(&words,
             is->recompute == SAND_RECOMPUTE_FULL ? "recompute=\"full\""
                                                  : "recompute=\"selective\"",
             was->recompute != is->recompute);
}
