// Storage on the training fabric: saves, restores and data loading share links with steps
// (private). Whatever moves data goes on beside the steps as streams (sim/step/transfer.h). At the
// end of an instant at which a step or a transfer began or ended, or a part changed, everybody
// concerned gets its rate from joint questions: a transfer from one of itself and who is on its
// links; a job what it loses from one of itself, the transfers on its links and the jobs there,
// less the same without transfers. Transfers that end for one job begin for nobody else, so a set
// of them is asked for as it is. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_SHAREDSTORAGE_H
#define SAND_SIM_REPLAY_SHAREDSTORAGE_H

#include <stdint.h>

#include "rc.h"
#include "step.h"
#include "transfer.h"

struct sand_world;
struct sand_world_job;
struct sand_shared;

// The nodes and the state of the parts that something was found for.
struct sand_shared_mark {
    uint32_t *nodes;
    uint32_t n_nodes, serial; // serial: no two marks of a replication have the same
    uint8_t state[32];
};

// The streams of a job one way.
struct sand_shared_route {
    struct sand_shared_mark mark;
    struct sand_streams streams;
    int cut;          // nothing that works joins it to the storage
    int64_t found_ns; // stands still until then: routes around a part are being found
};

// What its steps put on links, where nobody else keeps that (sand_coupled).
struct sand_shared_loads {
    struct sand_shared_mark mark;
    struct sand_link_load *loads;
    size_t n_loads;
};

struct sand_job_shared {
    struct sand_shared_route routes[2]; // to the storage, from it
    struct sand_shared_loads own;
    double granted_Bps[2]; // what its transfer gets, each way
};

// w->shared stays NULL where storage has a network of its own.
enum sand_rc sand_shared_open(struct sand_world *w);
void sand_shared_close(struct sand_world *w);
void sand_shared_forget(struct sand_world_job *j);

// Whether the steps of a job alone in its cluster meet transfers of its own, so that their loads
// are needed; then they are kept here, as found with every part as built. Takes `loads` over.
int sand_shared_meets_own(const struct sand_world *w, const struct sand_world_job *j);
enum sand_rc sand_shared_keep(struct sand_world *w, struct sand_world_job *j,
                              struct sand_link_load *loads, size_t n_loads);

// Warns if questions left somebody out: more was on shared links than is played together.
void sand_shared_warn(const struct sand_world *w);

// Something that matters here has changed, or may have.
void sand_shared_note(struct sand_world *w);

// How much longer the job's save or restore takes alone than its NICs and the servers say, for what
// the fabric gives its streams; 0 where storage has a network of its own.
double sand_shared_longer_s(struct sand_world *w, struct sand_world_job *j, int reading);

// At the end of an instant, after sand_coupling_settle.
enum sand_rc sand_shared_settle(struct sand_world *w);

#endif
