// A real step question by hand: two of four 8-GPU nodes, tensor parallel inside, data parallel
// across. Shared by the oracle's tests and its benchmark. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_SMALL_QUESTION_H
#define SAND_TESTS_SMALL_QUESTION_H

#include <string.h>

#include "step.h"
#include "test_kernels.h"

struct small {
    struct sand_gpu_type gpu;
    struct sand_link_type scaleup, nic, host;
    struct sand_node_type node;
    struct sand_kernel_costs kernels;
    struct sand_software software;
    struct sand_transformer model;
    struct sand_cluster cluster;
    struct sand_job_spec job;
    struct sand_fabric *fabric;
    uint32_t nodes[2];
    float speed[4 * 8];
    struct sand_step_question question;
};

static inline void small_set_hardware(struct small *s)
{
    s->gpu = (struct sand_gpu_type){.id = "gpu",
                                    .peak_bf16_flops = 1e15,
                                    .peak_fp16_flops = 1e15,
                                    .hbm_B = 80e9,
                                    .hbm_Bps = 3e12,
                                    .gemm_bf16_flops = 7e14,
                                    .attention_flops = 4e14,
                                    .hbm_usable = 0.9,
                                    .gemm_tile_m = 128,
                                    .gemm_tile_n = 256,
                                    .n_sm = 132};
    s->scaleup = (struct sand_link_type){.id = "scaleup", .rate_Bps = 450e9, .usable = 0.5};
    s->nic = (struct sand_link_type){.id = "nic", .rate_Bps = 50e9, .usable = 0.7};
    s->host = (struct sand_link_type){.id = "host", .rate_Bps = 64e9, .usable = 0.8};
    s->node = (struct sand_node_type){.id = "node",
                                      .gpu = &s->gpu,
                                      .n_gpus = 8,
                                      .scaleup = SAND_SCALEUP_NVSWITCH,
                                      .scaleup_link = &s->scaleup,
                                      .n_nics = 8,
                                      .nic = &s->nic,
                                      .host_link = &s->host};
    s->kernels = (struct sand_kernel_costs){.id = "kernels",
                                            .attention_half_seq = 450,
                                            .attention_bwd_ratio = 2.5,
                                            .norm_B = 56,
                                            .activation_B = 6,
                                            .qkv_B = 20,
                                            .logit_B = 17,
                                            .optimizer_B = 24};
    s->software = (struct sand_software){.id = "software", .tp_exposed = 0.4};
    s->cluster = (struct sand_cluster){.name = "cluster",
                                       .node_type = &s->node,
                                       .n_nodes = 4,
                                       .nodes_per_rack = 2,
                                       .racks_per_row = 2,
                                       .rows_per_hall = 1,
                                       .pue = 1};
    s->cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                                  .endpoints_per_leaf = 16,
                                                  .leaf_oversubscription = 1,
                                                  .spines = 1,
                                                  .spreading = SAND_SPREAD_EVEN,
                                                  .link = &s->nic};
}

static inline void small_set_job(struct small *s)
{
    s->model = (struct sand_transformer){.id = "model",
                                         .n_layers = 4,
                                         .hidden = 2048,
                                         .n_heads = 16,
                                         .n_kv_heads = 16,
                                         .head_dim = 128,
                                         .ffn_hidden = 8192,
                                         .vocab = 32000,
                                         .gated_ffn = 1};
    s->job = (struct sand_job_spec){.id = "job",
                                    .kind = SAND_JOB_TRAIN,
                                    .n_nodes = 2,
                                    .model = &s->model,
                                    .software = &s->software};
    s->job.split = (struct sand_split){.tp = 8,
                                       .cp = 1,
                                       .pp = 1,
                                       .dp = 2,
                                       .virtual_stages = 1,
                                       .micro_batch = 1,
                                       .global_batch = 8,
                                       .sequence = 2048,
                                       .distributed_optimizer = 1,
                                       .buckets = 4,
                                       .precision = SAND_BF16,
                                       .grad_B = 4};
}

// Fills everything; the fabric is the caller's to free.
static inline enum sand_rc small_set_up(struct small *s, struct sand_diag *diag)
{
    memset(s, 0, sizeof *s);
    small_set_hardware(s);
    small_set_job(s);
    SAND_TRY(sand_fabric_build(&s->cluster, &s->fabric, diag));
    for (int i = 0; i < 4 * 8; i++)
        s->speed[i] = 1;
    s->nodes[1] = 1;
    s->question = (struct sand_step_question){.cluster = &s->cluster,
                                              .kernels = &s->kernels,
                                              .collectives = &test_kernels,
                                              .fabric = s->fabric,
                                              .job = &s->job,
                                              .nodes = s->nodes,
                                              .gpu_speed = s->speed,
                                              .folding = SAND_FOLD};
    return SAND_OK;
}

#endif
