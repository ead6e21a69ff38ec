// Streams of transfers: which links they cross, how often, and what they get.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "ids.h"
#include "mem.h"
#include "stepfixture.h"

// Three leaves of 4 nodes with 8 NICs of 35 GB/s (50, of which 0.7 are usable) and 4:1 uplinks: 280
// GB/s each way. The job has nodes 0, 2 (leaf 0), 4 and 6 (leaf 1).
static const double nic_Bps = 35e9, trunk_Bps = 280e9;
static const uint32_t nodes[] = {0, 2, 4, 6};

static void open_case(struct step_fixture *f, enum sand_storage_seat at, uint32_t n_leaves)
{
    fixture_init(
        f, &(struct step_case){
               .n_nodes = 4, .tp = 8, .dp = 4, .nodes_per_leaf = 4, .leaf_oversubscription = 4});
    f->cluster.storage_ports =
        (struct sand_storage_ports){.n_ports = 1, .port_Bps = 50e9, .at = at, .n_leaves = n_leaves};
}

static struct sand_streams route(const struct step_fixture *f, const uint32_t *on, uint32_t n,
                                 int reading)
{
    struct sand_streams streams;
    struct sand_stream_router *router;
    cr_assert_eq(sand_stream_router_open(&f->cluster, f->fabric, reading, &router), SAND_OK);
    cr_assert_eq(sand_streams_route(router, on, n, 8, &streams, NULL), SAND_OK);
    sand_stream_router_close(router);
    return streams;
}

static uint32_t crossing(const struct step_fixture *f, const struct sand_streams *s,
                         enum sand_link_class link_class, uint32_t leaf)
{
    for (size_t i = 0; i < s->n_links; i++) {
        const struct sand_fabric_owner owner = sand_fabric_link_owner(f->fabric, s->links[i].link);
        if (owner.link_class == link_class && owner.owner == leaf) {
            cr_expect_float_eq(s->links[i].capacity_Bps, trunk_Bps, 1);
            return s->links[i].streams;
        }
    }
    return 0;
}

// All storage on leaf 0: the 16 streams of leaf 1 go up there and come down here, those of leaf 0
// meet nobody. Reads go the other way.
Test(transfer, storage_on_one_leaf)
{
    struct step_fixture f;
    open_case(&f, SAND_STORAGE_AT_LEAVES, 1);
    struct sand_streams s = route(&f, nodes, 4, 0);
    cr_expect_eq(s.n, 32);
    cr_expect_eq(s.n_links, 2);
    cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_UP, 1), 16);
    cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_DOWN, 0), 16);
    cr_expect_float_eq(sand_streams_alone_Bps(&s), trunk_Bps / 16, 1);
    sand_streams_free(&s);
    s = route(&f, nodes, 4, 1);
    cr_expect_eq(s.n_links, 2);
    cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_UP, 0), 16);
    cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_DOWN, 1), 16);
    sand_streams_free(&s);
    s = route(&f, nodes, 2, 0); // nothing but the leaf: the NICs
    cr_expect_eq(s.n_links, 0);
    cr_expect_float_eq(sand_streams_alone_Bps(&s), nic_Bps, 1);
    sand_streams_free(&s);
    fixture_free(&f);
}

// On all three leaves, stream by stream in turns: counted here one by one.
Test(transfer, storage_on_all_leaves)
{
    struct step_fixture f;
    uint32_t up[3] = {0}, down[3] = {0};
    open_case(&f, SAND_STORAGE_AT_LEAVES, 0);
    struct sand_streams s = route(&f, nodes, 4, 0);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t nic = 0; nic < 8; nic++) {
            const uint32_t own = nodes[i] / 4, to = (nodes[i] * 8 + nic) % 3;
            up[own] += own != to;
            down[to] += own != to;
        }
    for (uint32_t leaf = 0; leaf < 3; leaf++) {
        cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_UP, leaf), up[leaf]);
        cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_DOWN, leaf), down[leaf]);
    }
    sand_streams_free(&s);
    fixture_free(&f);
}

