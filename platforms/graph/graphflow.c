// Paths and weak points: the graph handed to igraph, which never aborts the program.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "graph.h"
#include "graphigraph.h"
#include "mem.h"

void graph_tame_igraph(void)
{
    igraph_set_error_handler(igraph_error_handler_ignore);
    igraph_set_warning_handler(igraph_warning_handler_ignore);
}

enum sand_rc graph_igraph_failed(igraph_error_t error, struct sand_diag *diag)
{
    return sand_fail(diag, error == IGRAPH_ENOMEM ? SAND_ERR_NOMEM : SAND_ERR_INTERNAL,
                     "graph analysis: igraph says \"%s\"", igraph_strerror(error));
}

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
    graph_tame_igraph();
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
        return graph_igraph_failed(error, diag);
    error = find_disjoint(&plain, from, to, &paths->disjoint);
    igraph_destroy(&plain);
    return error == IGRAPH_SUCCESS ? SAND_OK : graph_igraph_failed(error, diag);
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
    graph_tame_igraph();
    igraph_t plain;
    igraph_vector_int_t points;
    igraph_error_t error = plain_graph(graph, &plain);
    if (error != IGRAPH_SUCCESS)
        return graph_igraph_failed(error, diag);
    error = igraph_vector_int_init(&points, 0);
    if (error == IGRAPH_SUCCESS) {
        error = find_weak(&plain, &points, n_bridges);
        if (error == IGRAPH_SUCCESS)
            error = copy_points(&points, switches, n_switches);
        igraph_vector_int_destroy(&points);
    }
    igraph_destroy(&plain);
    return error == IGRAPH_SUCCESS ? SAND_OK : graph_igraph_failed(error, diag);
}
