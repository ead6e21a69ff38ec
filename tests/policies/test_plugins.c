// Plug-ins: what loads, what is refused and in which words.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"
#include "mockhost.h"
#include "units.h"

static enum sand_rc bind_file(const char *file, const char *type, enum sand_policy_family family,
                              struct sand_policy *policy, struct sand_diag *diag)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", SAND_TEST_PLUGINS, file);
    const struct sand_choice choice = {.type = type, .plugin = path, .file = "a.xml", .line = 12};
    return sand_policy_bind(&choice, family, policy, diag);
}

// Pointer-free, because parameters cross processes.
struct refusal {
    char file[32], type[40];
    enum sand_policy_family family;
    char word[64]; // what the message must say
};

ParameterizedTestParameters(plugins, is_refused_with_its_reason)
{
    static struct refusal refusals[] = {
        {"wrong_abi.so", "schedule/wrong-abi", SAND_POLICY_SCHEDULE, "has ABI version 1"},
        {"wrong_size.so", "schedule/wrong-size", SAND_POLICY_SCHEDULE, "struct_size"},
        {"later_version.so", "schedule/later", SAND_POLICY_SCHEDULE, "sandtable_schedule_v1"},
        {"null_table.so", "schedule/null-table", SAND_POLICY_SCHEDULE, "returned no table"},
        {"null_function.so", "schedule/null-function", SAND_POLICY_SCHEDULE, "no decide function"},
        {"null_string.so", "schedule/null-string", SAND_POLICY_SCHEDULE, "has no version"},
        {"undefined_symbol.so", "schedule/undefined-symbol", SAND_POLICY_SCHEDULE,
         "sandtable_fixture_defined_nowhere"},
        {"param_default.so", "checkpoint/param-default", SAND_POLICY_CHECKPOINT,
         "has a default outside its range"},
        {"param_range.so", "checkpoint/param-range", SAND_POLICY_CHECKPOINT, "has an empty range"},
        {"param_words.so", "checkpoint/param-words", SAND_POLICY_CHECKPOINT,
         "has no words to choose from"},
        {"param_word_default.so", "checkpoint/param-word-default", SAND_POLICY_CHECKPOINT,
         "has a default that is none of its words"},
        {"param_twice.so", "checkpoint/param-twice", SAND_POLICY_CHECKPOINT, "is declared twice"},
        {"param_nameless.so", "checkpoint/param-nameless", SAND_POLICY_CHECKPOINT, "has no name"},
        {"param_doc.so", "checkpoint/param-doc", SAND_POLICY_CHECKPOINT, "has no doc"},
        {"param_array.so", "checkpoint/param-array", SAND_POLICY_CHECKPOINT,
         "declares 2 parameters but gives none"},
        {"param_dimension.so", "checkpoint/param-dimension", SAND_POLICY_CHECKPOINT,
         "has a dimension"},
        // Sound plug-ins, wrongly asked for: another family, another name, no such file.
        {"place_garbage.so", "schedule/place-garbage", SAND_POLICY_SCHEDULE,
         "exports: sandtable_place_v0"},
        {"decide_fails.so", "schedule/fifo", SAND_POLICY_SCHEDULE, "is \"schedule/decide-fails\""},
        {"nowhere.so", "schedule/nowhere", SAND_POLICY_SCHEDULE, "cannot be read"}};
    return cr_make_param_array(struct refusal, refusals, sizeof refusals / sizeof refusals[0]);
}

ParameterizedTest(struct refusal *refusal, plugins, is_refused_with_its_reason)
{
    struct sand_policy policy;
    struct sand_diag diag = {0};
    cr_assert_eq(bind_file(refusal->file, refusal->type, refusal->family, &policy, &diag),
                 SAND_ERR_PLUGIN);
    cr_assert_geq(diag.n_errors, 1u);
    const struct sand_message *last = &diag.messages[diag.n_messages - 1];
    cr_assert(strstr(last->text, refusal->word), "\"%s\" is not in: %s", refusal->word, last->text);
    cr_assert(strstr(last->text, refusal->file), "the file is not named: %s", last->text);
    cr_assert_str_eq(last->file, "a.xml");
    cr_assert_eq(last->line, 12);
    cr_assert_null(policy.shared_object);
    cr_assert_null(policy.type);
    sand_diag_clear(&diag);
}

