// Derived values and checks of the fabric elements.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cluster.h"
#include "specbind.h"
#include "speccheck.h"

static struct sand_xml_place place_of(const xmlNode *node)
{
    return node ? sand_xml_place(node) : (struct sand_xml_place){0};
}

// A copy of the link with another rate, under an id of its own so that the canonical text can
// define it. Its provenance stays that of the original.
static const struct sand_link_type *link_at_rate(struct spec_binding *binding,
                                                 const struct sand_link_type *link, double rate_Bps)
{
    char text[40];
    sand_quantity_canonical(rate_Bps, SAND_DIM_NUMBER, text, sizeof text);
    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = '_';
    const char *id = sand_arena_printf(binding->arena, "%.36s-at-%sBps", link->id, text);
    struct spec_entry *entry = id ? spec_entry_add(binding, SPEC_LINK, id) : NULL;
    if (!entry)
        return spec_no_memory(binding);
    struct sand_link_type *copy = entry->model;
    *copy = *link;
    copy->id = entry->id;
    copy->rate_Bps = rate_Bps;
    entry->bound = 1;
    return copy;
}

static void check_tiers(struct spec_binding *binding, const xmlNode *node,
                        const struct sand_fabric_spec *fabric)
{
    if (fabric->n_tiers == 3 && fabric->leaves_per_pod == 0)
        spec_error(binding, place_of(node),
                   "fat_tree of 3 tiers lacks the attribute \"leaves_per_pod\"; write "
                   "leaves_per_pod=\"192\"");
    if (fabric->n_tiers == 2 && (fabric->leaves_per_pod > 0 || fabric->cores > 0))
        spec_error(binding, place_of(node),
                   "fat_tree of 2 tiers has \"%s\", which only 3 tiers have; write tiers=\"3\" or "
                   "drop it",
                   fabric->cores > 0 ? "cores" : "leaves_per_pod");
}

// The link of the switches at the rate that `link_rate` gives (0: its own).
static void set_link_rate(struct spec_binding *binding, const xmlNode *node,
                          struct sand_fabric_spec *fabric, double rate_Bps)
{
    if (!(rate_Bps > 0) || !fabric->link || rate_Bps == fabric->link->rate_Bps)
        return;
    if (rate_Bps > fabric->link->rate_Bps) {
        char given[40], listed[40];
        sand_quantity_format(rate_Bps, SAND_DIM_BANDWIDTH, 4, given, sizeof given);
        sand_quantity_format(fabric->link->rate_Bps, SAND_DIM_BANDWIDTH, 4, listed, sizeof listed);
        spec_warning(binding, place_of(node),
                     "%s attribute \"link_rate\" is %s, faster than the %s of link \"%s\"",
                     (const char *)node->name, given, listed, fabric->link->id);
    }
    fabric->link = link_at_rate(binding, fabric->link, rate_Bps);
}

// What a way of spreading or a loss needs, and nothing that another one has.
static void check_inputs(struct spec_binding *binding, const xmlNode *node,
                         const struct sand_fabric_spec *fabric)
{
    const char *name = (const char *)node->name;
    const int adaptive = fabric->spreading == SAND_SPREAD_ADAPTIVE;
    const int hash = fabric->spreading == SAND_SPREAD_HASH;
    if (adaptive && !(fabric->adaptive_efficiency > 0))
        spec_error(binding, place_of(node),
                   "%s with spreading=\"adaptive\" lacks \"adaptive_efficiency\", which has no "
                   "default; write adaptive_efficiency=\"0.9\" if that is what you assume",
                   name);
    if (!adaptive && fabric->adaptive_efficiency > 0)
        spec_error(binding, place_of(node),
                   "%s has \"adaptive_efficiency\", which only spreading=\"adaptive\" has", name);
    if (hash && fabric->queue_pairs == 0)
        spec_error(binding, place_of(node),
                   "%s with spreading=\"hash\" lacks \"queue_pairs\", which has no default; "
                   "write queue_pairs=\"4\"",
                   name);
    if (!hash && fabric->queue_pairs > 0)
        spec_error(binding, place_of(node),
                   "%s has \"queue_pairs\", which only spreading=\"hash\" has", name);
    if (fabric->sharp && fabric->link && !fabric->link->sharp)
        spec_error(binding, place_of(node),
                   "%s has sharp=\"yes\", but the switches of link \"%s\" cannot reduce; choose a "
                   "link with sharp=\"yes\" or drop it",
                   name, fabric->link->id);
    if (fabric->loss > 0 && !(fabric->loss_window > 0))
        spec_error(binding, place_of(node),
                   "%s with a \"loss\" lacks \"loss_window\": rate x round trip / packet size; "
                   "400 Gb/s, 10 us and 4 KiB make loss_window=\"122\"",
                   name);
}

SPEC_FINISH(fat_tree)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_FAT_TREE;
    check_tiers(binding, node, fabric);
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

SPEC_FINISH(rail_optimised)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_RAIL_OPTIMISED;
    if (fabric->n_tiers == 3 && fabric->units_per_pod == 0)
        spec_error(binding, place_of(node),
                   "rail_optimised of 3 tiers lacks \"units_per_pod\"; write units_per_pod=\"4\"");
    if (fabric->n_tiers == 2 && (fabric->units_per_pod > 0 || fabric->cores > 0))
        spec_error(binding, place_of(node),
                   "rail_optimised of 2 tiers has \"%s\", which only 3 tiers have; write "
                   "tiers=\"3\" or drop it",
                   fabric->cores > 0 ? "cores" : "units_per_pod");
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

SPEC_FINISH(rail_only)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_RAIL_ONLY;
    fabric->cross_rail = SAND_CROSS_RAIL_SCALEUP;
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

// What is derived stays in the range of what may be written.
static uint32_t derived(uint64_t value)
{
    const double most = spec_field_find(&spec_dragonfly, "groups")->range.max;
    return value > most ? (uint32_t)most : (uint32_t)value;
}

// The balanced dragonfly, a = 2 p = 2 h and a h + 1 groups (Kim et al. 2008), where not stated.
SPEC_FINISH(dragonfly)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_DRAGONFLY;
    const uint32_t h = fabric->global_links;
    if (fabric->routers == 0)
        fabric->routers = derived((uint64_t)2 * h);
    if (fabric->endpoints_per_router == 0)
        fabric->endpoints_per_router = h;
    if (fabric->groups == 0)
        fabric->groups = derived((uint64_t)fabric->routers * h + 1);
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

// The balanced dragonfly+: as many leaves, spines, node ports and global links (Shpiner et al.
// 2017).
SPEC_FINISH(dragonfly_plus)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_DRAGONFLY_PLUS;
    const uint32_t h = fabric->global_links;
    fabric->spines = fabric->spines ? fabric->spines : h;
    fabric->leaves_per_pod = fabric->leaves_per_pod ? fabric->leaves_per_pod : h;
    fabric->endpoints_per_leaf = fabric->endpoints_per_leaf ? fabric->endpoints_per_leaf : h;
    if (fabric->groups == 0)
        fabric->groups = derived((uint64_t)fabric->spines * h + 1);
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

SPEC_FINISH(torus)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_TORUS;
    fabric->spreading = SAND_SPREAD_STATIC;
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}

SPEC_FINISH(wired)
{
    struct sand_fabric_spec *fabric = model;
    fabric->kind = SAND_FABRIC_WIRED;
    check_inputs(binding, node, fabric);
    set_link_rate(binding, node, fabric, extra[0]);
}
