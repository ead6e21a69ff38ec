// Fault processes: when which node is struck by what, and how long detection, diagnosis, restart
// and repair take. No engine inside: pure functions of addresses, plus the exposure clock of a
// node. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_FAULT_FAULT_H
#define SAND_SIM_FAULT_FAULT_H

#include <stdint.h>

#include "diag.h"
#include "faultspec.h"
#include "rng.h"

struct sand_fault_process; // one experiment's faults, all nodes

struct sand_fault {
    uint32_t node;
    uint32_t class_index; // see sand_fault_class_at
    uint32_t component;   // index on the node, SAND_NONE for node and job faults
    uint64_t entity;      // with the index the address of its draws: the node,
    uint64_t index;       // and the k-th of its faults
};

// `gpus_per_node` and `nics_per_node` bound the component index. `spec` must outlive the process.
// Refuses rates and laws that make no sense, naming the class. O(nodes).
enum sand_rc sand_fault_open(const struct sand_fault_spec *spec, uint32_t n_nodes,
                             uint32_t gpus_per_node, uint32_t nics_per_node, struct sand_rng rng,
                             struct sand_fault_process **process, struct sand_diag *diag);
void sand_fault_close(struct sand_fault_process *process);

// A node ages only while it is allocated. expose() starts its clock at date `now` and returns the
// date of its next fault (INT64_MAX: none), also if it runs already; rest() stops it. The k-th
// fault of a node comes at the same exposure whatever the policies did before: ages are whole
// nanoseconds. A node does not age beyond a fault that is due and not taken: if it rests first, the
// fault strikes at the moment it is exposed again. O(1).
int64_t sand_fault_expose(struct sand_fault_process *process, uint32_t node, int64_t now_ns);
void sand_fault_rest(struct sand_fault_process *process, uint32_t node, int64_t now_ns);

// Time the node has been allocated so far, up to its next fault. O(1).
int64_t sand_fault_exposure_ns(const struct sand_fault_process *process, uint32_t node,
                               int64_t now_ns);

// The fault that is due on an exposed node (at the date expose() or the last take() gave); moves
// the node to its next fault, whose date is returned in *next_ns (INT64_MAX: none). O(classes).
struct sand_fault sand_fault_take(struct sand_fault_process *process, uint32_t node,
                                  int64_t *next_ns);

// The GPU of the node that a fault sits on, also for classes that record none: which of several
// jobs on the node it strikes.
uint32_t sand_fault_gpu(const struct sand_fault_process *process, const struct sand_fault *fault);

// Durations drawn for a fault, ns. `attempt` distinguishes repeated restarts of one recovery.
int64_t sand_fault_detect_ns(const struct sand_fault_process *process,
                             const struct sand_fault *fault);
int64_t sand_fault_diagnose_ns(const struct sand_fault_process *process,
                               const struct sand_fault *fault);
int64_t sand_fault_restart_ns(const struct sand_fault_process *process,
                              const struct sand_fault *fault, uint32_t attempt);
int64_t sand_fault_repair_ns(const struct sand_fault_process *process,
                             const struct sand_fault *fault);

// Software, and a GPU that need not be replaced, are the matter of the job that has the GPU
// (above); all else strikes every job on the node.
int sand_fault_hits_one_gpu(const struct sand_fault_class *fault_class);
// Faults per second that strike a job on a node of whose GPUs it holds that share.
double sand_fault_job_rate(const struct sand_fault_spec *spec, double share);
// Rate-weighted mean of detect + diagnose + restart over the classes, seconds.
double sand_fault_mean_restart_s(const struct sand_fault_spec *spec);

#endif
