// DOT: the first switches of everything drawn, the rest one node, cables between them added up.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "exporttext.h"
#include "ids.h"
#include "mem.h"
#include "units.h"

// What is drawn one by one before the rest is summed up: with these, at most 4 pods x 10 + 7 nodes.
// A circle of more groups than SHOWN_GROUPS, all joined, is a grey disc.
enum { SHOWN_PODS = 3, SHOWN_SWITCHES = 4, SHOWN_CORES = 6, SHOWN_ROUTERS = 48, SHOWN_GROUPS = 12 };

// A node of the picture: one switch, or several that are summed up.
struct box {
    enum sand_tier tier;
    uint32_t pod; // SAND_NONE: outside the pods
    uint32_t first, n_switches, n_endpoints;
    int order;   // among those of its tier and pod; the sum comes last
    double x, y; // of a torus
};

struct join {
    uint32_t a, b, n_bundles;
    double capacity_Bps;
    int orders; // keeps its boxes beside each other
};

// A torus in boxes: of one router, or a cube, or a column of those along z, or many columns.
struct torus_grid {
    uint32_t n[3], shown[3]; // routers or cubes in a dimension; boxes drawn in it
    uint32_t block;          // side of the cubes; 1: routers
};

struct picture {
    const struct sand_graph *graph;
    struct torus_grid grid;
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
    uint32_t index =
        at->tier == SAND_TIER_LEAF && g->names == NULL ? at->index % s->leaves_per_pod : at->index;
    uint32_t shown = at->tier == SAND_TIER_LEAF ? s->leaves : s->spines;
    key.order = index < shown ? (int)index : INT32_MAX;
    return key;
}

// Routers of a dragonfly: all of them, else groups, else the first groups.
static struct box router_key(const struct sand_graph *g, uint32_t which)
{
    const struct sand_graph_switch *at = &g->switches[which];
    struct box key = {.tier = SAND_TIER_LEAF, .pod = SAND_NONE, .first = which, .order = INT32_MAX};
    if (g->n_switches <= SHOWN_ROUTERS)
        key.order = (int)which;
    else
        key.order = at->pod < shown_of(g->n_pods, SHOWN_GROUPS) ? (int)at->pod : INT32_MAX;
    return key;
}

// As many boxes as people can read: z goes first, then rows.
static struct torus_grid grid_of(const struct sand_fabric_spec *spec)
{
    enum { WIDE = 8, HIGH = 6 };
    struct torus_grid grid = {.block = spec->block > 0 ? spec->block : 1};
    for (int d = 0; d < 3; d++)
        grid.n[d] = grid.shown[d] = spec->size[d] / grid.block;
    if ((uint64_t)grid.n[0] * grid.n[1] * grid.n[2] > SHOWN_ROUTERS)
        grid.shown[2] = 1;
    if ((uint64_t)grid.n[0] * grid.n[1] * grid.shown[2] > SHOWN_ROUTERS) {
        grid.shown[0] = grid.n[0] < WIDE ? grid.n[0] : WIDE;
        grid.shown[1] = grid.n[1] < HIGH ? grid.n[1] : HIGH;
    }
    return grid;
}

