// What traffic a step consists of, in terms that a reader can redo by hand.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_BREAKDOWN_H
#define SAND_SIM_STEP_BREAKDOWN_H

#include <stddef.h>
#include <stdint.h>

#include "step.h"

// One kind of collective or send of one stage. With S = message_B and n = ranks:
//   hop_B     = factor x S x stretch / channels, factor as `volume` says
//   fill_s    = depth x fill_wire_s / (1 + S / fill_B), 0 without fill_B
//   latency_s = base_s + scaleup_hops x scaleup_hop_s + network_hops x network_hop_s + messages_s
//               + fill_s
//   rate_Bps  = link_Bps x link_usable / link_users
//   one_s     = latency_s + hop_B / rate_Bps
//   exposed_s = exposed x per_step x one_s
struct sand_step_term {
    const char *name, *collective, *algorithm, *protocol;
    const char *message; // what S is, in words
    const char *volume;  // what `factor` is
    const char *equation, *source, *overlap;
    uint32_t ranks, domains, channels; // channels: parts that cross domains side by side
    double message_B, factor, stretch, hop_B;
    double base_s, scaleup_hops, scaleup_hop_s, network_hops, network_hop_s, messages_s;
    double depth, fill_wire_s, fill_B, fill_s, latency_s;
    char link[64]; // the bottleneck, "" if nothing is sent
    double link_Bps, link_usable, link_users, rate_Bps;
    double per_step; // how many of them a step has, one after the other
    double exposed;  // share that compute waits for by itself; what a bubble hides is not taken off
    double one_s, exposed_s;
};

enum { SAND_STEP_TERMS = 24 };

struct sand_step_breakdown {
    uint32_t stage;
    struct sand_step_term terms[SAND_STEP_TERMS];
    size_t n;
};

// The traffic of one stage. Chunks that exchange equally much are one term; from the last on that
// finds room, further ones are left out. O(GPUs x hops).
enum sand_rc sand_step_breakdown_find(const struct sand_step_question *question, uint32_t stage,
                                      struct sand_step_breakdown *breakdown,
                                      struct sand_diag *diag);

#endif
