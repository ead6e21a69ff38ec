// What is left of a job's step when only its traffic on coupled links is played: per actor, work,
// messages that it has a part in, and messages that it waits for. Internal to sim/step.
//
// Made from one step of the full pipeline played alone: every instant at which an actor joins a
// collective, sends, or comes to where it needs what others sent becomes an item; what lies between
// two of them is work. Who waits for whom stays as it is, so a delay goes the ways it goes in the
// pipeline; only traffic that nobody else meets has become time.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_SKELETON_H
#define SAND_SIM_STEP_SKELETON_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "run.h"

enum step_item_kind {
    STEP_ITEM_JOIN, // the message sets out when all who have a part in it have come here
    STEP_ITEM_WAIT  // the actor stands still until it has arrived
};

struct step_item {
    double work_s; // before it
    enum step_item_kind kind;
    uint32_t message;
};

struct step_message {
    double bytes, latency_s;
    struct run_legs legs; // of a collective, instead of bytes and latency
    uint32_t stage;
    uint32_t flow;    // SAND_NONE: a collective, on rings of its stage
    uint32_t parts;   // actors who have to join
    uint32_t joined;  // so far
    uint32_t pending; // flows under way
    int arrived;
    uint32_t merged_into; // while recording: the message that carries its bytes, or itself
    int is_last;          // while recording: of those merged, the one that is waited for
};

struct step_program { // of an actor
    uint32_t first_item, n_items;
    uint32_t next;    // item
    uint32_t waiting; // for this message; SAND_NONE
    double tail_s;    // after the last item
};

struct step_skeleton {
    struct step_item *items;
    struct step_message *messages;
    struct step_program *programs;
    uint32_t n_items, n_messages, n_programs, n_done;
    double step_s;  // of the full pipeline, alone
    double alone_s; // of the skeleton played alone: what it leaves out is the difference
};

// Writes down what happens in one step.
struct step_event {
    int64_t date, went_on; // the latter: of a wait
    uint32_t order, actor, message;
    enum step_item_kind kind;
};
struct step_recorder {
    const struct step_run *run;
    struct step_event *events;
    struct step_message *messages;
    uint32_t *number; // of each collective, by list and index; SAND_NONE: none yet
    uint32_t *waits;  // per actor: its first wait that has not ended
    struct step_input_record {
        int64_t wanted;    // since when somebody has waited for it; -1
        uint32_t first, n; // its messages
    } * inputs;
    size_t n_events, event_capacity, n_messages, message_capacity;
};

enum sand_rc step_recorder_open(struct step_recorder *recorder, const struct step_run *run);
void step_recorder_close(struct step_recorder *recorder);

// Called by the run. An actor joins a collective; comes to where it needs one; goes on from all it
// has waited for.
enum sand_rc step_record_join(struct step_recorder *recorder, uint32_t actor,
                              enum run_purpose purpose, uint32_t index);
enum sand_rc step_record_wait(struct step_recorder *recorder, uint32_t actor,
                              enum run_purpose purpose, uint32_t index);
void step_record_go_on(struct step_recorder *recorder, uint32_t actor);
// An actor sends a message that is no collective: part of an input (SAND_NONE: waits for it
// itself).
enum sand_rc step_record_send(struct step_recorder *recorder, uint32_t actor, uint32_t flow,
                              double bytes, double latency_s, uint32_t input);
// An actor comes to where it needs an input; it has it and goes on.
void step_record_want(struct step_recorder *recorder, uint32_t input);
enum sand_rc step_record_take(struct step_recorder *recorder, uint32_t actor, uint32_t input);

// After the step: what was written down, as a skeleton. alone_s is the caller's to measure.
enum sand_rc step_skeleton_make(struct step_recorder *recorder, struct step_skeleton *made);
void step_skeleton_free(struct step_skeleton *skeleton);

// Plays the run's skeleton: a step begins, an actor has worked, a message has arrived.
enum sand_rc step_skeleton_begin(struct step_run *run);
enum sand_rc step_skeleton_go_on(struct step_run *run, uint32_t actor);
enum sand_rc step_skeleton_arrived(struct step_run *run, uint32_t message);

#endif
