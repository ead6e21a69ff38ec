// Field tables of jobs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collspec.h"
#include "experiment.h"
#include "speccheck.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)

// ---- jobs ----

#define SPLIT_FLAG(member) SPEC_MEMBER(SPEC_YESNO, struct sand_split, member), SPEC_PRESET("yes")

static const char *const recomputes[] = {[SAND_RECOMPUTE_NONE] = "none",
                                         [SAND_RECOMPUTE_SELECTIVE] = "selective",
                                         [SAND_RECOMPUTE_FULL] = "full",
                                         [SAND_RECOMPUTE_PARTIAL] = "partial",
                                         NULL};
const char *const spec_attention_words[] = {[SAND_ATTENTION_FUSED] = "fused",
                                            [SAND_ATTENTION_UNFUSED] = "unfused",
                                            [SAND_ATTENTION_FLASH2] = "flash2",
                                            [SAND_ATTENTION_FLASH1] = "flash1",
                                            NULL};
static const char *const precisions[] = {
    [SAND_FP16] = "fp16",   [SAND_BF16] = "bf16",       [SAND_FP8] = "fp8",
    [SAND_NVFP4] = "nvfp4", [SAND_FP8_ROW] = "fp8-row", NULL};
const char *const spec_order_words[] = {[SAND_RANKS_TP_CP_PP_DP] = "tp-cp-pp-dp",
                                        [SAND_RANKS_TP_CP_DP_PP] = "tp-cp-dp-pp",
                                        [SAND_RANKS_AUTO] = "auto",
                                        NULL};
static const char *const shardings[] = {[SAND_SHARD_OPTIMIZER] = "optimizer",
                                        [SAND_SHARD_GRADIENTS] = "gradients",
                                        [SAND_SHARD_PARAMETERS] = "parameters",
                                        NULL};

static const char *const schedules[] = {[SAND_SCHEDULE_1F1B] = "1f1b",
                                        [SAND_SCHEDULE_GPIPE] = "gpipe",
                                        [SAND_SCHEDULE_ZERO_BUBBLE] = "zero-bubble",
                                        NULL};
static const char *const contexts[] = {
    [SAND_CONTEXT_RING] = "ring", [SAND_CONTEXT_GATHER] = "all-gather", NULL};
const char *const spec_dispatch_words[] = {
    [SAND_DISPATCH_ALL_TO_ALL] = "all-to-all", [SAND_DISPATCH_DEDUPLICATED] = "deduplicated", NULL};

static const struct spec_field split_expert_fields[] = {
    {.name = "ep",
     SPEC_SIZE(struct sand_split, ep),
     SPEC_PRESET("1"),
     .doc = "Expert-parallel size: the experts of a layer over ep x expert_tp GPUs, consecutive "
            "ones of the tp x cp x dp of a stage."},
    {.name = "expert_tp",
     SPEC_WHOLE(struct sand_split, expert_tp),
     SPEC_PRESET("0"),
     .doc = "Tensor-parallel size of an expert; 0: as tp."},
    {.name = "dispatch",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, dispatch),
     .words = spec_dispatch_words,
     SPEC_PRESET("all-to-all"),
     .doc = "How tokens reach their experts: a copy for every expert, or one for every node that "
            "has such experts, there one for every GPU."},
    {.name = "dispatch_element",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_split, dispatch_B),
     SPEC_POSITIVE,
     SPEC_PRESET("2B"),
     .doc = "Bytes of an element on its way to the experts, as wide as gradients on their way back "
            "from them; 1B for fp8 dispatch. Sums of experts come back in 2B."},
    {.name = "imbalance",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_split, imbalance),
     .range = {1, 1e6, 0},
     SPEC_PRESET("1"),
     .doc = "Tokens of the fullest expert-parallel rank over the mean; 1: balanced."},
};

// Both are parts of the split, whatever they hold.
static int always(const void *model)
{
    return model != NULL;
}

