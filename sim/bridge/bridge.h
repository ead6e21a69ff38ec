// The border to SimGrid: links, flows over link lists, one pump that waits. Nothing else of
// SimGrid is visible, and nothing else links it.
//
// A platform is a list of links; a flow runs over any list of links, a link listed k times counts
// k times in the max-min sharing (exact, see docs/decisions). Every link has zero latency: latency
// comes from closed forms, as time the caller adds. One engine per process, ever: whoever needs a
// second one forks first.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BRIDGE_BRIDGE_H
#define SAND_SIM_BRIDGE_BRIDGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "diag.h" // C names; its own system headers are included above

struct sand_bridge; // the engine

struct sand_bridge_platform {
    const double *link_Bps; // n_links capacities, all > 0 and finite
    uint32_t n_links;
    uint32_t max_flows; // flows alive at the same time, at most (each takes a slot of the platform)
};

// The caller's loop: runs as the engine's only actor. Its return code is that of the run.
typedef enum sand_rc sand_pump_fn(struct sand_bridge *bridge, void *argument);

// Builds the platform, runs `pump` to its end, tears down. SAND_ERR_INTERNAL if this process has
// run an engine before, or SimGrid throws. O(links + slots) to build.
enum sand_rc sand_bridge_run(const struct sand_bridge_platform *platform, sand_pump_fn *pump,
                             void *argument, struct sand_diag *diag);

// All that follows is called from inside the pump only.

// SimGrid's clock, seconds.
double sand_bridge_now_s(const struct sand_bridge *bridge);

// Starts a flow of `bytes` (> 0, finite) over links[0..n) (indices; repeats count). *flow gets a
// number < max_flows that stays valid until the flow is reported ended or cancelled. A flow over a
// link that is off fails at once: the next wait reports it. SAND_ERR_INTERNAL when all slots are
// taken. SimGrid seeks each link among the distinct ones before it:
// 0.6 ms for 1,000 distinct links, 80 ms for 10,000; repeats are free.
enum sand_rc sand_bridge_flow_start(struct sand_bridge *bridge, const uint32_t *links, uint32_t n,
                                    double bytes, uint32_t *flow);

struct sand_flow_end {
    uint32_t flow;
    int failed; // 1: a link on its way was turned off
};

// Lets time pass until `seconds` (>= 0) are over or at least one flow has ended, whichever is
// first, and writes every flow that has ended by then to ends[0..*n) in ascending flow number (room
// for max_flows entries). seconds may be INFINITY if a flow is alive. With no flow and 0 seconds it
// returns at once. Ends that lie within a nanosecond are one instant. Returns SAND_ERR_INTERNAL on
// an exception. O(ends) plus what SimGrid's solver needs, whatever the number of live flows.
enum sand_rc sand_bridge_wait(struct sand_bridge *bridge, double seconds,
                              struct sand_flow_end *ends, uint32_t *n);

// Ends a flow now, also one that has ended and is not reported yet; *remaining_B (may be NULL) gets
// the bytes not yet delivered.
enum sand_rc sand_bridge_flow_cancel(struct sand_bridge *bridge, uint32_t flow,
                                     double *remaining_B);
// 0 for a number that is not in use.
double sand_bridge_flow_remaining_B(const struct sand_bridge *bridge, uint32_t flow);

// Changes a link's capacity (> 0, finite). Running flows slow down and speed up at once.
enum sand_rc sand_bridge_link_set(struct sand_bridge *bridge, uint32_t link, double Bps);

// Turns a link off (its flows fail, reported by the next wait) or on. O(live flows).
enum sand_rc sand_bridge_link_power(struct sand_bridge *bridge, uint32_t link, int on);

// The SimGrid in use, "3.32"; "3.32 (built against 3.31)" if that differs.
const char *sand_bridge_simgrid_version(void);

#ifdef __cplusplus
}
#endif

#endif
