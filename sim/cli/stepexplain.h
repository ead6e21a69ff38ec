// `sandtable step --explain`. SPDX-License-Identifier: GPL-2.0-or-later
// Internal to sim/cli.
#ifndef SAND_SIM_CLI_STEPEXPLAIN_H
#define SAND_SIM_CLI_STEPEXPLAIN_H

#include <stdio.h>

#include "breakdown.h"
#include "estimate.h"
#include "profiletable.h"

// The other rank order, where it brings the ranks of an expert group into fewer scale-up domains.
struct sand_explain_order {
    uint32_t domains, other_domains; // 0: it does not
    double step_s, other_step_s;     // by the closed form
    const char *other;
};

struct sand_explain_view {
    const struct sand_profile_view *profile;
    struct sand_explain_order order;
    struct sand_step_phases phases;
    struct sand_step_breakdown traffic;
};

// Fills what the profile of the question is explained with, for one stage.
enum sand_rc sand_cli_step_explain(const struct sand_step_question *question, uint32_t stage,
                                   struct sand_explain_view *view, struct sand_diag *diag);

// Phases, then every collective and send with its equation, numbers put in.
void sand_explain_print_text(const struct sand_explain_view *view, FILE *out);
// One object: "phases", "expert_order" where another would keep experts together, "traffic"; SI
// units, the unit in the name.
void sand_explain_print_json(const struct sand_explain_view *view, FILE *out);
// RFC 4180 with LF: part,name,value,unit.
void sand_explain_print_csv(const struct sand_explain_view *view, FILE *out);

#endif
