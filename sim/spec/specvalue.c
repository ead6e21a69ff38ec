// One attribute: text into a member of the model, and back into canonical text.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "specbind.h"

// An attribute being bound, for messages.
struct subject {
    struct spec_binding *binding;
    const struct spec_field *field;
    const char *label, *text;
    struct sand_xml_place place;
};

static void refuse(const struct subject *s, const char *why)
{
    spec_error(s->binding, s->place, "%s attribute \"%s\" is \"%.60s%s\": %s", s->label,
               s->field->name, s->text, strlen(s->text) > 60 ? "..." : "", why);
}

// ---- numbers ----

static int check_range(const struct subject *s, double value)
{
    const struct spec_range *range = &s->field->range;
    enum sand_dim dim = s->field->type == SPEC_NS ? SAND_DIM_TIME : s->field->dim;
    char bound[40], why[160];
    if (value < range->min) {
        sand_quantity_format(range->min, dim, 6, bound, sizeof bound);
        snprintf(why, sizeof why, "is too small; write at least %s", bound);
    } else if (range->open && !(value > range->min)) {
        snprintf(why, sizeof why, "must be more than zero; write it like \"%s\"",
                 sand_dim_example(dim));
    } else if (range->max > 0 && (value > range->max || (range->below && value == range->max))) {
        sand_quantity_format(range->max, dim, 6, bound, sizeof bound);
        snprintf(why, sizeof why, "is too large; write %s %s",
                 range->below ? "less than" : "at most", bound);
    } else {
        return 1;
    }
    refuse(s, why);
    return 0;
}

static int parse(const struct subject *s, enum sand_dim dim, double *value)
{
    char why[200];
    if (sand_quantity_parse(s->text, dim, value, why, sizeof why) != SAND_OK) {
        refuse(s, why);
        return 0;
    }
    if (dim == SAND_DIM_COUNT && s->text[strspn(s->text, "0123456789")] != '\0') {
        refuse(s, "is to be written in plain digits");
        return 0;
    }
    return check_range(s, *value);
}

static void bind_number(const struct subject *s, void *member)
{
    double value;
    enum spec_type type = s->field->type;
    if (!parse(s, type == SPEC_NS ? SAND_DIM_TIME : s->field->dim, &value))
        return;
    if (type == SPEC_F64) {
        memcpy(member, &value, sizeof value);
    } else if (type == SPEC_U32) {
        uint32_t whole = (uint32_t)value;
        memcpy(member, &whole, sizeof whole);
    } else if (type == SPEC_U64) {
        uint64_t whole = (uint64_t)value;
        memcpy(member, &whole, sizeof whole);
    } else {
        int64_t ns = sand_ns_from_s(value);
        if (ns == INT64_MAX)
            refuse(s, "is too long; dates end after 292 years");
        else if (ns == 0 && s->field->range.open)
            refuse(s, "is shorter than a nanosecond");
        memcpy(member, &ns, sizeof ns);
    }
}

// ---- words and names ----

static void bind_word(const struct subject *s, const char *const *words, void *member)
{
    size_t n = 0;
    char list[200] = "", why[300];
    for (; words[n]; n++) {
        if (strcmp(words[n], s->text) == 0) {
            int value = (int)n;
            memcpy(member, &value, sizeof value);
            return;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s\"%s\"", n ? ", " : "", words[n]);
    }
    const char *near = sand_nearest(s->text, words, n);
    if (near)
        snprintf(why, sizeof why, "did you mean \"%s\"?", near);
    else
        snprintf(why, sizeof why, "write one of %s", list);
    refuse(s, why);
}

static int is_id(const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || n > 63 || !(isalnum((unsigned char)text[0]) || text[0] == '_'))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return 0;
    return 1;
}

static int two_digits(const char *text, int low, int high)
{
    if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]))
        return 0;
    int value = (text[0] - '0') * 10 + text[1] - '0';
    return value >= low && value <= high;
}

static int is_date(const char *text)
{
    size_t n = strlen(text);
    if (strspn(text, "0123456789") < 4 || (n != 4 && n != 7 && n != 10))
        return 0;
    if (n > 4 && (text[4] != '-' || !two_digits(text + 5, 1, 12)))
        return 0;
    return n < 10 || (text[7] == '-' && two_digits(text + 8, 1, 31));
}

static void bind_text(const struct subject *s, void *member)
{
    enum spec_type type = s->field->type;
    if (type == SPEC_ID && !is_id(s->text))
        refuse(s,
               "is no name; write letters, digits, \"-\", \"_\" and \".\", at most 63, beginning "
               "with a letter or digit");
    else if (type == SPEC_DATE && !is_date(s->text))
        refuse(s, "is no date; write YYYY-MM-DD, YYYY-MM or YYYY");
    else if (type == SPEC_TEXT && s->text[0] == '\0')
        refuse(s, "is empty");
    const char *copy = sand_arena_strdup(s->binding->arena, s->text);
    if (!copy)
        spec_no_memory(s->binding);
    memcpy(member, &copy, sizeof copy);
}

