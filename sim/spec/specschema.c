// The RELAX NG schema, from the tables: the contract for editors, and the last gate of the loader.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <string.h>

#include "spec.h"
#include "specwrite.h"
#include "xmltext.h"

// A decimal number as sand_quantity_parse takes it, unsigned.
#define NUMBER "\\+?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"
#define NAME "[A-Za-z0-9_][A-Za-z0-9._\\-]{0,62}"
#define DATE "[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?"

__attribute__((format(printf, 3, 4))) static void line(FILE *out, int depth, const char *format,
                                                       ...)
{
    va_list args;
    va_start(args, format);
    fprintf(out, "%*s", 2 * depth, "");
    vfprintf(out, format, args);
    fputc('\n', out);
    va_end(args);
}

static void write_doc(FILE *out, int depth, const char *doc)
{
    fprintf(out, "%*s<a:documentation>", 2 * depth, "");
    sand_xml_text(out, doc);
    fputs("</a:documentation>\n", out);
}

// ---- values ----

static void write_pattern(FILE *out, int depth, const char *head, const char *tail)
{
    line(out, depth, "<data type=\"string\"><param name=\"pattern\">%s%s</param></data>", head,
         tail);
}

static void write_whole(FILE *out, int depth, const struct spec_range *range)
{
    char digits[40];
    if (range->max > 0 && range->max < 10)
        snprintf(digits, sizeof digits, "0*[%.0f-%.0f]", range->min, range->max);
    else
        snprintf(digits, sizeof digits, "%s",
                 range->min >= 1 || range->open ? "0*[1-9][0-9]*" : "[0-9]+");
    write_pattern(out, depth, digits, "");
}

static void write_quantity(FILE *out, int depth, enum sand_dim dim)
{
    char tail[400] = " ?";
    size_t used = strlen(tail);
    const char *units = sand_dim_units(dim);
    if (dim == SAND_DIM_RATIO) {
        write_pattern(out, depth, NUMBER, "(:" NUMBER ")?");
        return;
    }
    for (const char *unit = units; *unit;) {
        size_t n = strcspn(unit, " ");
        used += (size_t)snprintf(tail + used, sizeof tail - used, "%c%.*s",
                                 unit == units ? '(' : '|', (int)n, unit);
        unit += n + (unit[n] == ' ');
    }
    if (*units)
        snprintf(tail + used, sizeof tail - used, ")%s", dim == SAND_DIM_FRACTION ? "?" : "");
    write_pattern(out, depth, NUMBER, tail);
}

static void write_words(FILE *out, int depth, const char *const *words)
{
    line(out, depth, "<choice>");
    for (; *words; words++)
        line(out, depth + 1, "<value type=\"string\">%s</value>", *words);
    line(out, depth, "</choice>");
}

static void write_value(FILE *out, int depth, const struct spec_field *field)
{
    static const char *const yes_no[] = {"yes", "no", NULL};
    char reference[80];
    switch (field->type) {
    case SPEC_NS:
        write_quantity(out, depth, SAND_DIM_TIME);
        break;
    case SPEC_F64:
    case SPEC_U32:
    case SPEC_U64:
        if (field->dim == SAND_DIM_COUNT)
            write_whole(out, depth, &field->range);
        else
            write_quantity(out, depth, field->dim);
        break;
    case SPEC_WORD:
        write_words(out, depth, field->words);
        break;
    case SPEC_YESNO:
        write_words(out, depth, yes_no);
        break;
    case SPEC_ID:
        write_pattern(out, depth, NAME, "");
        break;
    case SPEC_DATE:
        write_pattern(out, depth, DATE, "");
        break;
    case SPEC_REF:
        snprintf(reference, sizeof reference, "(sandtable:%s/)?", spec_kind_name(field->kind));
        write_pattern(out, depth, reference, NAME);
        break;
    case SPEC_NAMES:
        line(out, depth, "<text/>");
        break;
    default:
        line(out, depth, "<data type=\"string\"><param name=\"minLength\">1</param></data>");
        break;
    }
}

// ---- elements ----

static void write_required(FILE *out, int depth, const struct spec_field *field)
{
    line(out, depth, "<attribute name=\"%s\">", field->name);
    write_doc(out, depth + 1, field->doc);
    write_value(out, depth + 1, field);
    line(out, depth, "</attribute>");
}

