// The simulation behind one step: actors, flows and links after folding, as plain arrays.
// Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEPPROBLEM_H
#define SAND_SIM_STEP_STEPPROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "ringshape.h"
#include "stepprofile.h"
#include "workload.h"

// One tensor-parallel group (a stage of a replica), or a class of equal ones.
struct step_actor {
    uint32_t stage;
    uint32_t tp_flow;        // SAND_NONE: no tensor-parallel traffic
    uint32_t first_cp, n_cp; // into sends: the rails' flows to the next context rank
    uint32_t first_experts[2],
        n_experts[2];       // into sends: all-to-alls inside and outside the domain
    uint32_t first_send[2]; // into sends: the rails' flows towards the next and previous stage
    uint32_t n_sends[2];
    uint32_t peer[2]; // actor that receives them; SAND_NONE
    double slowness;  // 1 / speed of its slowest GPU
    double members;   // groups that this one stands for
};

// A flow: always one at a time, further messages queue behind it (as on one NCCL connection).
struct step_flow {
    uint32_t first_link,
        n_links;      // into route, repeats counted; n_links 0: nobody else is ever on
                      // its links, so it takes bytes / upper_Bps without being simulated
    double upper_Bps; // the most its links would ever allow
};

// What goes over the rings of each kind for one collective: messages together, bytes of a hop and
// latency, and of how many collectives one after another that is.
struct step_ring_load {
    double message_B[STEP_RINGS], hop_B[STEP_RINGS], latency_s[STEP_RINGS], n[STEP_RINGS];
};

// Work of one model chunk of one stage and one micro-batch.
struct step_chunk {
    double forward_s, backward_s; // compute; recomputation is in the backward
    double recompute_s;
    double weights_s; // zero-bubble: gradients of weights, which are then not in the backward
    double tp_B[2], tp_latency_s[2];       // exposed tensor-parallel traffic forward, backward
    double cp_B[2], cp_latency_s[2];       // exposed context-parallel traffic of a hop
    double experts_B[2], experts_out_B[2]; // exposed all-to-alls: on a port inside, to a domain
    double experts_latency_s[2];
    double experts_n;                     // all-to-alls both ways, hidden ones as well
    struct step_ring_load reduce, gather; // of a piece's gradients and weights
    uint32_t pieces;                      // of the overlapped collectives
    uint32_t pad;
};

struct step_stage {
    double optimizer_s;
    uint32_t first_ring[STEP_RINGS], n_rings[STEP_RINGS]; // into rings: flows of each kind
    uint32_t n_actors;
    uint32_t pad;
};

// Everything but the arrays. Zeroed before it is filled: the digest runs over its bytes.
struct step_header {
    uint32_t pp, chunks, micro_batches; // stages, model chunks per stage, micro-batches
    uint32_t overlap_reduce, overlap_gather, gathers;
    uint32_t sharded;         // every micro-batch gathers weights and reduces gradients
    uint32_t gather_backward; // and gathers them again backwards
    uint32_t split_backward;  // gradients of weights are operations of their own
    uint32_t pad;
    double exposed_reduce, exposed_gather; // share of the overlapped traffic that holds compute up
    double send_B, send_latency_s;
    double overhead_s;
    double tokens, model_flops, hardware_flops, peak_flops;
};

// What the profile reports besides the solution. Depends on the placement in ways the solution does
// not, so it is neither packed nor part of the digest.
struct step_report {
    double link_B[SAND_LINK_CLASSES], link_busy_s[SAND_LINK_CLASSES];
    struct sand_memory memory;
    uint64_t n_flows_full, n_links_full, n_actors_full;
};

// A link that was left out, or whose load is asked for: flow watch_uses[first + i].flow counts
// .weight times on it.
struct step_watch {
    double capacity_Bps;
    double step_B; // what it carries in a step
    uint32_t fabric_link;
    uint32_t first, n;
    int left_out; // has to be checked
};
struct step_watch_use {
    uint32_t flow, weight;
};

enum { STEP_N_ARRAYS = 10 };

struct sand_step_problem {
    struct step_header header;
    struct step_report report;
    struct step_watch *watches; // by fabric link; not packed either
    size_t n_watches;
    struct step_watch_use *watch_uses;
    size_t n_watch_uses;
    struct step_actor *actors;
    struct step_flow *flows;
    struct step_chunk *chunks; // pp * chunks
    struct step_stage *stages; // pp
    double *link_Bps;
    uint32_t *route, *sends, *rings;
    uint32_t *link_coupled;    // per link: its place among the question's coupled links; SAND_NONE
    struct sand_stage_op *ops; // pp * n_ops, stage after stage
    size_t n_actors, n_flows, n_chunks, n_stages, n_links, n_route, n_sends, n_rings, n_ops,
        n_link_coupled;
};

// One entry per array, so that packing, digest and freeing cannot forget one.
struct step_array {
    void **data;
    size_t *n, size;
};
void step_problem_arrays(struct sand_step_problem *problem,
                         struct step_array arrays[STEP_N_ARRAYS]);

#endif