static void bind_path(const struct subject *s, const xmlNode *node, void *member)
{
    const char *real = NULL, *copy = NULL;
    enum sand_rc rc =
        sand_xml_inside(s->binding->xml, node, s->text, s->place, &real, s->binding->diag);
    if (rc == SAND_OK)
        copy = sand_arena_strdup(s->binding->arena, real);
    else
        s->binding->n_errors++;
    if (rc == SAND_ERR_NOMEM || (rc == SAND_OK && !copy))
        spec_no_memory(s->binding);
    memcpy(member, &copy, sizeof copy);
}

static void bind_reference(const struct subject *s, const xmlNode *node, void *model)
{
    const void *entry = spec_resolve(s->binding, s->field, s->label, s->text, s->place, node);
    if (!entry)
        return;
    if (s->field->extra) // "use": the entry's values become the element's own
        memcpy(model, entry, spec_kind_element(s->field->kind)->size);
    else
        memcpy(spec_at(model, s->field->offset), &entry, sizeof entry);
}

void spec_bind_value(struct spec_binding *binding, const struct spec_field *field,
                     const char *label, const char *text, struct sand_xml_place place,
                     const xmlNode *node, void *model, double *extra)
{
    static const char *const yes_no[] = {"no", "yes", NULL};
    const struct subject s = {binding, field, label, text, place};
    void *member = field->extra ? (void *)&extra[field->offset % SPEC_MAX_EXTRA]
                                : spec_at(model, field->offset);
    switch (field->type) {
    case SPEC_F64:
    case SPEC_U32:
    case SPEC_U64:
    case SPEC_NS:
        bind_number(&s, member);
        break;
    case SPEC_WORD:
        bind_word(&s, field->words, member);
        break;
    case SPEC_YESNO:
        bind_word(&s, yes_no, member);
        break;
    case SPEC_REF:
        bind_reference(&s, node, model);
        break;
    case SPEC_PATH:
        bind_path(&s, node, member);
        break;
    default:
        bind_text(&s, member);
        break;
    }
}

// ---- back to text ----

static double number_of(const struct spec_field *field, const void *member)
{
    uint32_t u32;
    uint64_t u64;
    int64_t ns;
    double value;
    switch (field->type) {
    case SPEC_U32:
        memcpy(&u32, member, sizeof u32);
        return u32;
    case SPEC_U64:
        memcpy(&u64, member, sizeof u64);
        return (double)u64; // at most 2^53, see the ranges
    case SPEC_NS:
        memcpy(&ns, member, sizeof ns);
        return sand_s_from_ns(ns);
    default:
        memcpy(&value, member, sizeof value);
        return value;
    }
}

static const char *word_of(const struct spec_field *field, const void *member)
{
    int index;
    memcpy(&index, member, sizeof index);
    return field->type == SPEC_YESNO ? (index ? "yes" : "no") : field->words[index];
}

static const char *pointer_text(const struct spec_field *field, const void *member)
{
    const void *pointer;
    memcpy(&pointer, member, sizeof pointer);
    if (!pointer || field->type != SPEC_REF)
        return pointer;
    // Every entry's struct begins with its id.
    const char *id;
    memcpy(&id, pointer, sizeof id);
    return id;
}

const char *spec_value_text(const struct spec_field *field, const void *model,
                            char buffer[SPEC_VALUE_SIZE])
{
    const void *member = spec_at_const(model, field->offset);
    switch (field->type) {
    case SPEC_WORD:
    case SPEC_YESNO:
        return word_of(field, member);
    case SPEC_U32:
    case SPEC_U64:
        snprintf(buffer, SPEC_VALUE_SIZE, "%.0f", number_of(field, member));
        return buffer;
    case SPEC_NS:
        return sand_quantity_canonical(number_of(field, member), SAND_DIM_TIME, buffer,
                                       SPEC_VALUE_SIZE);
    case SPEC_F64: {
        double value = number_of(field, member);
        if (field->need == SPEC_OPTIONAL && value == field->unset)
            return NULL;
        return sand_quantity_canonical(value, field->dim, buffer, SPEC_VALUE_SIZE);
    }
    default:
        return pointer_text(field, member);
    }
}

// A form of children only is there if one of them is.
static int has_child_of_form(const struct spec_element *element, unsigned form, const void *model)
{
    for (size_t i = 0; i < element->n_children; i++) {
        const struct spec_child *child = &element->children[i];
        if (child->form == form && child->place == SPEC_HERE &&
            spec_is_present(child->element, 0, spec_at_const(model, child->offset)))
            return 1;
    }
    return 0;
}

int spec_is_present(const struct spec_element *element, unsigned form, const void *model)
{
    static const char zero[16];
    if (element->present && form == 0)
        return element->present(model);
    const struct spec_field *field = spec_signature(element, form);
    if (!field)
        return form == 0 || has_child_of_form(element, form, model);
    const void *member = spec_at_const(model, field->offset);
    switch (field->type) {
    case SPEC_F64:
    case SPEC_U32:
    case SPEC_U64:
    case SPEC_NS:
        return number_of(field, member) != 0;
    default:
        return memcmp(member, zero, sizeof(void *)) != 0;
    }
}

unsigned spec_form(const struct spec_element *element, const void *model)
{
    for (unsigned form = 1; form <= element->n_forms; form++)
        if (spec_is_present(element, form, model))
            return form;
    // A form with nothing of its own in the model (a count that became a rate) is told as the
    // first.
    return element->n_forms > 0 ? 1 : 0;
}
