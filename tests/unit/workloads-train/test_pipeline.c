// Schedules played abstractly: they never deadlock, their bubble is the published one, and so are
// the passes in flight.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "mem.h"
#include "train.h"
#include "train_cases.h"

// All stages' orders and the date each pass ended (< 0: not yet).
struct play {
    struct sand_split split;
    uint32_t m, v, p;
    size_t n_ops;
    struct sand_stage_op *ops; // [p][n_ops]
    double *done;              // [p][v][m][3]: forward, backward, gradients of weights
};

static double *date(const struct play *play, uint32_t stage, uint32_t chunk, uint32_t mb, int back)
{
    return &play->done[(((size_t)stage * play->v + chunk) * play->m + mb) * 3 + (size_t)back];
}

static void play_start(struct play *play, enum sand_schedule schedule, uint32_t p, uint32_t v,
                       uint32_t m)
{
    *play = (struct play){.split = plain(1, p, 1, m), .m = m, .v = v, .p = p};
    play->split.virtual_stages = v;
    play->split.schedule = schedule;
    play->n_ops = (size_t)(schedule == SAND_SCHEDULE_ZERO_BUBBLE ? 3 : 2) * m * v;
    cr_assert_eq(sand_schedule_size(&play->split), play->n_ops);
    play->ops = sand_calloc(p * play->n_ops, sizeof *play->ops);
    play->done = sand_calloc((size_t)p * v * m * 3, sizeof *play->done);
    for (uint32_t s = 0; s < p; s++)
        cr_assert_eq(sand_schedule_stage(&play->split, s, play->ops + s * play->n_ops),
                     play->n_ops);
    for (size_t i = 0; i < (size_t)p * v * m * 3; i++)
        play->done[i] = -1;
}

static void play_end(struct play *play)
{
    sand_free(play->ops);
    sand_free(play->done);
}

// When the input of a pass is there; < 0: not yet. The last chunk's backward needs its own forward.
static double ready(const struct play *play, uint32_t s, const struct sand_stage_op *op)
{
    if (op->weights)
        return *date(play, s, op->chunk, op->micro_batch, 1);
    if (!op->backward) {
        if (s > 0)
            return *date(play, s - 1, op->chunk, op->micro_batch, 0);
        return op->chunk == 0 ? 0 : *date(play, play->p - 1, op->chunk - 1u, op->micro_batch, 0);
    }
    if (s + 1 < play->p)
        return *date(play, s + 1, op->chunk, op->micro_batch, 1);
    if (op->chunk + 1u < play->v)
        return *date(play, 0, op->chunk + 1u, op->micro_batch, 1);
    return *date(play, s, op->chunk, op->micro_batch, 0);
}

// Runs all stages as far as they get; the date the last one ends, or -1 on deadlock.
static double play_run(const struct play *play, double forward, double backward, double weights)
{
    size_t next[64] = {0}, left = play->p * play->n_ops;
    double clock[64] = {0}, end = 0;
    int moved = 1;
    while (left > 0 && moved) {
        moved = 0;
        for (uint32_t s = 0; s < play->p; s++)
            while (next[s] < play->n_ops) {
                const struct sand_stage_op *op = &play->ops[s * play->n_ops + next[s]];
                const double start = ready(play, s, op);
                if (start < 0)
                    break;
                double *done =
                    date(play, s, op->chunk, op->micro_batch, op->weights ? 2 : op->backward);
                cr_assert_lt(*done, 0, "a pass runs once");
                clock[s] = fmax(clock[s], start) + (op->weights    ? weights
                                                    : op->backward ? backward
                                                                   : forward);
                *done = clock[s];
                end = fmax(end, clock[s]);
                next[s]++;
                left--;
                moved = 1;
            }
    }
    return left > 0 ? -1 : end;
}

// Makespan of p stages with chunk passes of f, b and w seconds.
static double makespan_of(enum sand_schedule schedule, uint32_t p, uint32_t v, uint32_t m, double f,
                          double b, double w)
{
    struct play play;
    play_start(&play, schedule, p, v, m);
    const double end = play_run(&play, f, b, w);
    play_end(&play);
    cr_assert_geq(end, 0, "deadlock: pp %u, virtual stages %u, %u micro-batches", p, v, m);
    return end;
}

