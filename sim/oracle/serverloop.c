// The server's side of the fork server. Everything here ends in _exit: the caller's buffers and
// exit handlers are copies that must not run twice. SPDX-License-Identifier: GPL-2.0-or-later
#include "serverloop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "wire.h"

enum { LINE = 3 }; // the server's one file beyond standard input, output and error

void sand_server_describe_end(int status, char *text, size_t size)
{
    if (!WIFSIGNALED(status)) {
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
        return;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    if (name)
        snprintf(text, size, "was killed by SIG%s", name);
    else
        snprintf(text, size, "was killed by signal %d", WTERMSIG(status));
}

// Dies when `parent` does. Linux tells a child of its parent's death from now on, not before.
static void follow(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
}

// Leaves the caller's files, handlers and masks. An interrupt from the terminal is the caller's to
// handle: the server ends with it, not before it.
static void settle(int fd, pid_t parent)
{
    sigset_t none;
    follow(parent);
    if (fd != LINE && dup2(fd, LINE) < 0)
        _exit(1);
    if (close_range(LINE + 1, ~0U, 0) != 0)
        _exit(1);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); // refused for SIGKILL, SIGSTOP and libc's own: fine
    signal(SIGINT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static enum sand_rc compose(const void *answer, size_t answer_size, enum sand_rc rc,
                            const struct sand_diag *diag, struct sand_wire_head *head,
                            struct sand_wire_block *block)
{
    block->size = 0;
    SAND_TRY(sand_wire_append(block, answer, answer_size));
    SAND_TRY(sand_wire_append_diag(block, diag));
    *head = (struct sand_wire_head){
        .size = block->size, .rc = rc, .n_messages = (uint32_t)diag->n_messages};
    return SAND_OK;
}

// The child: works and says what came out. 0 when it could say it.
static int work_and_tell(int fd, sand_work_fn *work, const struct sand_wire_block *request,
                         size_t answer_size)
{
    struct sand_diag diag = {0};
    struct sand_wire_head head;
    struct sand_wire_block block = {0};
    void *answer = sand_calloc(1, answer_size);
    if (!answer)
        return 1;
    const enum sand_rc rc = work(request->bytes, request->size, answer, &diag);
    if (compose(answer, answer_size, rc, &diag, &head, &block) != SAND_OK)
        return 1;
    return sand_wire_send(fd, &head, block.bytes) != SAND_OK;
}

// Composes the answer for a child that gave none.
static enum sand_rc explain(const char *what, size_t answer_size, struct sand_wire_head *head,
                            struct sand_wire_block *block)
{
    struct sand_diag diag = {0};
    enum sand_rc rc = SAND_ERR_NOMEM;
    void *nothing = sand_calloc(1, answer_size);
    if (nothing) {
        sand_diag_add(&diag, SAND_ERROR, NULL, 0, "step simulation: %s", what);
        rc = compose(nothing, answer_size, SAND_ERR_INTERNAL, &diag, head, block);
    }
    sand_free(nothing);
    sand_diag_clear(&diag);
    return rc;
}

// Waits for the child. Its answer counts only if it ended well.
static enum sand_rc collect(pid_t child, int fd, size_t answer_size, struct sand_wire_head *head,
                            struct sand_wire_block *block)
{
    int status = 0;
    char end[64], what[128];
    const enum sand_rc got = sand_wire_receive(fd, head, block);
    close(fd);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return explain("its process was lost", answer_size, head, block);
    if (got == SAND_OK && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return SAND_OK;
    sand_server_describe_end(status, end, sizeof end);
    snprintf(what, sizeof what, "its process %s before it had an answer", end);
    return explain(what, answer_size, head, block);
}

static enum sand_rc answer(sand_work_fn *work, const struct sand_wire_block *request,
                           size_t answer_size, struct sand_wire_head *head,
                           struct sand_wire_block *block)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return explain("no socket pair for its process", answer_size, head, block);
    const pid_t server = getpid();
    const pid_t child = fork();
    if (child == 0) {
        follow(server);
        close(LINE);
        close(ends[0]);
        _exit(work_and_tell(ends[1], work, request, answer_size));
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return explain("its process could not be forked", answer_size, head, block);
    }
    return collect(child, ends[0], answer_size, head, block);
}

_Noreturn void sand_server_loop(int fd, pid_t parent, sand_work_fn *work, size_t answer_size)
{
    struct sand_wire_block request = {0}, block = {0};
    struct sand_wire_head head;
    settle(fd, parent);
    while (sand_wire_receive(LINE, &head, &request) == SAND_OK)
        if (answer(work, &request, answer_size, &head, &block) != SAND_OK ||
            sand_wire_send(LINE, &head, block.bytes) != SAND_OK)
            _exit(1);
    _exit(0);
}
