// How rows of measured training steps are read: which hardware and which software stack a row
// means. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_STEPRULES_H
#define SAND_SIM_MODEL_STEPRULES_H

#include <stddef.h>

#include "collspec.h"
#include "hardware.h"
#include "workload.h"

// FLOPs behind a source's own rate: not known, attention under the causal mask, all of it. Weights
// six a token, the output layer once, no recomputation.
enum sand_step_counting { SAND_COUNTS_UNKNOWN, SAND_COUNTS_CAUSAL, SAND_COUNTS_FULL };

// The rows whose source contains `source` and whose gpu and sharding begin with `gpu` and
// `sharding`. What a row leaves blank is taken from here. The first match counts.
struct sand_step_stack {
    const char *id;
    const char *source, *gpu, *sharding;
    const struct sand_software *software;
    enum sand_attention attention;
    enum sand_rank_order order;
    int overlap;               // data-parallel traffic beside compute
    int sequence_parallel;     // where tp > 1 and the row does not say
    int distributed_optimizer; // where the row does not say
    double grad_B;
    enum sand_dispatch dispatch;
    double dispatch_B;         // of an element on its way to experts
    uint32_t expert_tp;        // tensor-parallel size of an expert; 0: as the rest where that fits
    double bucket_params;      // parameters in a bucket of the overlapped collectives, and at least
    double bucket_per_replica; // as many for every replica
    double selective_share; // what "selective" recomputes of the forward; 0: as Megatron means it
    const struct sand_collectives *collectives; // how it runs them; NULL: as the rules say
    int batch_of_gpu; // micro_batch is a GPU's share of what a tensor-parallel group has
    enum sand_step_counting counts; // what its tflops_per_gpu counts
};

// The rows on this hardware: `gpu` is the whole cell, `network` is contained in it. First match;
// where no cell is equal, the machine of most words that are all in the cell (namewords.h).
struct sand_step_machine {
    const char *id;
    const char *gpu, *network;
    const struct sand_node_type *node;
};

// The rows whose model begins with `name`, or else has most of its words (namewords.h): what the
// columns do not tell is this model's. `whole`: the name is of this model alone, never of a shorter
// proxy, so that blank widths leave nothing open.
struct sand_step_known {
    const char *id;
    const char *name;
    int whole;
    const struct sand_transformer *model;
};

// What the scripts and READMEs of a source say of its runs and its rows do not: of the rows whose
// source contains `source` and whose model and gpu begin with `model` and `gpu`. First match.
struct sand_step_recipe {
    const char *id;
    const char *source, *model, *gpu;
    uint32_t vocab;                    // trained in place of the model's own; 0: the row's
    const char *recompute, *precision; // where the row leaves them blank; NULL: not said
    const char *from;                  // where it says so
};

// A row that is listed, not scored, and why.
struct sand_step_flag {
    const char *id, *why;
};

struct sand_step_rules {
    const char *id;
    struct sand_provenance from;
    const struct sand_kernel_costs *kernels;
    const struct sand_collectives *collectives;
    struct sand_step_stack *stacks;
    size_t n_stacks;
    struct sand_step_machine *machines;
    size_t n_machines;
    struct sand_step_known *knowns;
    size_t n_knowns;
    struct sand_step_recipe *recipes;
    size_t n_recipes;
    struct sand_step_flag *flags;
    size_t n_flags;
};

#endif
