// ibnetdiscover: nodes, rails and the graph of switches; a regular tree, or every cable.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importib.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "importtree.h"

// ---- nodes ----

// The name that an adapter has from the factory, "MT4129 ConnectX7 Mellanox Technologies", says
// nothing of its host; nor does none at all.
static int is_nameless(const struct ib_machine *ca)
{
    size_t digits = strncmp(ca->name, "MT", 2) == 0 ? strspn(ca->name + 2, "0123456789") : 0;
    char after = digits >= 4 ? ca->name[2 + digits] : '?';
    return after == '\0' || after == ' ' || strstr(ca->name, "Mellanox") != NULL ||
           ca->name == ca->guid;
}

// "node001 mlx5_0" and "node001 HCA-1" are adapters of node001.
static const char *host_of(struct import_job *job, const struct ib_machine *ca)
{
    if (is_nameless(ca))
        return ca->guid;
    const char *host =
        sand_arena_printf(&job->arena, "%.*s", (int)strcspn(ca->name, " "), ca->name);
    return host ? host : "";
}

// The reduction engines of switches (SHARP) appear as adapters too.
static int is_host(const struct ib_machine *m)
{
    return !m->is_switch && !m->is_aside && strstr(m->name, "Aggregation Node") == NULL;
}

static size_t ports_in_use(const struct ib_fabric *f, uint32_t owner)
{
    size_t n = 0;
    for (uint32_t number = 1; number <= f->machines[owner].n_ports; number++)
        n += import_ib_port(f, owner, number) != NULL ? 1 : 0;
    return n;
}

struct hosts {
    struct import_index adapters; // by the name of their node
    uint32_t *nics, *first_on;    // ports in use of each node; node + 1 that a switch saw first
    size_t n, n_nameless;         // nodes; adapters without the name of one
};

// The switches that the ports of nodes lead to: every one of a node's a different one, and nodes
// that share one share all: then leaf j of a unit of nodes is rail j.
static int node_is_railed(const struct ib_fabric *f, struct hosts *h, size_t begin, size_t end,
                          uint32_t node)
{
    uint32_t seen = 0;
    for (size_t i = begin; i < end; i++) {
        uint32_t adapter = (uint32_t)h->adapters.entries[i].value;
        for (uint32_t number = 1; number <= f->machines[adapter].n_ports; number++) {
            const struct ib_port *p = import_ib_port(f, adapter, number);
            size_t leaf = p ? import_index_find(&f->guids, p->peer) : SIZE_MAX;
            if (leaf == SIZE_MAX)
                continue;
            if (h->first_on[leaf] == 0)
                h->first_on[leaf] = node + 1;
            if (seen == 0)
                seen = h->first_on[leaf];
            // Seen twice by this node, or first by another unit's: no rail.
            if (h->first_on[leaf] != seen)
                return 0;
        }
    }
    return 1;
}

static int leaves_are_distinct(const struct ib_fabric *f, const struct hosts *h, size_t begin,
                               size_t end)
{
    enum { MOST = 64 };
    const char *leaves[MOST];
    size_t n = 0;
    for (size_t i = begin; i < end; i++) {
        uint32_t adapter = (uint32_t)h->adapters.entries[i].value;
        for (uint32_t number = 1; number <= f->machines[adapter].n_ports; number++) {
            const struct ib_port *p = import_ib_port(f, adapter, number);
            for (size_t k = 0; p && k < n; k++)
                if (strcmp(leaves[k], p->peer) == 0)
                    return 0;
            if (p && n == MOST)
                return 0;
            if (p)
                leaves[n++] = p->peer;
        }
    }
    return n > 1;
}

