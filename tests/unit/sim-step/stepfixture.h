// A small cluster and job to ask about, and a solver that may be called more than once.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_STEPFIXTURE_H
#define SAND_TESTS_STEPFIXTURE_H

#include "collective.h"
#include "joint.h"
#include "step.h"

struct step_fixture {
    struct sand_gpu_type gpu;
    struct sand_link_type scaleup, nic, trunk, host;
    struct sand_node_type node;
    struct sand_kernel_costs kernels;
    struct sand_coll_kernel coll_kernels[3]; // of rings, of point to point, deduplicated
    struct sand_collectives collectives;
    struct sand_software software;
    struct sand_transformer model;
    struct sand_cluster cluster;
    struct sand_job_spec job;
    struct sand_fabric *fabric;
    uint32_t nodes[4096];
    float gpu_speed[4096 * 8];
    struct sand_step_question question;
};

// A shape of job and fabric; zeros take the defaults of fixture_init.
struct step_case {
    uint32_t n_nodes, gpus_per_node, nics_per_node;
    uint32_t tp, pp, dp, virtual_stages, micro_batches;
    uint32_t tiers, nodes_per_leaf, leaves_per_pod;
    double leaf_oversubscription, pod_oversubscription;
    int is_static;
    int no_overlap, no_sharding, full_recompute;
    uint32_t cp;
    enum sand_rank_order order;
    enum sand_sharding sharding;
    double dp_exposed, partial_recompute;
    uint32_t ep, expert_tp; // ep > 0: a mixture of 16 experts, two a token
    enum sand_dispatch dispatch;
    enum sand_schedule schedule;
    uint32_t shard_group;
};

// Builds everything; the question asks for nodes 0.. in order, folded. Aborts the test on failure.
void fixture_init(struct step_fixture *fixture, const struct step_case *what);
void fixture_free(struct step_fixture *fixture);

// Latency of a collective round a ring, `n_network` of its steps over the network.
double fixture_ring_latency_s(const struct step_fixture *fixture,
                              const struct sand_collective *collective, uint32_t n_network);

// Asks, solving in child processes so that a test may ask more than once. fixture_rounds says how
// many problems the last question took.
extern uint32_t fixture_rounds;
struct sand_step_profile fixture_solve(const struct sand_step_question *question);

// The same with the loads of shared links (sand_free them).
struct sand_step_profile fixture_loads(struct sand_step_question question,
                                       struct sand_link_load **loads, size_t *n_loads);

// Prepares a joint question and has it solved in a child. *places (may be NULL): where each job is.
struct sand_joint_solution fixture_joint(const struct sand_joint_question *question,
                                         uint32_t *places);

struct sand_joint_problem *fixture_prepare(const struct sand_joint_question *question);

// Does something that may run an engine in a child, and hands back its answer.
typedef enum sand_rc fixture_work_fn(const void *self, void *answer, struct sand_diag *diag);
void fixture_apart(fixture_work_fn *work, const void *self, void *answer, size_t size);

// Packs and unpacks what the question comes to, whole and cut.
void fixture_joint_bytes(const struct sand_joint_question *question);

// Ascending links that both jobs load, whatever the loads. *links: sand_free it.
size_t fixture_common(const struct sand_step_question *a, const struct sand_step_question *b,
                      uint32_t **links);

#endif
