// --set: what it changes, what it refuses and with which words.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "specsupport.h"

Test(set, overrides_and_adds, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(spec_load_with(SPEC_VALID("training"), "jobs/job[@id='t']/split/@tp=4",
                                "cluster/fat_tree/@spreading=static",
                                "jobs/job/checkpoint/param[@name='interval']/@value=20min", &spec,
                                &diag),
                 SAND_OK);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_expect_eq(e->jobs[0].split.tp, 4);
    cr_expect_eq(e->cluster.fabric.spreading, SAND_SPREAD_STATIC);
    cr_expect_str_eq(e->jobs[0].checkpoint.policy.params[0].text, "20min");
    sand_spec_free(spec);
}

// An element that was left out comes into being, and its choice names the setting as its place.
Test(set, creates_what_was_left_out, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(spec_load_with(SPEC_VALID("smallest"),
                                "policies/recover/param[@name='patience']/@value=5min",
                                "policies/@hot_spares=2", NULL, &spec, &diag),
                 SAND_OK);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_expect_eq(e->hot_spares, 2);
    cr_assert_eq(e->recover.n_params, 1);
    cr_expect_str_eq(e->recover.params[0].name, "patience");
    cr_expect_str_eq(e->recover.params[0].text, "5min");
    cr_expect_str_eq(e->recover.file, "--set policies/recover/param[@name='patience']/@value=5min");
    sand_spec_free(spec);
}

Test(set, later_settings_win, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    cr_assert_eq(spec_load_with(SPEC_VALID("smallest"), "@seed=2", "@seed=3", NULL, &spec, NULL),
                 SAND_OK);
    cr_expect_eq(sand_spec_experiment(spec)->seed, 3);
    sand_spec_free(spec);
}

Test(set, wrong_paths_are_named_with_the_nearest, .timeout = 10)
{
    const char *path = SPEC_VALID("any-order");
    spec_refuses(path, "cluster/fattree/@tiers=2", "did you mean \"fat_tree\"?");
    spec_refuses(path, "cluster/fat_tree/@spreadin=even", "did you mean \"spreading\"?");
    spec_refuses(path, "jobs/job[@id='c']/@nodes=2", "there is no job with id=\"c\"");
    spec_refuses(path, "jobs/job/@nodes=2", "the path fits 2 elements \"job\"; choose one");
    spec_refuses(path, "zzz/@nodes=2", "unknown path: experiment has no element \"zzz\"");
}

Test(set, malformed_settings_are_refused, .timeout = 10)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "@seed",
                                        "@",
                                        "@=1",
                                        "jobs",
                                        "jobs/",
                                        "/@seed=1",
                                        "jobs/job[@id=a]/@nodes=1",
                                        "jobs/job[@id='a/@nodes=1",
                                        "jobs/job[@id='a'/@nodes=1",
                                        "jobs/job[1]/@nodes=1",
                                        "jobs//@x=1",
                                        "@seed 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        spec_refuses(SPEC_VALID("smallest"), wrong[i], "is no setting; write PATH=VALUE");
    spec_refuses(SPEC_VALID("smallest"), "@name=\xff\xfe", "not UTF-8");
    spec_refuses(SPEC_VALID("smallest"), "@name=a\nb", "control characters");
}

// The value is checked like one in the file, and the message names the setting.
Test(set, wrong_values_name_the_setting, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(spec_load_with(SPEC_VALID("smallest"), "@duration=1", NULL, NULL, &spec, &diag),
                 SAND_ERR_INPUT);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect_str_eq(diag.messages[0].file, "--set @duration=1");
    cr_expect_eq(diag.messages[0].line, 0);
    sand_diag_clear(&diag);
}

// Every listed path whose element is unique and present is understood: setting the attribute to
// something silly is refused for its value or accepted, never as unknown.
Test(set, listed_paths_are_known, .timeout = 60)
{
    char *text = NULL, *rest = NULL;
    size_t size = 0, n = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(sand_spec_write_paths(out), SAND_OK);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++) {
        char setting[300];
        line[strcspn(line, "\t")] = '\0';
        if (strstr(line, "[@"))
            continue;
        snprintf(setting, sizeof setting, "%s=?", line);
        struct sand_spec *spec = NULL;
        struct sand_diag diag = {0};
        spec_load_with(SPEC_VALID("every-attribute"), setting, NULL, NULL, &spec, &diag);
        cr_expect(!spec_message(&diag, "unknown path") && !spec_message(&diag, "is no setting"),
                  "%s", line);
        sand_spec_free(spec);
        sand_diag_clear(&diag);
    }
    cr_expect_gt(n, 100);
    free(text);
}

// What strikes after the end does nothing: said, where it stands, and no error.
Test(set, a_strike_after_the_end_is_reported, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(
        spec_load_with(SPEC_VALID("degradations"), "@duration=1h", NULL, NULL, &spec, &diag),
        SAND_OK);
    const struct sand_message *message = spec_message(&diag, "\"lanes\" strikes at 1 h, when");
    cr_assert_not_null(message);
    cr_expect_eq(message->severity, SAND_WARNING);
    cr_expect_str_eq(message->file, SPEC_VALID("degradations"));
    cr_expect_eq(message->line, 7);
    sand_spec_free(spec);
    sand_diag_clear(&diag);
}
