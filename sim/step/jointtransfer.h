// Transfers that go on beside steps in one engine: what their streams get. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_JOINTTRANSFER_H
#define SAND_SIM_STEP_JOINTTRANSFER_H

#include "jointproblem.h"
#include "runengine.h"

struct joint_flow {
    uint32_t first, n_links; // into routes
    uint32_t flow;           // of the bridge
    double bytes;            // it has set out with
    double delivered_B;      // by those before it
};

struct joint_flows {
    struct run_engine *engine;
    struct joint_flow *flows;
    uint32_t *routes;
    uint32_t n;
    int is_open; // it is being measured
    double opened_s;
    double *opened_B;
};

// The engine's links are the problem's coupled ones; each transfer has one of its own besides, from
// first_link on.
enum sand_rc joint_flows_open(struct joint_flows *flows, struct run_engine *engine,
                              const struct sand_joint_problem *problem, uint32_t first_link);
void joint_flows_close(struct joint_flows *flows);

// Sets them out, each time with what a stream could have in `round_s` alone; they set out again as
// long as the engine runs.
enum sand_rc joint_flows_begin(struct joint_flows *flows, const struct sand_joint_problem *problem,
                               double round_s);
// From now on what they deliver counts; until now, per second, it is added to `stream_Bps`.
void joint_flows_measure(struct joint_flows *flows);
void joint_flows_add(const struct joint_flows *flows, double *stream_Bps);

#endif
