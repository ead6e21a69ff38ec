// Joint questions of steps and transfers, and what is known of them (private to sharedstorage).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_SHAREDASK_H
#define SAND_SIM_REPLAY_SHAREDASK_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "sharedstorage.h"
#include "step.h"

// In one question; beyond, those who load its links least are left out.
enum { SHARED_MOST_JOBS = 8, SHARED_MOST_TRANSFERS = 16, SHARED_MOST_LINKS = 6 };

// A transfer in progress.
struct shared_transfer {
    struct sand_world_job *job;
    const struct sand_shared_route *route;
    int reading, is_data;
    double most_Bps;   // of a stream: it asks for no more, or its NIC gives no more
    double server_Bps; // of a stream: the servers' part for it
    double rate_Bps;   // of a stream: the answer
};

// A job that steps, and what its steps put on links.
struct shared_stepper {
    struct sand_world_job *job;
    const struct sand_link_load *loads;
    size_t n_loads;
    uint64_t serial; // of the loads
};

// What is on a link now.
struct shared_link {
    double peak_Bps, steps_Bps, transfers_Bps; // sums: of the most of everybody, of the means
    double hops, streams;                      // connections of steps, of transfers
    double capacity_Bps;
    uint64_t chosen; // number of the question it was last part of
};

// What jobs and transfers make of each other: the key is who they are, and on which links.
struct shared_answer;

struct sand_shared {
    int changed;
    struct sand_stream_router *routers[2]; // to the storage, from it
    uint8_t routed[2][32];                 // for which state of the parts
    uint32_t serials;
    struct shared_link *links; // per fabric link
    uint32_t *touched;         // those of them that are in use
    size_t n_touched, touched_capacity;
    struct shared_stepper *steppers; // in the order of their starts
    size_t n_steppers, steppers_capacity;
    struct shared_transfer *transfers;
    size_t n_transfers, transfers_capacity;
    struct shared_choice {
        uint32_t link;
        double weight;
    } * chosen;                        // for the present question, ascending
    uint32_t asked[SHARED_MOST_LINKS]; // those of them it is about
    uint32_t n_asked;
    size_t n_chosen, chosen_capacity;
    uint64_t question;
    uint64_t n_cut; // times that a question left somebody out
    struct shared_answer *known;
};

// The next question is about no link yet; then one after the other, ascending; then only the
// heaviest of them. What everybody on a link waits for is the worst of many alike.
void shared_question_begin(struct sand_shared *s);
enum sand_rc shared_question_link(struct sand_shared *s, uint32_t link, double weight);
void shared_question_cut(struct sand_shared *s);

// What the steppers and transfers on those links make of each other. `job` (NULL: none) and
// `transfer` (SAND_NONE) are in it at any rate; without transfers if `steps_only`. *step_s: of the
// job; *stream_Bps: of the transfer.
enum sand_rc shared_question_ask(struct sand_world *w, struct sand_world_job *job,
                                 uint32_t transfer, int steps_only, double *step_s,
                                 double *stream_Bps);

void shared_answers_free(struct sand_shared *s);

#endif
