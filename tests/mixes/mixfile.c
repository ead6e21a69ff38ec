// A strict reader of mix files on the tree of sim/xml, by the field tables in mix.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "mixfile.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"
#include "units.h"
#include "xmltree.h"

static struct sand_arena *memory;

static int is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

// The attribute's text, or `preset`; NULL as preset: required.
static const char *text_of(xmlNode *node, const char *name, const char *preset)
{
    const char *value = sand_xml_attribute(node, name);
    cr_assert(value || preset, "line %ld: no %s", sand_xml_place(node).line, name);
    return sand_arena_strdup(memory, value ? value : preset);
}

static double quantity(xmlNode *node, const char *name, enum sand_dim dim, const char *preset)
{
    char why[200];
    double value = 0.0;
    const char *text = text_of(node, name, preset);
    cr_assert_eq(sand_quantity_parse(text, dim, &value, why, sizeof why), SAND_OK,
                 "line %ld: %s=\"%s\" %s", sand_xml_place(node).line, name, text, why);
    return value;
}

static uint32_t whole(xmlNode *node, const char *name, const char *preset)
{
    return (uint32_t)quantity(node, name, SAND_DIM_COUNT, preset);
}

static size_t word(xmlNode *node, const char *name, const char *const *words)
{
    const char *text = text_of(node, name, NULL);
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    cr_assert(0, "line %ld: %s=\"%s\"", sand_xml_place(node).line, name, text);
    return 0;
}

static void only(xmlNode *node, const char *const *names)
{
    for (xmlAttr *attr = node->properties; attr; attr = attr->next) {
        int known = 0;
        for (size_t i = 0; names[i]; i++)
            known |= strcmp(names[i], (const char *)attr->name) == 0;
        cr_assert(known, "line %ld: unknown attribute %s", sand_xml_place(node).line, attr->name);
    }
}

static size_t count(const xmlNode *parent, const char *name)
{
    size_t n = 0;
    for (const xmlNode *node = parent->children; node; node = node->next)
        n += is(node, name) != 0;
    return n;
}

// ---- elements
// ------------------------------------------------------------------------------------

static const struct sand_mix_weight *read_weights(xmlNode *mix, const char *name, size_t *n)
{
    static const char *const days[] = {"monday", "tuesday",  "wednesday", "thursday",
                                       "friday", "saturday", "sunday",    NULL};
    *n = count(mix, name);
    struct sand_mix_weight *weights = sand_arena_alloc(memory, *n, sizeof *weights),
                           *next = weights;
    for (xmlNode *node = mix->children; node; node = node->next)
        if (is(node, name)) {
            only(node, (const char *const[]){"of", "weight", NULL});
            next->at = strcmp(name, "hour") == 0 ? whole(node, "of", NULL)
                                                 : (uint32_t)word(node, "of", days);
            next++->weight = quantity(node, "weight", SAND_DIM_NUMBER, NULL);
        }
    return weights;
}

static struct sand_law read_law(xmlNode *node)
{
    static const char *const kinds[] = {"constant", "exponential", "weibull", "lognormal", NULL};
    return (struct sand_law){(enum sand_law_kind)word(node, "run_law", kinds),
                             quantity(node, "run", SAND_DIM_TIME, NULL),
                             quantity(node, "run_shape", SAND_DIM_NUMBER, "0"),
                             quantity(node, "run_max", SAND_DIM_TIME, "0s")};
}

static void read_ends(xmlNode *parent, struct sand_mix_class *c)
{
    static const char *const outcomes[] = {"complete", "cancel", "fail", NULL};
    c->n_ends = count(parent, "end");
    struct sand_mix_end *next = sand_arena_alloc(memory, c->n_ends, sizeof *next);
    c->ends = next;
    for (xmlNode *node = parent->children; node; node = node->next)
        if (is(node, "end")) {
            only(node, (const char *const[]){"as", "share", "run", "run_law", "run_shape",
                                             "run_max", NULL});
            *next++ = (struct sand_mix_end){(enum sand_mix_outcome)word(node, "as", outcomes),
                                            quantity(node, "share", SAND_DIM_FRACTION, NULL),
                                            read_law(node)};
        }
}

