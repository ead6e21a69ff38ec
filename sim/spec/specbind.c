// Walks a document and the tables together.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "specbind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One element being bound.
struct frame {
    const struct spec_element *element;
    const xmlNode *node; // NULL: left out
    const char *label;
    struct sand_xml_place place;
    void *model;
    unsigned form;
    double extra[SPEC_MAX_EXTRA];
};

static void report(struct spec_binding *binding, enum sand_severity severity,
                   struct sand_xml_place place, const char *format, va_list args)
{
    char text[1200];
    vsnprintf(text, sizeof text, format, args);
    sand_diag_add(binding->diag, severity, place.file, place.line, "%s", text);
}

void spec_error(struct spec_binding *binding, struct sand_xml_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(binding, SAND_ERROR, place, format, args);
    va_end(args);
    binding->n_errors++;
}

void spec_warning(struct spec_binding *binding, struct sand_xml_place place, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    report(binding, SAND_WARNING, place, format, args);
    va_end(args);
}

void *spec_no_memory(struct spec_binding *binding)
{
    binding->rc = SAND_ERR_NOMEM;
    return NULL;
}

int spec_is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
           strcmp((const char *)node->ns->href, SPEC_NAMESPACE) == 0 &&
           (!name || strcmp((const char *)node->name, name) == 0);
}

// `job "x"`, `fat_tree`: how messages name an element. Arena.
static const char *label(struct spec_binding *binding, const char *name, const xmlNode *node)
{
    const char *id = node ? sand_xml_attribute(node, "id") : NULL;
    if (node && !id)
        id = sand_xml_attribute(node, "name");
    char *label = id ? sand_arena_printf(binding->arena, "%s \"%.60s\"", name, id)
                     : sand_arena_strdup(binding->arena, name);
    return label ? label : spec_no_memory(binding);
}

// ---- unknown names ----

static void suggest(struct spec_binding *binding, struct sand_xml_place place, const char *what,
                    const char *name, const char *label, const char *const *names, size_t n)
{
    const char *near = sand_nearest(name, names, n);
    char list[600] = "";
    for (size_t i = 0, used = 0; i < n && used + 1 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", names[i]);
    if (near)
        spec_error(binding, place, "%s has no %s \"%.60s\"; did you mean \"%s\"?", label, what,
                   name, near);
    else
        spec_error(binding, place, "%s has no %s \"%.60s\"; it takes: %s", label, what, name,
                   n ? list : "none");
}

static void check_attributes(struct spec_binding *binding, const struct frame *frame)
{
    const char *names[SPEC_MAX_FIELDS];
    const struct spec_element *element = frame->element;
    for (size_t i = 0; i < element->n_fields; i++)
        names[i] = element->fields[i].name;
    for (const xmlAttr *attr = frame->node->properties; attr; attr = attr->next) {
        const char *name = (const char *)attr->name;
        if (attr->ns || !spec_field_find(element, name))
            suggest(binding, sand_xml_attr_place(attr), "attribute", name, frame->label, names,
                    element->n_fields);
    }
}

static void check_element_child(struct spec_binding *binding, const struct frame *frame,
                                const xmlNode *child)
{
    const char *names[SPEC_MAX_FIELDS];
    const struct spec_element *element = frame->element;
    const char *name = (const char *)child->name;
    if (!spec_is_element(child, NULL)) {
        spec_error(binding, sand_xml_place(child),
                   "element \"%.60s\" is not in the namespace " SPEC_NAMESPACE
                   "; write xmlns=\"" SPEC_NAMESPACE "\" on the root element of its file",
                   name);
        return;
    }
    for (size_t i = 0; i < element->n_children; i++)
        names[i] = element->children[i].element->name;
    if (!spec_child_find(element, name))
        suggest(binding, sand_xml_place(child), "element", name, frame->label, names,
                element->n_children);
}

static int is_blank(const xmlNode *node)
{
    const char *text = node->content ? (const char *)node->content : "";
    return text[strspn(text, " \t\r\n")] == '\0';
}

static void check_children(struct spec_binding *binding, const struct frame *frame)
{
    for (const xmlNode *child = frame->node->children; child; child = child->next) {
        if (child->type == XML_ELEMENT_NODE)
            check_element_child(binding, frame, child);
        else if (child->type == XML_TEXT_NODE
                     ? !is_blank(child)
                     : child->type == XML_CDATA_SECTION_NODE || child->type == XML_ENTITY_REF_NODE)
            spec_error(binding, sand_xml_place(child->parent),
                       "%s holds text; only elements and comments stand here", frame->label);
    }
}

// ---- forms ----

static const xmlAttr *find_attr(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attr = node ? node->properties : NULL; attr; attr = attr->next)
        if (!attr->ns && strcmp((const char *)attr->name, name) == 0)
            return attr;
    return NULL;
}

