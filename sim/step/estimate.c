// The closed form of a step. Pipelines after Narayanan et al. 2021 (SC21, arXiv:2104.04473,
// section 2.2); what sends cost follows from the longest cycle of the schedule's dependencies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "estimate.h"

#include <math.h>
#include <string.h>

#include "numbers.h"
#include "shardedpass.h"
#include "traffic.h"
#include "train.h"
#include "work.h"

// ---- one stage ----------------------------------------------------------------------------------

// Times of one micro-batch through one stage, both directions: compute, exposed tensor- and
// context-parallel traffic, exposed sharded traffic. And what its replicas exchange once a step.
struct stage {
    double forward_s, backward_s, tp_s, dp_s;
    struct sharded_alone alone; // of a stage without neighbours
    double piles_up_s;          // on the rings, with every micro-batch
    double through_s; // both ways, from input to output, of a micro-batch that comes alone
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
    return (struct following){.all_s = tp_s + cp_s + sand_larger(inside_s, outside_s),
                              .on_rings_s = layout->meets_rings[STEP_FLOW_TP] * tp_s +
                                            layout->meets_rings[STEP_FLOW_CP] * cp_s +
                                            layout->meets_rings[STEP_FLOW_EXPERTS_OUT] * outside_s};
}

// One piece's collective: how long its legs take one after another, and how long all of them
// together take up the links that hold rings of a kind back.
struct legs {
    double all_s, on_s[STEP_RINGS];
};

static struct legs legs_of(const struct sand_step_layout *layout, const struct step_ring_load *load)
{
    struct legs legs = {.all_s = 0};
    for (int ring = 0; ring < STEP_RINGS; ring++) {
        const double alone_s = transfer_s(load->hop_B[ring], load->latency_s[ring],
                                          layout->rate_Bps[STEP_FLOW_RING + ring]);
        legs.all_s += alone_s;
        legs.on_s[ring] += alone_s;
        for (int met = 0; met < STEP_RINGS; met++)
            if (met != ring)
                legs.on_s[met] +=
                    transfer_s(load->hop_B[ring], 0, layout->rings_meet_Bps[met][ring]);
    }
    return legs;
}

// The busiest rings of one piece's collectives. Pieces follow each other from one kind to the next.
// `gathers`: of the kinds by which weights come.
static int busiest_ring(const struct legs *gather, const struct legs *reduce,
                        const struct step_ring_load *gathers)
{
    double most_s = 0;
    int busiest = 0;
    for (int ring = 0; ring < STEP_RINGS; ring++) {
        const double on_s = gather->on_s[ring] + reduce->on_s[ring];
        if (on_s > most_s && (gathers == NULL || gathers->hop_B[ring] > 0)) {
            most_s = on_s;
            busiest = ring;
        }
    }
    return busiest;
}

// Pieces of a sharded chunk whose passes take `work_s`, `on_rings_s` of it on the rings' links.
static struct sharded_pieces sharded_pieces(const struct step_header *h,
                                            const struct sand_step_layout *layout,
                                            const struct step_chunk *chunk, const double *work_s,
                                            const double *on_rings_s)
{
    const struct legs gather = legs_of(layout, &chunk->gather),
                      reduce = legs_of(layout, &chunk->reduce);
    const int ring = busiest_ring(&gather, &reduce, &chunk->gather);
    const double late = h->exposed_reduce, first_s = sand_smaller(reduce.on_s[ring], reduce.all_s);
    const double beside_gather = 1 - h->exposed_gather, then_s = reduce.all_s - first_s;
    struct sharded_pieces pieces = {.n = chunk->pieces,
                                    .reduce_s = {(1 - late) * first_s, (1 - late) * then_s},
                                    .late_reduce_s = {late * first_s, late * then_s}};
    for (int b = 0; b < 2; b++) {
        const int gathers = b == 0 || h->gather_backward;
        pieces.work_s[b] = work_s[b] / chunk->pieces;
        pieces.other_s[b] = on_rings_s[b] / chunk->pieces;
        pieces.gather_s[b] = gathers ? beside_gather * gather.on_s[ring] : 0;
        pieces.late_gather_s[b] = gathers ? h->exposed_gather * gather.all_s : 0;
    }
    return pieces;
}

