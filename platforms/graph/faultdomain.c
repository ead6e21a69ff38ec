// Groups fault domains that look alike and evaluates one of each group.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "faultdomain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "numbers.h"
#include "units.h"

const char *sand_domain_kind_name(enum sand_domain_kind kind)
{
    static const char *const names[SAND_DOMAIN_KINDS] = {"leaf", "spine", "core", "node",
                                                         "rack", "pdu",   "row",  "hall"};
    return kind < SAND_DOMAIN_KINDS ? names[kind] : "?";
}

char *sand_fault_domain_name(const struct sand_graph *graph, const struct sand_fault_domain *domain,
                             char *buffer, size_t size)
{
    if (domain->kind <= SAND_DOMAIN_CORE)
        return sand_graph_name(graph, domain->index, buffer, size);
    snprintf(buffer, size, "%s%" PRIu32, sand_domain_kind_name(domain->kind), domain->index);
    return buffer;
}

// ---- places ----

struct survey {
    const struct sand_graph *graph;
    const struct sand_cluster *cluster;
    uint32_t *low, *high;     // lowest and highest node of each switch; low > high: none
    uint8_t *node_sides;      // of the bisection
    uint8_t *sides;           // those of the nodes at or below each switch, or-ed
    double *up_Bps;           // what joins each switch to others
    double *across_Bps;       // to switches that are on other sides
    double *nics_Bps;         // NICs at or below each switch, once for every neighbour above
    double *above_Bps;        // nics_Bps of the switches above each: what its pod has
    uint8_t *dead, *deadnode; // scratch
};

static void survey_nodes(struct survey *s)
{
    const struct sand_graph *g = s->graph;
    uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    for (uint32_t i = 0; i < g->n_switches; i++)
        s->low[i] = SAND_NONE;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t leaf = g->leaf_of[i], node = (uint32_t)(i / g->n_planes / g->nics_per_node);
        if (node < s->low[leaf])
            s->low[leaf] = node;
        if (node > s->high[leaf])
            s->high[leaf] = node;
        s->sides[leaf] |= s->node_sides[node];
        s->nics_Bps[leaf] += g->nic_Bps[i];
    }
}

// What stands below a switch, to those above it.
static void survey_tier(struct survey *s, enum sand_tier tier)
{
    const struct sand_graph *g = s->graph;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        if (g->switches[e->a].tier != tier || g->switches[e->b].tier <= tier)
            continue;
        s->sides[e->b] |= s->sides[e->a];
        s->nics_Bps[e->b] += s->nics_Bps[e->a];
    }
}

static void survey_edges(struct survey *s)
{
    const struct sand_graph *g = s->graph;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        const double across_Bps = s->sides[e->a] != s->sides[e->b] ? e->capacity_Bps : 0;
        s->up_Bps[e->a] += e->capacity_Bps;
        s->up_Bps[e->b] += e->capacity_Bps;
        s->across_Bps[e->a] += across_Bps;
        s->across_Bps[e->b] += across_Bps;
        if (g->switches[e->a].tier < g->switches[e->b].tier)
            s->above_Bps[e->a] += s->nics_Bps[e->b];
    }
}

static enum sand_rc survey_open(struct survey *s, const struct sand_graph *g,
                                const struct sand_cluster *cluster, struct sand_diag *diag)
{
    size_t n = g->n_switches;
    *s = (struct survey){.graph = g,
                         .cluster = cluster,
                         .low = sand_calloc(n, sizeof *s->low),
                         .high = sand_calloc(n, sizeof *s->high),
                         .node_sides = sand_calloc(g->n_nodes, 1),
                         .sides = sand_calloc(n, 1),
                         .up_Bps = sand_calloc(n, sizeof *s->up_Bps),
                         .across_Bps = sand_calloc(n, sizeof *s->across_Bps),
                         .nics_Bps = sand_calloc(n, sizeof *s->nics_Bps),
                         .above_Bps = sand_calloc(n, sizeof *s->above_Bps),
                         .dead = sand_calloc(n, 1),
                         .deadnode = sand_calloc(g->n_nodes, 1)};
    if (!s->low || !s->high || !s->node_sides || !s->sides || !s->up_Bps || !s->across_Bps ||
        !s->nics_Bps || !s->above_Bps || !s->dead || !s->deadnode)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the fault domains");
    sand_graph_halves(g, s->node_sides);
    survey_nodes(s);
    for (enum sand_tier tier = SAND_TIER_LEAF; tier < SAND_TIERS; tier++)
        survey_tier(s, tier);
    survey_edges(s);
    return SAND_OK;
}

