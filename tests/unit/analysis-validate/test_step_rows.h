// A small machine, rules and a header for rows of measured steps in tests.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef TEST_STEP_ROWS_H
#define TEST_STEP_ROWS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stepcheck.h"
#include "test_kernels.h"

static struct sand_gpu_type gpu = {.id = "gpu",
                                   .peak_bf16_flops = 1000e12,
                                   .peak_fp16_flops = 1000e12,
                                   .hbm_B = 80e9,
                                   .hbm_Bps = 3e12,
                                   .gemm_bf16_flops = 700e12,
                                   .attention_flops = 400e12,
                                   .hbm_usable = 0.9,
                                   .gemm_tile_m = 128,
                                   .gemm_tile_n = 256,
                                   .n_sm = 132};
static struct sand_link_type scaleup = {.id = "scaleup", .rate_Bps = 450e9, .usable = 0.5};
static struct sand_link_type nic = {.id = "nic", .rate_Bps = 50e9, .usable = 0.7};
static struct sand_node_type node = {.id = "node",
                                     .gpu = &gpu,
                                     .n_gpus = 8,
                                     .scaleup = SAND_SCALEUP_NVSWITCH,
                                     .scaleup_link = &scaleup,
                                     .n_nics = 8,
                                     .nic = &nic,
                                     .host_link = &nic};
static struct sand_kernel_costs kernels = {.id = "kernels",
                                           .gemm_quantisation = 0.87,
                                           .attention_half_seq = 450,
                                           .attention_bwd_ratio = 2.5,
                                           .attention_head64 = 1,
                                           .attention_flash1 = 1,
                                           .unfused_rate = 0.6,
                                           .norm_B = 56,
                                           .optimizer_B = 24};
static struct sand_software software = {.id = "software", .tp_exposed = 0.4, .dp_exposed = 0.2};
static struct sand_step_stack stacks[] = {{.id = "first",
                                           .source = "Measured by A",
                                           .software = &software,
                                           .overlap = 1,
                                           .sequence_parallel = 1,
                                           .distributed_optimizer = 1,
                                           .grad_B = 4,
                                           .bucket_params = 1e7,
                                           .selective_share = 0.5},
                                          {.id = "second",
                                           .source = "Measured",
                                           .software = &software,
                                           .grad_B = 2,
                                           .bucket_params = 1e7}};
static struct sand_step_machine machines[] = {
    {.id = "here", .gpu = "G1", .network = "fast", .node = &node},
    {.id = "there", .gpu = "G1", .node = &node}};
static const struct sand_transformer known = {
    .id = "known",
    .n_layers = 61,
    .hidden = 7168,
    .n_heads = 128,
    .n_kv_heads = 128,
    .head_dim = 128,
    .ffn_hidden = 18432,
    .vocab = 129280,
    .gated_ffn = 1,
    .latent = {.kv_rank = 512, .q_rank = 1536, .rope_dim = 64, .value_dim = 128},
    .experts = {.n = 256, .per_token = 8, .shared = 1, .ffn_hidden = 2048, .dense_layers = 3}};
static struct sand_step_known knowns[] = {{.id = "known", .name = "DeepSeek-V3", .model = &known}};
static struct sand_step_flag flags[] = {{"odd", "contradicts another"}};
static const struct sand_step_rules rules = {.id = "rules",
                                             .from = {"made up for tests", "2026", ""},
                                             .kernels = &kernels,
                                             .collectives = &test_kernels,
                                             .stacks = stacks,
                                             .n_stacks = 2,
                                             .machines = machines,
                                             .n_machines = 2,
                                             .knowns = knowns,
                                             .n_knowns = 1,
                                             .flags = flags,
                                             .n_flags = 1};

static const char header[] =
    "id,source,confirmed,model,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,moe_experts,"
    "gpu,gpus,nodes,TP,PP,VP,CP,zero_or_fsdp,micro_batch,global_batch,precision,recompute,"
    "seq_parallel,network,iter_time_s,tokens_per_s_gpu,notes\n";

enum { MOST_ROWS = 16 };
static struct sand_step_rows rows;
static struct sand_step_case cases[MOST_ROWS];
static char path[] = "/tmp/sand-steps-XXXXXX";

static enum sand_rc read_text(const char *text, struct sand_diag *diag)
{
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    const enum sand_rc rc = sand_step_rows_read(path, &rows, diag);
    unlink(path);
    return rc;
}

// Reads the header and these lines; every one becomes a case.
static void read_rows(const char *lines)
{
    char text[8192];
    struct sand_diag diag = {0};
    snprintf(text, sizeof text, "%s%s", header, lines);
    const enum sand_rc rc = read_text(text, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_leq(rows.n, (size_t)MOST_ROWS);
    for (size_t i = 0; i < rows.n; i++)
        sand_step_case_read(&rules, &rows.rows[i], &cases[i]);
}

#define DENSE ",yes,M,4,1024,8,8,4096,32000,2048,,G1,16,2,"

#endif
