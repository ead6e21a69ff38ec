// The four kinds of table seen as one, and the list of built-ins.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "policytable.h"

#include <math.h>
#include <string.h>

#include "builtin_checkpoint.h"
#include "builtin_peers.h"
#include "builtin_place.h"
#include "builtin_recover.h"
#include "builtin_schedule.h"

const char *sand_policy_family_name(enum sand_policy_family family)
{
    static const char *const names[SAND_POLICY_FAMILIES] = {"schedule", "place", "checkpoint",
                                                            "recover"};
    return names[family];
}

// The members every kind of table has under the same name.
#define DESCRIBE(policy, kind)                                                                     \
    do {                                                                                           \
        (policy)->type = (policy)->table.kind->type;                                               \
        (policy)->version = (policy)->table.kind->version;                                         \
        (policy)->summary = (policy)->table.kind->summary;                                         \
        (policy)->params = (policy)->table.kind->params;                                           \
        (policy)->n_params = (policy)->table.kind->n_params;                                       \
    } while (0)

void sand_policy_describe(struct sand_policy *policy, enum sand_policy_family family,
                          const void *table)
{
    policy->family = family;
    switch (family) {
    case SAND_POLICY_SCHEDULE:
        policy->table.schedule = table;
        DESCRIBE(policy, schedule);
        break;
    case SAND_POLICY_PLACE:
        policy->table.place = table;
        DESCRIBE(policy, place);
        break;
    case SAND_POLICY_CHECKPOINT:
        policy->table.checkpoint = table;
        DESCRIBE(policy, checkpoint);
        break;
    case SAND_POLICY_RECOVER:
        policy->table.recover = table;
        DESCRIBE(policy, recover);
        break;
    case SAND_POLICY_FAMILIES:
        break;
    }
}

// The functions of a table that must be there, as (name, is it there).
struct presence {
    const char *name;
    int there;
};

static const char *first_missing(const struct presence functions[3])
{
    for (size_t i = 0; i < 3; i++) {
        if (!functions[i].there)
            return functions[i].name;
    }
    return NULL;
}

// `step` is the one function besides create and destroy that its family cannot do without.
#define MISSING(table, step)                                                                       \
    first_missing((const struct presence[3]){{"create", (table)->create != NULL},                  \
                                             {#step, (table)->step != NULL},                       \
                                             {"destroy", (table)->destroy != NULL}})

const char *sand_policy_missing_function(const struct sand_policy *policy)
{
    switch (policy->family) {
    case SAND_POLICY_SCHEDULE:
        return MISSING(policy->table.schedule, decide);
    case SAND_POLICY_PLACE:
        return MISSING(policy->table.place, place);
    case SAND_POLICY_CHECKPOINT:
        return MISSING(policy->table.checkpoint, next);
    case SAND_POLICY_RECOVER:
        return MISSING(policy->table.recover, plan);
    case SAND_POLICY_FAMILIES:
        break;
    }
    return NULL;
}

// Our own schedule policies, then the peers' variants.
static const void *schedule_table(size_t index)
{
    size_t n = 0;
    while (sand_builtin_schedule[n] != NULL)
        n++;
    return index < n ? sand_builtin_schedule[index] : sand_builtin_peers[index - n];
}

static const void *builtin_table(enum sand_policy_family family, size_t index)
{
    switch (family) {
    case SAND_POLICY_SCHEDULE:
        return schedule_table(index);
    case SAND_POLICY_PLACE:
        return sand_builtin_place[index];
    case SAND_POLICY_CHECKPOINT:
        return sand_builtin_checkpoint[index];
    case SAND_POLICY_RECOVER:
        return sand_builtin_recover[index];
    case SAND_POLICY_FAMILIES:
        break;
    }
    return NULL;
}

int sand_policy_builtin(size_t index, struct sand_policy *policy)
{
    memset(policy, 0, sizeof *policy);
    size_t left = index;
    for (int family = 0; family < SAND_POLICY_FAMILIES; family++) {
        const void *table;
        for (size_t i = 0; (table = builtin_table((enum sand_policy_family)family, i)) != NULL;
             i++) {
            if (left-- == 0) {
                sand_policy_describe(policy, (enum sand_policy_family)family, table);
                return 1;
            }
        }
    }
    return 0;
}

double sand_policy_param(const struct sand_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->n_params; i++) {
        if (strcmp(policy->params[i].name, name) != 0)
            continue;
        if (policy->values != NULL)
            return policy->values[i];
        return policy->params[i].required ? (double)NAN : policy->params[i].default_value;
    }
    return (double)NAN;
}
