// GraphML: what `sandtable export fabric` writes, or any graph of switches.
// Source of the grammar: GraphML primer, graphml.graphdrawing.org (keys, graph, node, edge, data).
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "importgraphmlwords.h"
#include "importmarkup.h"
#include "importtree.h"
#include "importwords.h"
#include "numbers.h"
#include "units.h"

struct key {
    const char *id, *name;
    unsigned word;
    int is_known;
};

struct graphml {
    struct key *keys;
    size_t n_keys;
    struct import_graph graph;
    struct import_index ids; // of nodes; hosts are n_switches_max + number
    struct import_tree tree;
    const char *values[N_VALUES]; // of the graph
    uint32_t *host;               // number + 1 of a vertex that is a node; 0: a switch
    uint32_t n_hosts, n_bare;     // n_bare: edges without a capacity
    size_t n_vertices;
    int has_kinds; // some node says what it is
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
    key.word = key.name ? import_graphml_word(key.name, of) : N_VALUES;
    key.is_known = key.word < N_VALUES;
    if (import_markup_attribute(element, "yfiles.type") != NULL) { // of yEd: how things look
        key.word = W_IGNORED;
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
                      const char *values[N_VALUES])
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
    else if (value < 1e6) // no link is as slow: another unit was meant
        import_refuse(job, line,
                      "%s is \"%.60s\", less than 1 MB/s; without a unit it is B/s: write 400Gbps",
                      what, text);
    else
        return value;
    return 0;
}

// Of what a switch, cable or NIC has, the share that does not work.
static double lost(struct import_job *job, long line, const char *text)
{
    double left = 1;
    char why[64];
    if (text != NULL &&
        (sand_quantity_parse(text, SAND_DIM_FRACTION, &left, why, sizeof why) != SAND_OK ||
         !(left >= 0 && left <= 1)))
        import_refuse(job, line, "left is \"%.60s\": a share that works, 0 to 1", text);
    return 1 - left;
}

static double ratio(struct import_job *job, const char *what, const char *text)
{
    double value = 0;
    char why[160];
    if (text && sand_quantity_parse(text, SAND_DIM_NUMBER, &value, why, sizeof why) != SAND_OK)
        import_refuse(job, 0, "%s is \"%.60s\": %s", what, text, why);
    return value;
}

static int tier_of(struct import_job *job, long line, const char *text)
{
    const int tier = text != NULL ? import_word_tier(text) : -1;
    if (!text || tier >= 0)
        return tier;
    import_unknown(job, line,
                   "tier \"%.60s\" is not understood: leaf, spine and core are; taken from "
                   "the distance to the leaves",
                   text);
    return -1;
}

// Whether a node of the graph is one of the cluster, by the word for its kind.
static int means_host(struct import_job *job, struct graphml *g, long line, const char *kind)
{
    if (kind == NULL)
        return 0;
    g->has_kinds = 1;
    const enum import_vertex what = import_word_kind(kind);
    if (what == IMPORT_VERTEX_UNKNOWN && import_first_time(job, kind))
        import_unknown(job, line, "kind \"%.60s\" is not understood; a switch here and below",
                       kind);
    return what == IMPORT_VERTEX_HOST;
}

static int is_called_host(const struct import_switch *s)
{
    return import_name_kind(s->short_name ? s->short_name : s->name) == IMPORT_VERTEX_HOST;
}

// Where no node says what it is, names do, if they tell two kinds.
static void guess_kinds(struct import_job *job, struct graphml *g)
{
    size_t n_hosts = 0, n_endpoints = 0;
    for (size_t i = 0; i < g->n_vertices; i++) {
        n_endpoints += g->graph.switches[i].n_endpoints;
        n_hosts += is_called_host(&g->graph.switches[i]) ? 1 : 0;
    }
    if (g->has_kinds || n_endpoints > 0 || n_hosts == 0 || n_hosts == g->n_vertices)
        return;
    import_assume(job,
                  "%zu of %zu nodes of the graph are nodes of the cluster: their names hold no "
                  "word for switches (switch, sw, leaf, tor, spine, agg, core, router)",
                  n_hosts, g->n_vertices);
    for (size_t i = 0; i < g->n_vertices; i++)
        if (is_called_host(&g->graph.switches[i]))
            g->host[i] = ++g->n_hosts;
}