static double makespan(uint32_t p, uint32_t v, uint32_t m, double f, double b)
{
    return makespan_of(SAND_SCHEDULE_1F1B, p, v, m, f, b, 0);
}

Test(pipeline, gpipe_has_bubble_p_minus_1_over_m)
{
    // Huang et al. 2019, section 2.3: (p-1)/(m+p-1) of the whole, (p-1)/m of the ideal time.
    for (uint32_t p = 1; p <= 12; p++)
        for (uint32_t m = 1; m <= 30; m++) {
            const double whole = makespan_of(SAND_SCHEDULE_GPIPE, p, 1, m, 1, 2, 0);
            cr_assert_float_eq(1 - 3.0 * m / whole, (p - 1.0) / (m + p - 1.0), 1e-12,
                               "pp %u, %u micro-batches", p, m);
        }
}

Test(pipeline, zero_bubble_has_the_bubble_of_zb_h1)
{
    // Qi et al. 2023, table 2: ZB-H1 idles (p-1)(F + B - W), 1F1B (p-1)(F + B + W).
    const double times[][3] = {{1, 1, 1}, {1, 1.2, 0.8}, {1, 1.5, 0.7}, {1, 1, 0.5}};
    for (uint32_t p = 1; p <= 10; p++)
        for (uint32_t m = p; m <= 3 * p; m++)
            for (size_t i = 0; i < 4; i++) {
                const double f = times[i][0], b = times[i][1], w = times[i][2];
                const double end = makespan_of(SAND_SCHEDULE_ZERO_BUBBLE, p, 1, m, f, b, w);
                cr_assert_float_eq(end - m * (f + b + w), (p - 1) * (f + b - w), 1e-9,
                                   "pp %u, %u micro-batches, %g %g %g", p, m, f, b, w);
            }
    // Fewer micro-batches than stages: still a schedule.
    cr_assert_geq(makespan_of(SAND_SCHEDULE_ZERO_BUBBLE, 8, 1, 3, 1, 1, 1), 9.0);
}

Test(pipeline, plain_never_deadlocks_and_has_bubble_p_minus_1_over_m)
{
    for (uint32_t p = 1; p <= 12; p++)
        for (uint32_t m = 1; m <= 30; m++)
            cr_assert_float_eq(makespan(p, 1, m, 1, 2) / (3.0 * m) - 1, (p - 1.0) / m, 1e-12,
                               "pp %u, %u micro-batches", p, m);
}

Test(pipeline, interleaved_never_deadlocks_and_has_bubble_over_v)
{
    // Narayanan et al. 2021, section 2.2.2: (p-1)/(m v) of the ideal time.
    for (uint32_t p = 2; p <= 9; p++)
        for (uint32_t v = 2; v <= 5; v++)
            for (uint32_t m = p; m <= 4 * p; m += p)
                cr_assert_float_eq(makespan(p, v, m, 1, 2) / (3.0 * m * v) - 1,
                                   (p - 1.0) / ((double)m * v), 1e-12,
                                   "pp %u, virtual stages %u, %u micro-batches", p, v, m);
}

Test(pipeline, llama3_405b_schedule_is_feasible)
{
    // 16 stages, 8 chunks, 16 micro-batches: all warm-up, the depth is capped.
    cr_assert_float_eq(makespan(16, 8, 16, 1, 2), 3.0 * 16 * 8 + 3 * 15, 1e-9);
}

Test(pipeline, no_deadlock_whatever_the_pass_times)
{
    for (uint32_t p = 2; p <= 6; p++)
        for (uint32_t m = p; m <= 3 * p; m += p) {
            const double ideal = m * 3 * 5.1;
            cr_assert_geq(makespan(p, 3, m, 5, 0.1), ideal - 1e-9);
            cr_assert_geq(makespan(p, 3, m, 0.1, 5), ideal - 1e-9);
        }
}

