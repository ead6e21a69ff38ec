// Plug-ins: loading a shared object and refusing every table that is not what it has to be.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "policytable.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"

#define PLUGIN_LIMIT_B ((size_t)256 << 20) // no policy is larger; keeps a wrong path from memory

// A problem of the plug-in, at the place of the spec that asked for it.
#define REFUSE(choice, diag, ...)                                                                  \
    (sand_diag_add(diag, SAND_ERROR, (choice)->file, (choice)->line, __VA_ARGS__), SAND_ERR_PLUGIN)

static const uint32_t table_sizes[SAND_POLICY_FAMILIES] = {
    sizeof(struct sandtable_schedule), sizeof(struct sandtable_place),
    sizeof(struct sandtable_checkpoint), sizeof(struct sandtable_recover)};

typedef const void *entry_function(void);

// dlsym() gives an object pointer; POSIX lets it be stored in a function pointer, C does not cast.
static entry_function *find_symbol(void *object, const char *name)
{
    void *symbol = dlsym(object, name);
    entry_function *entry;
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

// Says what the object exports instead: another family, a later version, or nothing of ours.
static enum sand_rc no_entry(const struct sand_choice *choice, enum sand_policy_family family,
                             void *object, struct sand_diag *diag)
{
    char name[64], found[512] = "";
    for (int other = 0; other < SAND_POLICY_FAMILIES; other++) {
        for (unsigned version = 0; version < 10; version++) {
            snprintf(name, sizeof name, "sandtable_%s_v%u",
                     sand_policy_family_name((enum sand_policy_family)other), version);
            const size_t length = strlen(found);
            if (dlsym(object, name) != NULL && length + strlen(name) + 3 < sizeof found)
                snprintf(found + length, sizeof found - length, "%s%s", length ? ", " : "", name);
        }
    }
    return REFUSE(choice, diag,
                  "plug-in %s does not export sandtable_%s_v%u, the entry of %s policies; of ours "
                  "it exports: %s",
                  choice->plugin, sand_policy_family_name(family), SANDTABLE_ABI_VERSION,
                  sand_policy_family_name(family), found[0] ? found : "nothing");
}

// The first two members are the same in every table and every version.
static enum sand_rc check_version(const struct sand_choice *choice, enum sand_policy_family family,
                                  const void *table, struct sand_diag *diag)
{
    uint32_t head[2]; // struct_size, abi_version
    memcpy(head, table, sizeof head);
    if (head[1] != SANDTABLE_ABI_VERSION)
        return REFUSE(choice, diag,
                      "plug-in %s has ABI version %u, this sandtable has %u; rebuild it against "
                      "this version's sandtable/policy.h",
                      choice->plugin, head[1], SANDTABLE_ABI_VERSION);
    if (head[0] != table_sizes[family])
        return REFUSE(choice, diag,
                      "plug-in %s has a %s table of %u bytes, this sandtable's has %u; rebuild it "
                      "against this version's sandtable/policy.h and set struct_size to sizeof",
                      choice->plugin, sand_policy_family_name(family), head[0],
                      table_sizes[family]);
    return SAND_OK;
}

static const char *range_fault(const struct sandtable_param *param)
{
    if (!(param->min <= param->max))
        return "has an empty range";
    if (!param->required &&
        !(param->default_value >= param->min && param->default_value <= param->max))
        return "has a default outside its range";
    return NULL;
}

static const char *word_fault(const struct sandtable_param *param)
{
    size_t n_words = 0;
    if (param->words == NULL || param->words[0] == NULL)
        return "has no words to choose from";
    while (param->words[n_words] != NULL)
        n_words++;
    for (size_t i = 0; !param->required && i < n_words; i++) {
        if (param->default_value == (double)i)
            return NULL;
    }
    return param->required ? NULL : "has a default that is none of its words";
}

// What is wrong with a declaration, as a clause; NULL when it is sound.
static const char *param_fault(const struct sand_policy *policy, size_t index)
{
    const struct sandtable_param *param = &policy->params[index];
    if (param->dim > SANDTABLE_WORD)
        return "has a dimension this sandtable does not know";
    if (param->doc == NULL)
        return "has no doc";
    const char *fault = param->dim == SANDTABLE_WORD ? word_fault(param) : range_fault(param);
    if (fault != NULL)
        return fault;
    for (size_t i = 0; i < index; i++) {
        if (strcmp(policy->params[i].name, param->name) == 0)
            return "is declared twice";
    }
    return NULL;
}

static enum sand_rc check_params(const struct sand_choice *choice, const struct sand_policy *policy,
                                 struct sand_diag *diag)
{
    if (policy->n_params > 0 && policy->params == NULL)
        return REFUSE(choice, diag, "plug-in %s: %s declares %zu parameters but gives none",
                      choice->plugin, policy->type, policy->n_params);
    for (size_t i = 0; i < policy->n_params; i++) {
        if (policy->params[i].name == NULL || policy->params[i].name[0] == '\0')
            return REFUSE(choice, diag, "plug-in %s: parameter %zu of %s has no name",
                          choice->plugin, i, policy->type);
        const char *fault = param_fault(policy, i);
        if (fault != NULL)
            return REFUSE(choice, diag, "plug-in %s: parameter \"%s\" of %s %s", choice->plugin,
                          policy->params[i].name, policy->type, fault);
    }
    return SAND_OK;
}

static enum sand_rc check_table(const struct sand_choice *choice, const struct sand_policy *policy,
                                struct sand_diag *diag)
{
    if (policy->type == NULL || policy->version == NULL || policy->summary == NULL)
        return REFUSE(choice, diag, "plug-in %s: its table has no %s", choice->plugin,
                      policy->type == NULL      ? "type"
                      : policy->version == NULL ? "version"
                                                : "summary");
    if (strcmp(policy->type, choice->type) != 0)
        return REFUSE(choice, diag, "plug-in %s is \"%s\", but policy=\"%s\" was asked for",
                      choice->plugin, policy->type, choice->type);
    const char *missing = sand_policy_missing_function(policy);
    if (missing != NULL)
        return REFUSE(choice, diag, "plug-in %s: %s has no %s function (it is NULL)",
                      choice->plugin, policy->type, missing);
    return check_params(choice, policy, diag);
}

static enum sand_rc check_object(const struct sand_choice *choice, enum sand_policy_family family,
                                 void *object, struct sand_policy *policy, struct sand_diag *diag)
{
    char name[64];
    snprintf(name, sizeof name, "sandtable_%s_v%u", sand_policy_family_name(family),
             SANDTABLE_ABI_VERSION);
    entry_function *entry = find_symbol(object, name);
    if (entry == NULL)
        return no_entry(choice, family, object, diag);
    const void *table = entry();
    if (table == NULL)
        return REFUSE(choice, diag, "plug-in %s: %s() returned no table", choice->plugin, name);
    SAND_TRY(check_version(choice, family, table, diag));
    sand_policy_describe(policy, family, table);
    return check_table(choice, policy, diag);
}

// dlopen() searches the system's library folders for a name without a slash; a path never.
static char *plain_path(const char *plugin)
{
    const size_t size = strlen(plugin) + sizeof "./";
    char *path = sand_calloc(size, 1);
    if (path != NULL)
        snprintf(path, size, "%s%s", strchr(plugin, '/') ? "" : "./", plugin);
    return path;
}

// The digest for provenance; reading the file first also tells a missing one from a broken one.
static enum sand_rc digest_file(const struct sand_choice *choice, const char *path, char hex[65],
                                struct sand_diag *diag)
{
    char *data = NULL;
    size_t size = 0;
    const enum sand_rc rc = sand_file_read(path, PLUGIN_LIMIT_B, &data, &size, diag);
    if (rc == SAND_ERR_NOMEM)
        return rc;
    if (rc != SAND_OK)
        return REFUSE(choice, diag, "plug-in %s cannot be read", choice->plugin);
    sand_sha256_hex(data, size, hex);
    sand_free(data);
    return SAND_OK;
}

static enum sand_rc open_object(const struct sand_choice *choice, const char *path, void **object,
                                struct sand_diag *diag)
{
    *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*object == NULL)
        return REFUSE(choice, diag, "plug-in %s does not load: %s", choice->plugin, dlerror());
    return SAND_OK;
}

enum sand_rc sand_policy_load(const struct sand_choice *choice, enum sand_policy_family family,
                              struct sand_policy *policy, struct sand_diag *diag)
{
    void *object = NULL;
    char *path = plain_path(choice->plugin);
    if (path == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "plug-in %s: out of memory", choice->plugin);
    enum sand_rc rc = digest_file(choice, path, policy->sha256, diag);
    if (rc == SAND_OK)
        rc = open_object(choice, path, &object, diag);
    sand_free(path);
    if (rc == SAND_OK)
        rc = check_object(choice, family, object, policy, diag);
    if (rc != SAND_OK && object != NULL)
        dlclose(object);
    else
        policy->shared_object = object;
    return rc;
}