static void survey_close(struct survey *s)
{
    sand_free(s->low);
    sand_free(s->high);
    sand_free(s->node_sides);
    sand_free(s->sides);
    sand_free(s->up_Bps);
    sand_free(s->across_Bps);
    sand_free(s->nics_Bps);
    sand_free(s->above_Bps);
    sand_free(s->dead);
    sand_free(s->deadnode);
}

// Nodes of one place of a kind; places are filled in node order.
static uint64_t nodes_per(const struct sand_cluster *c, enum sand_domain_kind kind)
{
    uint64_t n = kind == SAND_DOMAIN_NODE ? 1 : c->nodes_per_rack > 0 ? c->nodes_per_rack : 1;
    if (kind >= SAND_DOMAIN_ROW)
        n = c->racks_per_row > 0 ? n * c->racks_per_row : c->n_nodes;
    if (kind >= SAND_DOMAIN_HALL)
        n = c->rows_per_hall > 0 ? n * c->rows_per_hall : c->n_nodes;
    return n;
}

// Racks of a row, and how many power feeds they take: a feed does not reach into the next row.
static void feeds_of_row(const struct sand_cluster *c, uint32_t *racks, uint32_t *feeds)
{
    *racks = c->racks_per_row > 0 ? c->racks_per_row : c->n_nodes;
    *feeds = (uint32_t)sand_ceil_div(*racks, c->racks_per_pdu);
}

static uint32_t n_feeds(const struct sand_cluster *c)
{
    uint32_t per_row, feeds;
    if (c->racks_per_pdu == 0)
        return 0;
    feeds_of_row(c, &per_row, &feeds);
    const uint64_t per_rack = nodes_per(c, SAND_DOMAIN_RACK);
    const uint32_t racks = (uint32_t)sand_ceil_div(c->n_nodes, per_rack);
    return racks / per_row * feeds + (uint32_t)sand_ceil_div(racks % per_row, c->racks_per_pdu);
}

static uint32_t n_places(const struct sand_cluster *c, enum sand_domain_kind kind)
{
    if (kind == SAND_DOMAIN_PDU)
        return n_feeds(c);
    uint64_t per = nodes_per(c, kind);
    return (uint32_t)sand_ceil_div(c->n_nodes, per);
}

struct range {
    uint32_t begin, end; // nodes
};

static struct range feed_nodes(const struct sand_cluster *c, uint32_t index)
{
    uint32_t per_row, feeds;
    feeds_of_row(c, &per_row, &feeds);
    const uint64_t per_rack = nodes_per(c, SAND_DOMAIN_RACK), n = c->n_nodes;
    const uint64_t row = (uint64_t)(index / feeds) * per_row;
    const uint64_t first = (uint64_t)(index % feeds) * c->racks_per_pdu;
    const uint64_t last = first + c->racks_per_pdu < per_row ? first + c->racks_per_pdu : per_row;
    const uint64_t end = (row + last) * per_rack;
    return (struct range){(uint32_t)((row + first) * per_rack), (uint32_t)(end < n ? end : n)};
}

static struct range place_nodes(const struct sand_cluster *c, enum sand_domain_kind kind,
                                uint32_t index)
{
    if (kind == SAND_DOMAIN_PDU)
        return feed_nodes(c, index);
    uint64_t per = nodes_per(c, kind), begin = index * per, end = begin + per;
    return (struct range){(uint32_t)begin, end < c->n_nodes ? (uint32_t)end : c->n_nodes};
}

static int leaf_inside(const struct survey *s, uint32_t leaf, struct range nodes)
{
    return s->low[leaf] <= s->high[leaf] && s->low[leaf] >= nodes.begin &&
           s->high[leaf] < nodes.end;
}

// ---- signatures ----

// What a domain looks like from outside. Compared bytewise: no padding between equal-sized members.
struct signature {
    uint64_t kind, nodes, touched, sides, degree, endpoints;
    double up_Bps, nics_Bps, above_Bps, storage_Bps;
};

static struct signature of_switch(const struct survey *s, uint32_t which, double *across_Bps)
{
    *across_Bps = s->across_Bps[which];
    const struct sand_graph *g = s->graph;
    const struct sand_graph_switch *at = &g->switches[which];
    return (struct signature){.kind = at->tier,
                              .sides = s->sides[which],
                              .degree = g->first[which + 1] - g->first[which],
                              .endpoints = at->n_endpoints,
                              .up_Bps = s->up_Bps[which],
                              .nics_Bps = s->nics_Bps[which],
                              .above_Bps = s->above_Bps[which],
                              .storage_Bps = g->storage_Bps ? g->storage_Bps[which] : 0};
}

