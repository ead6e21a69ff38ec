// GraphML: switches and bundles, and the description that makes the same cluster again.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "exporttext.h"
#include "ids.h"
#include "mem.h"
#include "units.h"
#include "xmltext.h"

static const struct {
    const char *name, *of, *type;
} keys[] = {{"kind", "node", "string"},
            {"tier", "node", "string"},
            {"endpoints", "node", "int"},
            {"pod", "node", "int"},
            {"plane", "node", "int"},
            {"capacity", "edge", "string"},
            {"left", "all", "double"},
            {"nic", "edge", "int"},
            {"nics", "edge", "int"},
            {"fabric", "graph", "string"},
            {"nodes", "graph", "int"},
            {"nics_per_node", "graph", "int"},
            {"node_type", "graph", "string"},
            {"nic_rate", "graph", "string"},
            {"link", "graph", "string"},
            {"port_rate", "graph", "string"},
            {"radix", "graph", "int"},
            {"leaf_oversubscription", "graph", "double"},
            {"pod_oversubscription", "graph", "double"},
            {"groups", "graph", "int"},
            {"routers", "graph", "int"},
            {"endpoints_per_router", "graph", "int"},
            {"global_links", "graph", "int"},
            {"leaves", "graph", "int"},
            {"spines", "graph", "int"},
            {"endpoints_per_leaf", "graph", "int"},
            {"leaf_links", "graph", "int"},
            {"nonminimal", "graph", "string"},
            {"x", "graph", "int"},
            {"y", "graph", "int"},
            {"z", "graph", "int"},
            {"block", "graph", "int"},
            {"circuits", "graph", "string"},
            {"twisted", "graph", "string"},
            {"switching", "graph", "string"},
            {"breakout", "graph", "int"},
            {"spreading", "graph", "string"},
            {"adaptive_efficiency", "graph", "string"},
            {"hash_seed", "graph", "int"},
            {"queue_pairs", "graph", "int"},
            {"hash_polarised", "graph", "string"},
            {"rails", "graph", "string"},
            {"cross_rail", "graph", "string"},
            {"loss", "graph", "string"},
            {"loss_window", "graph", "double"},
            {"convergence", "graph", "string"},
            {"latency", "graph", "string"},
            {"spine_latency", "graph", "string"},
            {"core_latency", "graph", "string"},
            {"node_cable", "graph", "string"},
            {"leaf_cable", "graph", "string"},
            {"core_cable", "graph", "string"},
            {"nodes_per_rack", "graph", "int"},
            {"racks_per_row", "graph", "int"},
            {"rows_per_hall", "graph", "int"},
            {"racks_per_pdu", "graph", "int"},
            {"rack_pitch", "graph", "string"},
            {"row_pitch", "graph", "string"},
            {"hall_pitch", "graph", "string"},
            {"cable_slack", "graph", "string"},
            {"pue", "graph", "double"}};

// The fabric as built, and what is left of it now.
struct export_health {
    const struct sand_graph *built, *now;
    double *left;   // of every edge, 0 to 1
    uint8_t *lives; // switches that have a cable or NIC that works
};

static void write_keys(FILE *out)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        fprintf(out, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                keys[i].name, keys[i].of, keys[i].name, keys[i].type);
}

static void text_datum(FILE *out, const char *key, const char *value)
{
    fprintf(out, "    <data key=\"%s\">", key);
    sand_xml_text(out, value);
    fputs("</data>\n", out);
}

static void number_datum(FILE *out, const char *key, double value, enum sand_dim dim)
{
    char text[64];
    text_datum(out, key, sand_quantity_canonical(value, dim, text, sizeof text));
}

static void count_datum(FILE *out, const char *key, uint32_t count)
{
    fprintf(out, "    <data key=\"%s\">%" PRIu32 "</data>\n", key, count);
}

static const char *kind_name(enum sand_fabric_kind kind)
{
    switch (kind) {
    case SAND_FABRIC_FAT_TREE:
        return "fat_tree";
    case SAND_FABRIC_RAIL_OPTIMISED:
        return "rail_optimised";
    case SAND_FABRIC_RAIL_ONLY:
        return "rail_only";
    case SAND_FABRIC_DRAGONFLY_PLUS:
        return "dragonfly_plus";
    case SAND_FABRIC_DRAGONFLY:
        return "dragonfly";
    case SAND_FABRIC_TORUS:
        return "torus";
    case SAND_FABRIC_WIRED:
        return "wired";
    }
    return "?";
}

