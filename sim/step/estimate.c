// The closed form of a step. Pipelines after Narayanan et al. 2021 (SC21, arXiv:2104.04473,
// section 2.2); what sends cost follows from the longest cycle of the schedule's dependencies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "estimate.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "steprings.h"
#include "traffic.h"
#include "train.h"
#include "work.h"

// ---- layouts ------------------------------------------------------------------------------------

// How often flows of a kind cross each link.
static void add_loads(const struct step_traffic *traffic, uint32_t kind, double *load)
{
    for (uint32_t l = 0; l < traffic->n_links; l++)
        load[l] = 0;
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const uint32_t *links = step_edge_links(traffic, edge);
        for (uint32_t i = 0; traffic->flows[edge->flow].kind == kind && i < edge->n_links; i++)
            load[links[i]] += step_edge_weight(edge, i);
    }
}

// Users of one kind share a link evenly; the smallest share counts. 0: no link has a user.
static double smallest_share_Bps(const struct step_traffic *traffic, const double *load)
{
    double least_Bps = 0;
    for (uint32_t l = 0; l < traffic->n_links; l++)
        if (load[l] > 0 && (least_Bps <= 0 || traffic->links[l].capacity_Bps < least_Bps * load[l]))
            least_Bps = traffic->links[l].capacity_Bps / load[l];
    return least_Bps;
}

// Whether a link that holds the rings back carries the other kind too.
static int meets_rings(const struct step_traffic *traffic, double rate_Bps, const double *ring_load,
                       const double *load)
{
    for (uint32_t l = 0; l < traffic->n_links; l++)
        if (load[l] > 0 && traffic->links[l].capacity_Bps <= rate_Bps * ring_load[l] * (1 + 1e-9))
            return 1;
    return 0;
}

static void fill_rings(const struct step_traffic *traffic, double *ring_load, double *load,
                       uint32_t ring_kind, struct sand_step_layout *layout)
{
    add_loads(traffic, ring_kind, ring_load);
    layout->rate_Bps[ring_kind] = smallest_share_Bps(traffic, ring_load);
    if (!(layout->rate_Bps[ring_kind] > 0))
        return;
    for (uint32_t kind = 0; kind < STEP_FLOW_RING; kind++) {
        add_loads(traffic, kind, load);
        if (meets_rings(traffic, layout->rate_Bps[ring_kind], ring_load, load))
            layout->meets_rings[kind] = 1;
    }
}

static void fill_layout(const struct step_traffic *traffic, double *ring_load, double *load,
                        struct sand_step_layout *layout)
{
    *layout = (struct sand_step_layout){.copies = traffic->dp,
                                        .expert_copies = traffic->experts.copies,
                                        .expert_domains = traffic->experts.domains,
                                        .experts_inside = traffic->experts.inside,
                                        .tp = traffic->tp,
                                        .cp = traffic->cp,
                                        .send = traffic->send};
    memcpy(layout->rings, traffic->rings, sizeof layout->rings);
    for (uint32_t kind = STEP_FLOW_RING; kind < STEP_FLOW_KINDS; kind++)
        fill_rings(traffic, ring_load, load, kind, layout);
    for (uint32_t kind = 0; kind < STEP_FLOW_RING; kind++) {
        add_loads(traffic, kind, load);
        layout->rate_Bps[kind] = smallest_share_Bps(traffic, load);
    }
}

// Kinds of rings as bits; they do not depend on how state is cut.
static uint32_t rings_used(const struct sand_split *split)
{
    uint32_t used = 0;
    for (int experts = 0; experts < 2; experts++) {
        const struct step_exchange e = step_exchange_of(split, SAND_STATE_FLAT, experts);
        used |= 1u << e.reduce | 1u << e.across | 1u << e.gather;
    }
    return used & ((1u << STEP_RINGS) - 1);
}

int sand_step_rings_alike(const struct sand_split *a, const struct sand_split *b)
{
    const uint32_t in_groups = 1u << STEP_RING_SHARDS | 1u << STEP_RING_EXPERT_SHARDS;
    const uint32_t used = rings_used(a);
    return used == rings_used(b) &&
           (!(used & in_groups) || sand_split_shards(a) == sand_split_shards(b));
}

