// Waits, completion and bounded slowdown by group, worked by hand; ends are never mixed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_groups, .fini = forget, .timeout = 60);

static void add(const char *id, uint32_t n_nodes, double work_s, const char *job_class,
                enum sand_job_ending ending)
{
    struct sand_job_spec *job = case_recorded(&c, id, n_nodes, 0, work_s);
    job->job_class = job_class;
    job->ending = ending;
}

static const struct sand_groups_row *find(const char *by, const char *name, const char *ending)
{
    for (size_t i = 0; i < N_ROWS(&kept, groups); i++) {
        const struct sand_groups_row *row = &ROWS(&kept, groups)[i];
        if (strcmp(row->by.text, by) == 0 && strcmp(row->name.text, name) == 0 &&
            strcmp(row->ending.text, ending) == 0)
            return row;
    }
    cr_assert(0, "no row %s %s, %s", by, name, ending);
    return NULL;
}

// One node of 8 GPUs, first in, first out, all submitted at 0: A runs [0, 4), B [4, 24), C [24, 25)
// and fails, D [25, 55) and is killed, E [55, 60) but the experiment ends at 58, F never starts.
static void one_after_the_other(void)
{
    case_set(&c, 1, 58);
    add("A", 1, 4, "x", SAND_ENDS_FINISHED);
    add("B", 1, 20, "y", SAND_ENDS_FINISHED);
    add("C", 1, 1, "y", SAND_ENDS_FAILED);
    add("D", 1, 30, "y", SAND_ENDS_KILLED);
    add("E", 1, 5, "y", SAND_ENDS_FINISHED);
    add("F", 1, 5, NULL, SAND_ENDS_FINISHED);
    case_run_well(&c, &kept);
}

Test(replay_groups, every_kind_of_end_apart)
{
    one_after_the_other();
    const struct sand_groups_row *all = find("all", "all", "finished");
    cr_expect_eq(all->jobs, 2, "A and B");
    cr_expect_float_eq(all->wait_mean_s, 2, 1e-9);
    cr_expect_float_eq(all->wait_p50_s, 0, 1e-9, "the first of two");
    cr_expect_float_eq(all->wait_p95_s, 4, 1e-9);
    cr_expect_float_eq(all->wait_max_s, 4, 1e-9);
    cr_expect_float_eq(all->completion_mean_s, 14, 1e-9);
    // A: max(1, 4 / 10) = 1; B: 24 / 20.
    cr_expect_float_eq(all->slowdown_mean, 1.1, 1e-12);
    cr_expect_float_eq(all->gpu_s, 8 * 24, 1e-9);
    // C: (24 + 1) / max(1, 10).
    cr_expect_float_eq(find("all", "all", "ended failed")->slowdown_mean, 2.5, 1e-12);
    cr_expect_float_eq(find("all", "all", "ended killed")->wait_mean_s, 25, 1e-9);
    const struct sand_groups_row *unfinished = find("all", "all", "unfinished");
    cr_expect_float_eq(unfinished->wait_mean_s, 55, 1e-9);
    cr_expect(isnan(unfinished->completion_mean_s), "it has not ended");
    cr_expect_float_eq(unfinished->gpu_s, 8 * 3, 1e-9);
    cr_expect(isnan(find("all", "all", "waiting")->wait_mean_s), "its wait is not over");
}

Test(replay_groups, by_class_and_size)
{
    one_after_the_other();
    cr_expect_eq(find("class", "x", "finished")->jobs, 1);
    cr_expect_eq(find("class", "y", "finished")->jobs, 1);
    cr_expect_eq(find("class", "y", "unfinished")->jobs, 1);
    cr_expect_eq(find("size", "2-8 GPUs", "finished")->jobs, 2);
    uint64_t by_class = 0, by_all = 0;
    for (size_t i = 0; i < N_ROWS(&kept, groups); i++) {
        const struct sand_groups_row *row = &ROWS(&kept, groups)[i];
        by_class += strcmp(row->by.text, "class") == 0 ? row->jobs : 0;
        by_all += strcmp(row->by.text, "all") == 0 ? row->jobs : 0;
        cr_expect_str_neq(row->by.text, "user", "nobody told users");
    }
    cr_expect_eq(by_all, 6, "every job is in one row");
    cr_expect_eq(by_class, 5, "F has no class");
}

// It never started, and nobody is there to be gathered at the end.
Test(replay_groups, a_job_after_the_end_waits)
{
    case_set(&c, 1, 58);
    case_recorded(&c, "late", 1, 100, 5);
    case_run_well(&c, &kept);
    cr_expect_eq(find("all", "all", "waiting")->jobs, 1);
    cr_expect_float_eq(booked_gpu_s(&kept, "idle"), 8 * 58, 1e-9);
}

Test(replay_groups, no_job_no_group)
{
    case_set(&c, 1, 58);
    case_run_well(&c, &kept);
    cr_expect_eq(N_ROWS(&kept, groups), 0);
    cr_expect_float_eq(booked_gpu_s(&kept, "idle"), 8 * 58, 1e-9);
}
