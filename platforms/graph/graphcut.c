// Cuts: a maximum flow of igraph's, over cells of switches of equal standing.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Why cells are exact. A cut is a potential p in {0, 1} of the switches that costs w(u, v) |p(u) -
// p(v)| for every edge; the least cost over p in [0, 1] is the same, because that linear program
// has whole solutions. Let the cells be equitable: every u of cell C has the same capacity a to
// cell D, and every v of D the same capacity b to C, so that |C| a = |D| b = W. Then the edges
// between C and D cost at least |sum w p(u) - sum w p(v)| = W |mean of p over C - mean of p over
// D|: the mean over cells is a solution that costs no more, and it is one of the quotient, where W
// joins C and D. Every cut of the quotient is a cut of the fabric. (Colour refinement reduces any
// linear program so: Grohe, Kersting, Mladenov, Selman, ESA 2014.)
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph.h"
#include "graphcells.h"
#include "graphigraph.h"
#include "graphkept.h"
#include "mem.h"

static int is_dead(const struct sand_graph_loss *loss, uint32_t s)
{
    return loss != NULL && loss->switches != NULL && loss->switches[s];
}

// What a switch is before its neighbours are looked at. Compared bytewise: no padding.
struct standing {
    double nics[2]; // capacity of its NICs to side A and B, in units
    uint64_t tier;  // SAND_TIERS: dead
};

// The NICs of both sides at every switch, in ports of full rate and what impairments take from
// them: a healthy fabric is a whole number of ports, no sum of rounded rates.
struct ports {
    uint32_t of[2];
    double lost_Bps[2];
};

struct network {
    const struct sand_graph *fabric;
    double unit; // capacities are whole multiples of this many B/s
    struct ports *ports;
    struct standing *standing;
    struct graph_arcs arcs; // of what lives
    struct graph_cells cells;
};

static void network_free(struct network *n)
{
    sand_free(n->ports);
    sand_free(n->standing);
    sand_free(n->arcs.first);
    sand_free(n->arcs.to);
    sand_free(n->arcs.weight);
    graph_cells_free(&n->cells);
}

// Whole numbers add up exactly as long as the sum stays below 2^53: then refinement compares exact
// sums, push-relabel ends at the exact value, and equal fabrics give equal bytes. Every edge counts
// twice, at both its ends.
static double unit_for(const struct sand_graph *g)
{
    double sum = (double)g->n_endpoints * g->n_planes * g->port_Bps;
    for (uint32_t i = 0; i < g->n_edges; i++)
        sum += 2 * g->edges[i].capacity_Bps;
    double unit = 1;
    while (sum / unit > 4503599627370496.0) // 2^52
        unit *= 2;
    while (sum / unit < 1125899906842624.0 && sum > 0 && unit > DBL_MIN) // 2^50: keep the digits
        unit /= 2;
    return unit;
}

// ---- NICs ----

static void count_ports(struct network *n, const uint8_t *sides, const struct sand_graph_loss *loss,
                        struct sand_graph_cut *cut)
{
    const struct sand_graph *g = n->fabric;
    memset(n->ports, 0, g->n_switches * sizeof *n->ports);
    uint32_t n_ports[2] = {0, 0};
    double lost_Bps[2] = {0, 0};
    for (uint32_t e = 0; e < g->n_endpoints; e++) {
        uint32_t node = e / g->nics_per_node;
        if (sides[node] == SAND_SIDE_NONE || (loss && loss->nodes && loss->nodes[node]))
            continue;
        unsigned side = sides[node] == SAND_SIDE_A ? 0 : 1;
        uint32_t living = 0;
        for (uint32_t p = 0; p < g->n_planes; p++) {
            size_t port = (size_t)e * g->n_planes + p;
            uint32_t leaf = g->leaf_of[port];
            if (is_dead(loss, leaf) || g->nic_Bps[port] <= 0)
                continue;
            n->ports[leaf].of[side]++;
            n->ports[leaf].lost_Bps[side] += g->port_Bps - g->nic_Bps[port];
            lost_Bps[side] += g->port_Bps - g->nic_Bps[port];
            living++;
        }
        n_ports[side] += living;
        cut->endpoints[side] += living > 0 ? 1 : 0;
    }
    cut->injection_Bps =
        fmin(n_ports[0] * g->port_Bps - lost_Bps[0], n_ports[1] * g->port_Bps - lost_Bps[1]);
}

