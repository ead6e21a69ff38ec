// Times of collectives against textbook formulas on platforms without latency or fill, and
// properties that hold for every platform of the test: monotone in bytes, the choice never slower
// than a forced kernel, never faster than the links allow. SPDX-License-Identifier:
// GPL-2.0-or-later
#include <criterion/criterion.h>

#include <math.h>

#include "collcost.h"
#include "ids.h"
#include "mem.h"

#define PORT_Bps 450e9
#define NIC_Bps 50e9

static struct sand_gpu_type gpu = {.id = "gpu"};
static struct sand_link_type scaleup, nic, host;
static struct sand_node_type node;
static struct sand_cluster cluster;

// Kernels with NCCL's latencies and without pipelines to fill, so that closed forms hold.
// clang-format off
#define KERNEL(name, algo, proto, base, in_scaleup, in_pcie, in_network, payload, request)         \
    {.id = name, .algorithm = algo, .protocol = proto, .base_s = base, .scaleup_s = in_scaleup,    \
     .pcie_s = in_pcie, .network_s = in_network, .rate = payload, .on_request = request}
static struct sand_coll_kernel kernels[] = {
    KERNEL("ring-ll", SAND_ALG_RING, SAND_PROTO_LL, 6.6e-6, 0.6e-6, 1e-6, 5e-6, 0.5, 0),
    KERNEL("ring", SAND_ALG_RING, SAND_PROTO_SIMPLE, 8.4e-6, 3.4e-6, 5.7e-6, 14e-6, 1, 0),
    KERNEL("tree", SAND_ALG_TREE, SAND_PROTO_SIMPLE, 8.4e-6, 4e-6, 4e-6, 14e-6, 1, 0),
    KERNEL("nvls", SAND_ALG_NVLS, SAND_PROTO_SIMPLE, 0, 25e-6, 25e-6, 0, 1, 0),
    KERNEL("nvlstree", SAND_ALG_NVLSTREE, SAND_PROTO_SIMPLE, 0, 25e-6, 25e-6, 14e-6, 1, 0),
    KERNEL("sharp", SAND_ALG_SHARP, SAND_PROTO_SIMPLE, 0, 25e-6, 25e-6, 31e-6, 1, 0),
    KERNEL("pairwise", SAND_ALG_PAIRWISE, SAND_PROTO_SIMPLE, 8.4e-6, 3.4e-6, 5.7e-6, 14e-6, 1, 0),
    KERNEL("pxn", SAND_ALG_PXN, SAND_PROTO_SIMPLE, 8.4e-6, 3.4e-6, 5.7e-6, 14e-6, 1, 0),
    KERNEL("hier", SAND_ALG_HIERARCHICAL, SAND_PROTO_SIMPLE, 8.4e-6, 3.4e-6, 5.7e-6, 14e-6, 1, 1),
};
// clang-format on
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };
static struct sand_collectives constants = {.id = "test",
                                            .tier_sharpness = 50,
                                            .channels = 16,
                                            .p2p_rate = 1,
                                            .incast_peers = 64,
                                            .kernels = kernels,
                                            .n_kernels = N_KERNELS};
static const struct sand_coll_wish any = {SAND_ALGORITHMS, SAND_PROTOCOLS};

