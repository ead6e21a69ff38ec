// From a question to a problem: the work of every stage, then traffic, folding, reduction.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "fold.h"
#include "ids.h"
#include "mem.h"
#include "reduce.h"
#include "step.h"
#include "stepexperts.h"
#include "stepproblem.h"
#include "traffic.h"
#include "train.h"
#include "watch.h"
#include "work.h"

// ---- the problem's tables
// -------------------------------------------------------------------------

static enum sand_rc set_chunks(const struct step_setting *set, const struct step_traffic *traffic,
                               struct sand_step_problem *problem)
{
    const struct sand_split *split = set->split;
    problem->n_chunks = (size_t)split->pp * split->virtual_stages;
    problem->chunks = sand_calloc(problem->n_chunks, sizeof *problem->chunks);
    problem->n_stages = split->pp;
    problem->stages = sand_calloc(split->pp, sizeof *problem->stages);
    if (problem->chunks == NULL || problem->stages == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t s = 0; s < split->pp; s++) {
        for (uint32_t c = 0; c < split->virtual_stages; c++) {
            struct step_chunk *chunk = &problem->chunks[s * split->virtual_stages + c];
            step_chunk_set(set, traffic, s, c, chunk);
        }
        problem->stages[s].optimizer_s = step_optimizer_s(set, s);
    }
    return SAND_OK;
}

static enum sand_rc set_ops(const struct step_setting *set, struct sand_step_problem *problem)
{
    const struct sand_split *split = set->split;
    const size_t per_stage = sand_schedule_size(split);
    problem->n_ops = per_stage * split->pp;
    problem->ops = sand_calloc(problem->n_ops, sizeof *problem->ops);
    if (problem->ops == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t s = 0; s < split->pp; s++)
        sand_schedule_stage(split, s, problem->ops + s * per_stage);
    return SAND_OK;
}

// ---- actors
// ---------------------------------------------------------------------------------------

// 1 / speed of the slowest GPU of the group: tensor parallelism waits for it in every layer.
static enum sand_rc actor_slowness(const struct sand_step_question *q, uint32_t n_actors,
                                   double **slowness)
{
    *slowness = sand_calloc(n_actors, sizeof **slowness);
    if (*slowness == NULL)
        return SAND_ERR_NOMEM;
    const uint32_t tp = q->job->split.tp, per_node = q->fabric->gpus_per_node;
    for (uint32_t a = 0; a < n_actors; a++) {
        float slowest = 1;
        for (uint32_t t = 0; q->gpu_speed != NULL && t < tp; t++) {
            const uint32_t rank = step_actor_rank(&q->job->split, a) + t;
            const float speed =
                q->gpu_speed[(size_t)q->nodes[rank / per_node] * per_node + rank % per_node];
            slowest = speed < slowest ? speed : slowest;
        }
        (*slowness)[a] = 1.0 / (double)slowest;
    }
    return SAND_OK;
}

// Adds the distinct classes of n flows from `first` to a list; n is small (rails).
static enum sand_rc add_classes(const struct step_classes *classes, uint32_t first, uint32_t n,
                                uint32_t **list, size_t *n_list, size_t *capacity, uint32_t *begin,
                                uint32_t *count)
{
    *begin = (uint32_t)*n_list;
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t class = classes->flow[first + t];
        int known = class == SAND_NONE;
        for (size_t i = *begin; i < *n_list && !known; i++)
            known = (*list)[i] == class;
        if (known)
            continue;
        SAND_TRY(sand_grow((void **)list, capacity, *n_list + 1, sizeof **list));
        (*list)[(*n_list)++] = class;
    }
    *count = (uint32_t)*n_list - *begin;
    return SAND_OK;
}

static enum sand_rc set_actors(const struct step_traffic *traffic,
                               const struct step_classes *classes, const double *slowness,
                               struct sand_step_problem *problem)
{
    problem->n_actors = classes->n_actors;
    problem->actors = sand_calloc(classes->n_actors, sizeof *problem->actors);
    if (problem->actors == NULL)
        return SAND_ERR_NOMEM;
    size_t capacity = 0;
    for (uint32_t a = 0; a < traffic->n_actors; a++)
        problem->actors[classes->actor[a]].members += 1;
    for (uint32_t i = 0; i < classes->n_actors; i++) {
        const uint32_t a = classes->actor_member[i];
        struct step_actor *actor = &problem->actors[i];
        actor->stage = a % traffic->pp;
        actor->slowness = slowness[a];
        actor->tp_flow = classes->flow[step_flow_tp(traffic, a)];
        SAND_TRY(add_classes(classes, step_flow_cp(traffic, a), traffic->rails_simulated,
                             &problem->sends, &problem->n_sends, &capacity, &actor->first_cp,
                             &actor->n_cp));
        for (uint32_t outside = 0; outside < 2 && traffic->experts.copies > 0; outside++)
            SAND_TRY(add_classes(classes, step_flow_experts(traffic, a, outside),
                                 traffic->rails_simulated, &problem->sends, &problem->n_sends,
                                 &capacity, &actor->first_experts[outside],
                                 &actor->n_experts[outside]));
        problem->stages[actor->stage].n_actors++;
        for (uint32_t previous = 0; previous < 2; previous++) {
            const uint32_t first = step_flow_send(traffic, a, previous);
            const uint32_t peer = traffic->flows[first].peer;
            actor->peer[previous] = peer == SAND_NONE ? SAND_NONE : classes->actor[peer];
            SAND_TRY(add_classes(classes, first, traffic->rails_simulated, &problem->sends,
                                 &problem->n_sends, &capacity, &actor->first_send[previous],
                                 &actor->n_sends[previous]));
        }
    }
    capacity = 0;
    for (uint32_t s = 0; s < traffic->pp; s++)
        for (uint32_t ring = 0; ring < STEP_RINGS; ring++)
            SAND_TRY(add_classes(classes, step_flow_ring(traffic, (enum step_ring)ring, s),
                                 traffic->rails_simulated, &problem->rings, &problem->n_rings,
                                 &capacity, &problem->stages[s].first_ring[ring],
                                 &problem->stages[s].n_rings[ring]));
    return SAND_OK;
}

