// Finds policies (built-in or plug-in), checks their parameters, and hands out their tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_HOST_POLICYHOST_H
#define SAND_POLICIES_HOST_POLICYHOST_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "diag.h"
#include "sandtable/policy.h"
#include "units.h"

enum sand_policy_family {
    SAND_POLICY_SCHEDULE,
    SAND_POLICY_PLACE,
    SAND_POLICY_CHECKPOINT,
    SAND_POLICY_RECOVER,
    SAND_POLICY_FAMILIES
};

// A bound policy: its table, the parameter values in declared order (SI), the loaded object.
struct sand_policy {
    enum sand_policy_family family;
    const char *type, *version, *summary;
    union {
        const struct sandtable_schedule *schedule;
        const struct sandtable_place *place;
        const struct sandtable_checkpoint *checkpoint;
        const struct sandtable_recover *recover;
    } table;
    const struct sandtable_param *params;
    size_t n_params;
    double *values;      // owned; NULL: the defaults
    void *shared_object; // owned, NULL for built-ins
    char sha256[65];     // of the plug-in's file, for provenance; "" for built-ins
};

// Binds a choice: unknown types and parameters with "did you mean", values parsed by the declared
// dimension and range. SAND_ERR_INPUT for those, SAND_ERR_PLUGIN for an object that does not load,
// exports no entry symbol, has another ABI version or table size, calls itself something else than
// `choice->type`, leaves a function out, or declares parameters that contradict themselves. Every
// problem found is a message at the spec's file and line. On failure *policy is all zero. A plug-in
// is bound as it stands: there is no search path, and a built-in never takes the place of one.
enum sand_rc sand_policy_bind(const struct sand_choice *choice, enum sand_policy_family family,
                              struct sand_policy *policy, struct sand_diag *diag);

// Frees the values, unloads the object and zeroes the struct; a zeroed one is fine. Every `self` of
// the policy must have been destroyed.
void sand_policy_unbind(struct sand_policy *policy);

// Value of a declared parameter, SI; NaN if the policy did not declare it, or if it is required and
// the policy is not bound. O(n_params).
double sand_policy_param(const struct sand_policy *policy, const char *name);

// The dimension in which a declared parameter is written; a number for words.
enum sand_dim sand_policy_dim(const struct sandtable_param *param);

// The built-ins, for `sandtable policy list`: fills *policy with unbound tables and defaults;
// returns 0 past the last. Families in the order of the enum; nothing to free.
int sand_policy_builtin(size_t index, struct sand_policy *policy);

// "schedule", "place", "checkpoint", "recover".
const char *sand_policy_family_name(enum sand_policy_family family);

#endif
