// Finds tiers and pods in a graph of switches.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "importtree.h"
#include "unionfind.h"

static uint32_t *roots(struct import_job *job, size_t n)
{
    uint32_t *up = sand_arena_alloc(&job->arena, n, sizeof *up);
    for (size_t i = 0; up && i < n; i++)
        up[i] = (uint32_t)i;
    if (up == NULL)
        import_no_memory(job);
    return up;
}

// ---- checks ----

static int check_pieces(struct import_job *job, const struct import_graph *g)
{
    uint32_t *up = roots(job, g->n_switches), pieces = 0, other = 0;
    if (up == NULL)
        return 0;
    for (size_t i = 0; i < g->n_cables; i++)
        sand_union_join(up, g->cables[i].a, g->cables[i].b);
    for (size_t i = 0; i < g->n_switches; i++)
        if (sand_union_root(up, (uint32_t)i) == i && pieces++ == 1)
            other = (uint32_t)i;
    if (pieces <= 1)
        return 1;
    return import_refuse(job, g->switches[other].line,
                         "the fabric is in %" PRIu32 " pieces: no cable joins \"%s\" and \"%s\"; "
                         "import each piece by itself, or the file is not whole",
                         pieces, g->switches[0].name, g->switches[other].name);
}

// ---- tiers ----

// Switches with endpoints are leaves, those beside a leaf spines, those beside a spine cores. One
// sweep over the cables per tier.
static int find_tiers(struct import_job *job, struct import_graph *g)
{
    size_t n_leaves = 0;
    for (size_t i = 0; i < g->n_switches; i++) {
        if (g->switches[i].tier < 0 && g->switches[i].n_endpoints > 0)
            g->switches[i].tier = 0;
        n_leaves += g->switches[i].tier == 0 && g->switches[i].n_endpoints > 0 ? 1 : 0;
    }
    if (n_leaves == 0)
        return import_refuse(job, 0, "no switch has an endpoint; there is no cluster in it");
    for (int tier = 0; tier < 3; tier++)
        for (size_t i = 0; i < g->n_cables; i++) {
            struct import_switch *a = &g->switches[g->cables[i].a];
            struct import_switch *b = &g->switches[g->cables[i].b];
            if (a->tier == tier && b->tier < 0)
                b->tier = tier + 1;
            else if (b->tier == tier && a->tier < 0)
                a->tier = tier + 1;
        }
    for (size_t i = 0; i < g->n_switches; i++) {
        const struct import_switch *s = &g->switches[i];
        if (s->tier > 2 || s->tier < 0)
            return import_refuse(job, s->line,
                                 "switch \"%s\" stands more than two tiers above the leaves; fat "
                                 "trees here have three tiers at most",
                                 s->name);
        if (s->tier > 0 && s->n_endpoints > 0)
            import_deviate(job, s->line,
                           "switch \"%s\" has %" PRIu32 " endpoints although it is no leaf; they "
                           "are left out",
                           s->name, s->n_endpoints);
        if (s->tier == 0 && s->n_endpoints == 0)
            import_deviate(job, s->line, "leaf \"%s\" has no endpoints; it is left out", s->name);
    }
    return 1;
}

static void check_cables(struct import_job *job, const struct import_graph *g)
{
    for (size_t i = 0; i < g->n_cables; i++) {
        const struct import_switch *a = &g->switches[g->cables[i].a];
        const struct import_switch *b = &g->switches[g->cables[i].b];
        if (abs(a->tier - b->tier) != 1)
            import_deviate(job, g->cables[i].line,
                           "a cable joins \"%s\" and \"%s\", which stand %s; it is left out",
                           a->name, b->name,
                           a->tier == b->tier ? "in the same tier" : "two tiers apart");
    }
}

// ---- pods ----