// ---- what the links carry
// -------------------------------------------------------------------------

// Bytes a hop of each kind of flow carries in one step.
static double hop_bytes(const struct sand_step_problem *problem,
                        const struct step_traffic_flow *flow)
{
    const struct step_header *h = &problem->header;
    const struct step_chunk *chunks = &problem->chunks[flow->stage * h->chunks];
    double bytes = 0;
    for (uint32_t c = 0; c < h->chunks; c++) {
        const double gathers = h->sharded ? h->micro_batches * (h->gather_backward ? 2.0 : 1.0) : 1;
        const double reduces = h->sharded ? h->micro_batches : 1;
        if (flow->kind == STEP_FLOW_TP)
            bytes += h->micro_batches * (chunks[c].tp_B[0] + chunks[c].tp_B[1]);
        if (flow->kind == STEP_FLOW_CP)
            bytes += h->micro_batches * (chunks[c].cp_B[0] + chunks[c].cp_B[1]);
        if (flow->kind == STEP_FLOW_EXPERTS)
            bytes += h->micro_batches * (chunks[c].experts_B[0] + chunks[c].experts_B[1]);
        if (flow->kind == STEP_FLOW_EXPERTS_OUT)
            bytes += h->micro_batches * (chunks[c].experts_out_B[0] + chunks[c].experts_out_B[1]);
        if (flow->kind >= STEP_FLOW_RING) {
            const uint32_t ring = flow->kind - STEP_FLOW_RING;
            bytes += chunks[c].pieces * (reduces * chunks[c].reduce.hop_B[ring] +
                                         gathers * chunks[c].gather.hop_B[ring]);
        }
    }
    const int at_edge = flow->kind == STEP_FLOW_NEXT ? flow->stage + 1 == h->pp : flow->stage == 0;
    if (flow->kind == STEP_FLOW_NEXT || flow->kind == STEP_FLOW_PREVIOUS)
        bytes = h->send_B * h->micro_batches * (h->chunks - (at_edge ? 1 : 0));
    return bytes;
}

// Sums bytes by link class and finds the busiest link of each. Folded rails stand for equal links.
static enum sand_rc set_link_use(const struct step_traffic *traffic,
                                 struct sand_step_problem *problem)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    double *link_B = sand_calloc(traffic->n_links, sizeof *link_B);
    if (link_B == NULL)
        return SAND_ERR_NOMEM;
    struct step_report *h = &problem->report;
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const double bytes = traffic->flows[edge->flow].step_B;
        const uint32_t *links = step_edge_links(traffic, edge);
        for (uint32_t i = 0; i < edge->n_links; i++) {
            const uint32_t fabric_link = traffic->links[links[i]].fabric_link;
            const uint8_t link_class = fabric->links[fabric_link].link_class;
            const double part_B = bytes / step_link_paths(traffic, link_class);
            link_B[links[i]] += part_B * step_edge_weight(edge, i);
            h->link_B[link_class] += part_B * edge->times * traffic->rails;
        }
    }
    for (uint32_t l = 0; l < traffic->n_links; l++) {
        const struct sand_fabric_link *link = &fabric->links[traffic->links[l].fabric_link];
        const double busy_s = link_B[l] / (link->capacity_Bps * link->speed);
        if (busy_s > h->link_busy_s[link->link_class])
            h->link_busy_s[link->link_class] = busy_s;
        h->n_links_full += link_B[l] > 0 ? step_link_stands_for(traffic, l) : 0;
    }
    h->n_actors_full = traffic->n_actors;
    for (uint32_t f = 0; f < traffic->n_flows; f++)
        if (traffic->flows[f].n_edges > 0)
            h->n_flows_full += traffic->flows[f].kind == STEP_FLOW_TP ? 1 : traffic->rails;
    sand_free(link_B);
    return SAND_OK;
}

