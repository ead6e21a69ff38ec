// A graph of any shape, switch by switch and cable by cable.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "importtree.h"
#include "unionfind.h"
#include "units.h"

enum { MOST_NAME = 24, SHOWN = 16 };

struct wired {
    struct import_job *job;
    struct import_graph *graph;
    const struct import_tree *tree;
    const struct import_node *node;
    const char **names;        // of the switches, as the XML has them
    struct import_port *ports; // with their NICs
    size_t n_ports;
    uint32_t n_nodes, n_hosts_off;
    double port_Bps;
};

// ---- names --------------------------------------------------------------------------------------

static int is_good_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > MOST_NAME || !(isalnum((unsigned char)name[0]) || name[0] == '_'))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
            return 0;
    return 1;
}

static const char *wanted_name(const struct import_switch *s)
{
    return s->short_name != NULL ? s->short_name : s->name;
}

// The names that the XML can hold; of switches that want the same, none gets it.
static int index_names(struct wired *w, struct import_index *taken)
{
    const struct import_graph *g = w->graph;
    for (size_t i = 0; i < g->n_switches; i++)
        if (is_good_name(wanted_name(&g->switches[i])) &&
            !import_index_add(w->job, taken, wanted_name(&g->switches[i]), i))
            return 0;
    import_index_sort(taken);
    return 1;
}

// Marks the switches whose name another one wants, too.
static uint8_t *find_doubles(struct import_job *job, const struct import_index *taken, size_t n)
{
    uint8_t *doubles = sand_arena_alloc(&job->arena, n, sizeof *doubles);
    for (size_t i = 1; doubles && i < taken->n; i++)
        if (strcmp(taken->entries[i - 1].name, taken->entries[i].name) == 0)
            doubles[taken->entries[i - 1].value] = doubles[taken->entries[i].value] = 1;
    return doubles;
}

// The others become sw0, sw1, ..., which no other is called.
static int name_switches(struct wired *w)
{
    struct import_index taken = {0};
    size_t n = w->graph->n_switches, renamed = 0, next = 0;
    w->names = sand_arena_alloc(&w->job->arena, n, sizeof *w->names);
    int done = w->names != NULL ? index_names(w, &taken) : import_no_memory(w->job);
    const uint8_t *doubles = done ? find_doubles(w->job, &taken, n) : NULL;
    done = done && (doubles != NULL || import_no_memory(w->job));
    for (size_t i = 0; i < n && done; i++) {
        w->names[i] = wanted_name(&w->graph->switches[i]);
        if (is_good_name(w->names[i]) && !doubles[i])
            continue;
        const char *name = NULL;
        do
            name = sand_arena_printf(&w->job->arena, "sw%zu", next++);
        while (name != NULL && import_index_find(&taken, name) != SIZE_MAX);
        if (renamed++ < SHOWN)
            import_comment(w->job, "Switch %s is \"%.80s\" in the input.", name ? name : "",
                           w->graph->switches[i].name);
        w->names[i] = name;
        done = name != NULL || import_no_memory(w->job);
    }
    if (renamed > SHOWN)
        import_comment(w->job, "%zu more switches have such names: as they follow each other.",
                       renamed - SHOWN);
    import_index_free(&taken);
    return done;
}

// ---- NICs ---------------------------------------------------------------------------------------

// Switches that say only how many NICs they have: of nodes in order.
static int ports_of_counts(struct wired *w)
{
    struct import_graph *g = w->graph;
    const uint32_t per_node = w->tree->nics_per_node;
    uint64_t total = 0, at = 0;
    for (size_t i = 0; i < g->n_switches; i++)
        total += g->switches[i].n_endpoints;
    if (total > 1u << 24) // as many as a fabric may have
        return import_refuse(w->job, 0, "has %" PRIu64 " NICs; that is no cluster", total);
    if (total % per_node != 0)
        import_deviate(w->job, 0,
                       "%" PRIu64 " NICs are no whole number of nodes with %" PRIu32
                       "; the last %" PRIu64 " are left out",
                       total, per_node, total % per_node);
    total -= total % per_node;
    g->ports = sand_arena_alloc(&w->job->arena, (size_t)total, sizeof *g->ports);
    if (g->ports == NULL)
        return import_no_memory(w->job);
    for (size_t i = 0; i < g->n_switches; i++)
        for (uint32_t e = 0; e < g->switches[i].n_endpoints && at < total; e++, at++)
            g->ports[g->n_ports++] = (struct import_port){
                (uint32_t)i, (uint32_t)(at / per_node), (uint32_t)(at % per_node), 1, 0, 0, 0};
    return 1;
}

