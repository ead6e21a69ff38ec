// Terms of a step's traffic, from the same setting, shape and routes as the simulation.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "breakdown.h"

#include "collective.h"
#include "mem.h"
#include "steprings.h"
#include "traffic.h"
#include "train.h"
#include "work.h"

struct breaking {
    const struct step_setting *set;
    const struct step_traffic *traffic;
    const struct step_header *h;
    double *load; // per link, of the kind under way
    struct sand_step_breakdown *out;
};

// ---- the bottleneck -----------------------------------------------------------------------------

// The link that leaves flows of this kind and stage least, when all of the kind are on their way.
static void find_link(const struct breaking *b, uint32_t kind, struct sand_step_term *term)
{
    const struct step_traffic *t = b->traffic;
    const struct sand_fabric *fabric = t->question->fabric;
    uint32_t found = t->n_links;
    for (size_t e = 0; e < t->n_edges; e++) {
        const struct step_traffic_flow *flow = &t->flows[t->edges[e].flow];
        const uint32_t *links = step_edge_links(t, &t->edges[e]);
        for (uint32_t i = 0;
             flow->kind == kind && flow->stage == b->out->stage && i < t->edges[e].n_links; i++)
            if (found == t->n_links || t->links[links[i]].capacity_Bps * b->load[found] <
                                           t->links[found].capacity_Bps * b->load[links[i]])
                found = links[i];
    }
    if (found == t->n_links)
        return;
    const uint32_t index = t->links[found].fabric_link;
    const struct sand_fabric_link *link = &fabric->links[index];
    const double paths = step_link_paths(t, link->link_class);
    sand_fabric_link_name(fabric, index, term->link, sizeof term->link);
    term->link_Bps = link->capacity_Bps;
    term->link_usable = t->links[found].capacity_Bps / paths / link->capacity_Bps;
    term->link_users = b->load[found] / paths;
    term->rate_Bps = t->links[found].capacity_Bps / b->load[found];
}

static void count_users(const struct breaking *b, uint32_t kind)
{
    const struct step_traffic *t = b->traffic;
    for (uint32_t l = 0; l < t->n_links; l++)
        b->load[l] = 0;
    for (size_t e = 0; e < t->n_edges; e++) {
        const uint32_t *links = step_edge_links(t, &t->edges[e]);
        for (uint32_t i = 0; t->flows[t->edges[e].flow].kind == kind && i < t->edges[e].n_links;
             i++)
            b->load[links[i]] += step_edge_weight(&t->edges[e], i);
    }
}

// Puts a term in, its numbers completed by the definitions of the header.
static void add_term(const struct breaking *b, uint32_t kind, struct sand_step_term term)
{
    if (b->out->n == SAND_STEP_TERMS || term.per_step <= 0)
        return;
    count_users(b, kind);
    find_link(b, kind, &term);
    term.one_s = term.latency_s + (term.rate_Bps > 0 ? term.hop_B / term.rate_Bps : 0);
    term.exposed_s = term.exposed * term.per_step * term.one_s;
    b->out->terms[b->out->n++] = term;
}

// ---- what the library does ----------------------------------------------------------------------

static const char *volume_of(enum sand_algorithm algorithm, enum sand_collective_kind kind,
                             int across)
{
    if (kind == SAND_SEND)
        return "1";
    if (kind == SAND_ALL_TO_ALL)
        return across ? "what is for another domain, a copy for each expert or one for all"
                      : "what is for others of the domain, and what has come for them";
    switch (algorithm) {
    case SAND_ALG_RING:
        return kind == SAND_ALL_REDUCE ? "2 (n-1)/n" : kind == SAND_BROADCAST ? "1" : "(n-1)/n";
    case SAND_ALG_TREE:
        return across ? "1: half up and half down each of two trees, of two parts a port" : "2";
    case SAND_ALG_NVLSTREE:
        return "1: half up and half down each of two trees, of two parts a port";
    case SAND_ALG_SHARP:
        if (kind == SAND_ALL_GATHER)
            return "(d-1)/d of d domains: the switches copy";
        return "1: the switch reduces";
    default:
        return "1: the switch reduces";
    }
}