// ---- prepare
// --------------------------------------------------------------------------------------

static enum sand_rc fill(const struct step_setting *set, const struct step_traffic *traffic,
                         struct sand_step_problem *problem)
{
    step_header_set(set, &problem->header);
    sand_memory_estimate(set->q->job->model, set->split, set->type->gpu, set->q->kernels,
                         &problem->report.memory);
    SAND_TRY(set_chunks(set, traffic, problem));
    SAND_TRY(set_ops(set, problem));
    for (uint32_t f = 0; f < traffic->n_flows; f++)
        traffic->flows[f].step_B = hop_bytes(problem, &traffic->flows[f]);
    SAND_TRY(set_link_use(traffic, problem));
    double *slowness = NULL;
    struct step_classes classes = {0};
    enum sand_rc rc = actor_slowness(set->q, traffic->n_actors, &slowness);
    if (rc == SAND_OK)
        step_experts_slow(traffic, slowness);
    if (rc == SAND_OK)
        rc = step_classes_find(traffic, slowness, &classes);
    if (rc == SAND_OK)
        rc = step_reduce(traffic, &classes, problem);
    if (rc == SAND_OK)
        rc = step_watches_set(traffic, &classes, problem);
    if (rc == SAND_OK)
        rc = set_actors(traffic, &classes, slowness, problem);
    step_classes_free(&classes);
    sand_free(slowness);
    return rc;
}

// On nodes of several generations: every one must know the precision and hold the job.
static enum sand_rc check_generations(const struct sand_step_question *q, struct sand_diag *diag)
{
    const struct sand_job_spec *job = q->job;
    struct sand_memory memory;
    for (uint32_t i = 0; q->cluster->n_groups > 0 && i < job->n_nodes; i++) {
        const struct sand_gpu_type *gpu = sand_cluster_type_of(q->cluster, q->nodes[i])->gpu;
        if (!(sand_cost_peak_flops(gpu, job->split.precision) > 0))
            return sand_fail(diag, SAND_ERR_INPUT,
                             "job \"%s\": node %u has gpu \"%s\", which lacks the job's precision; "
                             "give the job a group, or precision=\"bf16\"",
                             job->id, q->nodes[i], gpu->id);
    }
    if (q->cluster->n_groups == 0)
        return SAND_OK;
    return sand_memory_check(job->model, &job->split,
                             sand_cluster_least_memory(q->cluster, q->nodes, job->n_nodes),
                             q->kernels, &memory, diag);
}

static enum sand_rc check_question(const struct sand_step_question *q, struct sand_diag *diag)
{
    const struct sand_job_spec *job = q->job;
    SAND_TRY(sand_split_check(job->model, &job->split, sand_job_gpus(job, q->fabric->gpus_per_node),
                              diag));
    if (job->split.tp > 1 && q->fabric->gpus_per_node > 1 &&
        q->cluster->node_type->scaleup == SAND_SCALEUP_NONE && job->software->tp_exposed <= 0)
        return sand_fail(diag, SAND_ERR_INPUT, "job \"%s\": tensor parallelism without a link",
                         job->id);
    for (uint32_t i = 0; i < job->n_nodes; i++)
        if (q->nodes[i] >= q->fabric->n_nodes)
            return sand_fail(diag, SAND_ERR_INTERNAL, "job \"%s\": node %u of %u", job->id,
                             q->nodes[i], q->fabric->n_nodes);
    return check_generations(q, diag);
}

enum sand_rc sand_step_prepare(const struct sand_step_question *question, const uint32_t *binding,
                               size_t n_binding, struct sand_step_problem **problem,
                               struct sand_diag *diag)
{
    SAND_TRY(check_question(question, diag));
    struct sand_step_problem *p = sand_calloc(1, sizeof *p);
    if (p == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    struct step_traffic traffic = {0};
    enum sand_rc rc = step_traffic_build(question, binding, n_binding, &traffic, diag);
    struct step_setting set = step_setting_make(question);
    if (rc == SAND_OK)
        rc = step_calls_find(&set, &traffic, diag);
    if (rc == SAND_OK)
        rc = fill(&set, &traffic, p);
    step_traffic_free(&traffic);
    if (rc != SAND_OK) {
        sand_step_problem_free(p);
        return rc == SAND_ERR_INPUT // said where it was found
                   ? rc
                   : sand_fail(diag, rc, "step of job \"%s\": %s", question->job->id,
                               sand_rc_text(rc));
    }
    *problem = p;
    return SAND_OK;
}

void sand_step_warn(const struct sand_step_question *question, struct sand_diag *diag)
{
    const struct sand_split *split = &question->job->split;
    const uint32_t per_node = question->fabric->gpus_per_node * question->fabric->nodes_per_domain;
    if (split->tp > per_node || per_node % split->tp != 0)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "job \"%s\": tp = %u does not divide the scale-up domain of %u GPUs, so "
                      "tensor-parallel "
                      "traffic crosses the network; choose a tp that divides %u",
                      question->job->id, split->tp, per_node, per_node);
}