static int by_node(const void *left, const void *right)
{
    const struct import_port *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->nic != b->nic)
        return a->nic < b->nic ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

// NICs of a node with k ports that the input does not number: n NICs share fewer ports in order,
// more ports are planes of the NICs.
static void spread_nics(struct wired *w, const struct import_port *ports, uint32_t k)
{
    const uint32_t n = w->node->n_nics, planes = k > n ? k / n : 1;
    for (uint32_t p = 0; p < k && p < n * planes; p++) {
        struct import_port port = ports[p];
        port.nic = k > n ? p / planes : (p * n + k - 1) / k;
        port.n_nics = k > n ? 1 : ((p + 1) * n + k - 1) / k - port.nic;
        w->ports[w->n_ports++] = port;
    }
    w->n_hosts_off += k > n ? k % n != 0 : n % k != 0;
}

// NICs of a node that follow each other at one switch.
static void join_runs(struct wired *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->n_ports; i++) {
        struct import_port *last = kept > 0 ? &w->ports[kept - 1] : NULL;
        if (last && last->node == w->ports[i].node && last->at == w->ports[i].at &&
            last->nic + last->n_nics == w->ports[i].nic)
            last->n_nics += w->ports[i].n_nics;
        else
            w->ports[kept++] = w->ports[i];
    }
    w->n_ports = kept;
}

static int are_numbered(const struct wired *w, const struct import_port *ports, uint32_t k)
{
    for (uint32_t p = 0; p < k; p++)
        if (ports[p].n_nics == 0 || ports[p].nic >= w->node->n_nics ||
            ports[p].n_nics > w->node->n_nics - ports[p].nic)
            return 0;
    return w->tree->nics_per_node == w->node->n_nics;
}

static int place_nics(struct wired *w)
{
    struct import_graph *g = w->graph;
    if (g->n_ports == 0 && !ports_of_counts(w))
        return 0;
    if (g->n_ports == 0)
        return import_refuse(w->job, 0, "no node hangs from a switch; there is no cluster in it");
    qsort(g->ports, g->n_ports, sizeof *g->ports, by_node);
    w->ports = sand_arena_alloc(&w->job->arena, g->n_ports, sizeof *w->ports);
    if (w->ports == NULL)
        return import_no_memory(w->job);
    for (size_t i = 0, end; i < g->n_ports; i = end) {
        for (end = i + 1; end < g->n_ports && g->ports[end].node == g->ports[i].node;)
            end++;
        const uint32_t k = (uint32_t)(end - i);
        if (are_numbered(w, g->ports + i, k)) {
            memcpy(w->ports + w->n_ports, g->ports + i, k * sizeof *w->ports);
            w->n_ports += k;
        } else {
            spread_nics(w, g->ports + i, k);
        }
        w->n_nodes++;
    }
    join_runs(w);
    if (w->n_hosts_off > 0)
        import_deviate(w->job, 0,
                       "%" PRIu32 " nodes have a number of ports that does not go into the %" PRIu32
                       " NICs of node type %s: some NICs share a port, or ports are left out",
                       w->n_hosts_off, w->node->n_nics, w->node->id);
    return 1;
}

// What the ports of most nodes carry together, against the node type's.
static void compare_rates(struct wired *w)
{
    char is[48];
    const struct import_graph *g = w->graph;
    double *sums = sand_arena_alloc(&w->job->arena, w->n_nodes, sizeof *sums);
    size_t n = 0;
    for (size_t i = 0, end; sums && i < g->n_ports; i = end) {
        for (end = i; end < g->n_ports && g->ports[end].node == g->ports[i].node; end++)
            sums[n] += g->ports[end].Bps;
        n += sums[n] > 0 ? 1 : 0;
    }
    if (n == 0)
        return;
    const double usual = import_mode_real(sums, n), own = w->node->n_nics * w->node->nic_Bps;
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        others += fabs(sums[i] - usual) > 1e-6 * usual ? 1 : 0;
    if (others > 0)
        import_deviate(w->job, 0,
                       "%zu nodes have other rates than most; all have those of node type %s",
                       others, w->node->id);
    if (fabs(usual - own) > 1e-6 * own)
        import_deviate(w->job, 0,
                       "the ports of a node have %s together, those of node type %s %" PRIu32
                       " times %s; the option `node' chooses another",
                       sand_quantity_format(usual, SAND_DIM_BANDWIDTH, 6, is, sizeof is),
                       w->node->id, w->node->n_nics, w->node->nic_rate);
}