// By how much the busiest rings need longer for a micro-batch than the stage: that adds up to the
// end of the step.
static double piles_up_s(const struct step_header *h, const struct sand_step_layout *layout,
                         const struct step_chunk *chunk, double both_s)
{
    const struct legs gather = legs_of(layout, &chunk->gather),
                      reduce = legs_of(layout, &chunk->reduce);
    const int ring = busiest_ring(&gather, &reduce, NULL);
    const double gathers = h->gather_backward ? 2 : 1;
    const double on_s = gathers * gather.on_s[ring] + reduce.on_s[ring];
    return sand_larger(0, chunk->pieces * on_s - both_s);
}

static void add_sharded(const struct step_header *h, const struct sand_step_layout *layout,
                        const struct step_chunk *chunk, const double *work_s,
                        const double *on_rings_s, struct stage *stage, struct sharded_pass *pass)
{
    const struct sharded_pieces p = sharded_pieces(h, layout, chunk, work_s, on_rings_s);
    *pass = sharded_pass_find(&p);
    stage->piles_up_s += piles_up_s(h, layout, chunk, pass->occupied_s[0] + pass->occupied_s[1]);
    if (h->pp == 1)
        stage->alone = sharded_alone_find(&p, h->micro_batches);
}

// Its passes; `first`: the chunk is the stage's first.
static void add_passes(const struct step_header *h, const struct sand_step_layout *layout,
                       const struct step_chunk *chunk, int first, struct stage *stage)
{
    double work_s[2] = {chunk->forward_s, chunk->backward_s}, on_rings_s[2];
    for (int b = 0; b < 2; b++) {
        const struct following f = follows(chunk, layout, b);
        work_s[b] += f.all_s;
        on_rings_s[b] = f.on_rings_s;
        stage->tp_s += f.all_s;
    }
    struct sharded_pass pass = {{work_s[0], work_s[1]}, {work_s[0], work_s[1]}};
    if (h->sharded)
        add_sharded(h, layout, chunk, work_s, on_rings_s, stage, &pass);
    stage->dp_s += pass.occupied_s[0] + pass.occupied_s[1] - work_s[0] - work_s[1];
    if (first) {
        stage->first_forward_s = pass.through_s[0];
        stage->first_backward_s = pass.through_s[1];
    }
    stage->forward_s += pass.occupied_s[0];
    stage->backward_s += pass.occupied_s[1] + chunk->weights_s;
    stage->through_s += pass.through_s[0] + pass.through_s[1] + chunk->weights_s;
    stage->weights_s += chunk->weights_s;
}

// What its copies exchange once a step.
static void add_rings(const struct sand_step_layout *layout, const struct step_chunk *chunk,
                      int first, struct stage *stage)
{
    const double gather_s = legs_of(layout, &chunk->gather).all_s;
    const double reduce_s = legs_of(layout, &chunk->reduce).all_s;
    if (first) {
        stage->first_pieces = chunk->pieces;
        stage->first_reduce_s = reduce_s;
        stage->first_gather_s = gather_s;
    }
    stage->reduce_s += chunk->pieces * reduce_s;
    stage->gather_s += chunk->pieces * gather_s;
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

// With what the copies exchange on their rings, or without.
static struct stages work_out_stages(const struct step_setting *set,
                                     const struct sand_step_layout *layout,
                                     const struct step_header *h, int rings)
{
    const struct step_traffic shape = shape_of(layout);
    struct stages all = choose_stages(set->split->pp);
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t c = 0; c < set->split->virtual_stages; c++) {
            struct step_chunk chunk = {0};
            if (rings)
                step_chunk_set(set, &shape, all.number[i], c, &chunk);
            else
                step_chunk_passes_set(set, &shape, all.number[i], c, &chunk);
            add_passes(h, layout, &chunk, c == 0, &all.stage[i]);
            if (rings)
                add_rings(layout, &chunk, c == 0, &all.stage[i]);
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

static double mean_through_s(const struct stages *all, uint32_t pp)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < all->n; i++)
        sum_s += all->weight[i] * all->stage[i].through_s;
    return sum_s / pp;
}

