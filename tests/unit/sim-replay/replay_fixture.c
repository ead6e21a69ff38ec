// Experiments built by hand, and what must hold of every run.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "mem.h"
#include "replay.h"
#include "test_kernels.h"
#include "train.h"
#include "units.h"

void case_set(struct replay_case *c, uint32_t n_nodes, int64_t duration_s)
{
    memset(c, 0, sizeof *c);
    c->gpu = (struct sand_gpu_type){.id = "gpu", .peak_bf16_flops = 1e15, .hbm_B = 80e9};
    c->nic = (struct sand_link_type){.id = "nic", .rate_Bps = 50e9};
    c->host_link = (struct sand_link_type){.id = "pcie", .rate_Bps = 25e9};
    c->scaleup = (struct sand_link_type){.id = "nvlink", .rate_Bps = 450e9};
    c->node = (struct sand_node_type){.id = "server",
                                      .gpu = &c->gpu,
                                      .n_gpus = 8,
                                      .scaleup = SAND_SCALEUP_NVSWITCH,
                                      .scaleup_link = &c->scaleup,
                                      .n_nics = 8,
                                      .nic = &c->nic,
                                      .host_link = &c->host_link,
                                      .n_storage_nics = 1,
                                      .storage_nic_Bps = 10e9,
                                      .max_W = 10000,
                                      .idle_W = 2000};
    c->experiment =
        (struct sand_experiment){.name = "test",
                                 .duration_ns = S(duration_s),
                                 .seed = 1,
                                 .replications = 1,
                                 .jobs = c->jobs,
                                 .faults = {.classes = c->classes, .degradations = c->degradations},
                                 .schedule.type = "schedule/fifo",
                                 .place.type = "place/first-fit",
                                 .recover.type = "recover/spare",
                                 .cluster = {.name = "test",
                                             .node_type = &c->node,
                                             .n_nodes = n_nodes,
                                             .fabric = {.n_tiers = 2,
                                                        .endpoints_per_leaf = 32,
                                                        .leaf_oversubscription = 1,
                                                        .spines = 4,
                                                        .link = &c->nic},
                                             .storage = {.id = "disk",
                                                         .n_servers = 5,
                                                         .server_write_Bps = 5e9,
                                                         .server_read_Bps = 5e9},
                                             .pue = 1.25}};
}

static struct sand_job_spec *add_job(struct replay_case *c, const char *id, uint32_t n_nodes,
                                     int64_t submit_s)
{
    struct sand_job_spec *job = &c->jobs[c->experiment.n_jobs++];
    *job = (struct sand_job_spec){
        .id = id,
        .n_nodes = n_nodes,
        .submit_ns = S(submit_s),
        .checkpoint = {.policy.type = "checkpoint/none", .stall_s = -1, .restore_s = -1}};
    return job;
}

struct sand_job_spec *case_job(struct replay_case *c, const char *id, uint32_t n_nodes,
                               int64_t submit_s, double step_s, uint64_t n_steps)
{
    struct sand_job_spec *job = add_job(c, id, n_nodes, submit_s);
    job->kind = SAND_JOB_TRAIN;
    job->step_s = step_s;
    job->n_steps = n_steps;
    return job;
}

static void set_hardware(struct replay_case *c)
{
    c->gpu.hbm_Bps = 3e12;
    c->gpu.gemm_bf16_flops = 700e12;
    c->gpu.attention_flops = 400e12;
    c->gpu.hbm_usable = 0.9;
    c->gpu.gemm_tile_m = 128;
    c->gpu.gemm_tile_n = 256;
    c->gpu.n_sm = 132;
    c->nic.usable = c->scaleup.usable = 0.7;
    c->kernels = (struct sand_kernel_costs){.id = "kernels",
                                            .gemm_overhead_s = 7e-6,
                                            .attention_half_seq = 450,
                                            .attention_bwd_ratio = 2.5,
                                            .attention_head64 = 0.87,
                                            .unfused_rate = 0.6,
                                            .norm_B = 56,
                                            .activation_B = 6,
                                            .qkv_B = 20,
                                            .logit_B = 17,
                                            .optimizer_B = 24};
    c->software = (struct sand_software){.id = "stack", .tp_exposed = 0.4};
    c->experiment.kernels = &c->kernels;
    c->experiment.collectives = &test_kernels;
}

