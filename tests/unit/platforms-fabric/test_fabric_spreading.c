// Hash spreading against balls thrown into bins, and the closed forms of bisection and of loads
// under all-to-all.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "fabric_walk.h"
#include "mem.h"
#include "rng.h"

enum { HOSTS = 128, HALF = HOSTS / 2, TRIALS = 400 };

struct moments {
    double sum, squares;
    unsigned n;
};

static void add(struct moments *m, double value)
{
    m->sum += value;
    m->squares += value * value;
    m->n++;
}

static double mean(const struct moments *m)
{
    return m->sum / m->n;
}

static double spread(const struct moments *m)
{
    return sqrt(m->squares / m->n - mean(m) * mean(m));
}

// Two losses against ideal, of loads on links that carry one line rate each: of the bytes per
// second that get through when every queue pair sends its share of the line rate, and of a ring all
// of whose hops wait for the slowest.
struct losses {
    struct moments throughput, ring;
};

static void add_loads(struct losses *losses, const uint32_t *load, uint32_t pairs)
{
    double through = 0, most = 0;
    for (uint32_t l = 0; l < HOSTS; l++) {
        const double share = (double)load[l] / pairs;
        through += share < 1 ? share : 1;
        most = share > most ? share : most;
    }
    add(&losses->throughput, 1 - through / HOSTS);
    add(&losses->ring, 1 - 1 / most);
}

// 128 hosts below two leaves ("pods") with 64 spines between, one uplink to each; in the ring every
// hop crosses to the other pod. The loads that the routes put on the uplinks, seed after seed.
static void run_fabric(uint32_t pairs, struct losses *losses)
{
    struct fixture f;
    fixture_set_kary(&f, 0, HOSTS);
    f.cluster.fabric.n_tiers = 2;
    f.cluster.fabric.endpoints_per_leaf = HALF;
    f.cluster.fabric.spines = HALF;
    f.cluster.fabric.spreading = SAND_SPREAD_HASH;
    f.cluster.fabric.queue_pairs = pairs;
    struct sand_fabric *fabric;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    for (uint32_t seed = 0; seed < TRIALS; seed++) {
        uint32_t load[HOSTS] = {0}, links[SAND_ROUTE_MAX];
        fabric->hash_seed = seed;
        for (uint32_t i = 0; i < HOSTS; i++) {
            // 0, 64, 1, 65, 2, ... 63, 127, 0
            const uint32_t from = i % 2 * HALF + i / 2;
            const uint32_t to = i % 2 == 0 ? HALF + i / 2 : (i / 2 + 1) % HALF;
            for (uint32_t q = 0; q < pairs; q++) {
                cr_assert_eq(sand_fabric_route_path(fabric, from, to, q, links), 4);
                load[links[1] - fabric->first[SAND_LINK_LEAF_UP]]++;
            }
        }
        add_loads(losses, load, pairs);
    }
    sand_fabric_free(fabric);
}

// The same without a fabric: 64 x pairs balls into 64 bins, twice, from another generator.
static void throw_balls(uint32_t pairs, struct losses *losses)
{
    const struct sand_rng rng = {.seed = 99};
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        uint32_t load[HOSTS] = {0};
        for (uint32_t ball = 0; ball < HOSTS * pairs; ball++)
            load[ball % 2 * HALF +
                 (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, trial, ball) % HALF)]++;
        add_loads(losses, load, pairs);
    }
}

static void expect_equal(const struct moments *a, const struct moments *b, const char *what,
                         uint32_t pairs)
{
    cr_expect_float_eq(mean(a), mean(b), 0.02, "%s, %u pairs: mean %g, balls %g", what, pairs,
                       mean(a), mean(b));
    cr_expect_float_eq(spread(a), spread(b), 0.02, "%s, %u pairs: spread %g, balls %g", what, pairs,
                       spread(a), spread(b));
}

