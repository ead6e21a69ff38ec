// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepfixture.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "test_kernels.h"

uint32_t fixture_rounds;

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static void set_hardware(struct step_fixture *f, const struct step_case *what)
{
    // Round figures near an H100's; a test's arithmetic is easier to follow with them.
    f->gpu = (struct sand_gpu_type){.id = "gpu",
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
    f->scaleup = (struct sand_link_type){.id = "scaleup", .rate_Bps = 450e9, .usable = 0.5};
    f->nic = (struct sand_link_type){.id = "nic", .rate_Bps = 50e9, .usable = 0.7};
    f->trunk = f->nic;
    f->trunk.id = "trunk";
    f->host = (struct sand_link_type){.id = "host", .rate_Bps = 64e9, .usable = 0.8};
    f->node = (struct sand_node_type){.id = "node",
                                      .gpu = &f->gpu,
                                      .n_gpus = or_else(what->gpus_per_node, 8),
                                      .scaleup = SAND_SCALEUP_NVSWITCH,
                                      .scaleup_link = &f->scaleup,
                                      .n_nics = or_else(what->nics_per_node, 8),
                                      .nic = &f->nic,
                                      .host_link = &f->host,
                                      .n_storage_nics = 1,
                                      .storage_nic_Bps = 25e9};
    f->kernels = (struct sand_kernel_costs){.id = "kernels",
                                            .gemm_overhead_s = 7e-6,
                                            .gemm_quantisation = 0.87,
                                            .gemm_misaligned = 0.46,
                                            .attention_half_seq = 450,
                                            .attention_bwd_ratio = 2.5,
                                            .attention_head64 = 0.87,
                                            .unfused_rate = 0.6,
                                            .unfused_score_B = 30,
                                            .norm_B = 56,
                                            .activation_B = 6,
                                            .qkv_B = 20,
                                            .logit_B = 17,
                                            .permute_B = 31,
                                            .optimizer_B = 24};
    memcpy(f->coll_kernels, test_kernel_list, sizeof f->coll_kernels);
    f->collectives = test_kernels;
    f->collectives.kernels = f->coll_kernels;
    f->software = (struct sand_software){.id = "software",
                                         .tp_exposed = 0.4,
                                         .ep_exposed = 1,
                                         .layer_overhead_s = 1e-4,
                                         .step_overhead_s = 0.05};
    f->software.dp_exposed = what->dp_exposed;
}

static void set_job(struct step_fixture *f, const struct step_case *what)
{
    const uint32_t pp = or_else(what->pp, 1), v = or_else(what->virtual_stages, 1);
    f->model = (struct sand_transformer){.id = "model",
                                         .n_layers = 2 * pp * v,
                                         .hidden = 4096,
                                         .n_heads = 32,
                                         .n_kv_heads = 16,
                                         .head_dim = 128,
                                         .ffn_hidden = 14336,
                                         .vocab = 32000,
                                         .gated_ffn = 1};
    f->job = (struct sand_job_spec){.id = "job",
                                    .kind = SAND_JOB_TRAIN,
                                    .n_nodes = what->n_nodes,
                                    .model = &f->model,
                                    .software = &f->software};
    f->job.split = (struct sand_split){.tp = or_else(what->tp, 1),
                                       .pp = pp,
                                       .dp = or_else(what->dp, 1),
                                       .cp = or_else(what->cp, 1),
                                       .order = what->order,
                                       .sharding = what->sharding,
                                       .virtual_stages = v,
                                       .micro_batch = 1,
                                       .sequence = 4096,
                                       .sequence_parallel = 1,
                                       .distributed_optimizer = !what->no_sharding,
                                       .overlap_grad_reduce = !what->no_overlap,
                                       .overlap_param_gather = !what->no_overlap,
                                       .buckets = 4,
                                       .recompute = what->full_recompute ? SAND_RECOMPUTE_FULL
                                                                         : SAND_RECOMPUTE_NONE,
                                       .precision = SAND_BF16,
                                       .grad_B = 4};
    f->job.split.ep = or_else(what->ep, 1);
    f->job.split.expert_tp = what->expert_tp;
    f->job.split.dispatch = what->dispatch;
    f->job.split.imbalance = 1;
    f->job.split.dispatch_B = 2;
    f->job.split.schedule = what->schedule;
    f->job.split.shard_group = what->shard_group;
    if (what->ep > 0)
        f->model.experts = (struct sand_experts){.n = 16, .per_token = 2, .ffn_hidden = 2048};
    if (what->partial_recompute > 0) {
        f->job.split.recompute = SAND_RECOMPUTE_PARTIAL;
        f->job.split.recompute_share = what->partial_recompute;
    }
    f->job.split.global_batch = f->job.split.dp * or_else(what->micro_batches, 2 * pp);
}

void fixture_init(struct step_fixture *f, const struct step_case *what)
{
    set_hardware(f, what);
    set_job(f, what);
    struct sand_diag diag = {0};
    f->cluster = (struct sand_cluster){.name = "cluster",
                                       .node_type = &f->node,
                                       .n_nodes = what->n_nodes + 8,
                                       .nodes_per_rack = 2,
                                       .racks_per_row = 8,
                                       .rows_per_hall = 4,
                                       .pue = 1.2};
    struct sand_fabric_spec *spec = &f->cluster.fabric;
    *spec = (struct sand_fabric_spec){
        .n_tiers = or_else(what->tiers, 2),
        .endpoints_per_leaf = or_else(what->nodes_per_leaf, 2) * f->node.n_nics,
        .leaf_oversubscription = what->leaf_oversubscription > 0 ? what->leaf_oversubscription : 1,
        .leaves_per_pod = or_else(what->leaves_per_pod, 4),
        .pod_oversubscription = what->pod_oversubscription > 0 ? what->pod_oversubscription : 1,
        .spines = what->is_static ? 4 : 1,
        .cores = what->tiers == 3 ? 1 : 0,
        .spreading = what->is_static ? SAND_SPREAD_STATIC : SAND_SPREAD_EVEN,
        .link = &f->trunk};
    const enum sand_rc rc = sand_fabric_build(&f->cluster, &f->fabric, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    for (uint32_t i = 0; i < what->n_nodes; i++)
        f->nodes[i] = i;
    for (uint32_t i = 0; i < f->cluster.n_nodes * f->node.n_gpus; i++)
        f->gpu_speed[i] = 1;
    f->question = (struct sand_step_question){.cluster = &f->cluster,
                                              .kernels = &f->kernels,
                                              .collectives = &f->collectives,
                                              .fabric = f->fabric,
                                              .job = &f->job,
                                              .nodes = f->nodes,
                                              .gpu_speed = f->gpu_speed};
    sand_diag_clear(&diag);
}

void fixture_free(struct step_fixture *f)
{
    sand_fabric_free(f->fabric);
}

double fixture_ring_latency_s(const struct step_fixture *f,
                              const struct sand_collective *collective, uint32_t n_network)
{
    const struct sand_coll_kernel *ring = &f->coll_kernels[0];
    const uint32_t steps = sand_collective_steps(collective);
    return ring->base_s + (steps - n_network) * ring->scaleup_s + n_network * ring->network_s;
}

// What a child solves: a step, or several together.
struct work {
    const struct sand_step_problem *step;
    const struct sand_joint_problem *joint;
};

static void write_all(int out, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        const ssize_t n = write(out, at, size);
        if (n <= 0)
            _exit(1);
        at += n;
        size -= (size_t)n;
    }
}

static enum sand_rc solve_work(const void *self, void *answer, struct sand_diag *diag)
{
    const struct work *work = self;
    return work->step ? sand_step_solve(work->step, answer, diag)
                      : sand_joint_solve(work->joint, answer, diag);
}

void fixture_apart(fixture_work_fn *work, const void *self, void *answer, size_t size)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct sand_diag diag = {0};
        const enum sand_rc rc = work(self, answer, &diag);
        sand_diag_print(&diag, stderr);
        if (rc != SAND_OK)
            _exit(1);
        write_all(ends[1], answer, size);
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n = 1; n > 0 && got < size; got += (size_t)n)
        n = read(ends[0], (char *)answer + got, size - got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0 && got == size,
              "the solving child failed");
}