struct sand_job_spec *case_simulated(struct replay_case *c, const char *id, uint32_t n_nodes,
                                     int64_t submit_s, uint64_t n_steps)
{
    set_hardware(c);
    struct sand_job_spec *job = case_job(c, id, n_nodes, submit_s, 0, n_steps);
    c->model = (struct sand_transformer){.id = "model",
                                         .n_layers = 8,
                                         .hidden = 4096,
                                         .n_heads = 32,
                                         .n_kv_heads = 16,
                                         .head_dim = 128,
                                         .ffn_hidden = 14336,
                                         .vocab = 32000,
                                         .gated_ffn = 1};
    job->model = &c->model;
    job->software = &c->software;
    job->split = (struct sand_split){.tp = 8,
                                     .cp = 1,
                                     .pp = 1,
                                     .dp = n_nodes,
                                     .virtual_stages = 1,
                                     .micro_batch = 1,
                                     .global_batch = 2 * n_nodes,
                                     .sequence = 4096,
                                     .sequence_parallel = 1,
                                     .distributed_optimizer = 1,
                                     .buckets = 4,
                                     .precision = SAND_BF16,
                                     .grad_B = 4};
    cr_assert_eq(sand_oracle_open(&c->oracle, NULL), SAND_OK);
    return job;
}

struct sand_job_spec *case_recorded(struct replay_case *c, const char *id, uint32_t n_nodes,
                                    int64_t submit_s, double work_s)
{
    struct sand_job_spec *job = add_job(c, id, n_nodes, submit_s);
    job->kind = SAND_JOB_RECORDED;
    job->work_s = work_s;
    return job;
}

static void set_model(struct replay_case *c, struct sand_job_spec *job, double bytes)
{
    c->model = (struct sand_transformer){.id = "tiny",
                                         .n_layers = 4,
                                         .hidden = 64,
                                         .n_heads = 4,
                                         .n_kv_heads = 4,
                                         .head_dim = 16,
                                         .ffn_hidden = 256,
                                         .vocab = 1000};
    job->model = &c->model;
    job->split = (struct sand_split){.tp = 1,
                                     .cp = 1,
                                     .pp = 1,
                                     .dp = job->n_nodes * c->node.n_gpus,
                                     .virtual_stages = 1,
                                     .micro_batch = 1,
                                     .global_batch = job->n_nodes * c->node.n_gpus,
                                     .sequence = 128,
                                     .buckets = 1,
                                     .precision = SAND_BF16,
                                     .grad_B = 4};
    job->checkpoint.bytes_per_param = bytes / sand_model_params(&c->model);
}

void case_saves(struct replay_case *c, struct sand_job_spec *job, const char *interval,
                enum sand_save_mode mode, double stall_s, double bytes)
{
    snprintf(c->interval_text, sizeof c->interval_text, "%s", interval);
    c->interval = (struct sand_choice_param){.name = "interval", .text = c->interval_text};
    job->checkpoint.policy =
        (struct sand_choice){.type = "checkpoint/fixed", .params = &c->interval, .n_params = 1};
    job->checkpoint.mode = mode;
    job->checkpoint.stall_s = stall_s;
    if (bytes > 0)
        set_model(c, job, bytes);
}

static struct sand_law constant(double seconds)
{
    return (struct sand_law){.kind = SAND_LAW_CONSTANT, .mean_s = seconds};
}

struct sand_fault_class *case_fault(struct replay_case *c, const char *id, double mean_s,
                                    enum sand_remedy remedy, double detect_s, double diagnose_s,
                                    double restart_s, double repair_s)
{
    struct sand_fault_class *fault = &c->classes[c->experiment.faults.n_classes++];
    *fault = (struct sand_fault_class){.id = id,
                                       .cause = "test",
                                       .rate_per_node_s = 1 / mean_s,
                                       .component = SAND_COMPONENT_NODE,
                                       .remedy = remedy,
                                       .detect = constant(detect_s),
                                       .diagnose = constant(diagnose_s),
                                       .restart = constant(restart_s),
                                       .repair = constant(repair_s)};
    return fault;
}

struct sand_degradation_class *case_degrades(struct replay_case *c, const char *id,
                                             enum sand_part_kind kind, enum sand_effect effect,
                                             const char *part, double at_s, double repair_s)
{
    struct sand_degradation_class *d = &c->degradations[c->experiment.faults.n_degradations++];
    *d = (struct sand_degradation_class){.fault = {.id = id,
                                                   .cause = "test",
                                                   .remedy = SAND_REMEDY_RESTART,
                                                   .repair.mean_s = repair_s},
                                         .kind = kind,
                                         .effect = effect,
                                         .part = part,
                                         .at_s = at_s,
                                         .speed = -1,
                                         .timeout_s = -1};
    return d;
}

