// DOT: the first switches of everything drawn, the rest one node, cables between them added up.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exporttext.h"
#include "ids.h"
#include "mem.h"
#include "units.h"

// What is drawn one by one before the rest is summed up: with these, at most 4 pods x 10 + 7 nodes.
enum { SHOWN_PODS = 3, SHOWN_SWITCHES = 4, SHOWN_CORES = 6, SHOWN_ROUTERS = 48, SHOWN_GROUPS = 24 };

// A node of the picture: one switch, or several that are summed up.
struct box {
    enum sand_tier tier;
    uint32_t pod; // SAND_NONE: outside the pods
    uint32_t first, n_switches, n_endpoints;
    int order; // among those of its tier and pod; the sum comes last
};

struct join {
    uint32_t a, b, n_bundles;
    double capacity_Bps;
};

struct picture {
    const struct sand_graph *graph;
    struct box *boxes;
    uint32_t n_boxes;
    uint32_t *box_of; // [n_switches]; SAND_NONE: not drawn
    struct join *joins;
    size_t n_joins;
};

// ---- which switches share a node of the picture ----

static uint32_t shown_of(uint32_t n, uint32_t most)
{
    return n <= most ? n : most - 1; // a sum of one would take as much room
}

static uint32_t in_pod(const struct sand_graph *g, enum sand_tier tier)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_switches; i++)
        n += g->switches[i].tier == tier && g->switches[i].plane == 0 && g->switches[i].pod == 0;
    return n;
}

struct grouping {
    uint32_t pods, spines, leaves, cores, leaves_per_pod;
};

// Which box a switch of a tree belongs to: equal keys, equal box.
static struct box tree_key(const struct sand_graph *g, const struct grouping *s, uint32_t which)
{
    const struct sand_graph_switch *at = &g->switches[which];
    struct box key = {.tier = at->tier, .pod = at->pod, .first = which, .order = INT32_MAX};
    if (at->tier == SAND_TIER_CORE) {
        key.order = at->index < s->cores ? (int)at->index : INT32_MAX;
        return key;
    }
    if (at->pod >= s->pods) {
        key.pod = s->pods; // the other pods: one box of leaves, one of spines
        return key;
    }
    uint32_t index = at->tier == SAND_TIER_LEAF ? at->index % s->leaves_per_pod : at->index;
    uint32_t shown = at->tier == SAND_TIER_LEAF ? s->leaves : s->spines;
    key.order = index < shown ? (int)index : INT32_MAX;
    return key;
}

// Routers of dragonflies and tori: all of them, else groups, else the first few.
static struct box router_key(const struct sand_graph *g, uint32_t which)
{
    const struct sand_graph_switch *at = &g->switches[which];
    struct box key = {.tier = SAND_TIER_LEAF, .pod = SAND_NONE, .first = which, .order = INT32_MAX};
    if (g->n_switches <= SHOWN_ROUTERS)
        key.order = (int)which;
    else if (g->kind == SAND_FABRIC_DRAGONFLY)
        key.order = at->pod < shown_of(g->n_pods, SHOWN_GROUPS) ? (int)at->pod : INT32_MAX;
    else
        key.order = which < SHOWN_ROUTERS - 1 ? (int)which : INT32_MAX;
    return key;
}

static struct grouping grouping_of(const struct sand_graph *g)
{
    uint32_t leaves = in_pod(g, SAND_TIER_LEAF), spines = in_pod(g, SAND_TIER_SPINE);
    uint32_t cores = g->n_tier[SAND_TIER_CORE] / g->n_planes, pods = 1;
    for (uint32_t i = 0; i < g->n_switches; i++)
        if (g->switches[i].pod != SAND_NONE && g->switches[i].pod >= pods)
            pods = g->switches[i].pod + 1;
    return (struct grouping){.pods = shown_of(pods, SHOWN_PODS + 1),
                             .spines = shown_of(spines, SHOWN_SWITCHES),
                             .leaves = shown_of(leaves, SHOWN_SWITCHES),
                             .cores = shown_of(cores, SHOWN_CORES),
                             .leaves_per_pod = leaves > 0 ? leaves : 1};
}

static int same_box(const struct box *a, const struct box *b)
{
    return a->tier == b->tier && a->pod == b->pod && a->order == b->order;
}

