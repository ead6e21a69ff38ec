// From leaves, pods and uplinks as they are to the nearest regular fat tree, difference by
// difference. SPDX-License-Identifier: GPL-2.0-or-later
#include "importtree.h"

#include <inttypes.h>
#include <math.h>

#include "numbers.h"
#include "units.h"

// What the regular tree has.
struct regular {
    uint32_t per_leaf, leaves_per_pod, spines;
    double leaf_up_Bps, pod_up_Bps, nic_Bps;
};

// ---- the most frequent of everything ----

static uint32_t usual_endpoints(struct import_job *job, const struct import_tree *t)
{
    uint32_t *values = sand_arena_alloc(&job->arena, t->n_leaves, sizeof *values);
    for (size_t i = 0; values && i < t->n_leaves; i++)
        values[i] = t->leaves[i].n_endpoints;
    return values ? import_mode(values, t->n_leaves) : 0;
}

static double usual_leaf_uplink(struct import_job *job, const struct import_tree *t)
{
    double *values = sand_arena_alloc(&job->arena, t->n_leaves, sizeof *values);
    for (size_t i = 0; values && i < t->n_leaves; i++)
        values[i] = t->leaves[i].up_Bps;
    return values ? import_mode_real(values, t->n_leaves) : 0;
}

static uint32_t *leaves_by_pod(struct import_job *job, const struct import_tree *t)
{
    uint32_t *values = sand_arena_alloc(&job->arena, t->n_pods, sizeof *values);
    for (size_t i = 0; values && i < t->n_leaves; i++)
        values[t->leaves[i].pod]++;
    return values;
}

static uint32_t usual_of_pods(struct import_job *job, const struct import_tree *t, int spines)
{
    uint32_t *values = leaves_by_pod(job, t);
    for (size_t i = 0; values && spines && i < t->n_pods; i++)
        values[i] = t->pods[i].n_spines;
    return values ? import_mode(values, t->n_pods) : 0;
}

static double usual_pod_uplink(struct import_job *job, const struct import_tree *t)
{
    double *values = sand_arena_alloc(&job->arena, t->n_pods, sizeof *values);
    for (size_t i = 0; values && i < t->n_pods; i++)
        values[i] = t->pods[i].up_Bps;
    return values ? import_mode_real(values, t->n_pods) : 0;
}

// ---- differences ----

static int differs(double a, double b)
{
    return fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b));
}

static const char *rate(double Bps, char buffer[48])
{
    return sand_quantity_format(Bps, SAND_DIM_BANDWIDTH, 6, buffer, 48);
}

// Leaves that are not full in the regular fabric, too: one at its end, or one per rail. Returns
// their number of NICs; 0 if those that differ are others. *pod is theirs.
static uint32_t short_leaves(const struct import_tree *t, uint32_t usual, size_t *pod)
{
    uint32_t less = 0, allowed = t->n_rails > 1 ? t->n_rails : 1, n = 0;
    for (size_t i = 0; i < t->n_leaves; i++) {
        const struct import_leaf *leaf = &t->leaves[i];
        if (leaf->n_endpoints == usual)
            continue;
        if (n++ == 0) {
            less = leaf->n_endpoints;
            *pod = leaf->pod;
        }
        if (leaf->n_endpoints > usual || leaf->n_endpoints != less || leaf->pod != *pod)
            return 0;
    }
    return n == allowed ? less : 0;
}

// The one pod that is not full, SIZE_MAX if there is none or more.
static size_t lone_pod(const struct import_tree *t, const uint32_t *leaves, uint32_t usual)
{
    size_t found = SIZE_MAX, n = 0;
    for (size_t i = 0; i < t->n_pods; i++) {
        if (leaves[i] == usual)
            continue;
        n += leaves[i] < usual ? 1 : 2;
        found = i;
    }
    return n == 1 ? found : SIZE_MAX;
}

