// Who slows whom: jobs that step at the same time and load common links (private).
// A job can lose on a link if the peaks of its users together exceed the capacity and the others
// are there often enough to cost it 0.5 % of its step. If the job would lose that much with the
// others always at their worst (asked once, alone, with that share of the links gone), its step is
// asked together with everybody on those links, as the mean over how they happen to start against
// each other. What slows the neighbours in turn, elsewhere, is of second order and left out.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_COUPLING_H
#define SAND_SIM_REPLAY_COUPLING_H

#include <stddef.h>
#include <stdint.h>

#include "neighbours.h"
#include "rc.h"
#include "step.h"

struct sand_world;
struct sand_world_job;
struct sand_coupling;

// A job's part in it.
struct sand_coupled {
    struct sand_link_load *loads; // owned; of its present nodes
    size_t n_loads;
    uint32_t serial; // of the loads, unique over all jobs and placements
    int present;     // stands among the users of its links: steps, or saves in between
    int steps;       // at this moment
    int queued;      // has to be asked anew
    uint64_t seen;   // by the last search
    struct sand_neighbours near;
};

struct sand_coupling_counts {
    uint64_t changes;   // jobs looked at after a change
    uint64_t questions; // of two jobs and more
    uint64_t known;     // of them, answered from what this replication has seen
    uint32_t largest;   // jobs in a question
};

// Does nothing else until a job has loads. w->coupling stays NULL where only one job can run.
enum sand_rc sand_coupling_open(struct sand_world *w);
void sand_coupling_close(struct sand_world *w);

// The job has new loads (on its nodes alone, as they are now). Takes `loads` over.
enum sand_rc sand_coupling_place(struct sand_world *w, struct sand_world_job *j,
                                 struct sand_link_load *loads, size_t n_loads);

// The job may have begun or ceased to step. O(1) if not, else O(its links). A failure is returned
// by the next sand_coupling_settle.
void sand_coupling_note(struct sand_world *w, struct sand_world_job *j);

// At the end of an instant: asks for every job whose neighbours changed, and sets its rate.
enum sand_rc sand_coupling_settle(struct sand_world *w);

struct sand_coupling_counts sand_coupling_counts(const struct sand_world *w);

#endif
