// The figures of the summary against sums done by hand on two small runs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "overview.h"
#include "sample_runs.h"

#define GPU_H 3600.0

static struct sand_arena arena;
static struct sand_results *results;
static struct sand_overview overview;

static void make(void)
{
    results = open_sample(2);
    cr_assert_eq(sand_overview_make(results, &arena, &overview, NULL), SAND_OK);
}

static void unmake(void)
{
    sand_results_close(results);
    sand_arena_clear(&arena);
}

static void near(double got, double want, const char *what)
{
    cr_assert(fabs(got - want) <= 1e-9 * fabs(want), "%s: got %.12g, want %.12g", what, got, want);
}

TestSuite(overview, .init = make, .fini = unmake);

Test(overview, what_was_run)
{
    cr_assert_eq(overview.n_runs, 2);
    cr_assert_eq(overview.n_jobs, 2);
    cr_assert_eq(overview.gpus_asked, 72);
    near(overview.duration_s, 36000, "duration");
    near(overview.capacity_gpus, 100, "1,000 GPU-hours in 10 hours");
}

Test(overview, means_and_intervals_over_runs)
{
    near(overview.mfu.mean, 0.41, "mean of 0.40 and 0.42");
    // sd = 0.02 / sqrt(2), half width = t(1) sd / sqrt(2) = 12.7062047 x 0.01.
    near(overview.mfu.ci95, 0.12706204736174698, "interval of MFU");
    near(overview.goodput_mfu.mean, 0.37, "goodput");
    near(overview.ettr_run.mean, 0.92, "ETTR");
    near(overview.ettr_total.mean, 0.89, "ETTR from eligible");
    near(overview.unexpected.mean, 2, "interruptions");
    near(overview.planned.mean, 0.5, "planned");
    near(overview.lost_gpu_s.mean, 30 * GPU_H, "lost");
    near(overview.power_W.mean, 105e3, "3.6 GJ and 3.96 GJ in 10 h");
    near(overview.token_energy_J.mean, (3.6 + 3.3) / 2, "3.6e9 J / 1e9 and 3.96e9 J / 1.2e9");
    // Run 0: llama alone, 0.44. Run 1: llama 64 x 1,000 x 30 s, tiny 8 x 800 x 100 s: weights 3 to
    // 1, (3 x 0.46 + 0.30) / 4 = 0.42.
    near(overview.hfu.mean, 0.43, "HFU");
}

static double class_gpu_h(const char *name)
{
    for (size_t i = 0; i < overview.n_classes; i++)
        if (strcmp(overview.classes[i].name, name) == 0)
            return overview.classes[i].gpu_s / GPU_H;
    return NAN;
}

Test(overview, gpu_time_sums_to_capacity)
{
    near(class_gpu_h("useful"), 450, "useful, 440 and 460");
    near(class_gpu_h("at risk"), 3, "at risk, 10 - 4 and 10 - 10");
    near(class_gpu_h("lost"), 12, "lost");
    near(class_gpu_h("restarting"), 10, "restarting");
    near(overview.capacity_gpu_s / GPU_H, 1000, "capacity");
    near(overview.allocated_gpu_s / GPU_H, 500, "450 + 3 + 12 + 20 + 5 + 10");
    cr_assert_eq(overview.n_classes, 9, "classes without time must not show");
    cr_assert_str_eq(overview.classes[0].name, "useful");
    cr_assert_str_eq(overview.classes[8].name, "down");
    // 100 W per GPU-hour booked: idle has 150 + 150 in two windows of half the time.
    near(overview.classes[7].power_W, 15e3, "power of idle");
}

Test(overview, the_step_is_weighted_by_the_steps_executed)
{
    cr_assert_eq(overview.n_splits, 1, "a recorded job has no split");
    const struct sand_step_split *const split = &overview.splits[0];
    cr_assert_str_eq(split->job, "llama");
    near(split->step_s, (700 * 30.0 + 300 * 40.0 + 1000 * 30.0) / 2000, "step");
    near(split->exposed_dp_s, (700 * 1.0 + 300 * 11.0 + 1000 * 1.0) / 2000, "data parallel");
    near(split->compute_s, 24, "compute");
    near(split->compute_s + split->exposed_tp_s + split->exposed_cp_s + split->exposed_pp_s +
             split->exposed_dp_s + split->bubble_s + split->data_stall_s,
         split->step_s, "the parts sum to the step");
    near(split->memory_B, 60e9, "memory");
    near(split->observed_step_s, (1000 * 33.0 + 1000 * 30.0) / 2000, "observed");
    cr_assert_eq(split->alone, 0);
}

