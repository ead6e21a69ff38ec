// The canonical text: an experiment file without defaults, includes or catalogue, in SI units.
// Reading it gives the same model and the same text again.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filegate.h"
#include "specbind.h"
#include "specwrite.h"
#include "xmltext.h"

enum { MAX_PLUGIN_B = 256 << 20 };

struct canon {
    struct spec_binding *binding;
    FILE *out;
    enum sand_rc rc;
};

static void write_element(struct canon *canon, const struct spec_element *element,
                          const void *model, int depth);

// A plug-in's path without the experiment's directory, so that the text does not depend on it.
static const char *relative_path(const struct canon *canon, const char *path)
{
    const char *root = sand_xml_directory(canon->binding->xml);
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static void write_field(struct canon *canon, const struct spec_field *field, const void *model)
{
    char buffer[SPEC_VALUE_SIZE];
    const char *text = spec_value_text(field, model, buffer);
    if (!text)
        return;
    if (field->type == SPEC_PATH)
        text = relative_path(canon, text);
    fprintf(canon->out, " %s=\"", field->name);
    sand_xml_text(canon->out, text);
    fputc('"', canon->out);
}

static int compare_entries(const void *a, const void *b)
{
    const struct spec_entry *left = *(const struct spec_entry *const *)a;
    const struct spec_entry *right = *(const struct spec_entry *const *)b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return strcmp(left->id, right->id);
}

static void refuse_twins(struct canon *canon, const struct spec_entry *a,
                         const struct spec_entry *b)
{
    const struct spec_entry *own = a->from_catalogue ? b : a;
    struct sand_xml_place place =
        own->node ? sand_xml_place(own->node) : (struct sand_xml_place){0};
    spec_error(canon->binding, place,
               "%s \"%s\" is defined here and also used from the catalogue; give yours another id",
               spec_kind_name(own->kind), own->id);
    canon->rc = SAND_ERR_INPUT;
}

// Every entry in use, sorted, whatever the order of the document or of the references.
static void write_entries(struct canon *canon, int depth)
{
    size_t n = 0;
    for (struct spec_entry *entry = canon->binding->entries; entry; entry = entry->next)
        n += entry->in_use != 0;
    const struct spec_entry **list = sand_calloc(n, sizeof *list);
    if (!list) {
        canon->rc = SAND_ERR_NOMEM;
        return;
    }
    n = 0;
    for (struct spec_entry *entry = canon->binding->entries; entry; entry = entry->next)
        if (entry->in_use)
            list[n++] = entry;
    qsort(list, n, sizeof *list, compare_entries);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && compare_entries(&list[i - 1], &list[i]) == 0)
            refuse_twins(canon, list[i - 1], list[i]);
        write_element(canon, spec_kind_element(list[i]->kind), list[i]->model, depth);
    }
    sand_free(list);
}

static void write_child(struct canon *canon, const struct spec_child *child, const void *model,
                        int depth)
{
    const void *at = spec_at_const(model, child->offset);
    if (child->place == SPEC_HERE && spec_is_present(child->element, 0, at))
        write_element(canon, child->element, at, depth);
    if (child->place != SPEC_ARRAY)
        return;
    const char *array;
    size_t n;
    memcpy(&array, at, sizeof array);
    memcpy(&n, spec_at_const(model, child->count_offset), sizeof n);
    for (size_t i = 0; i < n; i++)
        write_element(canon, child->element, array + i * child->element->size, depth);
}

// Whether anything stands between the element's tags.
static int has_content(const struct spec_element *element, unsigned form, const void *model)
{
    for (size_t i = 0; i < element->n_children; i++) {
        const struct spec_child *child = &element->children[i];
        size_t n;
        memcpy(&n, spec_at_const(model, child->count_offset), sizeof n);
        if (child->form != 0 && child->form != form)
            continue;
        if (child->place == SPEC_ENTRIES || (child->place == SPEC_ARRAY && n > 0))
            return 1;
        if (child->place == SPEC_HERE &&
            spec_is_present(child->element, 0, spec_at_const(model, child->offset)))
            return 1;
    }
    return 0;
}

static void write_element(struct canon *canon, const struct spec_element *element,
                          const void *model, int depth)
{
    unsigned form = spec_form(element, model);
    fprintf(canon->out, "%*s<%s", 2 * depth, "", element->name);
    if (element == &spec_experiment)
        fputs(" xmlns=\"" SPEC_NAMESPACE "\"", canon->out);
    for (size_t i = 0; i < element->n_fields; i++) {
        const struct spec_field *field = &element->fields[i];
        if (!field->extra && (field->form == 0 || field->form == form))
            write_field(canon, field, model);
    }
    if (!has_content(element, form, model)) {
        fputs("/>\n", canon->out);
        return;
    }
    fputs(">\n", canon->out);
    if (element == &spec_definitions)
        write_entries(canon, depth + 1);
    for (size_t i = 0; i < element->n_children; i++)
        if (element->children[i].form == 0 || element->children[i].form == form)
            write_child(canon, &element->children[i], model, depth + 1);
    fprintf(canon->out, "%*s</%s>\n", 2 * depth, "", element->name);
}

// The bytes of a plug-in are part of the experiment: their digest stands in a comment.
static void write_plugin(struct canon *canon, const struct sand_choice *choice)
{
    char *bytes, hex[65];
    size_t size;
    if (!choice->plugin || canon->rc != SAND_OK)
        return;
    canon->rc = sand_file_read(choice->plugin, MAX_PLUGIN_B, &bytes, &size, canon->binding->diag);
    if (canon->rc != SAND_OK)
        return;
    sand_sha256_hex(bytes, size, hex);
    sand_free(bytes);
    fprintf(canon->out, "<!-- plugin of %s: sha256 %s -->\n", choice->type, hex);
}

// A trace is known by its bytes, not by its place.
static void write_trace_digests(struct canon *canon, const struct sand_experiment *experiment)
{
    for (size_t i = 0; i < experiment->n_traces; i++)
        fprintf(canon->out, "<!-- trace %zu: sha256 %s -->\n", i + 1, experiment->traces[i].digest);
}

static void write_all(struct canon *canon)
{
    const struct sand_experiment *experiment = canon->binding->experiment;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", canon->out);
    write_element(canon, &spec_experiment, experiment, 0);
    write_trace_digests(canon, experiment);
    write_plugin(canon, &experiment->schedule);
    write_plugin(canon, &experiment->place);
    write_plugin(canon, &experiment->recover);
    for (size_t i = 0; i < experiment->n_jobs; i++)
        write_plugin(canon, &experiment->jobs[i].checkpoint.policy);
}

enum sand_rc spec_canonicalise(struct spec_binding *binding)
{
    char *text = NULL;
    size_t size = 0;
    struct canon canon = {.binding = binding, .out = open_memstream(&text, &size)};
    if (!canon.out)
        return SAND_ERR_NOMEM;
    write_all(&canon);
    int broken = ferror(canon.out);
    if (fclose(canon.out) != 0 || broken)
        canon.rc = SAND_ERR_NOMEM;
    struct sand_experiment *experiment = binding->experiment;
    if (canon.rc == SAND_OK) {
        experiment->canonical = sand_arena_strdup(binding->arena, text);
        canon.rc = experiment->canonical ? SAND_OK : SAND_ERR_NOMEM;
        sand_sha256_hex(text, size, experiment->digest);
    }
    free(text); // open_memstream's
    return canon.rc;
}
