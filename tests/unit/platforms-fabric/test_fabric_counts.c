// Switch and cable counts: the published tables of built fabrics, and the closed forms of fat
// trees. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "fabric_fixture.h"
#include "rng.h"

struct published {
    const char *source;
    uint32_t nodes, tiers, radix, endpoints_per_leaf, leaves_per_pod;
    uint64_t leaves, spines, cores, endpoint_cables, leaf_spine, spine_core;
};

#define H100_SMALL "NVIDIA DGX SuperPOD H100, RA-11333-001 v11, table 4"
#define H100_LARGE "NVIDIA DGX SuperPOD H100, RA-11333-001 v11, table 3 (B200 RA: the same)"
#define B200 "NVIDIA DGX SuperPOD B200 RA, 2025"
#define B300_XDR "NVIDIA DGX SuperPOD B300 XDR RA, 2025 (Q3400, 144 ports)"

// Node-leaf cables of the small H100 table also count 4 per table for the fabric manager, which are
// no compute endpoints: the column here is GPUs. The last XDR row prints 9,216 GPUs beside 1,296
// nodes and 10,368 cables, which are 10,368 GPUs. Spine-core cables and the pod (one scalable unit
// of 8 leaves) as in the RA's figures; the counts are the same with any pod that divides.
static const struct published rows[] = {
    {H100_SMALL, 31, 2, 64, 32, 0, 8, 4, 0, 248, 256, 0},
    {H100_SMALL, 63, 2, 64, 32, 0, 16, 8, 0, 504, 512, 0},
    {H100_SMALL, 95, 2, 64, 32, 0, 24, 16, 0, 760, 768, 0},
    {H100_SMALL, 127, 2, 64, 32, 0, 32, 16, 0, 1016, 1024, 0},
    {H100_LARGE, 128, 2, 64, 32, 0, 32, 16, 0, 1024, 1024, 0},
    {H100_LARGE, 256, 2, 64, 32, 0, 64, 32, 0, 2048, 2048, 0},
    {H100_LARGE, 512, 3, 64, 32, 8, 128, 128, 64, 4096, 4096, 4096},
    {H100_LARGE, 1024, 3, 64, 32, 8, 256, 256, 128, 8192, 8192, 8192},
    {H100_LARGE, 2048, 3, 64, 32, 8, 512, 512, 256, 16384, 16384, 16384},
    {H100_LARGE, 2048, 3, 64, 32, 32, 512, 512, 256, 16384, 16384, 16384},
    {B200, 64, 2, 64, 32, 0, 16, 8, 0, 512, 512, 0},
    {B300_XDR, 72, 2, 144, 72, 0, 8, 4, 0, 576, 576, 0},
    {B300_XDR, 144, 2, 144, 72, 0, 16, 8, 0, 1152, 1152, 0},
    {B300_XDR, 288, 2, 144, 72, 0, 32, 18, 0, 2304, 2304, 0},
    {B300_XDR, 576, 2, 144, 72, 0, 64, 36, 0, 4608, 4608, 0},
    {B300_XDR, 1296, 2, 144, 72, 0, 144, 72, 0, 10368, 10368, 0},
};

static void build(const struct fixture *f, struct sand_fabric **fabric)
{
    struct sand_diag diag = {0};
    enum sand_rc rc = sand_fabric_build(&f->cluster, fabric, &diag);
    if (rc != SAND_OK)
        sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_eq(diag.n_messages, 0);
    sand_diag_clear(&diag);
}

static struct sand_fabric_counts counts_of(const struct fixture *f)
{
    struct sand_fabric *fabric;
    struct sand_fabric_counts counts;
    build(f, &fabric);
    sand_fabric_count(fabric, &counts);
    sand_fabric_free(fabric);
    return counts;
}

// Every row of the tables follows from node count, radix and pod, nothing else.
Test(fabric_counts, published_tables)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct published *r = &rows[i];
        struct fixture f;
        fixture_set(&f);
        f.cluster.n_nodes = r->nodes;
        f.cluster.fabric.n_tiers = r->tiers;
        f.cluster.fabric.radix = r->radix;
        f.cluster.fabric.endpoints_per_leaf = r->endpoints_per_leaf;
        f.cluster.fabric.leaves_per_pod = r->leaves_per_pod;
        f.cluster.fabric.pod_oversubscription = r->tiers == 3;
        struct sand_fabric_counts c = counts_of(&f);
        cr_expect(c.leaves == r->leaves && c.spines == r->spines && c.cores == r->cores,
                  "%s, %" PRIu32 " nodes: %" PRIu64 "/%" PRIu64 "/%" PRIu64 " switches", r->source,
                  r->nodes, c.leaves, c.spines, c.cores);
        cr_expect(c.endpoint_cables == r->endpoint_cables && c.leaf_spine_cables == r->leaf_spine &&
                      c.spine_core_cables == r->spine_core,
                  "%s, %" PRIu32 " nodes: %" PRIu64 "/%" PRIu64 "/%" PRIu64 " cables", r->source,
                  r->nodes, c.endpoint_cables, c.leaf_spine_cables, c.spine_core_cables);
    }
}

