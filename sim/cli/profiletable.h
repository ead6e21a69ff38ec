// A step profile as text, JSON or CSV.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_PROFILETABLE_H
#define SAND_SIM_CLI_PROFILETABLE_H

#include <stdio.h>

#include "experiment.h"
#include "stepprofile.h"

struct sand_profile_view {
    const struct sand_experiment *experiment;
    const struct sand_job_spec *job;
    const struct sand_step_profile *profile;
    const uint32_t *nodes; // that the job runs on
};

// For people: at most 100 columns.
void sand_profile_print_text(const struct sand_profile_view *view, FILE *out);
// One object; SI units, the unit is part of the name.
void sand_profile_print_json(const struct sand_profile_view *view, FILE *out);
// RFC 4180 with LF: name,value,unit.
void sand_profile_print_csv(const struct sand_profile_view *view, FILE *out);

#endif
