// Binding of built-in policies: names, parameters, ranges, messages with place and way out.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "policyhost.h"
#include "policytable.h"

static struct sand_choice choose(const char *type, const struct sand_choice_param *params, size_t n)
{
    return (struct sand_choice){
        .type = type, .params = params, .n_params = n, .file = "a.xml", .line = 7};
}

static struct sand_choice_param given(const char *name, const char *text)
{
    return (struct sand_choice_param){.name = name, .text = text, .file = "a.xml", .line = 9};
}

// Expects refusal with one message that holds every one of the NULL-terminated words.
static void refused(struct sand_choice choice, enum sand_policy_family family, long line,
                    const char *const *words)
{
    struct sand_policy policy;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_policy_bind(&choice, family, &policy, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_errors, 1u);
    cr_assert_str_eq(diag.messages[0].file, "a.xml");
    cr_assert_eq(diag.messages[0].line, line);
    for (; *words != NULL; words++)
        cr_assert(strstr(diag.messages[0].text, *words), "\"%s\" is not in: %s", *words,
                  diag.messages[0].text);
    cr_assert_null(policy.type);
    cr_assert_null(policy.values);
    sand_diag_clear(&diag);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(policy_bind, every_builtin_is_listed_once_and_well_formed)
{
    struct sand_policy policy, other;
    size_t n = 0;
    for (; sand_policy_builtin(n, &policy); n++) {
        const char *family = sand_policy_family_name(policy.family);
        cr_assert_eq(strncmp(policy.type, family, strlen(family)), 0, "%s", policy.type);
        cr_assert_null(sand_policy_missing_function(&policy), "%s", policy.type);
        cr_assert(policy.version[0] != '\0' && policy.summary[0] != '\0');
        for (size_t i = 0; i < policy.n_params; i++) {
            const struct sandtable_param *param = &policy.params[i];
            cr_assert(param->required || (param->default_value >= param->min &&
                                          param->default_value <= param->max),
                      "%s %s", policy.type, param->name);
            cr_assert_not_null(param->doc);
        }
        for (size_t i = 0; i < n; i++) {
            cr_assert(sand_policy_builtin(i, &other));
            cr_assert_str_neq(other.type, policy.type);
        }
    }
    cr_assert_geq(n, 8u);        // those of the first release at least
    cr_assert_null(policy.type); // zeroed past the last
}

// Takes the named function out of a sound table of each family and expects to be told.
#define EXPECT_MISSING(kind, family_id, function)                                                  \
    do {                                                                                           \
        struct sandtable_##kind table = *sound.table.kind;                                         \
        struct sand_policy broken = {.family = family_id, .table.kind = &table};                   \
        cr_assert_null(sand_policy_missing_function(&broken));                                     \
        table.function = NULL;                                                                     \
        cr_assert_str_eq(sand_policy_missing_function(&broken), #function);                        \
    } while (0)

Test(policy_bind, every_missing_function_is_found_in_every_family)
{
    struct sand_policy sound;
    for (size_t i = 0; sand_policy_builtin(i, &sound); i++) {
        switch (sound.family) {
        case SAND_POLICY_SCHEDULE:
            EXPECT_MISSING(schedule, SAND_POLICY_SCHEDULE, create);
            EXPECT_MISSING(schedule, SAND_POLICY_SCHEDULE, decide);
            EXPECT_MISSING(schedule, SAND_POLICY_SCHEDULE, destroy);
            break;
        case SAND_POLICY_PLACE:
            EXPECT_MISSING(place, SAND_POLICY_PLACE, create);
            EXPECT_MISSING(place, SAND_POLICY_PLACE, place);
            EXPECT_MISSING(place, SAND_POLICY_PLACE, destroy);
            break;
        case SAND_POLICY_CHECKPOINT:
            EXPECT_MISSING(checkpoint, SAND_POLICY_CHECKPOINT, create);
            EXPECT_MISSING(checkpoint, SAND_POLICY_CHECKPOINT, next);
            EXPECT_MISSING(checkpoint, SAND_POLICY_CHECKPOINT, destroy);
            break;
        default:
            EXPECT_MISSING(recover, SAND_POLICY_RECOVER, create);
            EXPECT_MISSING(recover, SAND_POLICY_RECOVER, plan);
            EXPECT_MISSING(recover, SAND_POLICY_RECOVER, destroy);
        }
    }
}

Test(policy_bind, a_builtin_binds_with_its_defaults)
{
    struct sand_policy policy;
    const struct sand_choice choice = choose("checkpoint/daly", NULL, 0);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, NULL), SAND_OK);
    cr_assert_str_eq(policy.type, "checkpoint/daly");
    cr_assert_str_eq(policy.sha256, "");
    cr_assert_float_eq(sand_policy_param(&policy, "no_fault_interval"), 0.0, 0);
    cr_assert(isnan(sand_policy_param(&policy, "interval")));
    sand_policy_unbind(&policy);
    cr_assert_null(policy.type);
    sand_policy_unbind(&policy); // a zeroed one is fine
}