enum sand_rc sand_step_layout_find(const struct sand_step_question *question,
                                   struct sand_step_layout *layout, struct sand_diag *diag)
{
    struct step_traffic traffic;
    SAND_TRY(step_traffic_build(question, NULL, 0, &traffic, diag));
    double *ring_load = sand_calloc(traffic.n_links, sizeof *ring_load);
    double *load = sand_calloc(traffic.n_links, sizeof *load);
    const enum sand_rc rc = ring_load == NULL || load == NULL ? SAND_ERR_NOMEM : SAND_OK;
    if (rc == SAND_OK)
        fill_layout(&traffic, ring_load, load, layout);
    step_traffic_free(&traffic);
    sand_free(ring_load);
    sand_free(load);
    return rc == SAND_OK ? rc : sand_fail(diag, rc, "out of memory");
}

// ---- one stage ----------------------------------------------------------------------------------

// Times of one micro-batch through one stage, both directions: compute, exposed tensor- and
// context-parallel traffic, exposed sharded traffic. And what its replicas exchange once a step.
struct stage {
    double forward_s, backward_s, tp_s, dp_s;
    double first_backward_s, first_forward_s; // of its first chunk, which begins and ends a step
    double weights_s;                         // of a zero-bubble backward, apart
    double reduce_s, gather_s;                // all pieces of all chunks
    double first_reduce_s, first_gather_s;    // one piece of the first chunk
    uint32_t first_pieces;
};

static double transfer_s(double bytes, double latency_s, double Bps)
{
    return bytes > 0 && Bps > 0 ? latency_s + bytes / Bps : 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

// Traffic that follows compute in every pass; `backward` 0 or 1. What of it shares the links that
// hold the rings back.
struct following {
    double all_s, on_rings_s;
};

static struct following follows(const struct step_chunk *chunk,
                                const struct sand_step_layout *layout, int backward)
{
    const double tp_s = transfer_s(chunk->tp_B[backward], chunk->tp_latency_s[backward],
                                   layout->rate_Bps[STEP_FLOW_TP]);
    const double cp_s = transfer_s(chunk->cp_B[backward], chunk->cp_latency_s[backward],
                                   layout->rate_Bps[STEP_FLOW_CP]);
    // Both ways at once, so the slower counts.
    const double latency_s = chunk->experts_latency_s[backward];
    const double inside_s =
        transfer_s(chunk->experts_B[backward], latency_s, layout->rate_Bps[STEP_FLOW_EXPERTS]);
    const double outside_s = transfer_s(chunk->experts_out_B[backward], latency_s,
                                        layout->rate_Bps[STEP_FLOW_EXPERTS_OUT]);
    return (struct following){.all_s = tp_s + cp_s + larger(inside_s, outside_s),
                              .on_rings_s = layout->meets_rings[STEP_FLOW_TP] * tp_s +
                                            layout->meets_rings[STEP_FLOW_CP] * cp_s +
                                            layout->meets_rings[STEP_FLOW_EXPERTS_OUT] * outside_s};
}

// One piece's collective: how long its legs take one after another, and each on its rings.
struct legs {
    double all_s, on_s[STEP_RINGS];
};

static struct legs legs_of(const struct sand_step_layout *layout, const struct step_ring_load *load)
{
    struct legs legs = {.all_s = 0};
    for (int ring = 0; ring < STEP_RINGS; ring++) {
        legs.on_s[ring] = transfer_s(load->hop_B[ring], load->latency_s[ring],
                                     layout->rate_Bps[STEP_FLOW_RING + ring]);
        legs.all_s += legs.on_s[ring];
    }
    return legs;
}

// What sharding adds to a pass whose rings are free for `free_s`: the part of its traffic that
// compute waits for, or the time by which the busiest rings are slower. Pieces follow each other
// from one kind of rings to the next.
static double sharding_s(const struct step_header *h, const struct step_chunk *chunk, double free_s,
                         const struct legs *gather, const struct legs *reduce)
{
    const double late_s = h->exposed_gather * gather->all_s + h->exposed_reduce * reduce->all_s;
    double busiest_s = 0;
    for (int ring = 0; ring < STEP_RINGS; ring++)
        busiest_s = larger(busiest_s, gather->on_s[ring] + reduce->on_s[ring]);
    return chunk->pieces * larger(late_s, busiest_s - free_s / chunk->pieces);
}

static void add_chunk(const struct step_header *h, const struct sand_step_layout *layout,
                      const struct step_chunk *chunk, struct stage *stage)
{
    const struct legs nothing = {.all_s = 0}, gather = legs_of(layout, &chunk->gather),
                      reduce = legs_of(layout, &chunk->reduce);
    double pass_s[2] = {chunk->forward_s, chunk->backward_s}, free_s[2];
    for (int b = 0; b < 2; b++) {
        const struct following f = follows(chunk, layout, b);
        pass_s[b] += f.all_s;
        free_s[b] = pass_s[b] - f.on_rings_s;
        stage->tp_s += f.all_s;
    }
    for (int b = 0; b < 2 && h->sharded; b++) {
        const double adds_s =
            sharding_s(h, chunk, free_s[b], b == 0 || h->gather_backward ? &gather : &nothing,
                       b == 0 ? &nothing : &reduce);
        pass_s[b] += adds_s;
        stage->dp_s += adds_s;
    }
    if (stage->first_pieces == 0) {
        stage->first_pieces = chunk->pieces;
        stage->first_forward_s = pass_s[0];
        stage->first_backward_s = pass_s[1];
        stage->first_reduce_s = reduce.all_s;
        stage->first_gather_s = gather.all_s;
    }
    stage->forward_s += pass_s[0];
    stage->backward_s += pass_s[1] + chunk->weights_s;
    stage->weights_s += chunk->weights_s;
    stage->reduce_s += chunk->pieces * reduce.all_s;
    stage->gather_s += chunk->pieces * gather.all_s;
}

// ---- stages that stand for all ------------------------------------------------------------------

enum { MOST_STAGES = 5 };

// The ends, where embedding and head are and uneven depths take layers away, and one between.
struct stages {
    uint32_t number[MOST_STAGES], n;
    double weight[MOST_STAGES]; // stages that each stands for
    struct stage stage[MOST_STAGES];
};

static void add_stage(struct stages *all, uint32_t number, double weight)
{
    all->number[all->n] = number;
    all->weight[all->n++] = weight;
}

static struct stages choose_stages(uint32_t pp)
{
    struct stages all = {.n = 0};
    add_stage(&all, 0, 1);
    if (pp > 3)
        add_stage(&all, 1, 1);
    if (pp > 4)
        add_stage(&all, pp / 2, pp - 4.0);
    if (pp > 2)
        add_stage(&all, pp - 2, 1);
    if (pp > 1)
        add_stage(&all, pp - 1, 1);
    return all;
}

static struct step_traffic shape_of(const struct sand_step_layout *layout)
{
    struct step_traffic shape = {
        .dp = layout->copies,
        .tp = layout->tp,
        .cp = layout->cp,
        .send = layout->send,
        .experts = {layout->expert_copies, layout->expert_domains, layout->experts_inside}};
    memcpy(shape.rings, layout->rings, sizeof shape.rings);
    return shape;
}

static struct stages work_out_stages(const struct step_setting *set,
                                     const struct sand_step_layout *layout,
                                     const struct step_header *h)
{
    const struct step_traffic shape = shape_of(layout);
    struct stages all = choose_stages(set->split->pp);
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t c = 0; c < set->split->virtual_stages; c++) {
            struct step_chunk chunk = {0};
            step_chunk_set(set, &shape, all.number[i], c, &chunk);
            add_chunk(h, layout, &chunk, &all.stage[i]);
        }
    return all;
}