static int same_value(const struct spec_field *a, const struct spec_field *b)
{
    return a->form == b->form && a->type == b->type && a->dim == b->dim && a->words == b->words &&
           a->kind == b->kind && a->range.min == b->range.min && a->range.max == b->range.max &&
           a->range.open == b->range.open && a->range.below == b->range.below;
}

// Optional attributes fall into two groups: what is written with a unit, and all else.
struct group {
    unsigned form;
    int has_unit;
};

static int has_unit(const struct spec_field *field)
{
    const int is_quantity = field->type == SPEC_F64 || field->type == SPEC_NS;
    return is_quantity && field->dim != SAND_DIM_NUMBER && field->dim != SAND_DIM_COUNT &&
           field->dim != SAND_DIM_RATIO && field->dim != SAND_DIM_FRACTION;
}

static int is_optional(const struct spec_field *field, struct group group)
{
    return field->form == group.form && field->need != SPEC_REQUIRED &&
           has_unit(field) == group.has_unit;
}

// Whether an optional attribute before `index` takes the same values.
static int is_written(const struct spec_element *element, size_t index)
{
    const struct spec_field *fields = element->fields;
    const struct group group = {fields[index].form, has_unit(&fields[index])};
    for (size_t i = 0; i < index; i++)
        if (is_optional(&fields[i], group) && same_value(&fields[i], &fields[index]))
            return 1;
    return 0;
}

static void write_names(FILE *out, int depth, const struct spec_element *element,
                        struct group group)
{
    line(out, depth, "<choice>");
    for (size_t i = 0; i < element->n_fields; i++) {
        if (!is_optional(&element->fields[i], group))
            continue;
        line(out, depth + 1, "<name ns=\"\">%s</name>", element->fields[i].name);
        write_doc(out, depth + 1, element->fields[i].doc);
    }
    line(out, depth, "</choice>");
}

static void write_values(FILE *out, int depth, const struct spec_element *element,
                         struct group group)
{
    size_t n = 0;
    for (size_t i = 0; i < element->n_fields; i++)
        n += is_optional(&element->fields[i], group) && !is_written(element, i);
    if (n > 1)
        line(out, depth, "<choice>");
    for (size_t i = 0; i < element->n_fields; i++)
        if (is_optional(&element->fields[i], group) && !is_written(element, i))
            write_value(out, depth + (n > 1), &element->fields[i]);
    if (n > 1)
        line(out, depth, "</choice>");
}

// The optional attributes of a group as one pattern with several names: any of them, each at most
// once as XML has it, with a value that one of them takes; which one, the binder checks. Written
// one by one, or by kind of value, they would say more, but libxml2 follows every way to take some
// and leave others (2^n states for n attributes; the product of all kinds); this way it takes them
// in order.
static void write_group(FILE *out, int depth, const struct spec_element *element,
                        struct group group)
{
    size_t n = 0;
    for (size_t i = 0; i < element->n_fields; i++)
        n += is_optional(&element->fields[i], group) ? 1 : 0;
    if (n == 0)
        return;
    line(out, depth, "<zeroOrMore>");
    line(out, depth + 1, "<attribute>");
    write_names(out, depth + 2, element, group);
    write_values(out, depth + 2, element, group);
    line(out, depth + 1, "</attribute>");
    line(out, depth, "</zeroOrMore>");
}

static void write_all_optional(FILE *out, int depth, const struct spec_element *element,
                               unsigned form)
{
    write_group(out, depth, element, (struct group){form, 0});
    write_group(out, depth, element, (struct group){form, 1});
}

static void write_all_required(FILE *out, int depth, const struct spec_element *element,
                               unsigned form)
{
    for (size_t i = 0; i < element->n_fields; i++)
        if (element->fields[i].form == form && element->fields[i].need == SPEC_REQUIRED)
            write_required(out, depth, &element->fields[i]);
}

static void write_child(FILE *out, int depth, const struct spec_child *child)
{
    const char *key = child->element->key;
    const char *wrap = child->max == 0 ? (child->min ? "oneOrMore" : "zeroOrMore") : "optional";
    if (child->min == 1 && child->max == 1)
        line(out, depth, "<ref name=\"%s\"/>", key);
    else
        line(out, depth, "<%s><ref name=\"%s\"/></%s>", wrap, key, wrap);
}

