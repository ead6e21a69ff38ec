// What is left of a job's step when only its traffic on coupled links is played: per stage, work,
// collectives that start, and collectives waited for. Internal to sim/step.
//
// Made from one step of the full pipeline played alone: every instant at which a collective starts
// or is waited for becomes an item, what lies between them is work. Sends between stages (and other
// messages that are no collectives) keep their dates within their stage; how much the step grows
// when each of them takes a little longer is measured once (`response`), and applied to how much
// longer they take.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_SKELETON_H
#define SAND_SIM_STEP_SKELETON_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "run.h"

enum step_item_kind {
    STEP_ITEM_START, // the message's flows set out
    STEP_ITEM_WAIT   // the stage stands still until it has arrived
};

struct step_item {
    double work_s; // before it
    enum step_item_kind kind;
    uint32_t message;
};

struct step_message {
    double bytes, latency_s;
    uint32_t stage;
    uint32_t flow;      // SAND_NONE: a collective, on all rings of its stage
    double stands_for;  // of a send: messages of the pipeline that are merged into it
    uint32_t last_wait; // while recording: the event of the last who came to wait; SAND_NONE
    int64_t went_on;    // while recording: when those who waited did
    uint32_t pending;   // flows under way
    int arrived;
    int64_t begun;
};

struct step_skeleton_stage {
    uint32_t first_item, n_items;
    uint32_t next;    // item
    uint32_t waiting; // for this message; SAND_NONE
    double tail_s;    // after the last item
};

struct step_skeleton {
    struct step_item *items;
    struct step_message *messages;
    struct step_skeleton_stage *stages;
    uint32_t n_items, n_messages, n_stages, n_done;
    double step_s;        // of the full pipeline, alone
    double response;      // growth of the step per second that every send takes longer
    double n_sends;       // messages of the pipeline that the sends stand for
    double alone_s;       // of this skeleton played alone,
    double alone_sends_s; // and how long its sends took together
    double sends_s;       // of the present step, so far
};

// Writes down what happens in one step.
struct step_event {
    int64_t date;
    uint32_t order, stage, message;
    enum step_item_kind kind;
};
struct step_recorder {
    const struct step_run *run;
    struct step_event *events;
    struct step_message *messages;
    uint32_t *number; // of each collective, by list and index; SAND_NONE: none yet
    size_t n_events, event_capacity, n_messages, message_capacity;
};

enum sand_rc step_recorder_open(struct step_recorder *recorder, const struct step_run *run);
void step_recorder_close(struct step_recorder *recorder);

// Called by the run: a collective starts, an actor comes to where it needs one, an actor goes on; a
// message that is no collective sets out.
enum sand_rc step_record_start(struct step_recorder *recorder, enum run_purpose purpose,
                               uint32_t index);
enum sand_rc step_record_wait(struct step_recorder *recorder, enum run_purpose purpose,
                              uint32_t index);
void step_record_go_on(struct step_recorder *recorder, enum run_purpose purpose, uint32_t index);
enum sand_rc step_record_send(struct step_recorder *recorder, uint32_t stage, uint32_t flow,
                              double bytes);

// After the step: what was written down, as a skeleton. Its response and alone_* are the caller's
// to measure.
enum sand_rc step_skeleton_make(struct step_recorder *recorder, struct step_skeleton *made);
void step_skeleton_free(struct step_skeleton *skeleton);

// Plays the run's skeleton: a step begins, a stage has worked, a message has arrived.
enum sand_rc step_skeleton_begin(struct step_run *run);
enum sand_rc step_skeleton_go_on(struct step_run *run, uint32_t stage);
enum sand_rc step_skeleton_arrived(struct step_run *run, uint32_t message);

// How much later than its last stage the present step ends because its sends took longer.
double step_skeleton_delay_s(const struct step_skeleton *skeleton);

#endif
