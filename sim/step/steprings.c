// Rings of data parallelism over the copies of a stage. Copies of a shard group are consecutive, as
// ranks of a PyTorch device mesh (replicate, shard) and of InternEvo's zero1 group are.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "steprings.h"

#include "commedges.h"
#include "ids.h"
#include "mem.h"
#include "train.h"

// ---- who exchanges what -------------------------------------------------------------------------

struct step_exchange step_exchange_of(const struct sand_split *split,
                                      enum sand_state_shards state_shards, int experts)
{
    const uint32_t copies = experts ? sand_split_expert_copies(split) : split->dp * split->cp;
    const uint32_t shards = experts ? sand_split_expert_shards(split) : sand_split_shards(split);
    const enum step_ring all = experts ? STEP_RING_EXPERTS : STEP_RING_ALL;
    const enum step_ring group = experts ? STEP_RING_EXPERT_SHARDS : STEP_RING_SHARDS;
    struct step_exchange e = {all, SAND_ALL_REDUCE, STEP_RINGS, STEP_RINGS, SAND_ALL_GATHER, 1};
    if (shards < 2 || !sand_split_shares_out(split))
        return e;
    e.shards = shards;
    e.gather = shards < copies ? group : all;
    if (!sand_split_is_sharded(split) && state_shards == SAND_STATE_TENSORS)
        e.put_together = SAND_BROADCAST;
    if (!sand_split_is_sharded(split) && (shards < copies || state_shards == SAND_STATE_TENSORS))
        return e;
    e.how = SAND_REDUCE_SCATTER;
    e.reduce = e.gather;
    if (shards < copies)
        e.across = STEP_RING_REPLICAS;
    return e;
}

int step_experts_apart(const struct sand_transformer *model, const struct sand_split *split)
{
    return model->experts.n > 0 && sand_split_expert_copies(split) != split->dp * split->cp;
}

// ---- shapes -------------------------------------------------------------------------------------

// Copy of the i-th member of the ring that copy `first` begins.
static uint32_t copy_of(const struct step_ring_shape *shape, uint32_t first, uint32_t i)
{
    return first + i % shape->members * shape->stride;
}

static uint32_t copy_domain(const struct step_traffic *traffic, uint32_t stage, uint32_t copy)
{
    return step_domain_of(traffic, copy * traffic->pp + stage);
}

// First copies of rings: those whose place in their block of members x stride is below the stride.
static int begins_ring(const struct step_ring_shape *shape, uint32_t copy)
{
    return copy / shape->stride % shape->members == 0;
}

static int ring_blocks_inside(const struct step_traffic *traffic,
                              const struct step_ring_shape *shape, uint32_t stage, uint32_t first,
                              uint32_t n)
{
    for (uint32_t i = 0; i < shape->members; i++)
        if (copy_domain(traffic, stage, copy_of(shape, first, i)) !=
            copy_domain(traffic, stage, copy_of(shape, first, i - i % n)))
            return 0;
    return 1;
}

// Whether every n consecutive members of every ring, from the first, share a scale-up domain
// (without one: a node).
static int blocks_stay_inside(const struct step_traffic *traffic,
                              const struct step_ring_shape *shape, uint32_t n)
{
    for (uint32_t s = 0; s < traffic->pp; s++)
        for (uint32_t first = 0; first < traffic->dp; first++)
            if (begins_ring(shape, first) && !ring_blocks_inside(traffic, shape, s, first, n))
                return 0;
    return 1;
}

// The largest such n, if the first ring leaves its domain at all; else 1.
static uint32_t ring_channels(const struct step_traffic *traffic,
                              const struct step_ring_shape *shape)
{
    const uint32_t home = copy_domain(traffic, 0, 0);
    uint32_t run = 1;
    while (run < shape->members && copy_domain(traffic, 0, copy_of(shape, 0, run)) == home)
        run++;
    if (run == shape->members)
        return 1;
    while (run > 1 && !(shape->members % run == 0 && blocks_stay_inside(traffic, shape, run)))
        run--;
    return run;
}

static uint32_t ring_domains(const struct step_traffic *traffic,
                             const struct step_ring_shape *shape)
{
    uint32_t changes = 0;
    for (uint32_t i = 0; i < shape->members; i++)
        changes += copy_domain(traffic, 0, copy_of(shape, 0, i)) !=
                   copy_domain(traffic, 0, copy_of(shape, 0, i + 1));
    return changes;
}

// A layer at a time when sharded, else by buckets.
uint32_t step_pieces(const struct sand_split *split, uint32_t layers)
{
    const int overlaps = split->overlap_grad_reduce || split->overlap_param_gather;
    uint32_t pieces = overlaps ? split->buckets / split->virtual_stages : 1;
    if (sand_split_is_sharded(split) || pieces > layers)
        pieces = layers;
    return pieces < 1 ? 1 : pieces;
}

