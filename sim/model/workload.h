// What is trained, how it is split over GPUs, and the jobs that do it.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_WORKLOAD_H
#define SAND_SIM_MODEL_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "hardware.h"

// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): queries, and keys with values, pass
// through a low rank; a head has head_dim columns without positions and rope_dim with them.
struct sand_latent_attention {
    uint32_t kv_rank; // 0: no latent attention
    uint32_t q_rank;  // 0: queries are not compressed
    uint32_t rope_dim, value_dim;
};

// Experts: every token passes through per_token of n of them, and through the shared ones.
struct sand_experts {
    uint32_t n; // 0: a dense model
    uint32_t per_token, shared;
    uint32_t ffn_hidden;               // width of one expert
    uint32_t dense_layers;             // first layers, which have an FFN instead
    uint32_t every;                    // of the others every so many-th has experts
    uint32_t groups, groups_per_token; // a token's experts are in so many of so many equal groups
};

// Layers whose attention sees the last `tokens` only: all but every `every`-th.
struct sand_attention_window {
    uint32_t tokens; // 0: no windows
    uint32_t every;  // 1: all layers have the window
};

// A decoder-only transformer.
struct sand_transformer {
    const char *id;
    struct sand_provenance from;
    uint32_t n_layers, hidden, n_heads, n_kv_heads, head_dim, ffn_hidden;
    uint32_t vocab;
    uint32_t positions;  // learned positions; 0: rotary, ALiBi
    int gated_ffn;       // SwiGLU and kin: three FFN matrices instead of two
    int tied_embeddings; // output layer shares the input embedding
    struct sand_latent_attention latent;
    struct sand_experts experts;
    struct sand_attention_window window;
};

// Partial: recompute_share of the forward, such as every second layer.
enum sand_recompute {
    SAND_RECOMPUTE_NONE,
    SAND_RECOMPUTE_SELECTIVE,
    SAND_RECOMPUTE_FULL,
    SAND_RECOMPUTE_PARTIAL
};
enum sand_attention {
    SAND_ATTENTION_FUSED,
    SAND_ATTENTION_UNFUSED,
    SAND_ATTENTION_FLASH2, // FlashAttention-2, whatever the GPU has since
    SAND_ATTENTION_FLASH1  // FlashAttention before it, in Triton
};

// Which dimension changes fastest from rank to rank, first to last.
enum sand_rank_order {
    SAND_RANKS_TP_CP_PP_DP, // the Llama 3 report: r = ((d*pp + s)*cp + c)*tp + t
    SAND_RANKS_TP_CP_DP_PP, // Megatron-LM: r = ((s*dp + d)*cp + c)*tp + t
    SAND_RANKS_AUTO // the second where experts are spread over ranks, which it keeps together, as
                    // Megatron-Core's tp-cp-ep-dp-pp does; else the first
};

// What the replicas share out among themselves beyond the optimizer state.
enum sand_sharding {
    SAND_SHARD_OPTIMIZER, // nothing more: what distributed_optimizer says
    SAND_SHARD_GRADIENTS, // ZeRO-2, FSDP SHARD_GRAD_OP: one gather and one reduction a micro-batch
    SAND_SHARD_PARAMETERS // ZeRO-3, FSDP FULL_SHARD: gathers forwards and backwards
};

enum sand_schedule {
    SAND_SCHEDULE_1F1B,       // interleaved with virtual stages
    SAND_SCHEDULE_GPIPE,      // all forwards, then all backwards
    SAND_SCHEDULE_ZERO_BUBBLE // ZB-H1: weight gradients fill the bubbles
};

// How context ranks come by the keys and values of the others.
enum sand_context {
    SAND_CONTEXT_RING,  // point to point, one rank after another (Ring Attention)
    SAND_CONTEXT_GATHER // one all-gather before attention (Llama 3 report, section 3.3.2)
};

// How tokens reach their experts.
enum sand_dispatch {
    SAND_DISPATCH_ALL_TO_ALL,  // one copy per expert
    SAND_DISPATCH_DEDUPLICATED // one copy per node with such experts, there one per GPU (DeepEP)
};

// What the job asks of its collectives. 0: the library chooses; else enum sand_algorithm (of ep
// from SAND_ALG_PAIRWISE on) or enum sand_protocol, counted from one.
struct sand_split_collectives {
    uint32_t tp, cp, dp, ep;
    uint32_t protocol;
    int nvls;         // switches of a scale-up domain may reduce
    int sharp;        // those of the network, too
    int through_host; // no GPUDirect: data pass through host memory on their way to a NIC
};

