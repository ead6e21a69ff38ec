// Cuts and disjoint paths: the graph handed to igraph, which never aborts the program.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <float.h>
#include <igraph/igraph.h>
#include <math.h>

#include "graph.h"
#include "ids.h"
#include "mem.h"

// igraph's default handler aborts on every error; return codes are enough. Its random generator is
// never used: nothing here draws.
static void tame_igraph(void)
{
    igraph_set_error_handler(igraph_error_handler_ignore);
    igraph_set_warning_handler(igraph_warning_handler_ignore);
}

static enum sand_rc igraph_failed(igraph_error_t error, struct sand_diag *diag)
{
    return sand_fail(diag, error == IGRAPH_ENOMEM ? SAND_ERR_NOMEM : SAND_ERR_INTERNAL,
                     "graph analysis: igraph says \"%s\"", igraph_strerror(error));
}

static int is_dead(const struct sand_graph_loss *loss, uint32_t s)
{
    return loss != NULL && loss->switches != NULL && loss->switches[s];
}

// ---- the flow network ----

// Living NIC ports of both sides at every switch. What impairments take from them is kept apart, so
// that a healthy fabric is a whole number of ports: no sum of rounded rates.
struct ports {
    uint32_t *of[2];     // [n_switches]
    double *lost_Bps[2]; // [n_switches]
};

static double ports_Bps(const struct sand_graph *g, const struct ports *ports, unsigned side,
                        uint32_t s)
{
    return ports->of[side][s] * g->port_Bps - ports->lost_Bps[side][s];
}

static void ports_free(struct ports *ports)
{
    for (unsigned side = 0; side < 2; side++) {
        sand_free(ports->of[side]);
        sand_free(ports->lost_Bps[side]);
    }
}

static int ports_make(struct ports *ports, const struct sand_graph *g)
{
    for (unsigned side = 0; side < 2; side++) {
        ports->of[side] = sand_calloc(g->n_switches, sizeof *ports->of[side]);
        ports->lost_Bps[side] = sand_calloc(g->n_switches, sizeof *ports->lost_Bps[side]);
    }
    return ports->of[0] && ports->of[1] && ports->lost_Bps[0] && ports->lost_Bps[1];
}

// Vertices: the switches, then source and sink. Edges: the living ones of the graph (`kept` has
// their numbers), then one per side and switch with NICs of that side, with their rate.
struct network {
    igraph_t graph;
    igraph_vector_int_t ends;
    igraph_vector_t capacity;
    uint32_t *kept;
    uint32_t n_kept;
    double unit; // capacities are whole multiples of this many B/s
};

static void network_free(struct network *n)
{
    igraph_destroy(&n->graph);
    igraph_vector_int_destroy(&n->ends);
    igraph_vector_destroy(&n->capacity);
    sand_free(n->kept);
}

static void count_ports(const struct sand_graph *g, const uint8_t *sides,
                        const struct sand_graph_loss *loss, struct ports *ports,
                        struct sand_graph_cut *cut)
{
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
            ports->of[side][leaf]++;
            ports->lost_Bps[side][leaf] += g->port_Bps - g->nic_Bps[port];
            lost_Bps[side] += g->port_Bps - g->nic_Bps[port];
            living++;
        }
        n_ports[side] += living;
        cut->endpoints[side] += living > 0 ? 1 : 0;
    }
    cut->injection_Bps =
        fmin(n_ports[0] * g->port_Bps - lost_Bps[0], n_ports[1] * g->port_Bps - lost_Bps[1]);
}

// Whole numbers add up exactly as long as the sum stays below 2^53: then push-relabel ends at the
// exact value, and equal fabrics give equal bytes.
static double unit_for(const struct sand_graph *g)
{
    double sum = (double)g->n_endpoints * g->n_planes * g->port_Bps;
    for (uint32_t i = 0; i < g->n_edges; i++)
        sum += g->edges[i].capacity_Bps;
    double unit = 1;
    while (sum / unit > 4503599627370496.0) // 2^52
        unit *= 2;
    while (sum / unit < 1125899906842624.0 && sum > 0 && unit > DBL_MIN) // 2^50: keep the digits
        unit /= 2;
    return unit;
}

static igraph_error_t push_edge(struct network *n, uint32_t a, uint32_t b, double capacity_Bps)
{
    IGRAPH_CHECK(igraph_vector_int_push_back(&n->ends, (igraph_integer_t)a));
    IGRAPH_CHECK(igraph_vector_int_push_back(&n->ends, (igraph_integer_t)b));
    return igraph_vector_push_back(&n->capacity, nearbyint(capacity_Bps / n->unit));
}