// In run 1 of the mix the number and the id belong to a job submitted at another time.
Test(overview_alone, another_job_of_the_same_number_is_not_merged)
{
    struct sand_results *const mix = open_mix();
    struct sand_arena scratch = {0};
    struct sand_overview o;
    cr_assert_eq(sand_overview_make(mix, &scratch, &o, NULL), SAND_OK);
    cr_assert_eq(o.n_splits, 1);
    cr_assert_eq(o.splits[0].alone, 1);
    near(o.splits[0].step_s, (700 * 30.0 + 300 * 40.0) / 1000, "the steps of run 0 alone");
    near(o.splits[0].gpu_s, 1000 * 36.0 * 64, "its GPU time, of one run");
    near(o.splits[0].observed_step_s, 36, "observed");
    cr_assert(o.fewest_jobs == 2 && o.most_jobs == 3 && o.shares_nodes);
    near(o.mean_jobs, 2.5, "jobs a run");
    near(o.mean_gpus, 78, "72 and 84");
    sand_arena_clear(&scratch);
    sand_results_close(mix);
}

Test(overview, interruptions_by_cause_with_a_childs_loss_in_its_parents)
{
    cr_assert_eq(overview.n_causes, 3);
    const struct sand_fault_group *const causes = overview.causes;
    cr_assert_str_eq(causes[0].name, "gpu");
    cr_assert_str_eq(causes[1].name, "network");
    cr_assert_str_eq(causes[2].name, "maintenance");
    cr_assert(causes[0].n == 2 && causes[1].n == 2 && causes[2].n == 1);
    near(causes[0].lost_gpu_s, 44 * GPU_H, "20 + 24");
    near(causes[1].lost_gpu_s, 14 * GPU_H, "14, the child's 5 are in the 20");
    near(causes[0].lost_gpu_s + causes[1].lost_gpu_s + causes[2].lost_gpu_s,
         2 * overview.lost_gpu_s.mean, "causes sum to the total of the runs");
    cr_assert(causes[2].planned == 1 && causes[0].planned == 0);
    cr_assert_eq(overview.n_fault_classes, 3);
}

Test(overview, recovery_of_roots_that_are_over)
{
    const struct sand_recovery_times *const times = &overview.recovery[0];
    cr_assert(times->n == 2 && times->n_children == 1 && times->n_open == 1);
    near(times->mean_s, 900, "600 and 1,200");
    near(times->median_s, 900, "median");
    near(times->p95_s, 600 + 0.95 * 600, "type 7 quantile of two");
    double sum = 0;
    for (size_t i = 0; i < SAND_RECOVERY_PARTS; i++)
        sum += times->parts_s[i];
    near(sum, times->mean_s, "the parts sum to the mean");
    near(times->parts_s[0], 90, "detect, 60 and 120");
    near(times->parts_s[2], 150, "wait, 0 and 300");
    cr_assert_eq(overview.recovery[1].n, 1);
    near(overview.recovery[1].mean_s, 300, "planned");
}

Test(overview, saves_and_states)
{
    near(overview.saves.durable.mean, 2, "3 and 1");
    near(overview.saves.undurable.mean, 0.5, "1 and 0");
    near(overview.saves.interval_s, (3 * 600.0 + 1000.0) / 4, "interval");
    near(overview.saves.stall_s, (3 * 4.0 + 8.0) / 4, "stall");
    near(overview.saves.to_durable_s, (10 + 20 + 30 + 20) / 4.0, "delay");
    near(overview.saves.share, 0.04, "20 of 500 GPU-hours");
    cr_assert(overview.states.finished == 1 && overview.states.running == 2 &&
              overview.states.waiting == 1 && overview.states.failed == 0);
}

Test(overview_alone, knows_every_class_of_the_ledger)
{
    char *header, *source;
    size_t size;
    cr_assert_eq(
        sand_file_read(SAND_SOURCE_DIR "/sim/ledger/ledger.h", 1 << 20, &header, &size, NULL),
        SAND_OK);
    cr_assert_eq(sand_file_read(SAND_SOURCE_DIR "/analysis/report/overviewtime.c", 1 << 20, &source,
                                &size, NULL),
                 SAND_OK);
    size_t n = 0;
    for (const char *at = header; (at = strstr(at, "    X(")) != NULL; at++) {
        char name[64], quoted[80];
        cr_assert_eq(sscanf(at, "    X(%*[A-Z_], \"%63[^\"]\"", name), 1);
        snprintf(quoted, sizeof quoted, "{\"%s\", ", name);
        cr_assert_not_null(strstr(source, quoted), "the report does not know \"%s\"", name);
        n++;
    }
    cr_assert_eq(n, 18);
    sand_free(header);
    sand_free(source);
}

Test(overview_alone, every_allocation_may_fail)
{
    struct sand_results *const sample = open_sample(2);
    struct sand_arena scratch = {0};
    for (uint64_t n = 1;; n++) {
        sand_mem_fail_at(n);
        const enum sand_rc rc = sand_overview_make(sample, &scratch, &overview, NULL);
        sand_mem_fail_at(0);
        sand_arena_clear(&scratch);
        if (rc == SAND_OK && n > 40)
            break;
        cr_assert(rc == SAND_ERR_NOMEM || rc == SAND_OK, "allocation %d", (int)n);
        cr_assert_lt(n, 1000);
    }
    sand_results_close(sample);
}