void case_fault_dates(const struct replay_case *c, int64_t dates[][2], uint32_t n_nodes)
{
    struct sand_fault_process *process = NULL;
    const struct sand_rng rng = {c->experiment.seed, 0};
    cr_assert_eq(sand_fault_open(&c->experiment.faults, c->experiment.cluster.n_nodes, 8, 8, rng,
                                 &process, NULL),
                 SAND_OK);
    for (uint32_t node = 0; node < n_nodes; node++) {
        dates[node][0] = sand_fault_expose(process, node, 0);
        sand_fault_take(process, node, &dates[node][1]);
    }
    sand_fault_close(process);
}

// ---- rows ---------------------------------------------------------------------------------------

static enum sand_rc keep(void *self, enum sand_table table, const void *row)
{
    struct kept_table *kept = &((struct kept_rows *)self)->tables[table];
    const size_t size = sand_table_info(table)->row_size;
    SAND_TRY(sand_grow(&kept->rows, &kept->capacity, kept->n + 1, size));
    memcpy((char *)kept->rows + kept->n * size, row, size);
    kept->n++;
    return SAND_OK;
}

struct sand_sink keep_rows(struct kept_rows *kept)
{
    memset(kept, 0, sizeof *kept);
    return (struct sand_sink){kept, keep};
}

void keep_clear(struct kept_rows *kept)
{
    for (int table = 0; table < SAND_TABLES; table++)
        sand_free(kept->tables[table].rows);
    memset(kept, 0, sizeof *kept);
}

enum sand_rc case_run(const struct replay_case *c, uint32_t replication, struct kept_rows *kept,
                      struct sand_diag *diag)
{
    const struct sand_sink sink = keep_rows(kept);
    const struct sand_replay_options options = {.replication = replication};
    return sand_replay_run(&c->experiment, c->oracle, &options, &sink, diag);
}

void case_run_well(const struct replay_case *c, struct kept_rows *kept)
{
    struct sand_diag diag = {0};
    const enum sand_rc rc = case_run(c, 0, kept, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK, "%s", sand_rc_text(rc));
    sand_diag_clear(&diag);
    check_books(c, kept);
}

double booked_gpu_s(const struct kept_rows *kept, const char *gpu_class)
{
    double sum = 0;
    for (size_t i = 0; i < N_ROWS(kept, cluster); i++) {
        if (strcmp(ROWS(kept, cluster)[i].gpu_class.text, gpu_class) == 0)
            sum += ROWS(kept, cluster)[i].gpu_s;
    }
    return sum;
}

double booked_all_gpu_s(const struct kept_rows *kept)
{
    double sum = 0;
    for (size_t i = 0; i < N_ROWS(kept, cluster); i++)
        sum += ROWS(kept, cluster)[i].gpu_s;
    return sum;
}

// ---- what must hold of every run ----------------------------------------------------------------

int in_child;

void case_broken(const char *file, int line, const char *what)
{
    if (!in_child)
        cr_assert_fail("%s:%d: %s", file, line, what);
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    _exit(9);
}

static void check_windows(const struct replay_case *c, const struct kept_rows *kept)
{
    const struct sand_cluster_row *rows = ROWS(kept, cluster);
    const double gpus = sand_cluster_gpus(&c->experiment.cluster);
    int64_t begin = 0;
    for (size_t i = 0; i < N_ROWS(kept, cluster);) {
        const struct sand_cluster_row *first = &rows[i];
        double sum = 0;
        for (; i < N_ROWS(kept, cluster) && rows[i].begin_ns == first->begin_ns; i++)
            sum += rows[i].gpu_s;
        const double whole = gpus * sand_s_from_ns(first->end_ns - first->begin_ns);
        MUST(fabs(sum - whole) <= 1e-9 * whole);
        MUST(first->begin_ns == begin);
        begin = first->end_ns;
    }
    MUST(begin == c->experiment.duration_ns);
}

static void check_incidents(const struct kept_rows *kept)
{
    for (size_t k = 0; k < N_ROWS(kept, incidents); k++) {
        const struct sand_incidents_row *i = &ROWS(kept, incidents)[k];
        const double sum = i->detect_s + i->diagnose_s + i->wait_nodes_s + i->restart_s +
                           i->restore_s + i->recompute_s + i->catch_up_s;
        MUST(fabs(sum - i->recovery_s) <= 1e-6);
        if (i->recovered_ns >= 0)
            MUST(fabs(sum - sand_s_from_ns(i->recovered_ns - i->fault_ns)) <= 1e-6);
        if (i->parent == UINT32_MAX)
            continue;
        MUST(i->parent < k);
        MUST(i->recovered_ns == ROWS(kept, incidents)[i->parent].recovered_ns);
    }
}

