// GraphML: what `sandtable export fabric` writes, or any graph of switches.
// Source of the grammar: GraphML primer, graphml.graphdrawing.org (keys, graph, node, edge, data).
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "importmarkup.h"
#include "importtree.h"
#include "units.h"

// A value by name, whatever the key is called in the file.
enum word {
    W_TIER,
    W_ENDPOINTS,
    W_KIND,     // of nodes
    W_CAPACITY, // of edges
    W_NAME,
    W_NODES,
    W_NICS,
    W_NODE_TYPE,
    W_NIC_RATE,
    W_PORT_RATE,
    W_SPREADING,
    W_RADIX, // of graphs
    W_LEAF_RATIO,
    W_FABRIC,
    W_LINK,
    W_POD_RATIO,
    W_PER_RACK,
    W_PER_ROW,
    W_PER_HALL,
    W_IGNORED, // understood, and of no use here
    N_WORDS
};

static const struct {
    const char *name, *of;
    enum word word;
} words[] = {
    {"tier", "node", W_TIER},
    {"endpoints", "node", W_ENDPOINTS},
    {"kind", "node", W_KIND},
    {"type", "node", W_KIND},
    {"label", "node", W_IGNORED},
    {"pod", "node", W_IGNORED},
    {"plane", "node", W_IGNORED},
    {"capacity", "edge", W_CAPACITY},
    {"bandwidth", "edge", W_CAPACITY},
    {"fabric", "graph", W_FABRIC},
    {"link", "graph", W_LINK},
    {"nodes", "graph", W_NODES},
    {"nics_per_node", "graph", W_NICS},
    {"node_type", "graph", W_NODE_TYPE},
    {"nic_rate", "graph", W_NIC_RATE},
    {"port_rate", "graph", W_PORT_RATE},
    {"spreading", "graph", W_SPREADING},
    {"radix", "graph", W_RADIX},
    {"leaf_oversubscription", "graph", W_LEAF_RATIO},
    {"pod_oversubscription", "graph", W_POD_RATIO},
    {"nodes_per_rack", "graph", W_PER_RACK},
    {"racks_per_row", "graph", W_PER_ROW},
    {"rows_per_hall", "graph", W_PER_HALL},
};

struct key {
    const char *id, *name;
    enum word word;
    int is_known;
};

struct graphml {
    struct key *keys;
    size_t n_keys;
    struct import_graph graph;
    struct import_index ids; // of nodes; hosts are n_switches_max + number
    struct import_tree tree;
    const char *values[N_WORDS]; // of the graph
    int *is_host;
    uint32_t n_hosts, n_bare; // n_bare: edges without a capacity
    size_t n_vertices;
    int is_ours;
};

// ---- keys ----

static size_t count_elements(const xmlNode *parent, const char *name)
{
    size_t n = 0;
    for (const xmlNode *c = parent->children; c != NULL; c = c->next)
        n += import_markup_is(c, name) ? 1 : 0;
    return n;
}

static struct key read_key(struct import_job *job, const xmlNode *element)
{
    struct key key = {.id = import_markup_attribute(element, "id"),
                      .name = import_markup_attribute(element, "attr.name")};
    const char *of = import_markup_attribute(element, "for");
    for (size_t i = 0; i < sizeof words / sizeof *words && key.name && !key.is_known; i++)
        if (strcmp(words[i].name, key.name) == 0 &&
            (of == NULL || strcmp(of, "all") == 0 || strcmp(of, words[i].of) == 0)) {
            key.word = words[i].word;
            key.is_known = 1;
        }
    if (!key.is_known)
        import_unknown(job, import_markup_line(element),
                       "key \"%.60s\" (%.60s) is not understood; its data are passed over",
                       key.id ? key.id : "", key.name ? key.name : "no attr.name");
    return key;
}

static int read_keys(struct import_job *job, struct graphml *g, const xmlNode *root)
{
    g->keys = sand_arena_alloc(&job->arena, count_elements(root, "key"), sizeof *g->keys);
    if (g->keys == NULL)
        return import_no_memory(job);
    for (const xmlNode *c = root->children; c != NULL; c = c->next)
        if (import_markup_is(c, "key"))
            g->keys[g->n_keys++] = read_key(job, c);
    return 1;
}

