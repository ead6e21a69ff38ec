// What the files of this room share: family-blind access to the four kinds of table.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_HOST_POLICYTABLE_H
#define SAND_POLICIES_HOST_POLICYTABLE_H

#include "policyhost.h"

// Points *policy at `table` (a table of `family`) and copies the strings and parameters out of it.
void sand_policy_describe(struct sand_policy *policy, enum sand_policy_family family,
                          const void *table);

// Name of the first function that must not be NULL and is; NULL when all are there.
const char *sand_policy_missing_function(const struct sand_policy *policy);

// Loads choice->plugin and fills *policy but for its values. On failure nothing stays loaded.
enum sand_rc sand_policy_load(const struct sand_choice *choice, enum sand_policy_family family,
                              struct sand_policy *policy, struct sand_diag *diag);

// Parses the choice's parameters into policy->values (allocated here) by what the policy declares.
enum sand_rc sand_policy_parse_params(const struct sand_choice *choice, struct sand_policy *policy,
                                      struct sand_diag *diag);

#endif