// Saves, whole steps and the step cut off fill an attempt: what `sandtable explain` builds on.
static void check_attempt(const struct kept_rows *kept, const struct sand_attempts_row *attempt)
{
    int64_t filled_ns = attempt->steps_ns;
    int struck = 0;
    for (size_t i = 0; i < N_ROWS(kept, checkpoints); i++) {
        const struct sand_checkpoints_row *save = &ROWS(kept, checkpoints)[i];
        if (save->job == attempt->job && save->begin_ns >= attempt->begin_ns &&
            save->begin_ns < attempt->end_ns)
            filled_ns +=
                (save->resume_ns >= 0 ? save->resume_ns : attempt->end_ns) - save->begin_ns;
    }
    for (size_t i = 0; i < N_ROWS(kept, incidents); i++) {
        const struct sand_incidents_row *fault = &ROWS(kept, incidents)[i];
        if (fault->job != attempt->job || fault->fault_ns != attempt->end_ns)
            continue;
        struck = 1;
        filled_ns += sand_ns_from_s(fault->partial_step_s);
    }
    const int ended = ROWS(kept, jobs)[attempt->job].end_ns == attempt->end_ns;
    MUST(filled_ns == attempt->end_ns - attempt->begin_ns ||
         (ended && !struck && filled_ns < attempt->end_ns - attempt->begin_ns));
    MUST(attempt->steps_lost <= attempt->steps && attempt->lost_ns <= attempt->steps_ns);
    MUST((attempt->steps_lost > 0) == (attempt->lost_ns > 0));
}

static void check_jobs(const struct kept_rows *kept)
{
    for (size_t k = 0; k < N_ROWS(kept, jobs); k++) {
        const struct sand_jobs_row *job = &ROWS(kept, jobs)[k];
        uint64_t steps = 0, lost = 0, durable = 0;
        for (size_t i = 0; i < N_ROWS(kept, attempts); i++)
            steps += ROWS(kept, attempts)[i].job == k ? ROWS(kept, attempts)[i].steps : 0;
        for (size_t i = 0; i < N_ROWS(kept, incidents); i++)
            lost += ROWS(kept, incidents)[i].job == k ? ROWS(kept, incidents)[i].steps_lost : 0;
        for (size_t i = 0; i < N_ROWS(kept, checkpoints); i++)
            durable +=
                ROWS(kept, checkpoints)[i].job == k && ROWS(kept, checkpoints)[i].durable_ns >= 0;
        MUST(steps == job->steps_done + job->steps_lost);
        MUST(lost == job->steps_lost);
        MUST(durable == job->checkpoints);
    }
    for (size_t i = 0; i < N_ROWS(kept, attempts); i++)
        check_attempt(kept, &ROWS(kept, attempts)[i]);
}

// All that a job lost to neighbours is named, to the nanosecond; with what it lost in steps that
// were undone, or under way at the end, more than its surviving steps did.
static void check_neighbours(const struct kept_rows *kept)
{
    for (size_t k = 0; k < N_ROWS(kept, jobs); k++) {
        const struct sand_jobs_row *job = &ROWS(kept, jobs)[k];
        int64_t named_ns = 0, lost_ns = 0;
        for (size_t i = 0; i < N_ROWS(kept, neighbours); i++) {
            const struct sand_neighbours_row *row = &ROWS(kept, neighbours)[i];
            MUST(row->neighbour != row->job && row->link.text[0] != 0);
            named_ns += row->job == job->job ? row->lost_ns : 0;
        }
        for (size_t i = 0; i < N_ROWS(kept, attempts); i++)
            lost_ns +=
                ROWS(kept, attempts)[i].job == job->job ? ROWS(kept, attempts)[i].neighbours_ns : 0;
        const int is_whole = job->steps_lost == 0 && strcmp(job->state.text, "finished") == 0;
        MUST(is_whole ? named_ns == lost_ns : named_ns >= lost_ns);
    }
}

void check_books(const struct replay_case *c, const struct kept_rows *kept)
{
    check_windows(c, kept);
    check_incidents(kept);
    check_jobs(kept);
    if (c->oracle != NULL) // else rates are a test's own
        check_neighbours(kept);
}
