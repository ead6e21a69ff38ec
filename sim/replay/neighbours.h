// Which job a job loses time to, and on which link (private).
// What neighbours cost a job is one number (coupling.h). It is shared out among those who step on
// the links on which the job can lose, by what both put on these: the product of their mean loads
// as shares of the capacity, which is how often they meet there.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_NEIGHBOURS_H
#define SAND_SIM_REPLAY_NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"
#include "step.h"

struct sand_world;
struct sand_world_job;

struct sand_neighbour {
    uint32_t job, link; // the link on which they meet most
    double share, most; // while they meet: of both on all links; of that link
    int64_t lost_ns;    // by steps that took longer, also of steps that were lost later
};

struct sand_neighbours {
    struct sand_neighbour *now, *met; // at this moment; all so far
    size_t n_now, now_capacity, n_met, met_capacity;
    int64_t credited_ns; // of the attempt's loss
};

// An attempt begins.
void sand_neighbours_attempt(struct sand_world_job *j);

// Books what neighbours have cost so far to those who were there; before any of these changes, and
// before the attempt ends. Then nobody is there, until they are said to meet on a link.
enum sand_rc sand_neighbours_credit(struct sand_world *w, struct sand_world_job *j);
enum sand_rc sand_neighbours_meet(struct sand_world_job *j, const struct sand_world_job *other,
                                  const struct sand_link_load *own,
                                  const struct sand_link_load *others);

// The rows of a job that comes to its end.
enum sand_rc sand_neighbours_emit(struct sand_world *w, const struct sand_world_job *j);
void sand_neighbours_forget(struct sand_world_job *j);

#endif