static void build(uint32_t n_nodes, uint32_t gpus, uint32_t domain_nodes, double oversubscription)
{
    scaleup = (struct sand_link_type){
        .id = "scaleup", .rate_Bps = PORT_Bps, .usable = 1, .alone = 1, .relay = 1};
    nic = (struct sand_link_type){
        .id = "nic", .rate_Bps = NIC_Bps, .alone = 1, .medium = SAND_MEDIUM_NETWORK, .sharp = 1};
    host = (struct sand_link_type){
        .id = "host", .rate_Bps = 63e9, .usable = 0.76, .medium = SAND_MEDIUM_PCIE};
    node = (struct sand_node_type){.id = "node",
                                   .gpu = &gpu,
                                   .n_gpus = gpus,
                                   .scaleup = SAND_SCALEUP_NVSWITCH,
                                   .scaleup_link = &scaleup,
                                   .scaleup_nodes = domain_nodes,
                                   .n_nics = gpus,
                                   .nic = &nic,
                                   .host_link = &host};
    cluster = (struct sand_cluster){.name = "test", .node_type = &node, .n_nodes = n_nodes};
    cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                               .endpoints_per_leaf = 4 * gpus,
                                               .leaf_oversubscription = oversubscription,
                                               .spines = 1,
                                               .spreading = SAND_SPREAD_EVEN,
                                               .sharp = 1,
                                               .link = &nic};
}

static struct sand_comm place(uint32_t ranks, struct sand_comm_options options)
{
    struct sand_comm comm;
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, &diag), SAND_OK);
    cr_assert_eq(sand_comm_place(&cluster, fabric, ranks, 0, &options, &comm, &diag), SAND_OK);
    sand_fabric_free(fabric);
    sand_diag_clear(&diag);
    return comm;
}

static double forced_s(const struct sand_comm *comm, enum sand_collective_kind kind, double bytes,
                       enum sand_algorithm algorithm)
{
    const struct sand_collective collective = {kind, comm->ranks, bytes};
    struct sand_coll_terms terms;
    for (size_t k = 0; k < N_KERNELS; k++)
        if (kernels[k].algorithm == algorithm && kernels[k].protocol == SAND_PROTO_SIMPLE &&
            sand_coll_cost(&constants, comm, &collective, &kernels[k], &terms) == NULL)
            return terms.time_s;
    return NAN;
}

static double best_s(const struct sand_comm *comm, enum sand_collective_kind kind, double bytes)
{
    const struct sand_collective collective = {kind, comm->ranks, bytes};
    struct sand_coll_terms terms;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_coll_best(&constants, comm, &collective, any, &terms, &diag), SAND_OK);
    return terms.time_s;
}

static void near(double got, double want, const char *what)
{
    cr_assert_float_eq(got, want, 0.01 * want, "%s: %g, not %g", what, got, want);
}

// Hash spreading: a ring is as fast as the link with the most queue pairs, counted here over the
// routes of its hops; an all-to-all, of which many pass every link, loses less.
Test(collcost, hashed_rings_wait_for_the_fullest_link)
{
    for (uint32_t pairs = 1; pairs <= 16; pairs *= 4) {
        build(16, 8, 1, 1);
        cluster.fabric.endpoints_per_leaf = 8;
        cluster.fabric.spines = 8;
        cluster.fabric.spreading = SAND_SPREAD_HASH;
        cluster.fabric.queue_pairs = pairs;
        struct sand_fabric *fabric = NULL;
        cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
        uint32_t *load = sand_calloc(fabric->n_links, sizeof *load), links[SAND_ROUTE_MAX];
        uint32_t most = 0;
        for (uint32_t nic = 0; nic < 128; nic++)
            for (uint32_t q = 0; q < pairs; q++) {
                const uint32_t n = sand_fabric_route_path(fabric, nic, (nic + 8) % 128, q, links);
                for (uint32_t i = 0; i < n; i++)
                    most = ++load[links[i]] > most ? load[links[i]] : most;
            }
        sand_free(load);
        sand_fabric_free(fabric);
        const struct sand_comm comm = place(128, (struct sand_comm_options){0});
        cr_assert_gt(most, pairs);
        cr_expect_float_eq(comm.ring_Bps, 8 * NIC_Bps * pairs / most, 1e-3, "%u pairs", pairs);
        cr_expect_gt(comm.alltoall_Bps, comm.ring_Bps);
        cr_expect_lt(comm.alltoall_Bps, 8 * NIC_Bps);
    }
}

