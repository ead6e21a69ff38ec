// Ports that nodes share and ports that storage takes, against the radix and in the list of parts.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "fabric_fixture.h"
#include "fabricparts.h"

static enum sand_rc try_build(const struct fixture *f, struct sand_fabric **fabric)
{
    const enum sand_rc rc = sand_fabric_build(&f->cluster, fabric, NULL);
    if (rc != SAND_OK)
        *fabric = NULL;
    return rc;
}

static enum sand_rc try_only(const struct fixture *f)
{
    struct sand_fabric *fabric;
    const enum sand_rc rc = try_build(f, &fabric);
    sand_fabric_free(fabric);
    return rc;
}

// MegaScale (Jiang et al., NSDI 2024): 64 NICs of 200 Gb/s on 32 split ports of 400 Gb/s, 32 up: a
// switch of 64 ports is full with them, and does not do without the split.
Test(fabric_ports, breakouts_share_ports)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 64;
    f.nic.rate_Bps = 25e9;
    f.cluster.fabric.radix = 64;
    f.cluster.fabric.endpoints_per_leaf = 64;
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
    f.cluster.fabric.breakout = 2;
    cr_expect_eq(try_only(&f), SAND_OK);
    f.cluster.fabric.endpoints_per_leaf = 66;
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
    f.cluster.fabric.endpoints_per_leaf = 64;
    f.cluster.fabric.breakout = 3; // 75 GB/s on a port of 50
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
}

// Leonardo (CINECA): 18 leaves a cell with 40 ports of 100 Gb/s on 20 of 200, 18 spines.
Test(fabric_ports, breakouts_of_dragonfly_plus)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 90;
    f.nic.rate_Bps = 12.5e9;
    f.port.rate_Bps = 25e9;
    f.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                                 .groups = 2,
                                                 .leaves_per_pod = 18,
                                                 .spines = 18,
                                                 .endpoints_per_leaf = 40,
                                                 .global_links = 22,
                                                 .leaf_links = 1,
                                                 .radix = 40,
                                                 .link = &f.port};
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
    f.cluster.fabric.breakout = 2;
    cr_expect_eq(try_only(&f), SAND_OK);
}

static void add_storage(struct fixture *f, uint32_t servers, enum sand_storage_seat at)
{
    f->cluster.storage.n_servers = servers;
    f->cluster.storage_ports =
        (struct sand_storage_ports){.n_ports = 1, .port_Bps = 50e9, .at = at};
}

// Four leaves of 64 ports, 24 down and 24 up: 16 are left on each, 64 in all.
Test(fabric_ports, storage_beside_the_nodes)
{
    struct fixture f;
    struct sand_fabric *fabric;
    struct sand_fabric_parts parts;
    fixture_set(&f);
    f.cluster.n_nodes = 12;
    f.cluster.fabric.radix = 64;
    f.cluster.fabric.endpoints_per_leaf = 24;
    add_storage(&f, 64, SAND_STORAGE_AT_LEAVES);
    cr_assert_eq(try_build(&f, &fabric), SAND_OK);
    sand_fabric_parts_list(fabric, &f.cluster, &parts);
    cr_expect_eq(parts.storage_cables, 64);
    cr_expect_eq(parts.storage_leaves, 0);
    cr_expect_eq(parts.cables, 96 + 96 + 64);
    cr_expect_eq(parts.transceivers, 2 * parts.cables);
    sand_fabric_free(fabric);
    add_storage(&f, 65, SAND_STORAGE_AT_LEAVES);
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
    add_storage(&f, 48, SAND_STORAGE_AT_LEAVES);
    f.cluster.storage_ports.n_leaves = 2; // 24 on each of these
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
}

// On leaves of their own: 40 servers are two leaves of 32 ports down, 40 uplinks, for which the
// spines need ports: of 64, of which 48 leaves take 48 each.
Test(fabric_ports, storage_at_the_spines)
{
    struct fixture f;
    struct sand_fabric *fabric;
    struct sand_fabric_parts with, without;
    fixture_set(&f);
    f.cluster.n_nodes = 48 * 4;
    f.cluster.fabric.radix = 64;
    f.cluster.fabric.endpoints_per_leaf = 32;
    f.cluster.fabric.spines = 32;
    cr_assert_eq(try_build(&f, &fabric), SAND_OK);
    sand_fabric_parts_list(fabric, &f.cluster, &without);
    sand_fabric_free(fabric);
    add_storage(&f, 40, SAND_STORAGE_AT_SPINES);
    cr_assert_eq(try_build(&f, &fabric), SAND_OK);
    sand_fabric_parts_list(fabric, &f.cluster, &with);
    sand_fabric_free(fabric);
    cr_expect_eq(with.storage_leaves, 2);
    cr_expect_eq(with.switches, without.switches + 2);
    cr_expect_eq(with.cables, without.cables + 40 + 40);
    add_storage(&f, 32 * 16, SAND_STORAGE_AT_SPINES); // 16 ports are left on each
    cr_expect_eq(try_only(&f), SAND_OK);
    add_storage(&f, 32 * 16 + 1, SAND_STORAGE_AT_SPINES);
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
}

// Circuits join a job's cubes to a torus out of which nothing leads, to no storage either; cables
// do.
Test(fabric_ports, no_storage_over_circuits)
{
    struct fixture f;
    fixture_set(&f);
    f.node.n_gpus = f.node.n_nics = 1;
    f.node.scaleup = SAND_SCALEUP_NONE;
    f.cluster.n_nodes = 64;
    f.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                 .size = {4, 4, 4},
                                                 .block = 2,
                                                 .circuits = 1,
                                                 .spreading = SAND_SPREAD_STATIC,
                                                 .link = &f.port};
    cr_expect_eq(try_only(&f), SAND_OK);
    add_storage(&f, 8, SAND_STORAGE_AT_LEAVES);
    cr_expect_eq(try_only(&f), SAND_ERR_INPUT);
    f.cluster.fabric.circuits = 0;
    cr_expect_eq(try_only(&f), SAND_OK);
}
