// SimGrid zones of leaves, for fabrics that spread evenly and are no regular trees.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "export.h"
#include "exportsimgrid.h"
#include "ids.h"
#include "mem.h"

// The vertex that a NIC hangs from.
static uint32_t leaf_of(const struct sand_fabric *f, uint32_t nic)
{
    uint32_t ends[2];
    sand_fabric_ends(f, f->first[SAND_LINK_NIC_UP] + nic, ends);
    return ends[1] - f->n_endpoints;
}

// Some NIC of each leaf, SAND_NONE: none; all of them have its rate.
static enum sand_rc find_leaves(const struct sand_fabric *f, uint32_t *nic_of)
{
    for (uint32_t s = 0; s < f->n_switches; s++)
        nic_of[s] = SAND_NONE;
    for (uint32_t nic = 0; nic < f->n_endpoints; nic++) {
        const uint32_t leaf = leaf_of(f, nic);
        const struct sand_fabric_link *up = &f->links[f->first[SAND_LINK_NIC_UP] + nic];
        if (nic_of[leaf] == SAND_NONE)
            nic_of[leaf] = nic;
        else if (up->capacity_Bps !=
                 f->links[f->first[SAND_LINK_NIC_UP] + nic_of[leaf]].capacity_Bps)
            return SAND_ERR_INPUT;
    }
    return SAND_OK;
}

static uint32_t count_leaves(const struct sand_fabric *f, const uint32_t *nic_of)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < f->n_switches; s++)
        n += nic_of[s] != SAND_NONE;
    return n;
}

int simgrid_has_leaves(const struct platform *p)
{
    const struct sand_fabric *f = p->fabric;
    const int relays = f->n_rails > 1 && f->cross_rail == SAND_CROSS_RAIL_SCALEUP;
    if (!sand_fabric_is_aggregate(f) || f->link_planes != 1 || p->cluster->n_impaired > 0 || relays)
        return 0;
    uint32_t *nic_of = sand_calloc(f->n_switches, sizeof *nic_of);
    const int has = nic_of != NULL && find_leaves(f, nic_of) == SAND_OK &&
                    count_leaves(f, nic_of) <= SAND_EXPORT_MAX_LEAVES;
    sand_free(nic_of);
    return has;
}

// Runs of NICs: "0-7,64-71".
static void write_leaf(const struct platform *p, uint32_t leaf, uint32_t first)
{
    const struct sand_fabric *f = p->fabric;
    const char *comma = "";
    char text[64];
    fprintf(p->out, "    <cluster id=\"switch%" PRIu32 "\" prefix=\"nic\" suffix=\"\" radical=\"",
            leaf);
    for (uint32_t nic = first, end; nic < f->n_endpoints; nic = end) {
        for (end = nic + 1; leaf_of(f, nic) == leaf && end < f->n_endpoints;)
            if (leaf_of(f, end) == leaf)
                end++;
            else
                break;
        if (leaf_of(f, nic) != leaf)
            continue;
        fprintf(p->out, "%s%" PRIu32 "-%" PRIu32, comma, nic, end - 1);
        comma = ",";
    }
    fprintf(p->out, "\" speed=\"%sf\"", simgrid_number(simgrid_host_speed(p->cluster), text));
    fprintf(p->out, " bw=\"%sBps\"",
            simgrid_number(f->links[f->first[SAND_LINK_NIC_UP] + first].capacity_Bps, text));
    fprintf(p->out,
            " lat=\"%ss\" sharing_policy=\"SPLITDUPLEX\" router_id=\"switch%" PRIu32
            "_router\"/>\n",
            simgrid_number(p->nic_latency_s, text), leaf);
}

// The way between two leaves: what is between the NIC links of the way between any two NICs.
static void write_way(const struct platform *p, uint32_t a, uint32_t b, const uint32_t *nic_of)
{
    uint32_t links[SAND_ROUTE_MAX];
    const uint32_t n = sand_fabric_route(p->fabric, nic_of[a], nic_of[b], links);
    if (n == SAND_NONE)
        return; // SimGrid says so when such a pair talks
    fprintf(p->out,
            "    <zoneRoute src=\"switch%" PRIu32 "\" dst=\"switch%" PRIu32
            "\" gw_src=\"switch%" PRIu32 "_router\" gw_dst=\"switch%" PRIu32
            "_router\" symmetrical=\"NO\">",
            a, b, a, b);
    for (uint32_t i = 1; i + 1 < n; i++) {
        fputs("<link_ctn id=\"", p->out);
        simgrid_write_id(p, links[i]);
        fputs("\"/>", p->out);
    }
    fputs("</zoneRoute>\n", p->out);
}

enum sand_rc simgrid_write_leaves(const struct platform *p)
{
    const struct sand_fabric *f = p->fabric;
    uint32_t *nic_of = sand_calloc(f->n_switches, sizeof *nic_of);
    if (nic_of == NULL)
        return SAND_ERR_NOMEM;
    find_leaves(f, nic_of);
    fputs("  <zone id=\"fabric\" routing=\"Full\">\n", p->out);
    for (uint32_t s = 0; s < f->n_switches; s++)
        if (nic_of[s] != SAND_NONE)
            write_leaf(p, s, nic_of[s]);
    for (uint32_t i = 0; i < f->n_links; i++)
        if (f->links[i].link_class > SAND_LINK_NIC_DOWN)
            simgrid_write_link(p, i, 0);
    for (uint32_t a = 0; a < f->n_switches; a++)
        for (uint32_t b = 0; b < f->n_switches; b++)
            if (a != b && nic_of[a] != SAND_NONE && nic_of[b] != SAND_NONE)
                write_way(p, a, b, nic_of);
    fputs("  </zone>\n", p->out);
    sand_free(nic_of);
    return SAND_OK;
}