static const char *spreading_name(enum sand_spreading spreading)
{
    static const char *const names[] = {"even", "static", "adaptive", "hash"};
    return (unsigned)spreading < 4 ? names[spreading] : "?";
}

// A value that says something beyond its default of 0.
static void optional_datum(FILE *out, const char *key, double value, enum sand_dim dim)
{
    if (value > 0)
        number_datum(out, key, value, dim);
}

static void write_kind(const struct sand_fabric_spec *spec, FILE *out)
{
    if (spec->kind <= SAND_FABRIC_RAIL_ONLY) {
        optional_datum(out, "leaf_oversubscription", spec->leaf_oversubscription, SAND_DIM_NUMBER);
        if (spec->n_tiers == 3)
            optional_datum(out, "pod_oversubscription", spec->pod_oversubscription,
                           SAND_DIM_NUMBER);
    } else if (spec->kind == SAND_FABRIC_DRAGONFLY) {
        count_datum(out, "groups", spec->groups);
        count_datum(out, "routers", spec->routers);
        count_datum(out, "endpoints_per_router", spec->endpoints_per_router);
        count_datum(out, "global_links", spec->global_links);
    } else if (spec->kind == SAND_FABRIC_DRAGONFLY_PLUS) {
        count_datum(out, "groups", spec->groups);
        count_datum(out, "leaves", spec->leaves_per_pod);
        count_datum(out, "spines", spec->spines);
        count_datum(out, "endpoints_per_leaf", spec->endpoints_per_leaf);
        count_datum(out, "global_links", spec->global_links);
        count_datum(out, "leaf_links", spec->leaf_links);
    } else if (spec->kind == SAND_FABRIC_TORUS) {
        count_datum(out, "x", spec->size[0]);
        count_datum(out, "y", spec->size[1]);
        count_datum(out, "z", spec->size[2]);
        count_datum(out, "block", spec->block);
        text_datum(out, "circuits", spec->circuits ? "yes" : "no");
        text_datum(out, "twisted", spec->twisted ? "yes" : "no");
        if (spec->switching_s >= 0)
            number_datum(out, "switching", spec->switching_s, SAND_DIM_TIME);
    }
}

static void write_flows(const struct sand_fabric_spec *spec, FILE *out)
{
    const int rails = spec->kind == SAND_FABRIC_RAIL_OPTIMISED ||
                      spec->kind == SAND_FABRIC_RAIL_ONLY || spec->rails;
    text_datum(out, "spreading", spreading_name(spec->spreading));
    if (spec->breakout > 0)
        count_datum(out, "breakout", spec->breakout);
    optional_datum(out, "adaptive_efficiency", spec->adaptive_efficiency, SAND_DIM_FRACTION);
    if (spec->spreading == SAND_SPREAD_HASH) {
        count_datum(out, "hash_seed", spec->hash_seed);
        count_datum(out, "queue_pairs", spec->queue_pairs);
        text_datum(out, "hash_polarised", spec->hash_polarised ? "yes" : "no");
    }
    text_datum(out, "rails", rails ? "yes" : "no");
    if (rails)
        text_datum(out, "cross_rail",
                   spec->cross_rail == SAND_CROSS_RAIL_SPINE ? "spine" : "scaleup");
    optional_datum(out, "nonminimal", spec->nonminimal, SAND_DIM_FRACTION);
    optional_datum(out, "loss", spec->loss, SAND_DIM_FRACTION);
    optional_datum(out, "loss_window", spec->loss_window, SAND_DIM_NUMBER);
    if (spec->convergence_s >= 0)
        number_datum(out, "convergence", spec->convergence_s, SAND_DIM_TIME);
    text_datum(out, "latency", spec->latency == SAND_LATENCY_ROUTE ? "route" : "link");
    optional_datum(out, "spine_latency", spec->spine_latency_s, SAND_DIM_TIME);
    optional_datum(out, "core_latency", spec->core_latency_s, SAND_DIM_TIME);
    optional_datum(out, "node_cable", spec->node_cable_m, SAND_DIM_LENGTH);
    optional_datum(out, "leaf_cable", spec->leaf_cable_m, SAND_DIM_LENGTH);
    optional_datum(out, "core_cable", spec->core_cable_m, SAND_DIM_LENGTH);
}