static const xmlNode *next_child(const xmlNode *from, const char *name)
{
    while (from && !spec_is_element(from, name))
        from = from->next;
    return from;
}

static const xmlNode *first_child(const xmlNode *node, const char *name)
{
    return next_child(node ? node->children : NULL, name);
}

// The first attribute or child of a form that the document has; NULL if none.
static const char *evidence(const struct frame *frame, unsigned form)
{
    const struct spec_element *element = frame->element;
    for (size_t i = 0; i < element->n_fields; i++)
        if (element->fields[i].form == form && find_attr(frame->node, element->fields[i].name))
            return element->fields[i].name;
    for (size_t i = 0; i < element->n_children; i++) {
        const struct spec_child *child = &element->children[i];
        if (child->form == form && first_child(frame->node, child->element->name))
            return child->element->name;
    }
    return NULL;
}

static const char *join_forms(struct spec_binding *binding, const struct spec_element *element)
{
    const char *text = element->forms[0];
    for (unsigned form = 1; form < element->n_forms && text; form++)
        text = sand_arena_printf(binding->arena, "%s or %s", text, element->forms[form]);
    return text ? text : spec_no_memory(binding);
}

static void choose_form(struct spec_binding *binding, struct frame *frame)
{
    const char *first = NULL, *second = NULL;
    for (unsigned form = 1; form <= frame->element->n_forms; form++) {
        const char *seen = evidence(frame, form);
        if (seen && first)
            second = seen;
        if (seen && !first) {
            first = seen;
            frame->form = form;
        }
    }
    if (frame->element->n_forms == 0 || (first && !second))
        return;
    const char *forms = join_forms(binding, frame->element);
    if (!forms)
        return;
    if (second)
        spec_error(binding, frame->place, "%s has both \"%s\" and \"%s\"; it is either %s",
                   frame->label, first, second, forms);
    else
        spec_error(binding, frame->place, "%s is incomplete: write either %s", frame->label, forms);
}

// ---- attributes ----

static const char *example_of(const struct spec_field *field)
{
    switch (field->type) {
    case SPEC_WORD:
        return field->words[0];
    case SPEC_YESNO:
        return "yes";
    case SPEC_DATE:
        return "2024-07";
    case SPEC_F64:
    case SPEC_U32:
    case SPEC_U64:
    case SPEC_NS:
        return sand_dim_example(field->type == SPEC_NS ? SAND_DIM_TIME : field->dim);
    default:
        return "...";
    }
}

static void leave_out(const struct spec_field *field, void *model)
{
    if (field->type == SPEC_F64 && !field->extra)
        memcpy(spec_at(model, field->offset), &field->unset, sizeof field->unset);
}

static void bind_field(struct spec_binding *binding, struct frame *frame,
                       const struct spec_field *field)
{
    const xmlAttr *attr = find_attr(frame->node, field->name);
    if (field->form && field->form != frame->form)
        return; // choose_form has reported an attribute of another form
    const char *text = attr ? sand_xml_value(attr) : field->preset;
    if (text)
        spec_bind_value(binding, field, frame->label, text,
                        attr ? sand_xml_attr_place(attr) : frame->place, frame->node, frame->model,
                        frame->extra);
    else if (field->need == SPEC_REQUIRED)
        spec_error(binding, frame->place, "%s lacks the attribute \"%s\" (%s=\"%s\"): %s",
                   frame->label, field->name, field->name, example_of(field), field->doc);
    else
        leave_out(field, frame->model);
}

// Names in `assumed` must be attributes of the element or of one inside it.
static int is_attribute_below(const struct spec_element *element, const char *name)
{
    if (spec_field_find(element, name))
        return 1;
    for (size_t i = 0; i < element->n_children; i++)
        if (is_attribute_below(element->children[i].element, name))
            return 1;
    return 0;
}

static void check_names(struct spec_binding *binding, const struct frame *frame)
{
    const xmlAttr *attr = find_attr(frame->node, "assumed");
    char word[64];
    if (!attr || !spec_field_find(frame->element, "assumed"))
        return;
    for (const char *text = sand_xml_value(attr); *text;) {
        text += strspn(text, " ");
        size_t n = strcspn(text, " ");
        if (n == 0)
            break;
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        if (n >= sizeof word || !is_attribute_below(frame->element, word))
            spec_error(binding, sand_xml_attr_place(attr),
                       "%s attribute \"assumed\" names \"%s\", which is no attribute of it",
                       frame->label, word);
        text += n;
    }
}