// On leaves of its own behind the spines: every stream crosses the trunk of its leaf, none another.
Test(transfer, storage_at_the_spines)
{
    struct step_fixture f;
    open_case(&f, SAND_STORAGE_AT_SPINES, 0);
    for (int reading = 0; reading < 2; reading++) {
        struct sand_streams s = route(&f, nodes, 4, reading);
        const enum sand_link_class c = reading ? SAND_LINK_LEAF_DOWN : SAND_LINK_LEAF_UP;
        cr_expect_eq(s.n_links, 2);
        cr_expect_eq(crossing(&f, &s, c, 0), 16);
        cr_expect_eq(crossing(&f, &s, c, 1), 16);
        sand_streams_free(&s);
    }
    fixture_free(&f);
}

// A node's cable that is down concerns its own streams, not the storage beside it; a leaf that
// nothing reaches does.
Test(transfer, what_is_down)
{
    struct step_fixture f;
    struct sand_streams s;
    struct sand_diag diag = {0};
    open_case(&f, SAND_STORAGE_AT_LEAVES, 1);
    sand_fabric_fail_link(f.fabric, f.fabric->first[SAND_LINK_NIC_UP], NULL); // node 0 NIC 0
    s = route(&f, nodes + 2, 2, 0);
    cr_expect_eq(crossing(&f, &s, SAND_LINK_LEAF_DOWN, 0), 16);
    sand_streams_free(&s);
    struct sand_stream_router *router;
    cr_assert_eq(sand_stream_router_open(&f.cluster, f.fabric, 0, &router), SAND_OK);
    cr_expect_eq(sand_streams_route(router, nodes, 4, 8, &s, &diag), SAND_ERR_INPUT);
    cr_expect_eq(sand_streams_route(router, nodes + 1, 3, 8, &s, NULL), SAND_OK, "of the others");
    sand_streams_free(&s);
    sand_stream_router_close(router);
    cr_expect(strstr(diag.messages[0].text, "node 0 NIC 0") != NULL, "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
    fixture_free(&f);
}

// The twin of "one flow at the pace of the slowest": every stream a flow of its own, max-min by
// the engine. The slowest of them gets what the one flow gets.
Test(transfer, one_flow_or_one_for_each_stream)
{
    struct step_fixture f;
    struct sand_streams each[32], all;
    struct sand_joint_transfer transfers[32];
    open_case(&f, SAND_STORAGE_AT_LEAVES, 2);
    all = route(&f, nodes, 4, 0);
    uint32_t links[16];
    for (size_t i = 0; i < all.n_links; i++)
        links[i] = all.links[i].link;
    for (uint32_t i = 0; i < 32; i++) {
        each[i] = (struct sand_streams){0};
        struct sand_streams of_node = route(&f, &nodes[i / 8], 1, 0);
        // Stream i % 8 of the node alone: its parity tells which of the two leaves it goes to.
        const uint32_t to = i % 2;
        each[i].links = sand_calloc(2, sizeof *each[i].links);
        for (size_t l = 0; l < of_node.n_links; l++) {
            const struct sand_fabric_owner owner =
                sand_fabric_link_owner(f.fabric, of_node.links[l].link);
            const uint32_t seat = to == 0 ? 0 : 1; // leaves 0 and 1 have the storage
            const int crossed = nodes[i / 8] / 4 != seat &&
                                (owner.link_class == SAND_LINK_LEAF_UP || owner.owner == seat);
            if (crossed)
                each[i].links[each[i].n_links++] =
                    (struct sand_stream_link){of_node.links[l].link, 1, trunk_Bps};
        }
        sand_streams_free(&of_node);
        transfers[i] = (struct sand_joint_transfer){each[i].links, each[i].n_links, nic_Bps};
    }
    struct sand_joint_question q = {
        .links = links, .n_links = all.n_links, .transfers = transfers, .n_transfers = 32};
    const struct sand_joint_solution apart = fixture_joint(&q, NULL);
    double slowest_Bps = INFINITY;
    for (int i = 0; i < 32; i++)
        slowest_Bps = fmin(slowest_Bps, apart.stream_Bps[i]);
    const struct sand_joint_transfer one = {all.links, all.n_links, all.nic_Bps};
    q.transfers = &one;
    q.n_transfers = 1;
    const struct sand_joint_solution together = fixture_joint(&q, NULL);
    cr_expect_float_eq(together.stream_Bps[0], slowest_Bps, 1e-6 * slowest_Bps, "%g, %g",
                       together.stream_Bps[0], slowest_Bps);
    cr_expect_float_eq(together.stream_Bps[0], sand_streams_alone_Bps(&all), 1e-6 * slowest_Bps);
    for (int i = 0; i < 32; i++)
        sand_free(each[i].links);
    sand_streams_free(&all);
    fixture_free(&f);
}

// A packed question with transfers is read back as it was, and never beyond its end.
Test(transfer, bytes_are_checked)
{
    struct step_fixture f;
    open_case(&f, SAND_STORAGE_AT_SPINES, 0);
    struct sand_streams s = route(&f, nodes, 4, 0);
    const uint32_t links[] = {s.links[0].link, s.links[1].link};
    const struct sand_joint_transfer transfer = {s.links, s.n_links, s.nic_Bps};
    const struct sand_joint_question q = {.steps = &f.question,
                                          .n = 1,
                                          .links = links,
                                          .n_links = 2,
                                          .transfers = &transfer,
                                          .n_transfers = 1};
    fixture_joint_bytes(&q);
    sand_streams_free(&s);
    fixture_free(&f);
}

static enum sand_rc try_all(const struct step_fixture *f)
{
    struct sand_stream_router *router = NULL;
    struct sand_joint_problem *problem = NULL, *again = NULL;
    struct sand_streams s = {0};
    void *bytes = NULL;
    size_t size = 0;
    enum sand_rc rc = sand_stream_router_open(&f->cluster, f->fabric, 0, &router);
    if (rc == SAND_OK)
        rc = sand_streams_route(router, nodes, 4, 8, &s, NULL);
    if (rc == SAND_OK) {
        const uint32_t links[] = {s.links[0].link, s.links[1].link};
        const struct sand_joint_transfer transfer = {s.links, s.n_links, s.nic_Bps};
        const struct sand_joint_question q = {
            .links = links, .n_links = 2, .transfers = &transfer, .n_transfers = 1};
        rc = sand_joint_prepare(&q, NULL, NULL, &problem, NULL);
    }
    if (rc == SAND_OK)
        rc = sand_joint_pack(problem, &bytes, &size);
    if (rc == SAND_OK)
        rc = sand_joint_unpack(bytes, size, &again);
    sand_joint_problem_free(problem);
    sand_joint_problem_free(again);
    sand_free(bytes);
    sand_streams_free(&s);
    sand_stream_router_close(router);
    return rc;
}

// Every allocation on the way may fail: an error comes back, nothing else.
Test(transfer, out_of_memory)
{
    struct step_fixture f;
    open_case(&f, SAND_STORAGE_AT_SPINES, 0);
    enum sand_rc rc = SAND_ERR_NOMEM;
    uint64_t k = 1;
    for (; rc != SAND_OK; k++) {
        sand_mem_fail_at(k);
        rc = try_all(&f);
        sand_mem_fail_at(0);
        cr_assert(rc == SAND_OK || rc == SAND_ERR_NOMEM, "allocation %lu: %s", (unsigned long)k,
                  sand_rc_text(rc));
        cr_assert_lt(k, 10000);
    }
    cr_expect_gt(k, 10);
    fixture_free(&f);
}
