// sandtable fabric show: what the fabric of a cluster is, in words.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "clifabric.h"
#include "fabric.h"
#include "hashloss.h"
#include "json.h"
#include "spec.h"
#include "units.h"

extern const struct sand_verb sand_verb_fabric_show;

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric show experiment.xml\n"
    "  sandtable fabric show experiment.xml --set cluster/fat_tree/@leaf_oversubscription=3:1\n"
    "\n"
    "Prints tiers, switch counts, oversubscription, the bisection, spreading (of a "
    "hash what its collisions cost, over many seeds), "
    "scale-up domains and losses of the cluster's fabric. Exit status 3 if it cannot be built.";

// Between the halves: at line rate, and what spreading reaches of that.
struct bisection {
    double line_Bps, spread_Bps;
};

static const char *rate(double Bps, char buffer[48])
{
    return sand_quantity_format(Bps, SAND_DIM_BANDWIDTH, 4, buffer, 48);
}

static void print_tree(const struct sand_fabric *f, const struct sand_fabric_spec *spec)
{
    static const char *const kinds[] = {"fat tree", "rail-optimised tree", "rails alone"};
    struct sand_fabric_counts c;
    sand_fabric_count(f, &c);
    printf("%-16s %s, %" PRIu32 " tier%s\n", "fabric", kinds[f->kind], f->n_tiers,
           f->n_tiers > 1 ? "s" : "");
    if (f->n_planes > 1)
        printf("%-16s %" PRIu32 ", each with 1/%" PRIu32 " of a port's rate\n", "planes",
               f->n_planes, f->n_planes);
    printf("%-16s %" PRIu64 ", %" PRIu32 " ports each below, %" PRIu32 " up", "leaves", c.leaves,
           f->endpoints_per_leaf, f->leaf_up_ports);
    if (f->n_rails > 1)
        printf("; %" PRIu32 " rails, units of %" PRIu32 " nodes", f->n_rails, spec->nodes_per_unit);
    if (f->n_tiers > 1)
        printf("\n%-16s %" PRIu64 "; oversubscription of the leaves %g", "spines", c.spines,
               spec->leaf_oversubscription);
    if (f->n_tiers == 3)
        printf("\n%-16s %" PRIu32 " of %" PRIu32 " leaves, oversubscription %g\n%-16s %" PRIu64,
               "pods", f->n_pods, f->leaves_per_pod, spec->pod_oversubscription, "cores", c.cores);
    printf("\n");
    if (f->n_rails > 1)
        printf("%-16s over the %s\n", "rail to rail",
               f->cross_rail == SAND_CROSS_RAIL_SPINE ? "spines" : "scale-up domain");
}

static void print_nonminimal(const struct sand_fabric *f)
{
    if (f->nonminimal > 0)
        printf("; %g %% of the traffic between groups over a third", 100 * f->nonminimal);
    else
        printf(", minimal routing");
    printf("\n%-16s ", "groups");
}

static void print_dragonfly_plus(const struct sand_fabric *f)
{
    printf("%-16s dragonfly+", "fabric");
    print_nonminimal(f);
    printf("%" PRIu32 " of %" PRIu32 " leaves and %" PRIu32 " spines, %" PRIu32
           " cables between any two\n",
           f->groups, f->leaves_per_pod, f->spines_per_pod, f->group_links);
    printf("%-16s %" PRIu32 ", %" PRIu32 " ports each below, %" PRIu32 " up\n", "leaves",
           f->n_leaves, f->endpoints_per_leaf, f->leaf_up_ports);
    printf("%-16s %" PRIu32 ", %" PRIu32 " global links each\n", "spines", f->n_spines,
           f->global_links);
}

static void print_wired(const struct sand_fabric *f)
{
    struct sand_fabric_counts c;
    sand_fabric_count(f, &c);
    printf("%-16s wired switch by switch, shortest ways\n", "fabric");
    if (f->n_planes > 1)
        printf("%-16s %" PRIu32 ", each with 1/%" PRIu32 " of a port's rate\n", "planes",
               f->n_planes, f->n_planes);
    printf("%-16s %" PRIu64 " leaves, %" PRIu64 " spines, %" PRIu64 " cores\n", "switches",
           c.leaves, c.spines, c.cores);
    printf("%-16s %" PRIu64 " from leaves, %" PRIu64 " from spines, %" PRIu64
           " within a tier; %" PRIu32 " links are simulated\n",
           "cables", c.leaf_spine_cables, c.spine_core_cables, c.local_cables + c.global_cables,
           f->n_links);
    if (f->n_rails > 1)
        printf("%-16s over the %s\n", "rail to rail",
               f->cross_rail == SAND_CROSS_RAIL_SPINE ? "network" : "scale-up domain");
}

