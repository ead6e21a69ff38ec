// Experiments built by hand, a sink that keeps every row, and runs in children of the test.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_REPLAY_FIXTURE_H
#define SAND_TESTS_REPLAY_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "experiment.h"
#include "fault.h"
#include "oracle.h"
#include "results.h"

#define S(seconds) ((int64_t)((seconds)*1000000000LL)) // whole seconds in ns

enum { MAX_JOBS = 20, MAX_CLASSES = 4 };

// Everything an experiment points at. Not to be moved once set.
struct replay_case {
    struct sand_gpu_type gpu;
    struct sand_link_type nic, host_link, scaleup;
    struct sand_node_type node;
    struct sand_transformer model;
    struct sand_job_spec jobs[MAX_JOBS];
    struct sand_fault_class classes[MAX_CLASSES];
    struct sand_degradation_class degradations[MAX_CLASSES];
    struct sand_choice_param interval;
    char interval_text[32];
    struct sand_kernel_costs kernels;
    struct sand_software software;
    struct sand_oracle *oracle; // NULL: every step time is given
    struct sand_experiment experiment;
};

// Nodes of 8 GPUs, storage of 25 GB/s behind 10 GB/s per node, FIFO, first fit, hot spares first;
// no jobs, no faults; ends after `duration_s`.
void case_set(struct replay_case *c, uint32_t n_nodes, int64_t duration_s);

// A training job of given step time; never saves. n_steps 0: until the end.
struct sand_job_spec *case_job(struct replay_case *c, const char *id, uint32_t n_nodes,
                               int64_t submit_s, double step_s, uint64_t n_steps);
// A training job whose step is simulated, on an oracle this opens: TP8 in the node, one replica a
// node, so its gradient rings run over the fabric. Hardware in round figures near an H100's.
struct sand_job_spec *case_simulated(struct replay_case *c, const char *id, uint32_t n_nodes,
                                     int64_t submit_s, uint64_t n_steps);
// A recorded job.
struct sand_job_spec *case_recorded(struct replay_case *c, const char *id, uint32_t n_nodes,
                                    int64_t submit_s, double work_s);

// Saves of the job at a fixed interval ("25s"; one interval per case). bytes > 0: a model whose
// checkpoints are this large.
void case_saves(struct replay_case *c, struct sand_job_spec *job, const char *interval,
                enum sand_save_mode mode, double stall_s, double bytes);

// A class that strikes nodes, all times constant.
struct sand_fault_class *case_fault(struct replay_case *c, const char *id, double mean_s,
                                    enum sand_remedy remedy, double detect_s, double diagnose_s,
                                    double restart_s, double repair_s);

// A degradation of a part that strikes once, at `at_s`; remedy none, times constant, no timeout.
struct sand_degradation_class *case_degrades(struct replay_case *c, const char *id,
                                             enum sand_part_kind kind, enum sand_effect effect,
                                             const char *part, double at_s, double repair_s);

// Dates at which always allocated nodes are struck: [node][k], k = 0 and 1.
void case_fault_dates(const struct replay_case *c, int64_t dates[][2], uint32_t n_nodes);

// The rows of one table.
struct kept_table {
    void *rows;
    size_t n, capacity;
};
struct kept_rows {
    struct kept_table tables[SAND_TABLES];
};
struct sand_sink keep_rows(struct kept_rows *kept);
void keep_clear(struct kept_rows *kept);

#define ROWS(kept, table)                                                                          \
    ((const struct sand_##table##_row *)(kept)->tables[SAND_TABLE_##table].rows)
#define N_ROWS(kept, table) ((kept)->tables[SAND_TABLE_##table].n)

// Runs in this process, once: it has one engine.
enum sand_rc case_run(const struct replay_case *c, uint32_t replication, struct kept_rows *kept,
                      struct sand_diag *diag);
// Runs; the replication must succeed, its messages are printed if it does not.
void case_run_well(const struct replay_case *c, struct kept_rows *kept);

// GPU-seconds booked in a class over the whole run.
double booked_gpu_s(const struct kept_rows *kept, const char *gpu_class);
double booked_all_gpu_s(const struct kept_rows *kept);

// An assertion that also works in a forked child of a test, where Criterion's would leave the child
// waiting: a child says what is wrong and exits with status 9.
extern int in_child;
void case_broken(const char *file, int line, const char *what);
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            case_broken(__FILE__, __LINE__, #condition);                                           \
    } while (0)

// What must hold of every run, asserted: books balance in every window, parts of every incident sum
// to its recovery, steps of attempts add up to those done and lost.
void check_books(const struct replay_case *c, const struct kept_rows *kept);

#endif
