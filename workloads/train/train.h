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

// Its rules for experts; adds the problems and returns how many.
size_t sand_experts_check(const struct sand_transformer *model, const struct sand_split *split,
                          struct sand_diag *diag);

// The rank order with auto decided.
enum sand_rank_order sand_split_order(const struct sand_split *split);

// Micro-batches per step and replica.
uint32_t sand_split_micro_batches(const struct sand_split *split);

// Number of layers of chunk `chunk` (0..virtual_stages) on pipeline stage `stage`. Uneven depths
// (126 layers on 16 x 8 chunks) take layers away from the first and the last chunk first, where the
// embedding and the output layer live, alternately, as the Llama 3 report describes. first_layers
// and last_layers are shared out over the chunks of their stage, the rest over the others.
uint32_t sand_split_layers(const struct sand_transformer *model, const struct sand_split *split,
                           uint32_t stage, uint32_t chunk);

// Layers of all chunks of `stage`.
uint32_t sand_split_stage_layers(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage);

// A kind of layer is a sum of these: it has experts; its attention has a window.
enum { SAND_LAYER_EXPERTS = 1, SAND_LAYER_WINDOW = 2, SAND_LAYER_KINDS = 4 };
struct sand_layer_census {
    uint32_t n[SAND_LAYER_KINDS];
};

// Layers of each kind among n from `first`, and in a chunk. O(n) for models of several kinds.
struct sand_layer_census sand_model_census(const struct sand_transformer *model, uint32_t first,
                                           uint32_t n);
struct sand_layer_census sand_split_census(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage,
                                           uint32_t chunk);

// Columns of all heads: queries (with positions), values, and what keys and values are made of: the
// output of their projection.
struct sand_head_widths {
    double q, value, kv;
};
struct sand_head_widths sand_model_head_widths(const struct sand_transformer *model);

// Whether any layer has an FFN instead of experts.
int sand_model_has_ffn(const struct sand_transformer *model);

// Matrices of an FFN: three with a gate, two without.
double sand_ffn_matrices(const struct sand_transformer *model);

// Keys that a query of a causal sequence sees in the mean: s/2, under a window w: w (1 - w/(2s)).
double sand_attention_keys(const struct sand_transformer *model, uint32_t sequence, int kind);

// Parameters: total; of one layer; of the input embedding; of the output layer (0 if tied).
// Matrices, norm weights and learned positions; biases (GPT family, under 0.1 %) are not counted.
double sand_model_params(const struct sand_transformer *model);
double sand_model_layer_params(const struct sand_transformer *model, int kind);
double sand_model_embedding_params(const struct sand_transformer *model);
double sand_model_output_params(const struct sand_transformer *model);

// Those that one token passes through: experts it is not routed to and the input embedding, of
// which it reads a row, are not counted, the output layer is.
double sand_model_active_params(const struct sand_transformer *model);

// Tensor-parallel size of an expert, and copies of one: the GPUs of a stage over ep * expert_tp.
uint32_t sand_split_expert_tp(const struct sand_split *split);
uint32_t sand_split_expert_copies(const struct sand_split *split);

// Copies of a stage that share out its training state among themselves, and copies of an expert
// that do so with its.
uint32_t sand_split_shards(const struct sand_split *split);
uint32_t sand_split_expert_shards(const struct sand_split *split);

// Whether the copies share out anything, and whether also gradients: then every micro-batch
// reduces them. Groups of one copy share out nothing.
int sand_split_shares_out(const struct sand_split *split);
int sand_split_is_sharded(const struct sand_split *split);

// Parameters held by one GPU: those that all dp * cp copies of its stage hold, and its experts, of
// which there are sand_split_expert_copies. Of a layer, a chunk and a stage; the sum over both. A
// tied output layer on another stage than the embedding is a copy and counts there.
struct sand_params {
    double dense, expert;
};
struct sand_params sand_split_layer_params(const struct sand_transformer *model,
                                           const struct sand_split *split, int kind);
struct sand_params sand_split_chunk_params(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage,
                                           uint32_t chunk);
struct sand_params sand_split_stage_params(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage);
double sand_split_gpu_params(const struct sand_transformer *model, const struct sand_split *split,
                             uint32_t stage);