static void compare_leaves(struct import_job *job, const struct import_tree *t,
                           const struct regular *r, size_t short_pod)
{
    char is[48], usual[48];
    size_t pod = 0;
    uint32_t less = short_leaves(t, r->per_leaf, &pod);
    if (short_pod != SIZE_MAX && pod != short_pod)
        less = 0; // only one of the two can be at the end
    for (size_t i = 0; i < t->n_leaves; i++) {
        const struct import_leaf *leaf = &t->leaves[i];
        if (leaf->n_endpoints != r->per_leaf && leaf->n_endpoints != less)
            import_deviate(job, leaf->line,
                           "leaf \"%s\" has %" PRIu32 " NICs, the regular leaf %" PRIu32,
                           leaf->name, leaf->n_endpoints, r->per_leaf);
        if (differs(leaf->up_Bps, r->leaf_up_Bps))
            import_deviate(job, leaf->line, "leaf \"%s\" has uplinks of %s, the regular leaf of %s",
                           leaf->name, rate(leaf->up_Bps, is), rate(r->leaf_up_Bps, usual));
    }
}

static void compare_pods(struct import_job *job, const struct import_tree *t,
                         const struct regular *r, const uint32_t *leaves, size_t short_pod)
{
    char is[48], usual[48];
    for (size_t i = 0; i < t->n_pods; i++) {
        const struct import_pod *pod = &t->pods[i];
        if (leaves[i] != r->leaves_per_pod && i != short_pod)
            import_deviate(job, 0, "pod of \"%s\" has %" PRIu32 " leaves, the regular pod %" PRIu32,
                           pod->name, leaves[i], r->leaves_per_pod);
        if (pod->n_spines != r->spines)
            import_deviate(job, 0, "pod of \"%s\" has %" PRIu32 " spines, the regular pod %" PRIu32,
                           pod->name, pod->n_spines, r->spines);
        if (differs(pod->up_Bps, r->pod_up_Bps))
            import_deviate(job, 0, "pod of \"%s\" has uplinks of %s, the regular pod of %s",
                           pod->name, rate(pod->up_Bps, is), rate(r->pod_up_Bps, usual));
    }
}

static int compare(struct import_job *job, const struct import_tree *t, const struct regular *r)
{
    const uint32_t *leaves = leaves_by_pod(job, t);
    if (leaves == NULL)
        return import_no_memory(job);
    size_t short_pod = t->n_tiers == 3 ? lone_pod(t, leaves, r->leaves_per_pod) : SIZE_MAX;
    compare_leaves(job, t, r, short_pod);
    if (t->n_tiers == 3)
        compare_pods(job, t, r, leaves, short_pod);
    return 1;
}

static void compare_totals(struct import_job *job, const struct import_tree *t,
                           const struct regular *r)
{
    uint64_t endpoints = (uint64_t)t->n_nodes * t->nics_per_node, real = 0;
    for (size_t i = 0; i < t->n_leaves; i++)
        real += t->leaves[i].n_endpoints;
    if (real != endpoints)
        import_deviate(job, 0,
                       "the leaves have %" PRIu64 " NICs, %" PRIu32 " nodes of %" PRIu32
                       " NICs %" PRIu64,
                       real, t->n_nodes, t->nics_per_node, endpoints);
    uint64_t leaves = t->n_rails > 1 ? sand_ceil_div(t->n_nodes, r->per_leaf) * t->n_rails
                                     : sand_ceil_div(endpoints, r->per_leaf);
    if (leaves != t->n_leaves)
        import_deviate(job, 0, "there are %zu leaves, in the regular fabric %" PRIu64, t->n_leaves,
                       leaves);
}

// ---- writing ----

// Exactly what our own export said, if the capacities agree; else their ratio.
static double ratio_of(double stated, double down_Bps, double up_Bps)
{
    double measured = up_Bps > 0 ? down_Bps / up_Bps : 1;
    return stated > 0 && !differs(stated, measured) ? stated : measured;
}

static void write_ratio(struct import_xml *xml, const char *name, double ratio)
{
    char text[64];
    sand_quantity_canonical(ratio, SAND_DIM_NUMBER, text, sizeof text);
    import_xml_attribute(xml, name, "%s", text);
}

