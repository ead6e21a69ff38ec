// The loss that `fabric show` prints of a hash, against balls thrown into bins.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "hashloss.h"

#include <criterion/criterion.h>
#include <math.h>

#include "rng.h"

enum { HOSTS = 128, HALF = HOSTS / 2, TRIALS = 1000 };

static struct sand_hash_loss loss_of(uint32_t queue_pairs, double oversubscription)
{
    static struct sand_link_type nic = {.id = "nic", .rate_Bps = 50e9};
    static struct sand_node_type node = {.id = "host", .n_gpus = 1, .n_nics = 1, .nic = &nic};
    const struct sand_cluster cluster = {.name = "pods",
                                         .node_type = &node,
                                         .n_nodes = HOSTS,
                                         .fabric = {.n_tiers = 2,
                                                    .endpoints_per_leaf = HALF,
                                                    .leaf_oversubscription = oversubscription,
                                                    .spines = (uint32_t)(HALF / oversubscription),
                                                    .spreading = SAND_SPREAD_HASH,
                                                    .queue_pairs = queue_pairs,
                                                    .link = &nic}};
    struct sand_fabric *fabric;
    struct sand_hash_loss loss;
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
    cr_assert_eq(sand_hash_loss(fabric, queue_pairs, &loss, NULL), SAND_OK);
    sand_fabric_free(fabric);
    return loss;
}

// 64 x pairs balls into 64 bins, twice, from another generator: means and deviations of what does
// not fit, and of what waits for the fullest bin.
static struct sand_hash_loss throw_balls(uint32_t pairs)
{
    double sums[2] = {0, 0}, squares[2] = {0, 0};
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        uint32_t load[HOSTS] = {0};
        double through = 0, most = 1;
        for (uint32_t ball = 0; ball < HOSTS * pairs; ball++)
            load[ball % 2 * HALF + (uint32_t)(sand_rng_u64((struct sand_rng){.seed = 7},
                                                           SAND_STREAM_TEST, trial, ball) %
                                              HALF)]++;
        for (uint32_t bin = 0; bin < HOSTS; bin++) {
            const double share = (double)load[bin] / pairs;
            through += fmin(share, 1);
            most = fmax(most, share);
        }
        const double lost[2] = {1 - through / HOSTS, 1 - 1 / most};
        for (int i = 0; i < 2; i++) {
            sums[i] += lost[i] / TRIALS;
            squares[i] += lost[i] * lost[i] / TRIALS;
        }
    }
    return (struct sand_hash_loss){sums[0], sqrt(squares[0] - sums[0] * sums[0]),
                                   sums[1], sqrt(squares[1] - sums[1] * sums[1]),
                                   0,       TRIALS};
}

Test(graph_hashloss, is_balls_into_bins, .timeout = 60)
{
    for (uint32_t pairs = 1; pairs <= 16; pairs *= 4) {
        const struct sand_hash_loss loss = loss_of(pairs, 1), balls = throw_balls(pairs);
        cr_expect_eq(loss.n_seeds, 64);
        cr_expect_float_eq(loss.throughput, balls.throughput, 0.02);
        cr_expect_float_eq(loss.throughput_spread, balls.throughput_spread, 0.02);
        cr_expect_float_eq(loss.ring, balls.ring, 0.02, "%u pairs: %g, balls %g", pairs, loss.ring,
                           balls.ring);
        cr_expect_float_eq(loss.ring_spread, balls.ring_spread, 0.02);
    }
    cr_expect_float_eq(loss_of(1, 1).throughput, pow(1 - 1.0 / HALF, HALF), 0.01); // empty bins
}

// So many queue pairs that nothing collides: nothing is lost, and half of it at 2:1.
Test(graph_hashloss, many_queue_pairs_lose_what_is_oversubscribed)
{
    cr_expect_lt(loss_of(4096, 1).throughput, 0.01);
    cr_expect_float_eq(loss_of(4096, 1).even, 0, 1e-12);
    cr_expect_float_eq(loss_of(4096, 2).throughput, 0.5, 0.01);
    cr_expect_float_eq(loss_of(1, 2).even, 0.5, 1e-12);
}
