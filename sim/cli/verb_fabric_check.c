// sandtable fabric check: connectivity, distances, weak points, and links that traffic heats.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "clifabric.h"
#include "fabric.h"
#include "fabricfindings.h"
#include "hotlinks.h"
#include "ids.h"
#include "json.h"
#include "mem.h"

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric check experiment.xml\n"
    "  sandtable fabric check experiment.xml --format=json --set "
    "\"cluster/fat_tree/@spreading=static\"\n"
    "\n"
    "Checks that every NIC reaches every other, that rails are balanced and that cables are no "
    "longer "
    "than the price list's fibres reach, and prints switches, oversubscription of every tier, "
    "diameter, distance classes, path diversity, switches and cables whose loss alone parts the "
    "fabric, and the hottest link of every class under three kinds of traffic, on the routes that "
    "the "
    "simulator takes. Exit status 1 if something is found that does not hold, 3 if the fabric "
    "cannot "
    "be built (more ports than a switch has, ...).";

// Everything that is found out before anything is printed.
struct report {
    const struct sand_graph *graph;
    const struct sand_fabric *fabric;
    struct sand_tier_ratio ratios[SAND_TIER_RATIOS];
    struct sand_graph_distances distances;
    struct sand_graph_paths paths;
    uint32_t path_ends[2]; // equal: one leaf
    uint32_t *weak;
    size_t n_weak, n_bridges;
    struct sand_hot_links hot[SAND_TRAFFICS];
    struct sand_findings findings;
};

static enum sand_rc find_missing(struct report *r)
{
    const uint32_t per_node = r->fabric->nics_per_node;
    for (unsigned t = 0; t < SAND_TRAFFICS; t++) {
        const struct sand_hot_links *hot = &r->hot[t];
        if (hot->n_missing > 0)
            return sand_findings_add(
                &r->findings, "no-route", 1,
                "NICs that work have no route to each other, first node%" PRIu32 " nic%" PRIu32
                " and node%" PRIu32 " nic%" PRIu32,
                hot->missing[0] / per_node, hot->missing[0] % per_node, hot->missing[1] / per_node,
                hot->missing[1] % per_node);
    }
    return SAND_OK;
}