// Whether all nodes are on rails; says so if their NICs are apart in another way.
static int are_railed(struct import_job *job, const struct ib_fabric *f, struct hosts *h)
{
    size_t n_apart = 0, n_railed = 0, node = 0;
    for (size_t i = 0, end; i < h->adapters.n; i = end, node++) {
        for (end = i + 1; end < h->adapters.n &&
                          strcmp(h->adapters.entries[i].name, h->adapters.entries[end].name) == 0;)
            end++;
        if (!leaves_are_distinct(f, h, i, end))
            continue;
        n_apart++;
        n_railed += node_is_railed(f, h, i, end, (uint32_t)node) ? 1 : 0;
    }
    if (n_railed == h->n)
        return 1;
    if (n_apart > 0)
        import_deviate(job, 0,
                       "%zu of %zu nodes have their NICs on different leaves, but not as rails of "
                       "units; a fat tree is written, whose leaves take whole nodes",
                       n_apart, h->n);
    return 0;
}

static int index_hosts(struct import_job *job, const struct ib_fabric *f, struct hosts *h)
{
    h->nics = sand_arena_alloc(&job->arena, f->n, sizeof *h->nics);
    h->first_on = sand_arena_alloc(&job->arena, f->n, sizeof *h->first_on);
    if (h->nics == NULL || h->first_on == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < f->n; i++)
        if (is_host(&f->machines[i]) &&
            !import_index_add(job, &h->adapters, host_of(job, &f->machines[i]), i))
            return 0;
    import_index_sort(&h->adapters);
    for (size_t i = 0; i < h->adapters.n; i++) {
        h->n_nameless += is_nameless(&f->machines[h->adapters.entries[i].value]) ? 1 : 0;
        if (i == 0 || strcmp(h->adapters.entries[i].name, h->adapters.entries[i - 1].name) != 0)
            h->n++;
        h->nics[h->n - 1] += (uint32_t)ports_in_use(f, (uint32_t)h->adapters.entries[i].value);
    }
    return 1;
}

// --nics-per-node: nodes from the ports in use. Which of them share a node stays unknown, and with
// it whether they are rails.
static int count_by_option(struct import_job *job, const struct hosts *h, struct import_tree *t)
{
    uint32_t n_nics = job->options->nics_per_node, n_ports = 0;
    if (h->n_nameless < h->adapters.n)
        return import_refuse(job, 0,
                             "%zu of %zu adapters carry the name of their node; the option "
                             "`nics-per-node' is for fabrics where none does: leave it out",
                             h->adapters.n - h->n_nameless, h->adapters.n);
    for (size_t i = 0; i < h->n; i++)
        n_ports += h->nics[i];
    if (n_ports == 0 || n_ports % n_nics != 0)
        return import_refuse(job, 0,
                             "has %" PRIu32 " adapter ports in use, which are no nodes of %" PRIu32
                             " each; give another `nics-per-node'",
                             n_ports, n_nics);
    t->n_nodes = n_ports / n_nics;
    t->nics_per_node = n_nics;
    import_assume(job,
                  "%" PRIu32 " nodes of %" PRIu32 " NICs, as the option `nics-per-node' says, on "
                  "leaves that take whole nodes: no adapter carries the name of its node",
                  t->n_nodes, n_nics);
    return 1;
}

static void confess_nameless(struct import_job *job, const struct hosts *h)
{
    if (h->n_nameless == 0)
        return;
    static const char said[] =
        "%zu of %zu adapters carry no name of a host but that from the factory (such as \"MT4129 "
        "ConnectX7 Mellanox Technologies\"): each was taken for a node of its own; set node "
        "descriptions (\"HOST mlx5_0\") and run ibnetdiscover again, or give the option "
        "`nics-per-node'";
    import_assume(job, said, h->n_nameless, h->adapters.n);
    import_note(job, 0, said, h->n_nameless, h->adapters.n);
}