static int radix_fits(const struct import_tree *t, const struct regular *r, double port_Bps)
{
    if (t->radix == 0 || r->spines == 0 || !(port_Bps > 0))
        return 0;
    double ports = ceil(r->leaf_up_Bps / port_Bps - 1e-9);
    double above = ceil(r->pod_up_Bps / r->spines / port_Bps - 1e-9);
    return r->per_leaf + ports <= t->radix &&
           ceil(r->leaves_per_pod * ports / r->spines) + above <= t->radix;
}

static void write_counts(struct import_xml *xml, const struct import_tree *t,
                         const struct regular *r, double port_Bps)
{
    if (radix_fits(t, r, port_Bps))
        import_xml_attribute(xml, "radix", "%" PRIu32, t->radix);
    if (r->spines > 0)
        import_xml_attribute(xml, "spines", "%" PRIu32, r->spines);
    if (t->n_tiers == 3 && t->n_cores > 0)
        import_xml_attribute(xml, "cores", "%" PRIu32, t->n_cores);
}

// The element with its sizes: whole nodes per leaf, or nodes per unit of rails.
static void write_sizes(struct import_xml *xml, const struct import_tree *t,
                        const struct regular *r)
{
    int railed = t->n_rails > 1;
    double down = r->per_leaf * r->nic_Bps;
    fprintf(xml->out, railed ? "    <rail_optimised" : "    <fat_tree");
    import_xml_attribute(xml, "tiers", "%" PRIu32, t->n_tiers);
    import_xml_attribute(xml, railed ? "nodes_per_unit" : "endpoints_per_leaf", "%" PRIu32,
                         r->per_leaf);
    write_ratio(xml, "leaf_oversubscription",
                ratio_of(t->leaf_oversubscription, down, r->leaf_up_Bps));
    if (t->n_tiers < 3)
        return;
    import_xml_attribute(xml, railed ? "units_per_pod" : "leaves_per_pod", "%" PRIu32,
                         railed ? (uint32_t)sand_ceil_div(r->leaves_per_pod, t->n_rails)
                                : r->leaves_per_pod);
    write_ratio(xml, "pod_oversubscription",
                ratio_of(t->pod_oversubscription, down * r->leaves_per_pod, r->pod_up_Bps));
}

static int is_in_catalogue(struct import_job *job, const char *link)
{
    struct import_entry_of entry;
    struct sand_diag *diag = job->diag;
    const size_t refused = job->n_refused;
    job->diag = NULL;
    const int found = import_entry_open(job, "link", link, &entry);
    if (found)
        import_entry_close(&entry);
    job->diag = diag;
    job->n_refused = refused;
    return found;
}

void import_fabric_common(struct import_job *job, struct import_xml *xml,
                          const struct import_tree *t, const struct import_node *node,
                          double port_Bps)
{
    const char *link = t->link && is_in_catalogue(job, t->link)
                           ? sand_arena_printf(&job->arena, "sandtable:link/%s", t->link)
                           : import_link_of_rate(job, port_Bps, node->nic);
    if (t->spreading != NULL)
        import_xml_attribute(xml, "spreading", "%s", t->spreading);
    for (size_t i = 0; i < t->n_fabric_extras; i++)
        import_xml_attribute(xml, t->fabric_extras[i].name, "%s", t->fabric_extras[i].value);
    import_xml_attribute(xml, "link", "%s", link ? link : node->nic);
    if (link == NULL) {
        char text[64];
        sand_quantity_canonical(port_Bps, SAND_DIM_BANDWIDTH, text, sizeof text);
        import_xml_attribute(xml, "link_rate", "%s", text);
    }
}

void import_cluster_open(struct import_job *job, struct import_xml *xml,
                         const struct import_tree *tree, const struct import_node *node,
                         uint32_t n_nodes)
{
    static const char *const places[] = {"nodes_per_rack", "racks_per_row", "rows_per_hall"};
    fprintf(xml->out, "<cluster xmlns=\"urn:sandtable:1\"");
    import_xml_attribute(xml, "name", "%s", job->options->name ? job->options->name : "imported");
    import_xml_attribute(xml, "nodes", "%" PRIu32, n_nodes);
    import_xml_attribute(xml, "node", "sandtable:node/%s", node->id);
    for (size_t i = 0; i < 3; i++)
        if (tree->place[i] != NULL)
            import_xml_attribute(xml, places[i], "%s", tree->place[i]);
    for (size_t i = 0; i < tree->n_cluster_extras; i++)
        import_xml_attribute(xml, tree->cluster_extras[i].name, "%s",
                             tree->cluster_extras[i].value);
    fprintf(xml->out, ">\n");
}