static enum sand_rc solve_in_child(void *self, const struct sand_step_problem *problem,
                                   struct sand_step_solution *solution, struct sand_diag *diag)
{
    (void)diag;
    fixture_apart(solve_work, &(struct work){.step = problem}, solution, sizeof *solution);
    ++*(uint32_t *)self;
    return SAND_OK;
}

struct sand_step_profile fixture_solve(const struct sand_step_question *question)
{
    struct sand_step_profile profile = {0};
    struct sand_diag diag = {0};
    fixture_rounds = 0;
    cr_assert_eq(sand_step_ask(question, solve_in_child, &fixture_rounds, &profile, &diag),
                 SAND_OK);
    sand_diag_clear(&diag);
    return profile;
}

struct sand_step_profile fixture_loads(struct sand_step_question question,
                                       struct sand_link_load **loads, size_t *n_loads)
{
    struct sand_step_profile profile = {0};
    question.whole_footprint = 1;
    cr_assert_eq(sand_step_ask_loads(&question, solve_in_child, &fixture_rounds, &profile, loads,
                                     n_loads, NULL),
                 SAND_OK);
    return profile;
}

struct sand_joint_problem *fixture_prepare(const struct sand_joint_question *question)
{
    struct sand_joint_problem *problem = NULL;
    cr_assert_eq(sand_joint_prepare(question, solve_in_child, &fixture_rounds, &problem, NULL),
                 SAND_OK);
    return problem;
}

