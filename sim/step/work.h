// The work of one step before anybody is placed: what every chunk of every stage computes and
// sends. Internal to sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_WORK_H
#define SAND_SIM_STEP_WORK_H

#include <stdint.h>

#include "collective.h"
#include "cost.h"
#include "stepproblem.h"
#include "traffic.h"

// What the library does for the collectives that are alike in all chunks. tp: an all-reduce, or a
// reduce-scatter and an all-gather.
struct step_calls {
    struct step_call tp[2], cp, send;
    struct step_alltoall_call experts;
};

// Calls over the rings that were found last, so that the closed form need not find those of like
// chunks again. Zeroed before the first chunk; only for traffic without latencies of ways.
struct step_seen {
    double bytes;
    enum sand_collective_kind kind;
    struct step_call call;
};

// What the pieces of work need to know of the question.
struct step_setting {
    const struct sand_step_question *q;
    const struct sand_split *split;
    const struct sand_node_type *type;
    struct sand_cost cost;
    struct sand_layer_times layer[4], head; // by kind of layer
    double tokens;                          // of one micro-batch on one context rank
    double activation_B;                    // of them between two layers, whole tensor
    double slowdown;                        // of compute: more GPUs, more of them late
    struct step_library library;
    struct step_calls calls;              // step_calls_find
    struct step_seen (*seen)[STEP_RINGS]; // of reductions, of gathers; NULL: each call anew
};

// Costs of a layer and of the head: once per question.
struct step_setting step_setting_make(const struct sand_step_question *question);

// Of the traffic it reads the shape alone (step_traffic_shape), and what ways take. SAND_ERR_INPUT
// if the job asks for a kernel that does not run.
enum sand_rc step_calls_find(struct step_setting *set, const struct step_traffic *traffic,
                             struct sand_diag *diag);

// One chunk of one stage. Of the traffic it reads the shape alone (step_traffic_shape).
// O(virtual stages).
void step_chunk_set(const struct step_setting *set, const struct step_traffic *traffic,
                    uint32_t stage, uint32_t index, struct step_chunk *chunk);

// Of it compute and what follows or joins its passes, without what its copies exchange.
void step_chunk_passes_set(const struct step_setting *set, const struct step_traffic *traffic,
                           uint32_t stage, uint32_t index, struct step_chunk *chunk);

// Keys and values of a layer that a context rank hands on, or that the gather has in all.
double step_context_B(const struct step_setting *set);

double step_optimizer_s(const struct step_setting *set, uint32_t stage);

void step_header_set(const struct step_setting *set, struct step_header *header);

#endif
