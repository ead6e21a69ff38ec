// One engine, one agenda, one clock for all steps that run on common links. Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_RUNENGINE_H
#define SAND_SIM_STEP_RUNENGINE_H

#include <stdint.h>

#include "agenda.h"
#include "bridge.h"
#include "diag.h"

// The agenda's tick: a picosecond. SimGrid's clock is a double whose events are merged within a
// grain, see the bridge's table of keys.
#define STEP_TICKS_PER_S 1e12
#define STEP_CLOCK_GRAIN_S 1e-9

// No step takes longer, and no engine plays longer: ticks are counted in 64 bits (106 days).
#define STEP_MOST_S 1e6
#define STEP_ENGINE_MOST_S 9e6

enum run_timer_kind {
    TIMER_WORK,
    TIMER_LATENCY,
    TIMER_DELAY,
    TIMER_TAIL,
    TIMER_STEP_END,   // a step is over: the engine's step_end is called
    TIMER_STEP_BEGIN, // of the run
    TIMER_REPLAY      // a stage of a skeleton goes on
};

struct step_run;

struct run_engine {
    struct sand_bridge *bridge;
    struct sand_diag *diag;
    struct sand_agenda agenda;
    int64_t now;
    struct step_run **runs; // not owned
    uint32_t n_runs;
    struct run_handle *handles; // which run's which flow, by the bridge's number
    struct run_handle *ended;   // at this instant
    struct sand_flow_end *ends;
    uint32_t max_flows, n_live;
    uint64_t n_events;
    int stopped;
    // Called when a run's step is over; may begin its next one, or stop the engine. `self` is its
    // own.
    enum sand_rc (*step_end)(void *self, struct step_run *run);
    void *self;
    // Called when a flow of RUN_NOBODYS has ended, by its number. `others` is its own.
    enum sand_rc (*other_flow_end)(void *others, uint32_t number);
    void *others;
    // A skeleton's flow on coupled links, if not NULL: it sets out, with more bytes than it has if
    // it is to take longer; it is through.
    enum sand_rc (*set_out)(void *self, struct step_run *run, uint32_t flow, double *bytes);
    enum sand_rc (*through)(void *self, struct step_run *run, uint32_t flow);
};

#define RUN_NOBODYS (UINT32_MAX - 1) // a flow that belongs to no run

struct run_handle {
    uint32_t run, flow;
};

enum sand_rc run_engine_open(struct run_engine *engine, uint32_t max_flows);
void run_engine_close(struct run_engine *engine);

// Lets things happen until the engine is stopped. Call from inside the bridge's pump.
enum sand_rc run_engine_go(struct run_engine *engine);

// Forgets every date and cancels every flow: the runs can be reset and begun again.
enum sand_rc run_engine_clear(struct run_engine *engine);

// SAND_ERR_INPUT: what began at `begun` would not be over in time if it ended at date_s.
enum sand_rc run_check_date(const struct run_engine *engine, int64_t begun, double date_s);

double run_seconds(int64_t ticks);
int64_t run_ticks(double s);

#endif
