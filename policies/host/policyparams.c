// Parameters: the texts of the spec against what the policy declares.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "policytable.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "units.h"

enum sand_dim sand_policy_dim(const struct sandtable_param *param)
{
    switch ((enum sandtable_dim)param->dim) {
    case SANDTABLE_NUMBER:
        return SAND_DIM_NUMBER;
    case SANDTABLE_COUNT:
        return SAND_DIM_COUNT;
    case SANDTABLE_FRACTION:
        return SAND_DIM_FRACTION;
    case SANDTABLE_TIME_S:
        return SAND_DIM_TIME;
    case SANDTABLE_BYTES:
        return SAND_DIM_BYTES;
    case SANDTABLE_RATE_PER_S:
        return SAND_DIM_RATE;
    case SANDTABLE_WORD:
        break;
    }
    return SAND_DIM_NUMBER; // checked when the policy was loaded
}

static enum sand_rc unknown_param(const struct sand_choice_param *given,
                                  const struct sand_policy *policy, struct sand_diag *diag)
{
    if (policy->n_params == 0) {
        sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                      "%s has no parameter \"%s\"; it takes none", policy->type, given->name);
        return SAND_ERR_INPUT;
    }
    struct sand_arena arena = {0};
    const char **names = sand_arena_alloc(&arena, policy->n_params, sizeof *names);
    const char *list = "";
    for (size_t i = 0; names != NULL && list != NULL && i < policy->n_params; i++) {
        names[i] = policy->params[i].name;
        list = sand_arena_printf(&arena, "%s%s%s", list, i > 0 ? ", " : "", names[i]);
    }
    if (names == NULL || list == NULL) {
        sand_arena_clear(&arena);
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", policy->type);
    }
    const char *near = sand_nearest(given->name, names, policy->n_params);
    sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                  "%s has no parameter \"%s\"; %s%s%sits parameters are: %s", policy->type,
                  given->name, near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
                  list);
    sand_arena_clear(&arena);
    return SAND_ERR_INPUT;
}

static enum sand_rc out_of_range(const struct sand_choice_param *given,
                                 const struct sandtable_param *param,
                                 const struct sand_policy *policy, struct sand_diag *diag)
{
    char low[64], high[64];
    sand_quantity_format(param->min, sand_policy_dim(param), 6, low, sizeof low);
    sand_quantity_format(param->max, sand_policy_dim(param), 6, high, sizeof high);
    const int has_low = !isinf(param->min), has_high = !isinf(param->max);
    sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                  "parameter \"%s\" of %s is \"%s\": must be %s%s%s%s%s", given->name, policy->type,
                  given->text, has_low ? "at least " : "", has_low ? low : "",
                  has_low && has_high ? " and " : "", has_high ? "at most " : "",
                  has_high ? high : "");
    return SAND_ERR_INPUT;
}

// ---- words --------------------------------------------------------------------------------------

static enum sand_rc no_such_word(const struct sand_choice_param *given,
                                 const struct sandtable_param *param,
                                 const struct sand_policy *policy, size_t n_words,
                                 struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    const char *list = "";
    for (size_t i = 0; list != NULL && i < n_words; i++)
        list = sand_arena_printf(&arena, "%s%s%s", list, i > 0 ? ", " : "", param->words[i]);
    if (list == NULL) {
        sand_arena_clear(&arena);
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", policy->type);
    }
    const char *near = sand_nearest(given->text, param->words, n_words);
    sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                  "parameter \"%s\" of %s is \"%s\"; %s%s%sit must be one of: %s", given->name,
                  policy->type, given->text, near ? "did you mean \"" : "", near ? near : "",
                  near ? "\"? " : "", list);
    sand_arena_clear(&arena);
    return SAND_ERR_INPUT;
}

