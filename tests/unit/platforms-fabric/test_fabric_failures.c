// Any single link or switch down, on random fabrics of every kind: no route crosses it, none loops,
// and what has no route really is cut off.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "fabric_walk.h"
#include "mem.h"
#include "rng.h"
#include "wired_twin.h"

static uint64_t draw(uint64_t i, uint64_t index)
{
    return sand_rng_u64((struct sand_rng){.seed = 11}, SAND_STREAM_TEST, i, index);
}

static void draw_tree(struct fixture *f, uint64_t i, uint64_t d)
{
    struct sand_fabric_spec *s = &f->cluster.fabric;
    f->cluster.n_nodes = 2 + (uint32_t)(d >> 8) % 14;
    f->node.n_nics = f->node.n_gpus = 1 + (uint32_t)(d >> 16) % 4;
    s->radix = 0;
    s->n_tiers = s->kind == SAND_FABRIC_RAIL_ONLY ? 2 : 2 + (d >> 20) % 2;
    s->endpoints_per_leaf = 1 + (uint32_t)(d >> 24) % 6;
    s->nodes_per_unit = 1 + (uint32_t)(d >> 28) % 4;
    s->leaves_per_pod = 1 + (uint32_t)(d >> 32) % 3;
    s->units_per_pod = 1 + (uint32_t)(d >> 36) % 2;
    s->leaf_oversubscription = 0.25; // uplinks enough for any number of spines below
    s->pod_oversubscription = 0.25;
    s->spines = 1 + (uint32_t)(d >> 40) % 4;
    s->cores = s->n_tiers == 3 ? s->spines * (1 + (uint32_t)(d >> 44) % 2) : 0;
    s->planes = 1 + (uint32_t)(d >> 48) % 2;
    s->cross_rail = (enum sand_cross_rail)((d >> 52) % 2);
    s->spreading = (enum sand_spreading)((d >> 54) % 4);
    s->adaptive_efficiency = 0.8;
    s->queue_pairs = 3;
    s->hash_seed = (uint32_t)i;
    f->node.scaleup = (d >> 58) % 2 ? SAND_SCALEUP_NVSWITCH : SAND_SCALEUP_NONE;
}

static void draw_dragonfly_plus(struct fixture *f, uint64_t i, uint64_t d)
{
    struct sand_fabric_spec *s = &f->cluster.fabric;
    f->node.n_nics = f->node.n_gpus = 1;
    s->radix = 0;
    s->leaves_per_pod = 1 + (uint32_t)(d >> 8) % 3;
    s->spines = 1 + (uint32_t)(d >> 16) % 3;
    s->endpoints_per_leaf = 1 + (uint32_t)(d >> 24) % 2;
    s->global_links = 1 + (uint32_t)(d >> 32) % 3;
    s->leaf_links = 1 + (uint32_t)(d >> 36) % 2;
    s->groups = 1 + (uint32_t)(d >> 40) % (s->spines * s->global_links + 1);
    s->spreading = (enum sand_spreading)((d >> 48) % 4);
    s->adaptive_efficiency = 0.8;
    s->queue_pairs = 3;
    s->hash_seed = (uint32_t)i;
    s->nonminimal = s->spreading % 2 ? (double)((d >> 56) % 3) / 2 : 0; // static, hash
    f->cluster.n_nodes = s->groups * s->leaves_per_pod * s->endpoints_per_leaf;
}

static void draw_direct(struct fixture *f, uint64_t d)
{
    struct sand_fabric_spec *s = &f->cluster.fabric;
    f->node.n_nics = f->node.n_gpus = 1;
    s->spreading = SAND_SPREAD_STATIC;
    s->radix = 0;
    if (s->kind == SAND_FABRIC_TORUS) {
        s->size[0] = 2 + (uint32_t)(d >> 8) % 3;
        s->size[1] = 2 + (uint32_t)(d >> 16) % 3;
        s->size[2] = 1 + (uint32_t)(d >> 24) % 3;
        s->block = (uint32_t)(d >> 32) % 2 * 2; // cubes of eight, with circuits or cables
        s->circuits = (d >> 40) % 2;
        for (int i = 0; i < 3 && s->block > 0; i++)
            s->size[i] = 2 + (uint32_t)(d >> (8 + 8 * i)) % 2 * 2;
        f->cluster.n_nodes = s->size[0] * s->size[1] * s->size[2];
        return;
    }
    s->routers = 1 + (uint32_t)(d >> 8) % 4;
    s->global_links = 1 + (uint32_t)(d >> 16) % 3;
    s->endpoints_per_router = 1 + (uint32_t)(d >> 24) % 2;
    s->nonminimal = (double)((d >> 48) % 3) / 2;
    s->groups = 1 + (uint32_t)(d >> 32) % (s->routers * s->global_links + 1);
    f->cluster.n_nodes = s->groups * s->routers * s->endpoints_per_router;
}