static igraph_error_t push_all(struct network *n, const struct sand_graph *g,
                               const struct sand_graph_loss *loss, const struct ports *ports)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        if (is_dead(loss, e->a) || is_dead(loss, e->b))
            continue;
        IGRAPH_CHECK(push_edge(n, e->a, e->b, e->capacity_Bps));
        n->kept[n->n_kept++] = i;
    }
    for (uint32_t s = 0; s < g->n_switches; s++)
        for (uint32_t side = 0; side < 2; side++)
            if (ports->of[side][s] > 0)
                IGRAPH_CHECK(push_edge(n, s, g->n_switches + side, ports_Bps(g, ports, side, s)));
    return igraph_add_edges(&n->graph, &n->ends, NULL);
}

static igraph_error_t network_make(struct network *n, const struct sand_graph *g)
{
    n->unit = unit_for(g);
    n->kept = sand_calloc(g->n_edges, sizeof *n->kept);
    if (n->kept == NULL)
        return IGRAPH_ENOMEM;
    igraph_error_t error = igraph_vector_int_init(&n->ends, 0);
    if (error == IGRAPH_SUCCESS) {
        error = igraph_vector_init(&n->capacity, 0);
        if (error == IGRAPH_SUCCESS) {
            error = igraph_empty(&n->graph, (igraph_integer_t)g->n_switches + 2, IGRAPH_UNDIRECTED);
            if (error == IGRAPH_SUCCESS)
                return error;
            igraph_vector_destroy(&n->capacity);
        }
        igraph_vector_int_destroy(&n->ends);
    }
    sand_free(n->kept);
    return error;
}

// ---- cuts ----

static void count_cut(const struct network *n, const struct sand_graph *g,
                      const igraph_vector_int_t *edges, struct sand_graph_cut *cut)
{
    for (igraph_integer_t i = 0; i < igraph_vector_int_size(edges); i++) {
        uint64_t edge = (uint64_t)VECTOR(*edges)[i];
        if (edge < n->n_kept)
            cut->n_cut[g->switches[g->edges[n->kept[edge]].a].tier]++;
        else
            cut->n_cut_nics++;
    }
}

static igraph_error_t solve_cut(struct network *n, const struct sand_graph *g,
                                struct sand_graph_cut *cut)
{
    igraph_vector_int_t edges;
    igraph_real_t value = 0;
    IGRAPH_CHECK(igraph_vector_int_init(&edges, 0));
    igraph_error_t error =
        igraph_maxflow(&n->graph, &value, NULL, &edges, NULL, NULL, (igraph_integer_t)g->n_switches,
                       (igraph_integer_t)g->n_switches + 1, &n->capacity, NULL);
    if (error == IGRAPH_SUCCESS) {
        cut->value_Bps = value * n->unit;
        count_cut(n, g, &edges, cut);
    }
    igraph_vector_int_destroy(&edges);
    return error;
}

static igraph_error_t cut_between(const struct sand_graph *g, const struct sand_graph_loss *loss,
                                  const struct ports *ports, struct sand_graph_cut *cut)
{
    struct network network = {0};
    IGRAPH_CHECK(network_make(&network, g));
    igraph_error_t error = push_all(&network, g, loss, ports);
    if (error == IGRAPH_SUCCESS)
        error = solve_cut(&network, g, cut);
    network_free(&network);
    return error;
}

enum sand_rc sand_graph_cut(const struct sand_graph *graph, const uint8_t *sides,
                            const struct sand_graph_loss *loss, struct sand_graph_cut *cut,
                            struct sand_diag *diag)
{
    tame_igraph();
    *cut = (struct sand_graph_cut){0};
    struct ports ports = {0};
    igraph_error_t error = IGRAPH_ENOMEM;
    if (ports_make(&ports, graph)) {
        count_ports(graph, sides, loss, &ports, cut);
        error = cut_between(graph, loss, &ports, cut);
    }
    ports_free(&ports);
    return error == IGRAPH_SUCCESS ? SAND_OK : igraph_failed(error, diag);
}

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
        return igraph_failed(IGRAPH_ENOMEM, diag);
    sand_graph_halves(graph, sides);
    enum sand_rc rc = sand_graph_cut(graph, sides, loss, cut, diag);
    sand_free(sides);
    return rc;
}

// ---- questions about the bare graph ----

static igraph_error_t plain_graph(const struct sand_graph *g, igraph_t *graph)
{
    igraph_vector_int_t ends;
    IGRAPH_CHECK(igraph_vector_int_init(&ends, (igraph_integer_t)g->n_edges * 2));
    for (uint32_t i = 0; i < g->n_edges; i++) {
        VECTOR(ends)[2 * (size_t)i] = (igraph_integer_t)g->edges[i].a;
        VECTOR(ends)[2 * (size_t)i + 1] = (igraph_integer_t)g->edges[i].b;
    }
    igraph_error_t error =
        igraph_create(graph, &ends, (igraph_integer_t)g->n_switches, IGRAPH_UNDIRECTED);
    igraph_vector_int_destroy(&ends);
    return error;
}