// Collects the data of an element into values[word].
static void read_data(struct import_job *job, const struct graphml *g, const xmlNode *element,
                      const char *values[N_WORDS])
{
    for (const xmlNode *c = element->children; c != NULL; c = c->next) {
        if (c->type != XML_ELEMENT_NODE)
            continue;
        const char *id = import_markup_is(c, "data") ? import_markup_attribute(c, "key") : NULL;
        const struct key *key = NULL;
        for (size_t i = 0; i < g->n_keys && id; i++)
            if (g->keys[i].id && strcmp(g->keys[i].id, id) == 0)
                key = &g->keys[i];
        if (key != NULL && key->is_known)
            values[key->word] = import_markup_text(job, c);
        else if (key == NULL && !import_markup_is(c, "node") && !import_markup_is(c, "edge"))
            import_unknown(job, import_markup_line(c),
                           "<%.60s> with key \"%.60s\" is not understood", (const char *)c->name,
                           id ? id : "");
    }
}

// ---- values ----

static uint32_t whole(struct import_job *job, long line, const char *what, const char *text)
{
    uint32_t value = 0;
    if (text != NULL && !import_markup_count(text, &value))
        import_refuse(job, line, "%s is \"%.60s\": must be a whole number", what, text);
    return value;
}

// A bandwidth with its unit, or a plain number of bytes per second.
static double bandwidth(struct import_job *job, long line, const char *what, const char *text)
{
    double value = 0;
    char why[160];
    if (text == NULL)
        return 0;
    if (sand_quantity_parse(text, SAND_DIM_NUMBER, &value, why, sizeof why) != SAND_OK &&
        sand_quantity_parse(text, SAND_DIM_BANDWIDTH, &value, why, sizeof why) != SAND_OK)
        import_refuse(job, line, "%s is \"%.60s\": %s", what, text, why);
    else if (!(value > 0) || !isfinite(value))
        import_refuse(job, line, "%s is \"%.60s\": must be above 0", what, text);
    else
        return value;
    return 0;
}

static double ratio(struct import_job *job, const char *what, const char *text)
{
    double value = 0;
    char why[160];
    if (text != NULL &&
        sand_quantity_parse(text, SAND_DIM_NUMBER, &value, why, sizeof why) != SAND_OK)
        import_refuse(job, 0, "%s is \"%.60s\": %s", what, text, why);
    return value;
}

static int tier_of(struct import_job *job, long line, const char *text)
{
    static const char *const names[3][3] = {
        {"leaf", "tor", "0"}, {"spine", "aggregation", "1"}, {"core", "superspine", "2"}};
    if (text == NULL)
        return -1;
    for (int tier = 0; tier < 3; tier++)
        for (size_t i = 0; i < 3; i++)
            if (import_same_word(text, names[tier][i]))
                return tier;
    import_unknown(job, line,
                   "tier \"%.60s\" is not understood: leaf, spine and core are; taken from "
                   "the distance to the leaves",
                   text);
    return -1;
}

static int means_host(const char *kind)
{
    static const char *const names[] = {"host", "server", "node", "nic", "endpoint", "hca"};
    for (size_t i = 0; kind && i < sizeof names / sizeof *names; i++)
        if (import_same_word(kind, names[i]))
            return 1;
    return 0;
}

// ---- nodes and edges ----

static int read_vertex(struct import_job *job, struct graphml *g, const xmlNode *element)
{
    const char *values[N_WORDS] = {0};
    const char *id = import_markup_attribute(element, "id");
    long line = import_markup_line(element);
    if (id == NULL || *id == '\0')
        return import_refuse(job, line, "a node has no id");
    read_data(job, g, element, values);
    g->is_host[g->n_vertices] = means_host(values[W_KIND]);
    g->n_hosts += g->is_host[g->n_vertices] ? 1 : 0;
    g->graph.switches[g->n_vertices] =
        (struct import_switch){id, line, tier_of(job, line, values[W_TIER]),
                               whole(job, line, "endpoints", values[W_ENDPOINTS])};
    return import_index_add(job, &g->ids, id, g->n_vertices++);
}