static double both_s(const struct stage *stage)
{
    return stage->forward_s + stage->backward_s;
}

static double mean_both_s(const struct stages *all, uint32_t pp)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < all->n; i++)
        sum_s += all->weight[i] * both_s(&all->stage[i]);
    return sum_s / pp;
}

static double slowest_both_s(const struct stages *all)
{
    double most_s = 0;
    for (uint32_t i = 0; i < all->n; i++)
        most_s = larger(most_s, both_s(&all->stage[i]));
    return most_s;
}

// ---- the pipeline -------------------------------------------------------------------------------

// 1F1B. One micro-batch passes every stage twice; each further one adds a period: the slowest
// stage, or the mean of a cycle through the stages from some one to the last, whose sends nobody
// hides: a stage holds as many micro-batches as there are stages to the end.
static double plain_s(const struct stages *all, const struct step_header *h, double send_s)
{
    const double pp = h->pp;
    const double slowest_s = slowest_both_s(all), mean_s = mean_both_s(all, h->pp);
    double cycle_s = larger(slowest_s, mean_s + 2 * send_s * (pp - 1) / pp);
    if (pp > 2) // the last two stages
        cycle_s = larger(
            cycle_s,
            (both_s(&all->stage[all->n - 1]) + both_s(&all->stage[all->n - 2]) + 2 * send_s) / 2);
    const double held_up = larger(0, h->micro_batches - pp);
    // Gradients of weights do not hold up the stage before, and fill as much of the bubble (ZB-H1).
    const double filled_s = 2 * (pp - 1) * all->stage[all->n / 2].weights_s;
    return pp * mean_s - filled_s + 2 * send_s * (pp - 1) + (h->micro_batches - 1.0) * slowest_s +
           held_up * (cycle_s - slowest_s);
}