static void write_places(const struct sand_cluster *cluster, FILE *out)
{
    count_datum(out, "nodes_per_rack", cluster->nodes_per_rack > 0 ? cluster->nodes_per_rack : 1);
    count_datum(out, "racks_per_row", cluster->racks_per_row);
    count_datum(out, "rows_per_hall", cluster->rows_per_hall);
    if (cluster->racks_per_pdu > 0)
        count_datum(out, "racks_per_pdu", cluster->racks_per_pdu);
    optional_datum(out, "rack_pitch", cluster->rack_pitch_m, SAND_DIM_LENGTH);
    optional_datum(out, "row_pitch", cluster->row_pitch_m, SAND_DIM_LENGTH);
    optional_datum(out, "hall_pitch", cluster->hall_pitch_m, SAND_DIM_LENGTH);
    optional_datum(out, "cable_slack", cluster->cable_slack_m, SAND_DIM_LENGTH);
    optional_datum(out, "pue", cluster->pue, SAND_DIM_NUMBER);
}

static void write_cluster(const struct sand_cluster *cluster, FILE *out)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    text_datum(out, "fabric", kind_name(spec->kind));
    count_datum(out, "nodes", cluster->n_nodes);
    count_datum(out, "nics_per_node", cluster->node_type->n_nics);
    text_datum(out, "node_type", cluster->node_type->id);
    number_datum(out, "nic_rate", cluster->node_type->nic->rate_Bps, SAND_DIM_BANDWIDTH);
    if (spec->link) {
        text_datum(out, "link", spec->link->id);
        number_datum(out, "port_rate", spec->link->rate_Bps, SAND_DIM_BANDWIDTH);
    }
    count_datum(out, "radix", spec->radix);
    write_kind(spec, out);
    write_flows(spec, out);
    write_places(cluster, out);
}

// Nothing of it works: no cable and no NIC, of those that it has.
static int is_dead(const struct export_health *h, uint32_t s)
{
    return h->built->first[s] < h->built->first[s + 1]
               ? !h->lives[s]
               : h->built->switches[s].n_endpoints > 0 && !h->lives[s];
}

static void write_left(double left, FILE *out)
{
    char text[64];
    if (left < 1)
        fprintf(out, "<data key=\"left\">%s</data>",
                sand_quantity_canonical(left, SAND_DIM_FRACTION, text, sizeof text));
}

static void write_switches(const struct export_health *h, FILE *out)
{
    const struct sand_graph *g = h->built;
    char name[48];
    for (uint32_t i = 0; i < g->n_switches; i++) {
        const struct sand_graph_switch *s = &g->switches[i];
        fprintf(out, "    <node id=\"%s\"><data key=\"tier\">%s</data>",
                sand_graph_name(g, i, name, sizeof name), sand_tier_name(s->tier));
        if (s->n_endpoints > 0)
            fprintf(out, "<data key=\"endpoints\">%" PRIu32 "</data>", s->n_endpoints);
        if (s->pod != SAND_NONE)
            fprintf(out, "<data key=\"pod\">%" PRIu32 "</data>", s->pod);
        if (g->n_planes > 1)
            fprintf(out, "<data key=\"plane\">%" PRIu32 "</data>", s->plane);
        write_left(is_dead(h, i) ? 0 : 1, out);
        fputs("</node>\n", out);
    }
}

static void write_edges(const struct export_health *h, FILE *out)
{
    const struct sand_graph *g = h->built;
    char a[48], b[48], capacity[64];
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        fprintf(out, "    <edge source=\"%s\" target=\"%s\"><data key=\"capacity\">%s</data>",
                sand_graph_name(g, e->a, a, sizeof a), sand_graph_name(g, e->b, b, sizeof b),
                sand_quantity_canonical(e->capacity_Bps, SAND_DIM_BANDWIDTH, capacity,
                                        sizeof capacity));
        write_left(is_dead(h, e->a) || is_dead(h, e->b) ? 1 : h->left[i], out);
        fputs("</edge>\n", out);
    }
}

static void write_hosts(const struct sand_graph *g, FILE *out)
{
    for (uint32_t node = 0; node < g->n_nodes; node++)
        fprintf(out, "    <node id=\"node:%" PRIu32 "\"><data key=\"kind\">host</data></node>\n",
                node);
}

static double nic_left(const struct export_health *h, size_t port)
{
    return is_dead(h, h->built->leaf_of[port]) ? 1
                                               : h->now->nic_Bps[port] / h->built->nic_Bps[port];
}

