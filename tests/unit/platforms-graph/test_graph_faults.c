// Every fault domain is in one group, and none loses more than what `fabric faults` says of a
// group of its kind.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "faultdomain.h"
#include "graph_fixture.h"

TestSuite(graph_faults, .timeout = 120);

static int fewer_or_same(double a, double b)
{
    return a <= b * (1 + 1e-9) + 1;
}

// Whether some line of the table says at least as much of a loss.
static int told(const struct sand_fault_domain *groups, size_t n,
                const struct sand_fault_domain *one)
{
    for (size_t i = 0; i < n; i++)
        if (groups[i].kind == one->kind && groups[i].effect.nodes_dead == one->effect.nodes_dead &&
            groups[i].effect.nodes_cut == one->effect.nodes_cut &&
            groups[i].effect.nodes_slow == one->effect.nodes_slow &&
            fewer_or_same(groups[i].effect.bisection_Bps, one->effect.bisection_Bps))
            return 1;
    return 0;
}

// Computes every domain of a kind by its name: none may lose more than the table says.
static void compare(const struct plant *p, const struct sand_graph *g, enum sand_domain_kind kind,
                    uint32_t n_members, const char *what)
{
    struct sand_fault_domain *groups = NULL;
    size_t n = 0;
    uint32_t found = 0, alike = 0;
    cr_assert_eq(sand_fault_domains(g, &p->cluster, &groups, &n, NULL), SAND_OK);
    for (uint32_t i = 0; i < n_members; i++) {
        struct sand_fault_domain one = {.kind = kind, .index = i};
        char name[48];
        if (kind <= SAND_DOMAIN_CORE && (enum sand_domain_kind)g->switches[i].tier != kind)
            continue;
        sand_fault_domain_name(g, &one, name, sizeof name);
        cr_assert_eq(sand_fault_domain_find(g, &p->cluster, name, &one, NULL), SAND_OK);
        cr_expect(told(groups, n, &one), "%s: %s leaves %g B/s", what, name,
                  one.effect.bisection_Bps);
        found++;
    }
    for (size_t i = 0; i < n; i++)
        alike += groups[i].kind == kind ? groups[i].n_alike : 0;
    cr_expect_eq(alike, found);
    sand_free(groups);
}

static void all_speak(const struct plant *p, const char *what)
{
    struct sand_graph *g = plant_graph(p);
    const uint32_t rack = p->cluster.nodes_per_rack, racks = (g->n_nodes + rack - 1) / rack;
    const uint32_t per_row = p->cluster.racks_per_row > 0 ? p->cluster.racks_per_row : racks;
    for (enum sand_domain_kind kind = SAND_DOMAIN_LEAF; kind <= SAND_DOMAIN_CORE; kind++)
        compare(p, g, kind, g->n_switches, what);
    compare(p, g, SAND_DOMAIN_RACK, racks, what);
    compare(p, g, SAND_DOMAIN_ROW, (racks + per_row - 1) / per_row, what);
    uint32_t n_feeds = 0; // one begins with every row
    for (uint32_t i = 0; i < racks && p->cluster.racks_per_pdu > 0; i++)
        n_feeds += i % per_row % p->cluster.racks_per_pdu == 0;
    compare(p, g, SAND_DOMAIN_PDU, n_feeds, what);
    sand_graph_free(g);
}

static void plant_kind(struct plant *p, const struct sand_fabric_spec *spec, uint32_t nodes,
                       uint32_t per_rack)
{
    plant_spec(p, spec, nodes);
    p->cluster.nodes_per_rack = per_rack;
}

// A router next to the cut between the halves takes a cable of the bisection along, others do not.
Test(graph_faults, of_tori)
{
    struct plant p;
    struct sand_fabric_spec spec = {.kind = SAND_FABRIC_TORUS, .size = {8, 4, 2}};
    plant_kind(&p, &spec, 64, 2);
    all_speak(&p, "8 x 4 x 2");
    spec = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS, .size = {4, 4, 8}, .twisted = 1};
    plant_kind(&p, &spec, 128, 4);
    all_speak(&p, "4 x 4 x 8 twisted");
    spec = (struct sand_fabric_spec){
        .kind = SAND_FABRIC_TORUS, .size = {8, 4, 4}, .block = 4, .circuits = 1};
    plant_kind(&p, &spec, 128, 3);
    all_speak(&p, "two cubes");
}

// The routers of a group, and its spines, reach different groups.
Test(graph_faults, of_dragonflies)
{
    struct plant p;
    struct sand_fabric_spec spec = {.kind = SAND_FABRIC_DRAGONFLY,
                                    .groups = 9,
                                    .routers = 4,
                                    .endpoints_per_router = 2,
                                    .global_links = 2};
    plant_kind(&p, &spec, 72, 2);
    all_speak(&p, "dragonfly");
    plant_kind(&p, &spec, 72, 3);
    all_speak(&p, "dragonfly, racks of one router and a half");
    spec = (struct sand_fabric_spec){.kind = SAND_FABRIC_DRAGONFLY_PLUS,
                                     .groups = 7,
                                     .leaves_per_pod = 3,
                                     .spines = 3,
                                     .endpoints_per_leaf = 3,
                                     .global_links = 2,
                                     .leaf_links = 1};
    plant_kind(&p, &spec, 63, 3);
    all_speak(&p, "dragonfly+");
}

// Trees of two and three tiers, of any oversubscription, their leaves and pods often partly filled,
// half of them with a slow NIC.
Test(graph_faults, of_random_trees)
{
    const struct sand_impaired slow[] = {{.part = "node0 nic0 up", .speed = 0.5}};
    for (uint64_t draw = 0; draw < 200; draw++) {
        struct plant p;
        char what[32];
        plant_random(&p, draw);
        p.cluster.nodes_per_rack = pick(draw, 40, 1, 3);
        p.cluster.racks_per_row = pick(draw, 41, 0, 3);
        p.cluster.racks_per_pdu = pick(draw, 42, 0, 2);
        if (draw % 2) {
            p.cluster.impaired = slow;
            p.cluster.n_impaired = 1;
        }
        snprintf(what, sizeof what, "tree %d", (int)draw);
        all_speak(&p, what);
    }
}
