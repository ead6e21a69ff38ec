// Two hand-made runs of ten hours on 100 GPUs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample_runs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define H_NS 3600000000000
#define S_NS 1000000000
#define NONE UINT32_MAX
#define GPU_H 3600.0

static void put(struct sand_shard *shard, enum sand_table table, const void *row)
{
    cr_assert_eq(sand_shard_row(shard, table, row), SAND_OK);
}

static sand_cell_str cell(const char *text)
{
    sand_cell_str made;
    sand_cell_set(&made, text);
    return made;
}

// ---- cluster: 100 GPUs x 10 h = 1,000 GPU-hours a run
// -----------------------------------------------

static void put_class(struct sand_shard *shard, uint32_t run, int window, const char *name,
                      double gpu_h)
{
    const struct sand_cluster_row row = {.replication = run,
                                         .begin_ns = window * 5 * H_NS,
                                         .end_ns = (window + 1) * 5 * H_NS,
                                         .gpu_class = cell(name),
                                         .gpu_s = gpu_h * GPU_H,
                                         .power_W = gpu_h * 100.0};
    put(shard, SAND_TABLE_cluster, &row);
}

static void put_cluster(struct sand_shard *shard, uint32_t run)
{
    // Idle first, on purpose: the summary has its own order.
    put_class(shard, run, 0, "idle", 150);
    put_class(shard, run, 1, "idle", 150);
    put_class(shard, run, 0, "spare", 160);
    put_class(shard, run, 0, "down", 40);
    put_class(shard, run, 0, "useful", 200);
    put_class(shard, run, 1, "useful", run == 0 ? 240 : 260);
    put_class(shard, run, 0, "at risk", 10);
    put_class(shard, run, 1, "at risk", run == 0 ? -4 : -10);
    put_class(shard, run, 0, "lost", run == 0 ? 14 : 10);
    put_class(shard, run, 0, "checkpoint stall", 20);
    put_class(shard, run, 0, "detecting", 5);
    put_class(shard, run, 0, "restarting", run == 0 ? 15 : 5);
}

// ---- jobs and steps
// ---------------------------------------------------------------------------------

static void put_jobs(struct sand_shard *shard, uint32_t run, int mix)
{
    const struct sand_jobs_row llama = {.replication = run,
                                        .job = 0,
                                        .id = cell("llama"),
                                        .state = cell("running at the end"),
                                        .nodes = 8,
                                        .gpus = 64,
                                        .submit_ns = mix ? run * H_NS : 0,
                                        .steps_done = run == 0 ? 950 : 900,
                                        .steps_lost = run == 0 ? 50 : 100,
                                        .checkpoints = run == 0 ? 3 : 1,
                                        .step_s = mix        ? 36
                                                  : run == 0 ? 33
                                                             : 30,
                                        .healthy_step_s = 30,
                                        .mfu = 0.4,
                                        .hfu = run == 0 ? 0.44 : 0.46,
                                        .checkpoint_interval_s = run == 0 ? 600 : 1000,
                                        .checkpoint_stall_s = run == 0 ? 4 : 8};
    const struct sand_jobs_row waiting = {.replication = run,
                                          .job = 1,
                                          .id = cell("tiny"),
                                          .state = cell("waiting"),
                                          .nodes = 1,
                                          .gpus = 8,
                                          .step_s = NAN,
                                          .healthy_step_s = NAN,
                                          .mfu = NAN,
                                          .hfu = NAN,
                                          .checkpoint_interval_s = NAN,
                                          .checkpoint_stall_s = NAN};
    struct sand_jobs_row finished = waiting;
    finished.state = cell("finished");
    finished.steps_done = 800;
    finished.step_s = 100;
    finished.hfu = 0.30;
    put(shard, SAND_TABLE_jobs, &llama);
    put(shard, SAND_TABLE_jobs, run == 0 ? &waiting : &finished);
    struct sand_jobs_row third = waiting;
    third.job = 2;
    third.gpus = 12;
    if (mix && run == 1)
        put(shard, SAND_TABLE_jobs, &third);
}