static enum sand_rc find_out(struct report *r, const struct sand_cluster *cluster,
                             struct sand_diag *diag)
{
    const struct sand_graph *g = r->graph;
    SAND_TRY(sand_findings_of(cluster, r->fabric, g, &r->findings, diag));
    SAND_TRY(sand_tier_ratios(g, r->ratios, diag));
    SAND_TRY(sand_graph_distances(g, &r->distances, diag));
    r->path_ends[0] = g->leaf_of[0];
    r->path_ends[1] = g->leaf_of[((size_t)g->n_endpoints - 1) * g->n_planes];
    if (r->path_ends[0] != r->path_ends[1])
        SAND_TRY(sand_graph_paths(g, r->path_ends[0], r->path_ends[1], &r->paths, diag));
    SAND_TRY(sand_graph_weak_points(g, &r->weak, &r->n_weak, &r->n_bridges, diag));
    for (unsigned t = 0; t < SAND_TRAFFICS; t++)
        SAND_TRY(sand_hot_links(r->fabric, (enum sand_traffic)t, &r->hot[t], diag));
    return find_missing(r) == SAND_OK ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// ---- text ---------------------------------------------------------------------------------------

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

static void print_ratios(const struct report *r)
{
    for (int i = 0; i < SAND_TIER_RATIOS; i++) {
        const struct sand_tier_ratio *at = &r->ratios[i];
        if (at->n == 0)
            continue;
        printf("oversubscription     %.4g", at->least);
        if (at->most > at->least * (1 + 1e-9))
            printf(" to %.4g", at->most);
        printf(": the NICs of a %s over its way %s\n", at->tier, at->tier[0] == 'r' ? "out" : "up");
    }
}

// A line for every distance, or for several of a torus, which has dozens.
static void print_classes(const struct sand_graph_distances *d, uint64_t all)
{
    enum { MOST_LINES = 16 };
    const uint32_t width = 1 + (d->diameter - (d->diameter > 0)) / MOST_LINES;
    for (uint32_t hops = 1; hops <= d->diameter; hops += width) {
        uint64_t pairs = 0;
        for (uint32_t i = hops; i < hops + width && i <= SAND_GRAPH_MAX_HOPS; i++)
            pairs += d->pairs[i];
        if (pairs > 0 && width > 1)
            printf("  %2" PRIu32 " to %2" PRIu32 " switches %.4g %% of pairs\n", hops,
                   hops + width - 1, 100 * (double)pairs / (double)all);
        else if (pairs > 0)
            printf("  %2" PRIu32 " switch%s      %.4g %% of pairs\n", hops, hops > 1 ? "es" : "  ",
                   100 * (double)pairs / (double)all);
    }
}

static void print_distances(const struct report *r)
{
    const struct sand_graph_distances *d = &r->distances;
    uint64_t all = 0;
    for (uint32_t hops = 0; hops <= SAND_GRAPH_MAX_HOPS; hops++)
        all += d->pairs[hops];
    printf("diameter             %s%" PRIu32 " switches\n",
           d->n_searches < d->n_classes ? "at least " : "", d->diameter);
    printf("distances between NICs");
    if (d->n_searches < d->n_classes)
        printf(" (from %" PRIu32 " of %" PRIu32 " kinds of leaf)", d->n_searches, d->n_classes);
    printf("\n");
    print_classes(d, all);
    if (d->pairs[0] > 0)
        printf("  no network path  %.4g %% of pairs%s\n", 100 * (double)d->pairs[0] / (double)all,
               r->graph->is_relayed ? ": over the scale-up domain of a node" : "");
}

static void print_paths(const struct report *r)
{
    char a[48], b[48];
    if (r->path_ends[0] == r->path_ends[1])
        return;
    printf("paths %s to %s: %" PRIu64 " shortest, %" PRIu32 " that share no cable\n",
           sand_graph_name(r->graph, r->path_ends[0], a, sizeof a),
           sand_graph_name(r->graph, r->path_ends[1], b, sizeof b), r->paths.shortest,
           r->paths.disjoint);
}

static void print_weak_points(const struct report *r)
{
    enum { SHOWN = 8 };
    char name[48];
    printf("switches whose loss parts others  %zu", r->n_weak);
    for (size_t i = 0; i < r->n_weak && i < SHOWN; i++)
        printf("%s%s", i == 0 ? ": " : ", ",
               sand_graph_name(r->graph, r->weak[i], name, sizeof name));
    printf(r->n_weak > SHOWN ? ", ...\n" : "\n");
    printf("bundles whose loss parts others   %zu\n", r->n_bridges);
}

static uint32_t count_idle(const struct sand_graph *g)
{
    uint32_t n_idle = 0;
    for (uint32_t i = 0; i < g->n_switches; i++)
        n_idle += g->switches[i].n_endpoints == 0 && g->first[i] == g->first[i + 1] ? 1 : 0;
    return n_idle;
}

static int is_hot(const struct sand_hot_class *c, unsigned link_class)
{
    return c->hottest != SAND_NONE && c->load > 0 && link_class > SAND_LINK_SCALEUP_IN;
}

static void print_traffic(const struct report *r)
{
    char name[64];
    printf("time of traffic over that of the NICs (1: nothing slows it)\n"
           "  traffic     link class    hottest     mean  hottest link\n");
    for (unsigned t = 0; t < SAND_TRAFFICS; t++) {
        for (unsigned k = 0; k < SAND_LINK_CLASSES; k++) {
            const struct sand_hot_class *c = &r->hot[t].classes[k];
            if (is_hot(c, k))
                printf("  %-11s %-12s %8.3g %8.3g  %s\n", sand_traffic_name((enum sand_traffic)t),
                       sand_link_class_name((enum sand_link_class)k), c->load, c->mean,
                       sand_fabric_link_name(r->fabric, c->hottest, name, sizeof name));
        }
        if (r->hot[t].n_missing > 0)
            printf("  %-11s %" PRIu64 " queue pairs have no route\n",
                   sand_traffic_name((enum sand_traffic)t), r->hot[t].n_missing);
    }
}

static void print_text(const struct report *r)
{
    const uint32_t n_idle = count_idle(r->graph);
    // Switches without a living cable are no pieces: nobody is cut off by them alone.
    if (n_idle > 0)
        printf("switches without a living cable  %" PRIu32 "\n", n_idle);
    print_switches(r->graph);
    print_ratios(r);
    print_distances(r);
    print_paths(r);
    print_weak_points(r);
    print_traffic(r);
    printf("findings             %zu, %zu of them grave\n", r->findings.n, r->findings.n_grave);
    for (size_t i = 0; i < r->findings.n; i++)
        printf("  %-5s %-16s %s\n", r->findings.items[i].is_grave ? "GRAVE" : "note",
               r->findings.items[i].kind, r->findings.items[i].text);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void print_shape_json(const struct report *r)
{
    const struct sand_graph *g = r->graph;
    const struct sand_graph_distances *d = &r->distances;
    printf("  \"nodes\": %" PRIu32 ",\n  \"nics_per_node\": %" PRIu32 ",\n  \"leaves\": %" PRIu32
           ",\n  \"spines\": %" PRIu32 ",\n  \"cores\": %" PRIu32 ",\n  \"planes\": %" PRIu32
           ",\n  \"switch_pairs\": %" PRIu32 ",\n  \"idle_switches\": %" PRIu32 ",\n",
           g->n_nodes, g->nics_per_node, g->n_tier[SAND_TIER_LEAF], g->n_tier[SAND_TIER_SPINE],
           g->n_tier[SAND_TIER_CORE], g->n_planes, g->n_edges, count_idle(g));
    printf("  \"oversubscription\": [");
    const char *comma = "";
    for (int i = 0; i < SAND_TIER_RATIOS; i++) {
        if (r->ratios[i].n == 0)
            continue;
        printf("%s\n    {\"tier\": \"%s\", \"least\": ", comma, r->ratios[i].tier);
        sand_json_number(stdout, r->ratios[i].least);
        printf(", \"most\": ");
        sand_json_number(stdout, r->ratios[i].most);
        printf("}");
        comma = ",";
    }
    printf("\n  ],\n  \"diameter\": %" PRIu32 ",\n  \"distances_are_exact\": %s,\n"
           "  \"unjoined_pairs\": %" PRIu64 ",\n  \"distances\": [",
           d->diameter, d->n_searches < d->n_classes ? "false" : "true", d->pairs[0]);
    comma = "";
    for (uint32_t hops = 1; hops <= SAND_GRAPH_MAX_HOPS; hops++) {
        if (d->pairs[hops] == 0)
            continue;
        printf("%s\n    {\"switches\": %" PRIu32 ", \"pairs\": %" PRIu64 "}", comma, hops,
               d->pairs[hops]);
        comma = ",";
    }
    printf("\n  ],\n");
}

static void print_weak_json(const struct report *r)
{
    char name[48];
    if (r->path_ends[0] != r->path_ends[1])
        printf("  \"paths\": {\"shortest\": %" PRIu64 ", \"disjoint\": %" PRIu32 "},\n",
               r->paths.shortest, r->paths.disjoint);
    printf("  \"weak_switches\": [");
    for (size_t i = 0; i < r->n_weak; i++) {
        printf("%s", i > 0 ? ", " : "");
        sand_json_string(stdout, sand_graph_name(r->graph, r->weak[i], name, sizeof name));
    }
    printf("],\n  \"weak_bundles\": %zu,\n", r->n_bridges);
}

static void print_traffic_json(const struct report *r)
{
    const char *comma = "";
    char name[64];
    printf("  \"traffic\": [");
    for (unsigned t = 0; t < SAND_TRAFFICS; t++)
        for (unsigned k = 0; k < SAND_LINK_CLASSES; k++) {
            const struct sand_hot_class *c = &r->hot[t].classes[k];
            if (!is_hot(c, k))
                continue;
            printf("%s\n    {\"traffic\": \"%s\", \"class\": \"%s\", \"load\": ", comma,
                   sand_traffic_name((enum sand_traffic)t),
                   sand_link_class_name((enum sand_link_class)k));
            sand_json_number(stdout, c->load);
            printf(", \"mean\": ");
            sand_json_number(stdout, c->mean);
            printf(", \"link\": ");
            sand_json_string(stdout,
                             sand_fabric_link_name(r->fabric, c->hottest, name, sizeof name));
            printf("}");
            comma = ",";
        }
    printf("\n  ],\n");
}

static void print_json(const struct report *r, const struct sand_cluster *cluster)
{
    printf("{\n  \"cluster\": ");
    sand_json_string(stdout, cluster->name);
    printf(",\n");
    print_shape_json(r);
    print_weak_json(r);
    print_traffic_json(r);
    printf("  \"findings\": [");
    for (size_t i = 0; i < r->findings.n; i++) {
        const struct sand_finding *f = &r->findings.items[i];
        printf("%s\n    {\"kind\": \"%s\", \"grave\": %s, \"text\": ", i > 0 ? "," : "", f->kind,
               f->is_grave ? "true" : "false");
        sand_json_string(stdout, f->text);
        printf("}");
    }
    printf("\n  ]\n}\n");
}

// ---- the verb -----------------------------------------------------------------------------------

static enum sand_rc check(const struct sand_experiment *experiment, const struct sand_graph *graph,
                          void *input, struct sand_diag *diag)
{
    const struct sand_cli_cluster_options *asked = input;
    struct sand_fabric *fabric = NULL;
    SAND_TRY(sand_fabric_build(&experiment->cluster, &fabric, NULL)); // warned of already
    struct report report = {.graph = graph, .fabric = fabric};
    enum sand_rc rc = find_out(&report, &experiment->cluster, diag);
    if (rc == SAND_OK && asked->is_json)
        print_json(&report, &experiment->cluster);
    else if (rc == SAND_OK)
        print_text(&report);
    for (size_t i = 0; rc != SAND_ERR_NOMEM && i < report.findings.n; i++)
        if (report.findings.items[i].is_grave)
            rc = sand_fail(diag, SAND_ERR_FINDING, "%s", report.findings.items[i].text);
    sand_free(report.weak);
    sand_free(report.findings.items);
    sand_fabric_free(fabric);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    struct sand_cli_cluster_options asked;
    sand_cli_parse_on_cluster(argc, argv, doc, &asked);
    enum sand_rc rc = sand_cli_with_graph(&asked.load, check, &asked);
    sand_cli_load_clear(&asked.load);
    return rc;
}

const struct sand_verb sand_verb_fabric_check = {"check", "distances, weak points, hot links", run};
