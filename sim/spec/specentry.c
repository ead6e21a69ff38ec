// Catalogue entries and definitions: what a reference means, bound once, shared by all who refer.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "specbind.h"

static const char scheme[] = "sandtable:";

struct spec_entry *spec_entry_add(struct spec_binding *binding, enum spec_kind kind, const char *id)
{
    struct spec_entry *entry = sand_arena_alloc(binding->arena, 1, sizeof *entry);
    if (!entry)
        return spec_no_memory(binding);
    entry->kind = kind;
    entry->id = sand_arena_strdup(binding->arena, id);
    entry->model = sand_arena_alloc(binding->arena, 1, spec_kind_element(kind)->size);
    if (!entry->id || !entry->model)
        return spec_no_memory(binding);
    *binding->last = entry;
    binding->last = &entry->next;
    return entry;
}

static struct spec_entry *find(const struct spec_binding *binding, enum spec_kind kind,
                               const char *id, int from_catalogue)
{
    for (struct spec_entry *entry = binding->entries; entry; entry = entry->next)
        if (entry->kind == kind && entry->from_catalogue == from_catalogue &&
            strcmp(entry->id, id) == 0)
            return entry;
    return NULL;
}

static const void *bind_entry(struct spec_binding *binding, struct spec_entry *entry)
{
    if (!entry->bound) {
        entry->bound = 1;
        spec_bind(binding, spec_kind_element(entry->kind), entry->node, entry->model);
    }
    return entry->model;
}

// ---- definitions ----

static void define_one(struct spec_binding *binding, enum spec_kind kind, const xmlNode *node)
{
    const char *id = sand_xml_attribute(node, "id");
    struct spec_entry *twin = id ? find(binding, kind, id, 0) : NULL;
    if (twin) {
        struct sand_xml_place before = sand_xml_place(twin->node);
        spec_error(binding, sand_xml_place(node), "%s \"%.60s\": the id is already taken at %s:%ld",
                   spec_kind_name(kind), id, before.file, before.line);
        return;
    }
    struct spec_entry *entry = spec_entry_add(binding, kind, id ? id : "");
    if (entry)
        entry->node = node;
}

void spec_define(struct spec_binding *binding, const xmlNode *root)
{
    for (const xmlNode *list = root->children; list; list = list->next) {
        if (!spec_is_element(list, spec_definitions.name))
            continue;
        for (const xmlNode *node = list->children; node; node = node->next) {
            const struct spec_child *child =
                spec_is_element(node, NULL)
                    ? spec_child_find(&spec_definitions, (const char *)node->name)
                    : NULL;
            if (child && binding->rc == SAND_OK)
                define_one(binding, child->element->kind, node);
        }
    }
}

void spec_bind_definitions(struct spec_binding *binding)
{
    for (struct spec_entry *entry = binding->entries; entry; entry = entry->next)
        if (!entry->from_catalogue && binding->rc == SAND_OK)
            bind_entry(binding, entry);
}

// ---- references ----

// A reference where it stands.
struct reference {
    const struct spec_field *field;
    const char *label, *text;
    struct sand_xml_place place;
};

static void refuse(struct spec_binding *binding, const struct reference *r, const char *why,
                   const char *name)
{
    const char *kind = spec_kind_name(r->field->kind);
    spec_error(binding, r->place, "%s attribute \"%s\" is \"%.60s\": %s%s%s%s%s", r->label,
               r->field->name, r->text, why, name ? "sandtable:" : "", name ? kind : "",
               name ? "/" : "", name ? name : "");
}

// The catalogue file must be what its name says.
static int check_root(struct spec_binding *binding, enum spec_kind kind, const char *id,
                      const xmlNode *root)
{
    const char *name = spec_kind_name(kind), *own = sand_xml_attribute(root, "id");
    if (!spec_is_element(root, name)) {
        spec_error(binding, sand_xml_place(root),
                   "root element is <%.60s>; write <%s xmlns=\"" SPEC_NAMESPACE "\" id=\"%s\" ...>",
                   (const char *)root->name, name, id);
        return 0;
    }
    if (own && strcmp(own, id) != 0)
        spec_error(binding, sand_xml_place(root),
                   "%s attribute \"id\" is \"%.60s\", but its file is %s.xml; they must agree",
                   name, own, id);
    return 1;
}

static const void *from_catalogue(struct spec_binding *binding, const struct reference *r,
                                  const char *id)
{
    enum spec_kind kind = r->field->kind;
    struct spec_entry *entry = find(binding, kind, id, 1);
    if (entry)
        return entry->bound ? entry->model : NULL;
    xmlNode *root;
    enum sand_rc rc =
        sand_xml_entry(binding->xml, spec_kind_name(kind), id, r->place, &root, binding->diag);
    if (rc == SAND_ERR_NOMEM)
        return spec_no_memory(binding);
    if (rc != SAND_OK)
        binding->n_errors++;
    entry = spec_entry_add(binding, kind, id); // also if unreadable: reported once
    if (!entry)
        return NULL;
    entry->from_catalogue = 1;
    if (rc != SAND_OK || !check_root(binding, kind, id, root))
        return NULL;
    entry->node = root;
    return bind_entry(binding, entry);
}

