// Which rules a row's texts name: software stack, machine, model.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPFIND_H
#define SAND_ANALYSIS_VALIDATE_STEPFIND_H

#include "steprows.h"
#include "steprules.h"

// Each as steprules.h says; NULL: no rule does. O(rules).
const struct sand_step_stack *sand_step_find_stack(const struct sand_step_rules *rules,
                                                   const struct sand_step_row *row);
const struct sand_step_machine *sand_step_find_machine(const struct sand_step_rules *rules,
                                                       const struct sand_step_row *row);
const struct sand_step_known *sand_step_find_known(const struct sand_step_rules *rules,
                                                   const struct sand_step_row *row);

// NULL: none says anything of the row.
const struct sand_step_recipe *sand_step_find_recipe(const struct sand_step_rules *rules,
                                                     const struct sand_step_row *row);

#endif