// Takes over the terms of a call with S = message_B.
static void set_call(const struct step_comm *comm, enum sand_collective_kind kind,
                     const struct step_call *call, double message_B, struct sand_step_term *term)
{
    const struct sand_coll_terms *t = &call->terms;
    const int across = comm->domains > 1;
    if (t->kernel != NULL) {
        term->algorithm = sand_algorithm_name(t->kernel->algorithm);
        term->protocol = sand_protocol_name(t->kernel->protocol);
        term->volume = volume_of(t->kernel->algorithm, kind, across);
    }
    const double bytes = across ? t->network_B : t->scaleup_B;
    term->ranks = comm->ranks;
    term->domains = comm->domains;
    term->message_B = message_B;
    term->factor = message_B > 0 ? bytes / message_B : 0;
    term->stretch = across ? sand_coll_network_stretch(t) : sand_coll_scaleup_stretch(t);
    term->hop_B = call->hop_B;
    term->channels = call->hop_B > 0 ? (uint32_t)(bytes * term->stretch / call->hop_B + 0.5) : 1;
    term->base_s = t->base_s;
    term->scaleup_hops = t->scaleup_hops;
    term->scaleup_hop_s = t->scaleup_hop_s;
    term->network_hops = t->network_hops;
    term->network_hop_s = t->network_hop_s;
    term->messages_s = t->messages_s;
    term->depth = t->depth;
    term->fill_wire_s = t->wire_s;
    term->fill_B = t->fill_B;
    term->fill_s = t->fill_s;
    term->latency_s = call->latency_s;
}

// ---- what the chunks say ------------------------------------------------------------------------

// Bytes of a hop that a micro-batch forwards, and one both ways, exposes in the stage.
struct exposed {
    double tp_B, cp_B, cp_forward_B;
    double experts_n, experts_s; // all-to-alls, latency of those that are waited for
};

static struct exposed exposed_of(const struct breaking *b)
{
    struct exposed sum = {0};
    for (uint32_t c = 0; c < b->h->chunks; c++) {
        struct step_chunk chunk = {0};
        step_chunk_set(b->set, b->traffic, b->out->stage, c, &chunk);
        sum.tp_B += chunk.tp_B[0] + chunk.tp_B[1];
        sum.cp_B += chunk.cp_B[0] + chunk.cp_B[1];
        sum.cp_forward_B += chunk.cp_B[0];
        sum.experts_n += chunk.experts_n;
        sum.experts_s += chunk.experts_latency_s[0] + chunk.experts_latency_s[1];
    }
    return sum;
}

// ---- tensor, context and pipeline parallelism ---------------------------------------------------

static double stage_layers(const struct breaking *b)
{
    return sand_split_stage_layers(b->set->q->job->model, b->set->split, b->out->stage);
}

// Forwards that are computed again before their backward.
static double again(const struct breaking *b)
{
    const struct sand_split *split = b->set->split;
    return split->recompute == SAND_RECOMPUTE_FULL      ? 1
           : split->recompute == SAND_RECOMPUTE_PARTIAL ? split->recompute_share
                                                        : 0;
}

static void add_tp(const struct breaking *b)
{
    const struct sand_split *split = b->set->split;
    const int scatters = split->sequence_parallel;
    static const char *const names[2][2] = {
        {"tensor parallel", ""}, {"tensor parallel, scatter", "tensor parallel, gather"}};
    static const enum sand_collective_kind kinds[2][2] = {{SAND_ALL_REDUCE, SAND_ALL_REDUCE},
                                                          {SAND_REDUCE_SCATTER, SAND_ALL_GATHER}};
    static const char *const words[2][2] = {{"all-reduce", ""}, {"reduce-scatter", "all-gather"}};
    struct sand_step_term term = {
        .message = "activation of a micro-batch between layers: 2 B x tokens x hidden",
        .equation = "per step: micro-batches x layers x (2 forwards + 2 backwards + 2 recomputed); "
                    "layers of experts less",
        .source = "Korthikanti et al. 2022, section 4.2; volumes, latency: NCCL, tuning.cc",
        .overlap = "compute of the same layer (communication overlap of the software)",
        .exposed = b->set->q->job->software->tp_exposed};
    if (split->tp == 1 || !(b->set->calls.tp[0].hop_B > 0))
        return;
    double all_B = 0;
    for (int call = 0; call < 2; call++)
        all_B += b->set->calls.tp[call].hop_B;
    const double per_step = term.exposed > 0
                                ? b->h->micro_batches * exposed_of(b).tp_B / (term.exposed * all_B)
                                : b->h->micro_batches * stage_layers(b) * (4 + 2 * again(b));
    for (int call = 0; call <= scatters; call++) {
        set_call(&b->traffic->tp, kinds[scatters][call], &b->set->calls.tp[call],
                 b->set->activation_B, &term);
        term.name = names[scatters][call];
        term.collective = words[scatters][call];
        term.per_step = per_step;
        add_term(b, STEP_FLOW_TP, term);
    }
}

