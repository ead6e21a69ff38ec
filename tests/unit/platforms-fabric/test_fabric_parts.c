// Lists of parts: cables, transceivers, metres, watts and dollars by hand; published rows.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "fabric_fixture.h"
#include "fabricparts.h"

static struct sand_fabric_parts parts_of(struct fixture *f)
{
    struct sand_fabric *fabric = NULL;
    struct sand_fabric_parts parts;
    cr_assert_eq(sand_fabric_build(&f->cluster, &fabric, NULL), SAND_OK);
    sand_fabric_parts_list(fabric, &f->cluster, &parts);
    sand_fabric_free(fabric);
    return parts;
}

// 256 nodes of eight NICs: 64 leaves, 32 spines, 2,048 cables below and above the leaves. Node
// cables of 2 m are copper; 4,096 transceivers are left.
Test(fabric_parts, priced_by_hand)
{
    struct fixture f;
    const struct sand_price_list prices = {.switch_usd = 100,
                                           .switch_W = 10,
                                           .transceiver_usd = 3,
                                           .transceiver_W = 0.5,
                                           .fibre_usd = 7,
                                           .copper_usd = 2,
                                           .copper_reach_m = 3};
    fixture_set(&f);
    f.cluster.prices = &prices;
    f.cluster.fabric.node_cable_m = 2;
    f.cluster.fabric.leaf_cable_m = 30;
    const struct sand_fabric_parts p = parts_of(&f);
    cr_expect_eq(p.switches, 96);
    cr_expect_eq(p.cables, 4096);
    cr_expect(p.runs[SAND_CABLE_NODE].is_copper && !p.runs[SAND_CABLE_LEAF].is_copper);
    cr_expect_eq(p.transceivers, 4096);
    cr_expect_float_eq(p.cable_m, 2048 * 32.0, 1e-6);
    cr_expect_float_eq(p.switch_W, 960, 1e-9);
    cr_expect_float_eq(p.transceiver_W, 2048, 1e-9);
    cr_expect_float_eq(p.switch_usd, 9600, 1e-9);
    cr_expect_float_eq(p.transceiver_usd, 3 * 4096.0, 1e-9);
    cr_expect_float_eq(p.cable_usd, 2048 * 9.0, 1e-9);
    f.cluster.prices = NULL;
    cr_expect_eq(parts_of(&f).transceivers, 8192);
}

// NVIDIA DGX SuperPOD B300 RA, 2025: no core tier up to 8,192 GPUs. Two planes of 400 Gb/s with
// 128-way switches give its leaves and spines; its cables are of 800 Gb/s, two of ours.
Test(fabric_parts, superpod_b300)
{
    static const uint32_t rows[][4] = {{64, 16, 8, 512},
                                       {128, 32, 16, 1024},
                                       {256, 64, 32, 2048},
                                       {512, 128, 64, 4096},
                                       {1024, 256, 128, 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        fixture_set(&f);
        f.cluster.n_nodes = rows[i][0];
        f.nic.rate_Bps = 100e9;
        f.cluster.fabric.radix = 128;
        f.cluster.fabric.planes = 2;
        f.cluster.fabric.endpoints_per_leaf = 64;
        const struct sand_fabric_parts p = parts_of(&f);
        cr_expect_eq(p.counts.leaves, rows[i][1]);
        cr_expect_eq(p.counts.spines, rows[i][2]);
        cr_expect_eq(p.counts.leaf_spine_cables, 2 * rows[i][3]);
        cr_expect_eq(p.counts.endpoint_cables, 2 * rows[i][3]);
    }
}

// Meta's 24K cluster (Llama 3 report, section 3.3.1): 16 GPUs a rack and leaf, 1,536 leaves; eight
// pods.
Test(fabric_parts, meta_24k)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 3072;
    f.cluster.fabric = (struct sand_fabric_spec){.n_tiers = 3,
                                                 .endpoints_per_leaf = 16,
                                                 .leaf_oversubscription = 0.5,
                                                 .leaves_per_pod = 192,
                                                 .pod_oversubscription = 7,
                                                 .spines = 32,
                                                 .cores = 32,
                                                 .link = &f.port};
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    cr_expect_eq(fabric->n_pods, 8);
    cr_expect_eq(fabric->n_leaves, 1536);
    sand_fabric_free(fabric);
}