static void write_fabric(struct import_job *job, struct import_xml *xml,
                         const struct import_tree *t, const struct import_node *node,
                         const struct regular *r)
{
    double port_Bps = t->port_Bps > 0 ? t->port_Bps : r->nic_Bps;
    write_sizes(xml, t, r);
    fprintf(xml->out, "\n             ");
    write_counts(xml, t, r, port_Bps);
    import_fabric_common(job, xml, t, node, port_Bps);
    fprintf(xml->out, "/>\n");
}

void import_assume_common(struct import_job *job, const struct import_tree *t)
{
    if (t->spreading == NULL)
        import_assume(job, "flows spread evenly over equal paths");
    if (t->place[0] == NULL)
        import_assume(job, "one node per rack, all in one row: the input says nothing of racks");
    import_assume(job, "no storage; add a storage element for checkpoints");
}

static void describe_assumptions(struct import_job *job, const struct import_tree *t,
                                 const struct import_node *node, const struct regular *r)
{
    char text[48];
    if (!(r->leaf_up_Bps > 0))
        import_assume(job, "no oversubscription of the leaves: the input does not say");
    if (t->n_tiers == 3 && !(r->pod_up_Bps > 0))
        import_assume(job, "no oversubscription of the pods: the input does not say");
    if (r->spines == 0)
        import_assume(job, "spines are not counted: the input does not say");
    import_assume_common(job, t);
    if (t->nic_Bps > 0 && differs(t->nic_Bps, node->nic_Bps))
        import_deviate(job, 0, "NIC ports have %s, those of node type %s %s",
                       rate(t->nic_Bps, text), node->id, node->nic_rate);
    if (t->nics_per_node != node->n_nics)
        import_deviate(job, 0, "nodes have %" PRIu32 " NICs, node type %s has %" PRIu32,
                       t->nics_per_node, node->id, node->n_nics);
}

static int find_regular(struct import_job *job, const struct import_tree *t,
                        const struct import_node *node, struct regular *r)
{
    *r = (struct regular){.per_leaf = usual_endpoints(job, t),
                          .leaves_per_pod = usual_of_pods(job, t, 0),
                          .spines = usual_of_pods(job, t, 1),
                          .leaf_up_Bps = usual_leaf_uplink(job, t),
                          .pod_up_Bps = usual_pod_uplink(job, t),
                          .nic_Bps = t->nic_Bps > 0 ? t->nic_Bps : node->nic_Bps};
    return r->per_leaf > 0 ? 1 : import_no_memory(job);
}

// A node type with another number of NICs: as many nodes per leaf and the same oversubscription.
static void scale_to_node(struct regular *r, const struct import_tree *t,
                          const struct import_node *node)
{
    if (t->nics_per_node == node->n_nics || t->n_rails > 1) // a rail's leaf has one NIC per node
        return;
    uint32_t before = r->per_leaf;
    double factor = (double)node->n_nics / t->nics_per_node;
    r->per_leaf = (uint32_t)fmax(1, nearbyint(before * factor));
    r->leaf_up_Bps *= (double)r->per_leaf / before;
    r->pod_up_Bps *= (double)r->per_leaf / before;
}

int import_tree_write(struct import_job *job, const struct import_tree *tree,
                      const struct import_node *node)
{
    struct regular r;
    struct import_xml xml;
    if (!find_regular(job, tree, node, &r))
        return 0;
    if (!compare(job, tree, &r))
        return 0;
    compare_totals(job, tree, &r);
    describe_assumptions(job, tree, node, &r);
    scale_to_node(&r, tree, node);
    if (!import_xml_open(job, &xml))
        return 0;
    import_cluster_open(job, &xml, tree, node, tree->n_nodes);
    write_fabric(job, &xml, tree, node, &r);
    fprintf(xml.out, "</cluster>\n");
    return import_xml_close(job, &xml);
}
