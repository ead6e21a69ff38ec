// What the subcommands share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLI_H
#define SAND_SIM_CLI_CLI_H

#include <argp.h>
#include <stddef.h>
#include <stdio.h>

#include "diag.h"
#include "experiment.h"
#include "spec.h"
#include "summary.h"
#include "sweep.h"

struct sand_jobset;

// ---- dispatch
// -------------------------------------------------------------------------------------

// A subcommand: argv[0] is "sandtable VERB"; returns the result whose exit status the program has.
struct sand_verb {
    const char *name, *summary;
    enum sand_rc (*run)(int argc, char **argv);
};

// A command with subcommands.
struct sand_verb_group {
    const char *noun;       // what messages call its verbs: "subcommand"
    const char *args, *doc; // of argp; the list of verbs is added
    const struct sand_verb *const *verbs;
    size_t n_verbs;
    const char *closing; // stands below the list; NULL: nothing
};
// Runs the verb that the first argument names; argv[0] is what messages call the group.
enum sand_rc sand_cli_run_group(const struct sand_verb_group *group, int argc, char **argv);

extern const struct sand_verb sand_verb_run, sand_verb_validate, sand_verb_step, sand_verb_show,
    sand_verb_policy, sand_verb_schema, sand_verb_validate_schedule, sand_verb_cache,
    sand_verb_explain;
extern const struct sand_verb sand_verb_fabric, sand_verb_export, sand_verb_import;
extern const struct sand_verb sand_verb_validate_steps, sand_verb_validate_collectives,
    sand_verb_collective, sand_verb_backtest, sand_verb_compare, sand_verb_sweep;

// Runs the program; returns its exit status.
int sand_cli_main(int argc, char **argv);

// ---- options
// --------------------------------------------------------------------------------------

// argp_parse, with "did you mean" for a misspelt long option. Leaves the process on --help and on a
// usage error, as argp does.
void sand_cli_parse(const struct argp *argp, int argc, char **argv, void *input);

// An argp parser with one child and nothing of its own: the child gets its input.
error_t sand_cli_pass_input(int key, char *arg, struct argp_state *state);

// A whole number from `min` to 4294967294; argp_error otherwise.
uint32_t sand_cli_count(struct argp_state *state, const char *option, const char *text,
                        uint32_t min);

// Takes one positional argument into *slot; argp_error when there is more than one.
void sand_cli_one_argument(struct argp_state *state, const char **slot, const char *argument);

// A file to be written. Refused is one that is there already unless `force`, and always what is no
// regular file and what is an input: the same file by device and inode, whatever it is called.
// NULLs among the `n` inputs are passed over.
struct sand_cli_output {
    const char *option, *path; // "-o", and NULL for standard output
    int force;
};
enum sand_rc sand_cli_check_output(const struct sand_cli_output *output, const char *const *inputs,
                                   size_t n, struct sand_diag *diag);

// Refuses two outputs that are one file, be it there yet or not.
enum sand_rc sand_cli_check_apart(const struct sand_cli_output *a, const struct sand_cli_output *b,
                                  struct sand_diag *diag);

// --data and --set, for verbs that read an experiment. Use as argp child with input `struct
// sand_cli_load *`.
struct sand_cli_load {
    const char *file; // EXPERIMENT.xml
    const char *data, *trace;
    const char **settings;
    size_t n_settings, capacity;
    int is_optional; // the verb can do without a file
};
extern const struct argp sand_cli_load_argp;
void sand_cli_load_add(struct sand_cli_load *load, struct argp_state *state, const char *setting);
void sand_cli_load_clear(struct sand_cli_load *load);

// --cache and --no-cache, for verbs that simulate steps. Use as argp child with input `struct
// sand_cli_cache *`; afterwards `dir` is the directory of the store, NULL for none.
struct sand_cli_cache {
    const char *dir;
    char chosen[4096]; // what $SANDTABLE_CACHE, $XDG_CACHE_HOME or $HOME say
};
extern const struct argp sand_cli_cache_argp;
// What stored solutions depend on besides their problem: physics, libraries, this very program.
const char *sand_cli_cache_versions(void);

// ---- experiments
// ----------------------------------------------------------------------------------

// The catalogue's directory: --data, $SANDTABLE_DATA, what is installed, or the source tree.
const char *sand_cli_catalogue(const char *data, char *buffer, size_t size);

// Reads and binds the experiment.
enum sand_rc sand_cli_load_spec(const struct sand_cli_load *load, struct sand_spec **spec,
                                struct sand_diag *diag);

// Reads the file as something else.
enum sand_rc sand_cli_load_file(const struct sand_cli_load *load, sand_spec_load_fn *read,
                                struct sand_spec **spec, struct sand_diag *diag);

// Refuses a `name` that `directory` of the catalogue does not have, and tells which it has.
enum sand_rc sand_cli_check_entry(const struct sand_cli_load *load, const char *option,
                                  const char *directory, const char *name, struct sand_diag *diag);

// Reads rules of measurements, collectives or a node: `path`, or if NULL the file `usual` of the
// catalogue's directory.
enum sand_rc sand_cli_load_entry(const struct sand_cli_load *load, sand_spec_load_fn *read,
                                 const char *path, const char *usual, struct sand_spec **spec,
                                 struct sand_diag *diag);

// Reads the collective kernels of `path`, or if NULL the usual ones of what joins the cluster's
// GPUs: for a <cluster> alone, whose experiment names none.
enum sand_rc sand_cli_load_collectives(const struct sand_cli_load *load,
                                       const struct sand_cluster *cluster, const char *path,
                                       struct sand_spec **spec, struct sand_diag *diag);

// What the binder cannot know: traces, mixes, splits, memory, the fabric's ports, policies and
// their parameters. Reports every problem, then fails once. Else *jobset is to be closed; NULL: not
// wanted. `rows` (may be NULL) gets every row of a trace that is not taken as it stands, as CSV.
enum sand_rc sand_cli_check(const struct sand_experiment *experiment, FILE *rows,
                            struct sand_jobset **jobset, struct sand_diag *diag);

// ---- terminal
// -------------------------------------------------------------------------------------

// A progress bar on stderr; does nothing unless stderr is a terminal and CI is unset. `units` 0: no
// count beside it.
struct sand_cli_progress {
    int active, shown;
    int permille;
    uint32_t units_done;
    const char *unit; // what is counted: "replications" unless set after opening
};
void sand_cli_progress_open(struct sand_cli_progress *progress, int quiet);
void sand_cli_progress_draw(void *progress, double done, uint32_t units_done, uint32_t units);
void sand_cli_progress_close(struct sand_cli_progress *progress);

// ---- versions
// -------------------------------------------------------------------------------------

const char *sand_cli_version(void);
const struct sand_library *sand_cli_libraries(size_t *n);

// ---- results
// --------------------------------------------------------------------------------------

// Opens a results file and prints its summary to stdout, for people or as JSON.
enum sand_rc sand_cli_show(const char *path, int json, struct sand_diag *diag);

// SAND_ERR_UNIT, naming the first few, if a job of the results file was left unfinished or waiting.
// A job without an end of its own (no steps, no duration) is never unfinished.
enum sand_rc sand_cli_check_finished(const char *path, struct sand_diag *diag);

#endif