// up[] joined over the cables between leaves and spines.
static uint32_t *join_pods(struct import_job *job, const struct import_graph *g)
{
    uint32_t *up = roots(job, g->n_switches);
    for (size_t i = 0; up && i < g->n_cables; i++)
        if (g->switches[g->cables[i].a].tier < 2 && g->switches[g->cables[i].b].tier < 2)
            sand_union_join(up, g->cables[i].a, g->cables[i].b);
    return up;
}

// Numbers the pods in the order of their first leaf; pod_of[root] is the number plus one.
static int make_pods(struct import_job *job, const struct import_graph *g, uint32_t *up,
                     uint32_t *pod_of, struct import_tree *t)
{
    t->leaves = sand_arena_alloc(&job->arena, g->n_switches, sizeof *t->leaves);
    t->pods = sand_arena_alloc(&job->arena, g->n_switches, sizeof *t->pods);
    if (t->leaves == NULL || t->pods == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < g->n_switches; i++) {
        const struct import_switch *s = &g->switches[i];
        if (s->tier != 0 || s->n_endpoints == 0)
            continue;
        uint32_t root = sand_union_root(up, (uint32_t)i);
        if (pod_of[root] == 0) {
            t->pods[t->n_pods++] = (struct import_pod){.name = s->name};
            pod_of[root] = (uint32_t)t->n_pods;
        }
    }
    return 1;
}

static int by_pod(const void *left, const void *right)
{
    const struct import_leaf *a = left, *b = right;
    if (a->pod != b->pod)
        return a->pod < b->pod ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void add_capacities(const struct import_graph *g, uint32_t *up, const uint32_t *pod_of,
                           double *leaf_up, struct import_tree *t)
{
    for (size_t i = 0; i < g->n_cables; i++) {
        uint32_t a = g->cables[i].a, b = g->cables[i].b;
        if (g->switches[a].tier > g->switches[b].tier) {
            a = g->cables[i].b;
            b = g->cables[i].a;
        }
        uint32_t pod = pod_of[sand_union_root(up, a)];
        if (g->switches[a].tier == 0 && g->switches[b].tier == 1)
            leaf_up[a] += g->cables[i].Bps;
        else if (g->switches[a].tier == 1 && g->switches[b].tier == 2 && pod > 0)
            t->pods[pod - 1].up_Bps += g->cables[i].Bps;
    }
}

static void fill_tree(const struct import_graph *g, uint32_t *up, const uint32_t *pod_of,
                      const double *leaf_up, struct import_tree *t)
{
    for (size_t i = 0; i < g->n_switches; i++) {
        const struct import_switch *s = &g->switches[i];
        uint32_t pod = pod_of[sand_union_root(up, (uint32_t)i)];
        if (s->tier == 0 && s->n_endpoints > 0)
            t->leaves[t->n_leaves++] =
                (struct import_leaf){s->name, s->line, s->n_endpoints, pod - 1, leaf_up[i]};
        else if (s->tier == 1 && pod > 0)
            t->pods[pod - 1].n_spines++;
        else if (s->tier == 2)
            t->n_cores++;
    }
    t->n_tiers = t->n_cores > 0 ? 3 : 2;
    if (t->n_leaves > 1)
        qsort(t->leaves, t->n_leaves, sizeof *t->leaves, by_pod);
}

int import_tree_of_graph(struct import_job *job, struct import_graph *graph,
                         struct import_tree *tree)
{
    if (!check_pieces(job, graph) || !find_tiers(job, graph))
        return 0;
    check_cables(job, graph);
    uint32_t *up = join_pods(job, graph);
    uint32_t *pod_of = sand_arena_alloc(&job->arena, graph->n_switches, sizeof *pod_of);
    double *leaf_up = sand_arena_alloc(&job->arena, graph->n_switches, sizeof *leaf_up);
    if (up == NULL || pod_of == NULL || leaf_up == NULL)
        return import_no_memory(job);
    if (!make_pods(job, graph, up, pod_of, tree))
        return 0;
    add_capacities(graph, up, pod_of, leaf_up, tree);
    fill_tree(graph, up, pod_of, leaf_up, tree);
    return 1;
}
