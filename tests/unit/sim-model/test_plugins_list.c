// Which policies are foreign code, wherever an experiment names them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "mix.h"
#include "plugins.h"

// Of the cluster's policies before those of jobs, built-in ones left out; a type that begins like
// another is one of its own.
Test(plugins, each_is_listed_once)
{
    const struct sand_choice mine = {.type = "checkpoint/mine", .plugin = "a.so"},
                             minerva = {.type = "checkpoint/minerva", .plugin = "a.so"},
                             built_in = {.type = "checkpoint/never"};
    const struct sand_job_spec jobs[] = {{.checkpoint = {.policy = built_in}},
                                         {.checkpoint = {.policy = minerva}},
                                         {.checkpoint = {.policy = mine}},
                                         {.checkpoint = {.policy = mine}}};
    const struct sand_experiment experiment = {.jobs = jobs,
                                               .n_jobs = 4,
                                               .schedule = {"schedule/x", "b.so", 0},
                                               .place = {.type = "place/pack"}};
    char text[100];
    sand_plugins_list(&experiment, text, sizeof text);
    cr_assert_str_eq(text, "schedule/x, checkpoint/minerva, checkpoint/mine");
    sand_plugins_list(&experiment, text, sizeof "schedule/x, checkpoint/minerv");
    cr_assert_str_eq(text, "schedule/x, checkpoint/mine", "what does not fit is left out whole");
}

Test(plugins, mixes_have_them_as_well)
{
    const struct sand_mix_class classes[] = {
        {.checkpoint = {.policy = {.type = "checkpoint/mine", .plugin = "a.so"}}}};
    const struct sand_mix mix = {.classes = classes, .n_classes = 1};
    const struct sand_mix_use use = {&mix};
    struct sand_experiment experiment = {.mixes = &use, .n_mixes = 1};
    char text[100];
    sand_plugins_list(&experiment, text, sizeof text);
    cr_assert_str_eq(text, "checkpoint/mine");
    experiment.n_mixes = 0;
    sand_plugins_list(&experiment, text, sizeof text);
    cr_assert_str_eq(text, "");
}
