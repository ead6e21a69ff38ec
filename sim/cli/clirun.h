// What verbs that simulate experiments share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLIRUN_H
#define SAND_SIM_CLI_CLIRUN_H

#include "cli.h"
#include "mem.h"

// The command line as a shell reads it, before argp moves its words about; free() it. NULL: out of
// memory.
char *sand_cli_quote_command(int argc, char **argv);

// --output, --replications, --seed, --jobs, --force, --quiet, and the options of loading and of the
// cache. Use as argp child with input `struct sand_cli_run *`. Zero-initialise; clear to free.
struct sand_cli_run {
    struct sand_cli_load load;
    struct sand_cli_cache cache;
    struct sand_arena arena; // texts made of options
    const char *out_dir;     // NULL: not given
    uint32_t jobs;           // processes at a time; 0: not given
    int force, quiet;
};
extern const struct argp sand_cli_run_argp;
void sand_cli_run_clear(struct sand_cli_run *run);

// out_dir, if it is not given, "out/NAME" and what follows the name. SAND_ERR_NOMEM is told.
enum sand_rc sand_cli_run_dir(struct sand_cli_run *run, const char *name, const char *after,
                              struct sand_diag *diag);

// --jobs, or the processors this process may use.
uint32_t sand_cli_run_jobs(const struct sand_cli_run *run);

// What this program and its options fill in of a sweep; the rest is the verb's.
struct sand_sweep_options sand_cli_sweep_options(const struct sand_cli_run *run);

#endif