const struct spec_element spec_split_experts = {.name = "experts",
                                                .key = "split.experts",
                                                .present = always,
                                                FIELDS(split_expert_fields),
                                                .size = sizeof(struct sand_split),
                                                .doc = "Where the experts of a mixture are."};

static const struct spec_field pipeline_fields[] = {
    {.name = "schedule",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, schedule),
     .words = schedules,
     SPEC_PRESET("1f1b"),
     .doc = "Order of the micro-batches: 1f1b, interleaved with virtual_stages; gpipe: all "
            "forwards, then all backwards; zero-bubble: ZB-H1, weight gradients fill bubbles."},
    {.name = "first_layers",
     SPEC_WHOLE(struct sand_split, first_layers),
     SPEC_PRESET("0"),
     .doc = "Layers of the first stage; 0: as even as can be."},
    {.name = "last_layers",
     SPEC_WHOLE(struct sand_split, last_layers),
     SPEC_PRESET("0"),
     .doc = "Layers of the last stage; 0: as even as can be."},
};

const struct spec_element spec_pipeline = {.name = "pipeline",
                                           .key = "split.pipeline",
                                           .present = always,
                                           FIELDS(pipeline_fields),
                                           .size = sizeof(struct sand_split),
                                           .doc = "How the pipeline runs."};

static const char *const wishes[] = {"auto",
                                     [1 + SAND_ALG_RING] = "ring",
                                     [1 + SAND_ALG_TREE] = "tree",
                                     [1 + SAND_ALG_NVLS] = "nvls",
                                     [1 + SAND_ALG_NVLSTREE] = "nvlstree",
                                     [1 + SAND_ALG_SHARP] = "sharp",
                                     NULL};
static const char *const alltoall_wishes[] = {"auto", "pairwise", "pxn", NULL};
static const char *const protocol_wishes[] = {"auto", [1 + SAND_PROTO_LL] = "LL",
                                              [1 + SAND_PROTO_LL128] = "LL128",
                                              [1 + SAND_PROTO_SIMPLE] = "Simple", NULL};
#define WISH(member, choices, text)                                                                \
    {                                                                                              \
        .name = #member, SPEC_MEMBER(SPEC_WORD, struct sand_split, collectives.member),            \
        .words = (choices), SPEC_PRESET("auto"), .doc = (text)                                     \
    }

static const struct spec_field split_collectives_fields[] = {
    WISH(tp, wishes,
         "Algorithm of tensor parallelism; auto: the fastest, as its library's cost model has "
         "it."),
    WISH(cp, wishes, "Of the all-gather of keys and values."),
    WISH(dp, wishes, "Of the reduction and the gather over the replicas."),
    WISH(ep, alltoall_wishes, "Of the all-to-alls of experts that are not deduplicated."),
    {.name = "protocol",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, collectives.protocol),
     .words = protocol_wishes,
     SPEC_PRESET("auto"),
     .doc = "Protocol of all of them."},
    {.name = "nvls",
     SPEC_MEMBER(SPEC_YESNO, struct sand_split, collectives.nvls),
     SPEC_PRESET("yes"),
     .doc = "Switches of a scale-up domain may reduce and multicast where they can."},
    {.name = "sharp",
     SPEC_MEMBER(SPEC_YESNO, struct sand_split, collectives.sharp),
     SPEC_PRESET("no"),
     .doc = "Switches of the network may reduce where they can (all-reduces)."},
    {.name = "through_host",
     SPEC_MEMBER(SPEC_YESNO, struct sand_split, collectives.through_host),
     SPEC_PRESET("no"),
     .doc = "Data pass through host memory on their way to a NIC: no GPUDirect."},
};

const struct spec_element spec_split_collectives = {.name = "collectives",
                                                    .key = "split.collectives",
                                                    .present = always,
                                                    FIELDS(split_collectives_fields),
                                                    .size = sizeof(struct sand_split),
                                                    .doc = "What the job asks of its collectives."};

