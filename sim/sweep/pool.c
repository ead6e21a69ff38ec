// Starts, hears and buries the children of a pool.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"

// Signals arrive through a descriptor, so that no handler and no global is needed and none is lost
// between a check and a wait.
struct signals {
    int fd;
    sigset_t before;
    struct sigaction child_before;
};

struct run {
    struct sand_pool *pool;
    struct signals signals;
    struct pollfd *polls; // signals first, then the pipes of the running units
    uint32_t running, next;
    int stopped; // start no more
};

// ---- signals
// --------------------------------------------------------------------------------------

// A process started with SIGINT ignored (nohup, a shell's background job) goes on ignoring it.
static void add_unless_ignored(sigset_t *set, int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

static enum sand_rc open_signals(struct signals *signals, struct sand_diag *diag)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    add_unless_ignored(&set, SIGINT);
    add_unless_ignored(&set, SIGTERM);
    signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals->fd < 0)
        return sand_fail(diag, SAND_ERR_IO, "cannot watch signals: %s", strerror(errno));
    struct sigaction standard = {.sa_handler = SIG_DFL}; // ignored, children would vanish unseen
    sigaction(SIGCHLD, &standard, &signals->child_before);
    sigprocmask(SIG_BLOCK, &set, &signals->before);
    return SAND_OK;
}

static void close_signals(struct signals *signals)
{
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        continue; // a second Ctrl-C while we were cleaning up must not kill us afterwards
    close(signals->fd);
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

// ---- children
// -------------------------------------------------------------------------------------

// Never returns. No exit(): the parent's buffers and exit handlers are not ours to run.
_Noreturn static void child_main(const struct run *run, const struct sand_unit *unit, int fd,
                                 pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); // the parent died before the line above
    close(run->signals.fd);
    for (uint32_t i = 0; i < run->pool->n_units; i++)
        if (run->pool->units[i].state == SAND_UNIT_RUNNING)
            close(run->pool->units[i].inbox.fd);
    sigprocmask(SIG_SETMASK, &run->signals.before, NULL);
    struct sand_unit_outbox outbox = {.fd = fd};
    struct sand_unit_answer answer = {.rc = SAND_ERR_INTERNAL};
    struct sand_diag diag = {0};
    run->pool->body(run->pool->self, unit->number, &outbox, &answer, &diag);
    sand_unit_tell_answer(&outbox, &diag, &answer);
    fflush(NULL);
    _exit(0);
}

