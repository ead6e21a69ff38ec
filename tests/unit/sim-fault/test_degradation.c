// Draws of degradations: rates, parts, flaps, and that nothing moves the draws of anything else.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include <criterion/criterion.h>

#include "degradation.h"

TestSuite(degradation, .timeout = 60);

enum { NODES = 16 };

static const struct sand_fault_class kills[] = {
    {.id = "gpu", .cause = "gpu", .rate_per_node_s = 1e-4, .component = SAND_COMPONENT_GPU},
    {.id = "job", .cause = "software", .rate_per_node_s = 2e-4, .component = SAND_COMPONENT_JOB}};

static const struct sand_degradation_class degrades[] = {
    {.fault = {.id = "rare", .repair.mean_s = 10}, .rate_per_part_s = 1e-6, .at_s = -1},
    {.fault = {.id = "often", .repair = {SAND_LAW_EXPONENTIAL, 100, 0, 0}},
     .rate_per_part_s = 1e-3,
     .at_s = -1,
     .effect = SAND_EFFECT_FLAP,
     .down = {SAND_LAW_EXPONENTIAL, 2, 0, 0},
     .up = {SAND_LAW_CONSTANT, 30, 0, 0}},
    {.fault = {.id = "once"}, .at_s = 12345}};

static struct sand_fault_process *open(size_t n_degradations)
{
    static struct sand_fault_spec specs[4];
    struct sand_fault_spec *spec = &specs[n_degradations];
    struct sand_fault_process *process = NULL;
    *spec = (struct sand_fault_spec){.classes = kills,
                                     .n_classes = 2,
                                     .degradations = degrades,
                                     .n_degradations = n_degradations};
    cr_assert_eq(sand_fault_open(spec, NODES, 8, 8, (struct sand_rng){3, 0}, &process, NULL),
                 SAND_OK);
    return process;
}

// The faults that kill come at the same dates, of the same classes, with and without degradations.
Test(degradation, leaves_the_faults_that_kill_alone)
{
    struct sand_fault_process *without = open(0), *with = open(3);
    for (uint32_t node = 0; node < NODES; node++) {
        int64_t a = sand_fault_expose(without, node, 0), b = sand_fault_expose(with, node, 0);
        for (int k = 0; k < 50; k++) {
            cr_assert_eq(a, b);
            const struct sand_fault x = sand_fault_take(without, node, &a);
            const struct sand_fault y = sand_fault_take(with, node, &b);
            cr_assert_eq(x.class_index, y.class_index);
            cr_assert_eq(x.component, y.component);
            cr_assert_eq(sand_fault_repair_ns(without, &x), sand_fault_repair_ns(with, &y));
        }
    }
    sand_fault_close(without);
    sand_fault_close(with);
}

// 20,000 strikes on 100 parts: their number is Poisson (5 standard errors), parts are even (the
// counts' chi-square of 99 degrees of freedom stays below 180), another class changes nothing.
Test(degradation, strikes_at_its_rate_and_evenly)
{
    struct sand_fault_process *two = open(2), *three = open(3);
    int64_t date = 0;
    uint32_t counts[100] = {0};
    const uint64_t n = 20000;
    for (uint64_t k = 0; k < n; k++) {
        const int64_t next = sand_degradation_next_ns(two, 1, k, date, 100);
        cr_assert_eq(sand_degradation_next_ns(three, 1, k, date, 100), next);
        cr_assert_geq(next, date);
        date = next;
        counts[sand_degradation_part(two, 1, k, 100)]++;
    }
    const double mean_s = (double)date / 1e9 / (double)n;
    cr_assert_float_eq(mean_s, 10, 5 * 10 / sqrt((double)n));
    double chi = 0;
    for (int i = 0; i < 100; i++)
        chi += (counts[i] - 200.0) * (counts[i] - 200.0) / 200;
    cr_assert_lt(chi, 180);
    sand_fault_close(two);
    sand_fault_close(three);
}

// A date strikes once, on time; a class without parts or rate never.
Test(degradation, strikes_on_its_date)
{
    struct sand_fault_process *process = open(3);
    cr_assert_eq(sand_degradation_next_ns(process, 2, 0, 0, 1), INT64_C(12345000000000));
    cr_assert_eq(sand_degradation_next_ns(process, 2, 1, 12345000000000, 1), INT64_MAX);
    cr_assert_eq(sand_degradation_next_ns(process, 0, 0, 0, 0), INT64_MAX);
    sand_fault_close(process);
}

// Flaps follow their laws, times of the fault those of the class; the same address, the same time.
Test(degradation, flaps_by_its_laws)
{
    struct sand_fault_process *process = open(2);
    double sum = 0;
    for (uint64_t m = 0; m < 4000; m++) {
        cr_assert_eq(sand_degradation_flap_ns(process, 1, 7, m, 0), INT64_C(30000000000));
        sum += (double)sand_degradation_flap_ns(process, 1, 7, m, 1) / 1e9;
    }
    cr_assert_float_eq(sum / 4000, 2, 5 * 2 / sqrt(4000));
    const struct sand_fault fault = sand_degradation_fault(process, 1, 7, 3, 2);
    cr_assert_eq(fault.node, 3u);
    cr_assert_eq(fault.component, 2u);
    cr_assert_eq(fault.class_index, 3u);
    const struct sand_fault elsewhere = sand_degradation_fault(process, 1, 7, 9, 2);
    const struct sand_fault next = sand_degradation_fault(process, 1, 8, 3, 2);
    cr_assert_eq(sand_fault_repair_ns(process, &fault), sand_fault_repair_ns(process, &elsewhere));
    cr_assert_neq(sand_fault_repair_ns(process, &fault), sand_fault_repair_ns(process, &next));
    sand_fault_close(process);
}