// A random tree, dragonfly or torus wired switch by switch, with up to three cables more.
static struct sand_fabric *draw_wired(struct fixture *f, uint64_t i)
{
    struct sand_fabric *fabric = NULL;
    struct wired_twin twin;
    if (!wired_twin_make(&f->cluster, &twin))
        return NULL;
    struct sand_fabric_spec *s = &twin.cluster.fabric;
    for (uint64_t k = 0; k < draw(i, 5) % 4 && s->n_switches > 1; k++) {
        const uint64_t a = draw(i, 6 + 2 * k) % s->n_switches;
        const uint64_t b = draw(i, 7 + 2 * k) % (s->n_switches - 1);
        twin.cables[s->n_cables++] = (struct sand_wired_cable){
            twin.ids[a], twin.ids[b < a ? b : b + 1], 1 + (uint32_t)k, 0, 0};
    }
    cr_assert_eq(sand_fabric_build(&twin.cluster, &fabric, NULL), SAND_OK);
    wired_twin_free(&twin); // the fabric keeps nothing of it
    return fabric;
}

static struct sand_fabric *draw_fabric(uint64_t i, struct fixture *f)
{
    struct sand_fabric *fabric = NULL;
    const uint64_t d = draw(i, 0);
    fixture_set(f);
    f->cluster.fabric.kind = (enum sand_fabric_kind)(d % 6);
    if (f->cluster.fabric.kind == SAND_FABRIC_DRAGONFLY_PLUS)
        draw_dragonfly_plus(f, i, d);
    else if (f->cluster.fabric.kind < SAND_FABRIC_DRAGONFLY)
        draw_tree(f, i, d);
    else
        draw_direct(f, d);
    if (i % 3 == 0)
        return draw_wired(f, i);
    return sand_fabric_build(&f->cluster, &fabric, NULL) == SAND_OK ? fabric : NULL;
}

// Takes one thing down; returns whether there was such a thing.
static int break_something(struct sand_fabric *f, uint64_t i)
{
    if (draw(i, 1) % 2 == 0) {
        const uint32_t first = f->first[SAND_LINK_NIC_UP];
        const uint32_t link = first + (uint32_t)(draw(i, 2) % (f->n_links - first));
        cr_assert_eq(sand_fabric_fail_link(f, link, NULL), SAND_OK);
        cr_assert(f->links[link].is_down && f->links[sand_fabric_reverse(f, link)].is_down);
        return 1;
    }
    struct sand_fabric_counts c;
    sand_fabric_count(f, &c);
    const uint64_t sizes[] = {c.leaves + c.routers, c.spines, c.cores};
    const uint32_t tier = (uint32_t)(draw(i, 3) % 3);
    if (sizes[tier] == 0) {
        cr_assert_eq(sand_fabric_fail_switch(f, tier, 0, NULL), SAND_ERR_INPUT);
        return 0;
    }
    const uint32_t index = (uint32_t)(draw(i, 4) % sizes[tier]);
    cr_assert_eq(sand_fabric_fail_switch(f, tier, index, NULL), SAND_OK);
    return 1;
}

// Whether working links lead from NIC to NIC: passes over all links until nothing new is reached.
static int is_joined(const struct sand_fabric *f, uint32_t from, uint32_t to, uint8_t *reached)
{
    uint32_t ends[2];
    for (uint32_t v = 0; v < f->n_endpoints + f->n_switches; v++)
        reached[v] = v == from;
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t l = f->first[SAND_LINK_NIC_UP]; l < f->n_links; l++) {
            sand_fabric_ends(f, l, ends);
            const int passes = ends[0] >= f->n_endpoints || ends[0] == from;
            if (!f->links[l].is_down && passes && reached[ends[0]] && !reached[ends[1]])
                again = reached[ends[1]] = 1;
        }
    }
    return reached[to];
}