Test(pipeline, warm_up_is_megatrons)
{
    const struct {
        uint32_t p, v, m, stage, forwards;
    } cases[] = {
        {4, 1, 8, 0, 3},  {4, 1, 8, 3, 0},     {4, 1, 2, 0, 2},     // capped at m
        {4, 2, 8, 0, 10}, {4, 2, 8, 3, 4},     {4, 3, 12, 1, 12},   // 2 below + (v-1) p
        {4, 2, 4, 0, 8},  {16, 8, 16, 0, 128}, {16, 8, 16, 15, 112} // capped at m v
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sand_split split = plain(1, cases[i].p, 1, cases[i].m);
        split.virtual_stages = cases[i].v;
        struct sand_stage_op ops[256];
        const size_t n = sand_schedule_stage(&split, cases[i].stage, ops);
        uint32_t forwards = 0;
        while (forwards < n && !ops[forwards].backward)
            forwards++;
        // One more forward follows the warm-up unless there is none left.
        const uint32_t all = cases[i].m * cases[i].v;
        const uint32_t want = cases[i].forwards < all ? cases[i].forwards + 1 : all;
        cr_assert_eq(forwards, want, "case %zu: %u", i, forwards);
    }
}

Test(pipeline, chunks_take_turns_by_groups_of_p)
{
    struct sand_split split = plain(1, 2, 1, 4);
    split.virtual_stages = 2;
    struct sand_stage_op ops[16];
    cr_assert_eq(sand_schedule_stage(&split, 1, ops), 16u);
    // Last stage: 2 warm-up forwards, then F B in turn. By hand from Narayanan et al. 2021,
    // figure 4.
    static const struct sand_stage_op want[16] = {
        {0, 0, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, 1}, {1, 1, 0, 1},
        {0, 0, 0, 2}, {0, 1, 0, 0}, {0, 0, 0, 3}, {0, 1, 0, 1}, {1, 0, 0, 2}, {1, 1, 0, 2},
        {1, 0, 0, 3}, {1, 1, 0, 3}, {0, 1, 0, 2}, {0, 1, 0, 3}};
    for (int i = 0; i < 16; i++) {
        cr_assert_eq(ops[i].chunk, want[i].chunk, "entry %d", i);
        cr_assert_eq(ops[i].backward, want[i].backward, "entry %d", i);
        cr_assert_eq(ops[i].micro_batch, want[i].micro_batch, "entry %d", i);
    }
}

// In-flight layers by a walk over the whole order.
static uint64_t walked(const struct sand_transformer *model, const struct sand_split *split,
                       uint32_t stage)
{
    const size_t room = (size_t)2 * split->virtual_stages * sand_split_micro_batches(split);
    struct sand_stage_op *ops = sand_calloc(room, sizeof *ops);
    const size_t n = sand_schedule_stage(split, stage, ops);
    int64_t layers = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t of = sand_split_layers(model, split, stage, ops[i].chunk);
        layers += ops[i].backward ? -of : of;
        most = layers > most ? layers : most;
    }
    cr_assert_eq(layers, 0, "every forward has its backward");
    sand_free(ops);
    return (uint64_t)most;
}

Test(pipeline, in_flight_is_that_of_the_whole_order)
{
    struct sand_transformer model = llama(1, 1024, 8, 4096);
    for (uint32_t p = 2; p <= 6; p++)
        for (uint32_t v = 1; v <= 4; v++)
            for (uint32_t m = p; m <= 8 * p; m += p)
                for (model.n_layers = p * v - 2; model.n_layers <= p * v * 2;
                     model.n_layers += p + 1) {
                    if (model.n_layers == 0)
                        continue;
                    struct sand_split split = plain(1, p, 1, m);
                    split.virtual_stages = v;
                    for (uint32_t s = 0; s < p; s++)
                        cr_assert_eq(sand_schedule_in_flight(&model, &split, s),
                                     walked(&model, &split, s), "p %u v %u m %u L %u stage %u", p,
                                     v, m, model.n_layers, s);
                }
}

Test(pipeline, in_flight_follows_the_papers)
{
    // 1F1B keeps p - s micro-batches of L/p layers; interleaving p (1 + (p-1)/(p v)) on the first
    // stage (Korthikanti et al. 2022, section 4.2.3).
    const struct sand_transformer model = llama(96, 12288, 96, 49152);
    struct sand_split split = plain(8, 8, 1, 64);
    for (uint32_t s = 0; s < 8; s++)
        cr_assert_eq(sand_schedule_in_flight(&model, &split, s), (8 - s) * 12u);
    split.virtual_stages = 3;
    cr_assert_eq(sand_schedule_in_flight(&model, &split, 0), (2 * 7 + 2 * 8 + 1) * 4u);
    cr_assert_float_eq((2 * 7 + 2 * 8 + 1) * 4.0 / 96, 1 + 7.0 / (8 * 3), 1e-12);
}
