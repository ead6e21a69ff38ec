// Slurm's topology.conf and topology.yaml: a tree of switches, or blocks of nodes.
// Source of the grammar: topology.conf(5), Slurm 22.05 (tree) and 23.11 (block).
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "importslurm.h"
#include "importtree.h"

enum { MAX_PAIRS = 16, NO_SWITCH = -1 };

// ---- lines ----

static int expand(struct import_job *job, long line, const char *what, const char *text,
                  struct sand_hostlist *list)
{
    char why[160];
    enum sand_rc rc = sand_hostlist_expand(text, &job->arena, list, why, sizeof why);
    if (rc == SAND_OK)
        return 1;
    if (rc == SAND_ERR_NOMEM)
        return import_no_memory(job);
    return import_refuse(job, line, "%s is \"%.200s\": %s; write e.g. tux[0-3,12]", what, text,
                         why);
}

int import_slurm_add(struct import_job *job, struct slurm_tree *tree, struct slurm_switch made)
{
    void *switches = tree->switches;
    if (sand_grow(&switches, &tree->capacity, tree->n + 1, sizeof *tree->switches) != SAND_OK)
        return import_no_memory(job);
    tree->switches = switches;
    tree->switches[tree->n++] = made;
    return 1;
}

// One value into the switch; 0 if the key is not understood.
static int take_pair(const struct import_pair *pair, struct slurm_switch *s,
                     struct slurm_tree *tree)
{
    if (import_same_word(pair->key, "SwitchName") || import_same_word(pair->key, "BlockName")) {
        s->name = pair->value;
        tree->has_blocks |= import_same_word(pair->key, "BlockName");
    } else if (import_same_word(pair->key, "Switches")) {
        s->children_text = pair->value;
    } else if (import_same_word(pair->key, "Nodes")) {
        s->nodes_text = pair->value;
    } else {
        // Informational in Slurm; BlockSizes only guides its choice of blocks.
        return import_same_word(pair->key, "LinkSpeed") ||
               import_same_word(pair->key, "BlockSizes");
    }
    return 1;
}

static int read_line(struct import_job *job, struct slurm_tree *tree, struct import_line *line)
{
    struct import_pair pairs[MAX_PAIRS];
    char *hash = strchr(line->text, '#');
    if (hash != NULL)
        *hash = '\0';
    if (line->text[strspn(line->text, " \t")] == '\0')
        return 1;
    const char *whole = sand_arena_strdup(&job->arena, line->text);
    size_t n = import_pairs(line->text, pairs, MAX_PAIRS);
    struct slurm_switch s = {.line = line->number, .parent = NO_SWITCH};
    unsigned understood = 0;
    for (size_t i = 0; i < n; i++) {
        if (take_pair(&pairs[i], &s, tree))
            understood++;
        else
            import_unknown(job, line->number, "\"%s=%.100s\" is not understood; passed over",
                           pairs[i].key, pairs[i].value);
    }
    if (n == 0)
        import_unknown(job, line->number, "\"%.200s\" is not understood; passed over",
                       whole ? whole : "");
    if (s.name == NULL && (s.children_text || s.nodes_text))
        return import_refuse(job, line->number, "has no SwitchName");
    return s.name == NULL || import_slurm_add(job, tree, s);
}

static int read_lines(struct import_job *job, struct slurm_tree *tree)
{
    struct import_lines lines;
    if (!import_lines_of(job, &lines) || !import_lines_join(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n; i++)
        if (!read_line(job, tree, &lines.lines[i]) && job->rc != SAND_OK)
            return 0; // else: report the problems of the other lines too
    if (tree->n == 0 && job->n_refused == 0)
        return import_refuse(job, 0, "holds no SwitchName and no BlockName; this is no topology");
    return job->n_refused == 0;
}

// ---- the tree ----

static int expand_all(struct import_job *job, struct slurm_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        struct slurm_switch *s = &tree->switches[i];
        if (s->children_text && s->nodes_text)
            import_refuse(job, s->line,
                          "switch \"%s\" has both Switches and Nodes; a leaf has nodes, any other "
                          "switch has switches",
                          s->name);
        else if (s->children_text)
            expand(job, s->line, "Switches", s->children_text, &s->children);
        else if (s->nodes_text)
            expand(job, s->line, "Nodes", s->nodes_text, &s->nodes);
        else
            import_refuse(job, s->line, "switch \"%s\" has neither Switches nor Nodes", s->name);
    }
    return job->n_refused == 0 && job->rc == SAND_OK;
}