// ---- children ----

struct named {
    const char *id;
    const xmlNode *node;
    size_t order;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = strcmp(left->id, right->id);
    return order ? order : left->order < right->order ? -1 : left->order > right->order;
}

static void check_unique(struct spec_binding *binding, const struct spec_element *element,
                         const xmlNode *first, size_t n)
{
    const struct spec_field *id = element->n_fields ? &element->fields[0] : NULL;
    if (!id || id->type != SPEC_ID || n < 2)
        return;
    struct named *list = sand_calloc(n, sizeof *list);
    if (!list) {
        spec_no_memory(binding);
        return;
    }
    size_t found = 0;
    for (const xmlNode *node = first; node; node = next_child(node->next, element->name)) {
        const char *text = sand_xml_attribute(node, id->name);
        list[found] = (struct named){text ? text : "", node, found};
        found += text != NULL;
    }
    qsort(list, found, sizeof *list, compare_named);
    for (size_t i = 1; i < found; i++) {
        if (strcmp(list[i - 1].id, list[i].id) != 0)
            continue;
        struct sand_xml_place before = sand_xml_place(list[i - 1].node);
        spec_error(binding, sand_xml_place(list[i].node),
                   "%s \"%.60s\": the %s is already taken at %s:%ld", element->name, list[i].id,
                   id->name, before.file, before.line);
    }
    sand_free(list);
}

static size_t count_children(const xmlNode *first, const char *name)
{
    size_t n = 0;
    for (; first; first = next_child(first->next, name))
        n++;
    return n;
}

static void bind_array(struct spec_binding *binding, const struct spec_child *child,
                       const xmlNode *first, size_t n, void *model)
{
    const struct spec_element *element = child->element;
    char *array = sand_arena_alloc(binding->arena, n, element->size);
    if (!array) {
        spec_no_memory(binding);
        return;
    }
    size_t index = 0;
    for (const xmlNode *node = first; node; node = next_child(node->next, element->name))
        spec_bind(binding, element, node, array + index++ * element->size);
    memcpy(spec_at(model, child->offset), &array, sizeof array);
    memcpy(spec_at(model, child->count_offset), &n, sizeof n);
    check_unique(binding, element, first, n);
}

static void check_count(struct spec_binding *binding, const struct frame *frame,
                        const struct spec_child *child, const xmlNode *first, size_t n)
{
    const char *name = child->element->name;
    if (n < child->min)
        spec_error(binding, frame->place, "%s lacks the element <%s>: %s", frame->label, name,
                   child->element->doc);
    if (child->max == 0 || n <= child->max)
        return;
    for (size_t i = 0; i < child->max; i++)
        first = next_child(first->next, name);
    spec_error(binding, sand_xml_place(first), "%s has %zu elements <%s>; write at most %u",
               frame->label, n, name, child->max);
}

static void bind_child(struct spec_binding *binding, const struct frame *frame,
                       const struct spec_child *child)
{
    const xmlNode *first = first_child(frame->node, child->element->name);
    size_t n = count_children(first, child->element->name);
    if (child->form && child->form != frame->form)
        return;
    if (frame->node)
        check_count(binding, frame, child, first, n);
    if (child->place == SPEC_ARRAY)
        bind_array(binding, child, first, n, frame->model);
    else if (child->place == SPEC_HERE && (first || child->presets))
        spec_bind(binding, child->element, first, spec_at(frame->model, child->offset));
}

void spec_bind(struct spec_binding *binding, const struct spec_element *element,
               const xmlNode *node, void *model)
{
    struct frame frame = {.element = element, .node = node, .model = model};
    size_t errors = binding->n_errors;
    frame.label = label(binding, element->name, node);
    if (node)
        frame.place = sand_xml_place(node);
    if (binding->rc != SAND_OK)
        return;
    if (node) {
        check_attributes(binding, &frame);
        check_children(binding, &frame);
        check_names(binding, &frame);
        choose_form(binding, &frame);
    }
    for (size_t i = 0; i < element->n_fields && binding->rc == SAND_OK; i++)
        bind_field(binding, &frame, &element->fields[i]);
    int good = binding->n_errors == errors;
    if (element == &spec_definitions)
        spec_bind_definitions(binding);
    for (size_t i = 0; i < element->n_children && binding->rc == SAND_OK; i++)
        bind_child(binding, &frame, &element->children[i]);
    if (element->finish && binding->rc == SAND_OK && good)
        element->finish(binding, node, model, frame.extra);
}
