// ibnetdiscover: switches, channel adapters, ports and the rate of every link.
// Source of the grammar: ibnetdiscover(8), "Topology file format", infiniband-diags 43.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "importtree.h"

struct ib_machine { // a switch or channel adapter
    const char *guid, *name;
    long line;
    int is_switch;
    uint32_t n_ports; // as the header line says
    uint32_t number;  // switches: in the graph; adapters: of the node
};

struct ib_port {
    uint32_t owner, number;
    const char *peer; // guid
    uint32_t peer_port;
    double Bps;
    long line;
};

struct ib_fabric {
    struct ib_machine *machines;
    size_t n, capacity;
    struct ib_port *ports;
    size_t n_ports, ports_capacity;
    struct import_index guids;
};

// ---- lines ----

// The text between the next pair of quotes after *at, which then stands behind it; NULL: there is
// none.
static const char *quoted(struct import_job *job, const char **at)
{
    const char *begin = strchr(*at, '"');
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (end == NULL)
        return NULL;
    *at = end + 1;
    return sand_arena_printf(&job->arena, "%.*s", (int)(end - begin - 1), begin + 1);
}

static int read_number(const char **at, uint32_t *value)
{
    char *end;
    if (**at < '0' || **at > '9')
        return 0;
    unsigned long number = strtoul(*at, &end, 10);
    if (number > 1000000)
        return 0;
    *value = (uint32_t)number;
    *at = end;
    return 1;
}

