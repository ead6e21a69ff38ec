// The communicators of a step, and what the library does for each of its collectives. Internal to
// sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_STEPCOMM_H
#define SAND_SIM_STEP_STEPCOMM_H

#include <stdint.h>

#include "collcost.h"
#include "commshape.h"
#include "step.h"

// The library as a job has it: its kernels, and the ports of the job's nodes. Like NCCL it knows
// nothing of the fabric behind the ports: who shares links with whom, the simulation finds out.
struct step_library {
    const struct sand_collectives *kernels;
    const struct sand_split_collectives *asked;
    const struct sand_node_type *node;
    struct sand_comm_options options;
    double port_Bps;      // of a NIC, for each GPU that uses it
    int relays, reduces;  // see sand_comm_ports
    uint32_t domain_gpus; // of a scale-up domain; without one 1: all traffic is on the network
};
struct step_library step_library_of(const struct sand_step_question *question);

// A collective of the step in the terms of its kernel, and what it puts on the flow of its
// communicator: the bytes of a hop, as long as they hold a link, and what precedes them.
struct step_call {
    struct sand_coll_terms terms;
    double hop_B, latency_s;
    double way_s; // of the latency, what ways take beyond their link types', once a network hop
};

enum step_use { STEP_USE_TP, STEP_USE_CP, STEP_USE_DP, STEP_USE_EP, STEP_USE_PP };

// Decides reduction and scaleup_times of a communicator whose reductions are of this kind and have
// about `bytes`: where its members are spread unevenly over domains, and without any (0), a ring.
void step_comm_decide(const struct step_library *library, enum step_use use,
                      enum sand_collective_kind kind, double bytes, struct step_comm *comm);

// SAND_ERR_INPUT if the job asks for what the communicator cannot do; the call is then unchanged.
enum sand_rc step_call_find(const struct step_library *library, enum step_use use,
                            const struct step_comm *comm, enum sand_collective_kind kind,
                            double bytes, double way_s, struct step_call *call,
                            struct sand_diag *diag);

// The all-to-all of experts: `bytes` of each rank, its own share included; per GPU what goes
// through its port inside the domain and, to all other domains together, out of it.
struct step_alltoall_call {
    struct step_call call;
    double bytes, inside_B, outside_B;
};

// Whether a rank and a domain get a token once, however many of its experts they have; and which
// part of its copies that leaves, see alltoall.h.
struct step_copies {
    double per_domain, per_rank;
    int are_once;
};
enum sand_rc step_alltoall_find(const struct step_library *library, const struct step_comm *comm,
                                double bytes, const struct step_copies *copies, double way_s,
                                struct step_alltoall_call *call, struct sand_diag *diag);

#endif