Test(plugins, a_type_without_its_family_is_refused_before_anything_is_loaded)
{
    static const char *const types[] = {"crashes", "scheduler/crashes", "schedule/"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct sand_policy policy;
        struct sand_diag diag = {0};
        cr_assert_eq(bind_file("crashes.so", types[i], SAND_POLICY_SCHEDULE, &policy, &diag),
                     SAND_ERR_INPUT, "%s", types[i]);
        cr_assert(strstr(diag.messages[0].text, "schedule/..."), "%s", diag.messages[0].text);
        sand_diag_clear(&diag);
    }
}

// Whether a file of this name is mapped into the process.
static int is_mapped(const char *file)
{
    char line[4096];
    int mapped = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        mapped |= strstr(line, file) != NULL;
    fclose(maps);
    return mapped;
}

Test(plugins, a_refused_or_unbound_object_is_unloaded)
{
    struct sand_policy policy;
    cr_assert_eq(
        bind_file("wrong_abi.so", "schedule/wrong-abi", SAND_POLICY_SCHEDULE, &policy, NULL),
        SAND_ERR_PLUGIN);
    cr_assert_not(is_mapped("/wrong_abi.so"));
    cr_assert_eq(bind_file("crashes.so", "schedule/crashes", SAND_POLICY_SCHEDULE, &policy, NULL),
                 SAND_OK);
    cr_assert(is_mapped("/crashes.so"));
    sand_policy_unbind(&policy);
    cr_assert_not(is_mapped("/crashes.so"));
}

Test(plugins, a_file_that_is_no_shared_object_is_refused)
{
    char path[] = "/tmp/sandtable-no-object-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "not ELF", 7), 7);
    close(fd);
    struct sand_policy policy;
    struct sand_diag diag = {0};
    const struct sand_choice choice = {.type = "schedule/x", .plugin = path};
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_SCHEDULE, &policy, &diag), SAND_ERR_PLUGIN);
    cr_assert(strstr(diag.messages[0].text, "does not load"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
    unlink(path);
}

// dlopen("libm.so.6") would find the system's; a name without a slash is a file beside us.
Test(plugins, a_bare_name_is_never_searched_in_the_system)
{
    struct sand_policy policy;
    const struct sand_choice choice = {.type = "schedule/x", .plugin = "libm.so.6"};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_SCHEDULE, &policy, &diag), SAND_ERR_PLUGIN);
    cr_assert(strstr(diag.messages[diag.n_messages - 1].text, "cannot be read"));
    sand_diag_clear(&diag);
    struct sand_policy beside;
    mock_bind_schedule("schedule/example-fifo", SAND_TEST_PLUGINS "/example_fifo.so", &policy);
    cr_assert_eq(chdir(SAND_TEST_PLUGINS), 0);
    mock_bind_schedule("schedule/example-fifo", "example_fifo.so", &beside);
    cr_assert_str_eq(beside.sha256, policy.sha256);
    sand_policy_unbind(&beside);
    sand_policy_unbind(&policy);
}

