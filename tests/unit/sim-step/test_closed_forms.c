// All-to-all and ring all-reduce played on SimGrid over the routes of the fabric, against closed
// forms.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge.h"
#include "fabric.h"
#include "ids.h"
#include "mem.h"

#define RATE_BPS 50e9

TestSuite(closed_forms, .timeout = 120);

struct bench {
    struct sand_link_type nic, port;
    struct sand_node_type node;
    struct sand_cluster cluster;
    struct sand_fabric *fabric;
    int rings; // else all-to-all,
    uint32_t dims, dim,
        ways; // but for dims > 0: rings along so many dimensions of a torus from dim on
    double bytes;
    const uint32_t *order;
    double end_s;
};

static void bench_build(struct bench *b, const struct sand_fabric_spec *spec, uint32_t n,
                        double nic_Bps)
{
    *b = (struct bench){.nic = {.id = "nic", .rate_Bps = nic_Bps},
                        .port = {.id = "port", .rate_Bps = RATE_BPS},
                        .bytes = 1e9};
    b->node = (struct sand_node_type){.id = "host", .n_gpus = 1, .n_nics = 1, .nic = &b->nic};
    b->cluster = (struct sand_cluster){
        .name = "bench", .node_type = &b->node, .n_nodes = n, .fabric = *spec};
    b->cluster.fabric.link = &b->port;
    cr_assert_eq(sand_fabric_build(&b->cluster, &b->fabric, NULL), SAND_OK);
}

static enum sand_rc start(struct sand_bridge *bridge, const struct bench *b, uint32_t from,
                          uint32_t to, uint32_t *n_alive)
{
    uint32_t links[SAND_ROUTE_MAX], flow;
    const uint32_t n = sand_fabric_route(b->fabric, from, to, links);
    if (n == SAND_NONE)
        return SAND_ERR_INPUT;
    ++*n_alive;
    return sand_bridge_flow_start(bridge, links, n, b->bytes, &flow);
}

// The next place along a dimension, or the one before.
static uint32_t beside(const struct sand_fabric *f, uint32_t nic, uint32_t dim, uint32_t way)
{
    uint32_t at[3] = {nic % f->size[0], nic / f->size[0] % f->size[1],
                      nic / f->size[0] / f->size[1]};
    at[dim] = (at[dim] + (way == 0 ? 1 : f->size[dim] - 1)) % f->size[dim];
    return (at[2] * f->size[1] + at[1]) * f->size[0] + at[0];
}

