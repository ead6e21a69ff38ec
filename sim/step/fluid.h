// What jobs put on common links over the time of their steps, and what that leaves one of them.
// Internal to sim/step: the fluid fixed point.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_FLUID_H
#define SAND_SIM_STEP_FLUID_H

#include "jointplay.h"

enum { FLUID_BINS = 4096 }; // times in a job's time line that are told apart

// What is on the way on one job's coupled links: flows, each as often as it counts there. A
// transfer is the same with one bin: its streams are always there.
struct fluid_job {
    uint32_t *links, *place; // the coupled links it uses; of each coupled link, SAND_NONE
    uint32_t n_links, n_bins;
    double rate_Bps;            // the most its other links leave a flow; INFINITY
    double *on;                 // [bin * n_links + link], the mean of the bin: its time line
    uint8_t *busy;              // per bin: anything is
    double *rest, *flow;        // while it is played: of the flow that sets out, of its others
    double length_s;            // of the time line
    double begin_s;             // where in it the step that is played begins
    double behind_s;            // by how much its clock is, since it waited for the played job
    double on_s, undisturbed_s; // time of its messages in a round; were the others away
    double *without_s;          // by which each other job made that longer
    double *seen;               // share of it that each other job would meet, were it away itself
};

struct fluid_span { // a flow that was on the way
    int64_t from, to;
    uint32_t flow;
};

struct fluid_party { // in the sharing of links
    const struct fluid_job *job;
    const double *on;
    double most_Bps, rate_Bps; // it could have; it has
    double apart_Bps;          // it would have, were the played job away
    uint32_t number;           // of the job
    int fixed;
};

struct fluid_toll {   // what a flow of the played job and another job are to each other
    double behind_s;  // by how much that sets the other back
    double without_s; // by how much sooner the flow would be through, were the other away
};

struct fluid {
    struct joint *joint;
    struct fluid_job *jobs;
    uint32_t n, n_all, n_links; // jobs; with transfers behind them; coupled links
    uint32_t played;            // the job that is
    struct fluid_party *parties;
    const double **met;         // by a message, per job: what it has on its links; NULL: nothing
    uint8_t *is_met;            // whether it is to be met at all
    double *left_Bps, *sharing; // per coupled link: scratch of a sharing
    struct fluid_span *spans;   // of the job that is played
    size_t n_spans, spans_capacity;
    struct fluid_under_way {
        uint32_t flow;
        int64_t from, until;        // set out; expected
        double bytes, sent_B;       // left when last expected; those, as often as they take longer
        double alone_s, took_s;     // as expected; the former with the others away
    } * under_way;                  // its flows that are
    uint32_t n_under_way, messages; // of all rounds
    struct fluid_toll *tolls;       // [flow * n_all + job]
};

enum sand_rc fluid_open(struct fluid *fluid, struct joint *joint);
void fluid_close(struct fluid *fluid);

// What a stream of the transfer has at an instant at which every job is at the given share of its
// time line (n of them).
double fluid_stream_Bps(struct fluid *fluid, uint32_t transfer, const double *shares);

// The played job's flow sets out: *bytes as often as it takes longer; while nobody else is there;
// it is through.
enum sand_rc fluid_set_out(void *fluid, struct step_run *run, uint32_t flow, double *bytes);
enum sand_rc fluid_set_out_alone(void *fluid, struct step_run *run, uint32_t flow, double *bytes);
enum sand_rc fluid_through(void *fluid, struct step_run *run, uint32_t flow);

// A job has nothing on its links until it is played again.
void fluid_take_away(struct fluid *fluid, uint32_t job);

// A job begins to be played; it was, for n steps since `from`, and this is its time line now.
void fluid_begin(struct fluid *fluid, uint32_t job);
void fluid_end(struct fluid *fluid, int64_t from, uint32_t n_steps);

#endif
