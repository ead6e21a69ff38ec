// Blocks of bytes over a socket: short transfers, signals, a dead peer.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "mem.h"

#define WIRE_MAGIC UINT64_C(0x53616e6457697265)
#define NO_FILE UINT32_MAX

enum { CHUNK = 1 << 16 };

static enum sand_rc send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return SAND_ERR_IO;
        at += sent;
        size -= (size_t)sent;
    }
    return SAND_OK;
}

static enum sand_rc receive_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return SAND_ERR_IO;
        at += got;
        size -= (size_t)got;
    }
    return SAND_OK;
}

enum sand_rc sand_wire_send(int fd, const struct sand_wire_head *head, const void *bytes)
{
    struct sand_wire_head marked = *head;
    marked.magic = WIRE_MAGIC;
    SAND_TRY(send_all(fd, &marked, sizeof marked));
    return send_all(fd, bytes, marked.size);
}

// Memory grows with what has arrived, not with what a head promises.
enum sand_rc sand_wire_receive(int fd, struct sand_wire_head *head, struct sand_wire_block *block)
{
    SAND_TRY(receive_all(fd, head, sizeof *head));
    if (head->magic != WIRE_MAGIC)
        return SAND_ERR_IO;
    block->size = 0;
    while (block->size < head->size) {
        const uint64_t left = head->size - block->size;
        const size_t piece = left < CHUNK ? (size_t)left : CHUNK;
        void *bytes = block->bytes;
        SAND_TRY(sand_grow(&bytes, &block->capacity, block->size + piece, 1));
        block->bytes = bytes;
        SAND_TRY(receive_all(fd, block->bytes + block->size, piece));
        block->size += piece;
    }
    return SAND_OK;
}

enum sand_rc sand_wire_append(struct sand_wire_block *block, const void *bytes, size_t size)
{
    void *array = block->bytes;
    SAND_TRY(sand_grow(&array, &block->capacity, block->size + size, 1));
    block->bytes = array;
    if (size > 0)
        memcpy(block->bytes + block->size, bytes, size);
    block->size += size;
    return SAND_OK;
}

void sand_wire_clear(struct sand_wire_block *block)
{
    sand_free(block->bytes);
    *block = (struct sand_wire_block){0};
}

struct message_head {
    int64_t line;
    uint32_t severity, file_size, text_size, pad;
};

enum sand_rc sand_wire_append_diag(struct sand_wire_block *block, const struct sand_diag *diag)
{
    for (size_t i = 0; i < diag->n_messages; i++) {
        const struct sand_message *message = &diag->messages[i];
        const size_t file_size = message->file ? strlen(message->file) : 0;
        const struct message_head head = {
            .line = message->line,
            .severity = message->severity,
            .file_size = message->file ? (uint32_t)file_size : NO_FILE,
            .text_size = (uint32_t)strlen(message->text),
        };
        SAND_TRY(sand_wire_append(block, &head, sizeof head));
        SAND_TRY(sand_wire_append(block, message->file, file_size));
        SAND_TRY(sand_wire_append(block, message->text, head.text_size));
    }
    return SAND_OK;
}

static void add_message(const struct message_head *head, const char *file, const char *text,
                        struct sand_diag *diag)
{
    char *name = NULL;
    if (head->file_size != NO_FILE) {
        name = sand_calloc((size_t)head->file_size + 1, 1);
        if (name)
            memcpy(name, file, head->file_size);
    }
    sand_diag_add(diag, head->severity, name, (long)head->line, "%.*s", (int)head->text_size, text);
    sand_free(name);
}

enum sand_rc sand_wire_read_diag(const char *bytes, size_t size, uint32_t n, struct sand_diag *diag)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct message_head head;
        if (size - at < sizeof head)
            return SAND_ERR_INTERNAL;
        memcpy(&head, bytes + at, sizeof head);
        at += sizeof head;
        const size_t file_size = head.file_size == NO_FILE ? 0 : head.file_size;
        if (size - at < file_size || size - at - file_size < head.text_size)
            return SAND_ERR_INTERNAL;
        add_message(&head, bytes + at, bytes + at + file_size, diag);
        at += file_size + head.text_size;
    }
    return at == size ? SAND_OK : SAND_ERR_INTERNAL;
}
