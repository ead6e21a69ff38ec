// SimGrid platform XML, version 4.1 of the format, for SimGrid 3.32 and later as shipped.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "exportsimgrid.h"
#include "exporttext.h"
#include "ids.h"
#include "units.h"
#include "xmltext.h"

const char *simgrid_number(double value, char buffer[64])
{
    return sand_quantity_canonical(value, SAND_DIM_NUMBER, buffer, 64);
}

// What the GPUs behind the NIC have.
double simgrid_host_speed(const struct sand_cluster *c)
{
    const struct sand_node_type *n = c->node_type;
    return n->gpu && n->gpu->peak_bf16_flops > 0 ? n->gpu->peak_bf16_flops * n->n_gpus / n->n_nics
                                                 : 1e9;
}

static void write_head(const struct sand_cluster *c, FILE *out)
{
    fputs("<?xml version=\"1.0\"?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<!-- ",
          out);
    sand_xml_comment(out, c->name);
    fprintf(
        out,
        ": %" PRIu32 " nodes of %" PRIu32 " NICs; host nic<i> is NIC i mod %" PRIu32
        " of node i / %" PRIu32 ".\n     Its speed is the dense bf16 peak of the GPUs behind it; "
        "half the latency of a message stands on each NIC link, 0 on all others.\n     SimGrid's "
        "defaults model TCP: run with network/crosstraffic:0 network/TCP-gamma:0 "
        "network/bandwidth-factor:1\n     network/latency-factor:1 network/weight-S:0. -->\n"
        "<platform version=\"4.1\">\n",
        c->n_nodes, c->node_type->n_nics, c->node_type->n_nics, c->node_type->n_nics);
}

// ---- fat trees with even spreading: nested zones over the aggregate links ----

static void write_link(const struct sand_fabric *f, const char *indent, const char *id,
                       uint32_t index, const char *way, uint32_t link, FILE *out)
{
    char rate[64];
    fprintf(out, "%s<link id=\"%s%" PRIu32 "_%s\" bandwidth=\"%sBps\" latency=\"0s\"/>\n", indent,
            id, index, way,
            simgrid_number(f->links[link].capacity_Bps * f->links[link].speed, rate));
}

struct way {
    const char *indent, *from, *to, *gw_from, *gw_to; // formats of one number, or none
    const char *link;
};

static void write_route(const struct way *w, uint32_t index, FILE *out)
{
    char from[64], to[64], gw_from[64], gw_to[64], link[64];
    // All five are literals of this file with at most one PRIu32.
    snprintf(from, sizeof from, "%s%" PRIu32, w->from, index);
    snprintf(to, sizeof to, "%s", w->to);
    snprintf(gw_from, sizeof gw_from, "%s%" PRIu32 "%s", w->from, index, w->gw_from);
    snprintf(gw_to, sizeof gw_to, "%s", w->gw_to);
    snprintf(link, sizeof link, "%s%" PRIu32, w->link, index);
    fprintf(out,
            "%s<zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"%s\" gw_dst=\"%s\" symmetrical=\"NO\">"
            "<link_ctn id=\"%s_up\"/></zoneRoute>\n",
            w->indent, from, to, gw_from, gw_to, link);
    fprintf(out,
            "%s<zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"%s\" gw_dst=\"%s\" symmetrical=\"NO\">"
            "<link_ctn id=\"%s_down\"/></zoneRoute>\n",
            w->indent, to, from, gw_to, gw_from, link);
}

static void write_leaf(const struct platform *p, uint32_t leaf)
{
    const struct sand_fabric *f = p->fabric;
    char speed[64], rate[64], latency[64];
    uint32_t first = leaf * f->endpoints_per_leaf, last = first + f->endpoints_per_leaf - 1;
    if (last >= f->n_endpoints)
        last = f->n_endpoints - 1;
    fprintf(p->out,
            "      <cluster id=\"leaf%" PRIu32 "\" prefix=\"nic\" suffix=\"\" radical=\"%" PRIu32
            "-%" PRIu32 "\" speed=\"%sf\" bw=\"%sBps\" lat=\"%ss\" "
            "sharing_policy=\"SPLITDUPLEX\" router_id=\"leaf%" PRIu32 "_router\"/>\n",
            leaf, first, last, simgrid_number(simgrid_host_speed(p->cluster), speed),
            simgrid_number(f->links[f->first[SAND_LINK_NIC_UP]].capacity_Bps, rate),
            simgrid_number(p->nic_latency_s, latency), leaf);
}

static void write_pod(const struct platform *p, uint32_t pod)
{
    const struct sand_fabric *f = p->fabric;
    FILE *out = p->out;
    char spines[64], router[64];
    uint32_t first = pod * f->leaves_per_pod, end = first + f->leaves_per_pod;
    if (end > f->n_leaves)
        end = f->n_leaves;
    snprintf(spines, sizeof spines, "pod%" PRIu32 "_spines", pod);
    snprintf(router, sizeof router, "pod%" PRIu32 "_router", pod);
    fprintf(out, "    <zone id=\"pod%" PRIu32 "\" routing=\"Floyd\">\n", pod);
    for (uint32_t leaf = first; leaf < end; leaf++)
        write_leaf(p, leaf);
    fprintf(out, "      <zone id=\"%s\" routing=\"Full\"><router id=\"%s\"/></zone>\n", spines,
            router);
    for (uint32_t leaf = first; leaf < end; leaf++) {
        write_link(f, "      ", "leaf", leaf, "up", f->first[SAND_LINK_LEAF_UP] + leaf, out);
        write_link(f, "      ", "leaf", leaf, "down", f->first[SAND_LINK_LEAF_DOWN] + leaf, out);
    }
    struct way way = {"      ", "leaf", spines, "_router", router, "leaf"};
    for (uint32_t leaf = first; leaf < end; leaf++)
        write_route(&way, leaf, out);
    fputs("    </zone>\n", out);
}