// Whether every node has each NIC at a switch of its own.
static int are_apart(const struct wired *w)
{
    for (size_t i = 1; i < w->n_ports; i++)
        if (w->ports[i].n_nics > 1 ||
            (w->ports[i].node == w->ports[i - 1].node &&
             (w->ports[i].at == w->ports[i - 1].at || w->ports[i].nic == w->ports[i - 1].nic)))
            return 0;
    return w->node->n_nics > 1 && w->ports[0].n_nics == 1;
}

// ---- pieces and pods ----------------------------------------------------------------------------

static uint32_t *roots(struct import_job *job, size_t n)
{
    uint32_t *up = sand_arena_alloc(&job->arena, n, sizeof *up);
    for (size_t i = 0; up && i < n; i++)
        up[i] = (uint32_t)i;
    if (up == NULL)
        import_no_memory(job);
    return up;
}

static int is_bare(const struct wired *w, uint32_t at)
{
    for (size_t i = 0; i < w->graph->n_cables; i++)
        if (w->graph->cables[i].a == at || w->graph->cables[i].b == at)
            return 0;
    for (size_t i = 0; i < w->n_ports; i++)
        if (w->ports[i].at == at)
            return 0;
    return 1;
}

// Nodes join what they hang from: rails alone are whole through them.
static int check_pieces(struct wired *w)
{
    const struct import_graph *g = w->graph;
    uint32_t *up = roots(w->job, g->n_switches), pieces = 0, other = 0;
    if (up == NULL)
        return 0;
    for (size_t i = 0; i < g->n_cables; i++)
        sand_union_join(up, g->cables[i].a, g->cables[i].b);
    for (size_t i = 1; i < w->n_ports && w->tree->nodes_join; i++)
        if (w->ports[i].node == w->ports[i - 1].node)
            sand_union_join(up, w->ports[i].at, w->ports[i - 1].at);
    for (size_t i = 0; i < g->n_switches; i++)
        if (sand_union_root(up, (uint32_t)i) == i && pieces++ == 1)
            other = (uint32_t)i;
    if (pieces <= 1)
        return 1;
    const uint32_t bare = is_bare(w, 0) ? 0 : other;
    if (is_bare(w, bare))
        return import_refuse(w->job, g->switches[bare].line,
                             "switch \"%s\" has neither cables nor nodes; take it out of the file, "
                             "or the file is not whole",
                             g->switches[bare].name);
    return import_refuse(w->job, g->switches[other].line,
                         "the fabric is in %" PRIu32 " pieces: nothing joins \"%s\" and \"%s\"; "
                         "import each piece by itself, or the file is not whole",
                         pieces, g->switches[0].name, g->switches[other].name);
}

// Switches with NICs are leaves, then each by its distance from them; cores where that ends.
static void find_tiers(struct import_graph *g)
{
    for (size_t i = 0; i < g->n_switches; i++)
        if (g->switches[i].tier < 0 && g->switches[i].n_endpoints > 0)
            g->switches[i].tier = 0;
    for (int tier = 0; tier < 2; tier++)
        for (size_t i = 0; i < g->n_cables; i++) {
            int *a = &g->switches[g->cables[i].a].tier, *b = &g->switches[g->cables[i].b].tier;
            if (*a == tier && *b < 0)
                *b = tier + 1;
            else if (*b == tier && *a < 0)
                *a = tier + 1;
        }
    for (size_t i = 0; i < g->n_switches; i++)
        g->switches[i].tier = g->switches[i].tier < 0 ? 2 : g->switches[i].tier;
}

