// Every factorisation of the GPUs and every variant of each.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "space.h"

#include "mem.h"
#include "train.h"

// ---- frames -------------------------------------------------------------------------------------

struct frames {
    struct sand_split *list;
    size_t n, capacity;
    uint32_t domain_gpus;
};

// Copies of the first stage in the first scale-up domain; 0 if that is one, all, or groups of as
// many do not come out even.
static uint32_t domain_copies(const struct sand_split *split, uint32_t domain_gpus)
{
    const uint32_t cp = split->cp, all = split->dp * cp, room = domain_gpus / split->tp;
    const uint32_t apart = sand_split_order(split) == SAND_RANKS_TP_CP_PP_DP ? cp * split->pp : cp;
    const uint32_t whole = room < cp ? 0 : (room - cp) / apart + 1; // replicas
    const uint32_t left = room > whole * apart ? room - whole * apart : 0;
    const uint32_t copies = whole * cp + (left < cp ? left : cp);
    return copies > 1 && copies < all && all % copies == 0 ? copies : 0;
}

// Both rank orders, where pipeline and data parallelism could change places.
static enum sand_rc add_orders(struct frames *frames, struct sand_split split)
{
    static const enum sand_rank_order orders[] = {SAND_RANKS_TP_CP_PP_DP, SAND_RANKS_TP_CP_DP_PP};
    const int n_orders = split.pp > 1 && split.dp > 1 ? 2 : 1;
    for (int i = 0; i < n_orders; i++) {
        if (n_orders > 1)
            split.order = orders[i];
        split.shard_group = domain_copies(&split, frames->domain_gpus);
        SAND_TRY(sand_grow((void **)&frames->list, &frames->capacity, frames->n + 1,
                           sizeof *frames->list));
        frames->list[frames->n++] = split;
    }
    return SAND_OK;
}

// Every number of GPUs that the experts of a layer may be spread over, whole or split as the rest
// is.
static enum sand_rc add_frame(struct frames *frames, const struct sand_transformer *model,
                              struct sand_split split)
{
    const uint32_t experts = model->experts.n;
    const uint64_t gpus = (uint64_t)split.tp * split.cp * split.dp; // of a stage
    if (experts == 0)
        return add_orders(frames, split);
    for (split.ep = 1; split.ep <= experts && split.ep <= gpus; split.ep++)
        for (split.expert_tp = 0; split.expert_tp <= (split.tp > 1); split.expert_tp++)
            if (experts % split.ep == 0 && gpus % split.ep == 0)
                SAND_TRY(add_orders(frames, split));
    return SAND_OK;
}

static enum sand_rc add_pipelines(struct frames *frames, const struct sand_job_spec *job,
                                  struct sand_split split, uint32_t gpus)
{
    const uint32_t most = job->model->n_layers + 2; // the ends may be without a layer
    for (uint32_t pp = 1; pp <= gpus && pp <= most; pp++) {
        if (gpus % pp != 0 || split.global_batch % (gpus / pp) != 0)
            continue;
        split.pp = pp;
        split.dp = gpus / pp;
        SAND_TRY(add_frame(frames, job->model, split));
    }
    return SAND_OK;
}

enum sand_rc space_frames(const struct sand_job_spec *job, uint32_t gpus, uint32_t domain_gpus,
                          struct sand_split **frames, size_t *n)
{
    struct frames found = {.domain_gpus = domain_gpus};
    struct sand_split split = job->split;
    enum sand_rc rc = SAND_OK;
    for (split.tp = 1; rc == SAND_OK && split.tp <= gpus && split.tp <= job->model->n_heads;
         split.tp++) {
        if (gpus % split.tp != 0)
            continue;
        const uint32_t rest = gpus / split.tp;
        for (split.cp = 1; rc == SAND_OK && split.cp <= rest && split.cp <= split.sequence;
             split.cp++)
            if (rest % split.cp == 0)
                rc = add_pipelines(&found, job, split, rest / split.cp);
    }
    if (rc != SAND_OK)
        sand_free(found.list);
    *frames = rc == SAND_OK ? found.list : NULL;
    *n = rc == SAND_OK ? found.n : 0;
    return rc;
}

// ---- families -----------------------------------------------------------------------------------

struct family {
    struct sand_split list[SPACE_FAMILY];
    size_t n;
};

static void add_shardings(const struct sand_split *frame, struct sand_split split,
                          struct family *family)
{
    static const enum sand_sharding shardings[] = {SAND_SHARD_OPTIMIZER, SAND_SHARD_OPTIMIZER,
                                                   SAND_SHARD_GRADIENTS, SAND_SHARD_PARAMETERS};
    const int n = split.dp * split.cp > 1 ? 4 : 1;
    for (int i = 0; i < n; i++) {
        split.sharding = shardings[i];
        split.distributed_optimizer = i > 0;
        split.shard_group = 0;
        family->list[family->n++] = split;
        split.shard_group = frame->shard_group;
        if (split.shard_group > 0 && split.sharding != SAND_SHARD_OPTIMIZER)
            family->list[family->n++] = split;
    }
}

static void make_family(const struct sand_split *frame, struct family *family)
{
    static const enum sand_recompute modes[SPACE_MODES] = {
        SAND_RECOMPUTE_NONE, SAND_RECOMPUTE_SELECTIVE, SAND_RECOMPUTE_FULL};
    struct sand_split split = *frame;
    family->n = 0;
    for (int i = 0; i < SPACE_MODES; i++) {
        split.recompute = modes[i];
        for (split.sequence_parallel = 0; split.sequence_parallel <= (split.tp > 1);
             split.sequence_parallel++)
            add_shardings(frame, split, family);
    }
}

static uint32_t depth_of(uint32_t layers, uint32_t chunks)
{
    return (layers + chunks - 1) / chunks;
}

// One number of virtual stages for each number of layers that the deepest chunk may hold, and one
// for each that it may hold when the first and the last chunk have a layer less, which embedding
// and head make up for. More virtual stages for the same depth only leave other chunks shorter.
static enum sand_rc visit_depths(uint32_t layers, struct family *family, space_visit *visit,
                                 void *self)
{
    uint32_t last = 0, last_short = 0;
    const uint32_t pp = family->list[0].pp, most = pp == 1 ? 1 : (layers + 2) / pp;
    for (uint32_t virtual_stages = 1; virtual_stages <= most; virtual_stages++) {
        const uint32_t chunks = pp * virtual_stages;
        const uint32_t depth = depth_of(layers, chunks), with_short = depth_of(layers + 2, chunks);
        if (depth == last && with_short == last_short)
            continue;
        last = depth;
        last_short = with_short;
        for (size_t i = 0; i < family->n; i++)
            family->list[i].virtual_stages = virtual_stages;
        SAND_TRY(visit(self, family->list, family->n));
    }
    return SAND_OK;
}

enum sand_rc space_families(const struct sand_job_spec *job, const struct sand_split *frame,
                            space_visit *visit, void *self)
{
    struct family family;
    const uint32_t batch = frame->global_batch / frame->dp;
    make_family(frame, &family);
    for (uint32_t micro_batch = 1; micro_batch <= batch; micro_batch++) {
        if (batch % micro_batch != 0)
            continue;
        for (size_t i = 0; i < family.n; i++)
            family.list[i].micro_batch = micro_batch;
        SAND_TRY(visit_depths(job->model->n_layers, &family, visit, self));
    }
    return SAND_OK;
}