// <definitions>, <jobs>, <wired>: any number of each, written as one choice. libxml2 takes time
// exponential in the number of elements for an interleave of repetitions.
static void write_any_of(FILE *out, int depth, const struct spec_element *element)
{
    const char *wrap = element == &spec_jobs ? "oneOrMore" : "zeroOrMore";
    line(out, depth, "<%s>", wrap);
    line(out, depth + 1, "<choice>");
    for (size_t i = 0; i < element->n_children; i++)
        line(out, depth + 2, "<ref name=\"%s\"/>", element->children[i].element->key);
    line(out, depth + 1, "</choice>");
    line(out, depth, "</%s>", wrap);
}

static int takes_any_of(const struct spec_element *element)
{
    if (element == &spec_jobs)
        return 1;
    for (size_t i = 0; i < element->n_children; i++)
        if (element->children[i].min > 0 || element->children[i].max > 0)
            return 0;
    return element->n_children > 1;
}

// The children of form 0 and `form`, in any order.
static void write_children(FILE *out, int depth, const struct spec_element *element, unsigned form)
{
    const char *group = element->n_children > 1 ? "interleave" : "group";
    if (takes_any_of(element)) {
        write_any_of(out, depth, element);
        return;
    }
    if (element->n_children > 0)
        line(out, depth, "<%s>", group);
    for (size_t i = 0; i < element->n_children; i++)
        if (element->children[i].form == 0 || element->children[i].form == form)
            write_child(out, depth + 1, &element->children[i]);
    if (element->n_children > 0)
        line(out, depth, "</%s>", group);
}

static void write_forms(FILE *out, int depth, const struct spec_element *element)
{
    line(out, depth, "<choice>");
    for (unsigned form = 1; form <= element->n_forms; form++) {
        line(out, depth + 1, "<group>");
        write_all_required(out, depth + 2, element, form);
        write_children(out, depth + 2, element, form); // once: not for every state that follows
        write_all_optional(out, depth + 2, element, form);
        line(out, depth + 1, "</group>");
    }
    line(out, depth, "</choice>");
}

static void write_define(FILE *out, const struct spec_element *element)
{
    line(out, 1, "<define name=\"%s\">", element->key);
    line(out, 2, "<element name=\"%s\">", element->name);
    write_doc(out, 3, element->doc);
    write_all_required(out, 3, element, 0);
    if (element->n_forms > 0)
        write_forms(out, 3, element);
    else
        write_children(out, 3, element, 0);
    write_all_optional(out, 3, element, 0);
    line(out, 2, "</element>");
    line(out, 1, "</define>");
}

// Files hold an experiment, a catalogue element, or a part that an experiment includes.
static int is_root(const struct spec_element *element)
{
    return element->kind != SPEC_NO_KIND || element == &spec_experiment ||
           element == &spec_step_rules || element == &spec_coll_rules ||
           element == &spec_wired || // apart from its cluster, see check_experiment

           spec_child_find(&spec_experiment, element->name) != NULL;
}

enum sand_rc sand_spec_write_schema(FILE *out)
{
    line(out, 0, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    line(out, 0,
         "<!-- Generated from the field tables of sim/spec; do not edit. For documents after "
         "XInclude. -->");
    line(out, 0,
         "<grammar xmlns=\"http://relaxng.org/ns/structure/1.0\" ns=\"" SPEC_NAMESPACE "\"\n"
         "    xmlns:a=\"http://relaxng.org/ns/compatibility/annotations/1.0\"\n"
         "    datatypeLibrary=\"http://www.w3.org/2001/XMLSchema-datatypes\">");
    line(out, 1, "<start>");
    line(out, 2, "<choice>");
    for (const struct spec_element *const *element = spec_elements; *element; element++)
        if (is_root(*element))
            line(out, 3, "<ref name=\"%s\"/>", (*element)->key);
    line(out, 2, "</choice>");
    line(out, 1, "</start>");
    for (const struct spec_element *const *element = spec_elements; *element; element++)
        write_define(out, *element);
    line(out, 0, "</grammar>");
    return spec_write_end(out);
}
