// What `sandtable fabric check` finds wrong with a fabric.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_FABRICFINDINGS_H
#define SAND_SIM_CLI_FABRICFINDINGS_H

#include "fabric.h"
#include "graph.h"

struct sand_finding {
    const char *kind; // "nics-cut-off", ...
    int is_grave;     // the fabric does not do what it is for
    char text[320];
};

struct sand_findings {
    struct sand_finding *items; // sand_free it
    size_t n, capacity, n_grave;
};
enum sand_rc sand_findings_add(struct sand_findings *findings, const char *kind, int is_grave,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

// NICs without a port that works; pieces that nothing joins; rails that differ by more than 1 % in
// what their NICs or leaves carry; cables longer than the price list's fibres reach; switches whose
// loss alone parts others, and those without a cable (not grave).
enum sand_rc sand_findings_of(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                              const struct sand_graph *graph, struct sand_findings *findings,
                              struct sand_diag *diag);

// Bandwidth of the NICs below a leaf (router: at it), or in a pod, over that of its way up (out):
// the least and the most oversubscribed. n is 0 where there is no such tier.
struct sand_tier_ratio {
    const char *tier; // "leaf", "pod", "router"
    uint32_t n;
    double least, most;
};
enum { SAND_TIER_RATIOS = 2 };
enum sand_rc sand_tier_ratios(const struct sand_graph *graph,
                              struct sand_tier_ratio ratios[SAND_TIER_RATIOS],
                              struct sand_diag *diag);

#endif
