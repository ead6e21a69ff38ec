// What exports contain, for every kind of fabric, and what they refuse. How other tools take them
// is tested in tests/export. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "mem.h"

struct site {
    struct sand_link_type nic, port;
    struct sand_node_type node;
    struct sand_cluster cluster;
};

static void site_set(struct site *s, uint32_t nodes)
{
    s->nic = (struct sand_link_type){.id = "nic", .rate_Bps = 50e9};
    s->port = (struct sand_link_type){.id = "port", .rate_Bps = 50e9};
    s->node = (struct sand_node_type){.id = "server", .n_gpus = 2, .n_nics = 2, .nic = &s->nic};
    s->cluster = (struct sand_cluster){.name = "a<\"b\"--&c",
                                       .node_type = &s->node,
                                       .n_nodes = nodes,
                                       .fabric = {.n_tiers = 2,
                                                  .endpoints_per_leaf = 4,
                                                  .leaf_oversubscription = 1,
                                                  .spines = 2,
                                                  .link = &s->port}};
}

// The text, to be freed; NULL if refused with `rc`.
static char *exported(const struct site *s, enum sand_export_format format, enum sand_rc *rc)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    *rc = sand_export_fabric(format, &s->cluster, 10e-6, out, NULL);
    fclose(out);
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

Test(exports, counts_of_a_tree)
{
    struct site s;
    enum sand_rc rc;
    site_set(&s, 8); // 16 NICs, 4 leaves, 2 spines
    char *graph = exported(&s, SAND_EXPORT_GRAPHML, &rc);
    cr_expect(rc == SAND_OK && count(graph, "<node id=") == 6 + 8);
    cr_expect(count(graph, "<edge ") == 8 + 8, "bundles, and a node with both NICs at its leaf");
    cr_expect(strstr(graph, "<graph id=\"a&lt;&quot;b&quot;--&amp;c\"") != NULL);
    char *dot = exported(&s, SAND_EXPORT_DOT, &rc);
    cr_expect(rc == SAND_OK && count(dot, "[label=") == 6);
    cr_expect(count(dot, " -- b") - count(dot, "[style=invis]") == 8,
              "bundles, without those that order");
    cr_expect(strstr(dot, "a<\\\"b\\\"--&c: 8 nodes") != NULL);
    char *platform = exported(&s, SAND_EXPORT_SIMGRID, &rc);
    cr_expect(rc == SAND_OK && count(platform, "<cluster ") == 4);
    cr_expect(strstr(platform, "lat=\"5e-06s\"") != NULL, "half of 10 us");
    cr_expect(strstr(platform, "--&c") == NULL, "the name cannot end the comment");
    free(graph);
    free(dot);
    free(platform);
}

// Every kind is written in every format; routes are written for each ordered pair.
Test(exports, every_kind)
{
    for (int kind = SAND_FABRIC_FAT_TREE; kind <= SAND_FABRIC_TORUS; kind++) {
        struct site s;
        site_set(&s, 16);
        struct sand_fabric_spec *f = &s.cluster.fabric;
        f->kind = (enum sand_fabric_kind)kind;
        f->nodes_per_unit = 4;
        f->groups = 4;
        f->routers = 4;
        f->endpoints_per_router = 2;
        f->global_links = 1;
        f->leaf_links = 1;
        if (kind == SAND_FABRIC_DRAGONFLY_PLUS) { // 4 groups of 2 leaves with 4 NICs
            f->leaves_per_pod = f->spines = 3;
            f->endpoints_per_leaf = 4;
        }
        f->size[0] = 8;
        f->size[1] = 4;
        f->size[2] = 1;
        f->cross_rail = SAND_CROSS_RAIL_SPINE;
        f->spreading = SAND_SPREAD_STATIC;
        for (int format = SAND_EXPORT_DOT; format <= SAND_EXPORT_SIMGRID; format++) {
            enum sand_rc rc;
            char *text = exported(&s, (enum sand_export_format)format, &rc);
            cr_expect_eq(rc, SAND_OK, "kind %d, format %d", kind, format);
            if (format == SAND_EXPORT_SIMGRID && kind != SAND_FABRIC_RAIL_ONLY)
                cr_expect_eq(count(text, "<route "), 32 * 31, "kind %d", kind);
            free(text);
        }
    }
}

// A picture of 65,536 NICs is no larger than people can read.
Test(exports, pictures_stay_small)
{
    struct site s;
    enum sand_rc rc;
    site_set(&s, 32768);
    s.cluster.fabric.n_tiers = 3;
    s.cluster.fabric.radix = 64;
    s.cluster.fabric.endpoints_per_leaf = s.cluster.fabric.leaves_per_pod = 32;
    s.cluster.fabric.pod_oversubscription = 1;
    s.cluster.fabric.spines = 0;
    char *dot = exported(&s, SAND_EXPORT_DOT, &rc);
    cr_expect(rc == SAND_OK && count(dot, "[label=") <= 60, "%zu", count(dot, "[label="));
    cr_expect(strstr(dot, "61 more pods") != NULL && strstr(dot, "29 more leaves") != NULL);
    free(dot);
    s.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    free(exported(&s, SAND_EXPORT_SIMGRID, &rc));
    cr_expect_eq(rc, SAND_ERR_INPUT, "its routes are too many to write");
}

Test(exports, out_of_memory)
{
    struct site s;
    site_set(&s, 8);
    for (int format = SAND_EXPORT_DOT; format <= SAND_EXPORT_SIMGRID; format++)
        for (uint64_t n = 1;; n++) {
            enum sand_rc rc;
            sand_mem_fail_at(n);
            free(exported(&s, (enum sand_export_format)format, &rc));
            sand_mem_fail_at(0);
            if (rc == SAND_OK)
                break;
            cr_assert(rc == SAND_ERR_NOMEM && n < 50, "format %d, allocation %d", format, (int)n);
        }
}