static void add_cp(const struct breaking *b)
{
    const struct sand_split *split = b->set->split;
    const int gathered = split->context == SAND_CONTEXT_GATHER;
    const struct step_call *call = &b->set->calls.cp;
    const struct exposed sum = exposed_of(b);
    if (!(sum.cp_forward_B > 0)) // no context parallelism, or all of it hidden
        return;
    struct sand_step_term term = {
        .name = "context parallel",
        .collective = gathered ? "all-gather of keys and values" : "ring of keys and values",
        .message = gathered ? "keys and values of a layer: 2 x 2 B x all tokens x kv heads x head "
                              "size / tp"
                            : "keys and values of a layer: 2 x 2 B x tokens x kv heads x head size "
                              "/ tp",
        .equation = gathered ? "per step: micro-batches x layers x (1 forwards + 2 backwards + 1 "
                               "recomputed)"
                             : "per step: micro-batches x layers x (n-1) x (1 forwards + 2 "
                               "backwards + 1 recomputed)",
        .source = gathered ? "Llama 3 report, arXiv:2407.21783, section 3.3.2"
                           : "Liu et al. 2023, arXiv:2310.01889",
        .overlap = gathered ? "nothing" : "attention of the block before",
        .exposed = gathered ? 1 : b->set->q->job->software->tp_exposed};
    set_call(&b->traffic->cp, gathered ? SAND_ALL_GATHER : SAND_SEND, call, step_context_B(b->set),
             &term);
    term.ranks = split->cp;
    term.per_step = b->h->micro_batches * sum.cp_B / (term.exposed * call->hop_B);
    add_term(b, STEP_FLOW_CP, term);
}

// The all-to-alls of experts: ports inside the domain and NICs between domains at the same time.
static void add_experts(const struct breaking *b)
{
    const struct step_expert_shape *shape = &b->traffic->experts;
    const struct step_alltoall_call *call = &b->set->calls.experts;
    const struct exposed sum = exposed_of(b);
    const double others = shape->domains > 1 ? shape->domains - 1 : 1;
    struct sand_step_term term = {
        .collective = "all-to-all",
        .message = "tokens that a GPU sends, routed copies and imbalance included, its own too; "
                   "the mean of dispatch and combine",
        .equation = "per step: micro-batches x layers of experts x 2 (dispatch, combine) x "
                    "(1 forwards + 1 backwards + 1 recomputed)",
        .source = "Megatron-Core, parallel folding, arXiv:2504.14960; latency: NCCL, tuning.cc",
        .overlap = "what the software overlaps with dispatch and combine",
        .per_step = b->h->micro_batches * sum.experts_n};
    if (!(sum.experts_n > 0))
        return;
    const struct step_comm comm = {.ranks = b->set->split->ep, .domains = shape->domains};
    const double sent_B[2] = {call->inside_B, call->outside_B / others};
    for (int outside = 0; outside < 2; outside++) {
        set_call(&comm, SAND_ALL_TO_ALL, &call->call, call->bytes, &term);
        term.name = outside ? "experts, between domains" : "experts, in the domain";
        term.volume = volume_of(SAND_ALG_PAIRWISE, SAND_ALL_TO_ALL, outside);
        term.channels = 1;
        term.hop_B = sent_B[outside];
        term.stretch = outside ? sand_coll_network_stretch(&call->call.terms)
                               : sand_coll_scaleup_stretch(&call->call.terms);
        term.factor = term.hop_B / term.stretch / call->bytes;
        term.per_step = b->h->micro_batches * sum.experts_n;
        term.exposed = sum.experts_s / (sum.experts_n * call->call.latency_s);
        if (term.hop_B > 0)
            add_term(b, outside ? STEP_FLOW_EXPERTS_OUT : STEP_FLOW_EXPERTS, term);
    }
}

