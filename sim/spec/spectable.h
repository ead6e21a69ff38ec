// The tables everything in this room is made of: one field table per element, one table of
// elements. Binder, schema, format page, --set paths and canonical text all walk these and know
// nothing else. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_SPECTABLE_H
#define SAND_SIM_SPEC_SPECTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "units.h"

#define SPEC_NAMESPACE "urn:sandtable:1"

struct spec_binding;
struct spec_element;
struct _xmlNode;

// How an attribute's text is read, and the C type of the member it goes to.
enum spec_type {
    SPEC_F64,   // double: a quantity of `dim`
    SPEC_U32,   // uint32_t: a whole number
    SPEC_U64,   // uint64_t: a whole number
    SPEC_NS,    // int64_t: a time, in nanoseconds
    SPEC_WORD,  // enum: the index in `words`
    SPEC_YESNO, // int
    SPEC_TEXT,  // const char *
    SPEC_ID,    // const char *: a name, unique among its siblings
    SPEC_DATE,  // const char *: YYYY, YYYY-MM or YYYY-MM-DD
    SPEC_NAMES, // const char *: attribute names of the element or its children
    SPEC_REF,   // const void *: an entry of `kind`
    SPEC_PATH   // const char *: the real path of a file in the experiment's directory
};

// What can be referred to.
enum spec_kind {
    SPEC_NO_KIND,
    SPEC_GPU,
    SPEC_LINK,
    SPEC_NODE,
    SPEC_KERNELS,
    SPEC_SOFTWARE,
    SPEC_STORAGE,
    SPEC_MODEL,
    SPEC_MIX,
    SPEC_PRICES,
    SPEC_COLLECTIVES,
    SPEC_KINDS
};

enum spec_need { SPEC_REQUIRED, SPEC_DEFAULT, SPEC_OPTIONAL };

// The value must lie in [min, max]; `open` excludes min, `below` excludes max, max 0 means no upper
// bound.
struct spec_range {
    double min, max;
    int open, below;
};

struct spec_field {
    const char *name;
    enum spec_type type;
    enum sand_dim dim;
    size_t offset; // in the model struct; with `extra`, the index in the binder's extras
    int extra;     // input only: not in the model, and not in the canonical text
    enum spec_need need;
    const char *preset; // SPEC_DEFAULT: the default as text
    double unset;       // SPEC_OPTIONAL, SPEC_F64: the value when left out
    unsigned form;      // 0: always; else belongs to this form of the element
    struct spec_range range;
    const char *const *words; // NULL-terminated
    enum spec_kind kind;
    const char *doc;
};

// Where a child goes.
enum spec_place {
    SPEC_HERE,   // into the parent's struct at `offset`
    SPEC_ARRAY,  // a new array: pointer at `offset`, size_t count at `count_offset`
    SPEC_ENTRIES // definitions: bound when something refers to them
};

struct spec_child {
    const struct spec_element *element;
    enum spec_place place;
    size_t offset, count_offset;
    uint32_t min, max; // max 0: any number
    int presets;       // SPEC_HERE, left out: bind every default (else the struct stays zero)
    unsigned form;
};

// An element. `forms` names the alternatives its fields and children with form > 0 belong to; a
// document uses exactly one of them, chosen by what is there.
struct spec_element {
    const char *name; // in XML
    const char *key;  // unique: name of the schema's definition, heading of the format page
    const char *doc;
    const struct spec_field *fields;
    size_t n_fields;
    const struct spec_child *children;
    size_t n_children;
    const char *const *forms; // [form - 1]
    unsigned n_forms;
    size_t size;         // of the model struct
    enum spec_kind kind; // of a catalogue element
    int addable;         // --set may create one
    // Whether a bound struct that several elements share is of this one; NULL: if its signature is
    // set.
    int (*present)(const void *model);
    // Derives what the text does not state and checks what takes more than one attribute. Called
    // after the children are bound if every attribute was good (a child may not be: its struct is
    // then partly zero); `node` is NULL if the element was left out.
    void (*finish)(struct spec_binding *binding, const struct _xmlNode *node, void *model,
                   const double *extra);
};

enum { SPEC_MAX_EXTRA = 4, SPEC_MAX_FIELDS = 40 };

extern const struct spec_element spec_experiment, spec_cluster, spec_fat_tree, spec_rail_optimised,
    spec_rail_only, spec_dragonfly_plus, spec_dragonfly, spec_torus, spec_wired, spec_switch,
    spec_port, spec_cable, spec_leaf_group, spec_node_group, spec_impaired, spec_cluster_storage,
    spec_storage_ports, spec_jobs, spec_job, spec_split, spec_checkpoint, spec_param, spec_faults,
    spec_fault, spec_degradation, spec_policies, spec_schedule, spec_place_policy, spec_recover,
    spec_definitions;
extern const struct spec_element spec_gpu, spec_link, spec_node, spec_kernels, spec_software,
    spec_storage, spec_model, spec_mix, spec_prices;