static int index_switches(struct import_job *job, const struct slurm_tree *tree,
                          struct import_index *index)
{
    size_t a, b;
    for (size_t i = 0; i < tree->n; i++)
        if (!import_index_add(job, index, tree->switches[i].name, i))
            return 0;
    import_index_sort(index);
    const char *twice = import_index_twice(index, &a, &b);
    if (twice == NULL)
        return 1;
    return import_refuse(job, tree->switches[b].line,
                         "switch \"%s\" is described twice, first in line %ld", twice,
                         tree->switches[a].line);
}

static int check_nodes(struct import_job *job, const struct slurm_tree *tree)
{
    struct import_index index = {0};
    size_t a, b;
    int done = 1;
    for (size_t i = 0; i < tree->n && done; i++)
        for (size_t k = 0; k < tree->switches[i].nodes.n && done; k++)
            done = import_index_add(job, &index, tree->switches[i].nodes.names[k], i);
    import_index_sort(&index);
    const char *twice = done ? import_index_twice(&index, &a, &b) : NULL;
    if (twice != NULL)
        done = a == b ? import_refuse(job, tree->switches[b].line,
                                      "node \"%s\" is named twice by \"%s\"", twice,
                                      tree->switches[b].name)
                      : import_refuse(job, tree->switches[b].line,
                                      "node \"%s\" hangs on \"%s\" and on \"%s\"; it can be in one "
                                      "place only",
                                      twice, tree->switches[a].name, tree->switches[b].name);
    import_index_free(&index);
    return done;
}

static int adopt(struct import_job *job, struct slurm_tree *tree, const struct import_index *index,
                 size_t parent)
{
    struct slurm_switch *s = &tree->switches[parent];
    for (size_t i = 0; i < s->children.n; i++) {
        size_t child = import_index_find(index, s->children.names[i]);
        if (child == SIZE_MAX) {
            import_refuse(job, s->line,
                          "switch \"%s\" stands above \"%s\", which no line describes", s->name,
                          s->children.names[i]);
            continue;
        }
        if (tree->switches[child].parent != NO_SWITCH)
            import_refuse(job, s->line, "switch \"%s\" hangs below both \"%s\" and \"%s\"",
                          tree->switches[child].name,
                          tree->switches[tree->switches[child].parent].name, s->name);
        tree->switches[child].parent = (long)parent;
    }
    return job->n_refused == 0;
}

// Parents are unique, so a cycle is a walk upwards that meets itself.
static int check_cycles(struct import_job *job, struct slurm_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        long at = (long)i;
        for (; at != NO_SWITCH && tree->switches[at].state == 0; at = tree->switches[at].parent)
            tree->switches[at].state = 1;
        if (at != NO_SWITCH && tree->switches[at].state == 1)
            return import_refuse(job, tree->switches[at].line,
                                 "switch \"%s\" stands above itself, by way of \"%s\": a cycle",
                                 tree->switches[at].name,
                                 tree->switches[tree->switches[at].parent].name);
        for (at = (long)i; at != NO_SWITCH && tree->switches[at].state == 1;
             at = tree->switches[at].parent)
            tree->switches[at].state = 2;
    }
    return 1;
}

static int check_roots(struct import_job *job, const struct slurm_tree *tree)
{
    const struct slurm_switch *first = NULL;
    for (size_t i = 0; i < tree->n; i++) {
        const struct slurm_switch *s = &tree->switches[i];
        if (s->parent != NO_SWITCH)
            continue;
        if (first != NULL && !tree->has_blocks)
            return import_refuse(job, s->line,
                                 "switches \"%s\" and \"%s\" have no common switch above them: the "
                                 "fabric is in pieces; add the switch that joins them",
                                 first->name, s->name);
        first = s;
    }
    return 1;
}

// ---- from Slurm's tree to leaves and pods ----

