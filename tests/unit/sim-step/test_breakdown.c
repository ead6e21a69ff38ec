// The terms that explain a step are those it is simulated with, and its phases are its closed form.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "breakdown.h"
#include "estimate.h"
#include "mem.h"
#include "stepfixture.h"
#include "traffic.h"
#include "work.h"

// Bytes and latency of a stage's chunks over the whole step, as the simulation has them.
struct totals {
    double tp_B, tp_s, cp_B, cp_s, reduce_B, reduce_s, gather_B, gather_s;
};

static struct totals totals_of(const struct sand_step_question *q, uint32_t stage)
{
    struct step_traffic shape = {0};
    struct step_header h = {0};
    struct totals sum = {0};
    struct step_setting set = step_setting_make(q);
    step_traffic_shape(q, &shape);
    cr_assert_eq(step_calls_find(&set, &shape, NULL), SAND_OK);
    step_header_set(&set, &h);
    const double m = h.micro_batches, reduces = h.sharded ? m : 1;
    const double gathers = h.sharded ? m * (h.gather_backward ? 2 : 1) : 1;
    for (uint32_t c = 0; c < h.chunks; c++) {
        struct step_chunk chunk = {0};
        step_chunk_set(&set, &shape, stage, c, &chunk);
        for (int b = 0; b < 2; b++) {
            sum.tp_B += m * chunk.tp_B[b];
            sum.tp_s += m * chunk.tp_latency_s[b];
            sum.cp_B += m * chunk.cp_B[b];
            sum.cp_s += m * chunk.cp_latency_s[b];
        }
        for (int ring = 0; ring < STEP_RINGS; ring++) {
            sum.reduce_B += reduces * chunk.pieces * chunk.reduce.hop_B[ring];
            sum.reduce_s += reduces * chunk.pieces * chunk.reduce.latency_s[ring];
            sum.gather_B += gathers * chunk.pieces * chunk.gather.hop_B[ring];
            sum.gather_s += gathers * chunk.pieces * chunk.gather.latency_s[ring];
        }
    }
    return sum;
}

static int begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Sums of terms of one name, with the exposed share where the simulation has only that.
static void sum_terms(const struct sand_step_breakdown *b, const char *name, int only_exposed,
                      double *bytes, double *latency_s)
{
    *bytes = *latency_s = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct sand_step_term *t = &b->terms[i];
        const double times = t->per_step * (only_exposed ? t->exposed : 1);
        if (!begins(t->name, name))
            continue;
        *bytes += times * t->hop_B;
        *latency_s += times * t->latency_s;
    }
}

static void expect_near(const char *what, double is, double should_be)
{
    cr_expect(fabs(is - should_be) <= 1e-9 * fabs(should_be), "%s: %.17g, not %.17g", what, is,
              should_be);
}

static void check_cut(const struct step_case *what, enum sand_state_shards cut)
{
    struct step_fixture f;
    struct sand_step_breakdown b;
    double bytes, latency_s;
    fixture_init(&f, what);
    f.software.state_shards = cut;
    for (uint32_t stage = 0; stage < f.job.split.pp; stage++) {
        const struct totals sum = totals_of(&f.question, stage);
        cr_assert_eq(sand_step_breakdown_find(&f.question, stage, &b, NULL), SAND_OK);
        sum_terms(&b, "tensor", 1, &bytes, &latency_s);
        expect_near("TP bytes", bytes, sum.tp_B);
        expect_near("TP latency", latency_s, sum.tp_s);
        sum_terms(&b, "context", 1, &bytes, &latency_s);
        expect_near("CP bytes", bytes, sum.cp_B);
        expect_near("CP latency", latency_s, sum.cp_s);
        sum_terms(&b, "gradients", 0, &bytes, &latency_s);
        expect_near("reduced bytes", bytes, sum.reduce_B);
        expect_near("reductions' latency", latency_s, sum.reduce_s);
        sum_terms(&b, "weights", 0, &bytes, &latency_s);
        expect_near("gathered bytes", bytes, sum.gather_B);
        expect_near("gathers' latency", latency_s, sum.gather_s);
    }
    fixture_free(&f);
}

static void check(const struct step_case *what)
{
    check_cut(what, SAND_STATE_FLAT);
}

