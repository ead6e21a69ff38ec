// What the two verbs that compare predictions with measured rows have in common.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLIVALIDATION_H
#define SAND_SIM_CLI_CLIVALIDATION_H

#include "cli.h"
#include "predictedtable.h"

// FILE.csv, --csv, --hdf5, --force, --rules and --data. Use as argp child with input `struct
// sand_cli_validation *`, zeroed before.
struct sand_cli_validation {
    const char *file, *rules;
    struct sand_cli_output csv, hdf5;
    struct sand_cli_load load; // its --data only
};
extern const struct argp sand_cli_validation_argp;

// Reads the rules, `usual` if --rules names no others; refuses outputs that are inputs or that are
// there. *spec is to be freed if the answer is SAND_OK.
enum sand_rc sand_cli_validation_open(const struct sand_cli_validation *validation,
                                      sand_spec_load_fn *read, const char *usual,
                                      struct sand_spec **spec, struct sand_diag *diag);

// Writes the files that were asked for. SAND_ERR_INPUT if no row could be scored.
enum sand_rc sand_cli_validation_close(const struct sand_cli_validation *validation,
                                       const struct sand_predicted_table *table, size_t n_scored,
                                       struct sand_diag *diag);

#endif