static enum sand_rc start_unit(struct run *run, struct sand_unit *unit, struct sand_diag *diag)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return sand_fail(diag, SAND_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL); // what is buffered now must not be written by the child as well
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child_main(run, unit, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return sand_fail(diag, SAND_ERR_IO, "cannot start a process: %s; use fewer --jobs",
                         strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    unit->pid = pid;
    unit->inbox = (struct sand_unit_inbox){.fd = ends[0]};
    unit->state = SAND_UNIT_RUNNING;
    run->running++;
    return SAND_OK;
}

static enum sand_rc start_units(struct run *run, struct sand_diag *diag)
{
    struct sand_pool *pool = run->pool;
    while (!run->stopped && run->running < pool->jobs && run->next < pool->n_units) {
        struct sand_unit *unit = &pool->units[run->next++];
        if (unit->state == SAND_UNIT_PENDING)
            SAND_TRY(start_unit(run, unit, diag));
    }
    return SAND_OK;
}

static void stop_all(struct run *run)
{
    run->stopped = 1;
    for (uint32_t i = 0; i < run->pool->n_units; i++)
        if (run->pool->units[i].state == SAND_UNIT_RUNNING)
            kill(run->pool->units[i].pid, SIGKILL);
}

// ---- ends of children
// -----------------------------------------------------------------------------

static enum sand_rc describe_death(const struct sand_pool *pool, struct sand_unit *unit, int status)
{
    struct sand_diag *diag = &unit->inbox.diag;
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const int is_foreign = pool->plugins && pool->plugins[0] != '\0' && number != SIGKILL;
    const enum sand_rc rc = is_foreign ? SAND_ERR_PLUGIN : SAND_ERR_UNIT;
    const char *who = is_foreign ? pool->plugins : "", *colon = is_foreign ? ": " : "";
    if (number == 0)
        return sand_fail(diag, rc, "%s%sits process ended with status %d and no answer", who, colon,
                         WEXITSTATUS(status));
    const char *name = sigabbrev_np(number), *text = sigdescr_np(number);
    return sand_fail(diag, rc, "%s%sits process was killed by signal %d (SIG%s, %s)%s", who, colon,
                     number, name ? name : "?", text ? text : "unknown",
                     number == SIGKILL ? "; if the machine ran out of memory, use fewer --jobs"
                                       : "");
}

// The verdict on a unit whose process is gone and whose pipe is read to its end.
static enum sand_rc judge(const struct run *run, struct sand_unit *unit, int status)
{
    if (!unit->inbox.answered || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return describe_death(run->pool, unit, status);
    if (unit->inbox.answer.rc != SAND_OK)
        return unit->inbox.answer.rc;
    return run->pool->commit(run->pool->self, unit, &unit->inbox.diag);
}

static void finish_unit(struct run *run, struct sand_unit *unit, int status)
{
    enum sand_rc heard = sand_unit_listen(&unit->inbox);
    close(unit->inbox.fd);
    unit->inbox.fd = -1;
    run->running--;
    unit->rc = heard == SAND_OK ? judge(run, unit, status) : heard;
    unit->state = unit->rc == SAND_OK ? SAND_UNIT_DONE : SAND_UNIT_FAILED;
    if (run->pool->interrupted && unit->state == SAND_UNIT_FAILED)
        unit->state = SAND_UNIT_PENDING; // we killed it: not its fault
    if (unit->rc == SAND_ERR_INPUT && !run->pool->keeps_going)
        run->stopped = 1;
}

static void reap(struct run *run)
{
    for (uint32_t i = 0; i < run->pool->n_units; i++) {
        struct sand_unit *unit = &run->pool->units[i];
        int status;
        if (unit->state == SAND_UNIT_RUNNING && waitpid(unit->pid, &status, WNOHANG) == unit->pid)
            finish_unit(run, unit, status);
    }
}

// ---- loop
// -----------------------------------------------------------------------------------------

static void take_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals.fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        run->pool->interrupted = 1;
        stop_all(run);
    }
    reap(run);
}

// Waits for a signal or for words from a child, and takes them in.
static enum sand_rc wait_and_listen(struct run *run, struct sand_diag *diag)
{
    nfds_t n = 1;
    run->polls[0] = (struct pollfd){.fd = run->signals.fd, .events = POLLIN};
    for (uint32_t i = 0; i < run->pool->n_units; i++)
        if (run->pool->units[i].state == SAND_UNIT_RUNNING && run->pool->units[i].inbox.fd >= 0)
            run->polls[n++] = (struct pollfd){.fd = run->pool->units[i].inbox.fd, .events = POLLIN};
    if (poll(run->polls, n, -1) < 0 && errno != EINTR)
        return sand_fail(diag, SAND_ERR_IO, "cannot wait for children: %s", strerror(errno));
    for (uint32_t i = 0; i < run->pool->n_units; i++)
        if (run->pool->units[i].state == SAND_UNIT_RUNNING)
            SAND_TRY(sand_unit_listen(&run->pool->units[i].inbox));
    take_signals(run);
    if (run->pool->progress)
        run->pool->progress(run->pool->self, run->pool);
    return SAND_OK;
}

static enum sand_rc run_units(struct run *run, struct sand_diag *diag)
{
    enum sand_rc rc = start_units(run, diag);
    while (rc == SAND_OK && run->running > 0) {
        rc = wait_and_listen(run, diag);
        if (rc == SAND_OK)
            rc = start_units(run, diag);
    }
    stop_all(run);
    for (uint32_t i = 0; i < run->pool->n_units; i++) {
        struct sand_unit *unit = &run->pool->units[i];
        int status;
        if (unit->state == SAND_UNIT_RUNNING && waitpid(unit->pid, &status, 0) == unit->pid)
            finish_unit(run, unit, status);
    }
    return rc;
}

enum sand_rc sand_pool_run(struct sand_pool *pool, struct sand_diag *diag)
{
    struct run run = {.pool = pool};
    run.polls = sand_calloc((size_t)pool->jobs + 1, sizeof *run.polls);
    if (!run.polls)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    enum sand_rc rc = open_signals(&run.signals, diag);
    if (rc == SAND_OK) {
        rc = run_units(&run, diag);
        close_signals(&run.signals);
    }
    sand_free(run.polls);
    return rc;
}
