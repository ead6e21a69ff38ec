// sandtable fabric check: connectivity, distances, weak points, and links that traffic heats.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "clifabric.h"
#include "fabric.h"
#include "hotlinks.h"
#include "ids.h"
#include "mem.h"

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric check experiment.xml\n"
    "  sandtable fabric check experiment.xml --set \"cluster/fat_tree/@spreading=static\"\n"
    "\n"
    "Checks that every NIC reaches every other, and prints switches, diameter, distance classes, "
    "path diversity, switches and cables whose loss alone parts the fabric, and the hottest link "
    "of "
    "every class under three kinds of traffic, on the routes that the simulator takes. Exit status "
    "3 "
    "if the fabric is in pieces or a NIC is cut off.";

static void print_switches(const struct sand_graph *g)
{
    int is_tree = g->kind != SAND_FABRIC_DRAGONFLY && g->kind != SAND_FABRIC_TORUS;
    printf("nodes                %" PRIu32 " of %" PRIu32 " NICs\n", g->n_nodes, g->nics_per_node);
    if (is_tree)
        printf("switches             %" PRIu32 " leaves, %" PRIu32 " spines, %" PRIu32 " cores\n",
               g->n_tier[SAND_TIER_LEAF], g->n_tier[SAND_TIER_SPINE], g->n_tier[SAND_TIER_CORE]);
    else
        printf("routers              %" PRIu32 "\n", g->n_tier[SAND_TIER_LEAF]);
    if (g->n_planes > 1)
        printf("planes               %" PRIu32 "\n", g->n_planes);
    printf("switch pairs joined  %" PRIu32 "\n", g->n_edges);
}

// ---- distances ----

static enum sand_rc print_distances(const struct sand_graph *g, struct sand_diag *diag)
{
    struct sand_graph_distances d;
    uint64_t all = 0;
    SAND_TRY(sand_graph_distances(g, &d, diag));
    for (uint32_t hops = 0; hops <= SAND_GRAPH_MAX_HOPS; hops++)
        all += d.pairs[hops];
    printf("diameter             %s%" PRIu32 " switches\n",
           d.n_searches < d.n_classes ? "at least " : "", d.diameter);
    printf("distances between NICs");
    if (d.n_searches < d.n_classes)
        printf(" (from %" PRIu32 " of %" PRIu32 " kinds of leaf)", d.n_searches, d.n_classes);
    printf("\n");
    for (uint32_t hops = 1; hops <= SAND_GRAPH_MAX_HOPS; hops++)
        if (d.pairs[hops] > 0)
            printf("  %2" PRIu32 " switch%s      %.4g %% of pairs\n", hops, hops > 1 ? "es" : "  ",
                   100 * (double)d.pairs[hops] / (double)all);
    if (d.pairs[0] > 0)
        printf("  no network path  %.4g %% of pairs%s\n", 100 * (double)d.pairs[0] / (double)all,
               g->is_relayed ? ": over the scale-up domain of a node" : "");
    return SAND_OK;
}

static enum sand_rc print_paths(const struct sand_graph *g, struct sand_diag *diag)
{
    uint32_t from = g->leaf_of[0], to = g->leaf_of[((size_t)g->n_endpoints - 1) * g->n_planes];
    struct sand_graph_paths paths;
    char a[48], b[48];
    if (from == to)
        return SAND_OK;
    SAND_TRY(sand_graph_paths(g, from, to, &paths, diag));
    printf("paths %s to %s: %" PRIu64 " shortest, %" PRIu32 " that share no cable\n",
           sand_graph_name(g, from, a, sizeof a), sand_graph_name(g, to, b, sizeof b),
           paths.shortest, paths.disjoint);
    return SAND_OK;
}

// ---- weak points ----

static enum sand_rc print_weak_points(const struct sand_graph *g, struct sand_diag *diag)
{
    enum { SHOWN = 8 };
    uint32_t *weak = NULL;
    size_t n = 0, n_bridges = 0;
    char name[48];
    SAND_TRY(sand_graph_weak_points(g, &weak, &n, &n_bridges, diag));
    printf("switches whose loss parts others  %zu", n);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        printf("%s%s", i == 0 ? ": " : ", ", sand_graph_name(g, weak[i], name, sizeof name));
    printf(n > SHOWN ? ", ...\n" : "\n");
    printf("bundles whose loss parts others   %zu\n", n_bridges);
    sand_free(weak);
    return SAND_OK;
}

// Switches without a living cable are no pieces: nobody is cut off by them alone.
static void print_idle(const struct sand_graph *g)
{
    uint32_t n_idle = 0;
    for (uint32_t i = 0; i < g->n_switches; i++)
        n_idle += g->switches[i].n_endpoints == 0 && g->first[i] == g->first[i + 1] ? 1 : 0;
    if (n_idle > 0)
        printf("switches without a living cable  %" PRIu32 "\n", n_idle);
}

static int has_port(const struct sand_graph *g, uint32_t nic)
{
    for (uint32_t p = 0; p < g->n_planes; p++)
        if (g->nic_Bps[(size_t)nic * g->n_planes + p] > 0)
            return 1;
    return 0;
}