static const struct spec_child split_children[] = {
    {.element = &spec_split_experts, .max = 1, .presets = 1},
    {.element = &spec_pipeline, .max = 1, .presets = 1},
    {.element = &spec_split_collectives, .max = 1, .presets = 1},
};

static const struct spec_field split_fields[] = {
    {.name = "tp", SPEC_SIZE(struct sand_split, tp), .doc = "Tensor-parallel size."},
    {.name = "pp", SPEC_SIZE(struct sand_split, pp), .doc = "Pipeline stages."},
    {.name = "dp",
     SPEC_SIZE(struct sand_split, dp),
     .doc = "Data-parallel replicas; GPUs = tp x cp x pp x dp."},
    {.name = "cp",
     SPEC_SIZE(struct sand_split, cp),
     SPEC_PRESET("1"),
     .doc = "Context-parallel size: the tokens of a micro-batch over cp GPUs."},
    {.name = "context",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, context),
     .words = contexts,
     SPEC_PRESET("ring"),
     .doc = "How context ranks come by the keys and values of the others: from neighbour to "
            "neighbour beside attention, or by an all-gather before it."},
    {.name = "order",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, order),
     .words = spec_order_words,
     SPEC_PRESET("auto"),
     .doc = "Which dimension changes fastest from rank to rank, first to last; auto: tp-cp-dp-pp "
            "with ep above 1, which keeps the ranks of an expert group together (Megatron-Core's "
            "tp-cp-ep-dp-pp), else tp-cp-pp-dp (Llama 3 report)."},
    {.name = "virtual_stages",
     SPEC_SIZE(struct sand_split, virtual_stages),
     SPEC_PRESET("1"),
     .doc = "Model chunks per pipeline stage; 1: not interleaved."},
    {.name = "micro_batch",
     SPEC_SIZE(struct sand_split, micro_batch),
     SPEC_PRESET("1"),
     .doc = "Sequences in a micro-batch."},
    {.name = "global_batch",
     SPEC_SIZE(struct sand_split, global_batch),
     .doc = "Sequences in a step, over all replicas."},
    {.name = "sequence", SPEC_SIZE(struct sand_split, sequence), .doc = "Tokens in a sequence."},
    {.name = "sequence_parallel",
     SPLIT_FLAG(sequence_parallel),
     .doc = "Tensor-parallel all-reduces become reduce-scatter and all-gather, norms are split."},
    {.name = "distributed_optimizer",
     SPLIT_FLAG(distributed_optimizer),
     .doc = "Optimizer state is sharded over the replicas (ZeRO-1)."},
    {.name = "sharding",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, sharding),
     .words = shardings,
     SPEC_PRESET("optimizer"),
     .doc = "What the replicas share out: optimizer: its state, if distributed_optimizer is yes; "
            "gradients: also gradients, weights are gathered once a micro-batch (ZeRO-2, FSDP "
            "SHARD_GRAD_OP); parameters: also weights, gathered forwards and backwards (ZeRO-3, "
            "FSDP FULL_SHARD)."},
    {.name = "shard_group",
     SPEC_WHOLE(struct sand_split, shard_group),
     SPEC_PRESET("0"),
     .doc =
         "Consecutive copies (of dp x cp) that share out among themselves, every group a full "
         "copy; 0: all of them. Sharded gradients are reduced in the group, then all-reduced over "
         "the groups (HSDP); a sharded optimizer alone all-reduces over all copies and gathers in "
         "the group (ZeRO-1 in groups)."},
    {.name = "overlap_grad_reduce",
     SPLIT_FLAG(overlap_grad_reduce),
     .doc =
         "Gradients are reduced behind backwards that still go on: with one chunk a stage those of "
         "the first stage bucket by bucket, those of the others in the bubble; with more, chunk "
         "after chunk; when sharded, layer after layer."},
    {.name = "overlap_param_gather",
     SPLIT_FLAG(overlap_param_gather),
     .doc = "The parameter all-gather hides behind the first forward."},
    {.name = "buckets",
     SPEC_SIZE(struct sand_split, buckets),
     SPEC_PRESET("1"),
     .doc = "Pieces of the overlapped collectives."},
    {.name = "recompute",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, recompute),
     .words = recomputes,
     SPEC_PRESET("none"),
     .doc = "Which activations are computed again; partial: recompute_share of all."},
    {.name = "recompute_share",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_split, recompute_share),
     SPEC_PRESET("0.5"),
     .doc = "Share of the forward that is computed again under recompute=\"partial\"."},
    {.name = "attention",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, attention),
     .words = spec_attention_words,
     SPEC_PRESET("fused"),
     .doc = "Attention kernels; fused: the best of the GPU generation (cuDNN, FlashAttention-3); "
            "flash2: FlashAttention-2; flash1: those before it, in Triton."},
    {.name = "precision",
     SPEC_MEMBER(SPEC_WORD, struct sand_split, precision),
     .words = precisions,
     SPEC_PRESET("bf16"),
     .doc = "Precision of the matrix products; fp8: a scale a tensor, or mxfp8; fp8-row: a scale a "
            "row."},
    {.name = "gradient",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_split, grad_B),
     SPEC_POSITIVE,
     SPEC_PRESET("4B"),
     .doc = "Bytes per gradient element held and reduced."},
};