static void set_standings(struct network *n, const struct sand_graph_loss *loss)
{
    const struct sand_graph *g = n->fabric;
    for (uint32_t s = 0; s < g->n_switches; s++) {
        const struct ports *at = &n->ports[s];
        for (unsigned side = 0; side < 2; side++)
            n->standing[s].nics[side] =
                fmax(0, nearbyint((at->of[side] * g->port_Bps - at->lost_Bps[side]) / n->unit));
        n->standing[s].tier = is_dead(loss, s) ? SAND_TIERS : g->switches[s].tier;
    }
}

// ---- the network ----

static void set_arcs(struct network *n, const struct sand_graph_loss *loss)
{
    const struct sand_graph *g = n->fabric;
    uint32_t kept = 0;
    for (uint32_t s = 0; s < g->n_switches; s++) {
        n->arcs.first[s] = kept;
        for (uint32_t i = g->first[s]; i < g->first[s + 1] && !is_dead(loss, s); i++) {
            const double weight = nearbyint(g->edges[g->via[i]].capacity_Bps / n->unit);
            if (is_dead(loss, g->near[i]) || weight <= 0)
                continue;
            n->arcs.to[kept] = g->near[i];
            n->arcs.weight[kept++] = weight;
        }
    }
    n->arcs.first[g->n_switches] = kept;
}

static enum sand_rc network_make(struct network *n, const struct sand_graph *g,
                                 const uint8_t *sides, const struct sand_graph_loss *loss,
                                 struct sand_graph_cut *cut)
{
    const size_t n_arcs = (size_t)g->n_edges * 2;
    *n = (struct network){
        .fabric = g,
        .unit = unit_for(g),
        .ports = sand_calloc(g->n_switches, sizeof *n->ports),
        .standing = sand_calloc(g->n_switches, sizeof *n->standing),
        .arcs = {.n = g->n_switches,
                 .first = sand_calloc((size_t)g->n_switches + 1, sizeof *n->arcs.first),
                 .to = sand_calloc(n_arcs, sizeof *n->arcs.to),
                 .weight = sand_calloc(n_arcs, sizeof *n->arcs.weight)}};
    if (!n->ports || !n->standing || !n->arcs.first || !n->arcs.to || !n->arcs.weight)
        return SAND_ERR_NOMEM;
    count_ports(n, sides, loss, cut);
    set_standings(n, loss);
    set_arcs(n, loss);
    return SAND_OK;
}

// ---- the quotient ----

// Edges of the flow: what each stands for is counted in the result if it is cut.
struct quotient {
    igraph_t graph; // vertices: the cells, then source and sink
    igraph_vector_int_t ends;
    igraph_vector_t capacity;
    igraph_vector_int_t cables; // edges of the fabric, or switches with NICs
    igraph_vector_int_t tiers;  // of their lower end; SAND_TIERS: NICs
};

static void quotient_free(struct quotient *q)
{
    igraph_destroy(&q->graph);
    igraph_vector_int_destroy(&q->ends);
    igraph_vector_destroy(&q->capacity);
    igraph_vector_int_destroy(&q->cables);
    igraph_vector_int_destroy(&q->tiers);
}

static igraph_error_t quotient_make(struct quotient *q, uint32_t n_cells)
{
    IGRAPH_CHECK(igraph_vector_int_init(&q->ends, 0));
    IGRAPH_FINALLY(igraph_vector_int_destroy, &q->ends);
    IGRAPH_CHECK(igraph_vector_init(&q->capacity, 0));
    IGRAPH_FINALLY(igraph_vector_destroy, &q->capacity);
    IGRAPH_CHECK(igraph_vector_int_init(&q->cables, 0));
    IGRAPH_FINALLY(igraph_vector_int_destroy, &q->cables);
    IGRAPH_CHECK(igraph_vector_int_init(&q->tiers, 0));
    IGRAPH_FINALLY(igraph_vector_int_destroy, &q->tiers);
    IGRAPH_CHECK(igraph_empty(&q->graph, (igraph_integer_t)n_cells + 2, IGRAPH_UNDIRECTED));
    IGRAPH_FINALLY_CLEAN(4);
    return IGRAPH_SUCCESS;
}