// Reduction trees scatter what they have summed up and copy what is gathered: the buffer out of
// every domain, or into it all but its own. NCCL's sends know no LL128, so asking for it holds none
// up.
Test(collcost, switches_gather_and_ll128_sends)
{
    const double S = 64e9;
    build(16, 8, 1, 1);
    scaleup.multicast = 1;
    const struct sand_comm all = place(128, (struct sand_comm_options){.sharp = 1});
    near(forced_s(&all, SAND_REDUCE_SCATTER, S, SAND_ALG_SHARP), S / (8 * NIC_Bps), "scatter");
    near(forced_s(&all, SAND_ALL_GATHER, S, SAND_ALG_SHARP), 15.0 / 16 * S / (8 * NIC_Bps),
         "gather");
    cr_expect(isnan(forced_s(&all, SAND_BROADCAST, S, SAND_ALG_SHARP)));
    const struct sand_coll_wish ll128 = {SAND_ALGORITHMS, SAND_PROTO_LL128};
    for (enum sand_collective_kind kind = 0; kind < SAND_COLLECTIVES; kind++) {
        const int to_point = kind == SAND_SEND || kind == SAND_ALL_TO_ALL;
        const struct sand_collective collective = {kind, 128, S};
        struct sand_coll_terms t;
        struct sand_diag diag = {0};
        cr_expect_eq(sand_coll_best(&constants, &all, &collective, ll128, &t, &diag),
                     to_point ? SAND_OK : SAND_ERR_INPUT); // no kernel of this test is LL128
        sand_diag_clear(&diag);
    }
}

// Sends of eight neighbours share 32 channels: four each; parts of more than 16 MiB take twice as
// many, up to all. By hand at 10 GB/s a channel, and bound by the port in the end.
Test(collcost, sends_take_channels_by_length)
{
    static const struct {
        double bytes, channels;
    } rows[] = {{1 << 20, 4},    {64 << 20, 4}, {65 << 20, 8},
                {256 << 20, 16}, {512e6, 32},   {8e9, 32}};
    struct sand_collectives wide = constants;
    wide.p2p_channels = 32;
    wide.p2p_part_B = 16 << 20;
    build(1, 8, 1, 1);
    scaleup.p2p_channel_Bps = 10e9;
    const struct sand_comm comm = place(8, (struct sand_comm_options){0});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sand_collective send = {SAND_SEND, 8, rows[i].bytes};
        struct sand_coll_terms t;
        cr_assert_null(sand_coll_cost(&wide, &comm, &send, &kernels[6], &t));
        cr_expect_float_eq(t.wire_s, rows[i].bytes / (rows[i].channels * 10e9), 1e-12);
    }
    scaleup.p2p_channel_Bps = 20e9;
    const struct sand_collective send = {SAND_SEND, 8, 8e9};
    struct sand_coll_terms t;
    cr_assert_null(sand_coll_cost(&wide, &comm, &send, &kernels[6], &t));
    cr_expect_float_eq(t.wire_s, 8e9 / PORT_Bps, 1e-12);
}

// Large messages: 2(n-1)/n S / B for a ring's all-reduce, half of it for gather and scatter, at the
// port inside a domain and at the domain's NICs across.
Test(collcost, rings_are_the_textbook_formula)
{
    const double S = 64e9;
    build(16, 8, 1, 1);
    const struct sand_comm one = place(8, (struct sand_comm_options){0});
    near(forced_s(&one, SAND_ALL_REDUCE, S, SAND_ALG_RING), 2 * 7.0 / 8 * S / PORT_Bps, "domain");
    near(forced_s(&one, SAND_ALL_GATHER, S, SAND_ALG_RING), 7.0 / 8 * S / PORT_Bps, "gather");
    near(forced_s(&one, SAND_REDUCE_SCATTER, S, SAND_ALG_RING), 7.0 / 8 * S / PORT_Bps, "scatter");
    near(forced_s(&one, SAND_BROADCAST, S, SAND_ALG_RING), S / PORT_Bps, "broadcast");
    const struct sand_comm all = place(128, (struct sand_comm_options){0});
    near(forced_s(&all, SAND_ALL_REDUCE, S, SAND_ALG_RING), 2 * 127.0 / 128 * S / (8 * NIC_Bps),
         "across");
    near(forced_s(&all, SAND_ALL_GATHER, S, SAND_ALG_RING), 127.0 / 128 * S / (8 * NIC_Bps),
         "gather across");
}

