// The closed form against the simulation it stands for: sharded weights and gradients, also in
// groups, in one stage and in pipelines. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "estimate.h"
#include "stepfixture.h"

static struct step_fixture f;

// How far it is off, over shapes of one kind.
struct offs {
    double sum, worst;
    int n;
};

static void add_off(struct offs *offs)
{
    struct sand_step_layout layout;
    struct sand_step_estimate estimate;
    cr_assert_eq(sand_step_layout_find(&f.question, &layout, NULL), SAND_OK);
    sand_step_estimate(&f.question, &layout, &estimate);
    const double off = fabs(estimate.step_s / fixture_solve(&f.question).step_s - 1);
    offs->sum += off;
    offs->worst = fmax(offs->worst, off);
    offs->n++;
}

// Networks on which compute, both and the rings decide; with and without a late share.
static void add_networks(struct step_case what, struct offs *offs)
{
    for (int late = 0; late < 2; late++)
        for (int network = 0; network < 3; network++) {
            what.dp_exposed = late ? 0.3 : 0;
            fixture_init(&f, &what);
            f.nic.usable = network == 0 ? 0.7 : network == 1 ? 0.2 : 0.05;
            add_off(offs);
            fixture_free(&f);
        }
}

static struct offs offs_of(uint32_t pp, uint32_t virtual_stages, uint32_t group)
{
    struct offs offs = {0};
    for (int sharding = SAND_SHARD_GRADIENTS; sharding <= SAND_SHARD_PARAMETERS; sharding++)
        for (uint32_t rounds = 1; rounds <= 4; rounds *= 2) {
            const struct step_case what = {.n_nodes = 8,
                                           .pp = pp,
                                           .dp = 64 / pp,
                                           .virtual_stages = virtual_stages,
                                           .micro_batches = rounds * pp,
                                           .sharding = (enum sand_sharding)sharding,
                                           .shard_group = group};
            add_networks(what, &offs);
        }
    return offs;
}

static void expect_offs(const struct offs *offs, double mean, double worst, const char *what)
{
    fprintf(stderr, "%s: mean %.4f, worst %.4f of %d\n", what, offs->sum / offs->n, offs->worst,
            offs->n);
    cr_expect_lt(offs->sum / offs->n, mean, "%s: mean %g", what, offs->sum / offs->n);
    cr_expect_lt(offs->worst, worst, "%s: worst %g", what, offs->worst);
}

// Without neighbours it follows the rings piece by piece as the simulation does.
Test(estimate, one_sharded_stage_is_exact)
{
    const struct offs offs = offs_of(1, 1, 0);
    expect_offs(&offs, 5e-4, 5e-3, "one stage");
}

Test(estimate, sharded_pipelines, .timeout = 120)
{
    struct offs plain = {0}, interleaved = {0};
    for (uint32_t pp = 2; pp <= 8; pp *= 2)
        for (uint32_t v = 1; v <= 2; v++) {
            const struct offs offs = offs_of(pp, v, 0);
            struct offs *all = v == 1 ? &plain : &interleaved;
            all->sum += offs.sum;
            all->n += offs.n;
            all->worst = fmax(all->worst, offs.worst);
        }
    expect_offs(&plain, 0.04, 0.18, "1F1B");
    expect_offs(&interleaved, 0.05, 0.1, "interleaved 1F1B");
}

// Rings of both kinds of groups meet on links, or follow each other.
Test(estimate, sharded_groups, .timeout = 120)
{
    struct offs all = {0};
    for (uint32_t pp = 1; pp <= 8; pp *= 2) {
        const struct offs offs = offs_of(pp, 1, 4);
        all.sum += offs.sum;
        all.n += offs.n;
        all.worst = fmax(all.worst, offs.worst);
    }
    expect_offs(&all, 0.04, 0.15, "groups");
}
