// `sandtable step --search`. SPDX-License-Identifier: GPL-2.0-or-later
// Internal to sim/cli.
#ifndef SAND_SIM_CLI_STEPSEARCH_H
#define SAND_SIM_CLI_STEPSEARCH_H

#include "cli.h"
#include "searchreport.h"

typedef void sand_search_printer(const struct sand_search_view *view, FILE *out);

struct sand_step_search {
    uint32_t gpus, batch; // 0: the job's
    uint32_t top, simulate;
    const char *cache; // directory of the store; NULL: none
    sand_search_printer *print;
};

// Searches for splits of the job and prints them to stdout.
enum sand_rc sand_cli_step_search(const struct sand_step_search *search,
                                  const struct sand_experiment *experiment,
                                  const struct sand_job_spec *job, struct sand_diag *diag);

#endif