static const void *from_definitions(struct spec_binding *binding, const struct reference *r)
{
    enum spec_kind kind = r->field->kind;
    struct spec_entry *entry = find(binding, kind, r->text, 0);
    if (entry)
        return bind_entry(binding, entry);
    const char *ids[64];
    size_t n = 0;
    for (entry = binding->entries; entry && n < SPEC_COUNT(ids); entry = entry->next)
        if (entry->kind == kind && !entry->from_catalogue)
            ids[n++] = entry->id;
    const char *near = sand_nearest(r->text, ids, n);
    char why[200];
    if (near) {
        snprintf(why, sizeof why, "is not defined; did you mean \"%.63s\"?", near);
        refuse(binding, r, why, NULL);
    } else if (sand_xml_has_entry(binding->xml, spec_kind_name(kind), r->text)) {
        refuse(binding, r, "is not defined here; the catalogue has it, write ", r->text);
    } else {
        refuse(binding, r,
               "is not defined; add it to <definitions> or write a name of the catalogue, ", "ID");
    }
    return NULL;
}

const void *spec_resolve(struct spec_binding *binding, const struct spec_field *field,
                         const char *label, const char *text, struct sand_xml_place place,
                         const xmlNode *node)
{
    const struct reference r = {field, label, text, place};
    size_t prefix = sizeof scheme - 1;
    if (strncmp(text, scheme, prefix) != 0) {
        for (struct spec_entry *entry = binding->entries; entry; entry = entry->next) {
            if (entry->node != node || !entry->from_catalogue)
                continue;
            refuse(binding, &r, "an entry of the catalogue refers to others as ", text);
            return NULL;
        }
        return from_definitions(binding, &r);
    }
    const char *kind = spec_kind_name(field->kind);
    size_t length = strlen(kind);
    if (strncmp(text + prefix, kind, length) != 0 || text[prefix + length] != '/') {
        refuse(binding, &r, "is of another kind; write ", "ID");
        return NULL;
    }
    return from_catalogue(binding, &r, text + prefix + length + 1);
}

// ---- use ----

static void note_assumed(struct spec_binding *binding, const char *name, const char *id,
                         const char *assumed, const char **lines, size_t *n, int counting)
{
    for (const char *text = assumed; text && *text;) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        if (length > 0 && !counting) {
            lines[*n] = sand_arena_printf(binding->arena, "%s%s%s: %.*s", name, id ? " " : "",
                                          id ? id : "", (int)length, text);
            if (!lines[*n])
                spec_no_memory(binding);
        }
        *n += length > 0;
        text += length;
    }
}

// Notes what an element and everything in it assumes, and marks what it refers to.
static void walk(struct spec_binding *binding, const struct spec_element *element,
                 const void *model, const char **lines, size_t *n, int counting);

static void walk_reference(struct spec_binding *binding, const void *entry_model,
                           const char **lines, size_t *n, int counting)
{
    for (struct spec_entry *entry = binding->entries; entry; entry = entry->next) {
        if (entry->model != entry_model || entry->in_use)
            continue;
        entry->in_use = 1;
        walk(binding, spec_kind_element(entry->kind), entry->model, lines, n, counting);
    }
}

static void walk_child(struct spec_binding *binding, const struct spec_child *child,
                       const void *model, const char **lines, size_t *n, int counting)
{
    const void *at = spec_at_const(model, child->offset);
    if (child->place == SPEC_HERE && spec_is_present(child->element, 0, at))
        walk(binding, child->element, at, lines, n, counting);
    if (child->place != SPEC_ARRAY)
        return;
    const char *array;
    size_t length;
    memcpy(&array, at, sizeof array);
    memcpy(&length, spec_at_const(model, child->count_offset), sizeof length);
    for (size_t i = 0; i < length; i++)
        walk(binding, child->element, array + i * child->element->size, lines, n, counting);
}

static void walk(struct spec_binding *binding, const struct spec_element *element,
                 const void *model, const char **lines, size_t *n, int counting)
{
    for (size_t i = 0; i < element->n_fields; i++) {
        const struct spec_field *field = &element->fields[i];
        const void *pointer;
        if (field->extra || (field->type != SPEC_REF && field->type != SPEC_NAMES))
            continue;
        memcpy(&pointer, spec_at_const(model, field->offset), sizeof pointer);
        if (field->type == SPEC_REF && pointer)
            walk_reference(binding, pointer, lines, n, counting);
        if (field->type != SPEC_NAMES)
            continue;
        const char *id = NULL;
        if (element->fields[0].type == SPEC_ID || element == &spec_cluster_storage)
            memcpy(&id, model, sizeof id);
        note_assumed(binding, element->name, id, pointer, lines, n, counting);
    }
    for (size_t i = 0; i < element->n_children; i++)
        walk_child(binding, &element->children[i], model, lines, n, counting);
}

static void clear_use(struct spec_binding *binding)
{
    for (struct spec_entry *entry = binding->entries; entry; entry = entry->next)
        entry->in_use = 0;
}

enum sand_rc spec_mark_use(struct spec_binding *binding)
{
    struct sand_experiment *experiment = binding->experiment;
    size_t n = 0;
    clear_use(binding);
    walk(binding, &spec_experiment, experiment, NULL, &n, 1);
    const char **lines = sand_arena_alloc(binding->arena, n, sizeof *lines);
    if (!lines)
        return SAND_ERR_NOMEM;
    n = 0;
    clear_use(binding);
    walk(binding, &spec_experiment, experiment, lines, &n, 0);
    experiment->assumptions = (const char *const *)lines;
    experiment->n_assumptions = n;
    return binding->rc;
}
