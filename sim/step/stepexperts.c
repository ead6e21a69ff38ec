// Expert parallelism: consecutive GPUs of a stage, tensor-parallel ranks of an expert innermost,
// hold the experts of a layer once (Megatron-Core, "Parallel folding", arXiv:2504.14960).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepexperts.h"

#include "alltoall.h"
#include "ids.h"
#include "mem.h"
#include "train.h"

static const struct sand_split *split_of(const struct step_traffic *traffic)
{
    return &traffic->question->job->split;
}

static uint32_t actor_at(const struct step_traffic *traffic, uint32_t copy, uint32_t stage)
{
    return copy * traffic->pp + stage;
}

void step_experts_shape(struct step_traffic *traffic)
{
    const struct sand_split *split = split_of(traffic);
    if (traffic->question->job->model->experts.n == 0 || split->ep < 2)
        return;
    const uint32_t expert_tp = sand_split_expert_tp(split);
    struct step_expert_shape *shape = &traffic->experts;
    shape->copies = (uint32_t)((uint64_t)split->ep * expert_tp / split->tp);
    const uint32_t home = step_domain_of(traffic, 0);
    uint32_t inside = 0;
    for (uint32_t c = 0; c < shape->copies; c++) {
        inside += step_domain_of(traffic, actor_at(traffic, c, 0)) == home;
        uint32_t earlier = 0;
        while (earlier < c && step_domain_of(traffic, actor_at(traffic, earlier, 0)) !=
                                  step_domain_of(traffic, actor_at(traffic, c, 0)))
            earlier++;
        shape->domains += earlier == c;
    }
    const double members = (double)inside * split->tp / expert_tp;
    shape->inside = members < 1 ? 1 : members > split->ep ? split->ep : members;
}

uint32_t step_experts_flows(const struct step_traffic *traffic)
{
    return traffic->experts.copies > 0 ? 2 * traffic->n_actors * traffic->rails_simulated : 0;
}

uint32_t step_flow_experts(const struct step_traffic *traffic, uint32_t actor, uint32_t outside)
{
    return step_flows_but_experts(traffic) + (actor * 2 + outside) * traffic->rails_simulated;
}

// ---- hops ---------------------------------------------------------------------------------------

// The domains of one group of copies: of each copy its domain, and the place among those there.
struct group {
    uint32_t stage, first, n;
    uint32_t *domain, *place, *size; // size: copies in the copy's domain
};

static void group_fill(const struct step_traffic *traffic, struct group *group)
{
    for (uint32_t i = 0; i < group->n; i++) {
        group->domain[i] =
            step_domain_of(traffic, actor_at(traffic, group->first + i, group->stage));
        group->place[i] = 0;
        for (uint32_t j = 0; j < i; j++)
            group->place[i] += group->domain[j] == group->domain[i];
    }
    for (uint32_t i = 0; i < group->n; i++) {
        group->size[i] = 0;
        for (uint32_t j = 0; j < group->n; j++)
            group->size[i] += group->domain[j] == group->domain[i];
    }
}

// The copy of a domain at a place, counted round; the domain is that of copy `like`.
static uint32_t copy_at(const struct group *group, uint32_t like, uint32_t place)
{
    for (uint32_t i = 0; i < group->n; i++)
        if (group->domain[i] == group->domain[like] && group->place[i] == place % group->size[like])
            return i;
    return like;
}

static enum sand_rc add_inside(struct step_traffic *traffic, const struct group *group, uint32_t i,
                               uint32_t rail)
{
    const struct sand_split *split = split_of(traffic);
    const uint32_t actor = actor_at(traffic, group->first + i, group->stage);
    const uint32_t flow = step_flow_experts(traffic, actor, 0) + rail;
    step_flow_begin(traffic, flow, STEP_FLOW_EXPERTS, group->stage, actor, SAND_NONE);
    if (!(traffic->experts.inside > 1))
        return SAND_OK;
    const uint32_t next = copy_at(group, i, group->place[i] + 1);
    const struct step_place from = step_place_of(traffic, actor, rail);
    if (next != i)
        return step_edge_add(
            traffic, flow, from,
            step_place_of(traffic, actor_at(traffic, group->first + next, group->stage), rail));
    const uint32_t other = traffic->rails > 1 ? rail : (rail + 1) % split->tp;
    return step_edge_add(traffic, flow, from, step_place_of(traffic, actor, other));
}

static enum sand_rc add_outside(struct step_traffic *traffic, const struct group *group, uint32_t i,
                                uint32_t rail)
{
    const uint32_t actor = actor_at(traffic, group->first + i, group->stage);
    const uint32_t flow = step_flow_experts(traffic, actor, 1) + rail;
    step_flow_begin(traffic, flow, STEP_FLOW_EXPERTS_OUT, group->stage, actor, SAND_NONE);
    for (uint32_t j = 0; j < group->n; j++) {
        if (group->place[j] != 0 || group->domain[j] == group->domain[i])
            continue; // each other domain once
        const uint32_t to = copy_at(group, j, group->place[i]);
        SAND_TRY(step_edge_add(
            traffic, flow, step_place_of(traffic, actor, rail),
            step_place_of(traffic, actor_at(traffic, group->first + to, group->stage), rail)));
    }
    return SAND_OK;
}

static enum sand_rc group_edges(struct step_traffic *traffic, const struct group *group)
{
    for (uint32_t i = 0; i < group->n; i++)
        for (uint32_t rail = 0; rail < traffic->rails_simulated; rail++) {
            SAND_TRY(add_inside(traffic, group, i, rail));
            SAND_TRY(add_outside(traffic, group, i, rail));
        }
    return SAND_OK;
}