const struct spec_element spec_split = {
    .name = "split",
    .key = "split",
    FIELDS(split_fields),
    CHILDREN(split_children),
    .size = sizeof(struct sand_split),
    .doc = "How a step is laid out over the job's GPUs: tensor parallel innermost, then pipeline, "
           "then data."};

static const char *const save_modes[] = {
    [SAND_SAVE_BLOCKING] = "blocking", [SAND_SAVE_ASYNC] = "async", NULL};

static const struct spec_field checkpoint_fields[] = {
    {.name = "policy",
     SPEC_MEMBER(SPEC_TEXT, struct sand_checkpoint_spec, policy.type),
     SPEC_PRESET("checkpoint/none"),
     .doc = "When to save."},
    SPEC_PLUGIN(struct sand_checkpoint_spec, policy.plugin),
    {.name = "mode",
     SPEC_MEMBER(SPEC_WORD, struct sand_checkpoint_spec, mode),
     .words = save_modes,
     SPEC_PRESET("blocking"),
     .doc = "blocking: training stops until the checkpoint is durable; async: for the copy to host "
            "memory."},
    {.name = "bytes_per_param",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_checkpoint_spec, bytes_per_param),
     SPEC_POSITIVE,
     SPEC_PRESET("14B"),
     .doc = "Written per parameter; the default is bf16 weights (2) with fp32 master weights and "
            "both Adam moments (12)."},
    {.name = "stall",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_checkpoint_spec, stall_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "How long training stops for a save; computed if left out."},
    {.name = "restore",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_checkpoint_spec, restore_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "How long a restore takes; computed if left out."},
};

static const struct spec_child checkpoint_children[] = {
    {.element = &spec_param,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_checkpoint_spec, policy.params),
     .count_offset = offsetof(struct sand_checkpoint_spec, policy.n_params)},
};

const struct spec_element spec_checkpoint = {.name = "checkpoint",
                                             .key = "checkpoint",
                                             FIELDS(checkpoint_fields),
                                             CHILDREN(checkpoint_children),
                                             .size = sizeof(struct sand_checkpoint_spec),
                                             .finish = spec_finish_checkpoint,
                                             .doc = "What a job saves and when."};

static const char *const job_forms[] = {"a training job (model, software, split)",
                                        "a recorded job (duration)"};

