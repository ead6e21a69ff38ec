// Refitting constants, leaving rows out, and which of two layouts is faster: cases by hand.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "mem.h"
#include "stepfit.h"
#include "stepleave.h"
#include "steprank.h"

enum { N_CONSTANTS = 4, N_ROWS = 12 };

// Three GEMM rates of 0.5, 0.6 and 0.7 of the peak, and a kernel class.
static struct sand_step_constant list[N_CONSTANTS] = {
    {.name = "gemm", .class = SAND_CONSTANT_GEMM_16, .value = 5, .share = 0.5},
    {.name = "gemm", .class = SAND_CONSTANT_GEMM_16, .value = 6, .share = 0.6},
    {.name = "gemm", .class = SAND_CONSTANT_GEMM_16, .value = 7, .share = 0.7},
    {.name = "kernel", .class = SAND_CONSTANT_KERNEL, .value = 1, .share = 1}};
static const struct sand_step_constants constants = {list, N_CONSTANTS};

struct made {
    double residual[N_ROWS], weight[N_ROWS], slopes[N_ROWS * N_CONSTANTS];
    struct sand_step_fit fit;
};

// Row i runs on GPU i % 3: 80 % of its time goes with the rate, 10 % with the kernel; the truth is
// that the constants are off by `truth`.
static void make(struct made *m, const double truth[N_CONSTANTS])
{
    *m = (struct made){.fit = {.constants = &constants, .n_rows = N_ROWS}};
    for (size_t i = 0; i < N_ROWS; i++) {
        m->weight[i] = 1e5; // so much that the prior hardly counts
        m->slopes[i * N_CONSTANTS + i % 3] = -0.8;
        m->slopes[i * N_CONSTANTS + 3] = 0.1 + 0.01 * (double)i;
        for (size_t k = 0; k < N_CONSTANTS; k++)
            m->residual[i] += m->slopes[i * N_CONSTANTS + k] * truth[k];
    }
    m->fit.residual = m->residual;
    m->fit.weight = m->weight;
    m->fit.slopes = m->slopes;
}

Test(fit, finds_the_truth_when_rows_tell_it)
{
    const double truth[N_CONSTANTS] = {0.1, -0.2, 0.05, 0.3};
    double found[N_CONSTANTS];
    struct made m;
    make(&m, truth);
    cr_assert_eq(sand_step_fit_solve(&m.fit, found), SAND_OK);
    for (int k = 0; k < N_CONSTANTS; k++)
        cr_expect_float_eq(found[k], truth[k], 2e-3, "constant %d: %g, not %g", k, found[k],
                           truth[k]);
}

// One row that is far off is an outlier, not a reason to move.
Test(fit, an_outlier_does_not_pull)
{
    const double truth[N_CONSTANTS] = {0, 0, 0, 0};
    double found[N_CONSTANTS];
    struct made m;
    make(&m, truth);
    m.residual[0] = 1;
    cr_assert_eq(sand_step_fit_solve(&m.fit, found), SAND_OK);
    cr_expect_lt(fabs(found[0]), 0.05, "%g", found[0]); // least squares would move it by 0.3
}

// Without rows of the third GPU its rate becomes the mean of the two others': both as fitted.
Test(fit, a_constant_without_rows_is_the_mean_of_its_class)
{
    const double truth[N_CONSTANTS] = {0.1, -0.1, 0.4, 0};
    double found[N_CONSTANTS];
    struct made m;
    make(&m, truth);
    for (size_t i = 2; i < N_ROWS; i += 3)
        m.weight[i] = 0;
    cr_expect_not(sand_step_fit_speaks(&m.fit, 2));
    cr_expect(sand_step_fit_speaks(&m.fit, 0));
    cr_assert_eq(sand_step_fit_solve(&m.fit, found), SAND_OK);
    // Means of the logarithms of 0.5 e^0.1 and 0.6 e^-0.1, drawn a third of the way to that of
    // 0.5 and 0.6, which is the same number.
    const double mean = (log(0.5) + log(0.6)) / 2;
    cr_expect_float_eq(log(0.7) + found[2], mean, 2e-3, "%g", exp(log(0.7) + found[2]));
}

Test(fit, survives_running_out_of_memory)
{
    const double truth[N_CONSTANTS] = {0.1, 0, 0, 0};
    double found[N_CONSTANTS];
    struct made m;
    make(&m, truth);
    for (uint64_t n = 1; n <= 2; n++) {
        sand_mem_fail_at(n);
        cr_expect_eq(sand_step_fit_solve(&m.fit, found), SAND_ERR_NOMEM);
    }
    sand_mem_fail_at(0);
    cr_expect_eq(sand_step_fit_solve(&m.fit, found), SAND_OK);
}

// ---- constants of cases -------------------------------------------------------------------------

static struct sand_gpu_type gpus[2] = {
    {.id = "old", .peak_bf16_flops = 10, .gemm_bf16_flops = 8, .attention_flops = 5},
    {.id = "new", .peak_bf16_flops = 30, .gemm_bf16_flops = 20, .attention_flops = 15}};