// The stage that ends last begins when the first micro-batch has passed the first chunks of those
// before it, never stands still, and its last micro-batch goes back through them.
static double fill_and_work_s(const struct stages *all, double micro_batches)
{
    double before_s = 0, most_s = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct stage *stage = &all->stage[i];
        const double first_s = stage->first_forward_s + stage->first_backward_s;
        const double alike_s = (all->weight[i] - 1) * first_s; // before the last of its like
        most_s = larger(most_s, before_s + alike_s + micro_batches * both_s(stage));
        before_s += alike_s + first_s;
    }
    return most_s;
}

// Interleaved 1F1B. A stage goes round by groups of pp micro-batches, so while the pipeline fills
// and drains every send is waited for, round after round. In between, two more passes of a stage
// are under way than of the next: sends are hidden unless two take longer than a chunk both ways.
static double interleaved_s(const struct stages *all, const struct step_header *h, double send_s)
{
    const double chunk_s = mean_both_s(all, h->pp) / h->chunks;
    const double held_up_s = larger(0, (2 * send_s - chunk_s) / 2);
    return fill_and_work_s(all, h->micro_batches) +
           h->micro_batches * (double)h->chunks * held_up_s +
           2 * send_s * ((double)h->pp * h->chunks - 1);
}

static double pipeline_s(const struct stages *all, const struct step_header *h, double send_s)
{
    if (h->pp == 1)
        return h->micro_batches * slowest_both_s(all);
    return h->chunks > 1 ? interleaved_s(all, h, send_s) : plain_s(all, h, send_s);
}

// ---- data parallelism once a step ---------------------------------------------------------------

// Where gradients set out is said in runplan.c. The late part of a reduction holds compute up, the
// rest runs beside it and delays the late part behind it.
struct reductions {
    double wave_s;      // the passes before the last are held up
    double gradients_s; // behind the last pass of the first stage
};

// Piece by piece within the last backward of the first stage.
static struct reductions by_piece(const struct step_header *h, const struct stage *stage)
{
    const double n = stage->first_pieces, late_s = h->exposed_reduce * stage->first_reduce_s;
    const double beside_s = stage->first_reduce_s - late_s;
    const double queued_s = larger(0, beside_s - stage->first_backward_s / n);
    return (struct reductions){.gradients_s = n * late_s + (n - 1) * queued_s + beside_s};
}

// A chunk at a time, a round of the pipeline apart, the same in all stages; the last with nothing
// beside it.
static struct reductions by_round(const struct step_header *h, const struct stage *stage,
                                  double round_s)
{
    const double last_s = stage->first_pieces * stage->first_reduce_s;
    const double rounds = h->chunks - 1.0, others_s = stage->reduce_s - last_s;
    const double queued_s = larger(0, (1 - h->exposed_reduce) * others_s / rounds - round_s);
    return (struct reductions){.wave_s =
                                   h->exposed_reduce * others_s + larger(0, rounds - 1) * queued_s,
                               .gradients_s = last_s + queued_s};
}

// Of all stages: those behind the first have ended by as many passes earlier.
static struct reductions reductions(const struct step_header *h, const struct stages *all,
                                    double send_s)
{
    const struct stage *typical = &all->stage[all->n / 2];
    const double pass_s = (typical->backward_s - typical->weights_s) / h->chunks + send_s;
    struct reductions most = {0};
    for (uint32_t i = 0; i < all->n; i++) {
        const struct stage *stage = &all->stage[i];
        struct reductions own = {.gradients_s = stage->reduce_s};
        if (h->overlap_reduce && h->chunks > 1)
            own = by_round(h, stage, h->pp * pass_s);
        else if (h->overlap_reduce && all->number[i] == 0)
            own = by_piece(h, stage);
        most.wave_s = larger(most.wave_s, own.wave_s);
        most.gradients_s = larger(most.gradients_s, own.gradients_s - all->number[i] * pass_s);
    }
    return most;
}