static void read_sizes(xmlNode *parent, struct sand_mix_class *c)
{
    c->n_sizes = count(parent, "size");
    struct sand_mix_size *next = sand_arena_alloc(memory, c->n_sizes, sizeof *next);
    c->sizes = next;
    for (xmlNode *node = parent->children; node; node = node->next)
        if (is(node, "size")) {
            only(node, (const char *const[]){"gpus", "weight", NULL});
            *next++ = (struct sand_mix_size){whole(node, "gpus", NULL),
                                             quantity(node, "weight", SAND_DIM_NUMBER, NULL)};
        }
}

static struct sand_mix_class read_class(xmlNode *node)
{
    struct sand_mix_class c = {
        .id = text_of(node, "id", NULL),
        .share = quantity(node, "share", SAND_DIM_FRACTION, NULL),
        .cycle = quantity(node, "cycle", SAND_DIM_FRACTION, "1"),
        .users = whole(node, "users", "0"),
        .request_factor = quantity(node, "request_factor", SAND_DIM_NUMBER, "0"),
        .limit_ns = sand_ns_from_s(quantity(node, "limit", SAND_DIM_TIME, "0s"))};
    only(node,
         (const char *const[]){"id", "share", "cycle", "users", "request_factor", "limit", NULL});
    read_sizes(node, &c);
    read_ends(node, &c);
    return c;
}

static void read_classes(xmlNode *root, struct sand_mix *mix)
{
    mix->n_classes = count(root, "class");
    struct sand_mix_class *next = sand_arena_alloc(memory, mix->n_classes, sizeof *next);
    mix->classes = next;
    for (xmlNode *node = root->children; node; node = node->next)
        if (is(node, "class"))
            *next++ = read_class(node);
}

static void read_figures(xmlNode *root, struct sand_mix *mix)
{
    const char *names[SAND_MIX_QUANTITY_COUNT + 1] = {NULL};
    for (int i = 0; i < SAND_MIX_QUANTITY_COUNT; i++)
        names[i] = sand_mix_quantity_name(i);
    mix->n_figures = count(root, "figure");
    struct sand_mix_figure *next = sand_arena_alloc(memory, mix->n_figures, sizeof *next);
    mix->figures = next;
    for (xmlNode *node = root->children; node; node = node->next)
        if (is(node, "figure"))
            *next++ = (struct sand_mix_figure){(enum sand_mix_quantity)word(node, "of", names),
                                               quantity(node, "value", SAND_DIM_NUMBER, NULL),
                                               quantity(node, "within", SAND_DIM_NUMBER, NULL)};
}

struct sand_mix read_mix(const char *id, struct sand_arena *arena)
{
    char path[512];
    struct sand_mix mix = {0};
    memory = arena;
    snprintf(path, sizeof path, "%s/workloads/mixes/%s.xml", SAND_SOURCE_DIR, id);
    struct sand_xml *xml = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_xml_open(path, SAND_SOURCE_DIR, &xml, &diag), SAND_OK, "%s", path);
    xmlNode *root = sand_xml_root(xml);
    cr_assert(is(root, "mix") && root->ns &&
              strcmp((const char *)root->ns->href, "urn:sandtable:1") == 0);
    only(root, (const char *const[]){"id", "source", "date", "assumed", "jobs_per_day", NULL});
    mix.id = text_of(root, "id", NULL);
    mix.from = (struct sand_provenance){text_of(root, "source", NULL), text_of(root, "date", NULL),
                                        text_of(root, "assumed", "")};
    mix.jobs_per_s = quantity(root, "jobs_per_day", SAND_DIM_NUMBER, NULL) / 86400;
    mix.hours = read_weights(root, "hour", &mix.n_hours);
    mix.days = read_weights(root, "day", &mix.n_days);
    read_classes(root, &mix);
    read_figures(root, &mix);
    size_t known = mix.n_hours + mix.n_days + mix.n_classes + mix.n_figures;
    cr_assert_eq(xmlChildElementCount(root), known, "%s: unknown elements", path);
    sand_xml_close(xml);
    sand_diag_clear(&diag);
    return mix;
}
