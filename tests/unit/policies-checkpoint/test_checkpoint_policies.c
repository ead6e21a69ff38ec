// Checkpoint policies against Daly's exact wall time and the figures printed in his paper.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "builtin_checkpoint.h"

// A host that offers one parameter and remembers what it was told.
struct small_host {
    struct sandtable_host table;
    const char *param_name;
    double param_value;
    char message[128];
};

static double small_param(const struct sandtable_host *host, const char *name)
{
    const struct small_host *small = host->impl;
    return strcmp(name, small->param_name) == 0 ? small->param_value : (double)NAN;
}

static int small_fail(const struct sandtable_host *host, const char *message)
{
    struct small_host *small = host->impl;
    snprintf(small->message, sizeof small->message, "%s", message);
    return -1;
}

static const struct sandtable_checkpoint *policy_of(const char *type)
{
    for (size_t i = 0; sand_builtin_checkpoint[i] != NULL; i++) {
        if (strcmp(sand_builtin_checkpoint[i]->type, type) == 0)
            return sand_builtin_checkpoint[i];
    }
    cr_assert_fail("no built-in %s", type);
    return NULL;
}

// One question to a fresh policy whose only parameter has the given value.
static int ask(const char *type, double param, struct sandtable_checkpoint_context context,
               struct sandtable_checkpoint_plan *plan, struct small_host *small)
{
    const struct sandtable_checkpoint *policy = policy_of(type);
    *small = (struct small_host){
        .table = {.struct_size = sizeof small->table, .param = small_param, .fail = small_fail},
        .param_name = policy->n_params > 0 ? policy->params[0].name : "",
        .param_value = param};
    small->table.impl = small;
    void *self = NULL;
    cr_assert_eq(policy->create(&small->table, &self), 0);
    const int rc = policy->next(self, &context, plan);
    policy->destroy(self);
    return rc;
}

// The interval chosen for blocking saves.
static double blocking(const char *type, double stall_s, double mtbf_s)
{
    struct small_host small;
    struct sandtable_checkpoint_plan plan;
    const struct sandtable_checkpoint_context context = {
        .step_s = 1.0, .stall_s = stall_s, .write_s = stall_s, .mtbf_s = mtbf_s};
    cr_assert_eq(ask(type, 0.0, context, &plan, &small), 0);
    cr_assert_eq(plan.save, 1u);
    return plan.interval_s;
}

// Wall time for one second of useful work with R = 0 (R only multiplies it): Daly 2006, complete
// cost function, M (exp((D + w) / M) - 1) / D.
static double wall(double interval_s, double stall_s, double mtbf_s)
{
    return mtbf_s * expm1((interval_s + stall_s) / mtbf_s) / interval_s;
}

// The interval of least wall time by golden-section search on the formula itself.
static double numeric_optimum(double stall_s, double mtbf_s)
{
    const double ratio = (sqrt(5.0) - 1.0) / 2.0;
    double low = 1e-9 * mtbf_s, high = mtbf_s;
    while (high - low > 1e-9 * mtbf_s) {
        const double a = high - ratio * (high - low), b = low + ratio * (high - low);
        if (wall(a, stall_s, mtbf_s) < wall(b, stall_s, mtbf_s))
            high = b;
        else
            low = a;
    }
    return (low + high) / 2.0;
}

// Relative wall time lost against the numeric optimum.
static double excess(const char *type, double stall_s, double mtbf_s)
{
    const double best = wall(numeric_optimum(stall_s, mtbf_s), stall_s, mtbf_s);
    return wall(blocking(type, stall_s, mtbf_s), stall_s, mtbf_s) / best - 1.0;
}

// Captions of figures 3 to 5 of Daly 2006: a 5 min dump, M = 24 h, 6 h and 15 min.
Test(checkpoint, daly_gives_the_intervals_printed_in_the_paper)
{
    cr_assert_float_eq(blocking("checkpoint/daly", 300, 24 * 3600) / 60, 117.0, 0.5);
    cr_assert_float_eq(blocking("checkpoint/daly", 300, 6 * 3600) / 60, 57.0, 0.5);
    cr_assert_float_eq(blocking("checkpoint/daly", 300, 15 * 60) / 60, 9.1, 0.05);
}

Test(checkpoint, daly_loses_under_2e_5_of_wall_time_to_the_numeric_optimum)
{
    for (double ratio = 1e-5; ratio < 0.51; ratio *= 1.5) {
        const double lost = excess("checkpoint/daly", ratio * 10000.0, 10000.0);
        cr_assert(lost < 2e-5, "w/M = %g: %g", ratio, lost);
        cr_assert(lost > -1e-9, "w/M = %g: better than the optimum by %g", ratio, -lost);
    }
}

// The test above would see a wrong term: without either of them the loss is larger than allowed.
Test(checkpoint, the_numeric_optimum_tells_wrong_expansions_apart)
{
    const double w = 0.5, m = 1.0, x = w / (2 * m);
    const double best = wall(numeric_optimum(w, m), w, m);
    const double no_second = sqrt(2 * w * m) * (1 + sqrt(x) / 3) - w;
    const double no_first = sqrt(2 * w * m) * (1 + x / 9) - w;
    cr_assert_gt(wall(no_second, w, m) / best - 1, 2e-5);
    cr_assert_gt(wall(no_first, w, m) / best - 1, 2e-5);
}

