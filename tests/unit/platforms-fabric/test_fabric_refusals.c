// Descriptions that cannot be built: each is refused, naming the value and the rule, and several
// faults of one description are all named.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fabric_fixture.h"

static struct fixture f;
static struct sand_fabric_spec *spec;
static struct sand_diag diag;

static void setup(void)
{
    fixture_set(&f);
    spec = &f.cluster.fabric;
    spec->n_tiers = 3;
    spec->leaves_per_pod = 8;
    spec->pod_oversubscription = 1;
}

static void teardown(void)
{
    sand_diag_clear(&diag);
}

TestSuite(fabric_refusals, .init = setup, .fini = teardown);

static void expect_refusal(const char *fragment)
{
    struct sand_fabric *fabric = NULL;
    sand_diag_clear(&diag);
    cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_ERR_INPUT, "\"%s\" passed",
                 fragment);
    cr_expect_null(fabric);
    int found = 0;
    for (size_t i = 0; i < diag.n_messages; i++)
        found |= strstr(diag.messages[i].text, fragment) != NULL;
    cr_expect(found, "\"%s\" is not said; the first of %zu messages is \"%s\"", fragment,
              diag.n_messages, diag.n_messages ? diag.messages[0].text : "");
}

Test(fabric_refusals, the_fixture_itself_builds)
{
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_OK);
    cr_expect_eq(diag.n_messages, 0);
    sand_fabric_free(fabric);
    sand_fabric_free(NULL);
}

Test(fabric_refusals, zero_sizes)
{
    f.cluster.n_nodes = 0;
    expect_refusal("cluster \"test\": 0 nodes");
    setup();
    f.node.n_gpus = 0;
    expect_refusal("node type \"server\" has 0 GPUs");
    setup();
    f.node.n_nics = 0;
    expect_refusal("node type \"server\" has 0 NICs");
    setup();
    spec->endpoints_per_leaf = 0;
    expect_refusal("0 endpoints per leaf");
    setup();
    spec->leaves_per_pod = 0;
    expect_refusal("0 leaves per pod");
}

Test(fabric_refusals, missing_types)
{
    f.cluster.node_type = NULL;
    expect_refusal("no node type");
    setup();
    f.node.nic = NULL;
    expect_refusal("no NIC link type");
    setup();
    f.node.scaleup_link = NULL;
    expect_refusal("no scale-up link type");
    setup();
    spec->link = NULL;
    expect_refusal("no switch link type");
    setup();
    f.port.rate_Bps = 0;
    expect_refusal("switch link \"port400\": rate 0 B/s");
}

Test(fabric_refusals, numbers_out_of_range)
{
    spec->n_tiers = 4;
    expect_refusal("4 tiers");
    setup();
    spec->leaf_oversubscription = 0;
    expect_refusal("leaf oversubscription 0 must be above 0");
    setup();
    spec->pod_oversubscription = NAN;
    expect_refusal("pod oversubscription nan");
    setup();
    spec->leaf_oversubscription = 1e-9;
    expect_refusal("which no switch has");
    setup();
    spec->n_tiers = 2;
    spec->cores = 4;
    expect_refusal("4 cores, but 2 tiers have none");
    setup();
    spec->spreading = (enum sand_spreading)7;
    expect_refusal("unknown spreading 7");
    setup();
    f.cluster.n_nodes = UINT32_MAX;
    expect_refusal("more than can be numbered");
}

// Storage on leaves that are not there, or above a leaf that has nothing above it, would be taken
// for storage elsewhere, and saves for faster than they are.
Test(fabric_refusals, storage_on_no_leaf)
{
    struct sand_storage_ports *ports = &f.cluster.storage_ports;
    struct sand_fabric *fabric = NULL;
    uint32_t leaves = 0;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_OK);
    for (uint32_t node = 0; node < fabric->n_nodes; node++)
        if (sand_fabric_leaf_of_node(fabric, node) >= leaves)
            leaves = sand_fabric_leaf_of_node(fabric, node) + 1;
    sand_fabric_free(fabric);
    *ports = (struct sand_storage_ports){.n_ports = 1, .port_Bps = 50e9, .n_leaves = leaves};
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_OK);
    sand_fabric_free(fabric);
    ports->n_leaves++;
    expect_refusal("write at most that");
    *ports =
        (struct sand_storage_ports){.n_ports = 1, .port_Bps = 50e9, .at = SAND_STORAGE_AT_SPINES};
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_OK);
    sand_fabric_free(fabric);
    f.cluster.n_nodes = 1;
    expect_refusal("all its nodes are on one leaf");
}

Test(fabric_refusals, radix_too_small)
{
    spec->endpoints_per_leaf = 33;
    expect_refusal("a leaf needs 33 ports down and 33 up, but the radix is 64");
    setup();
    spec->n_tiers = 2; // 65 leaves; 64 is the most a spine of 64 ports reaches
    f.cluster.n_nodes = 257;
    expect_refusal("a tree of 65 leaves: even one port per leaf takes 65 ports of a spine");
    setup();
    spec->leaves_per_pod = 33;
    expect_refusal("a pod of 33 leaves");
    setup();
    spec->leaves_per_pod = 1; // 256 / 4 = 64 pods of one leaf fit, 65 do not
    f.cluster.n_nodes = 257;
    expect_refusal("65 pods, but a core of radix 64 reaches at most 64");
}

Test(fabric_refusals, given_counts)
{
    spec->spines = 33;
    expect_refusal("a leaf has 32 uplinks and cannot reach all 33 spines");
    setup();
    spec->spines = 7; // 8 leaves x 32 = 256 down and 256 up over 7 spines
    expect_refusal("7 spines for a pod of 8 leaves need 74 ports each");
    setup();
    spec->cores = 31; // 8 pods x 256 uplinks
    expect_refusal("31 cores need 67 ports each to join 8 pods");
    setup();
    spec->radix = 0;
    spec->spines = 32; // 8 uplinks a spine
    spec->cores = 288; // 9 for every spine
    expect_refusal("a spine has 8 uplinks and cannot reach its 9 of 288 cores");
    spec->cores = 256;
    struct sand_fabric *fabric;
    cr_expect_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    sand_fabric_free(fabric);
}

// One mistake does not hide the next.
Test(fabric_refusals, all_are_named)
{
    f.cluster.n_nodes = 0;
    f.node.n_nics = 0;
    f.nic.rate_Bps = -1;
    spec->n_tiers = 1;
    spec->endpoints_per_leaf = 0;
    spec->leaf_oversubscription = -2;
    expect_refusal("0 nodes");
    cr_expect_eq(diag.n_errors, 6);
    setup();
    spec->endpoints_per_leaf = 40; // the leaf is wrong, and so are the spines
    spec->spines = 50;
    expect_refusal("a leaf needs 40 ports down");
    expect_refusal("cannot reach all 50 spines");
}

// Odd, not impossible: said, and built.
Test(fabric_refusals, oversubscription_below_the_tier_below)
{
    spec->radix = 0;
    spec->leaf_oversubscription = 4;
    struct sand_fabric *fabric;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, &diag), SAND_OK);
    cr_expect_eq(diag.n_warnings, 1);
    sand_fabric_free(fabric);
}

// More links than 32 bits can number.
Test(fabric_refusals, too_many_links)
{
    f.node.n_gpus = 1;
    f.node.n_nics = 1;
    f.cluster.n_nodes = 1500000000;
    spec->radix = 0;
    spec->n_tiers = 2;
    expect_refusal("more links than can be numbered");
}