// Nodes, how many NIC ports most of them have, and whether those are rails.
static int measure_hosts(struct import_job *job, const struct ib_fabric *f, struct hosts *h,
                         struct import_tree *t)
{
    if (!index_hosts(job, f, h))
        return 0;
    if (h->n == 0)
        return import_refuse(job, 0, "holds no channel adapter of a host; there is no node in it");
    if (job->options->nics_per_node > 0)
        return count_by_option(job, h, t);
    confess_nameless(job, h);
    int railed = are_railed(job, f, h);
    t->n_nodes = (uint32_t)h->n;
    uint32_t *sorted = sand_arena_alloc(&job->arena, h->n, sizeof *sorted);
    if (sorted == NULL)
        return import_no_memory(job);
    memcpy(sorted, h->nics, h->n * sizeof *sorted);
    t->nics_per_node = import_mode(sorted, h->n);
    t->n_rails = railed ? t->nics_per_node : 0;
    if (t->nics_per_node == 0)
        return import_refuse(job, 0, "no host has a port in use");
    for (size_t i = 0; i < h->n; i++)
        if (h->nics[i] != t->nics_per_node)
            import_deviate(job, 0, "a node has %" PRIu32 " NIC ports, most have %" PRIu32,
                           h->nics[i], t->nics_per_node);
    return 1;
}

static int count_nodes(struct import_job *job, const struct ib_fabric *f, struct import_tree *t)
{
    struct hosts hosts = {0};
    int done = measure_hosts(job, f, &hosts, t);
    import_index_free(&hosts.adapters);
    return done;
}

// ---- hosts that are no nodes ----

// "ufm1, storage0 and 3 more" of the hosts that `is_aside` marks, in order of their names.
static const char *name_aside(struct import_job *job, const struct hosts *h, uint32_t few)
{
    enum { MOST = 8 };
    const char *list = "";
    size_t host = 0, n = 0;
    for (size_t i = 0; i < h->adapters.n && list != NULL; i++) {
        const int is_next =
            i == 0 || strcmp(h->adapters.entries[i].name, h->adapters.entries[i - 1].name) != 0;
        host += i > 0 && is_next;
        if (is_next && h->nics[host] <= few && n++ < MOST)
            list = sand_arena_printf(&job->arena, "%s%s%.40s", list, *list ? ", " : "",
                                     h->adapters.entries[i].name);
    }
    if (list != NULL && n > MOST)
        list = sand_arena_printf(&job->arena, "%s and %zu more", list, n - MOST);
    return list ? list : "";
}

// Storage, login and management servers hang from the same leaves. They have fewer NICs than the
// nodes; a node with a cable or two unplugged has most of its own.
static int set_aside(struct import_job *job, struct ib_fabric *f, struct hosts *h)
{
    uint32_t *sorted = sand_arena_alloc(&job->arena, h->n, sizeof *sorted);
    size_t host = 0, n = 0;
    if (sorted == NULL)
        return import_no_memory(job);
    memcpy(sorted, h->nics, h->n * sizeof *sorted);
    const uint32_t usual = import_mode(sorted, h->n);
    const uint32_t few = usual > 0 ? (usual - 1) / 2 : 0;
    for (size_t i = 0; i < h->n; i++)
        n += h->nics[i] <= few;
    if (n == 0 || few == 0)
        return 1;
    import_deviate(job, 0,
                   "%zu hosts have fewer than half of the %" PRIu32
                   " NIC ports of most and are left "
                   "out, as servers of storage, logins and management: %s",
                   n, usual, name_aside(job, h, few));
    for (size_t i = 0; i < h->adapters.n; i++) {
        host += i > 0 && strcmp(h->adapters.entries[i].name, h->adapters.entries[i - 1].name) != 0;
        f->machines[h->adapters.entries[i].value].is_aside = h->nics[host] <= few;
    }
    return 1;
}

static int choose_hosts(struct import_job *job, struct ib_fabric *f)
{
    struct hosts hosts = {0};
    const int done = index_hosts(job, f, &hosts) && (hosts.n == 0 || set_aside(job, f, &hosts));
    import_index_free(&hosts.adapters);
    return done;
}

// ---- the graph ----

