// Where the experts of a job sit, and the all-to-alls that bring tokens to them and back. Internal
// to sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEPEXPERTS_H
#define SAND_SIM_STEP_STEPEXPERTS_H

#include <stdint.h>

#include "stepproblem.h"
#include "traffic.h"
#include "work.h"

// Fills the shape of expert parallelism; all zero without. O(actors).
void step_experts_shape(struct step_traffic *traffic);

// Flows that it needs, after those of everything else: of each actor and rail one inside its
// scale-up domain (outside 0) and one over the network (1).
uint32_t step_experts_flows(const struct step_traffic *traffic);
uint32_t step_flow_experts(const struct step_traffic *traffic, uint32_t actor, uint32_t outside);

// Their hops: around the domain, and to one GPU of every other domain of the group.
enum sand_rc step_experts_edges(struct step_traffic *traffic);

// Tokens come back when the slowest of the group is done: all are as slow, in every layer.
void step_experts_slow(const struct step_traffic *traffic, double *slowness);

// What the library does for an all-to-all.
enum sand_rc step_experts_call(const struct step_setting *set, const struct step_traffic *traffic,
                               struct step_alltoall_call *call, struct sand_diag *diag);

// Bytes and latency of the chunk's all-to-alls; of tensor parallelism inside experts, the factor on
// what a dense layer's FFN sends.
void step_experts_set(const struct step_setting *set, const struct step_traffic *traffic,
                      double layers, double forwards, double backwards, struct step_chunk *chunk);
double step_experts_tp(const struct step_setting *set);

#endif
