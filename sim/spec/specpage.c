// The format page (Markdown) and the list of --set paths, from the tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "spec.h"
#include "specwrite.h"

static const char intro[] =
    "# The experiment file\n"
    "\n"
    "<!-- Generated from the field tables of sim/spec; do not edit. -->\n"
    "\n"
    "An experiment is an XML document in the namespace `" SPEC_NAMESPACE "`. The order of children "
    "is free.\n"
    "`<xi:include href=\"...\"/>` is replaced by the root element of another file: a path inside "
    "the\n"
    "experiment's directory, or `sandtable:kind/id` in the catalogue. A DOCTYPE is refused. A "
    "reference is\n"
    "`sandtable:kind/id`, or the bare id of an element in `<definitions>`. The RELAX NG schema "
    "`experiment.rng`\n"
    "describes documents after inclusion.\n"
    "\n"
    "## Quantities\n"
    "\n"
    "A quantity carries its unit. Numbers are decimal, with an exponent if you like.\n"
    "\n"
    "| quantity | units | example |\n"
    "| --- | --- | --- |\n";

static void write_quantities(FILE *out)
{
    for (int dim = SAND_DIM_NUMBER; dim <= SAND_DIM_LENGTH; dim++) {
        const char *units = sand_dim_units((enum sand_dim)dim);
        fprintf(out, "| %s | %s | `%s` |\n", sand_dim_name((enum sand_dim)dim),
                *units ? units : "none", sand_dim_example((enum sand_dim)dim));
    }
    fputs("\nOversubscription is a ratio, down over up: `7:1` or `7`; below 1 only as a number, "
          "`0.5`.\nFractions may be percentages.\n",
          out);
    fprintf(out, "Whole numbers are at most %.0f unless a range is given.\n", SPEC_MOST_WHOLE);
}

static void write_range(FILE *out, const struct spec_field *field)
{
    const struct spec_range *range = &field->range;
    if (field->type == SPEC_TEXT || field->type == SPEC_WORD || field->type == SPEC_REF)
        return;
    if (range->open)
        fputs(", above 0", out);
    else if (range->below)
        fprintf(out, ", below %.0f", range->max);
    else if (range->max > 0 && range->max != SPEC_MOST_WHOLE)
        fprintf(out, ", %.0f to %.0f", range->min, range->max);
    else if (range->min > 0)
        fprintf(out, ", at least %.0f", range->min);
}

static void write_default(FILE *out, const struct spec_field *field)
{
    if (field->need == SPEC_REQUIRED)
        fputs("**required**", out);
    else if (field->need == SPEC_OPTIONAL)
        fputs("left out", out);
    else if (field->preset[0] == '\0')
        fputs("none", out);
    else
        fprintf(out, "`%s`", field->preset);
}

static void write_field_row(FILE *out, const struct spec_element *element,
                            const struct spec_field *field)
{
    fprintf(out, "| `%s` | ", field->name);
    spec_write_type(out, field);
    write_range(out, field);
    fputs(" | ", out);
    write_default(out, field);
    fprintf(out, " | %s", field->doc);
    if (field->form)
        fprintf(out, " Only in %s.", element->forms[field->form - 1]);
    fputs(" |\n", out);
}

static void write_child_row(FILE *out, const struct spec_element *element,
                            const struct spec_child *child)
{
    const char *many = child->max == 0 ? (child->min ? "one or more" : "any number")
                                       : (child->min ? "one" : "at most one");
    fprintf(out, "| [`%s`](#%s) | %s | %s", child->element->name, child->element->key, many,
            child->element->doc);
    if (child->form)
        fprintf(out, " Only in %s.", element->forms[child->form - 1]);
    fputs(" |\n", out);
}

static void write_forms(FILE *out, const struct spec_element *element)
{
    for (unsigned form = 0; form < element->n_forms; form++)
        fprintf(out, "%s%s", form == 0 ? "\nIt is either " : " or ", element->forms[form]);
    if (element->n_forms > 0)
        fputs(".\n", out);
}

static void write_element(FILE *out, const struct spec_element *element)
{
    fprintf(out, "\n<a id=\"%s\"></a>\n\n## %s\n\n%s\n", element->key, element->key, element->doc);
    write_forms(out, element);
    if (element->n_fields > 0)
        fputs("\n| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < element->n_fields; i++)
        write_field_row(out, element, &element->fields[i]);
    if (element->n_children > 0)
        fputs("\n| child | how many | meaning |\n| --- | --- | --- |\n", out);
    for (size_t i = 0; i < element->n_children; i++)
        write_child_row(out, element, &element->children[i]);
}

enum sand_rc sand_spec_write_format(FILE *out)
{
    fputs(intro, out);
    write_quantities(out);
    for (const struct spec_element *const *element = spec_elements; *element; element++)
        write_element(out, *element);
    return spec_write_end(out);
}

// ---- paths ----

static void write_paths(FILE *out, const struct spec_element *element, const char *prefix)
{
    char path[256];
    for (size_t i = 0; i < element->n_fields; i++) {
        const struct spec_field *field = &element->fields[i];
        fprintf(out, "%s@%s\t", prefix, field->name);
        spec_write_type(out, field);
        fputc('\t', out);
        if (field->need == SPEC_DEFAULT)
            fputs(field->preset, out);
        else
            fputs(field->need == SPEC_REQUIRED ? "required" : "left out", out);
        fputc('\n', out);
    }
    for (size_t i = 0; i < element->n_children; i++) {
        const struct spec_child *child = &element->children[i];
        const struct spec_field *key = &child->element->fields[0];
        if (child->max == 1)
            snprintf(path, sizeof path, "%s%s/", prefix, child->element->name);
        else
            snprintf(path, sizeof path, "%s%s[@%s='...']/", prefix, child->element->name,
                     key->name);
        write_paths(out, child->element, path);
    }
}

enum sand_rc sand_spec_write_paths(FILE *out)
{
    write_paths(out, &spec_experiment, "");
    return spec_write_end(out);
}
