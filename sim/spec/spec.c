// Loads an experiment: read, override, bind, check, validate, canonicalise.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "spec.h"

#include <stdlib.h>
#include <string.h>

#include "specbind.h"

struct sand_spec {
    struct sand_arena arena;
    struct sand_experiment experiment;
    struct sand_step_rules rules;
    struct sand_collectives collectives;
    struct sand_coll_rules coll_rules;
    struct sand_node_type node;
    const char **inputs;
    size_t n_inputs;
};

static void bind_root(struct spec_binding *binding, xmlNode *root,
                      const struct sand_spec_options *options)
{
    if (!spec_is_element(root, spec_experiment.name)) {
        spec_error(binding, sand_xml_place(root),
                   "root element is <%.60s>; write <experiment xmlns=\"" SPEC_NAMESPACE "\" ...>",
                   (const char *)root->name);
        return;
    }
    for (size_t i = 0; options && i < options->n_settings && binding->rc == SAND_OK; i++)
        spec_apply_setting(binding, root, options->settings[i]);
    spec_define(binding, root);
    if (binding->rc == SAND_OK)
        spec_bind(binding, &spec_experiment, root, binding->experiment);
    if (binding->trace && binding->n_errors == 0 && binding->experiment->n_traces != 1)
        spec_error(binding, sand_xml_place(root),
                   "--trace takes the place of the file of the one <trace>, but there are %zu",
                   binding->experiment->n_traces);
}

// The switches and cables of a wired fabric but the first, apart from it, as there may be very
// many; *rest stays NULL without such a fabric.
static enum sand_rc split_wired(struct spec_binding *binding, xmlNode *root, xmlNode **rest)
{
    for (xmlNode *cluster = root->children; cluster; cluster = cluster->next) {
        if (!spec_is_element(cluster, spec_cluster.name))
            continue;
        for (xmlNode *child = cluster->children; child; child = child->next)
            if (spec_is_element(child, spec_wired.name))
                return sand_xml_split(binding->xml, child, rest);
    }
    return SAND_OK;
}

// The experiment, and its jobs but the first apart: there may be very many of them.
static enum sand_rc check_experiment(struct spec_binding *binding,
                                     const struct sand_xml_schema *schema)
{
    xmlNode *root = sand_xml_root(binding->xml), *rest = NULL;
    for (xmlNode *child = root->children; child && !rest; child = child->next)
        if (spec_is_element(child, spec_jobs.name) &&
            sand_xml_split(binding->xml, child, &rest) != SAND_OK)
            return SAND_ERR_NOMEM;
    xmlNode *wired = NULL;
    SAND_TRY(split_wired(binding, root, &wired));
    SAND_TRY(sand_xml_schema_check(schema, root, binding->diag));
    if (wired)
        SAND_TRY(sand_xml_schema_check(schema, wired, binding->diag));
    const struct sand_experiment *experiment = binding->experiment;
    if (!rest || experiment->n_jobs + experiment->n_traces + experiment->n_mixes < 2)
        return SAND_OK;
    return sand_xml_schema_check(schema, rest, binding->diag);
}

// The last gate: every document that was read must match the generated schema.
static enum sand_rc check_documents(struct spec_binding *binding,
                                    const struct sand_xml_schema *schema)
{
    enum sand_rc rc = check_experiment(binding, schema);
    for (struct spec_entry *entry = binding->entries; entry; entry = entry->next) {
        enum sand_rc one = SAND_OK;
        if (entry->from_catalogue && entry->node)
            one = sand_xml_schema_check(schema, entry->node, binding->diag);
        if (rc == SAND_OK)
            rc = one;
    }
    return rc;
}

static enum sand_rc check_schema(struct spec_binding *binding)
{
    char *text = NULL;
    size_t size = 0;
    struct sand_xml_schema *schema = NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return SAND_ERR_NOMEM;
    enum sand_rc rc = sand_spec_write_schema(out);
    if (fclose(out) != 0 || rc != SAND_OK)
        rc = SAND_ERR_NOMEM;
    if (rc == SAND_OK)
        rc = sand_xml_schema_open(text, size, &schema, binding->diag);
    if (rc == SAND_OK)
        rc = check_documents(binding, schema);
    sand_xml_schema_close(schema);
    free(text); // open_memstream's
    return rc;
}

// ---- loading ----

static enum sand_rc bind_experiment(struct spec_binding *binding, struct sand_spec *spec,
                                    const struct sand_spec_options *options)
{
    (void)spec; // bind_root's, through the binding
    bind_root(binding, sand_xml_root(binding->xml), options);
    if (binding->rc != SAND_OK)
        return sand_fail(binding->diag, binding->rc, "out of memory while reading the experiment");
    if (binding->n_errors > 0)
        return SAND_ERR_INPUT;
    SAND_TRY(check_schema(binding));
    SAND_TRY(spec_mark_use(binding));
    return spec_canonicalise(binding);
}

// A document that is one element of ours; there are no settings.
static enum sand_rc bind_only(struct spec_binding *binding, const struct spec_element *element,
                              void *model)
{
    xmlNode *root = sand_xml_root(binding->xml);
    if (!spec_is_element(root, element->name)) {
        spec_error(binding, sand_xml_place(root),
                   "root element is <%.60s>; write <%s xmlns=\"" SPEC_NAMESPACE "\" ...>",
                   (const char *)root->name, element->name);
        return SAND_ERR_INPUT;
    }
    spec_bind(binding, element, root, model);
    if (binding->rc != SAND_OK)
        return sand_fail(binding->diag, binding->rc, "out of memory while reading <%s>",
                         element->name);
    return binding->n_errors > 0 ? SAND_ERR_INPUT : check_schema(binding);
}