Test(policy_bind, a_parameter_is_parsed_in_its_dimension)
{
    struct sand_policy policy;
    const struct sand_choice_param param = given("interval", "10min");
    const struct sand_choice choice = choose("checkpoint/fixed", &param, 1);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, NULL), SAND_OK);
    cr_assert_float_eq(sand_policy_param(&policy, "interval"), 600.0, 1e-9);
    sand_policy_unbind(&policy);
}

Test(policy_bind, the_bounds_of_a_range_belong_to_it)
{
    struct sand_policy policy;
    const struct sand_choice_param least = given("interval", "1ms");
    const struct sand_choice choice = choose("checkpoint/fixed", &least, 1);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, NULL), SAND_OK);
    sand_policy_unbind(&policy);
}

Test(policy_bind, a_required_parameter_has_no_value_before_it_is_bound)
{
    struct sand_policy policy;
    size_t i = 0;
    while (sand_policy_builtin(i, &policy) && strcmp(policy.type, "checkpoint/fixed") != 0)
        i++;
    cr_assert_not_null(policy.type);
    cr_assert(isnan(sand_policy_param(&policy, "interval")));
}

Test(policy_bind, unknown_types_are_refused_with_a_suggestion_and_the_list)
{
    refused(choose("schedule/fiffo", NULL, 0), SAND_POLICY_SCHEDULE, 7,
            WORDS("\"schedule/fiffo\"", "did you mean \"schedule/fifo\"?", "plugin="));
    refused(choose("fifo", NULL, 0), SAND_POLICY_SCHEDULE, 7,
            WORDS("did you mean \"schedule/fifo\"?"));
    refused(choose("checkpoint/hourly", NULL, 0), SAND_POLICY_CHECKPOINT, 7,
            WORDS("checkpoint/none, checkpoint/fixed, checkpoint/young, checkpoint/daly"));
    refused(choose("", NULL, 0), SAND_POLICY_RECOVER, 7, WORDS("recover/..."));
    refused(choose(NULL, NULL, 0), SAND_POLICY_RECOVER, 7, WORDS("recover/..."));
}

Test(policy_bind, a_policy_of_another_family_is_refused)
{
    refused(choose("place/first-fit", NULL, 0), SAND_POLICY_SCHEDULE, 7,
            WORDS("\"place/first-fit\" is a place policy", "schedule policy is needed"));
}

Test(policy_bind, unknown_parameters_are_refused_with_a_suggestion_and_the_list)
{
    const struct sand_choice_param params[] = {given("interval", "1h"), given("intervall", "1h")};
    refused(choose("checkpoint/fixed", params, 2), SAND_POLICY_CHECKPOINT, 9,
            WORDS("no parameter \"intervall\"", "did you mean \"interval\"?",
                  "its parameters are: interval"));
    refused(choose("schedule/fifo", params, 1), SAND_POLICY_SCHEDULE, 9,
            WORDS("no parameter \"interval\"", "takes none"));
}