// Pods of a graph, where its switches have none: what hangs together below the cores, numbered by
// the first switch. Tiers that are unknown are found.
static int find_pods(struct import_job *job, struct import_graph *g)
{
    uint32_t *up = roots(job, g->n_switches);
    uint32_t *pod_of = sand_arena_alloc(&job->arena, g->n_switches, sizeof *pod_of);
    uint32_t n_pods = 0;
    if (up == NULL || pod_of == NULL)
        return import_no_memory(job);
    find_tiers(g);
    for (size_t i = 0; i < g->n_cables; i++)
        if (g->switches[g->cables[i].a].tier < 2 && g->switches[g->cables[i].b].tier < 2)
            sand_union_join(up, g->cables[i].a, g->cables[i].b);
    for (size_t i = 0; i < g->n_switches; i++) {
        struct import_switch *s = &g->switches[i];
        const uint32_t root = sand_union_root(up, (uint32_t)i);
        if (s->pod != IMPORT_NO_POD)
            continue;
        if (s->tier < 2 && pod_of[root] == 0)
            pod_of[root] = ++n_pods;
        s->pod = s->tier < 2 ? pod_of[root] - 1 : 0;
    }
    return 1;
}

// ---- writing ------------------------------------------------------------------------------------

static void write_switches(const struct wired *w, struct import_xml *xml)
{
    static const char *const tiers[] = {"leaf", "spine", "core"};
    for (size_t i = 0; i < w->graph->n_switches; i++) {
        const struct import_switch *s = &w->graph->switches[i];
        fprintf(xml->out, "        <switch");
        import_xml_attribute(xml, "id", "%s", w->names[i]);
        import_xml_attribute(xml, "tier", "%s", tiers[s->tier]);
        if (s->pod > 0 && s->pod < 1u << 20)
            import_xml_attribute(xml, "pod", "%" PRIu32, s->pod);
        fprintf(xml->out, "/>\n");
    }
}

static int by_switch(const void *left, const void *right)
{
    const struct import_port *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->nic != b->nic)
        return a->nic < b->nic ? -1 : 1;
    if (a->n_nics != b->n_nics)
        return a->n_nics < b->n_nics ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

// Nodes that follow each other with the same NICs at the same switch are one line.
static void write_ports(struct wired *w, struct import_xml *xml)
{
    qsort(w->ports, w->n_ports, sizeof *w->ports, by_switch);
    for (size_t i = 0, end; i < w->n_ports; i = end) {
        const struct import_port *p = &w->ports[i];
        for (end = i + 1; end < w->n_ports && w->ports[end].at == p->at &&
                          w->ports[end].nic == p->nic && w->ports[end].n_nics == p->n_nics &&
                          w->ports[end].node == p->node + (end - i);)
            end++;
        fprintf(xml->out, "        <port");
        import_xml_attribute(xml, "to", "%s", w->names[p->at]);
        import_xml_attribute(xml, "first", "%" PRIu32, p->node);
        if (end - i > 1)
            import_xml_attribute(xml, "nodes", "%zu", end - i);
        if (p->nic > 0)
            import_xml_attribute(xml, "nic", "%" PRIu32, p->nic);
        if (p->n_nics > 1)
            import_xml_attribute(xml, "nics", "%" PRIu32, p->n_nics);
        fprintf(xml->out, "/>\n");
    }
}

struct bundle {
    uint32_t a, b;
    double Bps;
    size_t order, n;
};

static int by_cable(const void *left, const void *right)
{
    const struct bundle *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    if (x->Bps != y->Bps)
        return x->Bps < y->Bps ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *left, const void *right)
{
    const struct bundle *x = left, *y = right;
    return x->order < y->order ? -1 : x->order > y->order;
}

// Equal cables between two switches together, in the order of the first.
static struct bundle *bundle_cables(struct wired *w, size_t *n)
{
    const struct import_graph *g = w->graph;
    struct bundle *bundles = sand_arena_alloc(&w->job->arena, g->n_cables, sizeof *bundles);
    *n = 0;
    if (bundles == NULL)
        return NULL;
    for (size_t i = 0; i < g->n_cables; i++)
        bundles[i] = (struct bundle){g->cables[i].a, g->cables[i].b, g->cables[i].Bps, i, 1};
    qsort(bundles, g->n_cables, sizeof *bundles, by_cable);
    for (size_t i = 0; i < g->n_cables; i++) {
        struct bundle *last = *n > 0 ? &bundles[*n - 1] : NULL;
        if (last && last->a == bundles[i].a && last->b == bundles[i].b &&
            last->Bps == bundles[i].Bps)
            last->n++;
        else
            bundles[(*n)++] = bundles[i];
    }
    qsort(bundles, *n, sizeof *bundles, by_order);
    return bundles;
}

