// The free constants behind predictions of steps, and predictions with other values of them.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPCONSTANTS_H
#define SAND_ANALYSIS_VALIDATE_STEPCONSTANTS_H

#include <stddef.h>

#include "rc.h"
#include "stepcase.h"

enum sand_step_constant_class {
    SAND_CONSTANT_GEMM_16, // of the kernel alone, as measured, else of the GPU's peak
    SAND_CONSTANT_GEMM_8,
    SAND_CONSTANT_GEMM_4,
    SAND_CONSTANT_ATTENTION, // of the 16-bit peak where the kernel has not been measured
    SAND_CONSTANT_SCALEUP,   // usable share
    SAND_CONSTANT_NETWORK,
    SAND_CONSTANT_TP,      // exposed share of stacks that overlap
    SAND_CONSTANT_TP_BARE, // of stacks that do not
    SAND_CONSTANT_DP,
    SAND_CONSTANT_EP,
    SAND_CONSTANT_LAYER,
    SAND_CONSTANT_KERNEL, // of a kernel class: no two are alike
    SAND_CONSTANT_CLASSES
};
const char *sand_step_constant_class_name(enum sand_step_constant_class constant_class);

// One value of one attribute, which several entries of the catalogue may share: what it gives to
// two entries with the same value is one constant.
struct sand_step_constant {
    const char *name, *owner; // attribute; id of the first entry that has it
    enum sand_step_constant_class class;
    double value;
    double share; // value in units in which constants of one class compare: of a kernel, of one
};

struct sand_step_constants {
    struct sand_step_constant *list;
    size_t n;
};

// Those that a scored case of `cases` depends on; zeros are not free. Free with sand_free(list).
enum sand_rc sand_step_constants_find(const struct sand_step_rules *rules,
                                      const struct sand_step_case *cases, size_t n,
                                      struct sand_step_constants *constants);

// A case with its own copies of what the constants are part of.
struct sand_step_tuned {
    struct sand_gpu_type gpu;
    struct sand_link_type scaleup, nic;
    struct sand_software software;
    struct sand_kernel_costs kernels;
    struct sand_node_type node;
    struct sand_cluster cluster;
    struct sand_job_spec job;
};

// Fills `tuned` from a case that is not skipped, constant k times exp(log_factors[k]); shares stay
// at most 1. Without constants (NULL): as the catalogue has them. `tuned` must not move.
void sand_step_tune(const struct sand_step_rules *rules, const struct sand_step_case *c,
                    const struct sand_step_constants *constants, const double *log_factors,
                    struct sand_step_tuned *tuned);

// Whether the case depends on the constant.
int sand_step_constant_applies(const struct sand_step_rules *rules, const struct sand_step_case *c,
                               const struct sand_step_constant *constant);

#endif
