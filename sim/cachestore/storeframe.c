// Packets over a socket pair. SPDX-License-Identifier: GPL-2.0-or-later
// A frame is sent as far as it is used, and refused unless it is as long as it says.
#include "storeframe.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

static size_t used(const struct sand_store_frame *frame)
{
    return offsetof(struct sand_store_frame, bytes) + frame->size;
}

int sand_store_send(int fd, const struct sand_store_frame *frame)
{
    ssize_t sent;
    do
        sent = send(fd, frame, used(frame), MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 && (size_t)sent == used(frame);
}

int sand_store_receive(int fd, struct sand_store_frame *frame)
{
    ssize_t got;
    do
        got = recv(fd, frame, sizeof *frame, 0);
    while (got < 0 && errno == EINTR);
    return got >= (ssize_t)offsetof(struct sand_store_frame, bytes) &&
           frame->size <= SAND_CACHE_VALUE_MAX && (size_t)got == used(frame);
}
