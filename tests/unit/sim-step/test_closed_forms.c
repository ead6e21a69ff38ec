// All-to-all and ring all-reduce played on SimGrid over the routes of the fabric, against closed
// forms.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "bridge.h"
#include "fabric.h"
#include "ids.h"
#include "mem.h"

#define RATE_BPS 50e9

struct bench {
    struct sand_link_type nic, port;
    struct sand_node_type node;
    struct sand_cluster cluster;
    struct sand_fabric *fabric;
    int rings; // else all-to-all
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

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    struct bench *b = argument;
    const uint32_t n = b->fabric->n_endpoints;
    uint32_t alive = 0, ended;
    for (uint32_t i = 0; i < n; i++)
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

static double run(struct bench *b)
{
    const struct sand_fabric *f = b->fabric;
    double *link_Bps = sand_calloc(f->n_links, sizeof *link_Bps);
    for (uint32_t l = 0; l < f->n_links; l++)
        link_Bps[l] = f->links[l].capacity_Bps * f->links[l].speed;
    const struct sand_bridge_platform platform = {link_Bps, f->n_links,
                                                  f->n_endpoints * f->n_endpoints};
    cr_assert_eq(sand_bridge_run(&platform, pump, b, NULL), SAND_OK);
    sand_free(link_Bps);
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

// d-mod-k on a k-ary tree keeps all-to-all off the links between switches: N - 1 messages a NIC.
Test(closed_forms, all_to_all_on_a_kary_tree)
{
    struct bench b;
    bench_build(&b, &kary4, 16, RATE_BPS);
    expect_s(run(&b), 15 * b.bytes / RATE_BPS);
}

// 3:1 above leaves of n: n (N - n) messages over n / 3 line rates.
Test(closed_forms, all_to_all_at_three_to_one)
{
    struct bench b;
    struct sand_fabric_spec spec = {.n_tiers = 2,
                                    .endpoints_per_leaf = 6,
                                    .leaf_oversubscription = 3,
                                    .spreading = SAND_SPREAD_EVEN};
    bench_build(&b, &spec, 24, RATE_BPS);
    expect_s(run(&b), 3 * (24 - 6) * b.bytes / RATE_BPS);
}

// N k / 8 messages over every link of a k-ary torus.
Test(closed_forms, all_to_all_on_a_torus)
{
    struct bench b;
    struct sand_fabric_spec spec = {
        .kind = SAND_FABRIC_TORUS, .size = {4, 4, 1}, .spreading = SAND_SPREAD_STATIC};
    bench_build(&b, &spec, 16, 4 * RATE_BPS);
    expect_s(run(&b), 16 * 4 / 8 * b.bytes / RATE_BPS);
}

// p^2 (1 + 2 a h) messages over every local link of a balanced dragonfly.
Test(closed_forms, all_to_all_on_a_dragonfly)
{
    struct bench b;
    struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                    .groups = 3,
                                    .routers = 2,
                                    .endpoints_per_router = 1,
                                    .global_links = 1,
                                    .spreading = SAND_SPREAD_STATIC};
    bench_build(&b, &spec, 6, 4 * RATE_BPS);
    expect_s(run(&b), (1 + 2 * 2 * 1) * b.bytes / RATE_BPS);
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

Test(closed_forms, all_reduce_on_a_kary_tree)
{
    expect_s(ring_s(&kary4, 16, NULL), 2.0 * 15 / 16 * 1e9 / RATE_BPS);
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
