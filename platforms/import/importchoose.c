// Which description a graph becomes: a regular fat tree, or every switch and cable.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "importtree.h"

struct candidate {
    const struct import_graph *graph;
    const struct import_tree *tree;
    const struct import_node *node;
};

// ---- is it regular? -----------------------------------------------------------------------------

static int by_ends(const void *left, const void *right)
{
    const struct import_cable *a = left, *b = right;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

// The cables with the lower tier first, those between the same two switches as one.
static size_t merge_cables(const struct import_graph *g, struct import_cable *merged)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_cables; i++) {
        struct import_cable c = g->cables[i];
        if (g->switches[c.a].tier > g->switches[c.b].tier) {
            c.a = g->cables[i].b;
            c.b = g->cables[i].a;
        }
        merged[i] = c;
    }
    qsort(merged, g->n_cables, sizeof *merged, by_ends);
    for (size_t i = 0; i < g->n_cables; i++) {
        if (n > 0 && by_ends(&merged[n - 1], &merged[i]) == 0)
            merged[n - 1].Bps += merged[i].Bps;
        else
            merged[n++] = merged[i];
    }
    return n;
}

static int is_near(double a, double b)
{
    return a - b <= 1e-9 * a && b - a <= 1e-9 * b;
}

int import_tree_is_complete(struct import_job *job, const struct import_graph *g,
                            const struct import_tree *t)
{
    struct import_cable *merged = sand_arena_alloc(&job->arena, g->n_cables, sizeof *merged);
    double *above = sand_arena_alloc(&job->arena, g->n_switches, sizeof *above);
    uint64_t pairs = 0, need = 0;
    double rate_Bps = 0, spine_Bps = 0, core_Bps = 0;
    if (merged == NULL || above == NULL)
        return import_no_memory(job);
    const size_t n = merge_cables(g, merged);
    for (size_t i = 0; i < n; i++) {
        if (g->switches[merged[i].a].tier == 0) {
            rate_Bps = rate_Bps > 0 ? rate_Bps : merged[i].Bps;
            if (!is_near(merged[i].Bps, rate_Bps))
                return 0;
            pairs++;
        } else {
            above[merged[i].a] += merged[i].Bps;
            above[merged[i].b] += merged[i].Bps;
        }
    }
    for (size_t i = 0; i < t->n_leaves; i++)
        need += t->pods[t->leaves[i].pod].n_spines;
    for (size_t i = 0; i < g->n_switches && pairs == need; i++) {
        double *like = g->switches[i].tier == 1 ? &spine_Bps : &core_Bps;
        if (g->switches[i].tier == 0)
            continue;
        *like = *like > 0 ? *like : above[i];
        if (!is_near(*like, above[i]))
            return 0;
    }
    return pairs == need;
}

// Every node is at one leaf with all its NICs, each in one plane; the leaves take them in order.
static int takes_whole_nodes(const struct import_graph *g, const struct import_tree *t)
{
    uint32_t last_at = 0, node = 0;
    for (size_t i = 0; i < g->n_ports; i++) {
        const struct import_port *p = &g->ports[i];
        const uint32_t n = p->n_nics > 0 ? p->n_nics : 1;
        if (n != t->nics_per_node || p->node != node++ || (i > 0 && p->at < last_at))
            return 0;
        last_at = p->at;
    }
    return 1;
}

// ---- the attempt --------------------------------------------------------------------------------

static int write_tree(struct import_job *job, void *context)
{
    const struct candidate *c = context;
    struct import_tree tree = *c->tree;
    struct import_graph graph = *c->graph;
    graph.switches = sand_arena_alloc(&job->arena, graph.n_switches, sizeof *graph.switches);
    if (graph.switches == NULL)
        return import_no_memory(job);
    memcpy(graph.switches, c->graph->switches, graph.n_switches * sizeof *graph.switches);
    // A fat tree has no rails.
    for (; tree.n_fabric_extras > 0 && (strcmp(tree.fabric_extras->name, "rails") == 0 ||
                                        strcmp(tree.fabric_extras->name, "cross_rail") == 0);
         tree.n_fabric_extras--, tree.fabric_extras++)
        if (strcmp(tree.fabric_extras->value, "no") != 0)
            return 0;
    // Dead things keep the names they have.
    for (size_t i = 0; i < graph.n_switches; i++)
        if (graph.switches[i].is_dead)
            return 0;
    for (size_t i = 0; i < graph.n_ports; i++)
        if (graph.ports[i].lost > 0)
            return 0;
    return takes_whole_nodes(&graph, &tree) && import_tree_of_graph(job, &graph, &tree) &&
           import_tree_is_complete(job, &graph, &tree) && import_tree_write(job, &tree, c->node);
}

int import_fabric_write(struct import_job *job, struct import_graph *graph,
                        const struct import_tree *tree, const struct import_node *node)
{
    struct candidate candidate = {graph, tree, node};
    if (import_try(job, write_tree, &candidate))
        return 1;
    return job->rc == SAND_OK && import_wired_write(job, graph, tree, node);
}