// In gigabits per second, as cables are sold, where that is exact.
static void write_capacity(struct import_xml *xml, double Bps)
{
    char text[64], why[64];
    double back = 0;
    snprintf(text, sizeof text, "%.9gGbps", Bps * 8 / 1e9);
    if (strchr(text, 'e') != NULL ||
        sand_quantity_parse(text, SAND_DIM_BANDWIDTH, &back, why, sizeof why) != SAND_OK ||
        back != Bps)
        sand_quantity_canonical(Bps, SAND_DIM_BANDWIDTH, text, sizeof text);
    import_xml_attribute(xml, "capacity", "%s", text);
}

// A line may stand for several cables: as many as ports of the usual rate make up its capacity.
static int write_cables(struct wired *w, struct import_xml *xml)
{
    size_t n;
    const struct bundle *bundles = bundle_cables(w, &n);
    if (bundles == NULL)
        return import_no_memory(w->job);
    for (size_t i = 0; i < n; i++) {
        const double all_Bps = bundles[i].Bps * (double)bundles[i].n;
        const double ports = ceil(bundles[i].Bps / w->port_Bps - 1e-9);
        const double cables = (ports > 1 && ports < 65536 ? ports : 1) * (double)bundles[i].n;
        fprintf(xml->out, "        <cable");
        import_xml_attribute(xml, "from", "%s", w->names[bundles[i].a]);
        import_xml_attribute(xml, "to", "%s", w->names[bundles[i].b]);
        if (cables > 1)
            import_xml_attribute(xml, "cables", "%.0f", fmin(cables, 65536));
        write_capacity(xml, all_Bps);
        fprintf(xml->out, "/>\n");
    }
    return 1;
}

static int write_all(struct wired *w)
{
    struct import_xml xml;
    const int rails = !w->tree->says_rails && are_apart(w);
    w->port_Bps = w->tree->port_Bps > 0 ? w->tree->port_Bps : w->node->nic_Bps;
    import_assume_common(w->job, w->tree);
    if (rails)
        import_assume(w->job, "NIC j of every node is of rail j: each hangs from another switch");
    if (!import_xml_open(w->job, &xml))
        return 0;
    import_cluster_open(w->job, &xml, w->tree, w->node, w->n_nodes);
    fprintf(xml.out, "    <wired");
    if (rails)
        import_xml_attribute(&xml, "rails", "yes");
    import_fabric_common(w->job, &xml, w->tree, w->node, w->port_Bps);
    fprintf(xml.out, ">\n");
    write_switches(w, &xml);
    write_ports(w, &xml);
    const int done = write_cables(w, &xml);
    fprintf(xml.out, "    </wired>\n");
    import_cluster_close(&xml, w->graph, (const char *const *)w->names);
    return import_xml_close(w->job, &xml) && done;
}

// What only dragonflies and tori have is not said of a wired fabric.
static size_t keep_extras(const struct import_tree *t, struct import_extra *extras)
{
    static const char *const dropped[] = {"nonminimal", "circuits", "twisted", "switching",
                                          "breakout"};
    size_t n = 0;
    for (size_t i = 0; i < t->n_fabric_extras; i++) {
        int kept = 1;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            kept = kept && strcmp(t->fabric_extras[i].name, dropped[k]) != 0;
        if (kept)
            extras[n++] = t->fabric_extras[i];
    }
    return n;
}

int import_wired_write(struct import_job *job, struct import_graph *graph,
                       const struct import_tree *tree, const struct import_node *node)
{
    struct import_tree known = *tree;
    struct import_extra *extras =
        sand_arena_alloc(&job->arena, tree->n_fabric_extras, sizeof *extras);
    if (extras == NULL)
        return import_no_memory(job);
    known.n_fabric_extras = keep_extras(tree, extras);
    known.fabric_extras = extras;
    struct wired w = {.job = job, .graph = graph, .tree = &known, .node = node};
    if (!name_switches(&w) || !place_nics(&w) || !check_pieces(&w) || !find_pods(job, graph))
        return 0;
    compare_rates(&w);
    return write_all(&w);
}