static enum sand_rc bind_rules(struct spec_binding *binding, struct sand_spec *spec,
                               const struct sand_spec_options *options)
{
    (void)options;
    return bind_only(binding, &spec_step_rules, &spec->rules);
}

static enum sand_rc bind_collectives(struct spec_binding *binding, struct sand_spec *spec,
                                     const struct sand_spec_options *options)
{
    (void)options;
    return bind_only(binding, &spec_collectives, &spec->collectives);
}

static enum sand_rc bind_coll_rules(struct spec_binding *binding, struct sand_spec *spec,
                                    const struct sand_spec_options *options)
{
    (void)options;
    return bind_only(binding, &spec_coll_rules, &spec->coll_rules);
}

static enum sand_rc bind_node(struct spec_binding *binding, struct sand_spec *spec,
                              const struct sand_spec_options *options)
{
    (void)options;
    return bind_only(binding, &spec_node, &spec->node);
}

// An experiment, or a <cluster> alone: the rest of the experiment is then empty.
static enum sand_rc bind_cluster(struct spec_binding *binding, struct sand_spec *spec,
                                 const struct sand_spec_options *options)
{
    if (!spec_is_element(sand_xml_root(binding->xml), spec_cluster.name))
        return bind_experiment(binding, spec, options);
    if (options && options->n_settings > 0)
        return sand_fail(binding->diag, SAND_ERR_USAGE,
                         "--set needs an experiment; the file is a <cluster> alone");
    return bind_only(binding, &spec_cluster, &spec->experiment.cluster);
}

static enum sand_rc keep_inputs(const struct sand_xml *xml, const char *trace,
                                struct sand_spec *spec)
{
    const size_t n = sand_xml_inputs(xml, NULL, 0);
    spec->inputs = sand_arena_alloc(&spec->arena, n + 1, sizeof *spec->inputs);
    if (!spec->inputs)
        return SAND_ERR_NOMEM;
    spec->n_inputs = sand_xml_inputs(xml, spec->inputs, n);
    if (trace)
        spec->inputs[spec->n_inputs++] = trace;
    for (size_t i = 0; i < spec->n_inputs; i++)
        if (!(spec->inputs[i] = sand_arena_strdup(&spec->arena, spec->inputs[i])))
            return SAND_ERR_NOMEM;
    return SAND_OK;
}

typedef enum sand_rc bind_fn(struct spec_binding *binding, struct sand_spec *spec,
                             const struct sand_spec_options *options);

static enum sand_rc load(const char *path, const struct sand_spec_options *options, bind_fn *bind,
                         struct sand_spec **spec, struct sand_diag *diag)
{
    struct sand_xml *xml;
    SAND_TRY(sand_xml_open(path, options ? options->catalogue : NULL, &xml, diag));
    struct sand_spec *loaded = sand_calloc(1, sizeof *loaded);
    enum sand_rc rc = SAND_ERR_NOMEM;
    if (loaded) {
        struct spec_binding binding = {.xml = xml, .arena = &loaded->arena, .diag = diag};
        binding.trace = options ? options->trace : NULL;
        binding.experiment = &loaded->experiment;
        binding.last = &binding.entries;
        rc = bind(&binding, loaded, options);
        if (rc == SAND_OK)
            rc = keep_inputs(xml, binding.trace, loaded);
    }
    sand_xml_close(xml);
    if (rc == SAND_OK)
        *spec = loaded;
    else
        sand_spec_free(loaded);
    return rc;
}

enum sand_rc sand_spec_load(const char *path, const struct sand_spec_options *options,
                            struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_experiment, spec, diag);
}

enum sand_rc sand_spec_load_rules(const char *path, const struct sand_spec_options *options,
                                  struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_rules, spec, diag);
}

enum sand_rc sand_spec_load_collectives(const char *path, const struct sand_spec_options *options,
                                        struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_collectives, spec, diag);
}

enum sand_rc sand_spec_load_coll_rules(const char *path, const struct sand_spec_options *options,
                                       struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_coll_rules, spec, diag);
}

enum sand_rc sand_spec_load_cluster(const char *path, const struct sand_spec_options *options,
                                    struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_cluster, spec, diag);
}

enum sand_rc sand_spec_load_node(const char *path, const struct sand_spec_options *options,
                                 struct sand_spec **spec, struct sand_diag *diag)
{
    return load(path, options, bind_node, spec, diag);
}

const struct sand_collectives *sand_spec_collectives(const struct sand_spec *spec)
{
    return &spec->collectives;
}

const struct sand_coll_rules *sand_spec_coll_rules(const struct sand_spec *spec)
{
    return &spec->coll_rules;
}

const struct sand_node_type *sand_spec_node(const struct sand_spec *spec)
{
    return &spec->node;
}

void sand_spec_free(struct sand_spec *spec)
{
    if (!spec)
        return;
    sand_arena_clear(&spec->arena);
    sand_free(spec);
}

// ---- what was loaded ----

const struct sand_experiment *sand_spec_experiment(const struct sand_spec *spec)
{
    return &spec->experiment;
}

const struct sand_step_rules *sand_spec_rules(const struct sand_spec *spec)
{
    return &spec->rules;
}

const char *const *sand_spec_inputs(const struct sand_spec *spec, size_t *n)
{
    *n = spec->n_inputs;
    return spec->inputs;
}
