// From the description of a tree to its switch and port counts; see fabricplan.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricplan.h"

#include "fabricports.h"
#include "numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

// Ports of a switch or chassis, and switches of a tier: above anything ever built. Keeps products
// of counts inside 64 bits and the searches for counts short.
enum { MAX_COUNT = 1000000 };

struct planner {
    const struct sand_cluster *cluster;
    const struct sand_fabric_spec *spec;
    struct sand_fabric_plan *plan;
    struct sand_diag *diag;
    unsigned n_problems;
};

static void problem(struct planner *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void problem(struct planner *p, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sand_diag_add(p->diag, SAND_ERROR, NULL, 0, "cluster \"%s\": %s",
                  p->cluster->name ? p->cluster->name : "", text);
    p->n_problems++;
}

static void warning(const struct planner *p, const char *text)
{
    sand_diag_add(p->diag, SAND_WARNING, NULL, 0, "cluster \"%s\": %s",
                  p->cluster->name ? p->cluster->name : "", text);
}

// ---- the description by itself ----

static void check_rate(struct planner *p, const struct sand_link_type *link, const char *what)
{
    if (link == NULL)
        problem(p, "no %s link type is given; name one of the catalogue's", what);
    else if (!(link->rate_Bps > 0) || !isfinite(link->rate_Bps))
        problem(p, "%s link \"%s\": rate %g B/s must be above 0", what, link->id, link->rate_Bps);
}

static void check_nodes(struct planner *p)
{
    const struct sand_cluster *c = p->cluster;
    const struct sand_node_type *t = c->node_type;
    if (c->n_nodes == 0)
        problem(p, "0 nodes; a cluster has at least 1");
    if (t == NULL) {
        problem(p, "no node type is given; name one of the catalogue's");
        return;
    }
    if (t->n_gpus == 0)
        problem(p, "node type \"%s\" has 0 GPUs; it needs at least 1", t->id);
    if (t->n_nics == 0)
        problem(p, "node type \"%s\" has 0 NICs; the fabric needs at least 1", t->id);
    check_rate(p, t->nic, "NIC");
    if (t->scaleup != SAND_SCALEUP_NONE)
        check_rate(p, t->scaleup_link, "scale-up");
}

static void check_oversubscription(struct planner *p, double value, const char *tier)
{
    if (!(value > 0) || !isfinite(value))
        problem(p, "%s oversubscription %g must be above 0 (1 is full bandwidth, 7 is 7:1)", tier,
                value);
}

static void check_tiers(struct planner *p)
{
    const uint32_t tiers = p->spec->n_tiers;
    if (p->spec->kind == SAND_FABRIC_RAIL_ONLY) {
        if (tiers != 1 && tiers != 2)
            problem(p, "%" PRIu32 " tiers; a rail alone has 1 (one leaf) or 2 (leaf, spine)",
                    tiers);
    } else if (tiers != 2 && tiers != 3) {
        problem(p,
                "%" PRIu32 " tiers; a fat tree here has 2 (leaf, spine) or 3 (leaf, spine, core)",
                tiers);
    }
}

static void check_tree(struct planner *p)
{
    const struct sand_fabric_spec *s = p->spec;
    const int rails = s->kind != SAND_FABRIC_FAT_TREE;
    check_tiers(p);
    if (!rails && s->endpoints_per_leaf == 0)
        problem(p, "0 endpoints per leaf; give the NIC ports that one leaf serves");
    if (rails && s->nodes_per_unit == 0)
        problem(p, "0 nodes per unit; give the nodes that one leaf of every rail serves");
    if (s->planes > 64)
        problem(p, "%" PRIu32 " planes; a NIC has at most 64 ports", s->planes);
    check_oversubscription(p, s->leaf_oversubscription, "leaf");
    if (s->n_tiers == 3) {
        check_oversubscription(p, s->pod_oversubscription, "pod");
        if (!rails && s->leaves_per_pod == 0)
            problem(p, "0 leaves per pod; 3 tiers need at least 1");
        if (rails && s->units_per_pod == 0)
            problem(p, "0 units per pod; 3 tiers need at least 1");
    } else if (s->cores > 0) {
        problem(p, "%" PRIu32 " cores, but 2 tiers have none; leave them out or write 3 tiers",
                s->cores);
    }
    if ((unsigned)s->spreading > SAND_SPREAD_HASH)
        problem(p, "unknown spreading %d; the fabric knows even, static, adaptive and hash",
                (int)s->spreading);
    check_rate(p, s->link, "switch");
}

// ---- endpoints, leaves, pods ----

// Leaves, or units of rails, that the irregular groups make; each must be within what a full one
// is wired for, and all nodes below one.
static uint64_t count_groups(struct planner *p, uint64_t most_nodes)
{
    const struct sand_fabric_spec *s = p->spec;
    uint64_t units = 0, nodes = 0;
    for (size_t i = 0; i < s->n_leaf_groups; i++) {
        const struct sand_leaf_group *group = &s->leaf_groups[i];
        units += group->n_leaves;
        nodes += (uint64_t)group->n_leaves * group->n_nodes;
        if (group->n_nodes == 0 || group->n_leaves == 0 || group->n_nodes > most_nodes)
            problem(p,
                    "leaf_group %zu: %" PRIu32 " leaves of %" PRIu32 " nodes; a leaf here is wired "
                    "for 1 to %" PRIu64,
                    i, group->n_leaves, group->n_nodes, most_nodes);
    }
    if (nodes != p->cluster->n_nodes)
        problem(p,
                "the leaf_groups have %" PRIu64 " nodes, the cluster %" PRIu32
                "; they must be equal",
                nodes, p->cluster->n_nodes);
    return units;
}

static void count_rail_places(struct planner *p)
{
    const struct sand_fabric_spec *s = p->spec;
    struct sand_fabric_plan *plan = p->plan;
    const uint32_t rails = p->cluster->node_type->n_nics;
    const uint64_t units = s->n_leaf_groups > 0
                               ? count_groups(p, s->nodes_per_unit)
                               : sand_ceil_div(p->cluster->n_nodes, s->nodes_per_unit);
    plan->endpoints_per_leaf = s->nodes_per_unit;
    plan->n_leaves = (uint32_t)units * rails; // at most as many as endpoints
    const uint64_t per_pod = (uint64_t)s->units_per_pod * rails;
    if (s->kind == SAND_FABRIC_RAIL_ONLY)
        plan->leaves_per_pod = (uint32_t)units;
    else if (s->n_tiers == 3 && per_pod < plan->n_leaves)
        plan->leaves_per_pod = (uint32_t)per_pod;
    else
        plan->leaves_per_pod = plan->n_leaves;
    plan->n_pods = (uint32_t)sand_ceil_div(plan->n_leaves, plan->leaves_per_pod);
    if (s->n_tiers == 1 && units > 1)
        problem(p,
                "rails of one tier have one leaf each, but %" PRIu32 " nodes are more than its "
                "%" PRIu32 "; use 2 tiers or a larger leaf",
                p->cluster->n_nodes, s->nodes_per_unit);
}

static void count_places(struct planner *p)
{
    const struct sand_fabric_spec *s = p->spec;
    struct sand_fabric_plan *plan = p->plan;
    uint64_t endpoints = (uint64_t)p->cluster->n_nodes * p->cluster->node_type->n_nics;
    if (endpoints > UINT32_MAX) {
        problem(p, "%" PRIu64 " NICs are more than can be numbered (%" PRIu32 ")", endpoints,
                UINT32_MAX);
        return;
    }
    plan->n_endpoints = (uint32_t)endpoints;
    plan->n_planes = s->planes > 0 ? s->planes : 1;
    if (s->kind != SAND_FABRIC_FAT_TREE) {
        count_rail_places(p);
        return;
    }
    plan->endpoints_per_leaf = s->endpoints_per_leaf;
    plan->n_leaves =
        s->n_leaf_groups > 0
            ? (uint32_t)count_groups(p, s->endpoints_per_leaf / p->cluster->node_type->n_nics)
            : (uint32_t)sand_ceil_div(endpoints, s->endpoints_per_leaf);
    if (plan->n_leaves == 0)
        return;
    plan->leaves_per_pod = s->n_tiers == 3 ? s->leaves_per_pod : plan->n_leaves;
    plan->n_pods = (uint32_t)sand_ceil_div(plan->n_leaves, plan->leaves_per_pod);
}

// Whole ports for `Bps`; 0 if no switch has so many. The slack forgives the rounding of ratios such
// as 0.1429 written for 1/7, not a missing thousandth of a port.
static uint32_t ports_for(struct planner *p, double Bps, const char *what)
{
    double ports = ceil(Bps / p->spec->link->rate_Bps * (1 - 1e-9));
    if (!(ports <= MAX_COUNT)) {
        problem(p,
                "%s needs %.3g ports of %g B/s, which no switch has; check rates and "
                "oversubscription",
                what, ports, p->spec->link->rate_Bps);
        return 0;
    }
    return ports < 1 ? 1 : (uint32_t)ports;
}

// Of the leaves below a port count, those that a node group of rails or planes has.
static uint64_t storage_per_leaf(const struct planner *p)
{
    const uint32_t rails =
        p->spec->kind == SAND_FABRIC_FAT_TREE ? 1 : p->cluster->node_type->n_nics;
    return fabric_storage_per_leaf(p->cluster, p->plan->n_leaves / rails,
                                   (uint64_t)rails * p->plan->n_planes);
}

static void check_leaf(struct planner *p)
{
    const struct sand_fabric_plan *plan = p->plan;
    const uint32_t radix = p->spec->radix;
    const uint64_t storage = storage_per_leaf(p);
    const uint64_t down =
        fabric_ports_below(p->cluster, plan->endpoints_per_leaf, plan->n_planes, plan->nic_ports);
    if (radix == 0 || down + storage + plan->leaf_up_ports <= radix)
        return;
    if (down + plan->leaf_up_ports <= radix)
        problem(p,
                "a leaf needs %" PRIu64 " ports down, %" PRIu32 " up and %" PRIu64
                " for storage, but the radix is %" PRIu32 "; spread the storage_ports over more "
                "leaves, write at=\"spines\", or serve fewer endpoints per leaf",
                down, plan->leaf_up_ports, storage, radix);
    else
        problem(p,
                "a leaf needs %" PRIu64 " ports down and %" PRIu32 " up, but the radix is %" PRIu32
                "; serve fewer endpoints per leaf, raise the leaf oversubscription, or write a "
                "breakout if NIC ports share switch ports",
                down, plan->leaf_up_ports, radix);
}

static void size_leaf(struct planner *p)
{
    const struct sand_fabric_spec *s = p->spec;
    struct sand_fabric_plan *plan = p->plan;
    const double nic_Bps = p->cluster->node_type->nic->rate_Bps / plan->n_planes;
    double leaf_Bps = nic_Bps * plan->endpoints_per_leaf;
    plan->nic_ports = ports_for(p, nic_Bps, "a NIC");
    if (s->n_tiers > 1) {
        plan->leaf_up_Bps = leaf_Bps / s->leaf_oversubscription;
        plan->leaf_up_ports = ports_for(p, plan->leaf_up_Bps, "a leaf's uplink");
    }
    if (s->n_tiers == 3) {
        plan->pod_up_Bps = leaf_Bps * plan->leaves_per_pod / s->pod_oversubscription;
        if (s->pod_oversubscription < s->leaf_oversubscription)
            warning(p,
                    "pod oversubscription is below the leaf's: the pod's uplinks carry more than "
                    "its leaves can send (oversubscription is cumulative, NICs below / uplinks)");
    }
    if (fabric_check_breakout(p->cluster, plan->n_planes, p->diag) != SAND_OK)
        p->n_problems++;
    else
        check_leaf(p);
}

// ---- spines ----

// Ports one of `spines` spines needs to serve a pod's leaves and its share of the pod's uplinks.
static uint64_t spine_ports(const struct planner *p, uint32_t spines)
{
    const struct sand_fabric_plan *plan = p->plan;
    uint64_t down = sand_ceil_div((uint64_t)plan->leaves_per_pod * plan->leaf_up_ports, spines);
    double up = ceil(plan->pod_up_Bps / p->spec->link->rate_Bps / spines * (1 - 1e-9));
    const uint64_t storage =
        p->spec->n_tiers == 2
            ? fabric_storage_per_top(p->cluster, (uint64_t)spines * plan->n_pods * plan->n_planes)
            : 0;
    return down + (uint64_t)up + storage;
}

static const char *pod_or_tree(const struct planner *p)
{
    return p->spec->n_tiers == 3 ? "pod" : "tree";
}

static void check_spines(struct planner *p, uint32_t spines)
{
    const struct sand_fabric_plan *plan = p->plan;
    uint32_t radix = p->spec->radix;
    if (spines > plan->leaf_up_ports)
        problem(p,
                "a leaf has %" PRIu32 " uplinks and cannot reach all %" PRIu32 " spines of its %s"
                "; give at most %" PRIu32 " spines",
                plan->leaf_up_ports, spines, pod_or_tree(p), plan->leaf_up_ports);
    if (radix > 0 && spine_ports(p, spines) > radix)
        problem(p,
                "%" PRIu32 " spines for a %s of %" PRIu32 " leaves need %" PRIu64
                " ports each, but the radix is %" PRIu32 "; give more spines or fewer leaves",
                spines, pod_or_tree(p), plan->leaves_per_pod, spine_ports(p, spines), radix);
}

// The fewest spines whose ports suffice, or an evenly dividing number under twice that.
static uint32_t choose_spines(struct planner *p)
{
    const struct sand_fabric_plan *plan = p->plan;
    uint32_t most = plan->leaf_up_ports, radix = p->spec->radix;
    if (radix == 0)
        return 1;
    uint32_t need = 1;
    while (need <= most && spine_ports(p, need) > radix)
        need++;
    if (need > most) {
        problem(p,
                "no number of spines joins a %s of %" PRIu32 " leaves: even one port per leaf "
                "takes %" PRIu64 " ports of a spine, and the radix is %" PRIu32 "; %s",
                pod_or_tree(p), plan->leaves_per_pod, spine_ports(p, most), radix,
                p->spec->n_tiers == 3 ? "make pods smaller or raise the pod oversubscription"
                                      : "use 3 tiers, more endpoints per leaf or a larger radix");
        return 0;
    }
    for (uint32_t n = need; n < 2 * need && n <= most; n++)
        if (plan->leaf_up_ports % n == 0)
            return n;
    return need;
}

static void size_spines(struct planner *p)
{
    struct sand_fabric_plan *plan = p->plan;
    plan->spines_per_pod = p->spec->spines;
    if (p->spec->spines > 0)
        check_spines(p, p->spec->spines);
    else
        plan->spines_per_pod = choose_spines(p);
    if ((uint64_t)plan->n_pods * plan->spines_per_pod > MAX_COUNT)
        problem(p,
                "%" PRIu32 " spines in each of %" PRIu32 " pods are more than %d switches; check "
                "rates and oversubscription",
                plan->spines_per_pod, plan->n_pods, MAX_COUNT);
    if (p->spec->n_tiers == 3 && plan->spines_per_pod > 0)
        plan->spine_up_ports =
            ports_for(p, plan->pod_up_Bps / plan->spines_per_pod, "a spine's uplink");
}

// ---- cores ----

static uint32_t cores_per_spine(const struct sand_fabric_plan *plan, uint32_t cores)
{
    if (cores % plan->spines_per_pod == 0)
        return cores / plan->spines_per_pod;
    return plan->spines_per_pod % cores == 0 ? 1 : cores;
}

static uint64_t core_ports(const struct planner *p, uint64_t cores)
{
    const struct sand_fabric_plan *plan = p->plan;
    return sand_ceil_div((uint64_t)plan->n_pods * plan->spines_per_pod * plan->spine_up_ports,
                         cores) +
           fabric_storage_per_top(p->cluster, cores * plan->n_planes);
}

static void check_cores(struct planner *p, uint32_t cores)
{
    const struct sand_fabric_plan *plan = p->plan;
    uint32_t joined = cores_per_spine(plan, cores), radix = p->spec->radix;
    if (joined > plan->spine_up_ports)
        problem(p,
                "a spine has %" PRIu32 " uplinks and cannot reach its %" PRIu32 " of %" PRIu32
                " cores; give a multiple or a divisor of the %" PRIu32 " spines of a pod, at most "
                "%" PRIu64,
                plan->spine_up_ports, joined, cores, plan->spines_per_pod,
                (uint64_t)plan->spines_per_pod * plan->spine_up_ports);
    if (radix > 0 && core_ports(p, cores) > radix)
        problem(p,
                "%" PRIu32 " cores need %" PRIu64 " ports each to join %" PRIu32 " pods, but the "
                "radix is %" PRIu32 "; give more cores or raise the pod oversubscription",
                cores, core_ports(p, cores), plan->n_pods, radix);
}

static uint32_t choose_cores(struct planner *p)
{
    const struct sand_fabric_plan *plan = p->plan;
    uint32_t radix = p->spec->radix;
    if (radix == 0)
        return 1;
    if (plan->n_pods > radix) {
        problem(p,
                "%" PRIu32 " pods, but a core of radix %" PRIu32 " reaches at most %" PRIu32
                "; make pods larger",
                plan->n_pods, radix, radix);
        return 0;
    }
    const uint64_t ports = (uint64_t)plan->n_pods * plan->spines_per_pod * plan->spine_up_ports +
                           fabric_storage_per_top(p->cluster, plan->n_planes);
    if (sand_ceil_div(ports, radix) > MAX_COUNT) {
        problem(p,
                "%" PRIu64 " cores would be needed, more than %d switches; check rates and "
                "oversubscription",
                sand_ceil_div(ports, radix), MAX_COUNT);
        return 0;
    }
    uint32_t need = (uint32_t)sand_ceil_div(ports, radix);
    // need <= most because pods <= radix; `most` is a multiple of the spines and always fits.
    uint64_t most = (uint64_t)plan->spines_per_pod * plan->spine_up_ports;
    for (uint32_t n = need; n < 2 * need && n <= most; n++)
        if (plan->spine_up_ports % cores_per_spine(plan, n) == 0)
            return n;
    for (uint32_t n = need; n < most; n++)
        if (cores_per_spine(plan, n) <= plan->spine_up_ports)
            return n;
    return (uint32_t)most;
}

static void size_cores(struct planner *p)
{
    struct sand_fabric_plan *plan = p->plan;
    plan->n_cores = p->spec->cores;
    if (p->spec->cores > 0)
        check_cores(p, p->spec->cores);
    else
        plan->n_cores = choose_cores(p);
    if (plan->n_cores > 0)
        plan->cores_per_spine = cores_per_spine(plan, plan->n_cores);
}

enum sand_rc sand_fabric_plan_make(const struct sand_cluster *cluster,
                                   struct sand_fabric_plan *plan, struct sand_diag *diag)
{
    *plan = (struct sand_fabric_plan){0};
    struct planner p = {.cluster = cluster, .spec = &cluster->fabric, .plan = plan, .diag = diag};
    check_nodes(&p);
    check_tree(&p);
    if (p.n_problems == 0)
        count_places(&p);
    if (p.n_problems == 0)
        size_leaf(&p);
    // A wrong leaf does not hide a wrong spine; cores follow only from right spines.
    if (plan->nic_ports > 0 && plan->leaf_up_ports > 0) {
        unsigned before = p.n_problems;
        size_spines(&p);
        if (plan->spine_up_ports > 0 && p.n_problems == before)
            size_cores(&p);
    }
    return p.n_problems == 0 ? SAND_OK : SAND_ERR_INPUT;
}
