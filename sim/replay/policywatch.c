// A timer of the process's CPU time; its signal finds out whether one call spans two of its ticks.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "policywatch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Nothing here uses it otherwise, and its default is to end the process.
enum { SIGNAL = SIGVTALRM };

static void say(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; // on the way out
}

// Only what signal-safety(7) allows.
static void tick(int number, siginfo_t *info, void *context)
{
    struct sand_policy_watch *watch = info->si_value.sival_ptr;
    const char *policy = watch->policy;
    (void)number;
    (void)context;
    if (info->si_code != SI_TIMER)
        return;
    if (!policy || watch->calls != watch->seen) {
        watch->seen = watch->calls;
        return;
    }
    say("error: policy \"");
    say(policy);
    say(watch->text);
    _exit(watch->exit_status);
}

enum sand_rc sand_policy_watch_open(struct sand_policy_watch *watch, double limit_s,
                                    struct sand_diag *diag)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNAL};
    const double whole_s = floor(limit_s);
    const struct timespec limit = {(time_t)whole_s, (long)((limit_s - whole_s) * 1e9)};
    const struct itimerspec when = {limit, limit};
    snprintf(watch->text, sizeof watch->text,
             "\": a call has not returned after %g s of CPU time: it goes on for ever\n", limit_s);
    watch->exit_status = sand_rc_exit_status(SAND_ERR_PLUGIN);
    watch->process = getpid();
    action.sa_sigaction = tick;
    sigemptyset(&action.sa_mask);
    event.sigev_value.sival_ptr = watch;
    if (sigaction(SIGNAL, &action, &watch->before) != 0 ||
        timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &watch->timer) != 0)
        return sand_fail(diag, SAND_ERR_INTERNAL, "policies cannot be watched: %s",
                         strerror(errno));
    watch->open = 1;
    if (timer_settime(watch->timer, 0, &when, NULL) != 0)
        return sand_fail(diag, SAND_ERR_INTERNAL, "policies cannot be watched: %s",
                         strerror(errno));
    return SAND_OK;
}

void sand_policy_watch_process(const struct sand_policy_watch *watch, const char *policy)
{
    if (!watch->open || getpid() == watch->process)
        return;
    say("error: policy \"");
    say(watch->policy ? watch->policy : policy); // the outermost call under way
    say("\" has forked: a run is one process, the new one ends here\n");
    _exit(watch->exit_status); // without the buffers of the other
}

void sand_policy_watch_close(struct sand_policy_watch *watch)
{
    if (!watch->open)
        return;
    timer_delete(watch->timer);
    sigaction(SIGNAL, &watch->before, NULL);
    watch->open = 0;
}