// "leaf0" of "MF0;leaf0:MQM9700/U1", as NVIDIA's switches call themselves.
static const char *short_name(struct import_job *job, const char *name)
{
    const char *semicolon = strchr(name, ';');
    const char *begin = semicolon ? semicolon + 1 : name;
    return sand_arena_printf(&job->arena, "%.*s", (int)strcspn(begin, ":"), begin);
}

static int number_switches(struct import_job *job, struct ib_fabric *f, struct import_graph *g)
{
    g->switches = sand_arena_alloc(&job->arena, f->n, sizeof *g->switches);
    g->cables = sand_arena_alloc(&job->arena, f->n_ports, sizeof *g->cables);
    g->ports = sand_arena_alloc(&job->arena, f->n_ports, sizeof *g->ports);
    if (g->switches == NULL || g->cables == NULL || g->ports == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < f->n; i++) {
        struct ib_machine *m = &f->machines[i];
        if (!m->is_switch)
            continue;
        m->number = (uint32_t)g->n_switches;
        const char *name = sand_arena_printf(&job->arena, "%s %s", m->guid, m->name);
        g->switches[g->n_switches++] = (struct import_switch){
            name ? name : m->guid, m->line, -1, 0, IMPORT_NO_POD, short_name(job, m->name), 0};
    }
    return g->n_switches > 0 ? 1
                             : import_refuse(job, 0,
                                             "holds no Switch; nodes joined directly are "
                                             "no fabric of switches");
}

// Rates of NICs and of switch-to-switch ports.
struct rates {
    double *nic, *port;
    size_t n_nics, n_ports;
};

static void add_port(struct import_job *job, const struct ib_fabric *f, const struct ib_port *p,
                     struct import_graph *g, struct rates *rates)
{
    const struct ib_machine *a = &f->machines[p->owner];
    const struct ib_machine *b = &f->machines[import_index_find(&f->guids, p->peer)];
    if (!a->is_switch && !b->is_switch) {
        import_deviate(job, p->line, "\"%s\" and \"%s\" are joined directly; left out", a->name,
                       b->name);
    } else if (a->is_switch && b->is_switch) {
        if (p->owner < (uint32_t)(b - f->machines))
            g->cables[g->n_cables++] =
                (struct import_cable){a->number, b->number, p->Bps, p->line, 0};
        rates->port[rates->n_ports++] = p->Bps;
    } else if (a->is_switch && is_host(b)) {
        g->switches[a->number].n_endpoints++;
        rates->nic[rates->n_nics++] = p->Bps;
        g->ports[g->n_ports++] =
            (struct import_port){a->number, (uint32_t)(b - f->machines), 0, 0, p->Bps, p->line, 0};
    }
}

static uint32_t usual_radix(struct import_job *job, const struct ib_fabric *f)
{
    uint32_t *radix = sand_arena_alloc(&job->arena, f->n, sizeof *radix);
    size_t n = 0;
    for (size_t i = 0; radix && i < f->n; i++)
        if (f->machines[i].is_switch)
            radix[n++] = f->machines[i].n_ports;
    return radix ? import_mode(radix, n) : 0;
}

static int make_graph(struct import_job *job, struct ib_fabric *f, struct import_graph *g,
                      struct import_tree *t)
{
    if (!number_switches(job, f, g))
        return 0;
    struct rates rates = {sand_arena_alloc(&job->arena, f->n_ports, sizeof(double)),
                          sand_arena_alloc(&job->arena, f->n_ports, sizeof(double)), 0, 0};
    if (rates.nic == NULL || rates.port == NULL)
        return import_no_memory(job);
    for (size_t i = 0; i < f->n_ports; i++)
        add_port(job, f, &f->ports[i], g, &rates);
    t->nic_Bps = import_mode_real(rates.nic, rates.n_nics);
    for (size_t i = 0; i < rates.n_nics; i++)
        if (rates.nic[i] != t->nic_Bps)
            t->n_odd_nics++;
    t->port_Bps = import_mode_real(rates.port, rates.n_ports);
    t->radix = usual_radix(job, f);
    return 1;
}

