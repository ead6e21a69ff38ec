// What verbs that simulate experiments share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLIRUN_H
#define SAND_SIM_CLI_CLIRUN_H

#include "cli.h"
#include "mem.h"

// Processors this process may use.
uint32_t sand_cli_processors(void);

// The command line as a shell reads it, before argp moves its words about; free() it. NULL: out of
// memory.
char *sand_cli_quote_command(int argc, char **argv);

// Adds "@NAME=VALUE" to the settings; the text lives in `arena`.
void sand_cli_set_attribute(struct sand_cli_load *load, struct argp_state *state,
                            struct sand_arena *arena, const char *name, const char *value);

// What this program and its options fill in of a sweep; the rest is the verb's.
struct sand_sweep_options sand_cli_sweep_options(const struct sand_cli_cache *cache);

#endif
