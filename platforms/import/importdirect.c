// Dragonflies and tori that our own exports state, checked cable by cable before they are believed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "importtree.h"

// NIC e is at switch e / per_switch, one port each.
static int nics_are_in_order(const struct import_graph *g, const struct import_tree *t,
                             uint32_t per_switch)
{
    uint64_t n = 0;
    for (size_t i = 0; i < g->n_ports; i++) {
        const struct import_port *p = &g->ports[i];
        const uint64_t nic = (uint64_t)p->node * t->nics_per_node + p->nic;
        if (p->n_nics == 0 || nic / per_switch != p->at ||
            (nic + p->n_nics - 1) / per_switch != p->at)
            return 0;
        n += p->n_nics;
    }
    return n == (uint64_t)t->n_nodes * t->nics_per_node;
}

static int is_whole(double value)
{
    return value > 0.5 && fabs(value - nearbyint(value)) < 1e-6;
}

// ---- torus --------------------------------------------------------------------------------------

// Places are numbered cube after cube, x fastest in each and among them.
static void split(const struct import_direct *d, uint32_t n, uint32_t at[3])
{
    const uint32_t b = d->block > 0 ? d->block : 1, inside = n % (b * b * b);
    const uint32_t cube = n / (b * b * b), x = d->size[0] / b, y = d->size[1] / b;
    at[0] = cube % x * b + inside % b;
    at[1] = cube / x % y * b + inside / b % b;
    at[2] = cube / x / y * b + inside / b / b;
}

// The sides of a twisted torus are n and 2n (and 1): what closes a ring of n also leads n places on
// in the dimensions of 2n (Camara et al., IEEE TPDS 21(12), 2010).
static uint32_t twist_of(const struct import_direct *d)
{
    uint32_t n = UINT32_MAX;
    for (int i = 0; i < 3; i++)
        n = d->size[i] > 1 && d->size[i] < n ? d->size[i] : n;
    for (int i = 0; i < 3; i++)
        if (d->size[i] > 1 && d->size[i] != n && d->size[i] != 2 * (uint64_t)n)
            return 0;
    return d->twisted ? n : 0;
}

static int leads_to(const struct import_direct *d, const uint32_t from[3], const uint32_t to[3],
                    int dim)
{
    const uint32_t n = twist_of(d);
    uint32_t at[3] = {from[0], from[1], from[2]};
    at[dim] = (at[dim] + 1) % d->size[dim];
    for (int i = 0; i < 3 && at[dim] == 0 && d->size[dim] == n; i++)
        if (d->size[i] == 2 * n)
            at[i] = (at[i] + n) % d->size[i];
    return memcmp(at, to, sizeof at) == 0;
}

// The dimension in which two places are neighbours; 3: they are none.
static int dimension_of(const struct import_direct *d, uint32_t a, uint32_t b)
{
    uint32_t x[3], y[3];
    split(d, a, x);
    split(d, b, y);
    for (int i = 0; i < 3; i++)
        if (a != b && (leads_to(d, x, y, i) || leads_to(d, y, x, i)))
            return i;
    return 3;
}

static int has_cubes(const struct import_direct *d)
{
    for (int i = 0; i < 3 && d->block > 0; i++)
        if (d->block > d->size[i] || d->size[i] % d->block != 0)
            return 0;
    return 1;
}

// Rings of two places have both cables between them.
int import_is_torus(const struct import_graph *g, const struct import_tree *t,
                    const struct import_direct *d)
{
    const uint64_t places = (uint64_t)d->size[0] * d->size[1] * d->size[2];
    uint64_t need = 0, n = 0;
    if (places != g->n_switches || places == 0 || !has_cubes(d) || !(t->port_Bps > 0) ||
        !nics_are_in_order(g, t, 1))
        return 0;
    for (int dim = 0; dim < 3; dim++)
        need += d->size[dim] > 1 ? places : 0;
    for (size_t i = 0; i < g->n_cables; i++) {
        const int dim = dimension_of(d, g->cables[i].a, g->cables[i].b);
        const double cables = g->cables[i].Bps / t->port_Bps;
        if (dim == 3 || !is_whole(cables) || cables > (d->size[dim] == 2 ? 2.1 : 1.1))
            return 0;
        n += (uint64_t)nearbyint(cables);
    }
    return n == need;
}