static enum sand_rc start_along(struct sand_bridge *bridge, const struct bench *b, uint32_t *alive)
{
    for (uint32_t i = 0; i < b->fabric->n_endpoints; i++)
        for (uint32_t d = b->dim; d < b->dim + b->dims; d++)
            for (uint32_t way = 0; way < b->ways; way++)
                SAND_TRY(start(bridge, b, i, beside(b->fabric, i, d, way), alive));
    return SAND_OK;
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    struct bench *b = argument;
    const uint32_t n = b->fabric->n_endpoints;
    uint32_t alive = 0, ended;
    if (b->dims > 0)
        SAND_TRY(start_along(bridge, b, &alive));
    for (uint32_t i = 0; b->dims == 0 && i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (b->rings ? j == (i + 1) % n : i != j)
                SAND_TRY(start(bridge, b, b->order ? b->order[i] : i, b->order ? b->order[j] : j,
                               &alive));
    struct sand_flow_end *ends = sand_calloc((size_t)n * n, sizeof *ends);
    enum sand_rc rc = ends ? SAND_OK : SAND_ERR_NOMEM;
    for (; rc == SAND_OK && alive > 0; alive -= ended)
        rc = sand_bridge_wait(bridge, INFINITY, ends, &ended);
    b->end_s = sand_bridge_now_s(bridge);
    sand_free(ends);
    return rc;
}

static enum sand_rc play(struct bench *b)
{
    const struct sand_fabric *f = b->fabric;
    double *link_Bps = sand_calloc(f->n_links, sizeof *link_Bps);
    if (link_Bps == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < f->n_links; l++)
        link_Bps[l] = f->links[l].capacity_Bps * f->links[l].speed;
    const struct sand_bridge_platform platform = {link_Bps, f->n_links,
                                                  f->n_endpoints * f->n_endpoints};
    const enum sand_rc rc = sand_bridge_run(&platform, pump, b, NULL);
    sand_free(link_Bps);
    return rc;
}

// In a child: a process has one engine.
static double run(struct bench *b)
{
    int pipes[2], status = -1;
    cr_assert_eq(pipe(pipes), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(play(b) == SAND_OK &&
                      write(pipes[1], &b->end_s, sizeof b->end_s) == (ssize_t)sizeof b->end_s
                  ? 0
                  : 1);
    close(pipes[1]);
    const ssize_t got = read(pipes[0], &b->end_s, sizeof b->end_s);
    close(pipes[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(status == 0 && got == (ssize_t)sizeof b->end_s);
    sand_fabric_free(b->fabric);
    return b->end_s;
}

static void expect_s(double got_s, double expected_s)
{
    cr_expect_float_eq(got_s, expected_s, 0.01 * expected_s, "%g s, not %g s", got_s, expected_s);
}

static const struct sand_fabric_spec kary4 = {.n_tiers = 3,
                                              .radix = 4,
                                              .endpoints_per_leaf = 2,
                                              .leaf_oversubscription = 1,
                                              .leaves_per_pod = 2,
                                              .pod_oversubscription = 1,
                                              .spreading = SAND_SPREAD_STATIC};

static struct sand_fabric_spec kary(uint32_t k)
{
    struct sand_fabric_spec spec = kary4;
    spec.radix = k;
    spec.endpoints_per_leaf = spec.leaves_per_pod = k / 2;
    return spec;
}

// d-mod-k on a k-ary tree keeps all-to-all off the links between switches: N - 1 messages a NIC
// (Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global
// collectives", JPDC 72, 2012).
Test(closed_forms, all_to_all_on_k_ary_trees)
{
    for (uint32_t k = 4; k <= 8; k += 2) {
        struct bench b;
        const struct sand_fabric_spec spec = kary(k);
        const uint32_t n = k * k * k / 4;
        bench_build(&b, &spec, n, RATE_BPS);
        expect_s(run(&b), (n - 1) * b.bytes / RATE_BPS);
    }
}

// r:1 above leaves of n: n (N - n) messages over n / r line rates, or the N - 1 of a NIC.
Test(closed_forms, all_to_all_at_r_to_one)
{
    static const uint32_t rows[][3] = {{6, 24, 3}, {6, 24, 2}, {4, 32, 4}, {12, 24, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t n = rows[i][0], all = rows[i][1], r = rows[i][2];
        struct bench b;
        struct sand_fabric_spec spec = {.n_tiers = 2,
                                        .endpoints_per_leaf = n,
                                        .leaf_oversubscription = r,
                                        .spreading = SAND_SPREAD_EVEN};
        bench_build(&b, &spec, all, RATE_BPS);
        expect_s(run(&b), fmax(r * (all - n), all - 1) * b.bytes / RATE_BPS);
    }
}

// Uniform traffic on a torus loads a ring of k places with N k / 8 messages a link, of an odd k
// N (k - 1 / k) / 8 (Dally, Towles, "Principles and Practices of Interconnection Networks", 2004,
// chapter 5): the longest side rules.
Test(closed_forms, all_to_all_on_tori)
{
    static const uint32_t sizes[][3] = {{4, 4, 1}, {5, 5, 1}, {8, 4, 1},
                                        {6, 6, 1}, {4, 4, 4}, {3, 5, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bench b;
        struct sand_fabric_spec spec = {.kind = SAND_FABRIC_TORUS, .spreading = SAND_SPREAD_STATIC};
        uint32_t n = 1, k = 1;
        for (int d = 0; d < 3; d++) {
            spec.size[d] = sizes[i][d];
            n *= sizes[i][d];
            k = sizes[i][d] > k ? sizes[i][d] : k;
        }
        bench_build(&b, &spec, n, 16 * RATE_BPS);
        expect_s(run(&b), n * (k - (k % 2) / (double)k) / 8 * b.bytes / RATE_BPS);
    }
}

// p^2 (1 + 2 a h) messages over every local link of a balanced dragonfly (a = 2 p = 2 h, one cable
// between two groups): those of the router's own NICs, and on the way to and from each of the other
// router's cables; (a p)^2 over every global one (Kim et al., ISCA 2008, for the wiring).
Test(closed_forms, all_to_all_on_dragonflies)
{
    for (uint32_t h = 1; h <= 2; h++) {
        const uint32_t a = 2 * h, p = h, groups = a * h + 1;
        struct bench b;
        struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                        .groups = groups,
                                        .routers = a,
                                        .endpoints_per_router = p,
                                        .global_links = h,
                                        .spreading = SAND_SPREAD_STATIC};
        bench_build(&b, &spec, groups * a * p, 4 * RATE_BPS);
        expect_s(run(&b), fmax(p * p * (1 + 2 * a * h), a * p * a * p) * b.bytes / RATE_BPS);
    }
}

struct plus_row {
    uint32_t groups, leaves, p, spines, h;
};

static struct sand_fabric_spec plus(const struct plus_row *row, enum sand_spreading spreading)
{
    return (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                     .groups = row->groups,
                                     .leaves_per_pod = row->leaves,
                                     .spines = row->spines,
                                     .endpoints_per_leaf = row->p,
                                     .global_links = row->h,
                                     .leaf_links = 1,
                                     .spreading = spreading};
}

// Cables of a whole number of spines reach every group, evenly. Groups that the spines' cables join
// m times, of l leaves with p NICs: the most of (l p)^2 / m on a cable between groups, p (N - p) /
// s on one between leaf and spine, N - 1 at a NIC of four line rates. By cables and by bundles.
static const struct plus_row plus_rows[] = {
    {3, 2, 4, 4, 2}, {5, 2, 2, 2, 4}, {3, 4, 4, 4, 4}, {3, 2, 8, 4, 4}};

Test(closed_forms, all_to_all_on_dragonfly_plus)
{
    for (size_t i = 0; i < 2 * sizeof plus_rows / sizeof *plus_rows; i++) {
        const struct plus_row *row = &plus_rows[i / 2];
        const uint32_t n = row->groups * row->leaves * row->p;
        const double m = row->spines * row->h / (row->groups - 1), group = row->leaves * row->p;
        const double cables = fmax(group * group / m, row->p * (n - row->p) / (double)row->spines);
        struct bench b;
        const struct sand_fabric_spec spec =
            plus(row, i % 2 ? SAND_SPREAD_EVEN : SAND_SPREAD_STATIC);
        bench_build(&b, &spec, n, 4 * RATE_BPS);
        expect_s(run(&b), fmax(cables, (n - 1) / 4.0) * b.bytes / RATE_BPS);
    }
}

// A ring all-reduce of S bytes moves 2 (N - 1) / N S over every hop, at line rate where the ring
// meets no link twice.
static double ring_s(const struct sand_fabric_spec *spec, uint32_t n, const uint32_t *order)
{
    struct bench b;
    bench_build(&b, spec, n, RATE_BPS);
    b.rings = 1;
    b.order = order;
    b.bytes = 2.0 * (n - 1) / n * 1e9;
    return run(&b);
}

Test(closed_forms, all_reduce_on_k_ary_trees)
{
    for (uint32_t k = 4; k <= 16; k *= 2) {
        const struct sand_fabric_spec spec = kary(k);
        const uint32_t n = k * k * k / 4;
        expect_s(ring_s(&spec, n, NULL), 2.0 * (n - 1) / n * 1e9 / RATE_BPS);
    }
}

Test(closed_forms, all_reduce_on_dragonfly_plus)
{
    for (size_t i = 0; i < sizeof plus_rows / sizeof *plus_rows; i++) {
        const struct sand_fabric_spec spec = plus(&plus_rows[i], SAND_SPREAD_STATIC);
        const uint32_t n = plus_rows[i].groups * plus_rows[i].leaves * plus_rows[i].p;
        expect_s(ring_s(&spec, n, NULL), 2.0 * (n - 1) / n * 1e9 / RATE_BPS);
    }
}

// Row after row, to and fro, then back up the first column: all hops are single links.
Test(closed_forms, all_reduce_on_a_torus)
{
    static const uint32_t order[] = {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4};
    struct sand_fabric_spec spec = {
        .kind = SAND_FABRIC_TORUS, .size = {4, 4, 1}, .spreading = SAND_SPREAD_STATIC};
    expect_s(ring_s(&spec, 16, order), 2.0 * 15 / 16 * 1e9 / RATE_BPS);
}

// Router 0, router 1, and its cable to router 0 of the group two further on: all hops are single
// links.
Test(closed_forms, all_reduce_on_a_dragonfly)
{
    static const uint32_t order[] = {0, 1, 4, 5, 2, 3};
    struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                    .groups = 3,
                                    .routers = 2,
                                    .endpoints_per_router = 1,
                                    .global_links = 1,
                                    .spreading = SAND_SPREAD_STATIC};
    expect_s(ring_s(&spec, 6, order), 2.0 * 5 / 6 * 1e9 / RATE_BPS);
}

// ---- dimension after dimension ----

// Rings along `dim` of a torus, both ways if `ways` is 2, each NIC sending `bytes` to its
// neighbour.
static double rings_s(const struct sand_fabric_spec *spec, uint32_t n, uint32_t dims, uint32_t dim,
                      uint32_t ways, double bytes)
{
    struct bench b;
    bench_build(&b, spec, n, 16 * RATE_BPS);
    b.dims = dims;
    b.dim = dim;
    b.ways = ways;
    b.bytes = bytes;
    return run(&b);
}

// Reduce-scatter along x, then y, then z, and all-gather back: what is left shrinks by each side,
// and the sum is 2 (N - 1) / N S over one link (Jain, Sabharwal, "Optimal Bucket Algorithms for
// Large MPI Collectives on Torus Interconnects", ICS 2010).
Test(closed_forms, all_reduce_dimension_by_dimension)
{
    static const uint32_t sizes[][3] = {{4, 4, 1}, {8, 4, 1}, {4, 4, 4}, {3, 4, 5}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sand_fabric_spec spec = {.kind = SAND_FABRIC_TORUS, .spreading = SAND_SPREAD_STATIC};
        const uint32_t n = sizes[i][0] * sizes[i][1] * sizes[i][2];
        double left_B = 1e9, sum_s = 0;
        for (uint32_t d = 0; d < 3; d++)
            spec.size[d] = sizes[i][d];
        for (uint32_t d = 0; d < 3; left_B /= sizes[i][d], d++)
            if (sizes[i][d] > 1)
                sum_s += 2 * rings_s(&spec, n, 1, d, 1, left_B * (sizes[i][d] - 1) / sizes[i][d]);
        expect_s(sum_s, 2.0 * (n - 1) / n * 1e9 / RATE_BPS);
    }
}

// The buffer in 2 n parts, each beginning with another dimension or way, keeps all links of n equal
// dimensions busy: 1 / (2 n) of that.
Test(closed_forms, all_reduce_on_all_links_of_a_torus)
{
    static const uint32_t rows[][2] = {{4, 2}, {5, 2}, {3, 3}, {4, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t k = rows[i][0], dims = rows[i][1];
        struct sand_fabric_spec spec = {.kind = SAND_FABRIC_TORUS,
                                        .size = {k, k, dims == 3 ? k : 1},
                                        .spreading = SAND_SPREAD_STATIC};
        const uint32_t n = dims == 3 ? k * k * k : k * k;
        double left_B = 1e9 / (2 * dims), sum_s = 0;
        for (uint32_t d = 0; d < dims; d++, left_B /= k)
            sum_s += 2 * rings_s(&spec, n, dims, 0, 2, left_B * (k - 1) / k);
        expect_s(sum_s, 2.0 * (n - 1) / n * 1e9 / RATE_BPS / (2 * dims));
    }
}
