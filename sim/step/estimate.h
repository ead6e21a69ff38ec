// One training step in closed form: microseconds instead of a simulation, for choosing among
// hundreds of thousands of splits. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_ESTIMATE_H
#define SAND_SIM_STEP_ESTIMATE_H

#include <stdint.h>

#include "commshape.h"
#include "ringshape.h"
#include "step.h"

enum { SAND_STEP_RATES = 16 }; // kinds of flows, and room for more

// What a placement gives every kind of flow, for all splits that differ in neither tp, cp, pp, dp,
// rank order, ep, expert_tp, nor in the rings that they need (sand_step_rings_alike) nor in whether
// chunks are interleaved, if sand_step_layout_suits.
struct sand_step_layout {
    uint32_t copies; // of a stage
    struct step_ring_shape rings[STEP_RINGS];
    uint32_t expert_copies, expert_domains; // of a group of experts, see sim/step/traffic.h
    double experts_inside;
    struct step_comm tp, cp, send;
    double rate_Bps[SAND_STEP_RATES];     // of the slowest flow of a kind, when all flows of the
                                          // kind are on their way; 0: no such flow
    uint8_t meets_rings[SAND_STEP_RATES]; // 1: a kind shares the links that hold some rings back
    // Of the links that hold rings of the first kind back, what one hop a member of rings of the
    // second kind has of the busiest, alone; 0: they do not meet.
    double rings_meet_Bps[STEP_RINGS][STEP_RINGS];
};

// Whether two splits that are alike in all sizes and orders above need the same rings.
int sand_step_rings_alike(const struct sand_split *a, const struct sand_split *b);

// Whether the question, so far alike, reduces tensor-parallel activations by the same algorithm as
// the layout, and with `rings` gradients: sizes of messages decide.
int sand_step_layout_suits(const struct sand_step_layout *layout,
                           const struct sand_step_question *question, int rings);

// Routes every hop of the question once. O(GPUs x hops).
enum sand_rc sand_step_layout_find(const struct sand_step_question *question,
                                   struct sand_step_layout *layout, struct sand_diag *diag);

// Seconds, means over the GPUs; the parts sum to the step: compute (optimizer and fixed overhead
// included), exposed communication by dimension, bubble.
struct sand_step_estimate {
    double step_s, compute_s, exposed_tp_s, exposed_pp_s, exposed_dp_s, bubble_s;
};

// The phases that a step consists of, one after the other for the GPUs that end last. Their sum is
// the closed form.
struct sand_step_phases {
    double micro_batches;
    double slowest_s, mean_s; // one micro-batch both ways through a stage: the slowest, the mean
    double send_s;            // one message to the next stage, alone
    double work_s;            // micro_batches x slowest_s
    double fill_s;            // the pipeline fills and drains
    double sends_s;           // sends that nobody hides
    double wave_s;            // passes held up by gradients that are reduced beside them
    double gradients_s, weights_s; // data-parallel traffic once a step that compute does not hide
    double optimizer_s, overhead_s;
};
double sand_step_phases_sum(const struct sand_step_phases *phases);

void sand_step_phases_find(const struct sand_step_question *question,
                           const struct sand_step_layout *layout, struct sand_step_phases *phases);

// The simulation's own chunks, put together by the equations of the schedules instead of by events,
// every flow at its layout's rate. Exact for one GPU; elsewhere an estimate that knows no
// contention between kinds of flows and no slow GPUs. O(virtual stages^2).
void sand_step_estimate(const struct sand_step_question *question,
                        const struct sand_step_layout *layout, struct sand_step_estimate *estimate);

// What the closed form is not below, over however many copies and whatever else the replicas share
// out, if they reduce gradients as often (sand_split_is_sharded): compute, fill, and what follows
// or joins the passes of one replica, at the rates of a layout that suits but for rings. Without
// one (NULL) compute and fill.
double sand_step_floor(const struct sand_step_question *question,
                       const struct sand_step_layout *layout);

#endif