static void put_profile(struct sand_shard *shard, uint32_t run, uint32_t profile, double dp_s)
{
    const struct sand_steps_row row = {.replication = run,
                                       .profile = profile,
                                       .step_s = 29 + dp_s,
                                       .compute_s = 24,
                                       .exposed_tp_s = 3,
                                       .exposed_pp_s = 1,
                                       .exposed_dp_s = dp_s,
                                       .bubble_s = 1,
                                       .memory_B = 60e9};
    put(shard, SAND_TABLE_steps, &row);
}

static void put_attempt(struct sand_shard *shard, uint32_t run, uint32_t job, uint32_t profile,
                        uint64_t steps)
{
    const struct sand_attempts_row row = {
        .replication = run, .job = job, .profile = profile, .steps = steps};
    put(shard, SAND_TABLE_attempts, &row);
}

static void put_steps(struct sand_shard *shard, uint32_t run)
{
    put_profile(shard, run, 0, 1);
    if (run == 0) {
        put_profile(shard, run, 1, 11); // a slow link
        put_attempt(shard, run, 0, 0, 700);
        put_attempt(shard, run, 0, 1, 300);
    } else {
        put_attempt(shard, run, 0, 0, 1000);
        put_attempt(shard, run, 1, NONE, 800); // a recorded job has no profile
    }
}

// ---- incidents
// --------------------------------------------------------------------------------------

struct made_incident {
    const char *class, *cause;
    uint32_t number, parent, planned;
    int over;
    double parts[7], lost_gpu_h;
};

static void put_incident(struct sand_shard *shard, uint32_t run, const struct made_incident *made)
{
    struct sand_incidents_row row = {.replication = run,
                                     .incident = made->number,
                                     .parent = made->parent,
                                     .fault_class = cell(made->class),
                                     .cause = cell(made->cause),
                                     .planned = made->planned,
                                     .fault_ns = H_NS,
                                     .detect_s = made->parts[0],
                                     .diagnose_s = made->parts[1],
                                     .wait_nodes_s = made->parts[2],
                                     .restart_s = made->parts[3],
                                     .restore_s = made->parts[4],
                                     .recompute_s = made->parts[5],
                                     .catch_up_s = made->parts[6],
                                     .lost_gpu_s = made->lost_gpu_h * GPU_H};
    for (int i = 0; i < 7; i++)
        row.recovery_s += made->parts[i];
    row.recovered_ns = made->over ? row.fault_ns + (int64_t)row.recovery_s * S_NS : -1;
    put(shard, SAND_TABLE_incidents, &row);
}

static void put_incidents(struct sand_shard *shard, uint32_t run)
{
    static const struct made_incident first[] = {
        {"faulty-gpu", "gpu", 0, NONE, 0, 1, {60, 120, 0, 180, 60, 150, 30}, 20},
        {"nic-down", "network", 1, 0, 0, 1, {60, 0, 0, 60, 0, 0, 0}, 5}, // inside the first's 20
        {"nic-down", "network", 2, NONE, 0, 1, {120, 240, 300, 180, 60, 270, 30}, 14},
        {"firmware", "maintenance", 3, NONE, 1, 1, {0, 0, 0, 180, 60, 30, 30}, 2}};
    static const struct made_incident second = {
        "faulty-gpu", "gpu", 0, NONE, 0, 0, {600, 300, 0, 0, 0, 0, 0}, 24};
    if (run == 1)
        put_incident(shard, run, &second);
    for (size_t i = 0; run == 0 && i < sizeof first / sizeof first[0]; i++)
        put_incident(shard, run, &first[i]);
}

// ---- saves and totals
// -------------------------------------------------------------------------------