// Those that only misbehave in a run must get there: the replay's tests rely on them.
Test(plugins, every_runtime_fixture_binds)
{
    static const char *const names[] = {
        "decide_fails",         "decide_fails_silently", "never_starts",   "starts_twice",
        "starts_unknown",       "wakes_in_the_past",     "wakes_now",      "crashes",
        "create_fails",         "place_garbage",         "place_repeats",  "place_not_allowed",
        "place_writes_nothing", "interval_negative",     "interval_nan",   "interval_infinite",
        "interval_zero",        "recover_garbage",       "recover_failed", "recover_same",
        "recover_action"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *name = names[i];
        const enum sand_policy_family family =
            strncmp(name, "place_", 6) == 0      ? SAND_POLICY_PLACE
            : strncmp(name, "interval_", 9) == 0 ? SAND_POLICY_CHECKPOINT
            : strncmp(name, "recover_", 8) == 0  ? SAND_POLICY_RECOVER
                                                 : SAND_POLICY_SCHEDULE;
        char file[64], type[64];
        snprintf(file, sizeof file, "%s.so", name);
        const int length =
            snprintf(type, sizeof type, "%s/%s", sand_policy_family_name(family), name);
        for (int c = 0; c < length; c++)
            type[c] = type[c] == '_' ? '-' : type[c];
        struct sand_policy policy;
        struct sand_diag diag = {0};
        cr_assert_eq(bind_file(file, type, family, &policy, &diag), SAND_OK, "%s: %s", name,
                     diag.n_messages > 0 ? diag.messages[0].text : "");
        sand_policy_unbind(&policy);
    }
}

Test(plugins, the_digest_is_that_of_the_file)
{
    struct sand_policy policy;
    char *data, hex[65];
    size_t size;
    cr_assert_eq(
        bind_file("example_fifo.so", "schedule/example-fifo", SAND_POLICY_SCHEDULE, &policy, NULL),
        SAND_OK);
    cr_assert_eq(sand_file_read(SAND_TEST_PLUGINS "/example_fifo.so", 1 << 24, &data, &size, NULL),
                 SAND_OK);
    sand_sha256_hex(data, size, hex);
    cr_assert_str_eq(policy.sha256, hex);
    sand_free(data);
    sand_policy_unbind(&policy);
}

static struct sand_choice with_params(const struct sand_choice_param *params, size_t n)
{
    return (struct sand_choice){.type = "checkpoint/all-dimensions",
                                .plugin = SAND_TEST_PLUGINS "/all_dimensions.so",
                                .params = params,
                                .n_params = n};
}

Test(plugins, parameters_are_read_in_every_dimension)
{
    const struct sand_choice_param params[] = {
        {.name = "number", .text = "1.5"}, {.name = "count", .text = "8"},
        {.name = "share", .text = "41%"},  {.name = "time", .text = "10min"},
        {.name = "size", .text = "80GB"},  {.name = "rate", .text = "86.4/d"},
        {.name = "word", .text = "blue"}};
    const double expected[] = {1.5, 8, 0.41, 600, 80e9, 1e-3, 2};
    struct sand_policy policy;
    const struct sand_choice choice = with_params(params, 7);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, NULL), SAND_OK);
    for (size_t i = 0; i < 7; i++)
        cr_assert_float_eq(sand_policy_param(&policy, params[i].name), expected[i],
                           1e-12 * expected[i], "%s", params[i].name);
    sand_policy_unbind(&policy);
}

Test(plugins, a_word_that_is_not_offered_is_refused_with_those_that_are)
{
    const struct sand_choice_param params[] = {{.name = "time", .text = "1s"},
                                               {.name = "word", .text = "gren"}};
    struct sand_policy policy;
    struct sand_diag diag = {0};
    const struct sand_choice choice = with_params(params, 2);
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, &diag), SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1u);
    cr_assert_str_eq(diag.messages[0].text,
                     "parameter \"word\" of checkpoint/all-dimensions is \"gren\"; did you mean "
                     "\"green\"? it must be one of: red, green, blue");
    sand_diag_clear(&diag);
    const struct sand_choice fine = with_params(params, 1);
    cr_assert_eq(sand_policy_bind(&fine, SAND_POLICY_CHECKPOINT, &policy, NULL), SAND_OK);
    cr_assert_eq(sand_policy_param(&policy, "word"), 1); // the default
    sand_policy_unbind(&policy);
}