static struct signature of_place(const struct survey *s, enum sand_domain_kind kind, uint32_t index,
                                 double *across_Bps)
{
    *across_Bps = 0;
    const struct sand_graph *g = s->graph;
    struct range nodes = place_nodes(s->cluster, kind, index);
    struct signature sig = {.kind = kind, .nodes = nodes.end - nodes.begin};
    uint64_t per_node = (uint64_t)g->nics_per_node * g->n_planes;
    for (uint64_t i = nodes.begin * per_node; i < nodes.end * per_node; i++) {
        uint32_t leaf = g->leaf_of[i];
        sig.sides |= s->node_sides[i / per_node];
        sig.nics_Bps += g->nic_Bps[i];
        sig.above_Bps += s->above_Bps[leaf];
        sig.touched += g->switches[leaf].n_endpoints;
        if (!leaf_inside(s, leaf, nodes))
            continue;
        sig.endpoints += 1;
        sig.up_Bps += s->up_Bps[leaf] / g->switches[leaf].n_endpoints;
        *across_Bps += s->across_Bps[leaf] / g->switches[leaf].n_endpoints;
        if (g->storage_Bps)
            sig.storage_Bps += g->storage_Bps[leaf] / g->switches[leaf].n_endpoints;
    }
    return sig;
}

// ---- groups ----

struct groups {
    struct sand_fault_domain *domains;
    struct signature *signatures;
    double *across_Bps; // of the member that stands for the group
    size_t n, domains_capacity, signatures_capacity, across_capacity;
};

// Of members that differ, the one that takes most of the cables between the halves along stands for
// all; sums of shares that differ by rounding alone do not.
static void join_group(struct groups *groups, size_t at, uint32_t index, double across_Bps)
{
    groups->domains[at].n_alike++;
    if (across_Bps <= groups->across_Bps[at] * (1 + 1e-9))
        return;
    groups->domains[at].index = index;
    groups->across_Bps[at] = across_Bps;
}

static enum sand_rc count_alike(struct groups *groups, struct signature signature,
                                enum sand_domain_kind kind, uint32_t index, double across_Bps)
{
    for (size_t i = 0; i < groups->n; i++) {
        if (memcmp(&groups->signatures[i], &signature, sizeof signature) == 0) {
            join_group(groups, i, index, across_Bps);
            return SAND_OK;
        }
    }
    void *domains = groups->domains, *signatures = groups->signatures, *across = groups->across_Bps;
    SAND_TRY(
        sand_grow(&domains, &groups->domains_capacity, groups->n + 1, sizeof *groups->domains));
    groups->domains = domains;
    SAND_TRY(sand_grow(&signatures, &groups->signatures_capacity, groups->n + 1,
                       sizeof *groups->signatures));
    groups->signatures = signatures;
    SAND_TRY(
        sand_grow(&across, &groups->across_capacity, groups->n + 1, sizeof *groups->across_Bps));
    groups->across_Bps = across;
    groups->across_Bps[groups->n] = across_Bps;
    groups->domains[groups->n] =
        (struct sand_fault_domain){.kind = kind, .index = index, .n_alike = 1};
    groups->signatures[groups->n++] = signature;
    return SAND_OK;
}

static enum sand_rc group_all(struct groups *groups, const struct survey *s)
{
    double across_Bps;
    for (uint32_t i = 0; i < s->graph->n_switches; i++) {
        const struct signature sig = of_switch(s, i, &across_Bps);
        SAND_TRY(count_alike(groups, sig, (enum sand_domain_kind)s->graph->switches[i].tier, i,
                             across_Bps));
    }
    for (enum sand_domain_kind kind = SAND_DOMAIN_RACK; kind <= SAND_DOMAIN_HALL; kind++) {
        for (uint32_t i = 0; i < n_places(s->cluster, kind); i++) {
            const struct signature sig = of_place(s, kind, i, &across_Bps);
            SAND_TRY(count_alike(groups, sig, kind, i, across_Bps));
        }
    }
    return SAND_OK;
}

// ---- losses ----

static void mark_spines(struct survey *s)
{
    const struct sand_graph *g = s->graph;
    for (uint32_t i = 0; i < g->n_switches; i++) {
        if (g->switches[i].tier != SAND_TIER_SPINE)
            continue;
        s->dead[i] = g->first[i + 1] > g->first[i];
        for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
            if (g->switches[g->near[k]].tier == SAND_TIER_LEAF && !s->dead[g->near[k]])
                s->dead[i] = 0;
    }
}