static int read_vertices(struct import_job *job, struct graphml *g, const xmlNode *graph)
{
    size_t n = count_elements(graph, "node"), a, b;
    g->graph.switches = sand_arena_alloc(&job->arena, n, sizeof *g->graph.switches);
    g->is_host = sand_arena_alloc(&job->arena, n, sizeof *g->is_host);
    if (g->graph.switches == NULL || g->is_host == NULL)
        return import_no_memory(job);
    for (const xmlNode *c = graph->children; c != NULL; c = c->next)
        if (import_markup_is(c, "node") && !read_vertex(job, g, c) && job->rc != SAND_OK)
            return 0;
    import_index_sort(&g->ids);
    const char *twice = import_index_twice(&g->ids, &a, &b);
    if (twice != NULL)
        import_refuse(job, g->graph.switches[b].line,
                      "node \"%.200s\" stands there twice, first in line %ld", twice,
                      g->graph.switches[a].line);
    return job->n_refused == 0;
}

static size_t end_of(struct import_job *job, const struct graphml *g, const xmlNode *edge,
                     const char *which)
{
    const char *id = import_markup_attribute(edge, which);
    size_t found = id ? import_index_find(&g->ids, id) : SIZE_MAX;
    if (found == SIZE_MAX)
        import_refuse(job, import_markup_line(edge),
                      "the %s of an edge is \"%.200s\", which is no node", which, id ? id : "");
    return found;
}

static void read_edge(struct import_job *job, struct graphml *g, const xmlNode *edge)
{
    const char *values[N_WORDS] = {0};
    long line = import_markup_line(edge);
    size_t a = end_of(job, g, edge, "source"), b = end_of(job, g, edge, "target");
    read_data(job, g, edge, values);
    double Bps = bandwidth(job, line, "capacity", values[W_CAPACITY]);
    if (a == SIZE_MAX || b == SIZE_MAX)
        return;
    if (a == b) {
        import_refuse(job, line, "an edge joins \"%.200s\" to itself", g->graph.switches[a].name);
    } else if (g->is_host[a] && g->is_host[b]) {
        import_deviate(job, line, "hosts \"%.100s\" and \"%.100s\" are joined directly; left out",
                       g->graph.switches[a].name, g->graph.switches[b].name);
    } else if (g->is_host[a] || g->is_host[b]) {
        g->graph.switches[g->is_host[a] ? b : a].n_endpoints++;
        if (g->tree.nic_Bps <= 0)
            g->tree.nic_Bps = Bps;
    } else {
        g->n_bare += values[W_CAPACITY] == NULL ? 1 : 0;
        g->graph.cables[g->graph.n_cables++] =
            (struct import_cable){(uint32_t)a, (uint32_t)b, Bps, line};
    }
}

static int read_edges(struct import_job *job, struct graphml *g, const xmlNode *graph)
{
    g->graph.cables =
        sand_arena_alloc(&job->arena, count_elements(graph, "edge"), sizeof *g->graph.cables);
    if (g->graph.cables == NULL)
        return import_no_memory(job);
    for (const xmlNode *c = graph->children; c != NULL; c = c->next)
        if (import_markup_is(c, "edge"))
            read_edge(job, g, c);
    return job->n_refused == 0;
}

// Takes the hosts out of the graph: they are counted at their switches.
static int drop_hosts(struct import_job *job, struct graphml *g)
{
    uint32_t *number = sand_arena_alloc(&job->arena, g->n_vertices, sizeof *number);
    if (number == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < g->n_vertices; i++) {
        number[i] = (uint32_t)g->graph.n_switches;
        if (!g->is_host[i])
            g->graph.switches[g->graph.n_switches++] = g->graph.switches[i];
    }
    for (size_t i = 0; i < g->graph.n_cables; i++) {
        g->graph.cables[i].a = number[g->graph.cables[i].a];
        g->graph.cables[i].b = number[g->graph.cables[i].b];
    }
    if (g->graph.n_switches == 0)
        return import_refuse(job, 0, "has no switch among its nodes");
    return 1;
}

// ---- the cluster ----

static const char *as_radix(const char *text)
{
    return text && strcmp(text, "0") != 0 ? text : NULL;
}