static void add_send(const struct breaking *b)
{
    const struct step_header *h = b->h;
    const uint32_t stage = b->out->stage;
    const int first = stage == 0, last = stage + 1 == h->pp;
    struct sand_step_term term = {
        .name = "pipeline",
        .collective = "send",
        .message = "a rank's share of the activation of a micro-batch: 2 B x tokens x hidden / tp",
        .equation = "per step: micro-batches x chunks, less the end of the pipeline",
        .source = "Narayanan et al. 2021, section 4.1 (scatter/gather)",
        .overlap = h->chunks > 1
                       ? "other micro-batches; waited for while the pipeline fills and drains"
                       : "nothing: a stage waits for its neighbour in every micro-batch",
        .exposed = 1};
    if (h->pp == 1)
        return;
    set_call(&b->traffic->send, SAND_SEND, &b->set->calls.send,
             b->set->activation_B / b->set->split->tp, &term);
    term.name = "pipeline, forwards";
    term.per_step = (double)h->micro_batches * (h->chunks - (last ? 1 : 0));
    add_term(b, STEP_FLOW_NEXT, term);
    term.name = "pipeline, backwards";
    term.per_step = (double)h->micro_batches * (h->chunks - (first ? 1 : 0));
    add_term(b, STEP_FLOW_PREVIOUS, term);
}

// ---- data parallelism ---------------------------------------------------------------------------

// One term for each run of chunks whose pieces are equal.
static void add_rings(const struct breaking *b, enum step_ring ring, int gathers,
                      enum sand_collective_kind kind, struct sand_step_term term)
{
    const struct step_header *h = b->h;
    const struct step_comm comm = step_ring_comm(&b->traffic->rings[ring]);
    const double times = !h->sharded                       ? 1
                         : !gathers || !h->gather_backward ? h->micro_batches
                                                           : 2.0 * h->micro_batches;
    const size_t before = b->out->n;
    double last_B = -1;
    for (uint32_t c = 0; c < h->chunks; c++) {
        struct step_chunk chunk = {0};
        struct step_call call = {.hop_B = 0};
        step_chunk_set(b->set, b->traffic, b->out->stage, c, &chunk);
        const struct step_ring_load *load = gathers ? &chunk.gather : &chunk.reduce;
        const double n = load->n[ring], bytes = n > 0 ? load->message_B[ring] / n : 0;
        if (bytes == last_B && b->out->n > before) {
            struct sand_step_term *same = &b->out->terms[b->out->n - 1];
            same->per_step += times * chunk.pieces * n;
            same->exposed_s = same->exposed * same->per_step * same->one_s;
            continue;
        }
        last_B = bytes;
        if (!(bytes > 0) || step_call_find(&b->set->library, STEP_USE_DP, &comm, kind, bytes,
                                           step_ring_extra_s(b->traffic, ring, b->out->stage),
                                           &call, NULL) != SAND_OK)
            continue;
        set_call(&comm, kind, &call, bytes, &term);
        term.per_step = times * chunk.pieces * n;
        add_term(b, STEP_FLOW_RING + ring, term);
    }
}

// See runplan.c.
static const char *reduction_overlap(const struct breaking *b)
{
    const struct step_header *h = b->h;
    if (!h->overlap_reduce)
        return "nothing";
    if (h->sharded || (h->chunks == 1 && b->out->stage == 0))
        return "backward of the next piece";
    return h->chunks > 1 ? "backwards of the chunks below; of the first chunk nothing"
                         : "the bubble behind the stage's last backward";
}

static int reduces_in_bubble(const struct step_header *h, uint32_t stage)
{
    return h->overlap_reduce && !h->sharded && h->chunks == 1 && stage > 0;
}

// What one kind of rings is called, by whether it carries gradients or weights.
static const char *ring_name(enum step_ring ring, int gathers)
{
    static const char *const names[STEP_RINGS][2] = {
        [STEP_RING_ALL] = {"gradients", "weights"},
        [STEP_RING_SHARDS] = {"gradients, in the shard group", "weights, in the shard group"},
        [STEP_RING_EXPERTS] = {"gradients of experts", "weights of experts"},
        [STEP_RING_EXPERT_SHARDS] = {"gradients of experts, in the shard group",
                                     "weights of experts, in the shard group"},
        [STEP_RING_REPLICAS] = {"gradients, across shard groups", ""}};
    return names[ring][gathers];
}

static struct sand_step_term ring_term(enum step_ring ring)
{
    return (struct sand_step_term){
        .source = ring == STEP_RING_REPLICAS || ring == STEP_RING_SHARDS
                      ? "Zhao et al. 2023 (PyTorch FSDP, hybrid sharding), arXiv:2304.11277; "
                        "latency: NCCL, tuning.cc"
                      : "Rajbhandari et al. 2020 (ZeRO); volumes, latency: NCCL, tuning.cc"};
}