// Planes of the grid stand side by side; rows and columns are bent, so that the cable that closes a
// ring does not lie on the others.
static struct box torus_key(const struct torus_grid *grid, uint32_t which)
{
    struct box key = {.tier = SAND_TIER_LEAF, .pod = SAND_NONE, .first = which, .order = INT32_MAX};
    const uint32_t cube = which / (grid->block * grid->block * grid->block);
    const uint32_t at[] = {cube % grid->n[0], cube / grid->n[0] % grid->n[1],
                           cube / grid->n[0] / grid->n[1]};
    const uint32_t z = grid->shown[2] > 1 ? at[2] : 0;
    const double wide = grid->shown[0] - 1, high = grid->shown[1] - 1;
    key.x = 1.6 * wide / 2;
    key.y = 1.2 * (high + 1.5);
    if (at[0] >= grid->shown[0] || at[1] >= grid->shown[1])
        return key;
    key.order = (int)((z * grid->shown[1] + at[1]) * grid->shown[0] + at[0]);
    const double dx = at[0] - wide / 2, dy = at[1] - high / 2;
    key.x = 1.6 * (at[0] + z * (wide + 1.6)) + 0.07 * dy * dy;
    key.y = 1.2 * at[1] + 0.07 * dx * dx + 0.4 * z;
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
        struct box key = is_tree                        ? tree_key(g, &grouping, i)
                         : g->kind == SAND_FABRIC_TORUS ? torus_key(&p->grid, i)
                                                        : router_key(g, i);
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
        p->joins[n++] = (struct join){a, b, 1, g->edges[i].capacity_Bps, 0};
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

static void write_torus_name(const struct picture *p, const struct box *box, FILE *out)
{
    const uint32_t b = p->grid.block, cube = box->first / (b * b * b);
    const uint32_t x = cube % p->grid.n[0], y = cube / p->grid.n[0] % p->grid.n[1];
    if (box->order == INT32_MAX)
        fprintf(out, "%" PRIu32 " more routers", box->n_switches);
    else if (p->grid.shown[2] < p->grid.n[2])
        fprintf(out, "x %" PRIu32 ", y %" PRIu32 "\\nall %" PRIu32 " %s along z", x, y,
                p->grid.n[2], b > 1 ? "cubes" : "routers");
    else
        fprintf(out, "cube %" PRIu32 "\\n%" PRIu32 " routers", cube, box->n_switches);
}

static uint32_t pods_drawn(const struct picture *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_boxes; i++)
        if (p->boxes[i].pod != SAND_NONE && p->boxes[i].pod >= n)
            n = p->boxes[i].pod + 1;
    return n;
}

// Several switches of a tree, or of a group: of which pod, if there is more than one.
static void write_sum(const struct picture *p, const struct box *box, FILE *out)
{
    const uint32_t n = pods_drawn(p), total = p->graph->n_pods;
    const char *word = p->graph->kind == SAND_FABRIC_DRAGONFLY_PLUS ? "group" : "pod";
    const int are_more = box->pod + 1 == n && total > n;
    fprintf(out, "%" PRIu32 " %s%s", box->n_switches,
            box->pod != SAND_NONE && are_more ? "" : "more ", word_for(p->graph, box->tier));
    if (box->pod == SAND_NONE || n < 2)
        return;
    if (are_more)
        fprintf(out, "\\nof %" PRIu32 " more %ss", total - box->pod, word);
    else
        fprintf(out, "\\nof %s %" PRIu32, word, box->pod);
}

static void write_box(const struct picture *p, uint32_t i, FILE *out)
{
    const struct box *box = &p->boxes[i];
    char name[48];
    fprintf(out, "    b%" PRIu32 " [label=\"", i);
    if (box->n_switches == 1)
        fputs(sand_graph_name(p->graph, box->first, name, sizeof name), out);
    else if (p->graph->kind == SAND_FABRIC_TORUS)
        write_torus_name(p, box, out);
    else if (p->graph->kind == SAND_FABRIC_DRAGONFLY && box->order != INT32_MAX)
        fprintf(out, "group %d\\n%" PRIu32 " routers", box->order, box->n_switches);
    else if (p->graph->kind == SAND_FABRIC_DRAGONFLY)
        fprintf(out, "%" PRIu32 " more groups\\n%" PRIu32 " routers",
                p->graph->n_pods - (SHOWN_GROUPS - 1), box->n_switches);
    else
        write_sum(p, box, out);
    if (box->n_endpoints > 0)
        fprintf(out, "\\n%" PRIu32 " NIC%s", box->n_endpoints, box->n_endpoints > 1 ? "s" : "");
    fputc('"', out);
    if (p->graph->kind == SAND_FABRIC_TORUS)
        fprintf(out, ", pos=\"%.2f,%.2f!\"", box->x, box->y);
    fprintf(out, "%s];\n", box->n_switches > 1 ? ", style=\"dashed,rounded\"" : "");
}

static void write_boxes(const struct picture *p, uint32_t pod, FILE *out)
{
    for (int is_sum = 0; is_sum < 2; is_sum++) // sums to the right
        for (uint32_t i = 0; i < p->n_boxes; i++)
            if (p->boxes[i].pod == pod && (p->boxes[i].order == INT32_MAX) == is_sum)
                write_box(p, i, out);
}

// No frames around pods: dot 2.43 does not keep the order of a tier whose boxes are in clusters,
// with newrank or without; and without them it does.
static void write_pods(const struct picture *p, FILE *out)
{
    const uint32_t n = pods_drawn(p);
    for (uint32_t pod = 0; pod < n; pod++)
        write_boxes(p, pod, out);
    write_boxes(p, SAND_NONE, out);
}