// Where traffic between rails leaves by the NIC of the other rail, that NIC has to be joined.
static uint32_t start_of(const struct sand_fabric *f, uint32_t from, uint32_t to)
{
    const int relays = f->n_rails > 1 && from % f->nics_per_node != to % f->nics_per_node &&
                       f->cross_rail == SAND_CROSS_RAIL_SCALEUP &&
                       sand_fabric_scaleup_out(f, 0, 0) != SAND_NONE;
    return relays ? from - from % f->nics_per_node + to % f->nics_per_node : from;
}

struct tally {
    unsigned fabrics, kept, moved, cut;
    unsigned of_kind[SAND_FABRIC_WIRED + 1];
};

static void check_pair(const struct sand_fabric *f, const struct sand_fabric *whole, uint32_t from,
                       uint32_t to, uint8_t *reached, struct tally *tally)
{
    uint32_t links[SAND_ROUTE_MAX], before[SAND_ROUTE_MAX];
    const uint32_t path = f->n_paths - 1;
    const uint32_t n = sand_fabric_route_path(f, from, to, path, links);
    const uint32_t n_before = sand_fabric_route_path(whole, from, to, path, before);
    if (n == SAND_NONE) {
        const uint32_t start = start_of(f, from, to);
        cr_assert(start != to && !is_joined(f, start, to, reached));
        tally->cut++;
        return;
    }
    walk_route(f, from, to, links, n);
    int hit = 0, same = n == n_before;
    for (uint32_t i = 0; i < n_before; i++)
        hit |= f->links[before[i]].is_down;
    for (uint32_t i = 0; same && i < n; i++)
        same = links[i] == before[i];
    cr_assert_neq(hit, same, "a route moves exactly if it is hit");
    tally->kept += !hit;
    tally->moved += hit;
}

Test(fabric_failures, single_failures_of_random_fabrics, .timeout = 60)
{
    struct tally tally = {0};
    for (uint64_t i = 0; i < 500; i++) {
        struct fixture f;
        struct sand_fabric *whole = draw_fabric(i, &f), *fabric = draw_fabric(i, &f);
        if (fabric == NULL || !break_something(fabric, i)) {
            sand_fabric_free(whole);
            sand_fabric_free(fabric);
            continue;
        }
        uint8_t *reached = sand_calloc(fabric->n_endpoints + fabric->n_switches, 1);
        tally.fabrics++;
        tally.of_kind[fabric->kind]++;
        for (uint32_t from = 0; from < fabric->n_endpoints; from++)
            for (uint32_t to = 0; to < fabric->n_endpoints; to++)
                if (from != to)
                    check_pair(fabric, whole, from, to, reached, &tally);
        sand_free(reached);
        sand_fabric_free(whole);
        sand_fabric_free(fabric);
    }
    cr_expect_gt(tally.fabrics, 200);
    for (int kind = 0; kind <= SAND_FABRIC_WIRED; kind++)
        cr_expect_gt(tally.of_kind[kind], 20);
    cr_expect_gt(tally.kept, 10000);
    cr_expect_gt(tally.moved, 1000);
    cr_expect_gt(tally.cut, 1000);
}

// One of four spines of an aggregate: a quarter of every leaf's uplinks, nothing else; all four:
// the leaves are cut off from each other.
Test(fabric_failures, an_aggregate_loses_its_share)
{
    struct fixture f;
    fixture_set(&f);
    f.cluster.n_nodes = 32;
    f.cluster.fabric.radix = 64;
    struct sand_fabric *fabric;
    cr_assert_eq(sand_fabric_build(&f.cluster, &fabric, NULL), SAND_OK);
    cr_assert_eq(fabric->n_spines, 4);
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t lost = 1; lost <= 4; lost++) {
        cr_assert_eq(sand_fabric_fail_switch(fabric, 1, lost - 1, NULL), SAND_OK);
        const struct sand_fabric_link *up = &fabric->links[fabric->first[SAND_LINK_LEAF_UP]];
        if (lost < 4)
            cr_expect_float_eq(up->speed, 1 - lost / 4.0, 1e-12);
        cr_expect_eq(sand_fabric_route(fabric, 0, 40, links) == SAND_NONE, lost == 4);
        cr_expect_eq(sand_fabric_route(fabric, 0, 31, links), 2);
    }
    sand_fabric_free(fabric);
}