static void put_save(struct sand_shard *shard, uint32_t run, int64_t begin_s, int64_t durable_s)
{
    const struct sand_checkpoints_row row = {.replication = run,
                                             .begin_ns = begin_s * S_NS,
                                             .resume_ns = begin_s * S_NS,
                                             .durable_ns = durable_s < 0 ? -1 : durable_s * S_NS};
    put(shard, SAND_TABLE_checkpoints, &row);
}

static void put_saves(struct sand_shard *shard, uint32_t run)
{
    put_save(shard, run, 100, run == 0 ? 110 : 120);
    if (run == 1)
        return;
    put_save(shard, run, 200, 220);
    put_save(shard, run, 300, 330);
    put_save(shard, run, 400, -1);
}

static void put_totals(struct sand_shard *shard, uint32_t run)
{
    const struct sand_replications_row row = {.replication = run,
                                              .seed = 7,
                                              .incidents = run == 0 ? 3 : 1,
                                              .planned_incidents = run == 0 ? 1 : 0,
                                              .dispersion = run == 0 ? 1.2 : 0.8,
                                              .mfu = run == 0 ? 0.40 : 0.42,
                                              .goodput_mfu = run == 0 ? 0.36 : 0.38,
                                              .ettr_run = run == 0 ? 0.90 : 0.94,
                                              .ettr_total = run == 0 ? 0.88 : 0.90,
                                              .lost_gpu_s = (run == 0 ? 36 : 24) * GPU_H,
                                              .tokens = run == 0 ? 1e9 : 1.2e9,
                                              .energy_J = run == 0 ? 3.6e9 : 3.96e9};
    put(shard, SAND_TABLE_replications, &row);
}

// ---- the file
// ---------------------------------------------------------------------------------------

static void write_run(uint32_t run, int mix, const char *path)
{
    struct sand_shard *shard;
    cr_assert_eq(sand_shard_open(path, NULL, &shard), SAND_OK);
    put_cluster(shard, run);
    put_jobs(shard, run, mix);
    put_steps(shard, run);
    put_incidents(shard, run);
    put_saves(shard, run);
    put_totals(shard, run);
    cr_assert_eq(sand_shard_commit(shard), SAND_OK);
    sand_shard_close(shard);
}

static struct sand_results *open_kind(uint32_t first, size_t n_runs, int mix)
{
    static const char *const assumptions[] = {
        "gpu h100-sxm-80g: tile_m", "gpu h100-sxm-80g: gemm_fp8", "link ndr400-ib: usable",
        "a long one that says in very many words, far more than fit into one single line of a "
        "hundred columns, what had to be assumed"};
    const struct sand_meta meta = {.name = "two-runs",
                                   .canonical =
                                       mix ? "<experiment allocation=\"gpus\"/>" : "<experiment/>",
                                   .digest = "0123456789abcdef",
                                   .program_version = "0.1.0",
                                   .physics_version = "1",
                                   .assumptions = assumptions,
                                   .n_assumptions = 4,
                                   .seed = 7,
                                   .replications = 2,
                                   .duration_ns = 10 * H_NS};
    char dir[] = "/tmp/sand-report-XXXXXX", paths[3][64];
    const char *const shards[] = {paths[0], paths[1]};
    struct sand_results *results;
    cr_assert_not_null(mkdtemp(dir));
    for (size_t i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%zu.h5", dir, i);
    for (size_t i = 0; i < n_runs; i++)
        write_run(first + (uint32_t)i, mix, paths[i]);
    cr_assert_eq(sand_results_merge(shards, n_runs, &meta, paths[2], NULL), SAND_OK);
    cr_assert_eq(sand_results_open(paths[2], &results, NULL), SAND_OK);
    for (size_t i = 0; i < 3; i++)
        unlink(paths[i]); // the open descriptor keeps it readable
    rmdir(dir);
    return results;
}

struct sand_results *open_runs(uint32_t first, size_t n_runs)
{
    return open_kind(first, n_runs, 0);
}

struct sand_results *open_mix(void)
{
    return open_kind(0, 2, 1);
}

struct sand_results *open_sample(size_t n_runs)
{
    return open_runs(0, n_runs);
}
