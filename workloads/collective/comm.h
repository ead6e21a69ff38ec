// A communicator on its fabric: which tiers its traffic crosses and what they carry.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_COLLECTIVE_COMM_H
#define SAND_WORKLOADS_COLLECTIVE_COMM_H

#include "diag.h"
#include "fabric.h"

// What the user may switch.
struct sand_comm_options {
    int no_gpudirect; // data passes through host memory on its way to a NIC
    int sharp;        // reductions in the network's switches may be used
    int symmetric;    // buffers are registered at equal addresses (NCCL 2.27 and later)
    int no_multicast; // the scale-up switch does not reduce
};

// Nominal rates, without protocol efficiency: what a link of the fabric allows times how often the
// traffic loads it, at the tightest link. 0: that traffic has no network in its way.
struct sand_comm {
    struct sand_comm_options options;
    const struct sand_link_type *scaleup; // between the GPUs of a domain; PCIe without scale-up
    const struct sand_link_type *nic, *host;
    uint32_t ranks, domains;
    uint32_t domain_ranks;   // of the fullest domain
    uint32_t ports;          // NICs that a domain uses
    uint32_t torus_dims;     // that its ranks of a domain span of the domain's torus; 0: a switch
    double scaleup_share;    // of a port's rate that these dimensions are
    double scaleup_most_Bps; // that the halves of a node let through to a ring; 0: no bound
    int relays;              // a domain is one node whose GPUs may relay (PXN)
    double ring_Bps;         // a domain sends, every domain to the next one
    double tree_Bps;         // of the whole buffer, up and down the two trees
    double alltoall_Bps;     // a domain sends, to all other domains alike
    double sharp_Bps;        // a domain sends and gets back reduced
    uint32_t ring_link, tree_link, alltoall_link; // the tightest links; SAND_NONE
    char why_no_sharp[200];                       // if sharp_Bps is 0
};

// The first `ranks` GPUs, `per_node` on each node in the fabric's order (0: all GPUs of a node).
// SAND_ERR_INPUT if they do not fit or something is cut off. O(ranks x route); all-to-all is
// sampled over domains at equal distances, the same ones every time, beyond 40,000 routes.
enum sand_rc sand_comm_place(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                             uint32_t ranks, uint32_t per_node,
                             const struct sand_comm_options *options, struct sand_comm *comm,
                             struct sand_diag *diag);

// Whether its GPUs exchange from chip to chip: scale-up or fabric is a torus whose places they are.
int sand_comm_on_torus(const struct sand_cluster *cluster);

// The same before anything is routed, as a library sees it that knows the ports of its nodes and
// nothing behind them: `domains` of at most `domain_ranks` ranks, who share `ports` NICs of
// port_Bps each to leave a domain. `nic`: latencies included, that of the ports. `reduces`: the
// network's switches can. `stride`: GPUs from a rank of a domain to the next; as many communicators
// are taken to be at it at a time. `domain_gpus`: of a domain of the job.
struct sand_comm_ports {
    const struct sand_node_type *node;
    const struct sand_link_type *nic;
    uint32_t ranks, domains, domain_ranks, ports;
    uint32_t stride, domain_gpus;
    double port_Bps;
    int relays, reduces;
};
void sand_comm_by_ports(const struct sand_comm_ports *ports,
                        const struct sand_comm_options *options, struct sand_comm *comm);

// Parent of `index` in the first (0) or second (1) of two binary trees over n nodes, such that the
// leaves of one are the inner nodes of the other, at most one apart (Sanders, Speck, Traeff,
// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009).
// SAND_NONE: the root.
uint32_t sand_tree_parent(uint32_t index, uint32_t n, int second);

#endif