// ---- nodes and edges ----

static int read_vertex(struct import_job *job, struct graphml *g, const xmlNode *element)
{
    const char *values[N_VALUES] = {0};
    const char *id = import_markup_attribute(element, "id");
    long line = import_markup_line(element);
    if (id == NULL || *id == '\0')
        return import_refuse(job, line, "a node has no id");
    read_data(job, g, element, values);
    const xmlNode *drawn = import_markup_below(element, "NodeLabel"); // of yEd
    const char *label = drawn ? import_markup_text(job, drawn) : values[W_LABEL];
    if (means_host(job, g, line, values[W_KIND]))
        g->host[g->n_vertices] = ++g->n_hosts;
    g->graph.switches[g->n_vertices] = (struct import_switch){
        id,
        line,
        tier_of(job, line, values[W_TIER]),
        whole(job, line, "endpoints", values[W_ENDPOINTS]),
        values[W_POD] ? whole(job, line, "pod", values[W_POD]) : IMPORT_NO_POD,
        label != NULL && *label != '\0' ? label : NULL,
        lost(job, line, values[W_LEFT]) >= 1};
    return import_index_add(job, &g->ids, id, g->n_vertices++);
}

static int read_vertices(struct import_job *job, struct graphml *g, const xmlNode *graph)
{
    size_t n = count_elements(graph, "node"), a, b;
    g->graph.switches = sand_arena_alloc(&job->arena, n, sizeof *g->graph.switches);
    g->host = sand_arena_alloc(&job->arena, n, sizeof *g->host);
    if (g->graph.switches == NULL || g->host == NULL)
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
    guess_kinds(job, g);
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

// A link of a node: with the NICs that it says, or one that it does not number.
static void add_port(struct import_job *job, struct graphml *g, size_t at, size_t node,
                     struct import_port port, const char **values)
{
    port.at = (uint32_t)at;
    port.node = g->host[node] - 1;
    port.nic = whole(job, port.line, "nic", values[W_FIRST_NIC]);
    port.n_nics = whole(job, port.line, "nics", values[W_N_NICS]);
    g->graph.ports[g->graph.n_ports++] = port;
}

static void read_edge(struct import_job *job, struct graphml *g, const xmlNode *edge)
{
    const char *values[N_VALUES] = {0};
    long line = import_markup_line(edge);
    size_t a = end_of(job, g, edge, "source"), b = end_of(job, g, edge, "target");
    read_data(job, g, edge, values);
    double Bps = bandwidth(job, line, "capacity", values[W_CAPACITY]);
    if (a == SIZE_MAX || b == SIZE_MAX)
        return;
    if (a == b) {
        import_refuse(job, line, "an edge joins \"%.200s\" to itself", g->graph.switches[a].name);
    } else if (g->host[a] && g->host[b]) {
        import_deviate(job, line, "hosts \"%.100s\" and \"%.100s\" are joined directly; left out",
                       g->graph.switches[a].name, g->graph.switches[b].name);
    } else if (g->host[a] || g->host[b]) {
        add_port(
            job, g, g->host[a] ? b : a, g->host[a] ? a : b,
            (struct import_port){.Bps = Bps, .line = line, .lost = lost(job, line, values[W_LEFT])},
            values);
    } else {
        g->n_bare += values[W_CAPACITY] == NULL ? 1 : 0;
        g->graph.cables[g->graph.n_cables++] = (struct import_cable){
            (uint32_t)a, (uint32_t)b, Bps, line, lost(job, line, values[W_LEFT])};
    }
}

static int read_edges(struct import_job *job, struct graphml *g, const xmlNode *graph)
{
    g->graph.cables =
        sand_arena_alloc(&job->arena, count_elements(graph, "edge"), sizeof *g->graph.cables);
    g->graph.ports =
        sand_arena_alloc(&job->arena, count_elements(graph, "edge"), sizeof *g->graph.ports);
    if (g->graph.cables == NULL || g->graph.ports == NULL)
        return import_no_memory(job);
    for (const xmlNode *c = graph->children; c != NULL; c = c->next)
        if (import_markup_is(c, "edge"))
            read_edge(job, g, c);
    return job->n_refused == 0;
}

// Takes the hosts out of the graph: they are counted at their switches, whatever these say.
static int drop_hosts(struct import_job *job, struct graphml *g)
{
    struct import_graph *graph = &g->graph;
    uint32_t *number = sand_arena_alloc(&job->arena, g->n_vertices, sizeof *number);
    uint32_t *n_ports = sand_arena_alloc(&job->arena, g->n_hosts + 1, sizeof *n_ports);
    if (number == NULL || n_ports == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < graph->n_ports; i++)
        n_ports[graph->ports[i].node]++;
    for (size_t i = 0; i < g->n_vertices; i++) {
        if (g->host[i] && n_ports[g->host[i] - 1] == 0)
            return import_refuse(job, graph->switches[i].line,
                                 "node \"%.200s\" hangs from no switch", graph->switches[i].name);
        number[i] = (uint32_t)graph->n_switches;
        if (g->host[i])
            continue;
        if (g->n_hosts > 0)
            graph->switches[i].n_endpoints = 0;
        graph->switches[graph->n_switches++] = graph->switches[i];
    }
    for (size_t i = 0; i < graph->n_cables; i++) {
        graph->cables[i].a = number[graph->cables[i].a];
        graph->cables[i].b = number[graph->cables[i].b];
    }
    for (size_t i = 0; i < graph->n_ports; i++) {
        struct import_port *port = &graph->ports[i];
        port->at = number[port->at];
        graph->switches[port->at].n_endpoints += port->n_nics > 0 ? port->n_nics : 1;
        if (g->tree.nic_Bps <= 0 && port->Bps > 0)
            g->tree.nic_Bps = port->Bps / (port->n_nics > 0 ? port->n_nics : 1);
    }
    if (graph->n_switches == 0)
        return import_refuse(job, 0, "has no switch among its nodes");
    return 1;
}

// ---- the cluster ----

static const char *as_radix(const char *text)
{
    return text && strcmp(text, "0") != 0 ? text : NULL;
}

static size_t take_some(const struct graphml *g, unsigned first, unsigned n,
                        struct import_extra *extras)
{
    size_t taken = 0;
    for (unsigned i = first; i < first + n; i++)
        if (g->values[N_WORDS + i] != NULL)
            extras[taken++] =
                (struct import_extra){import_graphml_extra(i), g->values[N_WORDS + i]};
    return taken;
}

// Values that go into the XML as they are, which says what is wrong with them.
static void take_extras(struct import_job *job, struct graphml *g)
{
    struct import_extra *extras =
        sand_arena_alloc(&job->arena, N_FABRIC_EXTRAS + N_CLUSTER_EXTRAS, sizeof *extras);
    if (extras == NULL) {
        import_no_memory(job);
        return;
    }
    struct import_tree *t = &g->tree;
    t->nodes_join = 1;
    t->says_rails = g->values[N_WORDS] != NULL;
    t->fabric_extras = extras;
    t->n_fabric_extras = take_some(g, 0, N_FABRIC_EXTRAS, extras);
    t->cluster_extras = extras + t->n_fabric_extras;
    t->n_cluster_extras =
        take_some(g, N_FABRIC_EXTRAS, N_CLUSTER_EXTRAS, extras + t->n_fabric_extras);
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
    t->place[0] = g->values[W_PER_RACK];
    t->place[1] = g->values[W_PER_ROW];
    t->place[2] = g->values[W_PER_HALL];
    for (size_t i = 0; i < 3; i++)
        whole(job, 0, "a place", t->place[i]);
    take_extras(job, g);
}

// A NIC with ports in several planes has one name for all of them: what one port lost is left out.
static void keep_whole_planes(struct import_job *job, struct graphml *g)
{
    uint64_t n = 0;
    size_t n_lost = 0;
    for (size_t i = 0; i < g->graph.n_ports; i++)
        n += g->graph.ports[i].n_nics > 0 ? g->graph.ports[i].n_nics : 1;
    for (size_t i = 0;
         i < g->graph.n_ports && n > (uint64_t)g->tree.n_nodes * g->tree.nics_per_node; i++) {
        n_lost += g->graph.ports[i].lost > 0;
        g->graph.ports[i].lost = 0;
    }
    if (n_lost > 0)
        import_deviate(job, 0,
                       "%zu ports of NICs that have one in every plane are not whole; here they "
                       "are: write <impaired> for them",
                       n_lost);
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
        t->nics_per_node = (uint32_t)sand_ceil_div(endpoints, g->n_hosts);
    if (t->nics_per_node == 0)
        t->nics_per_node = node->n_nics;
    if (g->n_hosts > 0)
        t->n_nodes = g->n_hosts;
    else if (t->n_nodes == 0)
        t->n_nodes = (uint32_t)sand_ceil_div(endpoints, t->nics_per_node);
    if (t->n_nodes == 0 || t->nics_per_node == 0 || endpoints == 0)
        return import_refuse(job, 0, "no node has endpoints (attribute endpoints, or kind host)");
    keep_whole_planes(job, g);
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

static int says_yes(const struct graphml *g, const char *name)
{
    const char *text = g->values[import_graphml_word(name, "graph")];
    return text != NULL && strcmp(text, "yes") == 0;
}

// A fabric of the kind that the file says, if its switches and cables are those of the kind; a
// regular fat tree; else every switch and cable.
static int write_nearest(struct import_job *job, struct graphml *g, const struct import_node *node)
{
    const char *kind = g->values[W_FABRIC];
    const struct import_direct direct = {
        .groups = whole(job, 0, "groups", g->values[W_GROUPS]),
        .routers = whole(job, 0, "routers", g->values[W_ROUTERS]),
        .per_router = whole(job, 0, "endpoints_per_router", g->values[W_PER_ROUTER]),
        .global_links = whole(job, 0, "global_links", g->values[W_GLOBAL_LINKS]),
        .leaves = whole(job, 0, "leaves", g->values[W_LEAVES]),
        .spines = whole(job, 0, "spines", g->values[W_SPINES]),
        .per_leaf = whole(job, 0, "endpoints_per_leaf", g->values[W_PER_LEAF]),
        .leaf_links = whole(job, 0, "leaf_links", g->values[W_LEAF_LINKS]),
        .size = {whole(job, 0, "x", g->values[W_X]), whole(job, 0, "y", g->values[W_Y]),
                 whole(job, 0, "z", g->values[W_Z])},
        .block = whole(job, 0, "block", g->values[W_BLOCK]),
        .twisted = says_yes(g, "twisted")};
    if (job->n_refused > 0)
        return 0;
    if (import_graph_has_losses(&g->graph)) {
        import_graph_lose(job, &g->graph);
        return import_fabric_write(job, &g->graph, &g->tree, node);
    }
    if (kind && strcmp(kind, "torus") == 0 && import_is_torus(&g->graph, &g->tree, &direct))
        return import_torus_write(job, &g->graph, &g->tree, &direct, node);
    if (kind && strcmp(kind, "dragonfly") == 0 && import_is_dragonfly(&g->graph, &g->tree, &direct))
        return import_dragonfly_write(job, &g->graph, &g->tree, &direct, node);
    if (kind && strcmp(kind, "dragonfly_plus") == 0 &&
        import_is_dragonfly_plus(&g->graph, &g->tree, &direct))
        return import_dragonfly_plus_write(job, &g->graph, &g->tree, &direct, node);
    if (kind && (strcmp(kind, "torus") == 0 || strncmp(kind, "dragonfly", 9) == 0))
        import_deviate(job, 0,
                       "says that it is a %.40s, but its switches and cables are not those of one "
                       "that can be written so: routes are shortest ways, whatever they were there",
                       kind);
    return import_fabric_write(job, &g->graph, &g->tree, node);
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
    return complete(job, g, &node) && write_nearest(job, g, &node);
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