static igraph_error_t push_edge(struct quotient *q, const uint32_t ends[2], double capacity,
                                uint32_t cables, uint64_t tier)
{
    IGRAPH_CHECK(igraph_vector_int_push_back(&q->ends, (igraph_integer_t)ends[0]));
    IGRAPH_CHECK(igraph_vector_int_push_back(&q->ends, (igraph_integer_t)ends[1]));
    IGRAPH_CHECK(igraph_vector_int_push_back(&q->cables, (igraph_integer_t)cables));
    IGRAPH_CHECK(igraph_vector_int_push_back(&q->tiers, (igraph_integer_t)tier));
    return igraph_vector_push_back(&q->capacity, capacity * cables);
}

// A cell's first member speaks for all: every edge it has, |cell| members have likewise.
static igraph_error_t push_cell(struct quotient *q, const struct network *n, uint32_t cell)
{
    const uint32_t size = n->cells.size[cell], s = n->cells.order[n->cells.begin[cell]];
    for (uint32_t side = 0; side < 2; side++)
        if (n->standing[s].nics[side] > 0)
            IGRAPH_CHECK(push_edge(q, (const uint32_t[]){cell, n->cells.n + side},
                                   n->standing[s].nics[side], size, SAND_TIERS));
    for (uint32_t i = n->arcs.first[s]; i < n->arcs.first[s + 1]; i++) {
        const uint32_t other = n->cells.of[n->arcs.to[i]];
        if (other <= cell) // from its own side, or inside a cell
            continue;
        const uint64_t tier = n->standing[n->arcs.to[i]].tier;
        IGRAPH_CHECK(push_edge(q, (const uint32_t[]){cell, other}, n->arcs.weight[i], size,
                               tier < n->standing[s].tier ? tier : n->standing[s].tier));
    }
    return IGRAPH_SUCCESS;
}

static void count_cut(const struct quotient *q, const igraph_vector_int_t *edges,
                      struct sand_graph_cut *cut)
{
    for (igraph_integer_t i = 0; i < igraph_vector_int_size(edges); i++) {
        const igraph_integer_t edge = VECTOR(*edges)[i];
        const uint32_t cables = (uint32_t)VECTOR(q->cables)[edge];
        if (VECTOR(q->tiers)[edge] < SAND_TIERS)
            cut->n_cut[VECTOR(q->tiers)[edge]] += cables;
        else
            cut->n_cut_nics += cables;
    }
}

static igraph_error_t solve(struct quotient *q, const struct network *n, struct sand_graph_cut *cut)
{
    igraph_vector_int_t edges;
    igraph_real_t value = 0;
    for (uint32_t c = 0; c < n->cells.n; c++)
        IGRAPH_CHECK(push_cell(q, n, c));
    IGRAPH_CHECK(igraph_add_edges(&q->graph, &q->ends, NULL));
    IGRAPH_CHECK(igraph_vector_int_init(&edges, 0));
    igraph_error_t error =
        igraph_maxflow(&q->graph, &value, NULL, &edges, NULL, NULL, (igraph_integer_t)n->cells.n,
                       (igraph_integer_t)n->cells.n + 1, &q->capacity, NULL);
    if (error == IGRAPH_SUCCESS) {
        cut->value_Bps = value * n->unit;
        count_cut(q, &edges, cut);
    }
    igraph_vector_int_destroy(&edges);
    return error;
}

static igraph_error_t cut_quotient(const struct network *n, struct sand_graph_cut *cut)
{
    struct quotient q;
    IGRAPH_CHECK(quotient_make(&q, n->cells.n));
    const igraph_error_t error = solve(&q, n, cut);
    quotient_free(&q);
    return error;
}

// ---- cuts ----

