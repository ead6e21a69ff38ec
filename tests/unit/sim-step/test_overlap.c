// Gradients that are reduced beside compute: never slower than behind it, in simulation and closed
// form, however they are cut.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "collective.h"
#include "cost.h"
#include "estimate.h"
#include "stepfixture.h"
#include "train.h"

static struct step_fixture f;

struct times {
    double simulated_s, closed_s;
};

// Of a shape with `layers` in every chunk, cut into `buckets`.
static struct times ask(struct step_case shape, uint32_t layers, uint32_t buckets, double nic_share)
{
    struct sand_step_layout layout;
    struct sand_step_estimate estimate;
    fixture_init(&f, &shape);
    f.model.n_layers *= layers / 2;
    f.job.split.buckets = buckets;
    f.job.split.overlap_param_gather = 0; // weights are another matter
    f.nic.usable *= nic_share;
    cr_assert_eq(sand_step_layout_find(&f.question, &layout, NULL), SAND_OK);
    sand_step_estimate(&f.question, &layout, &estimate);
    const struct times times = {fixture_solve(&f.question).step_s, estimate.step_s};
    fixture_free(&f);
    return times;
}

// Latencies that cutting a stage's gradients into so many pieces adds.
static double latencies_s(const struct step_case *shape, uint32_t pieces)
{
    const struct sand_collective c = {SAND_REDUCE_SCATTER, shape->dp, 1};
    return pieces * fixture_ring_latency_s(&f, &c, shape->dp - 1);
}

static const struct step_case shapes[] = {
    {.n_nodes = 4, .tp = 8, .dp = 4},
    {.n_nodes = 8, .tp = 8, .pp = 2, .dp = 4},
    {.n_nodes = 16, .tp = 8, .pp = 8, .dp = 2},
    {.n_nodes = 16, .tp = 8, .pp = 8, .dp = 2, .schedule = SAND_SCHEDULE_GPIPE},
    {.n_nodes = 16, .tp = 8, .pp = 8, .dp = 2, .schedule = SAND_SCHEDULE_ZERO_BUBBLE},
    {.n_nodes = 16, .tp = 8, .pp = 4, .dp = 4, .virtual_stages = 3},
    {.n_nodes = 16, .tp = 8, .pp = 8, .dp = 2, .virtual_stages = 2},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, LAYERS = 4 };

// Rings from well hidden to so slow that a step is little else; interference from none to all.
static const double nic_shares[] = {1, 0.1, 0.02}, interferences[] = {0, 0.3, 0.6};

// What overlap may cost: the latencies of its pieces, and sends that share NICs with gradients,
// each at most as long again as alone, once on the way back through every chunk.
Test(overlap, never_slows, .timeout = 240)
{
    for (size_t i = 0; i < N_SHAPES; i++)
        for (size_t s = 0; s < 3; s++)
            for (size_t x = 0; x < 3; x++) {
                struct step_case shape = shapes[i];
                shape.dp_exposed = interferences[x];
                const struct times beside = ask(shape, LAYERS, LAYERS, nic_shares[s]);
                shape.no_overlap = 1;
                const struct times behind = ask(shape, LAYERS, LAYERS, nic_shares[s]);
                const double send_s = f.coll_kernels[1].network_s +
                                      2.0 * 4096 * 4096 / 8 / (f.nic.rate_Bps * f.nic.usable);
                const double chunks = shape.virtual_stages > 0 ? shape.virtual_stages : 1;
                const double slack_s =
                    latencies_s(&shape, LAYERS * (uint32_t)chunks) + shape.pp * chunks * send_s;
                cr_expect_leq(beside.simulated_s, behind.simulated_s + slack_s,
                              "shape %zu, NICs x %g, interference %g: %g s beside, %g s behind", i,
                              nic_shares[s], interferences[x], beside.simulated_s,
                              behind.simulated_s);
                cr_expect_leq(beside.closed_s, behind.closed_s + slack_s,
                              "closed form, shape %zu: %g s beside, %g s behind", i,
                              beside.closed_s, behind.closed_s);
            }
}

// Without interference finer buckets cost their latency and nothing else; with it no more than
// coarse ones and the interference.
Test(overlap, finer_buckets_cost_their_latency, .timeout = 240)
{
    for (size_t i = 0; i < N_SHAPES; i++)
        for (size_t s = 0; s < 3; s++)
            for (size_t x = 0; x < 2; x++) {
                struct step_case shape = shapes[i];
                shape.dp_exposed = interferences[x];
                const struct times coarse = ask(shape, LAYERS, 1, nic_shares[s]);
                const struct times fine = ask(shape, LAYERS, 8 * LAYERS, nic_shares[s]);
                const double chunks = shape.virtual_stages > 0 ? shape.virtual_stages : 1;
                const double slack_s =
                    latencies_s(&shape, LAYERS * (uint32_t)chunks) + 1e-3 * coarse.simulated_s;
                cr_expect_leq(fine.simulated_s, coarse.simulated_s + slack_s,
                              "shape %zu, NICs x %g, interference %g: %g s fine, %g s coarse", i,
                              nic_shares[s], interferences[x], fine.simulated_s,
                              coarse.simulated_s);
            }
}

// The closed form follows the simulation, until NICs are so slow that sends wait for gradients too.
Test(overlap, closed_form_agrees, .timeout = 240)
{
    for (size_t i = 0; i < N_SHAPES; i++)
        for (size_t s = 0; s < 2; s++)
            for (size_t x = 0; x < 3; x++) {
                struct step_case shape = shapes[i];
                shape.dp_exposed = interferences[x];
                const struct times t = ask(shape, LAYERS, LAYERS, nic_shares[s]);
                cr_expect_float_eq(t.closed_s, t.simulated_s, 0.05 * t.simulated_s,
                                   "shape %zu, NICs x %g, interference %g: closed %g s, %g s", i,
                                   nic_shares[s], interferences[x], t.closed_s, t.simulated_s);
            }
}