extern const struct spec_element spec_latent_attention, spec_experts, spec_window,
    spec_split_experts, spec_pipeline, spec_split_collectives;
extern const struct spec_element spec_trace, spec_trace_class, spec_jobs_mix, spec_mix_hour,
    spec_mix_day, spec_mix_class, spec_mix_size, spec_mix_end, spec_mix_figure;
// Words that several tables share; NULL-terminated.
extern const char *const spec_laws[];
extern const struct spec_element spec_step_rules, spec_stack, spec_machine, spec_known, spec_recipe,
    spec_flag;
extern const struct spec_element spec_collectives, spec_coll_rules, spec_coll_kernel,
    spec_coll_machine, spec_coll_network, spec_coll_flag;

// Words that more than one table takes.
extern const char *const spec_attention_words[], *const spec_order_words[],
                                                     *const spec_dispatch_words[];

// Every element, in the order of the format page; NULL-terminated.
extern const struct spec_element *const spec_elements[];

// The element of a catalogue kind, and the kind's name.
const struct spec_element *spec_kind_element(enum spec_kind kind);
const char *spec_kind_name(enum spec_kind kind);

// Members of a table; NULL if there is none of that name.
const struct spec_field *spec_field_find(const struct spec_element *element, const char *name);
const struct spec_child *spec_child_find(const struct spec_element *element, const char *name);

// The field that tells whether an element (or a form of it) is there: its first required one.
const struct spec_field *spec_signature(const struct spec_element *element, unsigned form);

// Table entries.
#define SPEC_MEMBER(type_name, struct_name, member)                                                \
    .type = (type_name), .offset = offsetof(struct_name, member)
#define SPEC_QUANTITY(dimension, struct_name, member)                                              \
    SPEC_MEMBER(SPEC_F64, struct_name, member), .dim = (dimension)
#define SPEC_MOST_WHOLE 4294967294.0
#define SPEC_WHOLE(struct_name, member)                                                            \
    SPEC_MEMBER(SPEC_U32, struct_name, member), .dim = SAND_DIM_COUNT,                             \
                                                .range = {0, SPEC_MOST_WHOLE, 0, 0}
#define SPEC_SIZE(struct_name, member)                                                             \
    SPEC_MEMBER(SPEC_U32, struct_name, member), .dim = SAND_DIM_COUNT,                             \
                                                .range = {1, SPEC_MOST_WHOLE, 0, 0}
#define SPEC_WITHIN(least, most, struct_name, member)                                              \
    SPEC_MEMBER(SPEC_U32, struct_name, member), .dim = SAND_DIM_COUNT, .range = {least, most, 0, 0}
#define SPEC_DATE_NS(struct_name, member)                                                          \
    SPEC_MEMBER(SPEC_NS, struct_name, member), .dim = SAND_DIM_TIME
#define SPEC_REFERENCE(to, struct_name, member)                                                    \
    SPEC_MEMBER(SPEC_REF, struct_name, member), .kind = (to)
#define SPEC_EXTRA(dimension, index)                                                               \
    .type = SPEC_F64, .dim = (dimension), .offset = (index), .extra = 1
#define SPEC_PRESET(text) .need = SPEC_DEFAULT, .preset = (text)
#define SPEC_POSITIVE .range = {0, 0, 1, 0}
#define SPEC_BELOW_ONE .range = {0, 1, 0, 1}
#define SPEC_COUNT(array) (sizeof(array) / sizeof(array)[0])

// The id and provenance that begin every catalogue element.
#define SPEC_PROVENANCE(struct_name)                                                               \
    {.name = "source",                                                                             \
     SPEC_MEMBER(SPEC_TEXT, struct_name, from.source),                                             \
     .doc = "Where the numbers come from."},                                                       \
        {.name = "date",                                                                           \
         SPEC_MEMBER(SPEC_DATE, struct_name, from.date),                                           \
         .doc = "When the source was published or read."},                                         \
    {                                                                                              \
        .name = "assumed", SPEC_MEMBER(SPEC_NAMES, struct_name, from.assumed), SPEC_PRESET(""),    \
        .doc =                                                                                     \
            "Attributes that no source confirms; printed as assumed wherever the entry is used."   \
    }
#define SPEC_ENTRY_HEAD(struct_name)                                                               \
    {.name = "id",                                                                                 \
     SPEC_MEMBER(SPEC_ID, struct_name, id),                                                        \
     .doc = "Name; the file is called id.xml."},                                                   \
        SPEC_PROVENANCE(struct_name)

// The shared object of a policy.
#define SPEC_PLUGIN(struct_name, member)                                                           \
    {                                                                                              \
        .name = "plugin", SPEC_MEMBER(SPEC_PATH, struct_name, member), .need = SPEC_OPTIONAL,      \
        .doc = "A shared object in the experiment's directory; without it the policy is built in." \
    }

#endif