static void open_fabric(struct import_job *job, struct import_xml *xml, const struct import_tree *t,
                        const struct import_node *node, const char *element)
{
    import_cluster_open(job, xml, t, node, t->n_nodes);
    fprintf(xml->out, "    <%s", element);
}

static int close_fabric(struct import_job *job, struct import_xml *xml, const struct import_tree *t,
                        const struct import_graph *graph, const struct import_node *node)
{
    import_fabric_common(job, xml, t, node, t->port_Bps);
    fprintf(xml->out, "/>\n");
    import_cluster_close(xml, graph, NULL);
    return import_xml_close(job, xml);
}

// Of the attributes that every fabric may have, those of these two: no rails, tiers or spines.
static size_t keep_extras(const struct import_tree *t, int routes_one_way, int has_spines,
                          struct import_extra extras[32])
{
    static const char *const rails_only[] = {"rails", "cross_rail"};
    static const char *const tree_only[] = {"spine_latency", "core_latency"};
    static const char *const spread_only[] = {"hash_seed", "queue_pairs", "hash_polarised",
                                              "adaptive_efficiency"};
    size_t n = 0;
    for (size_t i = 0; i < t->n_fabric_extras && n < 32; i++) {
        const char *name = t->fabric_extras[i].name;
        int kept = 1;
        for (size_t k = 0; k < 2; k++)
            kept = kept && strcmp(name, rails_only[k]) != 0 &&
                   (has_spines || strcmp(name, tree_only[k]) != 0);
        for (size_t k = 0; routes_one_way && k < 4; k++)
            kept = kept && strcmp(name, spread_only[k]) != 0;
        if (kept)
            extras[n++] = t->fabric_extras[i];
    }
    return n;
}

int import_torus_write(struct import_job *job, const struct import_graph *graph,
                       const struct import_tree *tree, const struct import_direct *d,
                       const struct import_node *node)
{
    static const char *const names[] = {"x", "y", "z"};
    struct import_extra extras[32];
    struct import_tree t = *tree;
    struct import_xml xml;
    t.spreading = "static"; // for what is assumed: dimension after dimension
    import_assume_common(job, &t);
    t.spreading = NULL;
    t.n_fabric_extras = keep_extras(tree, 1, 0, extras);
    t.fabric_extras = extras;
    if (!import_xml_open(job, &xml))
        return 0;
    open_fabric(job, &xml, &t, node, "torus");
    for (int dim = 0; dim < 3; dim++)
        import_xml_attribute(&xml, names[dim], "%" PRIu32, d->size[dim]);
    if (d->block > 0)
        import_xml_attribute(&xml, "block", "%" PRIu32, d->block);
    return close_fabric(job, &xml, &t, graph, node);
}

// ---- dragonfly ----------------------------------------------------------------------------------

// Cables between any two groups whose `routers` have `links` global ports each.
static uint32_t group_links(const struct import_direct *d, uint32_t routers)
{
    return d->groups > 1 ? (uint32_t)((uint64_t)routers * d->global_links / (d->groups - 1)) : 0;
}

// Global cables that the wiring lays from router a of group `from` to router b of group `to`;
// platforms/fabric/fabricgroups.h has the rule.
static uint32_t globals_between(const struct import_direct *d, uint32_t routers, uint32_t from,
                                uint32_t a, uint32_t to, uint32_t b)
{
    const uint32_t others = d->groups - 1;
    const uint32_t offset = (to + d->groups - from) % d->groups - 1;
    const uint32_t back = (from + d->groups - to) % d->groups - 1;
    uint32_t n = 0;
    for (uint32_t copy = 0; copy < group_links(d, routers); copy++)
        n += (copy * others + offset) / d->global_links == a &&
             (copy * others + back) / d->global_links == b;
    return n;
}

static int are_sizes(const struct import_direct *d, const struct import_graph *g, uint64_t switches)
{
    return switches == g->n_switches && d->groups > 0 && d->groups <= 65536 &&
           d->global_links <= 65536 && (d->global_links > 0 || d->groups == 1);
}

static uint32_t cables_between(const struct import_direct *d, uint32_t a, uint32_t b)
{
    const uint32_t from = a / d->routers, to = b / d->routers;
    return from == to ? a != b
                      : globals_between(d, d->routers, from, a % d->routers, to, b % d->routers);
}

typedef uint32_t cable_rule(const struct import_direct *d, uint32_t a, uint32_t b);

