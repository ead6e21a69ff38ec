// Look-ups in the tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "spectable.h"

#include <string.h>

const struct spec_element *const spec_elements[] = {&spec_experiment,
                                                    &spec_cluster,
                                                    &spec_fat_tree,
                                                    &spec_rail_optimised,
                                                    &spec_rail_only,
                                                    &spec_dragonfly_plus,
                                                    &spec_dragonfly,
                                                    &spec_torus,
                                                    &spec_wired,
                                                    &spec_switch,
                                                    &spec_port,
                                                    &spec_cable,
                                                    &spec_leaf_group,
                                                    &spec_node_group,
                                                    &spec_impaired,
                                                    &spec_cluster_storage,
                                                    &spec_storage_ports,
                                                    &spec_jobs,
                                                    &spec_job,
                                                    &spec_split,
                                                    &spec_split_experts,
                                                    &spec_pipeline,
                                                    &spec_split_collectives,
                                                    &spec_checkpoint,
                                                    &spec_trace,
                                                    &spec_trace_class,
                                                    &spec_jobs_mix,
                                                    &spec_param,
                                                    &spec_faults,
                                                    &spec_fault,
                                                    &spec_degradation,
                                                    &spec_policies,
                                                    &spec_schedule,
                                                    &spec_place_policy,
                                                    &spec_recover,
                                                    &spec_definitions,
                                                    &spec_gpu,
                                                    &spec_link,
                                                    &spec_node,
                                                    &spec_kernels,
                                                    &spec_software,
                                                    &spec_storage,
                                                    &spec_model,
                                                    &spec_latent_attention,
                                                    &spec_experts,
                                                    &spec_window,
                                                    &spec_prices,
                                                    &spec_mix,
                                                    &spec_mix_hour,
                                                    &spec_mix_day,
                                                    &spec_mix_class,
                                                    &spec_mix_size,
                                                    &spec_mix_end,
                                                    &spec_mix_figure,
                                                    &spec_step_rules,
                                                    &spec_stack,
                                                    &spec_machine,
                                                    &spec_known,
                                                    &spec_recipe,
                                                    &spec_flag,
                                                    &spec_collectives,
                                                    &spec_coll_kernel,
                                                    &spec_coll_rules,
                                                    &spec_coll_machine,
                                                    &spec_coll_network,
                                                    &spec_coll_flag,
                                                    NULL};

const struct spec_element *spec_kind_element(enum spec_kind kind)
{
    for (const struct spec_element *const *element = spec_elements; *element; element++)
        if ((*element)->kind == kind)
            return *element;
    return NULL;
}

const char *spec_kind_name(enum spec_kind kind)
{
    return spec_kind_element(kind)->name;
}

const struct spec_field *spec_field_find(const struct spec_element *element, const char *name)
{
    for (size_t i = 0; i < element->n_fields; i++)
        if (strcmp(element->fields[i].name, name) == 0)
            return &element->fields[i];
    return NULL;
}

const struct spec_child *spec_child_find(const struct spec_element *element, const char *name)
{
    for (size_t i = 0; i < element->n_children; i++)
        if (strcmp(element->children[i].element->name, name) == 0)
            return &element->children[i];
    return NULL;
}

const struct spec_field *spec_signature(const struct spec_element *element, unsigned form)
{
    for (size_t i = 0; i < element->n_fields; i++) {
        const struct spec_field *field = &element->fields[i];
        if (field->need == SPEC_REQUIRED && !field->extra && (form == 0 || field->form == form))
            return field;
    }
    return NULL;
}