static void write_zones(const struct platform *p)
{
    const struct sand_fabric *f = p->fabric;
    FILE *out = p->out;
    fputs("  <zone id=\"fabric\" routing=\"Floyd\">\n", out);
    for (uint32_t pod = 0; pod < f->n_pods; pod++)
        write_pod(p, pod);
    if (f->n_tiers == 3) {
        fputs("    <zone id=\"cores\" routing=\"Full\"><router id=\"core\"/></zone>\n", out);
        for (uint32_t pod = 0; pod < f->n_pods; pod++) {
            write_link(f, "    ", "pod", pod, "up", f->first[SAND_LINK_SPINE_UP] + pod, out);
            write_link(f, "    ", "pod", pod, "down", f->first[SAND_LINK_SPINE_DOWN] + pod, out);
        }
        struct way way = {"    ", "pod", "cores", "_router", "core", "pod"};
        for (uint32_t pod = 0; pod < f->n_pods; pod++)
            write_route(&way, pod, out);
    }
    fputs("  </zone>\n", out);
}

// ---- everything else: route by route ----

void simgrid_write_id(const struct platform *p, uint32_t link)
{
    char name[64];
    sand_fabric_link_name(p->fabric, link, name, sizeof name);
    for (char *c = name; *c != '\0'; c++)
        fputc(*c == ' ' ? '_' : *c, p->out);
}

void simgrid_write_link(const struct platform *p, uint32_t link, double latency_s)
{
    const struct sand_fabric_link *l = &p->fabric->links[link];
    char rate[64], latency[64];
    fputs("    <link id=\"", p->out);
    simgrid_write_id(p, link);
    fprintf(p->out, "\" bandwidth=\"%sBps\" latency=\"%ss\"/>\n",
            simgrid_number(l->capacity_Bps * l->speed, rate), simgrid_number(latency_s, latency));
}

static void write_links(const struct platform *p)
{
    for (uint32_t i = 0; i < p->fabric->n_links; i++) {
        const uint8_t link_class = p->fabric->links[i].link_class;
        simgrid_write_link(p, i,
                           link_class == SAND_LINK_NIC_UP || link_class == SAND_LINK_NIC_DOWN
                               ? p->nic_latency_s
                               : 0);
    }
}

static void write_routes(const struct platform *p)
{
    const struct sand_fabric *f = p->fabric;
    FILE *out = p->out;
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t from = 0; from < f->n_endpoints; from++)
        for (uint32_t to = 0; to < f->n_endpoints; to++) {
            uint32_t n = sand_fabric_route(f, from, to, links);
            if (n == 0 || n == SAND_NONE)
                continue; // SimGrid says so when such a pair talks
            fprintf(out,
                    "    <route src=\"nic%" PRIu32 "\" dst=\"nic%" PRIu32 "\" symmetrical=\"NO\">",
                    from, to);
            for (uint32_t i = 0; i < n; i++) {
                fputs("<link_ctn id=\"", out);
                simgrid_write_id(p, links[i]);
                fputs("\"/>", out);
            }
            fputs("</route>\n", out);
        }
}

static void write_full(const struct platform *p)
{
    char speed[64];
    fputs("  <zone id=\"fabric\" routing=\"Full\">\n", p->out);
    for (uint32_t i = 0; i < p->fabric->n_endpoints; i++)
        fprintf(p->out, "    <host id=\"nic%" PRIu32 "\" speed=\"%sf\"/>\n", i,
                simgrid_number(simgrid_host_speed(p->cluster), speed));
    write_links(p);
    write_routes(p);
    fputs("  </zone>\n", p->out);
}

static int has_zones(const struct sand_cluster *c, const struct sand_fabric *f)
{
    return f->kind == SAND_FABRIC_FAT_TREE && sand_fabric_is_aggregate(f) && f->link_planes == 1 &&
           f->unit_of_node == NULL && c->n_groups == 0 && c->n_impaired == 0;
}

enum sand_rc export_simgrid(const struct sand_cluster *cluster, double message_s, FILE *out,
                            struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    SAND_TRY(sand_fabric_build(cluster, &fabric, diag));
    const struct platform platform = {cluster, fabric, message_s / 2, out};
    const int is_tree = has_zones(cluster, fabric), has_leaves = simgrid_has_leaves(&platform);
    enum sand_rc rc = SAND_OK;
    if (!is_tree && !has_leaves && fabric->n_endpoints > SAND_EXPORT_MAX_ROUTED) {
        rc = sand_fail(
            diag, SAND_ERR_INPUT,
            "cluster \"%s\": of this fabric every route would be written, and %" PRIu32
            " NICs are more than %d; zones need even or adaptive spreading, no relay "
            "from rail to rail, nothing impaired and at most %d leaves: export a smaller "
            "one, or with spreading=even",
            cluster->name, fabric->n_endpoints, SAND_EXPORT_MAX_ROUTED, SAND_EXPORT_MAX_LEAVES);
    } else {
        write_head(cluster, out);
        if (is_tree)
            write_zones(&platform);
        else if (!has_leaves)
            write_full(&platform);
        else if ((rc = simgrid_write_leaves(&platform)) != SAND_OK)
            rc = sand_fail(diag, rc, "no memory for the leaves of the fabric");
        fputs("</platform>\n", out);
    }
    sand_fabric_free(fabric);
    return rc;
}