// The switch `levels` above switch `at`, or the highest there is.
static size_t above(const struct slurm_tree *tree, size_t at, int levels)
{
    while (levels-- > 0 && tree->switches[at].parent != NO_SWITCH)
        at = (size_t)tree->switches[at].parent;
    return at;
}

static int depth_of(const struct slurm_tree *tree, size_t at)
{
    int depth = 1;
    while (tree->switches[at].parent != NO_SWITCH) {
        at = (size_t)tree->switches[at].parent;
        depth++;
    }
    return depth;
}

static int deepest(const struct slurm_tree *tree)
{
    int most = 1;
    for (size_t i = 0; i < tree->n; i++) {
        int depth = tree->switches[i].nodes.n > 0 ? depth_of(tree, i) : 0;
        if (depth > most)
            most = depth;
    }
    return most;
}

static void add_leaf(const struct slurm_tree *slurm, size_t at, size_t *pod_of,
                     const struct import_node *node, struct import_tree *t)
{
    const struct slurm_switch *s = &slurm->switches[at];
    size_t top = t->n_tiers == 3 ? above(slurm, at, 1) : at;
    if (t->n_tiers == 2 && t->n_pods > 0)
        top = SIZE_MAX;
    if (top != SIZE_MAX && pod_of[top] == 0) {
        t->pods[t->n_pods++] = (struct import_pod){.name = slurm->switches[top].name};
        pod_of[top] = t->n_pods;
    }
    uint32_t pod = top != SIZE_MAX ? (uint32_t)pod_of[top] - 1 : 0;
    t->leaves[t->n_leaves++] =
        (struct import_leaf){s->name, s->line, (uint32_t)s->nodes.n * node->n_nics, pod, 0};
    t->n_nodes += (uint32_t)s->nodes.n;
}

static int make_tree(struct import_job *job, const struct slurm_tree *slurm,
                     const struct import_node *node, struct import_tree *t)
{
    size_t *pod_of = sand_arena_alloc(&job->arena, slurm->n, sizeof *pod_of);
    t->leaves = sand_arena_alloc(&job->arena, slurm->n, sizeof *t->leaves);
    t->pods = sand_arena_alloc(&job->arena, slurm->n, sizeof *t->pods);
    if (pod_of == NULL || t->leaves == NULL || t->pods == NULL)
        return import_no_memory(job);
    int depth = deepest(slurm);
    t->n_tiers = depth >= 3 ? 3 : 2;
    t->nics_per_node = node->n_nics;
    if (depth > 3)
        import_deviate(job, 0,
                       "the tree has %d levels; everything above the second is written as one tier "
                       "of cores",
                       depth);
    for (size_t i = 0; i < slurm->n; i++) {
        if (slurm->switches[i].nodes.n == 0)
            continue;
        if (depth_of(slurm, i) != depth)
            import_deviate(job, slurm->switches[i].line,
                           "leaf \"%s\" is at depth %d, others at %d; all are written alike",
                           slurm->switches[i].name, depth_of(slurm, i), depth);
        add_leaf(slurm, i, pod_of, node, t);
    }
    return 1;
}

static void comment_tree(struct import_job *job, const struct slurm_tree *slurm)
{
    if (slurm->has_blocks)
        import_assume(job, "every block is one leaf, all joined by spines: blocks say only which "
                           "nodes are close");
    else
        import_assume(job, "Slurm's upper switches are groups, not machines: spines and cores are "
                           "not counted");
    for (size_t i = 0; i < slurm->n; i++)
        if (slurm->switches[i].nodes.n > 0)
            import_comment(job, "leaf %s: %.400s", slurm->switches[i].name,
                           slurm->switches[i].nodes_text);
}

struct slurm_candidate {
    const struct slurm_tree *slurm;
    const struct import_node *node;
};

static int write_regular(struct import_job *job, void *context)
{
    const struct slurm_candidate *c = context;
    struct import_tree tree = {0};
    comment_tree(job, c->slurm);
    return make_tree(job, c->slurm, c->node, &tree) && import_tree_write(job, &tree, c->node);
}

// ---- an irregular tree: every switch ------------------------------------------------------------

