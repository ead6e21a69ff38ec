// Pipeline schedules: 1F1B and interleaved 1F1B (Narayanan et al. 2021, "Efficient Large-Scale
// Language Model Training on GPU Clusters", section 2.2; warm-up depth as in Megatron-LM), GPipe
// (Huang et al. 2019) and ZB-H1 (Qi et al. 2023, "Zero Bubble Pipeline Parallelism").
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Chunk forwards of one stage in a step.
static uint64_t forward_count(const struct sand_split *split)
{
    return (uint64_t)sand_split_micro_batches(split) * split->virtual_stages;
}

// Chunk forwards before the first backward.
static uint64_t warm_up(const struct sand_split *split, uint32_t stage)
{
    const uint64_t below = split->pp - stage - 1;
    uint64_t depth = split->schedule == SAND_SCHEDULE_GPIPE ? UINT64_MAX : below;
    if (split->virtual_stages > 1)
        depth = 2 * below + (uint64_t)(split->virtual_stages - 1) * split->pp;
    return least(depth, forward_count(split));
}

// The index-th forward (or backward) of a stage: chunks take turns by groups of pp micro-batches;
// backwards go through the chunks from the last to the first.
static struct sand_stage_op nth_pass(const struct sand_split *split, uint64_t index, int backward)
{
    const uint64_t group = (uint64_t)split->pp * split->virtual_stages;
    const uint64_t in_group = index % group;
    uint64_t chunk = in_group / split->pp;
    if (backward)
        chunk = split->virtual_stages - 1 - chunk;
    return (struct sand_stage_op){
        .chunk = (uint16_t)chunk,
        .backward = backward ? 1 : 0,
        .micro_batch = (uint32_t)(index / group * split->pp + in_group % split->pp),
    };
}

static struct sand_stage_op nth_plain_pass(uint64_t index, int backward)
{
    return (struct sand_stage_op){
        .chunk = 0, .backward = backward ? 1 : 0, .micro_batch = (uint32_t)index};
}

// Position `k` of a stage's order: warm-up forwards, then one forward and one backward in turn,
// then the backwards that are left.
static struct sand_stage_op nth_op(const struct sand_split *split, uint64_t depth, uint64_t k)
{
    const uint64_t n_forward = forward_count(split);
    const uint64_t steady = 2 * (n_forward - depth);
    uint64_t index = k;
    int backward = 0;
    if (k >= depth + steady) {
        index = k - n_forward;
        backward = 1;
    } else if (k >= depth) {
        const uint64_t in_steady = k - depth;
        backward = (int)(in_steady % 2);
        index = in_steady / 2 + (backward ? 0 : depth);
    }
    return split->virtual_stages > 1 ? nth_pass(split, index, backward)
                                     : nth_plain_pass(index, backward);
}

size_t sand_schedule_size(const struct sand_split *split)
{
    return (size_t)forward_count(split) * (split->schedule == SAND_SCHEDULE_ZERO_BUBBLE ? 3 : 2);
}

// Micro-batches by which a stage's weight gradients lag behind: so many that as many activations
// wait as in the first stage of 1F1B, and that no stage further up waits for them.
static uint64_t weight_lag(const struct sand_split *split, uint32_t stage)
{
    return least(stage, sand_split_micro_batches(split));
}

static void zero_bubble(const struct sand_split *split, uint32_t stage, struct sand_stage_op *ops)
{
    const uint64_t m = sand_split_micro_batches(split), lag = weight_lag(split, stage);
    uint64_t n_forward = 0, n_weights = 0;
    while (n_forward < warm_up(split, stage))
        *ops++ = nth_plain_pass(n_forward++, 0);
    for (uint64_t b = 0; b < m + lag; b++) {
        if (b < m && n_forward < m)
            *ops++ = nth_plain_pass(n_forward++, 0);
        if (b < m)
            *ops++ = nth_plain_pass(b, 1);
        if (b < lag)
            continue;
        *ops = nth_plain_pass(n_weights++, 1);
        ops++->weights = 1;
    }
}

size_t sand_schedule_stage(const struct sand_split *split, uint32_t stage,
                           struct sand_stage_op *ops)
{
    const size_t n = sand_schedule_size(split);
    const uint64_t depth = warm_up(split, stage);
    if (split->schedule == SAND_SCHEDULE_ZERO_BUBBLE)
        zero_bubble(split, stage, ops);
    else
        for (size_t k = 0; k < n; k++)
            ops[k] = nth_op(split, depth, k);
    return n;
}

static int64_t chunk_layers(const struct sand_transformer *model, const struct sand_split *split,
                            uint32_t stage, uint64_t index, int backward)
{
    return sand_split_layers(model, split, stage, nth_pass(split, index, backward).chunk);
}

// Of 1F1B. Chunks change every pp passes, so the order is gone through in runs without a change:
// the warm-up, then forwards and backwards in turn, which repeat after pp * virtual_stages.
static uint64_t most_in_flight(const struct sand_transformer *model, const struct sand_split *split,
                               uint32_t stage)
{
    const uint64_t pp = split->pp, depth = warm_up(split, stage);
    const uint64_t turns = least(forward_count(split) - depth, pp * split->virtual_stages);
    int64_t layers = 0;
    for (uint64_t k = 0; k < depth; k += pp)
        layers += (int64_t)least(pp, depth - k) * chunk_layers(model, split, stage, k, 0);
    int64_t most = layers;
    for (uint64_t k = 0, run; k < turns; k += run) {
        run = least(least(pp - (depth + k) % pp, pp - k % pp), turns - k);
        const int64_t forward = chunk_layers(model, split, stage, depth + k, 0);
        const int64_t more = forward - chunk_layers(model, split, stage, k, 1);
        const int64_t here = layers + forward + (more > 0 ? (int64_t)(run - 1) * more : 0);
        most = here > most ? here : most;
        layers += (int64_t)run * more;
    }
    return (uint64_t)most;
}

uint64_t sand_schedule_in_flight(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage)
{
    const uint64_t n = forward_count(split);
    switch (split->schedule) {
    case SAND_SCHEDULE_GPIPE: // everything, before the first backward
        return n * sand_split_layers(model, split, stage, 0);
    case SAND_SCHEDULE_ZERO_BUBBLE:
        return least(warm_up(split, stage) + 1 + weight_lag(split, stage), n) *
               sand_split_layers(model, split, stage, 0);
    case SAND_SCHEDULE_1F1B:
        break;
    }
    return most_in_flight(model, split, stage);
}