// Weights, which set out before the first forward.
static double gather_s(const struct step_header *h, const struct stage *stage)
{
    if (!h->gathers)
        return 0;
    if (!h->overlap_gather)
        return stage->gather_s;
    const double n = stage->first_pieces;
    const double work_s = stage->first_forward_s / n;
    const double first_s = n * larger(work_s, stage->first_gather_s) +
                           smaller(work_s, stage->first_gather_s) - stage->first_forward_s;
    const double warm_up_s = ((h->chunks - 1.0) * h->pp + 1) * stage->forward_s / h->chunks;
    return larger(first_s, stage->gather_s - warm_up_s);
}

// When sharded, nobody prefetches the first weights, and the last gradients have nothing beside
// them.
static void add_once_a_step(const struct step_header *h, const struct stages *all, double send_s,
                            struct sand_step_phases *p)
{
    const struct stage *first = &all->stage[0];
    const struct reductions reduced = reductions(h, all, send_s);
    if (h->sharded) {
        p->weights_s = (1 - h->exposed_gather) * first->first_gather_s;
        p->gradients_s = (1 - h->exposed_reduce) * first->first_reduce_s;
        return;
    }
    p->weights_s = gather_s(h, first);
    p->gradients_s = reduced.gradients_s;
    p->wave_s = reduced.wave_s;
}

// ---- all together -------------------------------------------------------------------------------

static void share_out(const struct step_setting *set, const struct step_header *h,
                      const struct stages *all, const struct sand_step_phases *phases,
                      struct sand_step_estimate *e)
{
    const double m = h->micro_batches, pp = h->pp;
    double tp_s = 0, dp_s = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        tp_s += all->weight[i] * all->stage[i].tp_s / pp;
        dp_s += all->weight[i] * all->stage[i].dp_s / pp;
    }
    e->exposed_tp_s = m * tp_s;
    e->exposed_dp_s = m * dp_s + phases->wave_s + phases->gradients_s + phases->weights_s;
    e->exposed_pp_s = phases->sends_s;
    e->compute_s = m * (mean_both_s(all, set->split->pp) - tp_s - dp_s) + phases->optimizer_s +
                   phases->overhead_s;
    e->bubble_s =
        larger(0, e->step_s - e->compute_s - e->exposed_tp_s - e->exposed_dp_s - e->exposed_pp_s);
}

// No finite time if the job asks for a kernel that does not run.
static struct stages find_phases(struct step_setting *set, const struct sand_step_layout *layout,
                                 struct step_header *h, struct sand_step_phases *p)
{
    const struct step_traffic shape = shape_of(layout);
    const int runs = step_calls_find(set, &shape, NULL) == SAND_OK;
    step_header_set(set, h);
    const struct stages all = work_out_stages(set, layout, h);
    const double rate_Bps =
        smaller(layout->rate_Bps[STEP_FLOW_NEXT], layout->rate_Bps[STEP_FLOW_PREVIOUS]);
    const double send_s = h->pp > 1 ? transfer_s(h->send_B, h->send_latency_s, rate_Bps) : 0;
    const double without_s = pipeline_s(&all, h, 0);
    *p = (struct sand_step_phases){.micro_batches = h->micro_batches,
                                   .slowest_s = slowest_both_s(&all),
                                   .mean_s = mean_both_s(&all, h->pp),
                                   .send_s = send_s,
                                   .work_s = h->micro_batches * slowest_both_s(&all),
                                   .sends_s = pipeline_s(&all, h, send_s) - without_s,
                                   .optimizer_s = step_optimizer_s(set, 0),
                                   .overhead_s = runs ? h->overhead_s : INFINITY};
    p->fill_s = without_s - p->work_s;
    if (layout->copies > 1)
        add_once_a_step(h, &all, send_s, p);
    return all;
}

double sand_step_phases_sum(const struct sand_step_phases *p)
{
    return p->work_s + p->fill_s + p->sends_s + p->wave_s + p->gradients_s + p->weights_s +
           p->optimizer_s + p->overhead_s;
}

void sand_step_phases_find(const struct sand_step_question *question,
                           const struct sand_step_layout *layout, struct sand_step_phases *phases)
{
    struct step_setting set = step_setting_make(question);
    struct step_header h = {0};
    find_phases(&set, layout, &h, phases);
}

void sand_step_estimate(const struct sand_step_question *question,
                        const struct sand_step_layout *layout, struct sand_step_estimate *estimate)
{
    struct step_setting set = step_setting_make(question);
    struct step_header h = {0};
    struct sand_step_phases phases;
    const struct stages all = find_phases(&set, layout, &h, &phases);
    *estimate = (struct sand_step_estimate){.step_s = sand_step_phases_sum(&phases)};
    share_out(&set, &h, &all, &phases, estimate);
}