// Small messages: NCCL's latencies, hop by hop.
Test(collcost, latencies_are_those_of_the_tables)
{
    build(16, 8, 1, 1);
    const struct sand_comm one = place(8, (struct sand_comm_options){0});
    near(forced_s(&one, SAND_ALL_REDUCE, 1, SAND_ALG_RING), 8.4e-6 + 14 * 3.4e-6, "ring");
    near(best_s(&one, SAND_ALL_REDUCE, 1), 6.6e-6 + 14 * 0.6e-6, "ring, LL");
    const struct sand_comm two = place(16, (struct sand_comm_options){0});
    near(forced_s(&two, SAND_ALL_REDUCE, 1, SAND_ALG_RING), 8.4e-6 + 28 * 3.4e-6 + 2 * 14e-6,
         "ring over two");
    near(forced_s(&two, SAND_ALL_REDUCE, 1, SAND_ALG_TREE), 8.4e-6 + 14 * 4e-6 + 2 * 14e-6, "tree");
    const struct sand_comm all = place(128, (struct sand_comm_options){0});
    near(forced_s(&all, SAND_ALL_REDUCE, 1, SAND_ALG_TREE), 8.4e-6 + 14 * 4e-6 + 8 * 14e-6,
         "tree over 16");
}

// Two domains send the buffer once, more send it twice at an inner one; the switch reduces at one
// pass of the buffer.
Test(collcost, trees_and_switches_move_what_they_say)
{
    const double S = 64e9;
    build(16, 8, 1, 1);
    scaleup.multicast = 1;
    const struct sand_comm two = place(16, (struct sand_comm_options){.sharp = 1});
    const struct sand_comm all = place(128, (struct sand_comm_options){.sharp = 1});
    const struct sand_comm one = place(8, (struct sand_comm_options){0});
    near(forced_s(&two, SAND_ALL_REDUCE, S, SAND_ALG_NVLSTREE), S / (8 * NIC_Bps), "two domains");
    near(forced_s(&all, SAND_ALL_REDUCE, S, SAND_ALG_NVLSTREE), 2 * S / (8 * NIC_Bps), "16");
    near(forced_s(&all, SAND_ALL_REDUCE, S, SAND_ALG_SHARP), S / (8 * NIC_Bps), "SHARP");
    near(forced_s(&one, SAND_ALL_REDUCE, S, SAND_ALG_NVLS), S / PORT_Bps, "NVLS");
    cr_assert(isnan(forced_s(&all, SAND_ALL_REDUCE, S, SAND_ALG_NVLS)));
    cr_assert(isnan(forced_s(&one, SAND_ALL_REDUCE, S, SAND_ALG_NVLSTREE)));
    cr_assert(isnan(forced_s(&one, SAND_ALL_GATHER, S, SAND_ALG_TREE)));
}

// What leaves a domain divides by its NICs; the maintainers' rule that bus bandwidth is N/(N-1)
// NICs (NVIDIA/nccl-tests issue 130).
Test(collcost, alltoall_is_bound_by_the_nic)
{
    const double S = 8e9;
    build(16, 8, 1, 1);
    const uint32_t ranks[] = {16, 32, 64, 128};
    for (size_t i = 0; i < 4; i++) {
        const double n = ranks[i];
        const struct sand_comm comm = place(ranks[i], (struct sand_comm_options){0});
        near(forced_s(&comm, SAND_ALL_TO_ALL, S, SAND_ALG_PAIRWISE), S * (n - 8) / n / NIC_Bps,
             "pairwise");
        near(forced_s(&comm, SAND_ALL_TO_ALL, S, SAND_ALG_PXN), S * (n - 8) / n / NIC_Bps, "PXN");
    }
    const struct sand_comm one = place(8, (struct sand_comm_options){0});
    near(best_s(&one, SAND_ALL_TO_ALL, S), S * 7 / 8 / PORT_Bps, "one domain");
    cr_assert(isnan(forced_s(&one, SAND_ALL_TO_ALL, S, SAND_ALG_PXN)));
}