struct sand_joint_solution fixture_joint(const struct sand_joint_question *question,
                                         uint32_t *places)
{
    struct sand_joint_problem *problem = fixture_prepare(question);
    struct sand_joint_solution solution = {0};
    fixture_apart(solve_work, &(struct work){.joint = problem}, &solution, sizeof solution);
    for (size_t i = 0; places && i < question->n; i++)
        places[i] = sand_joint_place(problem, i);
    sand_joint_problem_free(problem);
    return solution;
}

size_t fixture_common(const struct sand_step_question *a, const struct sand_step_question *b,
                      uint32_t **links)
{
    struct sand_link_load *of_a, *of_b;
    size_t n_a, n_b, n = 0;
    fixture_loads(*a, &of_a, &n_a);
    fixture_loads(*b, &of_b, &n_b);
    *links = sand_calloc(n_a, sizeof **links);
    for (size_t i = 0, k = 0; i < n_a; i++) {
        while (k < n_b && of_b[k].link < of_a[i].link)
            k++;
        if (k < n_b && of_b[k].link == of_a[i].link)
            (*links)[n++] = of_a[i].link;
    }
    sand_free(of_a);
    sand_free(of_b);
    return n;
}

void fixture_joint_bytes(const struct sand_joint_question *question)
{
    struct sand_joint_problem *problem = NULL, *again = NULL;
    uint8_t digest[32], of_again[32];
    void *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(sand_joint_prepare(question, solve_in_child, &fixture_rounds, &problem, NULL),
                 SAND_OK);
    cr_assert_eq(sand_joint_pack(problem, &bytes, &size), SAND_OK);
    cr_assert_eq(sand_joint_unpack(bytes, size, &again), SAND_OK);
    sand_joint_digest(problem, digest);
    sand_joint_digest(again, of_again);
    cr_expect_eq(memcmp(digest, of_again, sizeof digest), 0);
    sand_joint_problem_free(again);
    for (size_t cut = 0; cut < size; cut += 1 + size / 100)
        cr_expect_eq(sand_joint_unpack(bytes, cut, &again), SAND_ERR_INTERNAL);
    ((unsigned char *)bytes)[0] ^= 1;
    cr_expect_eq(sand_joint_unpack(bytes, size, &again), SAND_ERR_INTERNAL);
    sand_free(bytes);
    sand_joint_problem_free(problem);
}