static enum sand_rc parse_word(const struct sand_choice_param *given,
                               const struct sandtable_param *param,
                               const struct sand_policy *policy, double *value,
                               struct sand_diag *diag)
{
    size_t n_words = 0;
    for (; param->words[n_words] != NULL; n_words++) {
        if (strcmp(param->words[n_words], given->text) != 0)
            continue;
        *value = (double)n_words;
        return SAND_OK;
    }
    return no_such_word(given, param, policy, n_words, diag);
}

// ---- one parameter ------------------------------------------------------------------------------

static enum sand_rc parse_one(const struct sand_choice_param *given,
                              const struct sandtable_param *param, struct sand_policy *policy,
                              double *value, struct sand_diag *diag)
{
    char why[256] = "";
    if (param->dim == SANDTABLE_WORD)
        return parse_word(given, param, policy, value, diag);
    const enum sand_rc rc =
        sand_quantity_parse(given->text, sand_policy_dim(param), value, why, sizeof why);
    if (rc != SAND_OK) {
        sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                      "parameter \"%s\" of %s is \"%s\": %s", given->name, policy->type,
                      given->text, why);
        return rc;
    }
    if (*value < param->min || *value > param->max)
        return out_of_range(given, param, policy, diag);
    return SAND_OK;
}

static size_t find_param(const struct sand_policy *policy, const char *name)
{
    size_t i = 0;
    while (i < policy->n_params && strcmp(policy->params[i].name, name) != 0)
        i++;
    return i;
}

// The index of an earlier parameter of the same name, or `index` itself.
static size_t first_given(const struct sand_choice *choice, size_t index)
{
    size_t i = 0;
    while (i < index && strcmp(choice->params[i].name, choice->params[index].name) != 0)
        i++;
    return i;
}

static enum sand_rc bind_given(const struct sand_choice *choice, size_t index,
                               struct sand_policy *policy, struct sand_diag *diag)
{
    const struct sand_choice_param *given = &choice->params[index];
    const size_t earlier = first_given(choice, index);
    if (earlier < index) {
        sand_diag_add(diag, SAND_ERROR, given->file, given->line,
                      "parameter \"%s\" of %s is given twice (first on line %ld); keep one",
                      given->name, policy->type, choice->params[earlier].line);
        return SAND_ERR_INPUT;
    }
    const size_t declared = find_param(policy, given->name);
    if (declared == policy->n_params)
        return unknown_param(given, policy, diag);
    return parse_one(given, &policy->params[declared], policy, &policy->values[declared], diag);
}

static enum sand_rc check_required(const struct sand_choice *choice,
                                   const struct sandtable_param *param,
                                   const struct sand_policy *policy, struct sand_diag *diag)
{
    for (size_t i = 0; i < choice->n_params; i++) {
        if (strcmp(choice->params[i].name, param->name) == 0)
            return SAND_OK;
    }
    sand_diag_add(diag, SAND_ERROR, choice->file, choice->line,
                  "%s needs <param name=\"%s\" value=\"%s\"/>: %s", policy->type, param->name,
                  param->dim == SANDTABLE_WORD ? param->words[0]
                                               : sand_dim_example(sand_policy_dim(param)),
                  param->doc);
    return SAND_ERR_INPUT;
}

enum sand_rc sand_policy_parse_params(const struct sand_choice *choice, struct sand_policy *policy,
                                      struct sand_diag *diag)
{
    policy->values = sand_calloc(policy->n_params, sizeof *policy->values);
    if (policy->values == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", policy->type);
    enum sand_rc first = SAND_OK;
    for (size_t i = 0; i < policy->n_params; i++)
        policy->values[i] = policy->params[i].default_value;
    for (size_t i = 0; i < choice->n_params; i++) {
        const enum sand_rc rc = bind_given(choice, i, policy, diag);
        first = first == SAND_OK ? rc : first;
    }
    for (size_t i = 0; i < policy->n_params; i++) {
        if (!policy->params[i].required)
            continue;
        const enum sand_rc rc = check_required(choice, &policy->params[i], policy, diag);
        first = first == SAND_OK ? rc : first;
    }
    return first;
}