// Shortest paths are counted, not listed: igraph_get_all_shortest_paths holds all of them in
// memory, and a grid of 14 x 14 switches has ten million. More than 2^64 - 1 count as that.
static void count_shortest(const struct sand_graph *g, uint32_t from, uint32_t *queue,
                           uint32_t *hops, uint64_t *count)
{
    uint32_t n_queued = 1;
    queue[0] = from;
    hops[from] = 1;
    count[from] = 1;
    for (uint32_t at = 0; at < n_queued; at++) {
        const uint32_t s = queue[at];
        for (uint32_t i = g->first[s]; i < g->first[s + 1]; i++) {
            const uint32_t next = g->near[i];
            if (hops[next] == 0) {
                hops[next] = hops[s] + 1;
                queue[n_queued++] = next;
            }
            if (hops[next] == hops[s] + 1)
                count[next] =
                    count[next] > UINT64_MAX - count[s] ? UINT64_MAX : count[next] + count[s];
        }
    }
}

static enum sand_rc find_shortest(const struct sand_graph *g, uint32_t from, uint32_t to,
                                  struct sand_graph_paths *paths)
{
    uint32_t *queue = sand_calloc(g->n_switches, sizeof *queue);
    uint32_t *hops = sand_calloc(g->n_switches, sizeof *hops);
    uint64_t *count = sand_calloc(g->n_switches, sizeof *count);
    enum sand_rc rc = queue && hops && count ? SAND_OK : SAND_ERR_NOMEM;
    if (rc == SAND_OK) {
        count_shortest(g, from, queue, hops, count);
        *paths = (struct sand_graph_paths){.hops = hops[to], .shortest = count[to]};
    }
    sand_free(queue);
    sand_free(hops);
    sand_free(count);
    return rc;
}

static igraph_error_t find_disjoint(const igraph_t *graph, uint32_t from, uint32_t to,
                                    uint32_t *disjoint)
{
    igraph_integer_t n = 0;
    igraph_error_t error =
        igraph_edge_disjoint_paths(graph, &n, (igraph_integer_t)from, (igraph_integer_t)to);
    *disjoint = (uint32_t)n;
    return error;
}

enum sand_rc sand_graph_paths(const struct sand_graph *graph, uint32_t from, uint32_t to,
                              struct sand_graph_paths *paths, struct sand_diag *diag)
{
    tame_igraph();
    *paths = (struct sand_graph_paths){0};
    if (from == to) {
        *paths = (struct sand_graph_paths){.hops = 1, .shortest = 1};
        return SAND_OK;
    }
    if (find_shortest(graph, from, to, paths) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory to count shortest paths");
    if (paths->hops == 0)
        return SAND_OK;
    igraph_t plain;
    igraph_error_t error = plain_graph(graph, &plain);
    if (error != IGRAPH_SUCCESS)
        return igraph_failed(error, diag);
    error = find_disjoint(&plain, from, to, &paths->disjoint);
    igraph_destroy(&plain);
    return error == IGRAPH_SUCCESS ? SAND_OK : igraph_failed(error, diag);
}

static igraph_error_t find_weak(const igraph_t *plain, igraph_vector_int_t *points,
                                size_t *n_bridges)
{
    igraph_vector_int_t bridges;
    IGRAPH_CHECK(igraph_articulation_points(plain, points));
    IGRAPH_CHECK(igraph_vector_int_init(&bridges, 0));
    igraph_error_t error = igraph_bridges(plain, &bridges);
    *n_bridges = (size_t)igraph_vector_int_size(&bridges);
    igraph_vector_int_destroy(&bridges);
    return error;
}

static igraph_error_t copy_points(igraph_vector_int_t *points, uint32_t **switches, size_t *n)
{
    igraph_vector_int_sort(points);
    *n = (size_t)igraph_vector_int_size(points);
    *switches = sand_calloc(*n, sizeof **switches);
    if (*switches == NULL)
        return IGRAPH_ENOMEM;
    for (size_t i = 0; i < *n; i++)
        (*switches)[i] = (uint32_t)VECTOR(*points)[i];
    return IGRAPH_SUCCESS;
}

enum sand_rc sand_graph_weak_points(const struct sand_graph *graph, uint32_t **switches,
                                    size_t *n_switches, size_t *n_bridges, struct sand_diag *diag)
{
    tame_igraph();
    igraph_t plain;
    igraph_vector_int_t points;
    igraph_error_t error = plain_graph(graph, &plain);
    if (error != IGRAPH_SUCCESS)
        return igraph_failed(error, diag);
    error = igraph_vector_int_init(&points, 0);
    if (error == IGRAPH_SUCCESS) {
        error = find_weak(&plain, &points, n_bridges);
        if (error == IGRAPH_SUCCESS)
            error = copy_points(&points, switches, n_switches);
        igraph_vector_int_destroy(&points);
    }
    igraph_destroy(&plain);
    return error == IGRAPH_SUCCESS ? SAND_OK : igraph_failed(error, diag);
}