// The fabric decides: an oversubscription of 4 costs what crosses leaves, which is all-to-all in
// full and a ring hardly (one of four nodes of a leaf sends out of it).
Test(collcost, tapers_cost_what_crosses_them)
{
    const double S = 8e9;
    build(16, 8, 1, 4);
    const struct sand_comm comm = place(128, (struct sand_comm_options){0});
    // Of a domain's remote traffic 12 of 15 parts leave the leaf, whose uplinks are those of one
    // node.
    near(best_s(&comm, SAND_ALL_TO_ALL, S), S * 120.0 / 128 * 12 / 15 * 4 / NIC_Bps, "all-to-all");
    near(forced_s(&comm, SAND_ALL_REDUCE, 100 * S, SAND_ALG_RING),
         2 * 127.0 / 128 * 100 * S / (8 * NIC_Bps), "ring");
    build(16, 8, 1, 1);
    const struct sand_comm full = place(128, (struct sand_comm_options){0});
    cr_assert_lt(full.tree_Bps, 8 * NIC_Bps);
    cr_assert_eq(full.ring_Bps, 8 * NIC_Bps);
}

// Domains of 72 keep on the scale-up what 8 send over NICs.
Test(collcost, domains_of_72_send_less)
{
    build(36, 4, 18, 1);
    const struct sand_comm rack = place(72, (struct sand_comm_options){0});
    const struct sand_comm racks = place(144, (struct sand_comm_options){0});
    cr_assert_eq(rack.domains, 1u);
    cr_assert_eq(racks.domains, 2u);
    cr_assert_eq(racks.ports, 72u);
    cr_assert_float_eq(racks.ring_Bps, 72 * NIC_Bps, 1);
    cr_assert_eq(racks.relays, 0);
    near(best_s(&racks, SAND_ALL_TO_ALL, 8e9), 4e9 / NIC_Bps, "across racks");
}

Test(collcost, gpudirect_off_goes_through_the_host)
{
    const double S = 8e9;
    build(2, 8, 1, 1);
    const struct sand_comm off = place(16, (struct sand_comm_options){.no_gpudirect = 1});
    near(forced_s(&off, SAND_ALL_REDUCE, S, SAND_ALG_RING),
         2 * 15.0 / 16 * S / (8 * 0.5 * 63e9 * 0.76), "staged");
}

// On several platforms, for every collective and size: times grow with bytes, the choice is at most
// any kernel's time, and no time is below the wire's.
Test(collcost, choices_are_the_fastest_and_times_grow)
{
    static const uint32_t shapes[][4] = {
        {1, 8, 1, 8}, {2, 8, 1, 16}, {16, 8, 1, 128}, {36, 4, 18, 144}, {4, 1, 1, 4}};
    for (size_t i = 0; i < 5; i++) {
        build(shapes[i][0], shapes[i][1], shapes[i][2], 2);
        scaleup.multicast = 0.6;
        kernels[1].chunk_B = kernels[4].chunk_B = 2e5;
        const struct sand_comm comm = place(shapes[i][3], (struct sand_comm_options){.sharp = 1});
        for (int kind = 0; kind < SAND_COLLECTIVES; kind++) {
            double before = 0;
            for (double bytes = 1; bytes < 1e12; bytes *= 3) {
                const struct sand_collective c = {(enum sand_collective_kind)kind, comm.ranks,
                                                  bytes};
                struct sand_coll_terms terms;
                const double best = best_s(&comm, c.kind, bytes);
                cr_assert_geq(best, before, "%s: %g B", sand_collective_name(c.kind), bytes);
                before = best;
                for (size_t k = 0; k < N_KERNELS; k++) {
                    if (kernels[k].on_request ||
                        sand_coll_cost(&constants, &comm, &c, &kernels[k], &terms) != NULL)
                        continue;
                    cr_assert_leq(best, terms.time_s, "%s: %s", sand_collective_name(c.kind),
                                  kernels[k].id);
                    cr_assert_geq(terms.time_s, terms.wire_s);
                    cr_assert_float_eq(terms.time_s, terms.latency_s + terms.wire_s + terms.fill_s,
                                       1e-15);
                }
            }
        }
        kernels[1].chunk_B = kernels[4].chunk_B = 0;
    }
}