static void take_graph_values(struct import_job *job, struct graphml *g)
{
    struct import_tree *t = &g->tree;
    t->n_nodes = whole(job, 0, "nodes", g->values[W_NODES]);
    t->nics_per_node = whole(job, 0, "nics_per_node", g->values[W_NICS]);
    if (g->values[W_NIC_RATE])
        t->nic_Bps = bandwidth(job, 0, "nic_rate", g->values[W_NIC_RATE]);
    t->port_Bps = bandwidth(job, 0, "port_rate", g->values[W_PORT_RATE]);
    t->radix = whole(job, 0, "radix", as_radix(g->values[W_RADIX]));
    t->leaf_oversubscription = ratio(job, "leaf_oversubscription", g->values[W_LEAF_RATIO]);
    t->pod_oversubscription = ratio(job, "pod_oversubscription", g->values[W_POD_RATIO]);
    t->spreading = g->values[W_SPREADING];
    t->link = g->values[W_LINK];
    if (g->values[W_FABRIC] && strcmp(g->values[W_FABRIC], "fat_tree") != 0)
        import_refuse(job, 0, "the fabric is a %.60s; only fat trees can be imported",
                      g->values[W_FABRIC]);
    t->place[0] = g->values[W_PER_RACK];
    t->place[1] = g->values[W_PER_ROW];
    t->place[2] = g->values[W_PER_HALL];
    for (size_t i = 0; i < 3; i++)
        whole(job, 0, "a place", t->place[i]);
    if (t->spreading && strcmp(t->spreading, "even") != 0 && strcmp(t->spreading, "static") != 0)
        import_refuse(job, 0, "spreading is \"%.60s\": must be even or static", t->spreading);
}

// Every value that the graph does not state: NICs of the node type, nodes from the endpoints, edges
// without a capacity as one port.
static int complete(struct import_job *job, struct graphml *g, const struct import_node *node)
{
    struct import_tree *t = &g->tree;
    uint64_t endpoints = 0;
    for (size_t i = 0; i < g->graph.n_switches; i++)
        endpoints += g->graph.switches[i].n_endpoints;
    if (t->nics_per_node == 0 && g->n_hosts > 0)
        t->nics_per_node = (uint32_t)((endpoints + g->n_hosts - 1) / g->n_hosts);
    if (t->nics_per_node == 0)
        t->nics_per_node = node->n_nics;
    if (t->n_nodes == 0)
        t->n_nodes = g->n_hosts > 0
                         ? g->n_hosts
                         : (uint32_t)((endpoints + t->nics_per_node - 1) / t->nics_per_node);
    if (t->n_nodes == 0 || t->nics_per_node == 0)
        return import_refuse(job, 0, "no node has endpoints (attribute endpoints, or kind host)");
    if (g->n_bare == 0)
        return 1;
    import_assume(job, "%" PRIu32 " edges without capacity are one port of %s each", g->n_bare,
                  node->nic_rate);
    for (size_t i = 0; i < g->graph.n_cables; i++)
        if (!(g->graph.cables[i].Bps > 0))
            g->graph.cables[i].Bps = node->nic_Bps;
    return 1;
}

static const char *bare_node(const char *text)
{
    const char *slash = text ? strrchr(text, '/') : NULL;
    return slash ? slash + 1 : text;
}

static int read_graph(struct import_job *job, struct graphml *g, const xmlNode *root)
{
    struct import_node node;
    const xmlNode *graph = NULL;
    for (const xmlNode *c = root->children; c != NULL && graph == NULL; c = c->next)
        graph = import_markup_is(c, "graph") ? c : NULL;
    if (!import_markup_is(root, "graphml") || graph == NULL)
        return import_refuse(job, import_markup_line(root),
                             "has no <graph> in <graphml>; this is no GraphML");
    if (count_elements(root, "graph") > 1)
        import_unknown(job, import_markup_line(graph), "only the first of several graphs is read");
    if (!read_keys(job, g, root) || !read_vertices(job, g, graph) || !read_edges(job, g, graph) ||
        !drop_hosts(job, g))
        return 0;
    read_data(job, g, graph, g->values);
    take_graph_values(job, g);
    if (job->n_refused > 0 ||
        !import_node_choose(job, bare_node(g->values[W_NODE_TYPE]), "the file says so", &node))
        return 0;
    return complete(job, g, &node) && import_tree_of_graph(job, &g->graph, &g->tree) &&
           import_tree_write(job, &g->tree, &node);
}

int import_graphml(struct import_job *job)
{
    struct graphml graphml = {0};
    xmlDoc *document = import_markup_parse(job);
    if (document == NULL)
        return 0;
    int done = read_graph(job, &graphml, xmlDocGetRootElement(document));
    import_index_free(&graphml.ids);
    xmlFreeDoc(document);
    return done;
}
