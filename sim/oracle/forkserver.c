// The asker's side of the fork server: start, ask, notice its death, close.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "forkserver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "serverloop.h"
#include "wire.h"

struct sand_forkserver {
    int fd; // -1 once it is gone
    pid_t pid;
    size_t answer_size;
    char death[64]; // how it ended
};

enum sand_rc sand_forkserver_open(sand_work_fn *work, size_t answer_size,
                                  struct sand_forkserver **server, struct sand_diag *diag)
{
    int ends[2];
    struct sand_forkserver *made = sand_calloc(1, sizeof *made);
    if (!made)
        return SAND_ERR_NOMEM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        sand_free(made);
        return sand_fail(diag, SAND_ERR_IO, "step server: no socket pair: %s", strerror(errno));
    }
    const pid_t parent = getpid();
    fflush(NULL); // SimGrid flushes all streams: what is buffered now would be written twice
    const pid_t pid = fork();
    if (pid == 0)
        sand_server_loop(ends[1], parent, work, answer_size);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        sand_free(made);
        return sand_fail(diag, SAND_ERR_IO, "step server: cannot fork: %s", strerror(errno));
    }
    *made = (struct sand_forkserver){.fd = ends[0], .pid = pid, .answer_size = answer_size};
    *server = made;
    return SAND_OK;
}

// The server reads the end of its input, also when a fork of ours still holds a copy of the line.
static void hang_up(struct sand_forkserver *server)
{
    shutdown(server->fd, SHUT_RDWR);
    close(server->fd);
    server->fd = -1;
}

// Takes leave of the server, which has hung up or does so now, and keeps how it ended.
static void bury(struct sand_forkserver *server)
{
    int status = 0;
    pid_t got;
    hang_up(server);
    do
        got = waitpid(server->pid, &status, 0);
    while (got < 0 && errno == EINTR);
    server->pid = -1;
    if (got > 0)
        sand_server_describe_end(status, server->death, sizeof server->death);
    else
        snprintf(server->death, sizeof server->death, "is gone");
}

static enum sand_rc gone(const struct sand_forkserver *server, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_INTERNAL,
                     "step server: its process %s, so no step can be simulated any more; run again",
                     server->death);
}

static enum sand_rc read_answer(const struct sand_forkserver *server,
                                const struct sand_wire_head *head,
                                const struct sand_wire_block *block, void *answer,
                                struct sand_diag *diag)
{
    if (block->size < server->answer_size || head->rc >= SAND_RC_COUNT ||
        sand_wire_read_diag(block->bytes + server->answer_size, block->size - server->answer_size,
                            head->n_messages, diag) != SAND_OK)
        return sand_fail(diag, SAND_ERR_INTERNAL, "step server: an answer of %zu bytes is damaged",
                         block->size);
    if (head->rc == SAND_OK)
        memcpy(answer, block->bytes, server->answer_size);
    return (enum sand_rc)head->rc;
}

enum sand_rc sand_forkserver_ask(struct sand_forkserver *server, const void *request, size_t size,
                                 void *answer, struct sand_diag *diag)
{
    if (server->fd < 0)
        return gone(server, diag);
    struct sand_wire_head head = {.size = size};
    struct sand_wire_block block = {0};
    enum sand_rc rc = sand_wire_send(server->fd, &head, request);
    if (rc == SAND_OK)
        rc = sand_wire_receive(server->fd, &head, &block);
    if (rc == SAND_OK) {
        rc = read_answer(server, &head, &block, answer, diag);
    } else {
        // Out of memory in the middle of a block leaves the line out of step: the same end.
        bury(server);
        rc = gone(server, diag);
    }
    sand_wire_clear(&block);
    return rc;
}

pid_t sand_forkserver_pid(const struct sand_forkserver *server)
{
    return server->pid;
}

void sand_forkserver_close(struct sand_forkserver *server)
{
    if (!server)
        return;
    if (server->fd >= 0) {
        hang_up(server);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    sand_free(server);
}