// The same of a chunk in tensors, as frameworks keep them: queries, keys and values of a layer in
// one, projection, norms, and each matrix of an FFN or expert.
struct sand_params sand_split_chunk_tensors(const struct sand_transformer *model,
                                            const struct sand_split *split, uint32_t stage,
                                            uint32_t chunk);

// Model FLOPs of one step over all replicas: 3 x forward; causal attention at half; recomputation
// and input embedding excluded, output layer included.
double sand_model_flops(const struct sand_transformer *model, const struct sand_split *split);

// Recomputation FLOPs of one step (to add for hardware FLOPs).
double sand_recompute_flops(const struct sand_transformer *model, const struct sand_split *split);

// Bytes that the backward of one layer of a kind finds saved for one micro-batch on one GPU, by the
// split's recompute mode. Korthikanti et al. 2022 eq. 1-5, itemised for gated FFN, grouped heads
// and fused attention; no dropout masks. All tensors in 16 bit, also under fp8 (an upper bound
// there).
double sand_activation_layer_B(const struct sand_transformer *model, const struct sand_split *split,
                               int kind);

// Largest number of layer forwards of `stage` whose backward (and gradients of weights) has not
// run, over the stage's schedule. O(virtual_stages).
uint64_t sand_schedule_in_flight(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage);

// Memory of the fullest GPU: weights, gradients, optimizer state, activations in flight (with the
// tensors rebuilt for one layer), logits on the last stage and the catalogue's allowance for
// buffers.
void sand_memory_estimate(const struct sand_transformer *model, const struct sand_split *split,
                          const struct sand_gpu_type *gpu, const struct sand_kernel_costs *kernels,
                          struct sand_memory *memory);

// The same of at most SAND_MEMORY_ALIKE splits at once that differ only in recomputation, sequence
// parallelism and what their replicas share out: what their stages hold is found once.
enum { SAND_MEMORY_ALIKE = 48 };
void sand_memory_estimates(const struct sand_transformer *model, const struct sand_split *splits,
                           size_t n, const struct sand_gpu_type *gpu,
                           const struct sand_kernel_costs *kernels, struct sand_memory *memories);

// The split on as many GPUs that fits and is the fewest changes away (at most four: optimizer state
// sharded, over all copies instead of groups, experts spread, recomputation, micro-batch halved, no
// interleaving, pp or tp doubled, parameters sharded; the cheap ones first). 0: none does.
// O(changes^4) estimates at worst.
int sand_memory_nearest(const struct sand_transformer *model, const struct sand_split *split,
                        const struct sand_gpu_type *gpu, const struct sand_kernel_costs *kernels,
                        struct sand_split *nearest);

// What is different, as attributes: "pp=\"8\" dp=\"2\"".
void sand_split_difference(const struct sand_split *was, const struct sand_split *is, char *text,
                           size_t size);

// SAND_ERR_INPUT with the breakdown and the nearest split that fits, or a way out, if the estimate
// exceeds the GPU's memory.
enum sand_rc sand_memory_check(const struct sand_transformer *model, const struct sand_split *split,
                               const struct sand_gpu_type *gpu,
                               const struct sand_kernel_costs *kernels, struct sand_memory *memory,
                               struct sand_diag *diag);

// One entry of a stage's order of work.
struct sand_stage_op {
    uint16_t chunk;   // 0..virtual_stages
    uint8_t backward; // 0 forward, 1 backward
    uint8_t weights;  // of a zero-bubble backward the gradients of the weights, which nobody awaits
    uint32_t micro_batch;
};

// Entries of every stage's order: a forward and a backward for each chunk and micro-batch, under
// zero-bubble schedules the weights' gradients apart.
size_t sand_schedule_size(const struct sand_split *split);

// The order of forwards and backwards of one stage: 1F1B (Narayanan et al. 2021), interleaved 1F1B
// when virtual_stages > 1, GPipe (Huang et al. 2019), ZB-H1 (Qi et al. 2023). Writes
// sand_schedule_size entries into ops (caller's) and returns how many. O(entries).
size_t sand_schedule_stage(const struct sand_split *split, uint32_t stage,
                           struct sand_stage_op *ops);

// Checkpoint bytes of the whole job.
double sand_checkpoint_B(const struct sand_transformer *model, double bytes_per_param);

#endif