Test(fabric_spreading, hash_is_balls_into_bins, .timeout = 60)
{
    static const uint32_t pairs[] = {1, 4, 16};
    for (int i = 0; i < 3; i++) {
        struct losses fabric = {0}, balls = {0};
        run_fabric(pairs[i], &fabric);
        throw_balls(pairs[i], &balls);
        expect_equal(&fabric.throughput, &balls.throughput, "throughput", pairs[i]);
        expect_equal(&fabric.ring, &balls.ring, "ring", pairs[i]);
        printf(
            "%2u queue pairs: %4.1f %% of the throughput lost (balls into bins %4.1f %%), a ring "
            "waiting for its slowest hop %4.1f %% (%4.1f %%)%s\n",
            pairs[i], 100 * mean(&fabric.throughput), 100 * mean(&balls.throughput),
            100 * mean(&fabric.ring), 100 * mean(&balls.ring),
            pairs[i] == 1 ? "; Meta's RoCE fabric lost \"more than 30 %\" of training "
                            "performance with ECMP alone (SIGCOMM 2024)"
                          : "");
        if (pairs[i] == 1) // empty bins: (1 - 1/64)^64
            cr_expect_float_eq(mean(&fabric.throughput), pow(1 - 1.0 / HALF, HALF), 0.01);
    }
}

// Where all tiers hash alike, the core follows from the spine: of 8 spines with 8 trunks each, 8 of
// 64 paths are ever used.
Test(fabric_spreading, polarised_tiers_choose_together)
{
    for (int polarised = 0; polarised < 2; polarised++) {
        struct fixture f;
        fixture_set_kary(&f, 16, 1024);
        f.cluster.fabric.spreading = SAND_SPREAD_HASH;
        f.cluster.fabric.queue_pairs = 1;
        f.cluster.fabric.hash_polarised = polarised;
        struct sand_fabric *fabric;
        cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
        uint8_t used[64] = {0};
        uint32_t links[SAND_ROUTE_MAX], n_used = 0;
        for (uint32_t to = 64; to < 1024; to++) {
            cr_assert_eq(sand_fabric_route(fabric, 0, to, links), 6);
            struct sand_fabric_owner at = sand_fabric_link_owner(fabric, links[2]);
            n_used += !used[at.core];
            used[at.core] = 1;
        }
        cr_expect_eq(n_used, polarised ? 8 : 64);
        sand_fabric_free(fabric);
    }
}

static void build_direct(struct fixture *f, const struct sand_fabric_spec *spec, uint32_t n,
                         struct sand_fabric **fabric)
{
    fixture_set(f);
    f->node.n_gpus = f->node.n_nics = 1;
    f->node.scaleup = SAND_SCALEUP_NONE;
    f->cluster.n_nodes = n;
    f->cluster.fabric = *spec;
    f->cluster.fabric.link = &f->port;
    f->cluster.fabric.spreading = SAND_SPREAD_STATIC;
    cr_assert_eq(sand_fabric_build(&f->cluster, fabric, NULL), SAND_OK);
}

static void expect_load(const struct sand_fabric *f, enum sand_link_class c, uint32_t expected)
{
    uint32_t *load = sand_calloc(f->n_links, sizeof *load);
    cr_assert_eq(load_all_pairs(f, load), 0);
    for (uint32_t l = 0; l < f->n_links; l++)
        if (f->links[l].link_class == c)
            cr_assert_eq(load[l], expected, "%s: %u, not %u", sand_link_class_name(c), load[l],
                         expected);
    sand_free(load);
}

// All-to-all: every link of a k-ary torus of n dimensions carries N k / 8 flows (k a multiple of
// 4) (Dally and Towles, "Principles and Practices", chapter 5).
Test(fabric_spreading, torus_loads)
{
    struct fixture f;
    struct sand_fabric *fabric;
    build_direct(&f, &(struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS, .size = {4, 4, 4}}, 64,
                 &fabric);
    expect_load(fabric, SAND_LINK_TORUS, 64 * 4 / 8);
    sand_fabric_free(fabric);
    build_direct(&f, &(struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS, .size = {8, 8, 1}}, 64,
                 &fabric);
    expect_load(fabric, SAND_LINK_TORUS, 64 * 8 / 8);
    sand_fabric_free(fabric);
}

// All-to-all on a dragonfly with one cable between any two groups: (a p)^2 flows on a global link,
// p^2 (1 + 2 a h) on a local one: those between the two routers, and those to and from the h groups
// of either.
Test(fabric_spreading, dragonfly_loads)
{
    struct fixture f;
    struct sand_fabric *fabric;
    build_direct(&f,
                 &(struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY,
                                            .groups = 9,
                                            .routers = 4,
                                            .endpoints_per_router = 2,
                                            .global_links = 2},
                 72, &fabric);
    expect_load(fabric, SAND_LINK_GLOBAL, 8 * 8);
    expect_load(fabric, SAND_LINK_LOCAL, 4 * (1 + 2 * 4 * 2));
    sand_fabric_free(fabric);
}