enum sand_rc step_experts_edges(struct step_traffic *traffic)
{
    const uint32_t n = traffic->experts.copies;
    if (n == 0)
        return SAND_OK;
    uint32_t *block = sand_calloc((size_t)3 * n, sizeof *block);
    if (block == NULL)
        return SAND_ERR_NOMEM;
    struct group group = {
        .n = n, .domain = block, .place = block + n, .size = block + 2 * (size_t)n};
    enum sand_rc rc = SAND_OK;
    for (group.first = 0; group.first < traffic->dp; group.first += n)
        for (group.stage = 0; rc == SAND_OK && group.stage < traffic->pp; group.stage++) {
            group_fill(traffic, &group);
            rc = group_edges(traffic, &group);
        }
    sand_free(block);
    return rc;
}

void step_experts_slow(const struct step_traffic *traffic, double *slowness)
{
    const uint32_t n = traffic->experts.copies;
    for (uint32_t first = 0; n > 0 && first < traffic->dp; first += n)
        for (uint32_t stage = 0; stage < traffic->pp; stage++) {
            double slowest = 0;
            for (uint32_t i = 0; i < n; i++) {
                const double one = slowness[actor_at(traffic, first + i, stage)];
                slowest = one > slowest ? one : slowest;
            }
            for (uint32_t i = 0; i < n; i++)
                slowness[actor_at(traffic, first + i, stage)] = slowest;
        }
}

// ---- bytes --------------------------------------------------------------------------------------

static struct step_comm comm_of(const struct step_setting *set,
                                const struct step_expert_shape *shape)
{
    const uint32_t here = (uint32_t)shape->inside;
    return (struct step_comm){.ranks = set->split->ep,
                              .domains = shape->domains,
                              .ports = here < 1 ? 1 : here,
                              .stride = 1};
}

enum sand_rc step_experts_call(const struct step_setting *set, const struct step_traffic *traffic,
                               struct step_alltoall_call *call, struct sand_diag *diag)
{
    const struct step_expert_shape *shape = &traffic->experts;
    const struct sand_experts *experts = &set->q->job->model->experts;
    if (shape->copies == 0)
        return SAND_OK;
    const struct step_comm comm = comm_of(set, shape);
    // 16 bit back from the experts, forwards and backwards; of this GPU's tokens.
    const double token_B = set->activation_B / set->split->tp * (set->split->dispatch_B + 2) / 4;
    const struct sand_routing routing = {experts->n, experts->per_token, experts->groups,
                                         experts->groups_per_token};
    struct step_copies copies = {1, 1, set->split->dispatch == SAND_DISPATCH_DEDUPLICATED};
    if (copies.are_once) {
        copies.per_rank = sand_routing_reach(&routing, comm.ranks) / experts->per_token;
        copies.per_domain = sand_routing_reach(&routing, comm.domains) / experts->per_token;
    }
    return step_alltoall_find(&set->library, &comm,
                              token_B * experts->per_token * set->split->imbalance, &copies,
                              traffic->experts_extra_s, call, diag);
}

// One all-to-all with the links to itself.
static double alone_s(const struct step_setting *set)
{
    const struct step_alltoall_call *call = &set->calls.experts;
    const struct sand_link_type *inside = set->type->scaleup_link, *nic = set->type->nic;
    const double inside_s = inside ? call->inside_B / (inside->rate_Bps * inside->usable) : 0;
    const double outside_s = call->outside_B / (set->library.port_Bps * nic->usable);
    return call->call.latency_s + (inside_s > outside_s ? inside_s : outside_s);
}

// What runs beside other work needs as much of it: of `n` all-to-alls, the share that is waited
// for.
static double exposed_share(const struct step_setting *set, const struct step_chunk *chunk,
                            double n)
{
    const double exposed = set->q->job->software->ep_exposed, all_s = n * alone_s(set);
    const double work_s = chunk->forward_s + chunk->backward_s + chunk->weights_s;
    return (1 - exposed) * all_s > work_s ? 1 - work_s / all_s : exposed;
}

void step_experts_set(const struct step_setting *set, const struct step_traffic *traffic,
                      double layers, double forwards, double backwards, struct step_chunk *chunk)
{
    const struct step_expert_shape *shape = &traffic->experts;
    const struct step_alltoall_call *call = &set->calls.experts;
    if (shape->copies == 0 || layers <= 0)
        return;
    const double outside_B = shape->domains > 1 ? call->outside_B / (shape->domains - 1) : 0;
    // Dispatch and combine, each way.
    const double n[2] = {2 * layers * forwards, 2 * layers * backwards};
    const double exposed = exposed_share(set, chunk, n[0] + n[1]);
    // Kernels that run beside compute keep their multiprocessors from it.
    const double lost_s = (1 - exposed) * alone_s(set) * set->q->job->software->ep_multiprocessors /
                          set->type->gpu->n_sm;
    chunk->experts_n = n[0] + n[1];
    chunk->forward_s += n[0] * lost_s;
    chunk->backward_s += n[1] * lost_s;
    for (int b = 0; b < 2; b++) {
        chunk->experts_B[b] = n[b] * exposed * call->inside_B;
        chunk->experts_out_B[b] = n[b] * exposed * outside_B;
        chunk->experts_latency_s[b] = n[b] * exposed * call->call.latency_s;
    }
}

double step_experts_tp(const struct step_setting *set)
{
    const struct sand_experts *experts = &set->q->job->model->experts;
    const double tp = set->split->tp, cut = sand_split_expert_tp(set->split);
    // All ranks of an expert gather the tokens that any of them received, and scatter sums.
    const double routed =
        cut > 1 ? experts->per_token * set->split->imbalance * (cut - 1) / (tp - 1) : 0;
    return routed + (experts->shared > 0 ? 1 : 0);
}
