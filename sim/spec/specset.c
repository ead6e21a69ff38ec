// --set: "jobs/job[@id='x']/split/@tp=4" on the tree, before it is bound.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <libxml/xmlstring.h>

#include "specbind.h"

enum { MAX_NAME = 64, MAX_VALUE = 256 };

// One step of a path: name, and [@key='value'] if key is not empty, or [*] for every such element.
struct step {
    char name[MAX_NAME], key[MAX_NAME], value[MAX_VALUE];
    int every;
};

struct setting {
    struct spec_binding *binding;
    const char *origin; // "--set PATH=VALUE"
    const char *at;     // what is still to read
    const struct spec_element *element;
    xmlNode *node;
};

static struct sand_xml_place place_of(const struct setting *s)
{
    return (struct sand_xml_place){.file = s->origin};
}

static int malformed(const struct setting *s)
{
    spec_error(s->binding, place_of(s),
               "is no setting; write PATH=VALUE, such as cluster/fat_tree/@spreading=static or "
               "jobs/job[@id='x']/split/@tp=4");
    return 0;
}

// Reads a name of at most MAX_NAME - 1 letters.
static int read_name(struct setting *s, char name[MAX_NAME])
{
    size_t n = strspn(s->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (n == 0 || n >= MAX_NAME)
        return malformed(s);
    memcpy(name, s->at, n);
    name[n] = '\0';
    s->at += n;
    return 1;
}

static int read_predicate(struct setting *s, struct step *step)
{
    step->every = strncmp(s->at, "[*]", 3) == 0;
    if (step->every) {
        s->at += 3;
        return 1;
    }
    if (strncmp(s->at, "[@", 2) != 0)
        return malformed(s);
    s->at += 2;
    if (!read_name(s, step->key))
        return 0;
    char quote = s->at[0] == '=' ? s->at[1] : '\0';
    if (quote != '\'' && quote != '"')
        return malformed(s);
    const char *value = s->at + 2, *end = strchr(value, quote);
    if (!end || end[1] != ']' || end - value >= MAX_VALUE)
        return malformed(s);
    memcpy(step->value, value, (size_t)(end - value));
    step->value[end - value] = '\0';
    s->at = end + 2;
    return 1;
}

static int read_step(struct setting *s, struct step *step)
{
    *step = (struct step){.name = ""};
    if (!read_name(s, step->name) || (*s->at == '[' && !read_predicate(s, step)))
        return 0;
    return *s->at == '/' ? (s->at++, 1) : malformed(s);
}

static int unknown(const struct setting *s, const char *what, const char *name,
                   const char *const *names, size_t n)
{
    const char *near = sand_nearest(name, names, n);
    if (near)
        spec_error(s->binding, place_of(s),
                   "unknown path: %s has no %s \"%s\"; did you mean \"%s\"?", s->element->name,
                   what, name, near);
    else
        spec_error(s->binding, place_of(s),
                   "unknown path: %s has no %s \"%s\"; `sandtable schema --paths` lists them",
                   s->element->name, what, name);
    return 0;
}

static int matches(const xmlNode *node, const struct step *step)
{
    if (!spec_is_element(node, step->name))
        return 0;
    const char *value = step->key[0] ? sand_xml_attribute(node, step->key) : NULL;
    return !step->key[0] || (value && strcmp(value, step->value) == 0);
}

// How many children match, and the last of them.
static size_t count_matches(const xmlNode *parent, const struct step *step, xmlNode **last)
{
    size_t n = 0;
    for (xmlNode *child = parent->children; child; child = child->next) {
        if (!matches(child, step))
            continue;
        *last = child;
        n++;
    }
    return n;
}

static int no_match(const struct setting *s, const struct step *step)
{
    const char *values[256];
    size_t n = 0;
    for (xmlNode *child = s->node->children; child && n < SPEC_COUNT(values); child = child->next) {
        const char *value =
            spec_is_element(child, step->name) ? sand_xml_attribute(child, step->key) : NULL;
        if (value)
            values[n++] = value;
    }
    const char *near = sand_nearest(step->value, values, n);
    if (near)
        spec_error(s->binding, place_of(s), "there is no %s with %s=\"%s\"; did you mean \"%s\"?",
                   step->name, step->key, step->value, near);
    else
        spec_error(s->binding, place_of(s), "there is no %s with %s=\"%s\"", step->name, step->key,
                   step->value);
    return 0;
}

// An element that was left out, when the tables know how to begin one.
static int add_element(struct setting *s, const struct spec_child *child, const struct step *step)
{
    if (child->max != 1 && !(child->element->addable && step->key[0]))
        return step->key[0] ? no_match(s, step) : malformed(s);
    enum sand_rc rc = sand_xml_add(s->binding->xml, s->node, step->name, s->origin, &s->node);
    if (rc == SAND_OK && step->key[0])
        rc = sand_xml_override(s->binding->xml, s->node, step->key, step->value, s->origin);
    if (rc != SAND_OK)
        spec_no_memory(s->binding);
    return rc == SAND_OK;
}

static int follow(struct setting *s, const struct step *step)
{
    const struct spec_child *child = spec_child_find(s->element, step->name);
    const char *names[SPEC_MAX_FIELDS];
    if (!child) {
        for (size_t i = 0; i < s->element->n_children; i++)
            names[i] = s->element->children[i].element->name;
        return unknown(s, "element", step->name, names, s->element->n_children);
    }
    xmlNode *found = NULL;
    size_t n = count_matches(s->node, step, &found);
    if (n > 1) {
        spec_error(s->binding, place_of(s),
                   "the path fits %zu elements \"%s\"; choose one, such as %s[@%s='...'], or "
                   "all of them, %s[*]",
                   n, step->name, step->name,
                   child->element->n_fields ? child->element->fields[0].name : "id", step->name);
        return 0;
    }
    if (n == 0 && !add_element(s, child, step))
        return 0;
    if (n == 1)
        s->node = found;
    s->element = child->element;
    return 1;
}

// What an XML attribute can hold: UTF-8 without control characters.
static int is_xml_text(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            return 0;
    return xmlCheckUTF8((const xmlChar *)text);
}

static int set_attribute(struct setting *s)
{
    char name[MAX_NAME];
    const char *names[SPEC_MAX_FIELDS];
    s->at++;
    if (!read_name(s, name))
        return 0;
    if (*s->at != '=')
        return malformed(s);
    if (!spec_field_find(s->element, name)) {
        for (size_t i = 0; i < s->element->n_fields; i++)
            names[i] = s->element->fields[i].name;
        return unknown(s, "attribute", name, names, s->element->n_fields);
    }
    if (sand_xml_override(s->binding->xml, s->node, name, s->at + 1, s->origin) != SAND_OK)
        spec_no_memory(s->binding);
    return 1;
}

static void apply(struct setting s);

// The rest of the path on every child that fits; none is an error.
static void apply_to_every(const struct setting *s, const struct step *step)
{
    size_t n = 0;
    struct setting each = *s;
    const struct spec_child *child = spec_child_find(s->element, step->name);
    for (xmlNode *node = child ? s->node->children : NULL; node; node = node->next) {
        if (!spec_is_element(node, step->name))
            continue;
        each.node = node;
        each.element = child->element;
        apply(each);
        n++;
    }
    if (n == 0)
        spec_error(s->binding, place_of(s), "there is no %s in %s", step->name, s->element->name);
}

static void apply(struct setting s)
{
    struct step step;
    while (*s.at != '@') {
        if (!read_step(&s, &step))
            return;
        if (step.every) {
            apply_to_every(&s, &step);
            return;
        }
        if (!follow(&s, &step))
            return;
    }
    set_attribute(&s);
}

void spec_apply_setting(struct spec_binding *binding, xmlNode *root, const char *setting)
{
    struct setting s = {
        .binding = binding, .at = setting, .element = &spec_experiment, .node = root};
    s.origin = sand_arena_printf(binding->arena, "--set %s", setting);
    if (!s.origin) {
        spec_no_memory(binding);
        return;
    }
    if (!is_xml_text(setting)) {
        spec_error(binding, (struct sand_xml_place){.file = "--set"},
                   "a setting is not UTF-8 text or holds control characters");
        return;
    }
    apply(s);
}
