// Time of a collective by algorithm and protocol, and which of them is the fastest.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_COLLECTIVE_COLLCOST_H
#define SAND_WORKLOADS_COLLECTIVE_COLLCOST_H

#include "collective.h"
#include "collspec.h"
#include "comm.h"

// What a time consists of, for people who want to redo it by hand:
//   latency_s = (base_s + scaleup_hops x scaleup_hop_s + network_hops x network_hop_s
//                + messages_s), base and hops with what their links add;
//   scaleup_s = scaleup_B / scaleup_Bps, network_s = network_B / network_Bps;
//   wire_s    = (scaleup_s^s + network_s^s)^(1/s), s = tier_sharpness: both tiers of a pipeline;
//   fill_s    = depth x wire_s / (1 + bytes / fill_B): the first chunks run down the pipeline
//   alone; time_s    = latency_s + wire_s + fill_s.
struct sand_coll_terms {
    const struct sand_coll_kernel *kernel;
    double base_s, scaleup_hops, scaleup_hop_s, network_hops, network_hop_s, messages_s;
    double latency_s;
    double scaleup_B, scaleup_Bps;               // through the scale-up port of a GPU; 0: none
    double network_B, network_Bps;               // out of a domain
    double scaleup_reach_Bps, network_reach_Bps; // of a long ring under Simple, see below
    double wire_s;
    double depth, fill_B, fill_s;
    double time_s;
    uint32_t network_link; // the fabric's tightest link for this traffic; SAND_NONE
};

// How much longer bytes hold a tier than those of a long ring under Simple would: by the flags of
// LL, a bound of the kernel, the rate at which a switch reduces, host memory, incast. Who plays the
// bytes on links multiplies them with it.
static inline double sand_coll_scaleup_stretch(const struct sand_coll_terms *t)
{
    return t->scaleup_B > 0 ? t->scaleup_reach_Bps / t->scaleup_Bps : 1;
}
static inline double sand_coll_network_stretch(const struct sand_coll_terms *t)
{
    return t->network_B > 0 ? t->network_reach_Bps / t->network_Bps : 1;
}

// Fills the terms of `collective` (its ranks must be the communicator's) under `kernel`. Returns
// NULL, or why the kernel cannot do it: a whole sentence part such as "needs several domains".
// Sources: volumes and latency as in NCCL, src/graph/tuning.cc (commit 5067397c); what the links
// reach, catalogue; fill, fitted (docs/validation.md). O(1).
const char *sand_coll_cost(const struct sand_collectives *constants, const struct sand_comm *comm,
                           const struct sand_collective *collective,
                           const struct sand_coll_kernel *kernel, struct sand_coll_terms *terms);

// SAND_ALGORITHMS, SAND_PROTOCOLS: any.
struct sand_coll_wish {
    enum sand_algorithm algorithm;
    enum sand_protocol protocol;
};

// The fastest allowed kernel that fulfils the wish. SAND_ERR_INPUT, with the reasons, if there is
// none. Time 0 for one rank. O(kernels).
enum sand_rc sand_coll_best(const struct sand_collectives *constants, const struct sand_comm *comm,
                            const struct sand_collective *collective, struct sand_coll_wish wish,
                            struct sand_coll_terms *terms, struct sand_diag *diag);

#endif