static void write_host_edge(const struct export_health *h, uint32_t node, uint32_t nic, uint32_t n,
                            size_t port, FILE *out)
{
    const struct sand_graph *g = h->built;
    char name[48], capacity[64];
    fprintf(
        out,
        "    <edge source=\"node:%" PRIu32 "\" target=\"%s\"><data key=\"nic\">%" PRIu32
        "</data><data key=\"nics\">%" PRIu32 "</data><data key=\"capacity\">%s</data>",
        node, sand_graph_name(g, g->leaf_of[port], name, sizeof name), nic, n,
        sand_quantity_canonical(n * g->port_Bps, SAND_DIM_BANDWIDTH, capacity, sizeof capacity));
    write_left(nic_left(h, port), out);
    fputs("</edge>\n", out);
}

// NICs that follow each other at one switch, equally healthy, are one edge; a NIC's k-th edge is in
// plane k.
static void write_host_edges(const struct export_health *h, FILE *out)
{
    const struct sand_graph *g = h->built;
    for (uint32_t node = 0; node < g->n_nodes; node++)
        for (uint32_t plane = 0; plane < g->n_planes; plane++)
            for (uint32_t nic = 0, end; nic < g->nics_per_node; nic = end) {
                const size_t first = (size_t)node * g->nics_per_node;
                const size_t port = (first + nic) * g->n_planes + plane;
                for (end = nic + 1; end < g->nics_per_node; end++) {
                    const size_t next = (first + end) * g->n_planes + plane;
                    if (g->leaf_of[next] != g->leaf_of[port] ||
                        nic_left(h, next) != nic_left(h, port))
                        break;
                }
                write_host_edge(h, node, nic, end - nic, port, out);
            }
}

static int has_lossy_part(const struct sand_cluster *cluster)
{
    for (size_t i = 0; i < cluster->n_impaired; i++)
        if (cluster->impaired[i].loss > 0)
            return 1;
    return 0;
}

static void write_file(const struct sand_cluster *cluster, const struct export_health *h, FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<!-- The switches and nodes of a cluster and the bundles of cables between them; "
          "capacities are of one\n     direction. An edge of a node is NICs `nic' to nic + nics - "
          "1 of it; the k-th edge of a NIC is in plane k. `left' is the share that works, of what "
          "is not whole. -->\n"
          "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
          out);
    write_keys(out);
    fputs("  <graph id=\"", out);
    sand_xml_text(out, cluster->name);
    fputs("\" edgedefault=\"undirected\">\n", out);
    write_cluster(cluster, out);
    write_switches(h, out);
    write_hosts(h->built, out);
    write_edges(h, out);
    write_host_edges(h, out);
    fputs("  </graph>\n</graphml>\n", out);
}

// Edges of both are in the same order; what does not work has none now.
static enum sand_rc compare_health(struct export_health *h, struct sand_diag *diag)
{
    const struct sand_graph *built = h->built, *now = h->now;
    h->left = sand_calloc(built->n_edges, sizeof *h->left);
    h->lives = sand_calloc(built->n_switches, sizeof *h->lives);
    if (h->left == NULL || h->lives == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory to compare the fabric with itself");
    for (uint32_t i = 0, k = 0; i < built->n_edges && k < now->n_edges; i++) {
        const struct sand_graph_edge *e = &built->edges[i];
        if (e->a != now->edges[k].a || e->b != now->edges[k].b)
            continue;
        h->left[i] = now->edges[k++].capacity_Bps / e->capacity_Bps;
        h->lives[e->a] = h->lives[e->b] = 1;
    }
    for (size_t port = 0; port < (size_t)built->n_endpoints * built->n_planes; port++)
        if (now->nic_Bps[port] > 0)
            h->lives[built->leaf_of[port]] = 1;
    return SAND_OK;
}

enum sand_rc export_graphml(const struct sand_cluster *cluster, const struct sand_graph *graph,
                            FILE *out, struct sand_diag *diag)
{
    struct sand_cluster whole = *cluster;
    struct sand_graph *built = NULL;
    whole.n_impaired = 0;
    if (cluster->n_groups > 0)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "cluster \"%s\": node groups are not in the GraphML: all nodes there are %s",
                      cluster->name, cluster->node_type->id);
    if (has_lossy_part(cluster))
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "cluster \"%s\": the loss of impaired parts is not in the GraphML",
                      cluster->name);
    SAND_TRY(sand_graph_build(&whole, &built, NULL)); // what it warns of is said already
    struct export_health h = {.built = built, .now = graph};
    const enum sand_rc rc = compare_health(&h, diag);
    if (rc == SAND_OK)
        write_file(cluster, &h, out);
    sand_free(h.left);
    sand_free(h.lives);
    sand_graph_free(built);
    return rc;
}