// Both trees are trees over all nodes, and a node that is inner in one is a leaf of the other, but
// for one of them.
Test(collcost, two_trees_share_the_work)
{
    for (uint32_t n = 2; n < 200; n++) {
        uint32_t both = 0;
        for (uint32_t v = 0; v < n; v++) {
            uint32_t children[2] = {0, 0};
            for (int second = 0; second < 2; second++) {
                uint32_t at = v, steps = 0;
                while (at != SAND_NONE && steps++ <= 40)
                    at = sand_tree_parent(at, n, second);
                cr_assert_leq(steps, 34u, "node %u of %u does not reach the root", v, n);
                for (uint32_t w = 0; w < n; w++)
                    children[second] += sand_tree_parent(w, n, second) == v;
                cr_assert_leq(children[second], 2u);
            }
            both += children[0] > 0 && children[1] > 0;
        }
        cr_assert_leq(both, 2u, "%u nodes: %u are inner in both trees", n, both);
    }
}

Test(collcost, one_rank_takes_no_time)
{
    build(1, 8, 1, 1);
    const struct sand_comm one = place(1, (struct sand_comm_options){0});
    cr_assert_eq(best_s(&one, SAND_ALL_REDUCE, 1e9), 0.0);
}

Test(collcost, refusals_name_what_is_wrong)
{
    struct sand_comm comm;
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    const struct sand_comm_options options = {0};
    build(2, 8, 1, 1);
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, &diag), SAND_OK);
    cr_assert_eq(sand_comm_place(&cluster, fabric, 17, 0, &options, &comm, &diag), SAND_ERR_INPUT);
    cr_assert_eq(sand_comm_place(&cluster, fabric, 0, 0, &options, &comm, &diag), SAND_ERR_INPUT);
    cr_assert_eq(sand_comm_place(&cluster, fabric, 4, 9, &options, &comm, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_errors, 3u);
    sand_fabric_free(fabric);
    sand_diag_clear(&diag);
}

// The wire time of an all-reduce in a switch is that of the link and, for every chunk of a channel,
// a wait: counted here for messages of which chunks are as large as they get.
Test(collcost, a_channel_waits_once_a_chunk)
{
    build(1, 8, 1, 1);
    scaleup.multicast = 0.5;
    scaleup.multicast_channels = 16;
    scaleup.hop_s = 0.5e-6;
    const struct sand_comm comm = place(8, (struct sand_comm_options){0});
    struct sand_coll_kernel waits = {.algorithm = SAND_ALG_NVLS,
                                     .protocol = SAND_PROTO_SIMPLE,
                                     .rate = 1,
                                     .chunk_s = 1e-6,
                                     .chunk_least_B = 16384,
                                     .chunk_most_B = 131072};
    const double GiB = 1 << 30, chunks = 4 * GiB / 16 / 131072;
    struct sand_collective all = {SAND_ALL_REDUCE, 8, 4 * GiB};
    struct sand_coll_terms terms;
    cr_assert_null(sand_coll_cost(&constants, &comm, &all, &waits, &terms));
    cr_expect_float_eq(terms.wire_s, 4 * GiB / (0.5 * PORT_Bps) + chunks * 1.5e-6, 1e-9);
    // A message of 4 MiB has chunks of 16 to 32 KiB: between 4 and 8 times the waits a byte.
    all.bytes = 4 * 1048576.0;
    cr_assert_null(sand_coll_cost(&constants, &comm, &all, &waits, &terms));
    const double wait_s = terms.wire_s - all.bytes / (0.5 * PORT_Bps);
    cr_expect_gt(wait_s, 4 * all.bytes / 16 / 131072 * 1.5e-6);
    cr_expect_lt(wait_s, 8 * all.bytes / 16 / 131072 * 1.5e-6);
    // Longer messages take longer, also where chunks grow.
    double last_s = 0;
    for (all.bytes = 1; all.bytes < 64 * GiB; all.bytes *= 1.01) {
        cr_assert_null(sand_coll_cost(&constants, &comm, &all, &waits, &terms));
        cr_expect_gt(terms.wire_s, last_s, "%g B", all.bytes);
        last_s = terms.wire_s;
    }
}

