// Looks for what is wrong with a fabric, on its graph of switches.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricfindings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "ids.h"
#include "mem.h"

enum sand_rc sand_findings_add(struct sand_findings *findings, const char *kind, int is_grave,
                               const char *format, ...)
{
    void *items = findings->items;
    va_list arguments;
    SAND_TRY(sand_grow(&items, &findings->capacity, findings->n + 1, sizeof *findings->items));
    findings->items = items;
    struct sand_finding *made = &findings->items[findings->n++];
    *made = (struct sand_finding){.kind = kind, .is_grave = is_grave};
    va_start(arguments, format);
    vsnprintf(made->text, sizeof made->text, format, arguments);
    va_end(arguments);
    findings->n_grave += is_grave ? 1 : 0;
    return SAND_OK;
}

// ---- NICs ---------------------------------------------------------------------------------------

static int has_port(const struct sand_graph *g, uint32_t nic)
{
    for (uint32_t p = 0; p < g->n_planes; p++)
        if (g->nic_Bps[(size_t)nic * g->n_planes + p] > 0)
            return 1;
    return 0;
}

// By the names that <impaired part="..."> takes.
static enum sand_rc find_cut_nics(const struct sand_graph *g, struct sand_findings *findings)
{
    enum { SHOWN = 6, NAME = 32 };
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
    return sand_findings_add(findings, "nics-cut-off", 1,
                             "NICs cut off, with no port that works: %" PRIu32 " of %" PRIu32
                             " (%s%s); no traffic reaches or leaves them",
                             n, g->n_endpoints, names, n > SHOWN ? ", ..." : "");
}

static enum sand_rc compare_pieces(const struct sand_graph *g, const uint32_t *part,
                                   struct sand_findings *findings)
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
            return sand_findings_add(findings, "in-pieces", 1,
                                     "the fabric is in pieces: nothing joins the NICs of %s and %s",
                                     sand_graph_name(g, first, a, sizeof a),
                                     sand_graph_name(g, g->leaf_of[i], b, sizeof b));
    }
    return SAND_OK;
}

static enum sand_rc find_pieces(const struct sand_graph *g, struct sand_findings *findings)
{
    uint32_t *part = sand_calloc(g->n_switches, sizeof *part);
    if (!part)
        return SAND_ERR_NOMEM;
    enum sand_rc rc = sand_graph_parts(g, NULL, part, NULL, NULL);
    if (rc == SAND_OK)
        rc = compare_pieces(g, part, findings);
    sand_free(part);
    return rc;
}

// ---- rails --------------------------------------------------------------------------------------

static int has_rails(const struct sand_cluster *cluster)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    return s->kind == SAND_FABRIC_RAIL_OPTIMISED || s->kind == SAND_FABRIC_RAIL_ONLY || s->rails;
}

// What leaves every switch towards others, upwards where it is in a tier.
static double *sum_ways(const struct sand_graph *g)
{
    double *up_Bps = sand_calloc(g->n_switches, sizeof *up_Bps);
    for (uint32_t i = 0; up_Bps && i < g->n_edges; i++) {
        const struct sand_graph_edge *e = &g->edges[i];
        up_Bps[e->a] += e->capacity_Bps;
        if (g->switches[e->a].tier == g->switches[e->b].tier)
            up_Bps[e->b] += e->capacity_Bps;
    }
    return up_Bps;
}

static enum sand_rc compare_rails(const struct sand_graph *g, const double *sums_Bps,
                                  const char *what, struct sand_findings *findings)
{
    uint32_t least = 0, most = 0;
    for (uint32_t j = 1; j < g->nics_per_node; j++) {
        least = sums_Bps[j] < sums_Bps[least] ? j : least;
        most = sums_Bps[j] > sums_Bps[most] ? j : most;
    }
    if (sums_Bps[least] >= 0.99 * sums_Bps[most])
        return SAND_OK;
    return sand_findings_add(findings, "unbalanced-rails", 1,
                             "rails are not balanced: the %s of rail %" PRIu32
                             " carry %.4g %% of those of rail %" PRIu32
                             "; collectives go at the pace of the slowest",
                             what, least, 100 * sums_Bps[least] / sums_Bps[most], most);
}

// Leaves serve one rail each; one that serves several counts for its first NIC's.
static enum sand_rc find_unbalanced(const struct sand_graph *g, struct sand_findings *findings)
{
    double *nic_Bps = sand_calloc(g->nics_per_node, sizeof *nic_Bps);
    double *leaf_Bps = sand_calloc(g->nics_per_node, sizeof *leaf_Bps);
    double *up_Bps = sum_ways(g);
    uint8_t *seen = sand_calloc(g->n_switches, 1);
    enum sand_rc rc = nic_Bps && leaf_Bps && up_Bps && seen ? SAND_OK : SAND_ERR_NOMEM;
    const uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    for (uint64_t i = 0; rc == SAND_OK && i < n; i++) {
        const uint64_t rail = i / g->n_planes % g->nics_per_node;
        nic_Bps[rail] += g->nic_Bps[i];
        if (!seen[g->leaf_of[i]])
            leaf_Bps[rail] += up_Bps[g->leaf_of[i]];
        seen[g->leaf_of[i]] = 1;
    }
    if (rc == SAND_OK)
        rc = compare_rails(g, nic_Bps, "NICs", findings);
    if (rc == SAND_OK)
        rc = compare_rails(g, leaf_Bps, "leaves' uplinks", findings);
    sand_free(nic_Bps);
    sand_free(leaf_Bps);
    sand_free(up_Bps);
    sand_free(seen);
    return rc;
}

// ---- cables, weak points ------------------------------------------------------------------------

