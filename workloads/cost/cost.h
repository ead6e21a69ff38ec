// Roofline with size-dependent efficiency: seconds on one GPU for the pieces of a training step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_COST_COST_H
#define SAND_WORKLOADS_COST_COST_H

#include "hardware.h"
#include "workload.h"

struct sand_cost {
    const struct sand_gpu_type *gpu;
    const struct sand_kernel_costs *kernels;
    const struct sand_software *software;
};

// One GEMM: 2mnk/R * quantisation * misalignment + traffic / usable HBM bandwidth + overhead.
// Seconds.
double sand_cost_gemm_s(const struct sand_cost *cost, enum sand_precision precision, double m,
                        double n, double k);

// Times of one transformer layer of a kind (train.h) and one micro-batch on one GPU, without
// communication. Experts: the GPU with the fullest ones.
struct sand_layer_times {
    double forward_s, backward_s;
    double weights_s;   // of the backward: gradients of the weights, which nobody waits for
    double recompute_s; // added to the backward, by the split's recompute mode
};
void sand_cost_layer(const struct sand_cost *cost, const struct sand_transformer *model,
                     const struct sand_split *split, int kind, struct sand_layer_times *times);

// Output layer and loss of one micro-batch; forward one third, backward two.
void sand_cost_head(const struct sand_cost *cost, const struct sand_transformer *model,
                    const struct sand_split *split, struct sand_layer_times *times);

// Optimizer step on one GPU that updates `params` parameters locally.
double sand_cost_optimizer_s(const struct sand_cost *cost, double params);

// Dense peak of one GPU at the split's GEMM precision, FLOP/s.
double sand_cost_peak_flops(const struct sand_gpu_type *gpu, enum sand_precision precision);

#endif