// Whether there are `need` cables in all, as many between any two switches as the rule says.
static int are_cables(const struct import_graph *g, const struct import_tree *t,
                      const struct import_direct *d, cable_rule *rule, uint64_t need)
{
    uint64_t n = 0;
    for (size_t i = 0; i < g->n_cables; i++) {
        const uint32_t is = rule(d, g->cables[i].a, g->cables[i].b);
        if (is == 0 || fabs(g->cables[i].Bps / t->port_Bps - is) > 1e-6)
            return 0;
        n += is;
    }
    return n == need;
}

int import_is_dragonfly(const struct import_graph *g, const struct import_tree *t,
                        const struct import_direct *d)
{
    const uint64_t switches = (uint64_t)d->groups * d->routers;
    if (!are_sizes(d, g, switches) || d->routers == 0 || d->per_router == 0 || !(t->port_Bps > 0) ||
        !nics_are_in_order(g, t, d->per_router))
        return 0;
    return are_cables(g, t, d, cables_between,
                      switches * (d->routers - 1) / 2 +
                          (uint64_t)d->groups * (d->groups - 1) / 2 * group_links(d, d->routers));
}

// Leaves come first, then spines, group after group.
static uint32_t cables_between_plus(const struct import_direct *d, uint32_t a, uint32_t b)
{
    const uint32_t n_leaves = d->groups * d->leaves;
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (high < n_leaves)
        return 0;
    const uint32_t spine = high - n_leaves, group = spine / d->spines;
    if (low < n_leaves)
        return low / d->leaves == group ? d->leaf_links : 0;
    const uint32_t other = low - n_leaves;
    return other / d->spines == group
               ? 0
               : globals_between(d, d->spines, other / d->spines, other % d->spines, group,
                                 spine % d->spines);
}

int import_is_dragonfly_plus(const struct import_graph *g, const struct import_tree *t,
                             const struct import_direct *d)
{
    const uint64_t per_group = (uint64_t)d->leaves + d->spines;
    if (!are_sizes(d, g, per_group * d->groups) || d->leaves == 0 || d->spines == 0 ||
        d->per_leaf == 0 || d->leaf_links == 0 || !(t->port_Bps > 0) ||
        !nics_are_in_order(g, t, d->per_leaf))
        return 0;
    return are_cables(g, t, d, cables_between_plus,
                      (uint64_t)d->groups * d->leaves * d->spines * d->leaf_links +
                          (uint64_t)d->groups * (d->groups - 1) / 2 * group_links(d, d->spines));
}

int import_dragonfly_plus_write(struct import_job *job, const struct import_graph *graph,
                                const struct import_tree *tree, const struct import_direct *d,
                                const struct import_node *node)
{
    const struct {
        const char *name;
        uint32_t value;
    } sizes[] = {{"groups", d->groups},
                 {"leaves", d->leaves},
                 {"spines", d->spines},
                 {"endpoints_per_leaf", d->per_leaf},
                 {"global_links", d->global_links},
                 {"leaf_links", d->leaf_links}};
    struct import_extra extras[32];
    struct import_tree t = *tree;
    struct import_xml xml;
    import_assume_common(job, &t);
    t.n_fabric_extras = keep_extras(tree, 0, 1, extras);
    t.fabric_extras = extras;
    if (!import_xml_open(job, &xml))
        return 0;
    open_fabric(job, &xml, &t, node, "dragonfly_plus");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        import_xml_attribute(&xml, sizes[i].name, "%" PRIu32, sizes[i].value);
    return close_fabric(job, &xml, &t, graph, node);
}

int import_dragonfly_write(struct import_job *job, const struct import_graph *graph,
                           const struct import_tree *tree, const struct import_direct *d,
                           const struct import_node *node)
{
    struct import_extra extras[32];
    struct import_tree t = *tree;
    struct import_xml xml;
    import_assume_common(job, &t);
    t.n_fabric_extras = keep_extras(tree, 0, 0, extras);
    t.fabric_extras = extras;
    if (!import_xml_open(job, &xml))
        return 0;
    open_fabric(job, &xml, &t, node, "dragonfly");
    import_xml_attribute(&xml, "groups", "%" PRIu32, d->groups);
    import_xml_attribute(&xml, "routers", "%" PRIu32, d->routers);
    import_xml_attribute(&xml, "endpoints_per_router", "%" PRIu32, d->per_router);
    import_xml_attribute(&xml, "global_links", "%" PRIu32, d->global_links);
    return close_fabric(job, &xml, &t, graph, node);
}