// How one step is laid out over the job's GPUs. gpus = tp * cp * pp * dp.
struct sand_split {
    uint32_t tp, pp, dp;
    uint32_t
        cp; // context parallel: every micro-batch's tokens over cp GPUs, keys and values in a ring
    enum sand_rank_order order;
    enum sand_context context;
    uint32_t ep;        // expert parallel: inside the tp * cp * dp GPUs of a stage
    uint32_t expert_tp; // tensor-parallel size of an expert; 0: as tp
    enum sand_dispatch dispatch;
    double dispatch_B; // bytes of an element on its way to experts; back 2: sums are of 16 bit
    double imbalance;  // tokens of the fullest expert-parallel rank over the mean; 1: balanced
    enum sand_schedule schedule;
    uint32_t first_layers, last_layers; // of the first and last stage; 0: as even as can be
    uint32_t virtual_stages;            // model chunks per pipeline stage; 1: not interleaved
    uint32_t micro_batch;               // sequences
    uint32_t global_batch;              // sequences, = micro_batch * dp * micro-batches
    uint32_t sequence;                  // tokens
    int sequence_parallel;     // TP all-reduces become reduce-scatter + all-gather, norms are split
    int distributed_optimizer; // optimizer state sharded over dp (ZeRO-1)
    enum sand_sharding sharding;
    uint32_t shard_group; // consecutive copies of a stage that share out among themselves (HSDP);
                          // 0: all of them
    int overlap_grad_reduce;  // gradient reduce-scatter hidden behind the last backward
    int overlap_param_gather; // parameter all-gather hidden behind the first forward
    uint32_t buckets;         // pieces of the overlapped collectives
    enum sand_recompute recompute;
    double recompute_share; // partial: share of the forward that is computed again
    enum sand_attention attention;
    enum sand_precision precision;
    double grad_B; // bytes per gradient element held and reduced (4: fp32)
    struct sand_split_collectives collectives;
};

enum sand_save_mode {
    SAND_SAVE_BLOCKING, // training stops until the checkpoint is durable
    SAND_SAVE_ASYNC     // training stops for the copy to host memory; durable when written
};

struct sand_checkpoint_spec {
    struct sand_choice policy; // checkpoint/...
    enum sand_save_mode mode;
    double bytes_per_param; // written per parameter
    double stall_s;   // < 0: computed (blocking: the transfer; async: copy to host). Else given
    double restore_s; // < 0: computed from the storage read. Else given
};

enum sand_job_kind {
    SAND_JOB_TRAIN,   // a model and a split: step time from the step level
    SAND_JOB_RECORDED // a recorded duration: one step of that length
};

// How a job ends when its work is done, as its record or its mix has it.
enum sand_job_ending {
    SAND_ENDS_FINISHED,
    SAND_ENDS_FAILED,
    SAND_ENDS_CANCELLED,
    SAND_ENDS_KILLED // at its time limit
};

struct sand_job_spec {
    const char *id;
    const char *job_class, *user; // NULL: not told
    const char *group;            // of the cluster's node groups; NULL: any nodes
    enum sand_job_ending ending;
    enum sand_job_kind kind;
    uint32_t n_nodes;
    uint32_t n_gpus; // that it asks for and works with, on the fewest nodes; 0: all of its nodes
    int64_t submit_ns;
    double walltime_s; // requested, shown to policies; it ends nothing. 0: unknown
    int is_cut;        // recorded, but cut into steps, for it saves: of kind SAND_JOB_TRAIN
    double work_s;     // recorded: duration. train: 0 = until the end of the experiment
    uint64_t n_steps;  // train: whole steps to do; 0 = no limit
    double step_s;     // train: > 0 overrides the step level (tests, measured steps)
    const struct sand_transformer *model;
    const struct sand_software *software;
    struct sand_split split;
    double sequence_B; // of training data, read for each sequence of the batch
    struct sand_checkpoint_spec checkpoint;
    // From a trace.
    long row_line;     // line of the file, 1 = the first; 0: from no trace
    int has_start;     // the trace says when it started:
    int64_t record_ns; // then
};

// Is it known by how long it runs alone, without a model? One that saves is cut into steps.
static inline int sand_job_is_record(const struct sand_job_spec *job)
{
    return job->kind == SAND_JOB_RECORDED || job->is_cut;
}

// GPUs that a job asks for, of nodes with `per_node` each.
static inline uint32_t sand_job_gpus(const struct sand_job_spec *job, uint32_t per_node)
{
    return job->n_gpus > 0 ? job->n_gpus : job->n_nodes * per_node;
}

#endif