static void fill_boxes(struct picture *p)
{
    const struct sand_graph *g = p->graph;
    const struct grouping grouping = grouping_of(g);
    int is_tree = g->kind != SAND_FABRIC_DRAGONFLY && g->kind != SAND_FABRIC_TORUS;
    for (uint32_t i = 0; i < g->n_switches; i++) {
        p->box_of[i] = SAND_NONE;
        if (g->switches[i].plane > 0)
            continue; // all planes look alike
        struct box key = is_tree ? tree_key(g, &grouping, i) : router_key(g, i);
        uint32_t at = 0;
        while (at < p->n_boxes && !same_box(&p->boxes[at], &key))
            at++;
        if (at == p->n_boxes)
            p->boxes[p->n_boxes++] = key;
        p->boxes[at].n_switches++;
        p->boxes[at].n_endpoints += g->switches[i].n_endpoints;
        p->box_of[i] = at;
    }
}

// ---- cables between them ----

static int by_boxes(const void *left, const void *right)
{
    const struct join *a = left, *b = right;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

static void fill_joins(struct picture *p)
{
    const struct sand_graph *g = p->graph;
    size_t n = 0, kept = 0;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        uint32_t a = p->box_of[g->edges[i].a], b = p->box_of[g->edges[i].b];
        if (a == SAND_NONE || b == SAND_NONE || a == b)
            continue;
        if (p->boxes[a].tier == p->boxes[b].tier && a > b) {
            uint32_t swap = a;
            a = b;
            b = swap;
        }
        p->joins[n++] = (struct join){a, b, 1, g->edges[i].capacity_Bps};
    }
    qsort(p->joins, n, sizeof *p->joins, by_boxes);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_boxes(&p->joins[kept - 1], &p->joins[i]) == 0) {
            p->joins[kept - 1].n_bundles++;
            p->joins[kept - 1].capacity_Bps += p->joins[i].capacity_Bps;
        } else {
            p->joins[kept++] = p->joins[i];
        }
    }
    p->n_joins = kept;
}

// ---- writing ----

static const char *word_for(const struct sand_graph *g, enum sand_tier tier)
{
    static const char *const plural[SAND_TIERS] = {"leaves", "spines", "cores"};
    return g->kind == SAND_FABRIC_DRAGONFLY || g->kind == SAND_FABRIC_TORUS ? "routers"
                                                                            : plural[tier];
}

static void write_box(const struct picture *p, uint32_t i, FILE *out)
{
    const struct box *box = &p->boxes[i];
    char name[48];
    fprintf(out, "    b%" PRIu32 " [label=\"", i);
    if (box->n_switches == 1)
        fputs(sand_graph_name(p->graph, box->first, name, sizeof name), out);
    else if (p->graph->kind == SAND_FABRIC_DRAGONFLY && box->order != INT32_MAX)
        fprintf(out, "group %d\\n%" PRIu32 " routers", box->order, box->n_switches);
    else
        fprintf(out, "%" PRIu32 " more %s", box->n_switches, word_for(p->graph, box->tier));
    if (box->n_endpoints > 0)
        fprintf(out, "\\n%" PRIu32 " NICs", box->n_endpoints);
    fprintf(out, "\"%s];\n", box->n_switches > 1 ? ", style=\"dashed,rounded\"" : "");
}

static uint32_t pods_drawn(const struct picture *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_boxes; i++)
        if (p->boxes[i].pod != SAND_NONE && p->boxes[i].pod >= n)
            n = p->boxes[i].pod + 1;
    return n;
}

static void write_boxes(const struct picture *p, uint32_t pod, FILE *out)
{
    for (int is_sum = 0; is_sum < 2; is_sum++) // sums to the right
        for (uint32_t i = 0; i < p->n_boxes; i++)
            if (p->boxes[i].pod == pod && (p->boxes[i].order == INT32_MAX) == is_sum)
                write_box(p, i, out);
}

static void write_pods(const struct picture *p, FILE *out)
{
    uint32_t n = pods_drawn(p), total = p->graph->n_pods;
    for (uint32_t pod = 0; pod < n; pod++) {
        fprintf(out, "  subgraph cluster_pod%" PRIu32 " {\n    style=rounded; color=gray; label=\"",
                pod);
        if (n == 1)
            fputs("\";\n", out);
        else if (pod + 1 == n && total > n)
            fprintf(out, "%" PRIu32 " more pods\";\n", total - pod);
        else
            fprintf(out, "pod %" PRIu32 "\";\n", pod);
        write_boxes(p, pod, out);
        fputs("  }\n", out);
    }
    write_boxes(p, SAND_NONE, out);
}