static void hang_nodes(const struct slurm_tree *slurm, const struct import_node *node,
                       struct import_graph *g, struct import_tree *t)
{
    for (size_t i = 0; i < slurm->n; i++) {
        g->switches[i].n_endpoints = (uint32_t)slurm->switches[i].nodes.n * node->n_nics;
        for (size_t k = 0; k < slurm->switches[i].nodes.n; k++)
            g->ports[g->n_ports++] = (struct import_port){
                (uint32_t)i, t->n_nodes++, 0, node->n_nics, 0, slurm->switches[i].line, 0};
    }
}

// What the nodes below each switch send: every one's way up takes it.
static void sum_below(const struct slurm_tree *slurm, const struct import_node *node,
                      double *below_Bps)
{
    for (size_t i = 0; i < slurm->n; i++) {
        const double own = (double)slurm->switches[i].nodes.n * node->n_nics * node->nic_Bps;
        for (long at = (long)i; own > 0 && at != NO_SWITCH; at = slurm->switches[at].parent)
            below_Bps[at] += own;
    }
}

static int write_irregular(struct import_job *job, const struct slurm_tree *slurm,
                           const struct import_node *node)
{
    struct import_graph g = {.n_switches = slurm->n + (slurm->has_blocks ? 1 : 0)};
    struct import_tree t = {.nics_per_node = node->n_nics};
    size_t n_nodes = 0;
    for (size_t i = 0; i < slurm->n; i++)
        n_nodes += slurm->switches[i].nodes.n;
    double *below_Bps = sand_arena_alloc(&job->arena, slurm->n, sizeof *below_Bps);
    g.switches = sand_arena_alloc(&job->arena, g.n_switches, sizeof *g.switches);
    g.cables = sand_arena_alloc(&job->arena, slurm->n, sizeof *g.cables);
    g.ports = sand_arena_alloc(&job->arena, n_nodes, sizeof *g.ports);
    if (!below_Bps || !g.switches || !g.cables || !g.ports)
        return import_no_memory(job);
    if (slurm->has_blocks)
        g.switches[slurm->n] =
            (struct import_switch){"all-blocks", 0, 1, 0, IMPORT_NO_POD, NULL, 0};
    sum_below(slurm, node, below_Bps);
    for (size_t i = 0; i < slurm->n; i++) {
        const struct slurm_switch *s = &slurm->switches[i];
        g.switches[i] = (struct import_switch){
            s->name, s->line, s->nodes.n > 0 ? 0 : -1, 0, IMPORT_NO_POD, NULL, 0};
        const long up = s->parent == NO_SWITCH && slurm->has_blocks ? (long)slurm->n : s->parent;
        if (up != NO_SWITCH && below_Bps[i] > 0)
            g.cables[g.n_cables++] =
                (struct import_cable){(uint32_t)i, (uint32_t)up, below_Bps[i], s->line, 0};
    }
    hang_nodes(slurm, node, &g, &t);
    import_assume(job, "no oversubscription: every switch has as much up as the NICs below it; "
                       "Slurm's upper switches are groups, each written as one switch");
    if (slurm->has_blocks)
        import_assume(job, "every block is one leaf, all joined by one spine");
    return import_wired_write(job, &g, &t, node);
}

static int build(struct import_job *job, struct slurm_tree *slurm)
{
    struct import_index index = {0};
    struct import_node node;
    int done = expand_all(job, slurm) && index_switches(job, slurm, &index);
    for (size_t i = 0; i < slurm->n && done; i++)
        done = adopt(job, slurm, &index, i);
    import_index_free(&index);
    done = done && check_cycles(job, slurm) && check_roots(job, slurm) && check_nodes(job, slurm);
    if (!done || !import_node_choose(job, NULL, NULL, &node))
        return 0;
    struct slurm_candidate candidate = {slurm, &node};
    if (import_try(job, write_regular, &candidate))
        return 1;
    return job->rc == SAND_OK && write_irregular(job, slurm, &node);
}

int import_slurm_topology(struct import_job *job)
{
    struct slurm_tree tree = {0};
    const int is_yaml = import_slurm_is_yaml(job->text, job->size);
    int done = (is_yaml ? import_slurm_read_yaml(job, &tree) : read_lines(job, &tree)) &&
               build(job, &tree);
    sand_free(tree.switches);
    return done;
}