// Gradients of a piece of a typical chunk, which decide how all of them are reduced.
static double gradient_B(const struct step_traffic *traffic, int experts)
{
    const struct sand_transformer *model = traffic->question->job->model;
    const struct sand_split *split = &traffic->question->job->split;
    const uint32_t stage = split->pp / 2;
    const struct sand_params held = sand_split_chunk_params(model, split, stage, 0);
    const double params = experts                            ? held.expert
                          : step_experts_apart(model, split) ? held.dense
                                                             : held.dense + held.expert;
    return params * split->grad_B / step_pieces(split, sand_split_layers(model, split, stage, 0));
}

// Where its members are.
static void place_ring(const struct step_traffic *traffic, struct step_ring_shape *shape)
{
    shape->apart = step_actor_rank(&traffic->question->job->split, shape->stride * traffic->pp);
    shape->channels = ring_channels(traffic, shape);
    shape->domains = ring_domains(traffic, shape);
}

// `reduce_B`: what its reductions of this kind have; 0: none.
static void use_ring(struct step_traffic *traffic, const struct step_ring_shape *placed,
                     enum step_ring ring, uint32_t members, uint32_t stride,
                     enum sand_collective_kind kind, double reduce_B)
{
    struct step_ring_shape *shape = &traffic->rings[ring];
    if (ring == STEP_RINGS || members < 2)
        return;
    *shape = (struct step_ring_shape){.members = members, .stride = stride};
    if (placed && placed[ring].members == members && placed[ring].stride == stride)
        *shape = placed[ring];
    else
        place_ring(traffic, shape);
    const struct step_library library = step_library_of(traffic->question);
    struct step_comm comm = step_ring_comm(shape);
    step_comm_decide(&library, STEP_USE_DP, kind, reduce_B, &comm);
    shape->reduction = comm.reduction;
    shape->scaleup_times = comm.scaleup_times;
}

// Of one kind of parameters, whose copies are `stride` apart.
static void use_exchange(struct step_traffic *traffic, const struct step_ring_shape *placed,
                         const struct step_exchange *e, uint32_t copies, uint32_t stride,
                         double grad_B)
{
    const int all = e->reduce == STEP_RING_ALL || e->reduce == STEP_RING_EXPERTS;
    // Where weights go over the same hops, those must suit them too.
    const int decides = e->gather != e->reduce ||
                        (e->how == SAND_REDUCE_SCATTER && e->put_together == SAND_ALL_GATHER);
    use_ring(traffic, placed, e->reduce, all ? copies : e->shards, stride, e->how,
             decides ? grad_B : 0);
    if (e->gather != e->reduce)
        use_ring(traffic, placed, e->gather, e->shards, stride, SAND_ALL_GATHER,
                 e->put_together == SAND_ALL_GATHER ? grad_B : 0);
    if (e->across != STEP_RINGS && traffic->rings[e->across].members == 0)
        use_ring(traffic, placed, e->across, copies / e->shards, e->shards * stride,
                 SAND_ALL_REDUCE, grad_B / e->shards);
}

void step_rings_shape(struct step_traffic *traffic, const struct step_ring_shape *placed)
{
    const struct sand_split *split = &traffic->question->job->split;
    const enum sand_state_shards cut = traffic->question->job->software->state_shards;
    const struct step_exchange dense = step_exchange_of(split, cut, 0);
    use_exchange(traffic, placed, &dense, traffic->dp, 1, gradient_B(traffic, 0));
    if (!step_experts_apart(traffic->question->job->model, split))
        return;
    const struct step_exchange experts = step_exchange_of(split, cut, 1);
    const uint32_t copies = sand_split_expert_copies(split);
    use_exchange(traffic, placed, &experts, copies, traffic->dp / copies, gradient_B(traffic, 1));
}

// ---- hops ---------------------------------------------------------------------------------------

static enum sand_rc add_rings(struct step_traffic *traffic, const struct step_ring_shape *shape,
                              uint32_t flow, uint32_t stage, uint32_t rail,
                              struct step_place *members)
{
    const struct step_comm comm = step_ring_comm(shape);
    for (uint32_t first = 0; first < traffic->dp; first++) {
        if (!begins_ring(shape, first))
            continue;
        for (uint32_t i = 0; i < shape->members; i++)
            members[i] =
                step_place_of(traffic, copy_of(shape, first, i) * traffic->pp + stage, rail);
        SAND_TRY(step_comm_edges(traffic, flow, &comm, members));
    }
    return SAND_OK;
}

enum sand_rc step_rings_edges(struct step_traffic *traffic, enum step_ring ring, uint32_t stage,
                              uint32_t rail)
{
    const struct step_ring_shape *shape = &traffic->rings[ring];
    const uint32_t flow = step_flow_ring(traffic, ring, stage) + rail;
    step_flow_begin(traffic, flow, STEP_FLOW_RING + ring, stage, SAND_NONE, SAND_NONE);
    if (shape->members < 2)
        return SAND_OK;
    struct step_place *members = sand_calloc(shape->members, sizeof *members);
    const enum sand_rc rc =
        members == NULL ? SAND_ERR_NOMEM : add_rings(traffic, shape, flow, stage, rail, members);
    sand_free(members);
    return rc;
}
