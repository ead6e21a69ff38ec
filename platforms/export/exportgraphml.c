// GraphML: switches and bundles, and the description that makes the same cluster again.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "exporttext.h"
#include "ids.h"
#include "units.h"

static const struct {
    const char *name, *of, *type;
} keys[] = {{"tier", "node", "string"},
            {"endpoints", "node", "int"},
            {"pod", "node", "int"},
            {"plane", "node", "int"},
            {"capacity", "edge", "string"},
            {"fabric", "graph", "string"},
            {"nodes", "graph", "int"},
            {"nics_per_node", "graph", "int"},
            {"node_type", "graph", "string"},
            {"nic_rate", "graph", "string"},
            {"link", "graph", "string"},
            {"port_rate", "graph", "string"},
            {"spreading", "graph", "string"},
            {"radix", "graph", "int"},
            {"leaf_oversubscription", "graph", "double"},
            {"pod_oversubscription", "graph", "double"},
            {"nodes_per_rack", "graph", "int"},
            {"racks_per_row", "graph", "int"},
            {"rows_per_hall", "graph", "int"}};

static void write_keys(FILE *out)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        fprintf(out, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                keys[i].name, keys[i].of, keys[i].name, keys[i].type);
}

static void text_datum(FILE *out, const char *key, const char *value)
{
    fprintf(out, "    <data key=\"%s\">", key);
    export_xml_text(out, value);
    fputs("</data>\n", out);
}

static void number_datum(FILE *out, const char *key, double value, enum sand_dim dim)
{
    char text[64];
    text_datum(out, key, sand_quantity_canonical(value, dim, text, sizeof text));
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
    }
    return "?";
}

static const char *spreading_name(enum sand_spreading spreading)
{
    static const char *const names[] = {"even", "static", "adaptive", "hash"};
    return (unsigned)spreading < 4 ? names[spreading] : "?";
}

static void write_cluster(const struct sand_cluster *cluster, FILE *out)
{
    const struct sand_fabric_spec *spec = &cluster->fabric;
    text_datum(out, "fabric", kind_name(spec->kind));
    number_datum(out, "nodes", cluster->n_nodes, SAND_DIM_COUNT);
    number_datum(out, "nics_per_node", cluster->node_type->n_nics, SAND_DIM_COUNT);
    text_datum(out, "node_type", cluster->node_type->id);
    number_datum(out, "nic_rate", cluster->node_type->nic->rate_Bps, SAND_DIM_BANDWIDTH);
    if (spec->link) {
        text_datum(out, "link", spec->link->id);
        number_datum(out, "port_rate", spec->link->rate_Bps, SAND_DIM_BANDWIDTH);
    }
    text_datum(out, "spreading", spreading_name(spec->spreading));
    number_datum(out, "radix", spec->radix, SAND_DIM_COUNT);
    if (spec->leaf_oversubscription > 0)
        number_datum(out, "leaf_oversubscription", spec->leaf_oversubscription, SAND_DIM_NUMBER);
    if (spec->n_tiers == 3 && spec->pod_oversubscription > 0)
        number_datum(out, "pod_oversubscription", spec->pod_oversubscription, SAND_DIM_NUMBER);
    number_datum(out, "nodes_per_rack", cluster->nodes_per_rack > 0 ? cluster->nodes_per_rack : 1,
                 SAND_DIM_COUNT);
    number_datum(out, "racks_per_row", cluster->racks_per_row, SAND_DIM_COUNT);
    number_datum(out, "rows_per_hall", cluster->rows_per_hall, SAND_DIM_COUNT);
}

static void write_switches(const struct sand_graph *g, FILE *out)
{
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
        fputs("</node>\n", out);
    }
}

static void write_edges(const struct sand_graph *g, FILE *out)
{
    char a[48], b[48], capacity[64];
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        fprintf(out,
                "    <edge source=\"%s\" target=\"%s\"><data key=\"capacity\">%s</data></edge>\n",
                sand_graph_name(g, e->a, a, sizeof a), sand_graph_name(g, e->b, b, sizeof b),
                sand_quantity_canonical(e->capacity_Bps, SAND_DIM_BANDWIDTH, capacity,
                                        sizeof capacity));
    }
}

enum sand_rc export_graphml(const struct sand_cluster *cluster, const struct sand_graph *graph,
                            FILE *out, struct sand_diag *diag)
{
    (void)diag;
    fputs(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!-- The switches of a cluster and the bundles of cables between them; capacities are of "
        "one direction.\n     A leaf has `endpoints' NICs; NIC i is number i mod nics_per_node of "
        "node i / nics_per_node. -->\n"
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        out);
    write_keys(out);
    fputs("  <graph id=\"", out);
    export_xml_text(out, cluster->name);
    fputs("\" edgedefault=\"undirected\">\n", out);
    write_cluster(cluster, out);
    write_switches(graph, out);
    write_edges(graph, out);
    fputs("  </graph>\n</graphml>\n", out);
    return SAND_OK;
}