// Data rate of one lane, one direction, as the speeds are called (InfiniBand Trade Association,
// roadmap): 8b/10b up to QDR, 64b/66b from FDR on.
static const struct {
    const char *name;
    double Gbps;
} lanes[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
             {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

// "4xNDR" at the end of a line; 0 if it does not say.
static double rate_of(const char *text)
{
    for (const char *x = strchr(text, 'x'); x != NULL; x = strchr(x + 1, 'x')) {
        const char *width = x;
        while (width > text && width[-1] >= '0' && width[-1] <= '9')
            width--;
        size_t length = strcspn(x + 1, " \t");
        for (size_t i = 0; width < x && i < sizeof lanes / sizeof *lanes; i++)
            if (strlen(lanes[i].name) == length && strncmp(x + 1, lanes[i].name, length) == 0)
                return strtod(width, NULL) * lanes[i].Gbps * 1e9 / 8;
    }
    return 0;
}

static int read_machine(struct import_job *job, struct ib_fabric *f, const struct import_line *line,
                        int is_switch)
{
    struct ib_machine made = {.line = line->number, .is_switch = is_switch};
    const char *at = line->text + strcspn(line->text, " \t");
    at += strspn(at, " \t");
    if (!read_number(&at, &made.n_ports) || (made.guid = quoted(job, &at)) == NULL)
        return import_refuse(job, line->number,
                             "\"%.200s\" breaks off: a port count and a quoted id must follow; the "
                             "file is truncated",
                             line->text);
    made.name = quoted(job, &at);
    if (made.name == NULL || *made.name == '\0')
        made.name = made.guid;
    void *machines = f->machines;
    if (sand_grow(&machines, &f->capacity, f->n + 1, sizeof *f->machines) != SAND_OK)
        return import_no_memory(job);
    f->machines = machines;
    f->machines[f->n++] = made;
    return 1;
}

// [1](guid) "S-0002"[19](guid)   # "name" lid 5 4xNDR
static int read_port(struct import_job *job, struct ib_fabric *f, const struct import_line *line)
{
    struct ib_port made = {.line = line->number};
    const char *at = line->text + 1;
    if (f->n == 0)
        return import_refuse(job, line->number,
                             "a port stands before any Switch or Ca line; the "
                             "file has no beginning");
    made.owner = (uint32_t)f->n - 1;
    int whole = read_number(&at, &made.number) && *at == ']';
    whole = whole && (made.peer = quoted(job, &at)) != NULL && *at++ == '[';
    whole = whole && read_number(&at, &made.peer_port) && *at == ']';
    if (!whole)
        return import_refuse(
            job, line->number,
            "\"%.200s\" breaks off: [port] \"id\"[port] must stand there; the file "
            "is truncated",
            line->text);
    made.Bps = rate_of(at);
    if (!(made.Bps > 0))
        import_unknown(job, line->number,
                       "port %" PRIu32 " of \"%s\" shows no width and speed such as 4xNDR",
                       made.number, f->machines[made.owner].name);
    void *ports = f->ports;
    if (sand_grow(&ports, &f->ports_capacity, f->n_ports + 1, sizeof *f->ports) != SAND_OK)
        return import_no_memory(job);
    f->ports = ports;
    f->ports[f->n_ports++] = made;
    return 1;
}

static int starts_with(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0;
}

// Lines that only repeat ids.
static int is_passed_over(const char *text)
{
    static const char *const words[] = {
        "vendid=", "devid=",       "sysimgguid=", "switchguid=", "caguid=",
        "rtguid=", "switchguids=", "caguids=",    "DR path ",    "#"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts_with(text, words[i]))
            return 1;
    return *text == '\0';
}

static int read_all(struct import_job *job, struct ib_fabric *f)
{
    struct import_lines lines;
    if (!import_lines_of(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n && job->rc == SAND_OK; i++) {
        const struct import_line *line = &lines.lines[i];
        if (starts_with(line->text, "Switch\t") || starts_with(line->text, "Switch "))
            read_machine(job, f, line, 1);
        else if (starts_with(line->text, "Ca\t") || starts_with(line->text, "Ca "))
            read_machine(job, f, line, 0);
        else if (*line->text == '[')
            read_port(job, f, line);
        else if (!is_passed_over(line->text))
            import_unknown(job, line->number, "\"%.200s\" is not understood; passed over",
                           line->text);
    }
    if (f->n == 0 && job->n_refused == 0)
        return import_refuse(job, 0, "holds no Switch and no Ca; this is no ibnetdiscover output");
    return job->n_refused == 0 && job->rc == SAND_OK;
}

// ---- checks ----

static int index_guids(struct import_job *job, struct ib_fabric *f)
{
    size_t a, b;
    for (size_t i = 0; i < f->n; i++)
        if (!import_index_add(job, &f->guids, f->machines[i].guid, i))
            return 0;
    import_index_sort(&f->guids);
    const char *twice = import_index_twice(&f->guids, &a, &b);
    if (twice == NULL)
        return 1;
    return import_refuse(job, f->machines[b].line,
                         "\"%s\" (\"%s\") is described twice, first in line %ld", twice,
                         f->machines[b].name, f->machines[a].line);
}

static int by_owner(const void *left, const void *right)
{
    const struct ib_port *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static const struct ib_port *find_port(const struct ib_fabric *f, uint32_t owner, uint32_t number)
{
    size_t low = 0, high = f->n_ports;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ib_port *p = &f->ports[middle];
        if (p->owner < owner || (p->owner == owner && p->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    const struct ib_port *p = low < f->n_ports ? &f->ports[low] : NULL;
    return p && p->owner == owner && p->number == number ? p : NULL;
}

// Every link is written at both its ends: a half that lacks the other means a truncated file.
static void check_port(struct import_job *job, const struct ib_fabric *f, const struct ib_port *p)
{
    const struct ib_machine *owner = &f->machines[p->owner];
    size_t peer = import_index_find(&f->guids, p->peer);
    if (p->number == 0 || p->number > owner->n_ports)
        import_refuse(job, p->line,
                      "\"%s\" has %" PRIu32 " ports, but port %" PRIu32 " is described",
                      owner->name, owner->n_ports, p->number);
    if (peer == SIZE_MAX) {
        import_refuse(job, p->line,
                      "port %" PRIu32
                      " of \"%s\" leads to \"%s\", which the file does not describe: "
                      "it is truncated",
                      p->number, owner->name, p->peer);
        return;
    }
    const struct ib_port *back = find_port(f, (uint32_t)peer, p->peer_port);
    if (back == NULL || strcmp(back->peer, owner->guid) != 0 || back->peer_port != p->number)
        import_refuse(job, p->line,
                      "port %" PRIu32 " of \"%s\" leads to port %" PRIu32
                      " of \"%s\", which does not "
                      "lead back: the file is truncated or joined from two",
                      p->number, owner->name, p->peer_port, f->machines[peer].name);
}

static int check_ports(struct import_job *job, struct ib_fabric *f)
{
    if (f->n_ports > 1)
        qsort(f->ports, f->n_ports, sizeof *f->ports, by_owner);
    for (size_t i = 1; i < f->n_ports; i++)
        if (f->ports[i].owner == f->ports[i - 1].owner &&
            f->ports[i].number == f->ports[i - 1].number)
            import_refuse(job, f->ports[i].line, "port %" PRIu32 " of \"%s\" is described twice",
                          f->ports[i].number, f->machines[f->ports[i].owner].name);
    for (size_t i = 0; i < f->n_ports; i++)
        check_port(job, f, &f->ports[i]);
    return job->n_refused == 0;
}

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
    return !m->is_switch && strstr(m->name, "Aggregation Node") == NULL;
}

static size_t ports_in_use(const struct ib_fabric *f, uint32_t owner)
{
    size_t n = 0;
    for (uint32_t number = 1; number <= f->machines[owner].n_ports; number++)
        n += find_port(f, owner, number) != NULL ? 1 : 0;
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
            const struct ib_port *p = find_port(f, adapter, number);
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
            const struct ib_port *p = find_port(f, adapter, number);
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
            name ? name : m->guid, m->line, -1, 0, IMPORT_NO_POD, short_name(job, m->name)};
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
            g->cables[g->n_cables++] = (struct import_cable){a->number, b->number, p->Bps, p->line};
        rates->port[rates->n_ports++] = p->Bps;
    } else if (a->is_switch && is_host(b)) {
        g->switches[a->number].n_endpoints++;
        rates->nic[rates->n_nics++] = p->Bps;
        g->ports[g->n_ports++] =
            (struct import_port){a->number, (uint32_t)(b - f->machines), 0, 0, p->Bps, p->line};
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
    if (!index_guids(job, f) || !check_ports(job, f) || !make_graph(job, f, &graph, &tree) ||
        !import_node_choose(job, NULL, NULL, &node))
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
    int done = read_all(job, &fabric) && build(job, &fabric);
    sand_free(fabric.machines);
    sand_free(fabric.ports);
    import_index_free(&fabric.guids);
    return done;
}
