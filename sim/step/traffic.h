// All traffic of one step before folding: actors, flows, and which links each flow crosses.
// Internal to sim/step.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_TRAFFIC_H
#define SAND_SIM_STEP_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include "fabricslice.h"
#include "ringshape.h"
#include "step.h"
#include "stepcomm.h"

// One hop of a flow: a route over the network, or from port to port inside a scale-up domain.
// Stands for `rails` equal hops of the group's rails when rails are folded; then their counts add
// up on the links they share. Where flows take several paths (hash spreading), a hop is one edge
// per queue pair, and the capacities of the network are given per queue pair: times the paths.
struct step_edge {
    uint32_t flow;
    uint32_t n_links;
    uint32_t first_link;         // in step_traffic's edge_links
    uint32_t end_weight, weight; // how often the hop counts on its first and last link, and on
                                 // those between
    uint32_t times;              // equal hops that it stands for in each rail
};

enum step_link_state {
    STEP_LINK_KEPT,    // part of the problem
    STEP_LINK_WATCHED, // left out, but the solution has to be checked against it
    STEP_LINK_SLACK    // cannot bind, whatever happens
};

// A link that some hop crosses.
struct step_link {
    uint32_t fabric_link;
    uint32_t coupled; // place among the question's coupled links; SAND_NONE
    enum step_link_state state;
    double capacity_Bps; // usable, health included
};

enum step_flow_kind {
    STEP_FLOW_TP,
    STEP_FLOW_CP,
    STEP_FLOW_EXPERTS,     // all-to-all inside the domain
    STEP_FLOW_EXPERTS_OUT, // and between domains
    STEP_FLOW_NEXT,
    STEP_FLOW_PREVIOUS,
    STEP_FLOW_RING, // and one kind for each of enum step_ring
    STEP_FLOW_KINDS = STEP_FLOW_RING + STEP_RINGS
};

struct step_traffic_flow {
    uint32_t kind, stage;
    uint32_t actor, peer; // SAND_NONE for rings
    uint32_t first_edge, n_edges;
    double step_B; // bytes a hop carries per step, set by prepare.c
};

// A group that holds all experts once; copies 0: no expert parallelism.
struct step_expert_shape {
    uint32_t copies;  // of a stage in it, whose GPUs it is
    uint32_t domains; // that it spans
    double inside;    // of its ranks that exchange tokens, those in one domain
};

struct step_traffic {
    const struct sand_step_question *question;
    struct sand_fabric_slice slice; // while hops are routed: the fabric as circuits join it
    uint32_t n_actors, pp, dp; // actor a = d * pp + s, where d = replica * cp + context rank: all
                               // dp * cp copies of a stage reduce its gradients together
    uint32_t rails;            // rails standing behind each simulated one (1 = none folded)
    uint32_t rails_simulated;  // flows per context-parallel hop, per send and per stage's rings
    struct step_ring_shape rings[STEP_RINGS];
    struct step_comm tp, cp, send; // tensor-parallel groups, context-parallel ones, neighbours
    struct step_expert_shape experts;
    struct step_traffic_flow *flows;
    uint32_t n_flows;
    struct step_edge *edges;
    size_t n_edges, edge_capacity;
    uint32_t *edge_links; // numbers of `links`
    size_t n_edge_links, edge_link_capacity;
    uint32_t cut_from, cut_to; // NICs that nothing joins, if SAND_ERR_INPUT was returned
    struct step_link *links;   // in the fabric's order
    uint32_t n_links;
    // What ways take beyond their link types' latencies: the longest of any hop of a kind; of a
    // stage's rings the mean over network hops, for a ring goes over all of them. NULL: nothing.
    double tp_extra_s, cp_extra_s, experts_extra_s, send_extra_s;
    double *ring_extra_s; // stage after stage, STEP_RINGS each
};

// Lays out ranks and tells how rings run, routing nothing: the members from n_actors to experts.
// O(actors x divisors).
void step_traffic_shape(const struct sand_step_question *question, struct step_traffic *traffic);
// Of it how tensor-parallel groups reduce.
void step_tp_shape(struct step_traffic *traffic);

// Lays out ranks, routes every hop, decides which shared links to leave out (under SAND_FOLD): all
// but those of `binding` (fabric links, ascending).
enum sand_rc step_traffic_build(const struct sand_step_question *question, const uint32_t *binding,
                                size_t n_binding, struct step_traffic *traffic,
                                struct sand_diag *diag);
void step_traffic_free(struct step_traffic *traffic);

// Index of the first flow of a kind: TP flow of actor a; its hop to the next context rank, and
// sends of actor a towards next/previous (rails_simulated of each); rings of a kind and of stage s
// (as many).
uint32_t step_flow_tp(const struct step_traffic *traffic, uint32_t actor);
uint32_t step_flow_cp(const struct step_traffic *traffic, uint32_t actor);
uint32_t step_flow_send(const struct step_traffic *traffic, uint32_t actor, uint32_t previous);
uint32_t step_flow_ring(const struct step_traffic *traffic, enum step_ring ring, uint32_t stage);
uint32_t step_flows_but_experts(const struct step_traffic *traffic);

// For those who add flows of their own (stepexperts.c): a GPU of an actor, its scale-up domain
// (without one: its node), a flow and its hops.
struct step_place {
    uint32_t node, gpu;
};
struct step_place step_place_of(const struct step_traffic *traffic, uint32_t actor, uint32_t rail);
uint32_t step_domain_of(const struct step_traffic *traffic, uint32_t actor);
void step_flow_begin(struct step_traffic *traffic, uint32_t flow, uint32_t kind, uint32_t stage,
                     uint32_t actor, uint32_t peer);
enum sand_rc step_edge_add(struct step_traffic *traffic, uint32_t flow, struct step_place from,
                           struct step_place to);
// A hop that counts several times; one link of the network alone.
enum sand_rc step_edge_add_times(struct step_traffic *traffic, uint32_t flow,
                                 struct step_place from, struct step_place to, uint32_t times);
enum sand_rc step_edge_add_link(struct step_traffic *traffic, uint32_t flow, uint32_t link);

// Number of an actor's first GPU in rank order.
uint32_t step_actor_rank(const struct sand_split *split, uint32_t actor);

static inline const uint32_t *step_edge_links(const struct step_traffic *traffic,
                                              const struct step_edge *edge)
{
    return traffic->edge_links + edge->first_link;
}

// What of a link's rate traffic gets, health included.
double step_usable_Bps(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                       uint32_t index);

// Paths that share a flow on links of this class.
static inline uint32_t step_link_paths(const struct step_traffic *traffic, uint32_t link_class)
{
    return link_class <= SAND_LINK_SCALEUP_IN ? 1 : traffic->question->fabric->n_paths;
}

// Whether a hash picked this link from several: of the network, or of the planes of a NIC.
int step_link_is_hashed(const struct step_traffic *traffic, uint32_t link);

static inline uint32_t step_edge_weight(const struct step_edge *edge, uint32_t i)
{
    return i == 0 || i + 1 == edge->n_links ? edge->end_weight : edge->weight;
}

static inline double step_ring_extra_s(const struct step_traffic *traffic, enum step_ring ring,
                                       uint32_t stage)
{
    return traffic->ring_extra_s ? traffic->ring_extra_s[stage * STEP_RINGS + ring] : 0;
}

// How many links of the fabric a link stands for when rails are folded.
uint32_t step_link_stands_for(const struct step_traffic *traffic, uint32_t link);

#endif
