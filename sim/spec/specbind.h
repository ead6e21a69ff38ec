// The binder: from XML nodes to model structs, reporting every problem.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_SPECBIND_H
#define SAND_SIM_SPEC_SPECBIND_H

#include <libxml/tree.h>

#include "experiment.h"
#include "mem.h"
#include "spectable.h"
#include "xmltree.h"

// A catalogue element that something may refer to.
struct spec_entry {
    struct spec_entry *next;
    enum spec_kind kind;
    const char *id;
    int from_catalogue; // else from the experiment's definitions
    const xmlNode *node;
    void *model;
    int bound;  // or being bound
    int in_use; // set by spec_mark_use
};

struct spec_binding {
    struct sand_xml *xml;
    struct sand_arena *arena;
    struct sand_diag *diag;
    struct sand_experiment *experiment;
    struct spec_entry *entries, **last;
    const char *trace; // of the options
    size_t n_errors;
    enum sand_rc rc; // SAND_ERR_NOMEM once memory ran out: then nothing else counts
};

// Binds `node` (NULL: the element was left out and takes its defaults) into `model`.
void spec_bind(struct spec_binding *binding, const struct spec_element *element,
               const xmlNode *node, void *model);

// One attribute's text into its member (or extra[offset]). `label` names the element in messages.
void spec_bind_value(struct spec_binding *binding, const struct spec_field *field,
                     const char *label, const char *text, struct sand_xml_place place,
                     const xmlNode *node, void *model, double *extra);

// What the reference `text` means, bound; NULL after a message. `node` is where it stands.
const void *spec_resolve(struct spec_binding *binding, const struct spec_field *field,
                         const char *label, const char *text, struct sand_xml_place place,
                         const xmlNode *node);

// Enters the children of the root's <definitions>, before anything can refer to them.
void spec_define(struct spec_binding *binding, const xmlNode *root);

// Binds every definition, used or not, so that all their problems are reported.
void spec_bind_definitions(struct spec_binding *binding);

// A new entry of the arena at the end of the list; NULL when out of memory.
struct spec_entry *spec_entry_add(struct spec_binding *binding, enum spec_kind kind,
                                  const char *id);

// Reports at a place. Errors are counted.
void spec_error(struct spec_binding *binding, struct sand_xml_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void spec_warning(struct spec_binding *binding, struct sand_xml_place place, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

// Marks that memory ran out and returns NULL.
void *spec_no_memory(struct spec_binding *binding);

// Whether `node` is an element of our namespace called `name` (NULL: any).
int spec_is_element(const xmlNode *node, const char *name);

// A member of a model struct.
static inline void *spec_at(void *model, size_t offset)
{
    return (char *)model + offset;
}
static inline const void *spec_at_const(const void *model, size_t offset)
{
    return (const char *)model + offset;
}

// Whether the element (form 0) or one of its forms is there in the bound model.
int spec_is_present(const struct spec_element *element, unsigned form, const void *model);

// The form of a bound element; 0 if it has none.
unsigned spec_form(const struct spec_element *element, const void *model);

// The canonical text of a member in `buffer`, or a string of the model; NULL if it is left out.
enum { SPEC_VALUE_SIZE = 80 };
const char *spec_value_text(const struct spec_field *field, const void *model,
                            char buffer[SPEC_VALUE_SIZE]);

// Marks the entries the experiment uses and lists experiment->assumptions.
enum sand_rc spec_mark_use(struct spec_binding *binding);

// Writes experiment->canonical and ->digest. After spec_mark_use.
enum sand_rc spec_canonicalise(struct spec_binding *binding);

// Applies "path=value" to the tree; problems are counted in the binding.
void spec_apply_setting(struct spec_binding *binding, xmlNode *root, const char *setting);

#endif