static struct sand_link_type nic = {.id = "nic", .usable = 0.5};
static struct sand_software software = {
    .id = "software", .tp_exposed = 0.9, .layer_overhead_s = 1e-4};
static struct sand_kernel_costs kernels = {.id = "kernels", .norm_B = 50};
static const struct sand_step_rules rules = {.id = "rules", .kernels = &kernels};

static struct sand_step_case case_on(struct sand_gpu_type *gpu)
{
    return (struct sand_step_case){.class = SAND_STEP_SCORED,
                                   .node = {.gpu = gpu, .nic = &nic, .n_gpus = 8},
                                   .job = {.software = &software}};
}

// What is zero is not free; what two cases share is one constant; a factor reaches the copy alone,
// and no share passes 1.
Test(constants, are_found_once_and_tuned_in_copies)
{
    const struct sand_step_case cases[3] = {case_on(&gpus[0]), case_on(&gpus[1]),
                                            case_on(&gpus[0])};
    struct sand_step_constants found;
    struct sand_step_tuned tuned;
    double factors[16] = {0};
    cr_assert_eq(sand_step_constants_find(&rules, cases, 3, &found), SAND_OK);
    // Two GEMM rates, two attention rates, one NIC, tp_exposed, layer overhead, norm.
    cr_assert_eq(found.n, 8);
    for (size_t k = 0; k < found.n; k++)
        factors[k] = log(2);
    sand_step_tune(&rules, &cases[0], &found, factors, &tuned);
    cr_expect_float_eq(tuned.gpu.gemm_bf16_flops, 16, 1e-12);
    cr_expect_float_eq(tuned.software.tp_exposed, 1, 1e-12);
    cr_expect_float_eq(tuned.nic.usable, 1, 1e-12);
    cr_expect_float_eq(tuned.kernels.norm_B, 100, 1e-9);
    cr_expect_eq(tuned.node.gpu, &tuned.gpu);
    cr_expect_eq(tuned.cluster.node_type, &tuned.node);
    cr_expect_eq(gpus[0].gemm_bf16_flops, 8);
    cr_expect(sand_step_constant_applies(&rules, &cases[0], &found.list[0]));
    size_t on_new = 0;
    for (size_t k = 0; k < found.n; k++)
        on_new += sand_step_constant_applies(&rules, &cases[1], &found.list[k]) != 0;
    cr_expect_eq(on_new, 6);
    sand_free(found.list);
}

Test(leave_out, groups_are_stacks_and_generations)
{
    struct sand_step_stack stacks[2] = {{.id = "a"}, {.id = "b"}};
    struct sand_gpu_type wide = gpus[0];
    wide.hbm_B = 1; // another memory, the same chip
    struct sand_step_case a = case_on(&gpus[0]), b = case_on(&wide), c = case_on(&gpus[1]);
    a.stack = c.stack = &stacks[0];
    b.stack = &stacks[1];
    cr_expect(sand_step_same_group(SAND_LEAVE_GPU, &a, &b));
    cr_expect_not(sand_step_same_group(SAND_LEAVE_GPU, &a, &c));
    cr_expect(sand_step_same_group(SAND_LEAVE_SOURCE, &a, &c));
    cr_expect_not(sand_step_same_group(SAND_LEAVE_SOURCE, &a, &b));
}

// ---- ranking ------------------------------------------------------------------------------------

// Four layouts of one job, measured 10, 11, 13 and 13.1 s, predicted 10, 12, 11.5 and 14 s, and a
// job on more GPUs. By more than 5 %: five pairs, of which 11 s against 13 s is predicted the wrong
// way.
Test(ranking, pairs_differ_in_layout_alone)
{
    static const double measured_s[] = {10, 11, 13, 13.1, 5}, predicted_s[] = {10, 12, 11.5, 14, 4};
    static const char *const tp[] = {"1", "2", "4", "8", "1"};
    struct sand_step_stack stack = {.id = "stack"};
    struct sand_step_row rows[5];
    struct sand_step_case cases[5];
    struct sand_step_prediction predictions[5] = {0};
    for (int i = 0; i < 5; i++) {
        for (int c = 0; c < SAND_STEP_COLUMNS; c++)
            rows[i].cell[c] = "";
        rows[i].cell[SAND_STEP_TP] = tp[i];
        rows[i].cell[SAND_STEP_GPUS] = i == 4 ? "16" : "8";
        cases[i] = case_on(&gpus[0]);
        cases[i].row = &rows[i];
        cases[i].stack = &stack;
        cases[i].measured_s = measured_s[i];
        predictions[i].step_s = predicted_s[i];
    }
    const struct sand_step_results results = {
        .rules = &rules, .cases = cases, .predictions = predictions, .n = 5};
    const struct sand_step_ranking ranking = sand_step_rank(&results, &stack, 0.05);
    cr_expect_eq(ranking.n_pairs, 5);
    cr_expect_eq(ranking.n_right, 4);
    cr_expect_eq(sand_step_rank(&results, NULL, 0.0).n_pairs, 6);
    rows[3].cell[SAND_STEP_PRECISION] = "fp8";
    cr_expect_eq(sand_step_rank(&results, &stack, 0.05).n_pairs, 3);
}