static enum sand_rc find_long_cables(const struct sand_cluster *cluster,
                                     const struct sand_fabric *fabric,
                                     struct sand_findings *findings)
{
    static const char *const runs[] = {"from node to switch", "from leaf to spine",
                                       "between spines, cores or groups"};
    const struct sand_price_list *prices = cluster->prices;
    const double reach_m = prices ? fmax(prices->fibre_reach_m, prices->copper_reach_m) : 0;
    for (int run = 0; run < 3 && prices && prices->fibre_reach_m > 0; run++)
        if (fabric->longest_m[run] > reach_m)
            SAND_TRY(sand_findings_add(findings, "cable-too-long", 1,
                                       "the longest cable %s is %.4g m, but what price list \"%s\" "
                                       "names reaches %.4g m",
                                       runs[run], fabric->longest_m[run], prices->id, reach_m));
    return SAND_OK;
}

static enum sand_rc find_weak(const struct sand_graph *g, struct sand_findings *findings,
                              struct sand_diag *diag)
{
    uint32_t *weak = NULL, n_idle = 0;
    size_t n = 0, n_bridges = 0;
    char name[48];
    SAND_TRY(sand_graph_weak_points(g, &weak, &n, &n_bridges, diag));
    enum sand_rc rc = SAND_OK;
    if (n > 0)
        rc = sand_findings_add(findings, "weak-switches", 0,
                               "%zu switches part others if they alone are lost, first %s", n,
                               sand_graph_name(g, weak[0], name, sizeof name));
    sand_free(weak);
    for (uint32_t i = 0; i < g->n_switches; i++)
        n_idle += g->switches[i].n_endpoints == 0 && g->first[i] == g->first[i + 1] ? 1 : 0;
    if (rc == SAND_OK && n_bridges > 0)
        rc = sand_findings_add(findings, "weak-cables", 0,
                               "%zu bundles of cables part switches if they alone are lost",
                               n_bridges);
    if (rc == SAND_OK && n_idle > 0)
        rc = sand_findings_add(findings, "idle-switches", 0,
                               "%" PRIu32 " switches have no cable that lives", n_idle);
    return rc;
}

enum sand_rc sand_findings_of(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                              const struct sand_graph *graph, struct sand_findings *findings,
                              struct sand_diag *diag)
{
    enum sand_rc rc = find_cut_nics(graph, findings);
    if (rc == SAND_OK)
        rc = find_pieces(graph, findings);
    if (rc == SAND_OK && has_rails(cluster) && graph->nics_per_node > 1)
        rc = find_unbalanced(graph, findings);
    if (rc == SAND_OK)
        rc = find_long_cables(cluster, fabric, findings);
    if (rc == SAND_OK)
        rc = find_weak(graph, findings, diag);
    return rc == SAND_ERR_NOMEM ? sand_fail(diag, rc, "no memory to check the fabric") : rc;
}

// ---- oversubscription ---------------------------------------------------------------------------

static void take_ratio(struct sand_tier_ratio *ratio, double down_Bps, double up_Bps)
{
    if (!(down_Bps > 0) || !(up_Bps > 0))
        return;
    const double is = down_Bps / up_Bps;
    ratio->least = ratio->n == 0 || is < ratio->least ? is : ratio->least;
    ratio->most = is > ratio->most ? is : ratio->most;
    ratio->n++;
}

// NICs at each switch, and of each pod; what spines have to cores, by pod.
struct sums {
    double *up_Bps, *nic_Bps, *pod_nic_Bps, *pod_up_Bps;
};

static void sum_up(const struct sand_graph *g, struct sums *sums)
{
    const uint64_t n = (uint64_t)g->n_endpoints * g->n_planes;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t leaf = g->leaf_of[i], pod = g->switches[leaf].pod;
        sums->nic_Bps[leaf] += g->nic_Bps[i];
        if (pod < g->n_switches)
            sums->pod_nic_Bps[pod] += g->nic_Bps[i];
    }
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct sand_graph_switch *low = &g->switches[g->edges[i].a];
        if (low->tier < SAND_TIER_CORE && low->pod < g->n_switches &&
            g->switches[g->edges[i].b].tier == SAND_TIER_CORE)
            sums->pod_up_Bps[low->pod] += g->edges[i].capacity_Bps;
    }
}

enum sand_rc sand_tier_ratios(const struct sand_graph *graph,
                              struct sand_tier_ratio ratios[SAND_TIER_RATIOS],
                              struct sand_diag *diag)
{
    const uint32_t n = graph->n_switches;
    struct sums sums = {sum_ways(graph), sand_calloc(n, sizeof(double)),
                        sand_calloc(n, sizeof(double)), sand_calloc(n, sizeof(double))};
    const int has_all = sums.up_Bps && sums.nic_Bps && sums.pod_nic_Bps && sums.pod_up_Bps;
    const int is_tree = graph->n_tier[SAND_TIER_SPINE] > 0;
    ratios[0] = (struct sand_tier_ratio){.tier = is_tree ? "leaf" : "router"};
    ratios[1] = (struct sand_tier_ratio){.tier = "pod"};
    if (has_all)
        sum_up(graph, &sums);
    for (uint32_t i = 0; has_all && i < n; i++) {
        take_ratio(&ratios[0], sums.nic_Bps[i], sums.up_Bps[i]);
        take_ratio(&ratios[1], sums.pod_nic_Bps[i], sums.pod_up_Bps[i]);
    }
    sand_free(sums.up_Bps);
    sand_free(sums.nic_Bps);
    sand_free(sums.pod_nic_Bps);
    sand_free(sums.pod_up_Bps);
    return has_all ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "no memory to check the fabric");
}