static enum sand_rc cut_graph(const struct sand_graph *g, const uint8_t *sides,
                              const struct sand_graph_loss *loss, int apart,
                              struct sand_graph_cut *cut, struct sand_diag *diag)
{
    struct network n;
    graph_tame_igraph();
    *cut = (struct sand_graph_cut){0};
    enum sand_rc rc = network_make(&n, g, sides, loss, cut);
    if (rc == SAND_OK)
        rc = apart ? graph_cells_apart(g->n_switches, &n.cells)
                   : graph_cells_find(&n.arcs, n.standing, sizeof *n.standing, &n.cells);
    igraph_error_t error = rc == SAND_OK ? cut_quotient(&n, cut) : IGRAPH_ENOMEM;
    network_free(&n);
    return error == IGRAPH_SUCCESS ? SAND_OK : graph_igraph_failed(error, diag);
}

enum sand_rc sand_graph_cut(const struct sand_graph *graph, const uint8_t *sides,
                            const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                            struct sand_diag *diag)
{
    return cut_graph(graph, sides, loss, 0, cut, diag);
}

enum sand_rc sand_graph_cut_apart(const struct sand_graph *graph, const uint8_t *sides,
                                  const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                                  struct sand_diag *diag)
{
    return cut_graph(graph, sides, loss, 1, cut, diag);
}

// ---- losses, one after the other ----

struct sand_graph_kept {
    struct network healthy;
    struct graph_kept *flow;
    uint8_t *sides;
    struct graph_ports *ports; // scratch
};

static void set_ports(const struct network *n, struct graph_ports *ports)
{
    for (uint32_t s = 0; s < n->fabric->n_switches; s++)
        ports[s] = (struct graph_ports){n->standing[s].nics[0], n->standing[s].nics[1]};
}

void sand_graph_kept_free(struct sand_graph_kept *kept)
{
    if (kept == NULL)
        return;
    graph_kept_free(kept->flow);
    network_free(&kept->healthy);
    sand_free(kept->sides);
    sand_free(kept->ports);
    sand_free(kept);
}

static enum sand_rc keep(const struct sand_graph *g, struct sand_graph_kept *kept)
{
    struct network *n = &kept->healthy;
    struct sand_graph_cut cut = {0};
    kept->sides = sand_calloc(g->n_nodes, sizeof *kept->sides);
    kept->ports = sand_calloc(g->n_switches, sizeof *kept->ports);
    if (kept->sides == NULL || kept->ports == NULL)
        return SAND_ERR_NOMEM;
    sand_graph_halves(g, kept->sides);
    SAND_TRY(network_make(n, g, kept->sides, NULL, &cut));
    set_ports(n, kept->ports);
    return graph_kept_make(&n->arcs, kept->ports, &kept->flow);
}

enum sand_rc sand_graph_keep(const struct sand_graph *graph, struct sand_graph_kept **kept,
                             struct sand_diag *diag)
{
    *kept = sand_calloc(1, sizeof **kept);
    const enum sand_rc rc = *kept ? keep(graph, *kept) : SAND_ERR_NOMEM;
    if (rc == SAND_OK)
        return SAND_OK;
    sand_graph_kept_free(*kept);
    *kept = NULL;
    return sand_fail(diag, rc, "no memory for the flows of the fabric");
}

double sand_graph_kept_bisection(struct sand_graph_kept *kept, const struct sand_graph_loss *loss)
{
    struct sand_graph_cut cut = {0};
    struct network *n = &kept->healthy;
    count_ports(n, kept->sides, loss, &cut);
    set_standings(n, loss);
    set_ports(n, kept->ports);
    return n->unit * graph_kept_after(kept->flow, loss ? loss->switches : NULL, kept->ports);
}

// ---- halves ----

void sand_graph_halves(const struct sand_graph *graph, uint8_t *sides)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        sides[i] = graph->node_half[i] < graph->n_halves / 2 ? SAND_SIDE_A : SAND_SIDE_B;
}

enum sand_rc sand_graph_bisection(const struct sand_graph *graph,
                                  const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                                  struct sand_diag *diag)
{
    uint8_t *sides = sand_calloc(graph->n_nodes, sizeof *sides);
    if (sides == NULL)
        return graph_igraph_failed(IGRAPH_ENOMEM, diag);
    sand_graph_halves(graph, sides);
    enum sand_rc rc = sand_graph_cut(graph, sides, loss, cut, diag);
    sand_free(sides);
    return rc;
}