static const struct spec_field job_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_job_spec, id), .doc = "Name of the job."},
    {.name = "nodes",
     SPEC_WHOLE(struct sand_job_spec, n_nodes),
     SPEC_PRESET("0"),
     .doc = "Nodes it needs; or give gpus."},
    {.name = "gpus",
     SPEC_WHOLE(struct sand_job_spec, n_gpus),
     SPEC_PRESET("0"),
     .doc = "GPUs it needs, on the fewest nodes; 0: all of its nodes. See allocation for what it "
            "holds."},
    {.name = "group",
     SPEC_MEMBER(SPEC_TEXT, struct sand_job_spec, group),
     .need = SPEC_OPTIONAL,
     .doc = "The node_group whose nodes it takes. Without it a job may span groups: it trains at "
            "the pace of the slowest GPU."},
    {.name = "submit",
     SPEC_DATE_NS(struct sand_job_spec, submit_ns),
     SPEC_PRESET("0s"),
     .doc = "When it enters the queue."},
    {.name = "model",
     SPEC_REFERENCE(SPEC_MODEL, struct sand_job_spec, model),
     .form = 1,
     .doc = "What it trains."},
    {.name = "software",
     SPEC_REFERENCE(SPEC_SOFTWARE, struct sand_job_spec, software),
     .form = 1,
     .doc = "The stack it trains with."},
    {.name = "steps",
     SPEC_MEMBER(SPEC_U64, struct sand_job_spec, n_steps),
     .dim = SAND_DIM_COUNT,
     .range = {0, 9007199254740991.0, 0, 0},
     SPEC_PRESET("0"),
     .form = 1,
     .doc = "Steps to do; 0: until the experiment ends."},
    {.name = "data_per_sequence",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_job_spec, sequence_B),
     SPEC_PRESET("0B"),
     .form = 1,
     .doc = "Training data read from the storage for every sequence of the batch, evenly over the "
            "step. It only meets other traffic where the storage is on the training fabric "
            "(storage_ports)."},
    {.name = "step_time",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_job_spec, step_s),
     .need = SPEC_OPTIONAL,
     SPEC_POSITIVE,
     .form = 1,
     .doc = "A measured step time, instead of the simulated one."},
    {.name = "duration",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_job_spec, work_s),
     SPEC_POSITIVE,
     .form = 2,
     .doc = "How long it runs undisturbed. With a checkpoint policy it is cut into steps of a "
            "second, between which it saves; without, a fault costs all of it."},
};

static const struct spec_child job_children[] = {
    {.element = &spec_split,
     .offset = offsetof(struct sand_job_spec, split),
     .min = 1,
     .max = 1,
     .form = 1},
    {.element = &spec_checkpoint,
     .offset = offsetof(struct sand_job_spec, checkpoint),
     .max = 1,
     .presets = 1},
};

const struct spec_element spec_job = {
    .name = "job",
    .key = "job",
    FIELDS(job_fields),
    CHILDREN(job_children),
    .forms = job_forms,
    .n_forms = 2,
    .size = sizeof(struct sand_job_spec),
    .finish = spec_finish_job,
    .doc = "A job: one that trains a model, or one with a recorded duration."};

static const struct spec_child jobs_children[] = {
    {.element = &spec_job,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_experiment, jobs),
     .count_offset = offsetof(struct sand_experiment, n_jobs)},
    {.element = &spec_trace,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_experiment, traces),
     .count_offset = offsetof(struct sand_experiment, n_traces)},
    {.element = &spec_jobs_mix,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_experiment, mixes),
     .count_offset = offsetof(struct sand_experiment, n_mixes)},
};

const struct spec_element spec_jobs = {.name = "jobs",
                                       .key = "jobs",
                                       CHILDREN(jobs_children),
                                       .size = sizeof(struct sand_experiment),
                                       .finish = spec_finish_jobs,
                                       .doc = "The jobs: those written here, then those of "
                                              "traces, then those of mixes, which is also the "
                                              "order of equal submit times."};