// Where 128 bytes arrive whole, LL128 waits for its hops as LL does; its bytes are its own.
Test(collcost, ll128_has_the_latencies_of_ll_where_stores_arrive_whole)
{
    build(2, 8, 1, 1);
    struct sand_coll_kernel two[] = {{.algorithm = SAND_ALG_TREE,
                                      .protocol = SAND_PROTO_LL,
                                      .base_s = 6e-6,
                                      .scaleup_s = 1e-6,
                                      .network_s = 5e-6,
                                      .rate = 0.25},
                                     {.algorithm = SAND_ALG_TREE,
                                      .protocol = SAND_PROTO_LL128,
                                      .base_s = 14e-6,
                                      .scaleup_s = 2e-6,
                                      .network_s = 8e-6,
                                      .rate = 0.9}};
    const struct sand_collectives library = {
        .tier_sharpness = 50, .channels = 16, .kernels = two, .n_kernels = 2};
    const struct sand_collective all = {SAND_ALL_REDUCE, 16, 1 << 20};
    const struct sand_comm comm = place(16, (struct sand_comm_options){0});
    struct sand_coll_terms ll, ll128, whole;
    cr_assert_null(sand_coll_cost(&library, &comm, &all, &two[0], &ll));
    cr_assert_null(sand_coll_cost(&library, &comm, &all, &two[1], &ll128));
    scaleup.ll128_as_ll = 1;
    cr_assert_null(sand_coll_cost(&library, &comm, &all, &two[1], &whole));
    near(ll128.latency_s, 14e-6 + 14 * 2e-6 + 2 * 8e-6, "LL128");
    cr_expect_float_eq(whole.latency_s, ll.latency_s, 1e-12);
    cr_expect_float_eq(whole.wire_s, ll128.wire_s, 1e-12);
}

// A rank sends through ports of its own, whole ones: 8 ports of a node are one for each of 6 GPUs,
// and two for each of 4.
Test(collcost, senders_have_whole_ports)
{
    static const uint32_t gpus[] = {6, 4, 8}, ports[] = {8, 8, 4};
    static const double own[] = {1, 2, 1};
    for (int i = 0; i < 3; i++) {
        build(2, gpus[i], 1, 1);
        node.n_nics = ports[i];
        cluster.fabric.endpoints_per_leaf = 4 * ports[i];
        const struct sand_comm comm = place(2 * gpus[i], (struct sand_comm_options){0});
        const struct sand_collective send = {SAND_SEND, 2 * gpus[i], 1 << 30};
        struct sand_coll_terms terms;
        struct sand_diag diag = {0};
        cr_assert_eq(sand_coll_best(&constants, &comm, &send, any, &terms, &diag), SAND_OK);
        cr_expect_float_eq(terms.network_Bps, own[i] * NIC_Bps, 1, "%u GPUs", gpus[i]);
    }
}
