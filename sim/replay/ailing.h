// Parts that are not as built, in time: who ails, whose traffic crosses it, what that costs
// (private). ailing.c keeps the parts, ailingjobs.c the jobs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_AILING_H
#define SAND_SIM_REPLAY_AILING_H

#include "degradation.h"
#include "fabrichealth.h"
#include "faultspec.h"

struct sand_world;
struct sand_world_job;

// A job that a degradation has concerned.
struct sand_touch {
    uint32_t job; // its number
    uint64_t gpus;
    int held; // stands still until routes around the part are found, or it is back
    int64_t still_ns, slow_ns;
};

// A strike and its part.
struct sand_degradation {
    const struct sand_degradation_class *class;
    uint32_t class_index, number;
    uint64_t index; // k-th of its class
    struct sand_fabric_part part;
    uint32_t node, gpu; // SAND_NONE: in no node, no GPU
    int64_t fault_ns, noticed_ns;
    int is_down, is_drained;
    int64_t routed_ns; // while it is down: when routes avoid it
    uint32_t n_downs;
    uint64_t n_toggles, toggle_token;
    struct sand_touch *touches;
    size_t n_touches, touches_capacity;
};

struct sand_ailing {
    struct sand_fabric *fabric; // as it is now; the world's own is as built
    struct sand_fabric_health *health;
    float *gpu_speed; // per GPU of the cluster
    uint32_t n_slow_gpus;
    uint64_t *n_parts, *n_strikes;    // by class
    struct sand_fabric_part *only;    // by class: the part it names
    uint32_t *only_gpu;               // by class: the GPU it names, SAND_NONE: none
    struct sand_degradation **active; // in the order of their strikes
    size_t n_active, active_capacity;
    struct sand_fabric_ailment *ailments; // scratch
    size_t ailments_capacity;
    uint32_t n_degradations;
    uint8_t state[32]; // equal: the same parts ail in the same way
    int warned;        // of jobs that nothing can be said of
};

// An answer for a job's present nodes and one state of the parts.
struct sand_ailing_answer {
    uint8_t state[32];
    int known, cut;  // cut: no route joins all of it
    uint64_t number; // no two answers of a job have the same
    int64_t step_ns;
    uint32_t *links; // that its traffic crosses, ascending
    size_t n_links;
    struct sand_link_load *loads; // what it puts on those that others may use
    size_t n_loads;
};

enum { SAND_AILING_ANSWERS = 8 };

// Of a job whose steps are simulated, during an attempt.
struct sand_job_ailing {
    struct sand_ailing_answer built; // with every part as built; number 0
    struct sand_ailing_answer answers[SAND_AILING_ANSWERS];
    uint64_t n_answers;
    const struct sand_ailing_answer *now; // NULL: as built
    uint64_t placed;                      // number of the answer whose loads its neighbours know
    uint64_t cut_token;
    struct sand_degradation *cut_by;        // whose timeout runs; NULL: nobody's
    int64_t credited_ns, credited_still_ns; // of the attempt's time by faults, booked so far
};

// ---- ailing.c -----------------------------------------------------------------------------------

enum sand_rc sand_ailing_open(struct sand_world *w);
void sand_ailing_close(struct sand_world *w);
// Puts the first strikes on the agenda.
enum sand_rc sand_ailing_begin(struct sand_world *w);
enum sand_rc sand_ailing_strike(struct sand_world *w, uint32_t class_index);
// What comes later to degradation `number`, if it is still there.
enum sand_rc sand_ailing_toggle(struct sand_world *w, uint32_t number, uint64_t token);
enum sand_rc sand_ailing_noticed(struct sand_world *w, uint32_t number);
enum sand_rc sand_ailing_healed(struct sand_world *w, uint32_t number);
// A node leaves for repair, and with it what ails in it.
enum sand_rc sand_ailing_node_left(struct sand_world *w, uint32_t node);
// Rows of what still ails at the end.
enum sand_rc sand_ailing_finish(struct sand_world *w);

// ---- ailingjobs.c -------------------------------------------------------------------------------

// Whether the part lies on the job's way, as built or now, or in its nodes.
enum sand_rc sand_ailing_concerns(struct sand_world *w, const struct sand_world_job *j,
                                  const struct sand_degradation *d, int *concerned);
// Jobs that cross the part stand still.
enum sand_rc sand_ailing_hold(struct sand_world *w, struct sand_degradation *d);
void sand_ailing_let_go(struct sand_degradation *d);
// Books what faults have cost jobs so far to the degradations; before any of these changes.
enum sand_rc sand_ailing_credit_all(struct sand_world *w);
enum sand_rc sand_ailing_credit(struct sand_world *w, struct sand_world_job *j);
// Asks the step time of a job anew, parts being as they are now, and changes its rate.
enum sand_rc sand_ailing_update(struct sand_world *w, struct sand_world_job *j);
// The same for an attempt that begins.
enum sand_rc sand_ailing_attempt(struct sand_world *w, struct sand_world_job *j);
// The attempt has ended: nothing holds the job any more.
enum sand_rc sand_ailing_rest(struct sand_world *w, struct sand_world_job *j);
// A job has stood cut off for as long as its transport waits.
enum sand_rc sand_ailing_timeout(struct sand_world *w, struct sand_world_job *j);
void sand_ailing_forget(struct sand_world_job *j);

#endif