static enum sand_rc compare_pieces(const struct sand_graph *g, const uint32_t *part,
                                   struct sand_diag *diag)
{
    uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    uint32_t first = SAND_NONE;
    char a[48], b[48];
    for (uint64_t i = 0; i < n; i++) {
        if (g->nic_Bps[i] <= 0)
            continue;
        if (first == SAND_NONE)
            first = g->leaf_of[i];
        if (part[g->leaf_of[i]] != part[first])
            return sand_fail(diag, SAND_ERR_INPUT,
                             "the fabric is in pieces: nothing joins the NICs of %s and %s",
                             sand_graph_name(g, first, a, sizeof a),
                             sand_graph_name(g, g->leaf_of[i], b, sizeof b));
    }
    return SAND_OK;
}

// NICs of which every port is down, by the names that <impaired part="..."> takes.
static enum sand_rc check_nics(const struct sand_graph *g, struct sand_diag *diag)
{
    enum { SHOWN = 8, NAME = 32 };
    char names[SHOWN * NAME] = "";
    size_t used = 0;
    uint32_t n = 0;
    for (uint32_t nic = 0; nic < g->n_endpoints; nic++) {
        if (has_port(g, nic))
            continue;
        if (n++ < SHOWN)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%snode%" PRIu32 " nic%" PRIu32,
                                 n > 1 ? ", " : "", nic / g->nics_per_node, nic % g->nics_per_node);
    }
    if (n == 0)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "NICs cut off, with no port that works: %" PRIu32 " of %" PRIu32 " (%s%s); "
                     "no traffic reaches or leaves them",
                     n, g->n_endpoints, names, n > SHOWN ? ", ..." : "");
}

static enum sand_rc check_pieces(const struct sand_graph *g, struct sand_diag *diag)
{
    uint32_t *part = sand_calloc(g->n_switches, sizeof *part);
    if (!part)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    enum sand_rc rc = sand_graph_parts(g, NULL, part, NULL, diag);
    if (rc == SAND_OK)
        rc = compare_pieces(g, part, diag);
    sand_free(part);
    return rc;
}

// ---- traffic ----

static void print_hot_class(const struct sand_fabric *f, enum sand_traffic traffic,
                            const struct sand_hot_class *c, unsigned link_class)
{
    char name[64];
    if (c->hottest == SAND_NONE || c->load <= 0 || link_class <= SAND_LINK_SCALEUP_IN)
        return;
    printf("  %-11s %-12s %8.3g %8.3g  %s\n", sand_traffic_name(traffic),
           sand_link_class_name((enum sand_link_class)link_class), c->load, c->mean,
           sand_fabric_link_name(f, c->hottest, name, sizeof name));
}

static enum sand_rc print_traffic(const struct sand_fabric *f, struct sand_diag *diag)
{
    uint32_t missing[2] = {SAND_NONE, SAND_NONE};
    printf("time of traffic over that of the NICs (1: nothing slows it)\n"
           "  traffic     link class    hottest     mean  hottest link\n");
    for (unsigned t = 0; t < SAND_TRAFFICS; t++) {
        struct sand_hot_links hot;
        SAND_TRY(sand_hot_links(f, (enum sand_traffic)t, &hot, diag));
        for (unsigned c = 0; c < SAND_LINK_CLASSES; c++)
            print_hot_class(f, (enum sand_traffic)t, &hot.classes[c], c);
        if (hot.n_missing == 0)
            continue;
        printf("  %-11s %" PRIu64 " queue pairs have no route\n",
               sand_traffic_name((enum sand_traffic)t), hot.n_missing);
        if (missing[0] == SAND_NONE)
            memcpy(missing, hot.missing, sizeof missing);
    }
    if (missing[0] == SAND_NONE)
        return SAND_OK;
    const uint32_t per_node = f->nics_per_node;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "NICs that work have no route to each other, first node%" PRIu32 " nic%" PRIu32
                     " and node%" PRIu32 " nic%" PRIu32,
                     missing[0] / per_node, missing[0] % per_node, missing[1] / per_node,
                     missing[1] % per_node);
}

static enum sand_rc check(const struct sand_experiment *experiment, const struct sand_graph *graph,
                          void *input, struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    (void)input;
    SAND_TRY(check_nics(graph, diag));
    SAND_TRY(check_pieces(graph, diag));
    print_idle(graph);
    print_switches(graph);
    SAND_TRY(print_distances(graph, diag));
    SAND_TRY(print_paths(graph, diag));
    SAND_TRY(print_weak_points(graph, diag));
    SAND_TRY(sand_fabric_build(&experiment->cluster, &fabric, NULL)); // warned of already
    enum sand_rc rc = print_traffic(fabric, diag);
    sand_fabric_free(fabric);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        NULL, sand_cli_pass_input, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct sand_cli_load load = {0};
    sand_cli_parse(&argp, argc, argv, &load);
    enum sand_rc rc = sand_cli_with_graph(&load, check, NULL);
    sand_cli_load_clear(&load);
    return rc;
}

const struct sand_verb sand_verb_fabric_check = {"check", "distances, weak points, hot links", run};
