// A policy that does not come back from a call: the process ends, and says whose call it was
// (private). SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_POLICYWATCH_H
#define SAND_SIM_REPLAY_POLICYWATCH_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "diag.h"

// Written by the calls, read by a signal: hence volatile. Not to be moved while open.
struct sand_policy_watch {
    int open, exit_status;
    pid_t process; // that opened it
    timer_t timer;
    struct sigaction before;
    char text[160];
    const char *volatile policy; // whose call is under way, NULL: none
    volatile uint64_t calls, seen;
};

// From now on a call that takes between `limit_s` and twice as much CPU time of the process ends it
// with the exit status of SAND_ERR_PLUGIN, after a line on stderr: nothing else can be done about
// foreign code that goes on for ever.
enum sand_rc sand_policy_watch_open(struct sand_policy_watch *watch, double limit_s,
                                    struct sand_diag *diag);
void sand_policy_watch_close(struct sand_policy_watch *watch);
// Ends this process, after a line on stderr, if it is one that a call of the policy has forked: the
// run goes on in the other.
void sand_policy_watch_process(const struct sand_policy_watch *watch, const char *policy);

// A call begins. Returns whose call it is made from, NULL if from none: calls of calls count as
// part of the first, which may go round in circles as well as they.
static inline const char *sand_policy_watch_begin(struct sand_policy_watch *watch,
                                                  const char *policy)
{
    const char *outer = watch->policy;
    watch->calls += outer == NULL;
    watch->policy = policy;
    return outer;
}

// The call is over.
static inline void sand_policy_watch_end(struct sand_policy_watch *watch, const char *outer)
{
    watch->policy = outer;
}

#endif