static void add_gradients(const struct breaking *b, enum step_ring ring, int scatters)
{
    const struct step_header *h = b->h;
    struct sand_step_term term = ring_term(ring);
    term.name = ring_name(ring, 0);
    term.collective = scatters ? "reduce-scatter" : "all-reduce";
    term.message = ring == STEP_RING_REPLICAS
                       ? "shards of gradients of a piece of a chunk: bytes a gradient x "
                         "parameters on a GPU / pieces / copies in a shard group"
                       : "gradients of a piece of a chunk: bytes a gradient x parameters on a GPU "
                         "/ pieces";
    term.equation =
        h->sharded ? "per step: pieces x chunks x micro-batches" : "per step: pieces x chunks";
    term.overlap = reduction_overlap(b);
    term.exposed = reduces_in_bubble(h, b->out->stage) ? 0
                   : h->overlap_reduce                 ? h->exposed_reduce
                                                       : 1;
    add_rings(b, ring, 0, scatters ? SAND_REDUCE_SCATTER : SAND_ALL_REDUCE, term);
}

static void add_weights(const struct breaking *b, const struct step_exchange *e)
{
    const struct step_header *h = b->h;
    struct sand_step_term term = ring_term(e->gather);
    term.name = ring_name(e->gather, 1);
    term.collective = "all-gather";
    term.message = "weights of a piece of a chunk: 2 B x parameters on a GPU / pieces";
    term.equation = "per step: pieces x chunks (x micro-batches, twice where the "
                    "backward gathers again, when sharded)";
    term.overlap = h->sharded          ? "the piece before"
                   : h->overlap_gather ? "the first forward"
                                       : "nothing";
    term.exposed = h->overlap_gather ? h->exposed_gather : 1;
    if (e->put_together == SAND_BROADCAST) {
        term.collective = "broadcast";
        term.message = "weights of one owner: 2 B x parameters on a GPU / owners";
        term.equation = "per step: chunks x owners, the copies that share out but no more than a "
                        "chunk has tensors, one after another";
    }
    add_rings(b, e->gather, 1, e->put_together, term);
}

// Every ring of an exchange once: gradients in the order of their legs, then weights.
static void add_dp(const struct breaking *b)
{
    const struct sand_split *split = b->set->split;
    const int apart = step_experts_apart(b->set->q->job->model, split);
    const enum sand_state_shards cut = b->set->q->job->software->state_shards;
    struct step_exchange parts[2] = {step_exchange_of(split, cut, 0)};
    if (apart)
        parts[1] = step_exchange_of(split, cut, 1);
    for (int ring = 0; ring < STEP_RINGS; ring++)
        for (int i = 0; i <= apart && b->traffic->rings[ring].members > 1; i++)
            if ((int)parts[i].reduce == ring)
                add_gradients(b, (enum step_ring)ring, parts[i].how == SAND_REDUCE_SCATTER);
    if (b->traffic->rings[STEP_RING_REPLICAS].members > 1)
        add_gradients(b, STEP_RING_REPLICAS, 0);
    for (int i = 0; i <= apart; i++)
        if (parts[i].gather != STEP_RINGS && b->traffic->rings[parts[i].gather].members > 1)
            add_weights(b, &parts[i]);
}

enum sand_rc sand_step_breakdown_find(const struct sand_step_question *question, uint32_t stage,
                                      struct sand_step_breakdown *breakdown, struct sand_diag *diag)
{
    struct step_traffic traffic;
    struct step_header h = {0};
    SAND_TRY(step_traffic_build(question, NULL, 0, &traffic, diag));
    struct step_setting set = step_setting_make(question);
    const enum sand_rc found = step_calls_find(&set, &traffic, diag);
    if (found != SAND_OK) {
        step_traffic_free(&traffic);
        return found;
    }
    step_header_set(&set, &h);
    *breakdown = (struct sand_step_breakdown){.stage = stage};
    struct breaking b = {.set = &set, .traffic = &traffic, .h = &h, .out = breakdown};
    b.load = sand_calloc(traffic.n_links, sizeof *b.load);
    if (b.load) {
        add_tp(&b);
        add_cp(&b);
        add_experts(&b);
        add_send(&b);
        add_dp(&b);
    }
    step_traffic_free(&traffic);
    const enum sand_rc rc = b.load ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    sand_free(b.load);
    return rc;
}
