// An attempt's progress: whole steps at a rate that may change at any instant (private).
// The rate is constant in pieces. At a change the step under way keeps the share of it that is
// done; what is left of it goes on at the new rate. Dates of boundaries are whole nanoseconds, and
// a step's time is the difference of two of them, so times add up exactly; the causes of slowness
// are shares of that time. Knows no world and no agenda: sand_life_rate is how the replay changes
// the rate of a job. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_PROGRESS_H
#define SAND_SIM_REPLAY_PROGRESS_H

#include <stdint.h>

// A date to stand still until when only another change ends it: 73 years.
#define SAND_STANDS_STILL (INT64_MAX / 4)

// Why a step takes longer than on a healthy, contiguous placement.
enum sand_slow_cause {
    SAND_SLOW_PLACEMENT,  // its own nodes, with nothing else running and nothing broken
    SAND_SLOW_NEIGHBOURS, // what runs beside it
    SAND_SLOW_FAULTS,     // parts slow or gone since a fault, and standing still for new routes
    SAND_SLOW_TRANSFERS,  // saves, restores and data loading on its links, of any job
    SAND_SLOW_CAUSES
};

// What a step takes: healthy_ns and the causes sum to step_ns > 0. A cause may be negative.
struct sand_rate {
    int64_t step_ns, healthy_ns;
    int64_t by_ns[SAND_SLOW_CAUSES];
    int64_t data_stall_ns; // of the step: waiting for training data
};

// Sums over whole steps.
struct sand_spent {
    uint64_t steps;
    int64_t time_ns;
    int64_t by_ns[SAND_SLOW_CAUSES]; // the rest of time_ns is healthy
    int64_t slow_ns;                 // what was slower than healthy, never negative at any instant
    int64_t data_ns;
};

struct sand_progress {
    struct sand_rate rate;
    int running;
    uint64_t first;          // steps done before the one under way
    int64_t began_ns;        // when that one began
    int64_t t0_ns;           // the rate counts from here: in the future while standing still
    int64_t lead_ns;         // from t0 to the end of that step
    struct sand_spent part;  // shares of that step before t0; time_ns and steps unused
    struct sand_spent spent; // whole steps of the attempt
    int64_t still_ns;        // stood still in the attempt, up to t0
    uint64_t n_changes;      // of the rate since the attempt began
};

// Begins an attempt with `done` steps behind it; it does not run yet.
void sand_progress_open(struct sand_progress *p, uint64_t done, const struct sand_rate *rate);
// Begins a step now, or at resume_ns >= now if it has to stand still first.
void sand_progress_run(struct sand_progress *p, int64_t now_ns, int64_t resume_ns);
// Counts the whole steps done by now; every other call counts them first.
void sand_progress_count(struct sand_progress *p, int64_t now_ns);
// From now on `rate`, standing still until resume_ns first (<= now: not at all; a change replaces
// the resume_ns of the one before). Standing still counts as SAND_SLOW_FAULTS.
void sand_progress_change(struct sand_progress *p, int64_t now_ns, const struct sand_rate *rate,
                          int64_t resume_ns);
// Stops between steps or in one. Returns the time spent in the step that is not ended, which is
// forgotten.
int64_t sand_progress_stop(struct sand_progress *p, int64_t now_ns);

// The date at which `steps` in all are done, steps >= first; INT64_MAX: never comes.
int64_t sand_progress_date(const struct sand_progress *p, uint64_t steps);
// How many steps are done at the first boundary at or after `date`, which is not before began_ns.
uint64_t sand_progress_steps_at(const struct sand_progress *p, int64_t date);
// How much of the step under way is done by now, and the date at which `part_ns` of it is: in time
// of the healthy step.
int64_t sand_progress_part_ns(const struct sand_progress *p, int64_t now_ns);
int64_t sand_progress_part_date(const struct sand_progress *p, int64_t part_ns);
// Of [since, now), the time that was not stood still. To be asked before the steps are counted.
int64_t sand_progress_moving_ns(const struct sand_progress *p, int64_t since_ns, int64_t now_ns);

// What a cause has added by now to the attempt's steps, the step under way included.
int64_t sand_progress_by_ns(struct sand_progress *p, enum sand_slow_cause cause, int64_t now_ns);
// How long it has stood still by now in this attempt.
int64_t sand_progress_stood_ns(const struct sand_progress *p, int64_t now_ns);

// to - from.
struct sand_spent sand_spent_since(const struct sand_spent *to, const struct sand_spent *from);

#endif