static double slowest_both_s(const struct stages *all)
{
    double most_s = 0;
    for (uint32_t i = 0; i < all->n; i++)
        most_s = sand_larger(most_s, both_s(&all->stage[i]));
    return most_s;
}

// ---- the pipeline -------------------------------------------------------------------------------

// 1F1B. One micro-batch passes every stage twice; each further one adds a period: the slowest
// stage, or the mean of a cycle through the stages from some one to the last, whose sends nobody
// hides: a stage holds as many micro-batches as there are stages to the end.
static double plain_s(const struct stages *all, const struct step_header *h, double send_s)
{
    const double pp = h->pp;
    const double slowest_s = slowest_both_s(all), mean_s = mean_through_s(all, h->pp);
    double cycle_s = sand_larger(slowest_s, mean_s + 2 * send_s * (pp - 1) / pp);
    if (pp > 2) // the last two stages
        cycle_s = sand_larger(
            cycle_s,
            (all->stage[all->n - 1].through_s + all->stage[all->n - 2].through_s + 2 * send_s) / 2);
    const double held_up = sand_larger(0, h->micro_batches - pp);
    // Gradients of weights do not hold up the stage before, and fill as much of the bubble (ZB-H1).
    const double filled_s = 2 * (pp - 1) * all->stage[all->n / 2].weights_s;
    const struct stage *last = &all->stage[all->n - 1]; // in which both ways follow each other
    return pp * mean_s - last->through_s + both_s(last) - filled_s + 2 * send_s * (pp - 1) +
           (h->micro_batches - 1.0) * slowest_s + held_up * (cycle_s - slowest_s);
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
        most_s = sand_larger(most_s, before_s + alike_s + micro_batches * both_s(stage));
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
    const double held_up_s = sand_larger(0, (2 * send_s - chunk_s) / 2);
    return fill_and_work_s(all, h->micro_batches) +
           h->micro_batches * (double)h->chunks * held_up_s +
           2 * send_s * ((double)h->pp * h->chunks - 1);
}

// All micro-batches through the slowest stage.
static double work_s(const struct stages *all, const struct step_header *h)
{
    return h->pp == 1 && h->sharded ? all->stage[0].alone.work_s
                                    : h->micro_batches * slowest_both_s(all);
}

static double pipeline_s(const struct stages *all, const struct step_header *h, double send_s)
{
    if (h->pp == 1)
        return work_s(all, h);
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
    const double queued_s = sand_larger(0, beside_s - stage->first_backward_s / n);
    return (struct reductions){.gradients_s = n * late_s + (n - 1) * queued_s + beside_s};
}