static void print_direct(const struct sand_fabric *f)
{
    struct sand_fabric_counts c;
    sand_fabric_count(f, &c);
    if (f->kind == SAND_FABRIC_DRAGONFLY) {
        printf("%-16s dragonfly", "fabric");
        print_nonminimal(f);
        printf("%" PRIu32 " of %" PRIu32 " routers, %" PRIu32 " cables between any two\n",
               f->groups, f->routers, f->group_links);
        printf("%-16s %" PRIu32 " endpoints, %" PRIu32 " local and %" PRIu32 " global links each\n",
               "routers", f->endpoints_per_router, f->routers - 1, f->global_links);
        return;
    }
    printf("%-16s %s of %" PRIu32 " x %" PRIu32 " x %" PRIu32 ", %s dimension after dimension%s\n",
           "fabric", f->twist ? "twisted torus" : "torus", f->size[0], f->size[1], f->size[2],
           f->twist ? "shortest ways," : "routes",
           f->twisted && f->has_circuits ? "; slices of n and 2n are twisted" : "");
    if (f->block > 0)
        printf("%-16s of side %" PRIu32 ", joined by %" PRIu64 " optical circuit switches\n",
               "cubes", f->block, c.circuit_switches);
}

static void print_flows(const struct sand_fabric *f, const struct sand_fabric_spec *spec)
{
    switch (f->spreading) {
    case SAND_SPREAD_EVEN:
        printf("%-16s even: equal-cost paths are one link\n", "spreading");
        break;
    case SAND_SPREAD_STATIC:
        printf("%-16s static: by the destination\n", "spreading");
        break;
    case SAND_SPREAD_ADAPTIVE:
        printf("%-16s adaptive, at %g %% of the capacity between switches\n", "spreading",
               100 * spec->adaptive_efficiency);
        break;
    case SAND_SPREAD_HASH:
        printf("%-16s hash, %" PRIu32 " queue pairs a flow, seed %" PRIu32 "%s\n", "spreading",
               f->n_paths, f->hash_seed, f->hash_polarised ? ", polarised" : "");
        break;
    }
    if (spec->loss > 0)
        printf("%-16s %g of the packets: goodput %.4g %%\n", "loss", spec->loss,
               100 * sand_fabric_goodput(spec->loss, spec->loss_window));
}

static void show_text(const struct sand_cluster *cluster, const struct sand_fabric *f,
                      const struct bisection *b)
{
    char text[48], each[48];
    printf("%-16s %s\n", "cluster", cluster->name);
    printf("%-16s %" PRIu32 " %s, %" PRIu32 " GPUs and %" PRIu32 " NICs of %s each\n", "nodes",
           f->n_nodes, cluster->node_type->id, f->gpus_per_node, f->nics_per_node,
           rate(cluster->node_type->nic->rate_Bps, text));
    for (size_t i = 0; i < cluster->n_groups; i++)
        printf("%-16s %s: %" PRIu32 " of them are %s, with NICs of %s\n", "node group",
               cluster->groups[i].id, cluster->groups[i].n_nodes, cluster->groups[i].node_type->id,
               rate(cluster->groups[i].node_type->nic->rate_Bps, text));
    if (cluster->node_type->scaleup != SAND_SCALEUP_NONE)
        printf("%-16s domains of %" PRIu32 " GPUs (%" PRIu32 " node%s), %s a GPU and way\n",
               "scale-up", f->gpus_per_node * f->nodes_per_domain, f->nodes_per_domain,
               f->nodes_per_domain > 1 ? "s" : "",
               rate(cluster->node_type->scaleup_link->rate_Bps, text));
    if (f->kind == SAND_FABRIC_DRAGONFLY_PLUS)
        print_dragonfly_plus(f);
    else if (f->kind < SAND_FABRIC_DRAGONFLY)
        print_tree(f, &cluster->fabric);
    else if (f->kind == SAND_FABRIC_WIRED)
        print_wired(f);
    else
        print_direct(f);
    print_flows(f, &cluster->fabric);
    for (size_t i = 0; i < cluster->n_impaired; i++)
        printf("%-16s %s: speed %g, loss %g\n", "impaired", cluster->impaired[i].part,
               cluster->impaired[i].speed, cluster->impaired[i].loss);
    if (b->line_Bps > 0)
        printf("%-16s %s one way, %s a GPU\n%-16s %s;\n%-16s everything healthy, no loss\n",
               "bisection", rate(b->line_Bps, text),
               rate(b->line_Bps / ((double)f->n_nodes * f->gpus_per_node), each), "",
               sand_cli_bisection_is, "");
    if (b->line_Bps > 0 && b->spread_Bps != b->line_Bps)
        printf("%-16s adaptive spreading reaches %s of it\n", "", rate(b->spread_Bps, text));
    if (!(b->line_Bps > 0))
        printf("%-16s none: %s\n", "bisection", sand_cli_no_bisection(f->n_nodes));
}