Test(plugins, values_outside_a_range_are_refused_with_the_bounds_that_exist)
{
    static const char *const cases[][3] = {{"number", "3", "must be at least -2 and at most 2"},
                                           {"count", "0", "must be at least 1 and at most 8"},
                                           {"share", "95%", "at most"},
                                           {"time", "2h", "must be at most 1 h"},
                                           {"size", "1kB", "must be at least 1 MB"},
                                           {"count", "2.5", "\"2.5\""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sand_choice_param params[] = {{.name = cases[i][0], .text = cases[i][1]},
                                                   {.name = "time", .text = "1min"}};
        const struct sand_choice choice = with_params(params, strcmp(cases[i][0], "time") ? 2 : 1);
        struct sand_policy policy;
        struct sand_diag diag = {0};
        cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &policy, &diag),
                     SAND_ERR_INPUT);
        cr_assert_eq(diag.n_errors, 1u);
        cr_assert(strstr(diag.messages[0].text, cases[i][2]), "%s", diag.messages[0].text);
        sand_diag_clear(&diag);
    }
}

// One process may hold two of the same plug-in with different parameters: state is in self alone.
Test(plugins, the_same_object_binds_twice)
{
    struct sand_policy a, b;
    const struct sand_choice_param param = {.name = "every", .text = "30min"};
    struct sand_choice choice = {.type = "checkpoint/on-the-hour",
                                 .plugin = SAND_TEST_PLUGINS "/example_on_the_hour.so"};
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &a, NULL), SAND_OK);
    choice.params = &param;
    choice.n_params = 1;
    cr_assert_eq(sand_policy_bind(&choice, SAND_POLICY_CHECKPOINT, &b, NULL), SAND_OK);
    cr_assert_float_eq(sand_policy_param(&a, "every"), 3600, 0);
    cr_assert_float_eq(sand_policy_param(&b, "every"), 1800, 0);
    sand_policy_unbind(&a);
    cr_assert_str_eq(b.type, "checkpoint/on-the-hour"); // still loaded
    sand_policy_unbind(&b);
}

static double next_stroke(struct sand_policy *policy, int64_t now_s, double stall_s, double write_s)
{
    struct mock_host host;
    struct sandtable_checkpoint_plan plan;
    const struct sandtable_checkpoint_context context = {
        .step_s = 1, .stall_s = stall_s, .write_s = write_s, .mtbf_s = 1e5};
    void *self = NULL;
    mock_reset(&host, 1, policy);
    host.now_ns = now_s * SAND_NS_PER_S;
    cr_assert_eq(policy->table.checkpoint->create(&host.table, &self), 0);
    cr_assert_eq(policy->table.checkpoint->next(self, &context, &plan), 0);
    policy->table.checkpoint->destroy(self);
    cr_assert_eq(plan.save, 1u);
    return plan.interval_s;
}

Test(plugins, the_example_saves_when_the_clock_strikes)
{
    struct sand_policy policy;
    cr_assert_eq(bind_file("example_on_the_hour.so", "checkpoint/on-the-hour",
                           SAND_POLICY_CHECKPOINT, &policy, NULL),
                 SAND_OK);
    cr_assert_float_eq(next_stroke(&policy, 0, 10, 10), 3600, 1e-9);
    cr_assert_float_eq(next_stroke(&policy, 3600 + 600, 10, 10), 3000, 1e-9);
    cr_assert_float_eq(next_stroke(&policy, 2 * 3600, 10, 10), 3600, 1e-9);
    cr_assert_float_eq(next_stroke(&policy, 3600 + 3000, 10, 700), 600 + 3600, 1e-9);
    sand_policy_unbind(&policy);
}

// Loading survives every failed allocation, and nothing stays loaded.
Test(plugins, survives_every_failed_allocation)
{
    enum sand_rc rc = SAND_ERR_NOMEM;
    for (uint64_t n = 1; rc == SAND_ERR_NOMEM; n++) {
        struct sand_policy policy;
        cr_assert_lt(n, 100u);
        sand_mem_fail_at(n);
        rc = bind_file("example_fifo.so", "schedule/example-fifo", SAND_POLICY_SCHEDULE, &policy,
                       NULL);
        sand_mem_fail_at(0);
        cr_assert(rc == SAND_OK || (rc == SAND_ERR_NOMEM && policy.shared_object == NULL));
        sand_policy_unbind(&policy);
    }
    cr_assert_eq(rc, SAND_OK);
}