static void write_ranks(const struct picture *p, FILE *out)
{
    for (unsigned tier = 0; tier < SAND_TIERS; tier++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < p->n_boxes; i++)
            if (p->boxes[i].tier == (enum sand_tier)tier)
                fprintf(out, "%s b%" PRIu32 ";", n++ == 0 ? "  { rank=same;" : "", i);
        if (n > 0)
            fputs(" }\n", out);
    }
}

static void write_joins(const struct picture *p, int is_tree, FILE *out)
{
    for (size_t i = 0; i < p->n_joins; i++) {
        const struct join *j = &p->joins[i];
        char capacity[48];
        sand_quantity_format(j->capacity_Bps, SAND_DIM_BANDWIDTH, 3, capacity, sizeof capacity);
        fprintf(out, "  b%" PRIu32 " -- b%" PRIu32 " [tooltip=\"%" PRIu32 " bundles, %s\"%s%s];\n",
                is_tree ? j->b : j->a, is_tree ? j->a : j->b, j->n_bundles, capacity,
                j->n_bundles > 1 ? ", style=dashed" : "", is_tree ? "" : ", constraint=false");
    }
}

// The capacity of one bundle between two tiers, or its range.
static void write_capacities(const struct sand_graph *g, FILE *out)
{
    for (unsigned tier = 0; tier < SAND_TIERS; tier++) {
        double low = 0, high = 0;
        char a[48], b[48];
        for (uint32_t i = 0; i < g->n_edges; i++) {
            double c = g->edges[i].capacity_Bps;
            if (g->switches[g->edges[i].a].tier != (enum sand_tier)tier)
                continue;
            low = low <= 0 || c < low ? c : low;
            high = c > high ? c : high;
        }
        if (high <= 0)
            continue;
        sand_quantity_format(low, SAND_DIM_BANDWIDTH, 4, a, sizeof a);
        sand_quantity_format(high, SAND_DIM_BANDWIDTH, 4, b, sizeof b);
        fprintf(out, "\\nfrom a %s to another switch: %s%s%s",
                g->kind == SAND_FABRIC_DRAGONFLY || g->kind == SAND_FABRIC_TORUS
                    ? "router"
                    : sand_tier_name((enum sand_tier)tier),
                a, low < high ? " to " : "", low < high ? b : "");
    }
}

static void write_picture(const struct sand_cluster *cluster, const struct picture *p, FILE *out)
{
    const struct sand_graph *g = p->graph;
    int is_tree = g->kind != SAND_FABRIC_DRAGONFLY && g->kind != SAND_FABRIC_TORUS;
    fputs("// SPDX-License-Identifier: CC0-1.0\ngraph fabric {\n  newrank=true; ranksep=1.2; "
          "nodesep=0.15;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10];\n"
          "  edge [color=\"#00000060\"];\n  fontname=\"Helvetica\"; labelloc=t; label=\"",
          out);
    export_dot_text(out, cluster->name);
    fprintf(out, ": %" PRIu32 " nodes, %" PRIu32 " NICs, %" PRIu32 " switches", g->n_nodes,
            g->n_endpoints, g->n_switches);
    if (g->n_planes > 1)
        fprintf(out, "; one of %" PRIu32 " planes is drawn", g->n_planes);
    write_capacities(g, out);
    fputs("\";\n", out);
    if (is_tree)
        write_pods(p, out);
    else
        write_boxes(p, SAND_NONE, out);
    if (is_tree)
        write_ranks(p, out);
    else
        fputs("  layout=circo;\n", out);
    write_joins(p, is_tree, out);
    fputs("}\n", out);
}

enum sand_rc export_dot(const struct sand_cluster *cluster, const struct sand_graph *graph,
                        FILE *out, struct sand_diag *diag)
{
    struct picture p = {.graph = graph,
                        .boxes = sand_calloc(graph->n_switches, sizeof *p.boxes),
                        .box_of = sand_calloc(graph->n_switches, sizeof *p.box_of),
                        .joins = sand_calloc(graph->n_edges, sizeof *p.joins)};
    enum sand_rc rc = SAND_OK;
    if (p.boxes && p.box_of && p.joins) {
        fill_boxes(&p);
        fill_joins(&p);
        write_picture(cluster, &p, out);
    } else {
        rc = sand_fail(diag, SAND_ERR_NOMEM, "no memory for the picture");
    }
    sand_free(p.boxes);
    sand_free(p.box_of);
    sand_free(p.joins);
    return rc;
}