// Llama 3 (section 3.3.1) and Meta's RoCE paper (SIGCOMM 2024): 16 GPUs a rack, 192 racks a pod of
// 3,072, 8 pods; chassis above the racks; racks with twice as much uplink, 7:1 above the pod.
Test(fabric_counts, meta_24k)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 3072;
    f.cluster.fabric = (struct sand_fabric_spec){.n_tiers = 3,
                                                 .endpoints_per_leaf = 16,
                                                 .leaf_oversubscription = 0.5,
                                                 .leaves_per_pod = 192,
                                                 .pod_oversubscription = 7,
                                                 .link = &f.port};
    struct sand_fabric *fabric;
    build(&f, &fabric);
    cr_expect_eq(fabric->n_leaves, 1536);
    cr_expect_eq(fabric->n_pods, 8);
    cr_expect_eq(fabric->n_endpoints, 24576);
    cr_expect_eq(fabric->leaf_up_ports, 32);
    const struct sand_fabric_link *leaf = &fabric->links[fabric->first[SAND_LINK_LEAF_UP]];
    const struct sand_fabric_link *pod = &fabric->links[fabric->first[SAND_LINK_SPINE_UP]];
    cr_expect_float_eq(leaf->capacity_Bps, 2 * 16 * 50e9, 1);
    cr_expect_float_eq(pod->capacity_Bps, 3072 * 50e9 / 7, 1);
    sand_fabric_free(fabric);
}

// 3N/k and 5N/k switches, and N cables per tier, for full trees of every even radix (Al-Fares et
// al., SIGCOMM 2008: k^3/4 hosts, 5k^2/4 switches).
Test(fabric_counts, closed_forms)
{
    for (uint32_t k = 2; k <= 40; k += 2) {
        struct fixture f;
        fixture_set_kary(&f, k, k * k * k / 4);
        struct sand_fabric_counts c = counts_of(&f);
        cr_expect_eq(c.leaves + c.spines + c.cores, 5 * (uint64_t)k * k / 4, "3 tiers, k = %u", k);
        cr_expect_eq(c.cores, (uint64_t)k * k / 4);
        cr_expect_eq(c.leaf_spine_cables, f.cluster.n_nodes);
        cr_expect_eq(c.spine_core_cables, f.cluster.n_nodes);
        f.cluster.fabric.n_tiers = 2;
        f.cluster.n_nodes = k * k / 2;
        c = counts_of(&f);
        cr_expect_eq(c.leaves + c.spines, 3 * (uint64_t)k / 2, "2 tiers, k = %u", k);
        cr_expect_eq(c.leaf_spine_cables, f.cluster.n_nodes);
    }
}

// k^2/2 and k^3/4 fit, one more does not.
Test(fabric_counts, largest_tree)
{
    static const uint32_t radices[] = {4, 36, 40, 64};
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        uint32_t k = radices[i];
        struct sand_fabric *fabric = NULL;
        struct fixture f;
        fixture_set_kary(&f, k, k * k * k / 4 + 1);
        cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_ERR_INPUT, "k = %u", k);
        f.cluster.n_nodes--;
        cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK, "k = %u", k);
        sand_fabric_free(fabric);
        f.cluster.fabric.n_tiers = 2;
        f.cluster.n_nodes = k * k / 2 + 1;
        cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_ERR_INPUT, "k = %u", k);
    }
}

// Whatever is chosen fits: no switch has more ports than the radix, every leaf reaches every spine
// of its pod and every spine its cores. Over 2,000 random descriptions with counts left out.
Test(fabric_counts, chosen_counts_fit)
{
    static const double ratios[] = {0.5, 1, 1.5, 2, 3, 7};
    const struct sand_rng rng = {.seed = 5};
    unsigned n_built = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        struct fixture f;
        uint64_t d = sand_rng_u64(rng, SAND_STREAM_TEST, i, 0);
        uint32_t k = 2 + (uint32_t)(d % 63);
        fixture_set_kary(&f, k, 1 + (uint32_t)(d / 64 % 4096));
        f.cluster.fabric.endpoints_per_leaf = 1 + (uint32_t)(d >> 20) % ((k + 1) / 2);
        f.cluster.fabric.leaves_per_pod = 1 + (uint32_t)(d >> 30) % ((k + 1) / 2);
        f.cluster.fabric.leaf_oversubscription = ratios[(d >> 40) % 6];
        f.cluster.fabric.pod_oversubscription = ratios[(d >> 44) % 6];
        f.cluster.fabric.n_tiers = 2 + (d >> 50) % 2;
        struct sand_fabric *b = NULL;
        if (sand_fabric_build(&f.cluster, &b, NULL) != SAND_OK)
            continue;
        n_built++;
        cr_assert_leq(f.cluster.fabric.endpoints_per_leaf + b->leaf_up_ports, k);
        cr_assert_geq(b->leaf_up_ports, b->leaf_trunks);
        uint64_t spine_down =
            ((uint64_t)b->leaves_per_pod * b->leaf_up_ports + b->spines_per_pod - 1) /
            b->spines_per_pod;
        cr_assert_leq(spine_down + b->spine_up_ports, k);
        if (b->n_tiers == 3) {
            cr_assert_geq(b->spine_up_ports, b->spine_trunks);
            cr_assert_leq((uint64_t)b->n_spines * b->spine_up_ports, (uint64_t)b->n_cores * k);
        }
        sand_fabric_free(b);
    }
    cr_expect_gt(n_built, 300, "only %u of 2000 could be built", n_built);
}

// A NIC of twice the port's rate takes two ports: 128-port switches of 400 Gb/s serve 32 NICs of
// 800 Gb/s with 64 uplinks. 32 and 16 switches at 128 nodes are the B300 RA's.
Test(fabric_counts, fast_nics_take_two_ports)
{
    struct fixture f;
    fixture_set(&f);
    f.nic.rate_Bps = 100e9;
    f.cluster.n_nodes = 128;
    f.cluster.fabric.radix = 128;
    struct sand_fabric_counts c = counts_of(&f);
    cr_expect_eq(c.leaves, 32);
    cr_expect_eq(c.spines, 16);
    cr_expect_eq(c.endpoint_cables, 2 * 1024);
    cr_expect_eq(c.leaf_spine_cables, 2 * 1024);
}