// Keeps a box to the right of another: by the cables between them or, where none are, by an edge
// that is not seen. Both at once make dot 2.43 fail (merge_chain).
static void write_beside(struct picture *p, uint32_t left, uint32_t right, FILE *out)
{
    for (size_t i = 0; i < p->n_joins; i++) {
        struct join *j = &p->joins[i];
        if ((j->a == left && j->b == right) || (j->a == right && j->b == left)) {
            *j = (struct join){left, right, j->n_bundles, j->capacity_Bps, 1};
            return;
        }
    }
    fprintf(out, "  b%" PRIu32 " -- b%" PRIu32 " [style=invis];\n", left, right);
}

// Those of a tier on one line, in order from left to right, sums last; pods beside each other.
static void write_ranks(struct picture *p, FILE *out)
{
    for (unsigned tier = 0; tier < SAND_TIERS; tier++) {
        uint32_t n = 0, last = SAND_NONE;
        for (uint32_t i = 0; i < p->n_boxes; i++)
            if (p->boxes[i].tier == (enum sand_tier)tier)
                fprintf(out, "%s b%" PRIu32 ";", n++ == 0 ? "  { rank=same;" : "", i);
        if (n > 0)
            fputs(" }\n", out);
        for (uint32_t pod = 0; pod <= pods_drawn(p); pod++)
            for (int is_sum = 0; is_sum < 2; is_sum++)
                for (uint32_t i = 0; i < p->n_boxes; i++) {
                    const struct box *box = &p->boxes[i];
                    const int here = box->pod == pod || (box->pod == SAND_NONE && pod == 0);
                    if (box->tier != (enum sand_tier)tier || !here ||
                        (box->order == INT32_MAX) != is_sum)
                        continue;
                    if (last != SAND_NONE)
                        write_beside(p, last, i, out);
                    last = i;
                }
    }
}

static void write_joins(const struct picture *p, int is_tree, FILE *out)
{
    for (size_t i = 0; i < p->n_joins; i++) {
        const struct join *j = &p->joins[i];
        char capacity[48];
        sand_quantity_format(j->capacity_Bps, SAND_DIM_BANDWIDTH, 3, capacity, sizeof capacity);
        const int goes_down = is_tree && p->boxes[j->a].tier != p->boxes[j->b].tier;
        fprintf(out, "  b%" PRIu32 " -- b%" PRIu32 " [tooltip=\"%" PRIu32 " bundle%s, %s\"%s%s];\n",
                goes_down ? j->b : j->a, goes_down ? j->a : j->b, j->n_bundles,
                j->n_bundles > 1 ? "s" : "", capacity, j->n_bundles > 1 ? ", style=dashed" : "",
                goes_down || j->orders ? "" : ", constraint=false");
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

static void write_picture(const struct sand_cluster *cluster, struct picture *p, FILE *out)
{
    const struct sand_graph *g = p->graph;
    int is_tree = g->kind != SAND_FABRIC_DRAGONFLY && g->kind != SAND_FABRIC_TORUS;
    fputs("// SPDX-License-Identifier: CC0-1.0\ngraph fabric {\n  ranksep=1.2; "
          "nodesep=0.15;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10];\n"
          "  edge [color=\"#00000060\"];\n  fontname=\"Helvetica\"; labelloc=t; label=\"",
          out);
    export_dot_text(out, cluster->name);
    fprintf(out, ": %" PRIu32 " nodes, %" PRIu32 " NICs, %" PRIu32 " switches", g->n_nodes,
            g->n_endpoints, g->n_switches);
    if (g->n_planes > 1)
        fprintf(out, "; one of %" PRIu32 " planes is drawn", g->n_planes);
    if (p->grid.block > 0)
        fprintf(out, "; torus of %" PRIu32 " x %" PRIu32 " x %" PRIu32, cluster->fabric.size[0],
                cluster->fabric.size[1], cluster->fabric.size[2]);
    write_capacities(g, out);
    fputs("\";\n", out);
    if (is_tree)
        write_pods(p, out);
    else
        write_boxes(p, SAND_NONE, out);
    if (is_tree)
        write_ranks(p, out);
    else
        fputs(g->kind == SAND_FABRIC_TORUS ? "  layout=neato; splines=line;\n"
                                           : "  layout=circo;\n",
              out);
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
    if (graph->kind == SAND_FABRIC_TORUS)
        p.grid = grid_of(&cluster->fabric);
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
