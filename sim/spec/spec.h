// From XML to the frozen model, by one field table per element.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_SPEC_H
#define SAND_SIM_SPEC_SPEC_H

#include <stddef.h>
#include <stdio.h>

#include "collspec.h"
#include "diag.h"
#include "experiment.h"
#include "steprules.h"

struct sand_spec; // owns the model and everything it points at

struct sand_spec_options {
    const char *catalogue; // directory that `sandtable:` resolves in; NULL: the built-in search
    const char *const *settings; // "path=value" overrides of --set
    size_t n_settings;
    const char *trace; // a file, anywhere, that takes the place of the one <trace>'s; NULL: none
};

typedef enum sand_rc sand_spec_load_fn(const char *path, const struct sand_spec_options *options,
                                       struct sand_spec **spec, struct sand_diag *diag);

// Reads, includes, resolves the catalogue, binds, checks. Reports every problem in `diag` and then
// fails once (SAND_ERR_INPUT). Warnings (a link faster than its catalogue entry) do not fail.
enum sand_rc sand_spec_load(const char *path, const struct sand_spec_options *options,
                            struct sand_spec **spec, struct sand_diag *diag);
void sand_spec_free(struct sand_spec *spec);
const struct sand_experiment *sand_spec_experiment(const struct sand_spec *spec);

// The real paths of all files that made it, so that no output is written over one of them; a file
// may stand there twice. Owned by `spec`.
const char *const *sand_spec_inputs(const struct sand_spec *spec, size_t *n);

// Reads <step_rules>, the same way; there are no settings.
enum sand_rc sand_spec_load_rules(const char *path, const struct sand_spec_options *options,
                                  struct sand_spec **spec, struct sand_diag *diag);
const struct sand_step_rules *sand_spec_rules(const struct sand_spec *spec);

// Reads an <experiment>, or a <cluster> alone, whose experiment is then empty but for it.
enum sand_rc sand_spec_load_cluster(const char *path, const struct sand_spec_options *options,
                                    struct sand_spec **spec, struct sand_diag *diag);

// Reads <collectives>, <collective_rules>, or the <node> of a catalogue file, the same way.
enum sand_rc sand_spec_load_collectives(const char *path, const struct sand_spec_options *options,
                                        struct sand_spec **spec, struct sand_diag *diag);
const struct sand_collectives *sand_spec_collectives(const struct sand_spec *spec);
enum sand_rc sand_spec_load_coll_rules(const char *path, const struct sand_spec_options *options,
                                       struct sand_spec **spec, struct sand_diag *diag);
const struct sand_coll_rules *sand_spec_coll_rules(const struct sand_spec *spec);
enum sand_rc sand_spec_load_node(const char *path, const struct sand_spec_options *options,
                                 struct sand_spec **spec, struct sand_diag *diag);
const struct sand_node_type *sand_spec_node(const struct sand_spec *spec);

// The RELAX NG schema (XML syntax) and the format page (Markdown), generated from the field tables.
enum sand_rc sand_spec_write_schema(FILE *out);
enum sand_rc sand_spec_write_format(FILE *out);
// Every path that --set takes, with type, unit and default, one per line.
enum sand_rc sand_spec_write_paths(FILE *out);

#endif