// A chunk at a time, a round of the pipeline apart, the same in all stages; the last with nothing
// beside it.
static struct reductions by_round(const struct step_header *h, const struct stage *stage,
                                  double round_s)
{
    const double last_s = stage->first_pieces * stage->first_reduce_s;
    const double rounds = h->chunks - 1.0, others_s = stage->reduce_s - last_s;
    const double queued_s = sand_larger(0, (1 - h->exposed_reduce) * others_s / rounds - round_s);
    return (struct reductions){.wave_s = h->exposed_reduce * others_s +
                                         sand_larger(0, rounds - 1) * queued_s,
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
        most.wave_s = sand_larger(most.wave_s, own.wave_s);
        most.gradients_s = sand_larger(most.gradients_s, own.gradients_s - all->number[i] * pass_s);
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
    const double first_s = n * sand_larger(work_s, stage->first_gather_s) +
                           sand_smaller(work_s, stage->first_gather_s) - stage->first_forward_s;
    const double warm_up_s = ((h->chunks - 1.0) * h->pp + 1) * stage->forward_s / h->chunks;
    return sand_larger(first_s, stage->gather_s - warm_up_s);
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
        p->gradients_s =
            h->pp == 1 ? first->alone.left_s : (1 - h->exposed_reduce) * first->first_reduce_s;
        p->gradients_s = sand_larger(p->gradients_s, h->micro_batches * first->piles_up_s);
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
    const double ends_s =
        pp > 1 ? 0 : phases->work_s - m * phases->slowest_s; // first and last pass
    e->exposed_dp_s = m * dp_s + ends_s + phases->wave_s + phases->gradients_s + phases->weights_s;
    e->exposed_pp_s = phases->sends_s;
    e->compute_s = m * (mean_both_s(all, set->split->pp) - tp_s - dp_s) + phases->optimizer_s +
                   phases->overhead_s;
    e->bubble_s = sand_larger(0, e->step_s - e->compute_s - e->exposed_tp_s - e->exposed_dp_s -
                                     e->exposed_pp_s);
}

static double one_send_s(const struct step_header *h, const struct sand_step_layout *layout)
{
    const double rate_Bps =
        sand_smaller(layout->rate_Bps[STEP_FLOW_NEXT], layout->rate_Bps[STEP_FLOW_PREVIOUS]);
    return h->pp > 1 ? transfer_s(h->send_B, h->send_latency_s, rate_Bps) : 0;
}

// No finite time if the job asks for a kernel that does not run.
static struct stages find_phases(struct step_setting *set, const struct sand_step_layout *layout,
                                 struct step_header *h, struct sand_step_phases *p)
{
    const struct step_traffic shape = shape_of(layout);
    struct step_seen seen[2][STEP_RINGS] = {{{.bytes = 0}}};
    set->seen = seen;
    const int runs = step_calls_find(set, &shape, NULL) == SAND_OK;
    step_header_set(set, h);
    const struct stages all = work_out_stages(set, layout, h, 1);
    set->seen = NULL;
    const double send_s = one_send_s(h, layout);
    const double without_s = pipeline_s(&all, h, 0);
    *p = (struct sand_step_phases){.micro_batches = h->micro_batches,
                                   .slowest_s = slowest_both_s(&all),
                                   .mean_s = mean_both_s(&all, h->pp),
                                   .send_s = send_s,
                                   .work_s = work_s(&all, h),
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

// ---- what no sharding makes shorter -------------------------------------------------------------

// Sums in another order differ in the last digits.
static const double BELOW = 1 - 1e-9;

// Everything that sharding adds to passes lengthens them, and a plain pipeline with them. Of an
// interleaved one it can also hide sends, so what those hold up is left out.
static double passes_floor_s(const struct stages *all, const struct step_header *h, double send_s)
{
    if (h->chunks == 1)
        return pipeline_s(all, h, send_s);
    return fill_and_work_s(all, h->micro_batches) + 2 * send_s * ((double)h->pp * h->chunks - 1);
}

double sand_step_floor(const struct sand_step_question *question,
                       const struct sand_step_layout *layout)
{
    static const struct sand_step_layout unplaced = {.copies = 1};
    struct sand_job_spec job = *question->job;
    struct sand_step_question asked = *question;
    struct step_header h = {0};
    job.split.distributed_optimizer = 1; // over all copies: the shortest optimizer step
    job.split.shard_group = 0;
    asked.job = &job;
    struct step_setting set = step_setting_make(&asked);
    if (layout) {
        const struct step_traffic shape = shape_of(layout);
        step_calls_find(&set, &shape, NULL);
    } else {
        layout = &unplaced;
    }
    step_header_set(&set, &h);
    h.sharded = 0;
    const struct stages all = work_out_stages(&set, layout, &h, 0);
    const double passes_s = passes_floor_s(&all, &h, one_send_s(&h, layout));
    return BELOW * (passes_s + step_optimizer_s(&set, 0) + h.overhead_s);
}