static enum sand_rc evaluate(struct survey *s, struct sand_graph_kept *kept,
                             struct sand_fault_domain *domain, struct sand_diag *diag)
{
    const struct sand_graph *g = s->graph;
    memset(s->dead, 0, g->n_switches);
    memset(s->deadnode, 0, g->n_nodes);
    if (domain->kind <= SAND_DOMAIN_CORE) {
        s->dead[domain->index] = 1;
    } else {
        struct range nodes = place_nodes(s->cluster, domain->kind, domain->index);
        memset(s->deadnode + nodes.begin, 1, nodes.end - nodes.begin);
        // A node does not take its leaf along, even if it is the only one there.
        for (uint32_t i = 0; domain->kind != SAND_DOMAIN_NODE && i < g->n_switches; i++)
            s->dead[i] = leaf_inside(s, i, nodes) ? 1 : 0;
        mark_spines(s);
    }
    domain->n_switches = 0;
    for (uint32_t i = 0; i < g->n_switches; i++)
        domain->n_switches += s->dead[i];
    struct sand_graph_loss loss = {s->dead, s->deadnode};
    return sand_graph_lose(g, kept, &loss, &domain->effect, diag);
}

enum sand_rc sand_fault_domains(const struct sand_graph *graph, const struct sand_cluster *cluster,
                                struct sand_fault_domain **domains, size_t *n,
                                struct sand_diag *diag)
{
    struct survey survey;
    struct groups groups = {0};
    enum sand_rc rc = survey_open(&survey, graph, cluster, diag);
    if (rc == SAND_OK && group_all(&groups, &survey) != SAND_OK)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "no memory for the fault domains");
    struct sand_graph_kept *kept = NULL;
    if (rc == SAND_OK)
        rc = sand_graph_keep(graph, &kept, diag);
    for (size_t i = 0; i < groups.n && rc == SAND_OK; i++)
        rc = evaluate(&survey, kept, &groups.domains[i], diag);
    sand_graph_kept_free(kept);
    survey_close(&survey);
    sand_free(groups.signatures);
    sand_free(groups.across_Bps);
    if (rc != SAND_OK) {
        sand_free(groups.domains);
        return rc;
    }
    *domains = groups.domains;
    *n = groups.n;
    return SAND_OK;
}

// ---- by name ----

static int parse_place(const struct sand_cluster *c, const char *name,
                       struct sand_fault_domain *domain)
{
    for (enum sand_domain_kind kind = SAND_DOMAIN_NODE; kind <= SAND_DOMAIN_HALL; kind++) {
        const char *word = sand_domain_kind_name(kind);
        size_t length = strlen(word);
        double index = 0;
        char why[128];
        if (strncmp(name, word, length) != 0 ||
            sand_quantity_parse(name + length, SAND_DIM_COUNT, &index, why, sizeof why) !=
                SAND_OK ||
            index >= n_places(c, kind))
            continue;
        *domain = (struct sand_fault_domain){.kind = kind, .index = (uint32_t)index, .n_alike = 1};
        return 1;
    }
    return 0;
}

enum sand_rc sand_fault_domain_find(const struct sand_graph *graph,
                                    const struct sand_cluster *cluster, const char *name,
                                    struct sand_fault_domain *domain, struct sand_diag *diag)
{
    uint32_t which = sand_graph_find(graph, name);
    char last[48];
    if (which != SAND_NONE)
        *domain =
            (struct sand_fault_domain){.kind = (enum sand_domain_kind)graph->switches[which].tier,
                                       .index = which,
                                       .n_alike = 1};
    else if (!parse_place(cluster, name, domain))
        return sand_fail(
            diag, SAND_ERR_USAGE,
            "there is no \"%s\" in cluster \"%s\"; name a switch (leaf0 to %s), or "
            "node0 to node%" PRIu32 ", rack0 to rack%" PRIu32 ", row0 to row%" PRIu32
            ", hall0 to hall%" PRIu32,
            name, cluster->name, sand_graph_name(graph, graph->n_switches - 1, last, sizeof last),
            cluster->n_nodes - 1, n_places(cluster, SAND_DOMAIN_RACK) - 1,
            n_places(cluster, SAND_DOMAIN_ROW) - 1, n_places(cluster, SAND_DOMAIN_HALL) - 1);
    struct survey survey;
    enum sand_rc rc = survey_open(&survey, graph, cluster, diag);
    if (rc == SAND_OK)
        rc = evaluate(&survey, NULL, domain, diag);
    survey_close(&survey);
    return rc;
}