struct ib_candidate {
    const struct ib_fabric *fabric;
    const struct import_graph *graph;
    const struct import_tree *known; // rates
    const struct import_node *node;
};

static void comment_read(struct import_job *job, const struct import_graph *graph,
                         const struct import_tree *tree)
{
    import_comment(job, "Read: %zu switches, %" PRIu32 " nodes of %" PRIu32 " NIC ports",
                   graph->n_switches, tree->n_nodes, tree->nics_per_node);
}

static int write_regular(struct import_job *job, void *context)
{
    const struct ib_candidate *c = context;
    struct import_tree tree = *c->known;
    struct import_graph graph = *c->graph;
    graph.switches = sand_arena_alloc(&job->arena, graph.n_switches, sizeof *graph.switches);
    if (graph.switches == NULL)
        return import_no_memory(job);
    memcpy(graph.switches, c->graph->switches, graph.n_switches * sizeof *graph.switches);
    if (tree.n_odd_nics > 0 || !count_nodes(job, c->fabric, &tree) ||
        !import_tree_of_graph(job, &graph, &tree) || !import_tree_is_complete(job, &graph, &tree))
        return 0;
    comment_read(job, &graph, &tree);
    import_assume(job, "nodes fill the leaves in order; ibnetdiscover shows which NIC is where, "
                       "the description here does not keep it");
    return import_tree_write(job, &tree, c->node);
}

static int by_line(const void *left, const void *right)
{
    const struct import_port *a = left, *b = right;
    return a->line < b->line ? -1 : a->line > b->line;
}

// Nodes by the names of their adapters, in order of these; their ports in the order of the lines at
// the switches. Without names: NICs of nodes in order.
static int number_nodes(struct import_job *job, struct ib_fabric *f, struct import_graph *g,
                        struct import_tree *t)
{
    struct hosts hosts = {0};
    int done = index_hosts(job, f, &hosts);
    if (done && job->options->nics_per_node > 0) {
        g->n_ports = 0;
        done = count_by_option(job, &hosts, t);
    } else if (done) {
        confess_nameless(job, &hosts);
        t->n_nodes = (uint32_t)hosts.n;
        size_t node = 0;
        for (size_t i = 0; i < hosts.adapters.n; i++) {
            node += i > 0 &&
                    strcmp(hosts.adapters.entries[i].name, hosts.adapters.entries[i - 1].name) != 0;
            f->machines[hosts.adapters.entries[i].value].number = (uint32_t)node;
        }
        t->nics_per_node = hosts.n > 0 ? import_mode(hosts.nics, hosts.n) : 0;
    }
    import_index_free(&hosts.adapters);
    return done && (t->nics_per_node > 0 ||
                    import_refuse(job, 0, "holds no channel adapter of a host with a port in use"));
}

static int build(struct import_job *job, struct ib_fabric *f)
{
    struct import_graph graph = {0};
    struct import_tree tree = {0};
    struct import_node node;
    if (!make_graph(job, f, &graph, &tree) || !import_node_choose(job, NULL, NULL, &node))
        return 0;
    struct ib_candidate candidate = {f, &graph, &tree, &node};
    if (import_try(job, write_regular, &candidate))
        return 1;
    if (job->rc != SAND_OK || !number_nodes(job, f, &graph, &tree))
        return 0;
    for (size_t i = 0; i < graph.n_ports; i++)
        graph.ports[i].node = f->machines[graph.ports[i].node].number;
    qsort(graph.ports, graph.n_ports, sizeof *graph.ports, by_line);
    comment_read(job, &graph, &tree);
    return import_wired_write(job, &graph, &tree, &node);
}

int import_ibnetdiscover(struct import_job *job)
{
    struct ib_fabric fabric = {0};
    int done = import_ib_read(job, &fabric) && choose_hosts(job, &fabric) && build(job, &fabric);
    import_ib_clear(&fabric);
    return done;
}
