// From a model and a split to what each GPU does in a step: layers, FLOPs, memory, schedule.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_TRAIN_TRAIN_H
#define SAND_WORKLOADS_TRAIN_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "hardware.h"
#include "stepprofile.h"
#include "workload.h"

// Checks that the split is possible for the model: sizes > 0, heads and FFN divisible by tp, layers
// enough for pp * virtual stages, global batch divisible, micro-batches a multiple of pp when
// interleaved. Reports every problem. `gpus` = 0 skips the GPU count check.
enum sand_rc sand_split_check(const struct sand_transformer *model, const struct sand_split *split,
                              uint32_t gpus, struct sand_diag *diag);

// Micro-batches per step and replica.
uint32_t sand_split_micro_batches(const struct sand_split *split);

// Number of layers of chunk `chunk` (0..virtual_stages) on pipeline stage `stage`. Uneven depths
// (126 layers on 16 x 8 chunks) take layers away from the first and the last chunk first, where the
// embedding and the output layer live, alternately, as the Llama 3 report describes.
uint32_t sand_split_layers(const struct sand_transformer *model, const struct sand_split *split,
                           uint32_t stage, uint32_t chunk);

// Parameters: total; of one layer; of the input embedding; of the output layer (0 if tied).
// Matrices and norm weights; biases and learned positions (GPT family, under 0.1 %) are not
// counted.
double sand_model_params(const struct sand_transformer *model);
double sand_model_layer_params(const struct sand_transformer *model);
double sand_model_embedding_params(const struct sand_transformer *model);
double sand_model_output_params(const struct sand_transformer *model);

// Layers of all chunks of `stage`.
uint32_t sand_split_stage_layers(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage);

// Parameters held by one GPU of `stage`. A tied output layer on another stage than the embedding is
// a copy and counts there.
double sand_split_gpu_params(const struct sand_transformer *model, const struct sand_split *split,
                             uint32_t stage);

// Model FLOPs of one step over all replicas: 3 x forward; causal attention at half; recomputation
// and input embedding excluded, output layer included.
double sand_model_flops(const struct sand_transformer *model, const struct sand_split *split);

// Recomputation FLOPs of one step (to add for hardware FLOPs).
double sand_recompute_flops(const struct sand_transformer *model, const struct sand_split *split);

// Bytes that the backward of one layer finds saved for one micro-batch on one GPU, by the split's
// recompute mode. Korthikanti et al. 2022 eq. 1-5, itemised for gated FFN, grouped heads and fused
// attention; no dropout masks. All tensors in 16 bit, also under fp8 (an upper bound there).
double sand_activation_layer_B(const struct sand_transformer *model,
                               const struct sand_split *split);

// Largest number of layer forwards of `stage` whose backward has not run, over the stage's
// schedule. O(pp * virtual_stages^2).
uint64_t sand_schedule_in_flight(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage);

// Memory of the fullest GPU: weights, gradients, optimizer state, activations in flight (with the
// tensors rebuilt for one layer), logits on the last stage and the catalogue's allowance for
// buffers.
void sand_memory_estimate(const struct sand_transformer *model, const struct sand_split *split,
                          const struct sand_gpu_type *gpu, const struct sand_kernel_costs *kernels,
                          struct sand_memory *memory);

// SAND_ERR_INPUT with the breakdown and a way out if the estimate exceeds the GPU's memory.
enum sand_rc sand_memory_check(const struct sand_transformer *model, const struct sand_split *split,
                               const struct sand_gpu_type *gpu,
                               const struct sand_kernel_costs *kernels, struct sand_memory *memory,
                               struct sand_diag *diag);

// One entry of a stage's order of work.
struct sand_stage_op {
    uint16_t chunk;   // 0..virtual_stages
    uint8_t backward; // 0 forward, 1 backward
    uint32_t micro_batch;
};

// The order of forwards and backwards of one stage: 1F1B (Narayanan et al. 2021), interleaved 1F1B
// when virtual_stages > 1. Writes 2 * micro_batches * virtual_stages entries into ops (caller's)
// and returns how many. O(entries).
size_t sand_schedule_stage(const struct sand_split *split, uint32_t stage,
                           struct sand_stage_op *ops);

// Checkpoint bytes of the whole job.
double sand_checkpoint_B(const struct sand_transformer *model, double bytes_per_param);

#endif