Test(policy_bind, values_are_checked_for_unit_and_range)
{
    const struct sand_choice_param no_unit = given("interval", "400"),
                                   zero = given("interval", "0s"),
                                   negative = given("interval", "-1h"),
                                   bytes = given("interval", "400GB");
    refused(choose("checkpoint/fixed", &no_unit, 1), SAND_POLICY_CHECKPOINT, 9,
            WORDS("parameter \"interval\" of checkpoint/fixed is \"400\"", "unit"));
    refused(choose("checkpoint/fixed", &zero, 1), SAND_POLICY_CHECKPOINT, 9,
            WORDS("\"0s\"", "must be at least 1 ms"));
    refused(choose("checkpoint/fixed", &negative, 1), SAND_POLICY_CHECKPOINT, 9, WORDS("\"-1h\""));
    refused(choose("checkpoint/fixed", &bytes, 1), SAND_POLICY_CHECKPOINT, 9, WORDS("\"400GB\""));
}

Test(policy_bind, a_missing_required_parameter_is_named_with_an_example)
{
    refused(choose("checkpoint/fixed", NULL, 0), SAND_POLICY_CHECKPOINT, 7,
            WORDS("checkpoint/fixed needs <param name=\"interval\" value=", "useful time"));
}

Test(policy_bind, a_parameter_given_twice_is_refused)
{
    const struct sand_choice_param twice[] = {given("interval", "1h"), given("interval", "2h")};
    refused(choose("checkpoint/fixed", twice, 2), SAND_POLICY_CHECKPOINT, 9,
            WORDS("given twice", "line 9"));
}

Test(policy_bind, every_problem_is_reported_before_failing)
{
    struct sand_policy policy;
    struct sand_diag diag = {0};
    const struct sand_choice_param params[] = {given("intervals", "1h"), given("every", "2h")};
    const struct sand_choice choice = choose("checkpoint/fixed", params, 2);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_errors, 3u); // two unknown, one missing
    sand_diag_clear(&diag);
}

// Fails every allocation in turn until the call gets through.
static void survives_no_memory(struct sand_choice choice, enum sand_rc expected)
{
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t n = 1; rc == SAND_ERR_NOMEM; n++) {
        struct sand_policy policy;
        cr_assert_lt(n, 100u);
        sand_mem_fail_at(n);
        rc = sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, NULL);
        sand_mem_fail_at(0);
        cr_assert(rc == expected || rc == SAND_ERR_NOMEM);
        cr_assert(rc == SAND_OK || policy.values == NULL);
        sand_policy_unbind(&policy);
    }
    cr_assert_eq(rc, expected);
}

Test(policy_bind, survives_every_failed_allocation)
{
    const struct sand_choice_param good = given("interval", "1h"), bad = given("inter", "1h");
    survives_no_memory(choose("checkpoint/fixed", &good, 1), SAND_OK);
    survives_no_memory(choose("checkpoint/fixed", &bad, 1), SAND_ERR_INPUT);
}

// The reference page has a section for every built-in, with its parameters in their own words.
Test(policy_bind, the_reference_page_matches_the_declarations)
{
    char *page, heading[128];
    size_t size;
    struct sand_policy policy;
    cr_assert_eq(sand_file_read(SAND_SOURCE_DIR "/docs/policies.md", 1 << 20, &page, &size, NULL),
                 SAND_OK);
    for (size_t i = 0; sand_policy_builtin(i, &policy); i++) {
        snprintf(heading, sizeof heading, "\n## %s\n", policy.type);
        char *section = strstr(page, heading);
        cr_assert_not_null(section, "no section for %s", policy.type);
        char *end = strstr(section + strlen(heading), "\n## ");
        cr_assert_not_null(end);
        *end = '\0';
        cr_assert(policy.n_params > 0 || strstr(section, "No parameters") ||
                      strstr(section, "No\nparameters"),
                  "%s", policy.type);
        for (size_t k = 0; k < policy.n_params; k++) {
            cr_assert(strstr(section, policy.params[k].name), "%s", policy.params[k].name);
            cr_assert(strstr(section, policy.params[k].doc), "%s", policy.params[k].doc);
        }
        *end = '\n';
    }
    sand_free(page);
}
