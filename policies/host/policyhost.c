// From a choice in the spec to a bound policy.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "policyhost.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "policytable.h"

// A type names its family before the slash.
static int is_of_family(const char *type, enum sand_policy_family family)
{
    const char *name = sand_policy_family_name(family);
    const size_t length = strlen(name);
    return strncmp(type, name, length) == 0 && type[length] == '/' && type[length + 1] != '\0';
}

// Refuses "place/first-fit" as a schedule policy; a name without a family is left to the lookup.
static enum sand_rc check_family(const struct sand_choice *choice, enum sand_policy_family family,
                                 struct sand_diag *diag)
{
    const char *name = sand_policy_family_name(family);
    for (int other = 0; other < SAND_POLICY_FAMILIES; other++) {
        if (other == (int)family || !is_of_family(choice->type, (enum sand_policy_family)other))
            continue;
        const char *has = sand_policy_family_name((enum sand_policy_family)other);
        sand_diag_add(diag, SAND_ERROR, choice->file, choice->line,
                      "policy \"%s\" is a %s policy; a %s policy is needed here, \"%s/...\"",
                      choice->type, has, name, name);
        return SAND_ERR_INPUT;
    }
    return SAND_OK;
}

// The built-ins of one family: their names without it for the matcher (the common part would make
// all alike), and a list for the message.
struct known {
    const char *names[32]; // far more than there are; the rest would only not be suggested
    size_t n;
    char list[1024];
};

static const char *after_slash(const char *type)
{
    const char *slash = strchr(type, '/');
    return slash != NULL ? slash + 1 : type;
}

static void collect(enum sand_policy_family family, struct known *known)
{
    struct sand_policy policy;
    memset(known, 0, sizeof *known);
    for (size_t i = 0; sand_policy_builtin(i, &policy) && known->n < 32; i++) {
        if (policy.family != family)
            continue;
        const size_t used = strlen(known->list);
        snprintf(known->list + used, sizeof known->list - used, "%s%s", used ? ", " : "",
                 policy.type);
        known->names[known->n++] = after_slash(policy.type);
    }
}

static enum sand_rc unknown_type(const struct sand_choice *choice, enum sand_policy_family family,
                                 struct sand_diag *diag)
{
    const char *kind = sand_policy_family_name(family);
    char meant[128] = "";
    struct known known;
    collect(family, &known);
    const char *near = sand_nearest(after_slash(choice->type), known.names, known.n);
    if (near != NULL)
        snprintf(meant, sizeof meant, "did you mean \"%s/%s\"? ", kind, near);
    sand_diag_add(diag, SAND_ERROR, choice->file, choice->line,
                  "there is no %s policy \"%s\"; %sthe built-in ones are: %s; a plug-in is chosen "
                  "with plugin=\"file.so\"",
                  kind, choice->type, meant, known.list);
    return SAND_ERR_INPUT;
}

static enum sand_rc find_builtin(const struct sand_choice *choice, enum sand_policy_family family,
                                 struct sand_policy *policy, struct sand_diag *diag)
{
    for (size_t i = 0; sand_policy_builtin(i, policy); i++) {
        if (strcmp(policy->type, choice->type) == 0)
            return SAND_OK;
    }
    return unknown_type(choice, family, diag);
}

static enum sand_rc find_table(const struct sand_choice *choice, enum sand_policy_family family,
                               struct sand_policy *policy, struct sand_diag *diag)
{
    if (choice->type == NULL || choice->type[0] == '\0') {
        sand_diag_add(diag, SAND_ERROR, choice->file, choice->line,
                      "no %s policy is named; write policy=\"%s/...\"",
                      sand_policy_family_name(family), sand_policy_family_name(family));
        return SAND_ERR_INPUT;
    }
    SAND_TRY(check_family(choice, family, diag));
    if (choice->plugin == NULL)
        return find_builtin(choice, family, policy, diag);
    if (is_of_family(choice->type, family))
        return sand_policy_load(choice, family, policy, diag);
    sand_diag_add(diag, SAND_ERROR, choice->file, choice->line,
                  "plug-in %s: \"%s\" does not name a %s policy; write policy=\"%s/...\"",
                  choice->plugin, choice->type, sand_policy_family_name(family),
                  sand_policy_family_name(family));
    return SAND_ERR_INPUT;
}

enum sand_rc sand_policy_bind(const struct sand_choice *choice, enum sand_policy_family family,
                              struct sand_policy *policy, struct sand_diag *diag)
{
    memset(policy, 0, sizeof *policy);
    enum sand_rc rc = find_table(choice, family, policy, diag);
    if (rc == SAND_OK)
        rc = sand_policy_parse_params(choice, policy, diag);
    if (rc != SAND_OK)
        sand_policy_unbind(policy);
    return rc;
}

void sand_policy_unbind(struct sand_policy *policy)
{
    sand_free(policy->values);
    if (policy->shared_object != NULL)
        dlclose(policy->shared_object);
    memset(policy, 0, sizeof *policy);
}