Test(checkpoint, daly_is_the_mtbf_when_a_save_takes_twice_as_long)
{
    cr_assert_float_eq(blocking("checkpoint/daly", 2000, 1000), 1000, 1e-9);
    cr_assert_float_eq(blocking("checkpoint/daly", 5000, 1000), 1000, 1e-9);
    cr_assert_float_eq(blocking("checkpoint/daly", 1990, 1000), 888.9, 0.1); // just below
    cr_assert_lt(excess("checkpoint/daly", 1990, 1000), 2e-3);
}

Test(checkpoint, young_is_good_for_short_saves_and_daly_never_worse)
{
    cr_assert_float_eq(blocking("checkpoint/young", 60, 120000), sqrt(2.0 * 60 * 120000), 1e-9);
    for (double ratio = 1e-5; ratio < 0.51; ratio *= 2) {
        const double young = excess("checkpoint/young", ratio * 10000.0, 10000.0);
        cr_assert(ratio > 0.01 || young < 2e-4, "w/M = %g: %g", ratio, young);
        cr_assert_geq(young, excess("checkpoint/daly", ratio * 10000.0, 10000.0) - 1e-12);
    }
    cr_assert_gt(excess("checkpoint/young", 5000.0, 10000.0), 0.04); // out of its validity
}

Test(checkpoint, an_optimum_scales_with_time)
{
    const char *const types[] = {"checkpoint/young", "checkpoint/daly"};
    for (size_t i = 0; i < 2; i++) {
        const double one = blocking(types[i], 7, 5000), many = blocking(types[i], 7e3, 5e6);
        cr_assert_float_eq(many, one * 1e3, one * 1e-9);
    }
}

// stall 1 s, written in the background for 900 s; the optimum alone would be about 141 s.
Test(checkpoint, an_asynchronous_save_is_durable_before_the_next_begins)
{
    const char *const types[] = {"checkpoint/fixed", "checkpoint/young", "checkpoint/daly"};
    const double params[] = {141, 0, 0};
    for (size_t i = 0; i < 3; i++) {
        struct small_host small;
        struct sandtable_checkpoint_plan plan;
        struct sandtable_checkpoint_context context = {
            .step_s = 1, .stall_s = 1, .write_s = 900, .mtbf_s = 10000};
        cr_assert_eq(ask(types[i], params[i], context, &plan, &small), 0);
        cr_assert_float_eq(plan.interval_s, 900, 1e-9, "%s", types[i]);
        context.write_s = 100; // now the optimum is the longer of the two
        cr_assert_eq(ask(types[i], params[i], context, &plan, &small), 0);
        cr_assert_float_eq(plan.interval_s, 141, 1.0, "%s", types[i]);
    }
}

Test(checkpoint, a_job_without_faults_saves_only_when_told_to)
{
    const char *const types[] = {"checkpoint/young", "checkpoint/daly"};
    const struct sandtable_checkpoint_context context = {
        .step_s = 1, .stall_s = 10, .write_s = 10, .mtbf_s = INFINITY};
    for (size_t i = 0; i < 2; i++) {
        struct small_host small;
        struct sandtable_checkpoint_plan plan;
        cr_assert_eq(ask(types[i], 0, context, &plan, &small), 0);
        cr_assert_eq(plan.save, 0u);
        cr_assert_eq(ask(types[i], 1800, context, &plan, &small), 0);
        cr_assert_eq(plan.save, 1u);
        cr_assert_float_eq(plan.interval_s, 1800, 0);
    }
}

Test(checkpoint, free_saves_are_made_after_every_step)
{
    struct small_host small;
    struct sandtable_checkpoint_plan plan;
    const struct sandtable_checkpoint_context context = {.step_s = 4.5, .mtbf_s = 10000};
    cr_assert_eq(ask("checkpoint/daly", 0, context, &plan, &small), 0);
    cr_assert_float_eq(plan.interval_s, 4.5, 0);
}

Test(checkpoint, fixed_keeps_its_interval_and_none_never_saves)
{
    struct small_host small;
    struct sandtable_checkpoint_plan plan;
    const struct sandtable_checkpoint_context context = {
        .step_s = 1, .stall_s = 60, .write_s = 60, .mtbf_s = INFINITY};
    cr_assert_eq(ask("checkpoint/fixed", 600, context, &plan, &small), 0);
    cr_assert_eq(plan.save, 1u);
    cr_assert_float_eq(plan.interval_s, 600, 0);
    cr_assert_eq(ask("checkpoint/none", 0, context, &plan, &small), 0);
    cr_assert_eq(plan.save, 0u);
}

Test(checkpoint, a_context_without_meaning_fails_with_a_message)
{
    const struct sandtable_checkpoint_context bad[] = {
        {.step_s = 1, .stall_s = 1, .write_s = 1, .mtbf_s = 0},
        {.step_s = 1, .stall_s = 1, .write_s = 1, .mtbf_s = NAN},
        {.step_s = 1, .stall_s = -1, .write_s = 1, .mtbf_s = 100},
        {.step_s = 1, .stall_s = NAN, .write_s = 1, .mtbf_s = 100}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct small_host small;
        struct sandtable_checkpoint_plan plan;
        cr_assert_neq(ask("checkpoint/daly", 0, bad[i], &plan, &small), 0);
        cr_assert(strstr(small.message, "checkpoint/daly"), "%s", small.message);
        cr_assert_neq(ask("checkpoint/young", 0, bad[i], &plan, &small), 0);
    }
}
