// State of a running step. Internal to sim/step.
// Several runs may share an engine (runengine.h): jobs on common links.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_RUN_H
#define SAND_SIM_STEP_RUN_H

#include <stdint.h>

#include "activity.h"
#include "diag.h"
#include "runengine.h"
#include "stepproblem.h"

enum run_state {
    RUN_WORKING,
    RUN_WAIT_INPUT,
    RUN_WAIT_GATHER,
    RUN_WAIT_EXPOSED, // for the part of a gradient reduction that compute does not hide
    RUN_WAIT_REDUCE,
    RUN_OPTIMIZER,
    RUN_WAIT_LAST_GATHER,
    RUN_DONE
};

struct run_actor {
    enum run_state state;
    uint32_t pc, piece; // operation, and piece of it
    uint32_t pending;   // flows of its context- or expert-parallel traffic under way
    uint32_t owed;      // reduction that sets out once the next weights are on their way; SAND_NONE
    int64_t ready;      // since when it stands still
    int64_t tp_begun, cp_begun, experts_begun, end;
    int64_t cp_ticks; // of the piece under way
    double compute_s, recompute_s, tp_s, cp_s, experts_s, pp_s, dp_s, bubble_s;
};

// The collectives of a step, in two parts each: one that runs beside compute, and the late one that
// compute waits for. Weights are gathered, gradients reduced.
enum run_purpose {
    RUN_TP,
    RUN_CP,
    RUN_EXPERTS,
    RUN_SEND,
    RUN_GATHER,
    RUN_LATE_GATHER,
    RUN_REDUCE,
    RUN_LATE_REDUCE,
    RUN_REPLAYED // of a skeleton, see skeleton.h
};
enum { RUN_LISTS = RUN_REPLAYED - RUN_GATHER };

struct run_message {
    double bytes, latency_s;
    enum run_purpose purpose;
    uint32_t subject; // actor, input or collective
    uint32_t next;
};

struct run_flow {
    uint32_t head, tail; // queue of messages, the first in progress
    int busy;
    uint32_t handle; // the bridge's, while bytes are on their way
    int64_t begun;
};

// What an operation waits for: one entry per actor, direction, chunk and micro-batch.
struct run_input {
    int64_t sent;
    uint32_t from, to;
    uint32_t pending;
    uint32_t arrived;
};

// A collective goes through the rings of its stage, one kind after another; a share of what `load`
// says.
struct run_legs {
    const struct step_ring_load *load;
    double share;
    uint32_t ring; // the kind to come
};

struct run_collective {
    uint32_t stage, joined, pending, done;
    struct run_legs legs;
    int64_t joined_at;
};

struct run_stage {
    uint32_t first_collective; // in reduces and gathers
    uint32_t n_reduces, n_gathers, reduces_left, gathers_left, gather_joined;
    int64_t last_joined;
};

struct step_skeleton;
struct step_recorder;

struct step_run {
    const struct sand_step_problem *problem;
    struct run_engine *engine;
    uint32_t index;                 // among the engine's runs
    struct step_recorder *recorder; // NULL: nobody writes down what happens when
    struct step_skeleton *skeleton; // not NULL: this is played instead of the pipeline
    int64_t step_begun;
    size_t ops_per_stage;
    struct run_actor *actors;
    struct run_flow *flows;
    struct run_message *messages;
    size_t message_capacity;
    uint32_t n_messages, free_message;
    struct run_input *inputs;
    struct run_stage *stages;
    struct run_collective *lists[RUN_LISTS]; // by purpose; see run_list
    uint32_t *first_piece; // per chunk, when sharded per operation of a stage: its first collective
                           // within the stage
    uint32_t *reduce_behind; // per stage and chunk, see runplan.h
    uint32_t n_collectives;
    uint32_t *route;  // the problem's, in links of the engine
    uint8_t *coupled; // per flow: crosses a link that other jobs use as well
    struct step_activity activity;
    uint32_t n_done;
};

static inline struct run_collective *run_list(const struct step_run *run, enum run_purpose purpose)
{
    return run->lists[purpose - RUN_GATHER];
}

// Something happens to `subject` (an actor, or a flow) after a delay.
enum sand_rc run_timer(struct step_run *run, double delay_s, enum run_timer_kind kind,
                       uint32_t subject);

// Queues a message on a flow; its latency over, its bytes set out (run_flow_bytes); when they are
// through, run_flow_end hands the message out and begins the next.
enum sand_rc run_flow_put(struct step_run *run, uint32_t f, double bytes, double latency_s,
                          enum run_purpose purpose, uint32_t subject);
enum sand_rc run_flow_bytes(struct step_run *run, uint32_t f);
enum sand_rc run_flow_end(struct step_run *run, uint32_t f, struct run_message *message);

// Bytes that a flow still has to send (0: it is none of the bridge's, or through); others instead.
double run_flow_left_B(const struct step_run *run, uint32_t f);
enum sand_rc run_flow_replace(struct step_run *run, uint32_t f, double bytes);

// Sends the next leg round all its rings; *pending: flows that it takes, 0 when none was left.
enum sand_rc run_leg(struct step_run *run, uint32_t stage, struct run_legs *legs,
                     enum run_purpose purpose, uint32_t subject, uint32_t *pending);

// Whether anything goes round: on rings of any kind, or on those that other jobs meet.
int run_legs_any(const struct step_run *run, uint32_t stage, const struct run_legs *legs,
                 int only_coupled);

// Everything of a run but its engine, and ready for step_run_begin. `links`: the engine's link for
// each of the problem's (NULL: the same numbers). Close it also after a failure.
enum sand_rc step_run_open(struct step_run *run, struct run_engine *engine,
                           const struct sand_step_problem *problem, const uint32_t *links);
void step_run_close(struct step_run *run);

// Back to the state before its first step; what is on its way must have been cancelled.
void step_run_reset(struct step_run *run);

// Begins a step now. When the last actor is through, the engine's step_end is called.
enum sand_rc step_run_begin(struct step_run *run);

// What the engine hands on: an entry of the agenda, a flow whose message is through.
enum sand_rc step_run_handle(struct step_run *run, enum run_timer_kind kind, uint32_t subject);
enum sand_rc step_run_flow_done(struct step_run *run, uint32_t f);

// Names who waits for whom when nothing can happen any more.
enum sand_rc step_run_stuck(struct step_run *run);

#endif