Test(breakdown, terms_are_those_of_the_simulation)
{
    check_cut(&(struct step_case){.n_nodes = 4, .dp = 32, .shard_group = 8}, SAND_STATE_TENSORS);
    check(&(struct step_case){.n_nodes = 4, .tp = 2, .pp = 2, .dp = 8, .micro_batches = 4});
    check(&(struct step_case){
        .n_nodes = 4, .tp = 4, .pp = 4, .dp = 2, .virtual_stages = 2, .micro_batches = 8});
    check(&(struct step_case){
        .n_nodes = 4, .tp = 2, .pp = 2, .cp = 2, .dp = 4, .micro_batches = 4, .full_recompute = 1});
    check(&(struct step_case){.n_nodes = 4,
                              .tp = 1,
                              .pp = 1,
                              .dp = 32,
                              .micro_batches = 2,
                              .dp_exposed = 0.3,
                              .sharding = SAND_SHARD_PARAMETERS});
    check(&(struct step_case){
        .n_nodes = 4, .tp = 8, .pp = 1, .dp = 4, .micro_batches = 2, .no_sharding = 1});
    check(&(struct step_case){.n_nodes = 4,
                              .dp = 32,
                              .micro_batches = 2,
                              .shard_group = 8,
                              .sharding = SAND_SHARD_PARAMETERS});
    check(&(struct step_case){.n_nodes = 4, .dp = 32, .micro_batches = 2, .shard_group = 8});
    check(&(struct step_case){
        .n_nodes = 4, .tp = 2, .pp = 2, .dp = 8, .micro_batches = 4, .ep = 8, .shard_group = 4});
}

// One GPU sends nothing; its phases are work, optimizer and overhead, and the flow level agrees to
// the last bits.
Test(breakdown, one_gpu_sends_nothing)
{
    struct step_fixture f;
    struct sand_step_breakdown b;
    struct sand_step_layout layout;
    struct sand_step_phases phases;
    fixture_init(&f, &(struct step_case){.n_nodes = 1,
                                         .gpus_per_node = 1,
                                         .nics_per_node = 1,
                                         .tp = 1,
                                         .pp = 1,
                                         .dp = 1,
                                         .micro_batches = 3});
    cr_assert_eq(sand_step_breakdown_find(&f.question, 0, &b, NULL), SAND_OK);
    cr_expect_eq(b.n, 0);
    cr_assert_eq(sand_step_layout_find(&f.question, &layout, NULL), SAND_OK);
    sand_step_phases_find(&f.question, &layout, &phases);
    cr_expect_eq(phases.fill_s + phases.sends_s + phases.wave_s + phases.gradients_s, 0);
    const double simulated_s = fixture_solve(&f.question).step_s;
    cr_expect_float_eq(sand_step_phases_sum(&phases), simulated_s, 1e-9 * simulated_s);
    fixture_free(&f);
}

// The phases of a plain pipeline without traffic worth the name: m slowest stages, and the others
// once.
Test(breakdown, fill_and_drain_are_the_other_stages)
{
    struct step_fixture f;
    struct sand_step_layout layout;
    struct sand_step_phases phases;
    fixture_init(&f,
                 &(struct step_case){.n_nodes = 4, .tp = 8, .pp = 4, .dp = 1, .micro_batches = 8});
    cr_assert_eq(sand_step_layout_find(&f.question, &layout, NULL), SAND_OK);
    sand_step_phases_find(&f.question, &layout, &phases);
    expect_near("work", phases.work_s, 8 * phases.slowest_s);
    expect_near("fill", phases.fill_s, 4 * phases.mean_s - phases.slowest_s);
    fixture_free(&f);
}

Test(breakdown, survives_running_out_of_memory)
{
    struct step_fixture f;
    struct sand_step_breakdown b;
    fixture_init(&f,
                 &(struct step_case){.n_nodes = 2, .tp = 2, .pp = 2, .dp = 4, .micro_batches = 2});
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t n = 1; rc != SAND_OK && n < 1000; n++) {
        sand_mem_fail_at(n);
        rc = sand_step_breakdown_find(&f.question, 0, &b, NULL);
        sand_mem_fail_at(0);
        cr_expect(rc == SAND_OK || rc == SAND_ERR_NOMEM);
    }
    cr_expect_eq(rc, SAND_OK);
    fixture_free(&f);
}