static void show_json(const struct sand_cluster *cluster, const struct sand_fabric *f,
                      const struct bisection *b)
{
    static const char *const kinds[] = {
        "fat_tree", "rail_optimised", "rail_only", "dragonfly_plus", "dragonfly", "torus", "wired"};
    static const char *const spreadings[] = {"even", "static", "adaptive", "hash"};
    struct sand_fabric_counts c;
    sand_fabric_count(f, &c);
    printf("{\n  \"cluster\": ");
    sand_json_string(stdout, cluster->name);
    printf(",\n  \"fabric\": \"%s\",\n  \"spreading\": \"%s\",\n", kinds[f->kind],
           spreadings[f->spreading]);
    printf("  \"nodes\": %" PRIu32 ",\n  \"gpus_per_node\": %" PRIu32
           ",\n  \"nics_per_node\": %" PRIu32 ",\n  \"tiers\": %" PRIu32 ",\n  \"rails\": %" PRIu32
           ",\n  \"planes\": %" PRIu32 ",\n",
           f->n_nodes, f->gpus_per_node, f->nics_per_node, f->n_tiers, f->n_rails, f->n_planes);
    printf("  \"leaves\": %" PRIu64 ",\n  \"spines\": %" PRIu64 ",\n  \"cores\": %" PRIu64
           ",\n  \"routers\": %" PRIu64 ",\n  \"impaired\": %zu,\n  \"bisection_Bps\": ",
           c.leaves, c.spines, c.cores, c.routers, cluster->n_impaired);
    sand_json_number(stdout, b->line_Bps);
    printf(",\n  \"bisection_after_spreading_Bps\": ");
    sand_json_number(stdout, b->spread_Bps);
    printf("\n}\n");
}

// Of its queue pairs, and of one beside what is published.
static enum sand_rc print_collisions(const struct sand_fabric *f, struct sand_diag *diag)
{
    for (uint32_t pairs = f->n_paths;; pairs = 1) {
        struct sand_hash_loss loss;
        SAND_TRY(sand_hash_loss(f, pairs, &loss, diag));
        printf("%-16s of %" PRIu32 " queue pair%s cost traffic across the middle %.3g +- %.2g %%,\n"
               "%-16s a ring that waits for its slowest hop %.3g +- %.2g %%\n"
               "%-16s (%" PRIu32 " seeds; evenly spread %.3g %%)\n",
               "collisions", pairs, pairs > 1 ? "s" : "", 100 * loss.throughput,
               100 * loss.throughput_spread, "", 100 * loss.ring, 100 * loss.ring_spread, "",
               loss.n_seeds, 100 * loss.even);
        if (pairs == 1)
            break;
    }
    printf("%-16s ECMP alone: \"more than 30 %%\" of training performance lost\n"
           "%-16s (Gangidi et al., SIGCOMM 2024)\n",
           "published", "");
    return SAND_OK;
}

// By a minimum cut of the fabric as built, nothing impaired; links between switches have
// `efficiency` of their rate.
static enum sand_rc bisect(const struct sand_cluster *cluster, double efficiency, double *Bps,
                           struct sand_diag *diag)
{
    struct sand_graph *graph = NULL;
    struct sand_graph_cut cut = {0};
    struct sand_cluster healthy = *cluster;
    healthy.n_impaired = 0;
    SAND_TRY(sand_graph_build(&healthy, &graph, NULL));
    for (uint32_t i = 0; i < graph->n_edges; i++)
        graph->edges[i].capacity_Bps *= efficiency;
    const enum sand_rc rc = sand_graph_bisection(graph, NULL, &cut, diag);
    *Bps = cut.value_Bps;
    sand_graph_free(graph);
    return rc;
}

static enum sand_rc bisect_both(const struct sand_cluster *cluster, struct bisection *bisection,
                                struct sand_diag *diag)
{
    *bisection = (struct bisection){0};
    if (cluster->n_nodes < 2)
        return SAND_OK;
    SAND_TRY(bisect(cluster, 1, &bisection->line_Bps, diag));
    bisection->spread_Bps = bisection->line_Bps;
    if (cluster->fabric.spreading == SAND_SPREAD_ADAPTIVE)
        SAND_TRY(
            bisect(cluster, cluster->fabric.adaptive_efficiency, &bisection->spread_Bps, diag));
    return SAND_OK;
}

static enum sand_rc show(const struct sand_cluster *cluster, int is_json, struct sand_diag *diag)
{
    struct sand_fabric *f = NULL;
    SAND_TRY(sand_fabric_build(cluster, &f, diag));
    struct bisection bisection = {0};
    enum sand_rc rc = bisect_both(cluster, &bisection, diag);
    if (rc == SAND_OK)
        (is_json ? show_json : show_text)(cluster, f, &bisection);
    if (rc == SAND_OK && !is_json && f->spreading == SAND_SPREAD_HASH && f->n_nodes > 1)
        rc = print_collisions(f, diag);
    sand_fabric_free(f);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    return sand_cli_run_on_cluster(argc, argv, doc, show);
}

const struct sand_verb sand_verb_fabric_show = {"show", "tiers, counts, bisection in words", run};