// (1-p) / (1-p+pW) at 400 Gb/s, 10 us, 4 KiB: W = 122; the values of the formula, by hand.
Test(fabric_failures, goodput_of_go_back_n)
{
    static const double rows[][2] = {
        {0, 1}, {1e-5, 0.9988}, {1e-4, 0.988}, {1e-3, 0.891}, {1e-2, 0.448}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_float_eq(sand_fabric_goodput(rows[i][0], 50e9 * 10e-6 / 4096), rows[i][1], 5e-4);
}

static enum sand_rc build_impaired(struct fixture *f, const struct sand_impaired *impaired,
                                   size_t n, struct sand_fabric **fabric, struct sand_diag *diag)
{
    fixture_set(f);
    f->cluster.n_nodes = 64;
    f->cluster.fabric.spreading = SAND_SPREAD_STATIC;
    f->cluster.fabric.loss = 1e-5;
    f->cluster.fabric.loss_window = 122;
    f->cluster.impaired = impaired;
    f->cluster.n_impaired = n;
    return sand_fabric_build(&f->cluster, fabric, diag);
}

// Parts by name: a switch is down, links are down, slow or lossy both ways.
Test(fabric_failures, impaired_parts_by_name)
{
    static const struct sand_impaired parts[] = {{"spine1", 0, 0},
                                                 {"leaf0-spine0 up", 0.5, 0},
                                                 {"node3 nic1 down", 1, 1e-4},
                                                 {"leaf2-spine3 down", 0, 0}};
    struct fixture f;
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(build_impaired(&f, parts, 4, &fabric, NULL), SAND_OK);
    const struct sand_fabric_link *links = fabric->links;
    const uint32_t up = fabric->first[SAND_LINK_LEAF_UP], down = fabric->first[SAND_LINK_LEAF_DOWN];
    const uint32_t spines = fabric->spines_per_pod;
    for (uint32_t leaf = 0; leaf < fabric->n_leaves; leaf++)
        for (uint32_t s = 0; s < spines; s++) {
            const int expected = s == 1 || (leaf == 2 && s == 3);
            cr_assert_eq(links[up + leaf * spines + s].is_down, expected);
            cr_assert_eq(links[down + leaf * spines + s].is_down, expected);
        }
    cr_expect_eq(links[up].speed, 0.5);
    cr_expect_eq(links[down].speed, 0.5);
    const double lossy = 1 - (1 - 1e-5) * (1 - 1e-4);
    cr_expect_float_eq(links[fabric->first[SAND_LINK_NIC_UP] + 25].goodput,
                       (1 - lossy) / (1 - lossy + 122 * lossy), 1e-12);
    cr_expect_float_eq(links[up + 2].goodput, sand_fabric_goodput(1e-5, 122), 1e-12);
    sand_fabric_free(fabric);
}

Test(fabric_failures, impaired_parts_that_are_wrong)
{
    static const struct {
        struct sand_impaired part;
        const char *said;
    } rows[] = {
        {{"spine99", 0, 0}, "has no part \"spine99\""},
        {{"spine1", 0.5, 0}, "can only be down"},
        {{"leaf0-spin0 up", 0, 0}, "has no part \"leaf0-spin0 up\""},
        {{"router0", 0, 0}, "has no part \"router0\""},
        {{"node3 nic1 up", 0, 1e-4}, "is down and lossy"},
        {{"node3 nic1 up", 2, 0}, "speed 2 is 0 to 1"},
        {{"node3 gpu1 out", 0, 0}, "takes its node out of service"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        struct sand_fabric *fabric = NULL;
        struct sand_diag diag = {0};
        cr_expect_eq(build_impaired(&f, &rows[i].part, 1, &fabric, &diag), SAND_ERR_INPUT);
        cr_assert(diag.n_messages == 1 && strstr(diag.messages[0].text, rows[i].said), "%s: %s",
                  rows[i].said, diag.n_messages ? diag.messages[0].text : "nothing");
        cr_expect_null(fabric);
        sand_diag_clear(&diag);
    }
}
